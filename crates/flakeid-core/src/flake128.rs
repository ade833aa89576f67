//! flake128: 128 bits, boundary's flake.
//!
//! | bits | field | |
//! |---|---|---|
//! | 64 | time | milliseconds since 1970-01-01 UTC |
//! | 48 | worker | the MAC address of one of the node's network interfaces |
//! | 16 | sequence | within the millisecond |
//!
//! Bytes, big-endian, sort as the ID does. Text is the number in [`base62`] without padding: it has 18
//! digits from January 1975 to October 2284, and sorts as the ID does among texts of one length.
//!
//! Reference: boundary/flake 0.7. There the 65,537th ID of a millisecond is the first again; here it
//! waits for the next one.
//!
//! The format's time ends long after any calendar. What lies beyond the years that microseconds in 64
//! bits can count has the time infinity.

use crate::base62::{self, Case, Text};
use crate::bits::Field;
use crate::clock::{Place, Scale, Tick, UnixMicros};
use crate::error::Error;
use crate::generator::System;
use crate::sort_key::{fold, near};

pub const NAME: &str = "flake128";

pub const SEQUENCE: Field = Field::new("sequence", 0, 16);
pub const WORKER: Field = Field::above("worker", SEQUENCE, 48);
pub const TIME: Field = Field::above("time", WORKER, 64);

/// Bytes of an ID.
pub const LEN: usize = (TIME.end() / 8) as usize;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1_000_000;

/// Milliseconds of 1970.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The last whole tick that a clock of 64 bits of nanoseconds reads, in the year 2554.
pub const END: Tick = Tick(u64::MAX / UNIT - 1);

pub struct Flake128;

impl System for Flake128 {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
}

/// What an ID is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub time: Tick,
    pub worker: u64,
    pub sequence: u64,
}

/// An ID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

impl Id {
    /// The ID of a worker's `sequence` in `tick`. All must fit their fields.
    #[inline]
    pub const fn pack(tick: Tick, worker: u64, sequence: u64) -> Self {
        Self::from_word(TIME.put(tick.0) | WORKER.put(worker) | SEQUENCE.put(sequence))
    }

    /// The ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] before 1970 and for infinity, [`Error::FieldOutOfRange`].
    pub const fn encode(time: UnixMicros, worker: i64, sequence: i64) -> Result<Self, Error> {
        let (first, last) = (SCALE.start(Tick(0)), UnixMicros(i64::MAX - 1));
        let at = match SCALE.place(time) {
            Place::At(at) if time.0 <= last.0 => at,
            _ => return Err(Error::TimeOutOfRange { system: NAME, time, first, last }),
        };
        match (WORKER.check(worker), SEQUENCE.check(sequence)) {
            (Ok(worker), Ok(sequence)) => Ok(Self::pack(at, worker, sequence)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    pub const fn parts(self) -> Parts {
        let word = self.word();
        Parts { time: Tick(TIME.get(word)), worker: WORKER.get(word), sequence: SEQUENCE.get(word) }
    }

    /// When its millisecond began.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// The smallest ID whose time is not before `time`: that of an empty worker.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            Place::At(tick) => Self::pack(tick, 0, 0),
            Place::Before => Self([0; LEN]),
            Place::After => Self([0xff; LEN]),
        }
    }

    /// The largest ID whose time is not after `time`; the smallest where there is none.
    pub const fn max(time: UnixMicros) -> Self {
        match SCALE.last_until(time) {
            Place::At(tick) => Self::last(tick),
            Place::Before => Self([0; LEN]),
            Place::After => Self([0xff; LEN]),
        }
    }

    /// The smallest and the largest ID whose time is from `from` until `to`, both included. Where
    /// there is none the first is above the second.
    pub const fn range(from: UnixMicros, to: UnixMicros) -> (Self, Self) {
        match SCALE.between(from, to) {
            Some((first, last)) => (Self::pack(first, 0, 0), Self::last(last)),
            None => (Self([0xff; LEN]), Self([0; LEN])),
        }
    }

    const fn last(tick: Tick) -> Self {
        Self::pack(tick, WORKER.max(), SEQUENCE.max())
    }

    /// Its digits in `base`, which is from 2 to 62.
    pub fn text(self, base: u32) -> Text {
        base62::encode(self.word(), base)
    }

    /// The ID of a text in `base`, which is from 2 to 62. Letters are digits of their own in either
    /// case above base 36, and the same digit up to it. Leading zeros are allowed.
    ///
    /// # Errors
    /// As [`base62::decode`] gives them.
    pub fn from_text(text: &[u8], base: u32) -> Result<Self, Error> {
        let case = if base <= 36 { Case::Either } else { Case::Sensitive };
        base62::decode(text, base, case, TIME.end()).map(Self::from_word)
    }

    /// A number that orders IDs as they are ordered, or holds them for equal, within one `reference`.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        let worker = WORKER.get(reference.word());
        let (own, its) =
            (fold(self.word(), WORKER, worker), fold(reference.word(), WORKER, worker));
        near(own, its)
    }

    /// Its 128 bits as a number.
    pub const fn word(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// The ID that is this number.
    pub const fn from_word(word: u128) -> Self {
        Self(word.to_be_bytes())
    }
}
