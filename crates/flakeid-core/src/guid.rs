//! guid: 96 bits, or 64 without the node; fogfish's guid.
//!
//! | bits | field | |
//! |---|---|---|
//! | 3 | drift | how far the nodes' clocks may be apart, as a code |
//! | 47 - d | time | the coarse part: d = 18 + drift |
//! | 32 | node | |
//! | d | time | the fine part |
//! | 14 | sequence | within the tick |
//!
//! A local ID is the same without the node: drift, 47 bits of time, sequence. The time is in units of
//! 131.072 us (2^17 ns) since 1970-01-01 UTC. The node stands between its parts, so that the IDs of
//! nodes whose clocks are apart by less than the drift sort by node before the part of the time that
//! cannot be compared.
//!
//! Bytes, big-endian, sort as the ID does, and so does the text in [`sortable`] base64: sixteen digits
//! of six bits, for a local ID of four. IDs of different drift sort by drift first; those of one drift
//! and node by time.
//!
//! # The inverse clock
//! counts down: its time is that of the other clock taken from the largest, and so is its sequence. So
//! the newest ID sorts first. The two make different IDs as long as the time's highest bit tells them
//! apart, until 2262: there both end ([`END`]). Which clock made an ID, it does not say itself.
//!
//! Reference: fogfish/guid v2.1.0. There the time and the sequence are two numbers, characters outside
//! the alphabet are read as zeros, and a difference whose sequence is negative is garbage.

use crate::base62::{self, Case, Text};
use crate::base64::sortable;
use crate::bits::Field;
use crate::clock::{Place, Scale, Tick, UnixMicros};
use crate::error::Error;
use crate::generator::System;
use crate::sort_key::{fold, near};

pub const NAME: &str = "guid";
/// Of the type without the node.
pub const LOCAL_NAME: &str = "guid_local";

pub const SEQUENCE: Field = Field::new("sequence", 0, 14);
/// The time in one piece, as a local ID has it.
pub const TIME: Field = Field::above("time", SEQUENCE, 47);
pub(crate) const LOCAL_DRIFT: Field = Field::above("drift", TIME, 3);
const DRIFT: Field = Field::new("drift", 93, 3);
/// The node as a number. Where an ID has it, its drift says.
pub const NODE: Field = Field::new("node", 0, 32);

/// Bytes of an ID.
pub const LEN: usize = (DRIFT.end() / 8) as usize;

/// Digits of a text, of either type.
pub const TEXT_LEN: usize = 16;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1 << 17;

/// Units of 2^17 ns since 1970.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The last tick that is issued, on 2262-04-11: those after it are the inverse clock's.
pub const END: Tick = Tick(TIME.max() >> 1);

pub struct Guid;

impl System for Guid {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
}

/// How far nodes' clocks may be apart: a code from 0 to 7, of which the library makes 1 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift(pub(crate) u8);

impl Drift {
    /// At most 274 seconds.
    pub const DEFAULT: Self = Self(3);

    /// The least from code 1 on that covers so many nanoseconds, as the library has it.
    pub const fn covering(nanos: i128) -> Self {
        let mut code = 1;
        while code < 7 && nanos > Self(code).seconds() as i128 * 1_000_000_000 {
            code += 1;
        }
        Self(code)
    }

    /// The drift that so many nanoseconds name: exactly what [`Self::seconds`] says of code 0 is code
    /// 0, so that each ID's drift can be said; all else is the least code from 1 on that
    /// [covers](Self::covering) it.
    pub const fn named(nanos: i128) -> Self {
        if nanos == Self(0).seconds() as i128 * 1_000_000_000 {
            return Self(0);
        }
        Self::covering(nanos)
    }

    /// The drift of this code.
    ///
    /// # Errors
    /// [`Error::FieldOutOfRange`] for a code that is not from 0 to 7.
    pub const fn from_code(code: i64) -> Result<Self, Error> {
        match DRIFT.check(code) {
            Ok(code) => Ok(Self(code as u8)),
            Err(error) => Err(error),
        }
    }

    pub const fn code(self) -> u64 {
        self.0 as u64
    }

    /// The whole seconds it covers: what the fine part of the time can count.
    pub const fn seconds(self) -> u64 {
        (UNIT << self.fine()) / 1_000_000_000
    }

    /// What part of the IDs between the ends of [`Id::range`] is of these times, if they come evenly:
    /// between them lie all whose coarse part is that of one of these times.
    pub const fn share(self, from: UnixMicros, to: UnixMicros) -> f64 {
        match SCALE.between(from, to) {
            Some((first, last)) => {
                let windows = (last.0 >> self.fine()) - (first.0 >> self.fine()) + 1;
                (last.0 - first.0 + 1) as f64 / (windows << self.fine()) as f64
            }
            None => 1.0,
        }
    }

    /// The drift that an ID's first byte says.
    pub const fn of_first_byte(byte: u8) -> Self {
        Self(byte >> (8 - DRIFT.width()))
    }

    /// Bits of the fine part.
    const fn fine(self) -> u32 {
        18 + self.0 as u32
    }

    /// The fine part of the time, the node above it, and the coarse part.
    const fn fields(self) -> (Field, Field, Field) {
        let fine = Field::above("time", SEQUENCE, self.fine());
        let node = Field::above(NODE.name, fine, NODE.width());
        (fine, node, Field::above("time", node, TIME.width() - self.fine()))
    }
}

/// Which way the time is counted.
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

    /// What an ID has in place of this tick and sequence, and the other way round.
    #[inline]
    pub const fn turn(self, tick: Tick, sequence: u64) -> (Tick, u64) {
        match self {
            Self::Unix => (tick, sequence),
            Self::Inverse => (self.tick(tick), SEQUENCE.max() - sequence),
        }
    }
}

