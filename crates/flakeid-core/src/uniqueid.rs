//! uniqueid: 64 bits, Lable's UniqueID.
//!
//! | bits | field | |
//! |---|---|---|
//! | 42 | time | milliseconds since 1970-01-01 UTC; their bits in reverse order in the mode SPREAD |
//! | 6 | sequence | within the millisecond |
//! | 3 | generator | the upper bits of the generator ID |
//! | 1 | mode | 0 for SPREAD, 1 for TIME_SEQUENTIAL |
//! | 8 | generator | the lower bits |
//! | 4 | cluster | |
//!
//! Bytes, big-endian, sort as the number does, and so does the text: sixteen hexadecimal digits. Only
//! among IDs of the mode TIME_SEQUENTIAL that is the order of their time. The sequence stands above
//! the generator ID, so a session that goes from one generator ID to another takes them in turn:
//! see [`in_turn`](crate::in_turn).
//!
//! Reference: LableOrg/java-uniqueid 4.7-1. There the 65th ID of a millisecond fails.

use crate::bits::Field;
use crate::clock::{Place, Scale, Tick, UnixMicros};
use crate::error::Error;
use crate::generator::System;

pub const NAME: &str = "uniqueid";

pub const CLUSTER: Field = Field::new("cluster ID", 0, 4);
const GENERATOR_LOW: Field = Field::above("generator ID", CLUSTER, 8);
const MODE: Field = Field::above("mode", GENERATOR_LOW, 1);
const GENERATOR_HIGH: Field = Field::above("generator ID", MODE, 3);
pub const SEQUENCE: Field = Field::above("sequence", GENERATOR_HIGH, 6);
pub const TIME: Field = Field::above("time", SEQUENCE, 42);
/// The generator ID as one number. No ID has it in one piece.
pub const GENERATOR: Field =
    Field::new("generator ID", 0, GENERATOR_LOW.width() + GENERATOR_HIGH.width());

/// Digits of a text.
pub const TEXT_LEN: usize = 16;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1_000_000;

/// Milliseconds of 1970, to the year 2109.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

pub struct UniqueId;

impl System for UniqueId {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// What an ID's place among the others says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// IDs of one time are far from those of the next.
    Spread,
    /// IDs sort by their time.
    TimeSequential,
}

impl Mode {
    pub const ALL: [Self; 2] = [Self::Spread, Self::TimeSequential];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::TimeSequential => "time_sequential",
        }
    }

    /// The time's bits as this mode stores them, or those stored as the time's: each is its own
    /// opposite.
    const fn order(self, time: u64) -> u64 {
        match self {
            Self::Spread => time.reverse_bits() >> (u64::BITS - TIME.width()),
            Self::TimeSequential => time,
        }
    }
}

/// What an ID is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub time: Tick,
    pub sequence: u64,
    pub generator: u64,
    pub cluster: u64,
    pub mode: Mode,
}

/// An ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub u64);

impl Id {
    /// The ID of these parts, which must fit their fields.
    #[inline]
    pub const fn pack(parts: Parts) -> Self {
        let Parts { time, sequence, generator, cluster, mode } = parts;
        let word = TIME.put(mode.order(time.0))
            | SEQUENCE.put(sequence)
            | GENERATOR_HIGH.put(generator >> GENERATOR_LOW.width())
            | MODE.put(matches!(mode, Mode::TimeSequential) as u64)
            | GENERATOR_LOW.put(generator & GENERATOR_LOW.max())
            | CLUSTER.put(cluster);
        Self(word as u64)
    }

    /// The ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 1970 to 2109, [`Error::FieldOutOfRange`].
    pub const fn encode(
        time: UnixMicros,
        sequence: i64,
        generator: i64,
        cluster: i64,
        mode: Mode,
    ) -> Result<Self, Error> {
        let time = match SCALE.place(time) {
            Place::At(tick) => tick,
            Place::Before | Place::After => {
                return Err(Error::TimeOutOfRange {
                    system: NAME,
                    time,
                    first: SCALE.start(Tick(0)),
                    last: SCALE.start(SCALE.last()),
                });
            }
        };
        let checked =
            (SEQUENCE.check(sequence), GENERATOR.check(generator), CLUSTER.check(cluster));
        match checked {
            (Ok(sequence), Ok(generator), Ok(cluster)) => {
                Ok(Self::pack(Parts { time, sequence, generator, cluster, mode }))
            }
            (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => Err(error),
        }
    }

    pub const fn parts(self) -> Parts {
        let word = self.0 as u128;
        let mode = self.mode();
        Parts {
            time: Tick(mode.order(TIME.get(word))),
            sequence: SEQUENCE.get(word),
            generator: GENERATOR_HIGH.get(word) << GENERATOR_LOW.width() | GENERATOR_LOW.get(word),
            cluster: CLUSTER.get(word),
            mode,
        }
    }

    pub const fn mode(self) -> Mode {
        if MODE.get(self.0 as u128) == 1 { Mode::TimeSequential } else { Mode::Spread }
    }

    /// When its millisecond began, in either mode.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// The smallest TIME_SEQUENTIAL ID whose time is not before `time`; the largest where there is
    /// none.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            Place::At(tick) => Self::first(tick),
            Place::Before => Self::first(Tick(0)),
            Place::After => Self::last(SCALE.last()),
        }
    }

    /// The largest TIME_SEQUENTIAL ID whose time is not after `time`; the smallest where there is
    /// none.
    pub const fn max(time: UnixMicros) -> Self {
        match SCALE.last_until(time) {
            Place::At(tick) => Self::last(tick),
            Place::Before => Self::first(Tick(0)),
            Place::After => Self::last(SCALE.last()),
        }
    }

    /// The smallest and the largest TIME_SEQUENTIAL ID whose time is from `from` until `to`, both
    /// included. Where there is none the first is above the second.
    pub const fn range(from: UnixMicros, to: UnixMicros) -> (Self, Self) {
        match SCALE.between(from, to) {
            Some((first, last)) => (Self::first(first), Self::last(last)),
            None => (Self::last(SCALE.last()), Self::first(Tick(0))),
        }
    }

    const fn first(time: Tick) -> Self {
        let mode = Mode::TimeSequential;
        Self::pack(Parts { time, sequence: 0, generator: 0, cluster: 0, mode })
    }

    const fn last(time: Tick) -> Self {
        let (sequence, generator, cluster) = (SEQUENCE.max(), GENERATOR.max(), CLUSTER.max());
        Self::pack(Parts { time, sequence, generator, cluster, mode: Mode::TimeSequential })
    }

    /// The sixteen ASCII characters of its text.
    pub const fn text(self) -> [u8; TEXT_LEN] {
        let mut text = [0; TEXT_LEN];
        let mut i = 0;
        while i < TEXT_LEN {
            text[i] = b"0123456789abcdef"[(self.0 >> (60 - 4 * i)) as usize & 15];
            i += 1;
        }
        text
    }

    /// The ID of a text. Digits are read in either case.
    ///
    /// # Errors
    /// [`Error::TextLength`] unless it has sixteen bytes, [`Error::TextCharacter`] at the first that
    /// is no hexadecimal digit.
    pub fn from_text(text: &[u8]) -> Result<Self, Error> {
        if text.len() != TEXT_LEN {
            return Err(Error::TextLength { expected: TEXT_LEN, found: text.len() });
        }
        let mut word = 0;
        for (position, &byte) in text.iter().enumerate() {
            let digit = (byte as char).to_digit(16).ok_or(Error::TextCharacter { position })?;
            word = word << 4 | u64::from(digit);
        }
        Ok(Self(word))
    }
}
