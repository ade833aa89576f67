//! guid: 96 bits, or 64 without the node; fogfish's guid.
//!
//! | bits | field | |
//! |---|---|---|
//! | 3 | drift | how far the servers' clocks may be apart, as a code |
//! | 47 - d | time | the coarse part: d = 18 + drift |
//! | 32 | node | |
//! | d | time | the fine part |
//! | 14 | sequence | within the tick |
//!
//! A guid_local has the same fields without the node: drift, 47 bits of time, sequence. The time is
//! in units of 131.072 us (2^17 ns) since 1970-01-01 UTC. The node stands between the two parts of
//! the time. Suppose that the clocks of nodes are apart by less than the drift. Then their IDs sort
//! by node, before the part of the time that cannot be compared.
//!
//! The bytes, big-endian, sort as the ID does. So does the text in [`sortable`] base64: sixteen
//! digits of six bits each, or of four bits for a guid_local. IDs of different drift sort by drift
//! first; those of one drift and node sort by time.
//!
//! # The inverse clock
//! The inverse clock counts down: its time is that of the other clock subtracted from the largest,
//! and so is its sequence. So the newest ID sorts first. The two clocks generate different IDs as
//! long as the time's highest bit distinguishes them, until 2262. There both end ([`END`]). An ID
//! does not tell which clock generated it.
//!
//! Reference: fogfish/guid v2.1.0. There the time and the sequence are two numbers, and a
//! difference whose sequence is negative is garbage. Characters outside the alphabet are read as
//! zeros.

use crate::base62::{self, Case, Text};
use crate::base64::sortable;
use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros};
use crate::error::Error;
use crate::generator::IdLayout;
use crate::sort_key::{fold, near};

/// The name of the ID type with the node.
pub const NAME: &str = "guid";
/// The name of the ID type without the node.
pub const LOCAL_NAME: &str = "guid_local";

/// The sequence number within the tick.
pub const SEQUENCE: Field = Field::new("sequence", 0, 14);
/// The time in one piece, as a guid_local has it.
pub const TIME: Field = Field::above("time", SEQUENCE, 47);
pub(crate) const LOCAL_DRIFT: Field = Field::above("drift", TIME, 3);
const DRIFT: Field = Field::new("drift", 93, 3);
/// The node as a number. The position of the node in an ID depends on the drift.
pub const NODE: Field = Field::new("node", 0, 32);

/// The number of bytes of an ID.
pub const LEN: usize = (DRIFT.end() / 8) as usize;

/// The number of digits of a text, for guid and guid_local.
pub const TEXT_LEN: usize = 16;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1 << 17;

/// Units of 2^17 ns from 1970 on.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The last tick that is issued, on 2262-04-11. Later ticks are those of the inverse clock.
pub const END: Tick = Tick(TIME.max() >> 1);

/// The layout of guid and guid_local for the generator.
pub struct Guid;

impl IdLayout for Guid {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
}

/// The distance that the nodes' clocks may have: a code from 0 to 7, of which the library generates
/// 1 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift(pub(crate) u8);

impl Drift {
    /// At most 274 seconds.
    pub const DEFAULT: Self = Self(3);

    /// Returns the least drift from code 1 on that covers this many nanoseconds, as the library
    /// does.
    pub const fn covering(nanos: i128) -> Self {
        let mut code = 1;
        while code < 7 && nanos > Self(code).seconds() as i128 * 1_000_000_000 {
            code += 1;
        }
        Self(code)
    }

    /// Returns the drift that a number of nanoseconds names. The number that [`Self::seconds`]
    /// gives for code 0 is code 0, so that each ID's drift has a name. Every other number is the
    /// least code from 1 on that [covers](Self::covering) it.
    pub const fn named(nanos: i128) -> Self {
        if nanos == Self(0).seconds() as i128 * 1_000_000_000 {
            return Self(0);
        }
        Self::covering(nanos)
    }

    /// Returns the drift of this code.
    ///
    /// # Errors
    /// [`Error::FieldOutOfRange`] for a code that is not from 0 to 7.
    pub const fn from_code(code: i64) -> Result<Self, Error> {
        match DRIFT.check(code) {
            Ok(code) => Ok(Self(code as u8)),
            Err(error) => Err(error),
        }
    }

    /// Returns the code, from 0 to 7.
    pub const fn code(self) -> u64 {
        self.0 as u64
    }

    /// Returns the whole seconds that the drift covers: those that the fine part of the time can
    /// count.
    pub const fn seconds(self) -> u64 {
        (UNIT << self.fine()) / 1_000_000_000
    }

    /// Returns the share of these times among the IDs between the ends of [`Id::range`], if the IDs
    /// are evenly distributed. Between the ends lie all IDs with the coarse part of one of these
    /// times.
    pub const fn share(self, from: UnixMicros, to: UnixMicros) -> f64 {
        match SCALE.between(from, to) {
            Some((first, last)) => {
                let windows = (last.0 >> self.fine()) - (first.0 >> self.fine()) + 1;
                (last.0 - first.0 + 1) as f64 / (windows << self.fine()) as f64
            }
            None => 1.0,
        }
    }

