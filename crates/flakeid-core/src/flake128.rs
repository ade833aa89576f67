//! flake128: 128 bits, boundary's flake.
//!
//! | bits | field | |
//! |---|---|---|
//! | 64 | time | milliseconds since 1970-01-01 UTC |
//! | 48 | worker | the MAC address of one of the server's network interfaces |
//! | 16 | sequence | within the millisecond |
//!
//! The bytes, big-endian, sort as the ID does. The text is the number in [`base62`] without
//! padding. It has 18 digits from January 1975 to October 2284, and sorts as the ID does among
//! texts of one length.
//!
//! Reference: boundary/flake 0.7. There the 65,537th ID of a millisecond is the first again; here
//! it waits for the next millisecond.
//!
//! The times of the layout end long after any calendar. Those beyond the years that microseconds in
//! 64 bits can count are shown as infinity.

use crate::base62::{self, Case, Text};
use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros};
use crate::error::Error;
use crate::generator::IdLayout;
use crate::sort_key::{fold, near};

/// The name of the ID type.
pub const NAME: &str = "flake128";

/// The sequence number within the millisecond.
pub const SEQUENCE: Field = Field::new("sequence", 0, 16);
/// The MAC address.
pub const WORKER: Field = Field::above("worker", SEQUENCE, 48);
/// The milliseconds since 1970.
pub const TIME: Field = Field::above("time", WORKER, 64);

/// The number of bytes of an ID.
pub const LEN: usize = (TIME.end() / 8) as usize;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1_000_000;

/// Milliseconds from 1970 on.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The last whole tick that a clock of 64 bits of nanoseconds reads, in the year 2554.
pub const END: Tick = Tick(u64::MAX / UNIT - 1);

/// The layout of flake128 for the generator.
pub struct Flake128;

impl IdLayout for Flake128 {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
}

/// The fields of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Milliseconds since 1970, of 64 bits.
    pub time: Tick,
    /// The MAC address, of 48 bits.
    pub worker: u64,
    /// The sequence number, of 16 bits.
    pub sequence: u64,
}

/// An ID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

impl Id {
    /// Packs the ID of a worker's `sequence` in `tick`. All must fit their fields.
    #[inline]
    pub const fn pack(tick: Tick, worker: u64, sequence: u64) -> Self {
        Self::from_word(TIME.put(tick.0) | WORKER.put(worker) | SEQUENCE.put(sequence))
    }

    /// Creates the ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] before 1970, from [`UnixMicros::BEYOND`] on, and for infinity;
    /// [`Error::FieldOutOfRange`] for a value outside its field.
    pub const fn encode(time: UnixMicros, worker: i64, sequence: i64) -> Result<Self, Error> {
        let (first, last) = (SCALE.start(Tick(0)), UnixMicros(UnixMicros::BEYOND.0 - 1));
        let at = match SCALE.locate(time) {
            TickPosition::At(at) if time.0 <= last.0 => at,
            _ => return Err(Error::TimeOutOfRange { id_type: NAME, time, first, last }),
        };
        match (WORKER.check(worker), SEQUENCE.check(sequence)) {
            (Ok(worker), Ok(sequence)) => Ok(Self::pack(at, worker, sequence)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Returns the ID's fields.
    pub const fn parts(self) -> Parts {
        let word = self.word();
        Parts { time: Tick(TIME.get(word)), worker: WORKER.get(word), sequence: SEQUENCE.get(word) }
    }

    /// Returns when the ID's millisecond began.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// Returns the smallest ID whose time is not before `time`: its worker and its sequence are 0.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            TickPosition::At(tick) => Self::pack(tick, 0, 0),
            TickPosition::Before => Self([0; LEN]),
            TickPosition::After => Self([0xff; LEN]),
        }
    }

    /// Returns the largest ID whose time is not after `time`; the smallest if there is no such ID.
    pub const fn max(time: UnixMicros) -> Self {
        match SCALE.last_until(time) {
            TickPosition::At(tick) => Self::last(tick),
            TickPosition::Before => Self([0; LEN]),
            TickPosition::After => Self([0xff; LEN]),
        }
    }

    /// Returns the smallest and the largest ID whose time is from `from` until `to`, both included.
    /// If there is no such ID, the first is above the second.
    pub const fn range(from: UnixMicros, to: UnixMicros) -> (Self, Self) {
        match SCALE.between(from, to) {
            Some((first, last)) => (Self::pack(first, 0, 0), Self::last(last)),
            None => (Self([0xff; LEN]), Self([0; LEN])),
        }
    }

    const fn last(tick: Tick) -> Self {
        Self::pack(tick, WORKER.max(), SEQUENCE.max())
    }

    /// Returns the ID's digits in `base`, which is from 2 to 62.
    pub fn text(self, base: u32) -> Text {
        base62::encode(self.word(), base)
    }

    /// Reads the ID of a text in `base`, which is from 2 to 62. In a base up to 36 the upper and
    /// lower case of a letter are the same digit; above that they are different digits. Leading
    /// zeros are allowed.
    ///
    /// # Errors
    /// The errors of [`base62::decode`].
    pub fn from_text(text: &[u8], base: u32) -> Result<Self, Error> {
        let case = if base <= 36 { Case::Either } else { Case::Sensitive };
        base62::decode(text, base, case, TIME.end()).map(Self::from_word)
    }

    /// Returns a number that never contradicts the order of IDs, for one `reference`. It can be the
    /// same for different IDs.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        let worker = WORKER.get(reference.word());
        let (own, others) =
            (fold(self.word(), WORKER, worker), fold(reference.word(), WORKER, worker));
        near(own, others)
    }

    /// Returns the ID's 128 bits as a number.
    pub const fn word(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// Returns the ID of a number.
    pub const fn from_word(word: u128) -> Self {
        Self(word.to_be_bytes())
    }
}
