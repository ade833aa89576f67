//! sno: 80 bits, of which the lower 40 do not depend on the time.
//!
//! | bits | field | |
//! |---|---|---|
//! | 39 | time | units of 4 ms since 2010-01-01 UTC |
//! | 1 | tick | the tick-tock bit: which of two timelines, changed when the clock steps back |
//! | 8 | meta | the caller's |
//! | 16 | partition | the generator ID |
//! | 16 | sequence | within the 4 ms |
//!
//! The text is sixteen characters of [`base32`]. The bytes, big-endian, and the text both sort as
//! the ID does.
//!
//! Reference: muyo/sno v1.2.1. There texts are not checked beyond their length, and times outside
//! the years 2010 to 2079 wrap. Here both are errors.

use crate::base32;
use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros};
use crate::error::Error;
use crate::generator::{IdLayout, Stamp};
use crate::generator_ids::{ParseError, number};
use crate::sort_key;

/// The name of the ID type.
pub const NAME: &str = "sno";

/// The sequence number within the 4 ms.
pub const SEQUENCE: Field = Field::new("sequence", 0, 16);
/// The generator ID.
pub const PARTITION: Field = Field::above("partition", SEQUENCE, 16);
/// The byte that the caller chooses.
pub const META: Field = Field::above("meta", PARTITION, 8);
/// The timeline.
pub const TICK: Field = Field::above("tick-tock bit", META, 1);
/// The units of 4 ms since 2010.
pub const TIME: Field = Field::above("time", TICK, 39);

/// The number of bytes of an ID.
pub const LEN: usize = (TIME.end() / 8) as usize;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 4_000_000;

/// Ticks of 4 ms from 2010-01-01 UTC on.
pub const SCALE: Scale = Scale::new(UNIT, 1_262_304_000_000 / 4, Tick(TIME.max()));

/// The layout of sno for the generator.
pub struct TickTock;

impl IdLayout for TickTock {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = true;
}

/// Reads the part of the sequence that a server may use, from the first number to the last. With
/// such parts several servers can share a generator ID.
///
/// # Errors
/// [`ParseError`] for anything except two numbers of the sequence, the first not above the second.
/// [`ParseError`] also for fewer than four numbers, the minimum in sno's documentation.
pub fn parse_slice(setting: &str) -> Result<(u32, u32), ParseError<'_>> {
    let (first, last) = setting.split_once('-').ok_or(ParseError::NotARange(setting.trim()))?;
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(ParseError::Reversed(setting.trim()));
    }
    if last - first < 3 {
        return Err(ParseError::TooFew(4));
    }
    Ok((first.into(), last.into()))
}

/// The fields of an ID. `tick` is the tick-tock bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Units of 4 ms since 2010, of 39 bits.
    pub time: Tick,
    /// The tick-tock bit.
    pub tick: u64,
    /// The byte that the caller chooses.
    pub meta: u64,
    /// The generator ID, of 16 bits.
    pub partition: u64,
    /// The sequence number, of 16 bits.
    pub sequence: u64,
}

/// An ID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

impl Id {
    /// Packs the ID of a generator ID's `sequence` at `stamp`. All must fit their fields.
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

    /// Creates the ID of these fields at `time`, cut to 4 ms.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 2010 to 2079; [`Error::FieldOutOfRange`] for a value
    /// outside its field.
    pub const fn encode(
        time: UnixMicros,
        tick: i64,
        meta: i64,
        partition: i64,
        sequence: i64,
    ) -> Result<Self, Error> {
        let at = match SCALE.locate(time) {
            TickPosition::At(at) => at,
            TickPosition::Before | TickPosition::After => {
                return Err(Error::TimeOutOfRange {
                    id_type: NAME,
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

    /// Returns the ID's fields.
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

    /// Returns the ID with another byte of `meta`, and all else as it is.
    ///
    /// # Errors
    /// [`Error::FieldOutOfRange`] for a number that is not a byte.
    pub const fn with_meta(self, meta: i64) -> Result<Self, Error> {
        match META.check(meta) {
            Ok(meta) => Ok(Self::from_word(self.word() & !META.put(META.max()) | META.put(meta))),
            Err(error) => Err(error),
        }
    }

    /// Returns when the ID's 4 ms began. The tick-tock bit does not count.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// Returns the smallest ID whose time is not before `time`; the largest if there is no such ID.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            TickPosition::At(tick) => Self::first(tick),
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

    /// Returns the sixteen ASCII characters of the ID's text.
    #[inline]
    pub const fn text(self) -> [u8; base32::TEXT_LEN] {
        base32::encode(self.word())
    }

    /// Reads the ID of a text.
    ///
    /// # Errors
    /// The errors of [`base32::decode`].
    #[inline]
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        base32::decode(text).map(Self::from_word)
    }

    /// Returns a number that never contradicts the order of IDs, for one `reference`. It can be the
    /// same for different IDs.
    #[inline]
    pub const fn sort_key(self, reference: Self) -> u64 {
        sort_key::near(self.word(), reference.word())
    }

    /// Returns the ID's 80 bits as a number.
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
            ("", ParseError::NotARange("")),
            ("7", ParseError::NotARange("7")),
            ("-7", ParseError::Empty),
            ("7-", ParseError::Empty),
            ("a-7", ParseError::NotANumber("a")),
            ("0-65536", ParseError::TooLarge("65536")),
            ("9-3", ParseError::Reversed("9-3")),
            ("0-2", ParseError::TooFew(4)),
        ] {
            assert_eq!(parse_slice(setting), Err(refused), "{setting:?}");
        }
    }
}
