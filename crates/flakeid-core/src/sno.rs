//! sno: 80 bits, of which the lower 40 are free of time.
//!
//! | bits | field | |
//! |---|---|---|
//! | 39 | time | units of 4 ms since 2010-01-01 UTC |
//! | 1 | tick | the tick-tock: which of two timelines, turned when the clock steps back |
//! | 8 | meta | the caller's |
//! | 16 | partition | the generator ID |
//! | 16 | sequence | within the 4 ms |
//!
//! Text is sixteen characters of [`base32`]. Bytes, big-endian, and text both sort as the ID does.
//!
//! Reference: muyo/sno v1.2.1. There texts are not checked beyond their length and times outside the
//! years 2010 to 2079 wrap; here both are errors.

use crate::base32;
use crate::bits::Field;
use crate::clock::{Place, Scale, Tick, UnixMicros};
use crate::error::Error;
use crate::generator::{Stamp, System};
use crate::generator_ids::{Refused, number};
use crate::sort_key;

pub const NAME: &str = "sno";

pub const SEQUENCE: Field = Field::new("sequence", 0, 16);
pub const PARTITION: Field = Field::above("partition", SEQUENCE, 16);
pub const META: Field = Field::above("meta", PARTITION, 8);
pub const TICK: Field = Field::above("tick-tock bit", META, 1);
pub const TIME: Field = Field::above("time", TICK, 39);

/// Bytes of an ID.
pub const LEN: usize = (TIME.end() / 8) as usize;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 4_000_000;

/// Ticks of 4 ms from 2010-01-01 UTC on.
pub const SCALE: Scale = Scale::new(UNIT, 1_262_304_000_000 / 4, Tick(TIME.max()));

pub struct TickTock;

impl System for TickTock {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = true;
}

/// The part of the sequence that a node may use, from the first number to the last, so that several
/// nodes can share a partition.
///
/// # Errors
/// [`Refused`] for anything but two numbers of the sequence, the first not above the second, or for
/// fewer than four of them, the least by sno's documentation.
pub fn parse_slice(setting: &str) -> Result<(u32, u32), Refused<'_>> {
    let (first, last) = setting.split_once('-').ok_or(Refused::NotARange(setting.trim()))?;
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(Refused::Reversed(setting.trim()));
    }
    if last - first < 3 {
        return Err(Refused::TooFew(4));
    }
    Ok((first.into(), last.into()))
}

/// What an ID is made of. `tick` is the tick-tock bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub time: Tick,
    pub tick: u64,
    pub meta: u64,
    pub partition: u64,
    pub sequence: u64,
}

/// An ID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

impl Id {
    /// The ID of a partition's `sequence` at `stamp`. All must fit their fields.
    #[inline]
    pub const fn pack(stamp: Stamp, meta: u64, partition: u64, sequence: u64) -> Self {
        Self::from_word(
            TIME.put(stamp.tick::<TickTock>().0)
                | TICK.put(stamp.toggle::<TickTock>() as u64)
                | META.put(meta)
                | PARTITION.put(partition)
                | SEQUENCE.put(sequence),
        )
    }

    /// The ID of these fields at `time`, cut to 4 ms.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 2010 to 2079, [`Error::FieldOutOfRange`].
    pub const fn encode(
        time: UnixMicros,
        tick: i64,
        meta: i64,
        partition: i64,
        sequence: i64,
    ) -> Result<Self, Error> {
        let at = match SCALE.place(time) {
            Place::At(at) => at,
            Place::Before | Place::After => {
                return Err(Error::TimeOutOfRange {
                    system: NAME,
                    time,
                    first: SCALE.start(Tick(0)),
                    last: SCALE.start(SCALE.last()),
                });
            }
        };
        let checked = (
            TICK.check(tick),
            META.check(meta),
            PARTITION.check(partition),
            SEQUENCE.check(sequence),
        );
        match checked {
            (Ok(tick), Ok(meta), Ok(partition), Ok(sequence)) => {
                Ok(Self::pack(Stamp::new::<TickTock>(at, tick == 1), meta, partition, sequence))
            }
            (Err(error), _, _, _)
            | (_, Err(error), _, _)
            | (_, _, Err(error), _)
            | (_, _, _, Err(error)) => Err(error),
        }
    }

    pub const fn parts(self) -> Parts {
        let word = self.word();
        Parts {
            time: Tick(TIME.get(word)),
            tick: TICK.get(word),
            meta: META.get(word),
            partition: PARTITION.get(word),
            sequence: SEQUENCE.get(word),
        }
    }

    /// When its 4 ms began; the tick-tock bit does not count.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// The smallest ID whose time is not before `time`; the largest where there is none.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            Place::At(tick) => Self::first(tick),
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
            Some((first, last)) => (Self::first(first), Self::last(last)),
            None => (Self([0xff; LEN]), Self([0; LEN])),
        }
    }

    const fn first(tick: Tick) -> Self {
        Self::pack(Stamp::new::<TickTock>(tick, false), 0, 0, 0)
    }

    const fn last(tick: Tick) -> Self {
        let stamp = Stamp::new::<TickTock>(tick, true);
        Self::pack(stamp, META.max(), PARTITION.max(), SEQUENCE.max())
    }

    /// The sixteen ASCII characters of its text.
    #[inline]
    pub const fn text(self) -> [u8; base32::TEXT_LEN] {
        base32::encode(self.word())
    }

    /// The ID of a text.
    ///
    /// # Errors
    /// As [`base32::decode`] gives them.
    #[inline]
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        base32::decode(text).map(Self::from_word)
    }

    /// A number that orders IDs as they are ordered, or holds them for equal, within one `reference`.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        sort_key::near(self.word(), reference.word())
    }

    /// Its 80 bits as a number.
    pub const fn word(self) -> u128 {
        let [a, b, c, d, e, f, g, h, i, j] = self.0;
        u128::from_be_bytes([0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h, i, j])
    }

    const fn from_word(word: u128) -> Self {
        let mut bytes = [0; LEN];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&((word >> 16) as u64).to_be_bytes());
        low.copy_from_slice(&(word as u16).to_be_bytes());
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_two_numbers_of_the_sequence_at_least_four_apart() {
        assert_eq!(parse_slice("0-65535"), Ok((0, 65535)));
        assert_eq!(parse_slice(" 100 - 103 "), Ok((100, 103)));
        for (setting, refused) in [
            ("", Refused::NotARange("")),
            ("7", Refused::NotARange("7")),
            ("-7", Refused::Empty),
            ("7-", Refused::Empty),
            ("a-7", Refused::NotANumber("a")),
            ("0-65536", Refused::TooLarge("65536")),
            ("9-3", Refused::Reversed("9-3")),
            ("0-2", Refused::TooFew(4)),
        ] {
            assert_eq!(parse_slice(setting), Err(refused), "{setting:?}");
        }
    }
}