/// What an ID is made of, as it stands in the ID: an inverse clock's time is not turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub drift: Drift,
    pub time: Tick,
    /// 0 for a local ID.
    pub node: u64,
    pub sequence: u64,
}

impl Parts {
    /// When its tick began.
    pub const fn time(self, clock: Clock) -> UnixMicros {
        SCALE.start(clock.tick(self.time))
    }

    /// These fields at `time`, cut to the tick; `system` is what errors call the type.
    pub(crate) const fn at(
        system: &'static str,
        time: UnixMicros,
        node: i64,
        sequence: i64,
        drift: Drift,
        clock: Clock,
    ) -> Result<Self, Error> {
        let time = match SCALE.place(time) {
            Place::At(tick) => clock.tick(tick),
            Place::Before | Place::After => {
                let (first, last) = (SCALE.start(Tick(0)), SCALE.start(SCALE.last()));
                return Err(Error::TimeOutOfRange { system, time, first, last });
            }
        };
        match (NODE.check(node), SEQUENCE.check(sequence)) {
            (Ok(node), Ok(sequence)) => Ok(Self { drift, time, node, sequence }),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// The first of a tick, and the last.
    const fn ends(drift: Drift, first: Tick, last: Tick) -> (Self, Self) {
        let max = (NODE.max(), SEQUENCE.max());
        (
            Self { drift, time: first, node: 0, sequence: 0 },
            Self { drift, time: last, node: max.0, sequence: max.1 },
        )
    }

    /// The least whose time is not before `time`; the greatest where there is none. Both by the
    /// clock that counts up.
    pub(crate) const fn min(time: UnixMicros, drift: Drift) -> Self {
        let (first, last) = Self::ends(drift, Tick(0), SCALE.last());
        match SCALE.first_from(time) {
            Place::At(time) => Self { time, ..first },
            Place::Before => first,
            Place::After => last,
        }
    }

    /// The greatest whose time is not after `time`; the least where there is none.
    pub(crate) const fn max(time: UnixMicros, drift: Drift) -> Self {
        let (first, last) = Self::ends(drift, Tick(0), SCALE.last());
        match SCALE.last_until(time) {
            Place::At(time) => Self { time, ..last },
            Place::Before => first,
            Place::After => last,
        }
    }

    /// The least and the greatest whose time is from `from` until `to`, both included. Where there is
    /// none the first is above the second.
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

    /// Time and sequence as one number.
    const fn moment(self) -> u128 {
        TIME.put(self.time.0) | SEQUENCE.put(self.sequence)
    }

    /// Of that number what is between two, going round below zero: what one lacks the other lends.
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
    /// The ID of these parts, which must fit their fields.
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

    /// The ID of these fields at `time`, cut to the tick.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 1970 to 2554, [`Error::FieldOutOfRange`].
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

    /// When its tick began, by the clock that made it.
    pub const fn time(self, clock: Clock) -> UnixMicros {
        self.parts().time(clock)
    }

    /// The smallest ID of this drift whose time is not before `time`; the largest where there is
    /// none. IDs above it can be of an earlier time, by less than the drift.
    pub const fn min(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::min(time, drift))
    }

    /// The largest ID of this drift whose time is not after `time`; the smallest where there is none.
    /// IDs below it can be of a later time, by less than the drift.
    pub const fn max(time: UnixMicros, drift: Drift) -> Self {
        Self::pack(Parts::max(time, drift))
    }

    /// The smallest and the largest ID of this drift whose time by this clock is from `from` until
    /// `to`, both included. Where there is none the first is above the second; between them can be IDs
    /// of other times, too.
    pub const fn range(
        from: UnixMicros,
        to: UnixMicros,
        drift: Drift,
        clock: Clock,
    ) -> (Self, Self) {
        let (first, last) = Parts::range(from, to, drift, clock);
        (Self::pack(first), Self::pack(last))
    }

    /// What is between two IDs, time and sequence as one number that goes round below zero, with this
    /// one's drift and node.
    pub const fn diff(self, other: Self) -> Self {
        Self::pack(self.parts().minus(other.parts()))
    }

    /// A number that orders IDs as they are ordered, or holds them for equal, within one `reference`.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        let node = reference.node().get(reference.word());
        let own = fold(self.word(), self.node(), node);
        near(own, fold(reference.word(), reference.node(), node))
    }

    /// Where it has its node. Wherever that is, a fold is 66 bits long and the drift the highest of
    /// them, so those of different drift are in order, too.
    const fn node(self) -> Field {
        Drift(DRIFT.get(self.word()) as u8).fields().1
    }

    /// The sixteen ASCII characters of its text.
    #[inline]
    pub const fn text(self) -> [u8; TEXT_LEN] {
        sortable::encode::<6>(self.word())
    }

    /// The ID of a text.
    ///
    /// # Errors
    /// As [`sortable::decode`] gives them.
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        sortable::decode::<6>(text).map(Self::from_word)
    }

    pub fn base62(self) -> Text {
        base62::encode(self.word(), 62)
    }

    /// # Errors
    /// As [`base62::decode`] gives them.
    pub fn from_base62(text: &[u8]) -> Result<Self, Error> {
        base62::decode(text, 62, Case::Sensitive, DRIFT.end()).map(Self::from_word)
    }

    /// Its 96 bits as a number.
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
    /// The text as the type has it.
    Base64,
    Base62,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Base64, Self::Base62];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base62 => "base62",
        }
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}
