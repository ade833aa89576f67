//! guid_local: a guid without the node. Its time is in one piece, so IDs of one drift sort by it.

use crate::base62::{self, Case, Text};
use crate::base64::sortable;
use crate::clock::{Tick, UnixMicros};
use crate::error::Error;
use crate::guid::{
    Clock, Drift, Id, LOCAL_DRIFT, LOCAL_NAME, NODE, Parts, SEQUENCE, TEXT_LEN, TIME,
};

/// An ID without the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Local(pub u64);

impl Local {
    /// Packs the ID of these fields without the node. They must fit.
    #[inline]
    pub const fn pack(parts: Parts) -> Self {
        let Parts { drift, time, sequence, .. } = parts;
        let word = LOCAL_DRIFT.put(drift.code()) | TIME.put(time.0) | SEQUENCE.put(sequence);
        Self(word as u64)
    }

    /// Creates the ID of these fields at `time`, cut to the tick.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 1970 to 2554; [`Error::FieldOutOfRange`] for a value
    /// outside its field.
    pub const fn encode(
        time: UnixMicros,
        sequence: i64,
        drift: Drift,
        clock: Clock,
    ) -> Result<Self, Error> {
        match Parts::at(LOCAL_NAME, time, 0, sequence, drift, clock) {
            Ok(parts) => Ok(Self::pack(parts)),
            Err(error) => Err(error),
        }
    }

    /// Returns the ID's fields, with the node 0.
    pub const fn parts(self) -> Parts {
        let word = self.0 as u128;
        Parts {
            drift: Drift(LOCAL_DRIFT.get(word) as u8),
            time: Tick(TIME.get(word)),
            node: 0,
            sequence: SEQUENCE.get(word),
        }
    }

    /// Returns when the ID's tick began, by the clock that generated it.
    pub const fn time(self, clock: Clock) -> UnixMicros {
        self.parts().time(clock)
    }

    /// Returns the smallest ID of this drift whose time is not before `time`; the largest if there
    /// is no such ID.
    pub const fn min(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::min(time, drift))
    }

    /// Returns the largest ID of this drift whose time is not after `time`; the smallest if there
    /// is no such ID.
    pub const fn max(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::max(time, drift))
    }

    /// Returns the smallest and the largest ID of this drift whose time by this clock is from
    /// `from` until `to`, both included. If there is no such ID, the first is above the second.
    pub const fn range(
        from: UnixMicros,
        to: UnixMicros,
        drift: Drift,
        clock: Clock,
    ) -> (Self, Self) {
        let (first, last) = Parts::range(from, to, drift, clock);
        (Self::pack(first), Self::pack(last))
    }

    /// Returns the difference of two IDs: that of time and sequence as one number, modulo its
    /// width, with this ID's drift.
    pub const fn diff(self, other: Self) -> Self {
        Self::pack(self.parts().minus(other.parts()))
    }

    /// Returns the guid with this node.
    ///
    /// # Errors
    /// [`Error::FieldOutOfRange`] for a node outside its field.
    pub const fn global(self, node: i64) -> Result<Id, Error> {
        match NODE.check(node) {
            Ok(node) => Ok(Id::pack(Parts { node, ..self.parts() })),
            Err(error) => Err(error),
        }
    }

    /// Returns the sixteen ASCII characters of the ID's text.
    #[inline]
    pub const fn text(self) -> [u8; TEXT_LEN] {
        sortable::encode::<4>(self.0 as u128)
    }

    /// Reads the ID of a text.
    ///
    /// # Errors
    /// The errors of [`sortable::decode`].
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        sortable::decode::<4>(text).map(|word| Self(word as u64))
    }

    /// Returns the ID's text in base62, without padding.
    pub fn base62(self) -> Text {
        base62::encode(self.0 as u128, 62)
    }

    /// Reads the ID of a text in base62.
    ///
    /// # Errors
    /// The errors of [`base62::decode`].
    pub fn from_base62(text: &[u8]) -> Result<Self, Error> {
        base62::decode(text, 62, Case::Sensitive, LOCAL_DRIFT.end()).map(|word| Self(word as u64))
    }
}

impl Id {
    /// Returns the ID without the node.
    pub const fn local(self) -> Local {
        Local::pack(self.parts())
    }
}