    /// Returns the drift from an ID's first byte.
    pub const fn of_first_byte(byte: u8) -> Self {
        Self(byte >> (8 - DRIFT.width()))
    }

    /// Returns the least and the greatest first byte of the IDs of this drift.
    pub const fn first_bytes(self) -> [u8; 2] {
        let below = 8 - DRIFT.width();
        [self.0 << below, self.0 << below | (1 << below) - 1]
    }

    /// Returns the number of bits of the fine part.
    const fn fine(self) -> u32 {
        18 + self.0 as u32
    }

    /// Returns the fields of the fine part of the time, of the node above it, and of the coarse
    /// part.
    const fn fields(self) -> (Field, Field, Field) {
        let fine = Field::above("time", SEQUENCE, self.fine());
        let node = Field::above(NODE.name, fine, NODE.width());
        (fine, node, Field::above("time", node, TIME.width() - self.fine()))
    }
}

/// The direction in which the time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Unix,
    /// The newest ID sorts first.
    Inverse,
}

impl Clock {
    const fn tick(self, tick: Tick) -> Tick {
        match self {
            Self::Unix => tick,
            Self::Inverse => Tick(TIME.max() - tick.0),
        }
    }

    /// Converts a tick and a sequence number of this clock to those in an ID, and the other way
    /// round.
    #[inline]
    pub const fn convert(self, tick: Tick, sequence: u64) -> (Tick, u64) {
        match self {
            Self::Unix => (tick, sequence),
            Self::Inverse => (self.tick(tick), SEQUENCE.max() - sequence),
        }
    }
}

/// The fields of an ID as they stand in the ID. The time of the inverse clock is not converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The drift, of three bits.
    pub drift: Drift,
    /// The time in units of 2^17 ns, of 47 bits.
    pub time: Tick,
    /// The node; 0 for a guid_local.
    pub node: u64,
    /// The sequence number, of 14 bits.
    pub sequence: u64,
}

impl Parts {
    /// Returns when the ID's tick began.
    pub const fn time(self, clock: Clock) -> UnixMicros {
        SCALE.start(clock.tick(self.time))
    }

    /// Creates the fields at `time`, cut to the tick. Errors name the ID type `id_type`.
    pub(crate) const fn at(
        id_type: &'static str,
        time: UnixMicros,
        node: i64,
        sequence: i64,
        drift: Drift,
        clock: Clock,
    ) -> Result<Self, Error> {
        let time = match SCALE.locate(time) {
            TickPosition::At(tick) => clock.tick(tick),
            TickPosition::Before | TickPosition::After => {
                let (first, last) = (SCALE.start(Tick(0)), SCALE.start(SCALE.last()));
                return Err(Error::TimeOutOfRange { id_type, time, first, last });
            }
        };
        match (NODE.check(node), SEQUENCE.check(sequence)) {
            (Ok(node), Ok(sequence)) => Ok(Self { drift, time, node, sequence }),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Returns the first fields of the tick `first`, and the last ones of the tick `last`.
    const fn ends(drift: Drift, first: Tick, last: Tick) -> (Self, Self) {
        let max = (NODE.max(), SEQUENCE.max());
        (
            Self { drift, time: first, node: 0, sequence: 0 },
            Self { drift, time: last, node: max.0, sequence: max.1 },
        )
    }

    /// Returns the least fields whose time is not before `time`, by the clock that counts up. If
    /// there are no such fields, returns the greatest.
    pub(crate) const fn min(time: UnixMicros, drift: Drift) -> Self {
        let (first, last) = Self::ends(drift, Tick(0), SCALE.last());
        match SCALE.first_from(time) {
            TickPosition::At(time) => Self { time, ..first },
            TickPosition::Before => first,
            TickPosition::After => last,
        }
    }

    /// Returns the greatest fields whose time is not after `time`, by the clock that counts up. If
    /// there are no such fields, returns the least.
    pub(crate) const fn max(time: UnixMicros, drift: Drift) -> Self {
        let (first, last) = Self::ends(drift, Tick(0), SCALE.last());
        match SCALE.last_until(time) {
            TickPosition::At(time) => Self { time, ..last },
            TickPosition::Before => first,
            TickPosition::After => last,
        }
    }

    /// Returns the least and the greatest fields whose time is from `from` until `to`, both
    /// included. If there are no such fields, the first are above the second.
    pub(crate) const fn range(
        from: UnixMicros,
        to: UnixMicros,
        drift: Drift,
        clock: Clock,
    ) -> (Self, Self) {
        match (SCALE.between(from, to), clock) {
            (Some((first, last)), Clock::Unix) => Self::ends(drift, first, last),
            (Some((first, last)), Clock::Inverse) => {
                Self::ends(drift, clock.tick(last), clock.tick(first))
            }
            (None, _) => {
                let (first, last) = Self::ends(drift, Tick(0), SCALE.last());
                (last, first)
            }
        }
    }

    /// Returns time and sequence as one number.
    const fn moment(self) -> u128 {
        TIME.put(self.time.0) | SEQUENCE.put(self.sequence)
    }

    /// Returns the difference of two such numbers, modulo their width. A negative difference of the
    /// sequence borrows from the time.
    pub(crate) const fn minus(self, other: Self) -> Self {
        let apart = self.moment().wrapping_sub(other.moment());
        Self { time: Tick(TIME.get(apart)), sequence: SEQUENCE.get(apart), ..self }
    }
}

/// An ID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

impl Id {
    /// Packs the ID of these fields, which must fit.
    #[inline]
    pub const fn pack(parts: Parts) -> Self {
        let Parts { drift, time, node, sequence } = parts;
        let (fine, node_at, coarse) = drift.fields();
        Self::from_word(
            DRIFT.put(drift.code())
                | coarse.put(time.0 >> fine.width())
                | node_at.put(node)
                | fine.put(time.0 & fine.max())
                | SEQUENCE.put(sequence),
        )
    }

    /// Creates the ID of these fields at `time`, cut to the tick.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 1970 to 2554; [`Error::FieldOutOfRange`] for a value
    /// outside its field.
    pub const fn encode(
        time: UnixMicros,
        node: i64,
        sequence: i64,
        drift: Drift,
        clock: Clock,
    ) -> Result<Self, Error> {
        match Parts::at(NAME, time, node, sequence, drift, clock) {
            Ok(parts) => Ok(Self::pack(parts)),
            Err(error) => Err(error),
        }
    }

    /// Returns the ID's fields.
    pub const fn parts(self) -> Parts {
        let word = self.word();
        let drift = Drift(DRIFT.get(word) as u8);
        let (fine, node, coarse) = drift.fields();
        Parts {
            drift,
            time: Tick(coarse.get(word) << fine.width() | fine.get(word)),
            node: node.get(word),
            sequence: SEQUENCE.get(word),
        }
    }

    /// Returns when the ID's tick began, by the clock that generated it.
    pub const fn time(self, clock: Clock) -> UnixMicros {
        self.parts().time(clock)
    }

    /// Returns the smallest ID of this drift whose time is not before `time`; the largest if there
    /// is no such ID. IDs above it can be of an earlier time, by less than the drift.
    pub const fn min(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::min(time, drift))
    }

    /// Returns the largest ID of this drift whose time is not after `time`; the smallest if there
    /// is no such ID. IDs below it can be of a later time, by less than the drift.
    pub const fn max(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::max(time, drift))
    }

    /// Returns the smallest and the largest ID of this drift whose time by this clock is from
    /// `from` until `to`, both included. If there is no such ID, the first is above the second.
    /// Between them can be IDs of other times, too.
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
    /// width, with this ID's drift and node.
    pub const fn diff(self, other: Self) -> Self {
        Self::pack(self.parts().minus(other.parts()))
    }

    /// Returns a number that never contradicts the order of IDs, for one `reference`. It can be the
    /// same for different IDs.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        let node = reference.node().get(reference.word());
        let own = fold(self.word(), self.node(), node);
        near(own, fold(reference.word(), reference.node(), node))
    }

    /// Returns the field of the ID's node. For each drift a fold is 66 bits long and has the drift
    /// as its highest bits. So IDs of different drift are in order, too.
    const fn node(self) -> Field {
        Drift(DRIFT.get(self.word()) as u8).fields().1
    }

    /// Returns the sixteen ASCII characters of the ID's text.
    #[inline]
    pub const fn text(self) -> [u8; TEXT_LEN] {
        sortable::encode::<6>(self.word())
    }

    /// Reads the ID of a text.
    ///
    /// # Errors
    /// The errors of [`sortable::decode`].
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        sortable::decode::<6>(text).map(Self::from_word)
    }

    /// Returns the ID's text in base62, without padding.
    pub fn base62(self) -> Text {
        base62::encode(self.word(), 62)
    }

    /// Reads the ID of a text in base62.
    ///
    /// # Errors
    /// The errors of [`base62::decode`].
    pub fn from_base62(text: &[u8]) -> Result<Self, Error> {
        base62::decode(text, 62, Case::Sensitive, DRIFT.end()).map(Self::from_word)
    }

    /// Returns the ID's 96 bits as a number.
    pub const fn word(self) -> u128 {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.0;
        u128::from_be_bytes([0, 0, 0, 0, a, b, c, d, e, f, g, h, i, j, k, l])
    }

    const fn from_word(word: u128) -> Self {
        let mut bytes = [0; LEN];
        let (high, low) = bytes.split_at_mut(4);
        high.copy_from_slice(&((word >> 64) as u32).to_be_bytes());
        low.copy_from_slice(&(word as u64).to_be_bytes());
        Self(bytes)
    }
}

/// The ways to write an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text of the library, sixteen characters that sort as the ID does.
    Base64,
    Base62,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Base64, Self::Base62];

    /// Returns the format's name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base62 => "base62",
        }
    }

    /// Returns the format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}
