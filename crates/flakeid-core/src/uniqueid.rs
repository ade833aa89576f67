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
//! The bytes, big-endian, sort as the number does. So does the text: sixteen hexadecimal digits.
//! Only IDs of the mode TIME_SEQUENTIAL sort by their time. The sequence stands above the generator
//! ID, so a session that uses several generator IDs takes them in turn: see
//! [`in_turn`](crate::in_turn).
//!
//! Reference: LableOrg/java-uniqueid 4.7-1. There the 65th ID of a millisecond fails; here it waits
//! for the next millisecond.

use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros};
use crate::error::Error;
use crate::generator::IdLayout;

/// The name of the ID type.
pub const NAME: &str = "uniqueid";

/// The uniqueid cluster.
pub const CLUSTER: Field = Field::new("cluster ID", 0, 4);
const GENERATOR_LOW: Field = Field::above("generator ID", CLUSTER, 8);
const MODE: Field = Field::above("mode", GENERATOR_LOW, 1);
const GENERATOR_HIGH: Field = Field::above("generator ID", MODE, 3);
/// The sequence number within the millisecond.
pub const SEQUENCE: Field = Field::above("sequence", GENERATOR_HIGH, 6);
/// The milliseconds since 1970, in the order of the mode.
pub const TIME: Field = Field::above("time", SEQUENCE, 42);
/// The generator ID as one number. In an ID it is in two parts.
pub const GENERATOR: Field =
    Field::new("generator ID", 0, GENERATOR_LOW.width() + GENERATOR_HIGH.width());

/// The number of digits of a text.
pub const TEXT_LEN: usize = 16;

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1_000_000;

/// Milliseconds from 1970 on, to the year 2109.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The layout of uniqueid for the generator.
pub struct UniqueId;

impl IdLayout for UniqueId {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// The relation between the order of IDs and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// IDs of one time are far from those of the next time.
    Spread,
    /// IDs sort by their time.
    TimeSequential,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Spread, Self::TimeSequential];

    /// Returns the mode's name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::TimeSequential => "time_sequential",
        }
    }

    /// Converts the time's bits to those that this mode stores, and the other way round: each
    /// conversion is its own inverse.
    const fn order(self, time: u64) -> u64 {
        match self {
            Self::Spread => time.reverse_bits() >> (u64::BITS - TIME.width()),
            Self::TimeSequential => time,
        }
    }
}

/// The fields of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Milliseconds since 1970, of 42 bits.
    pub time: Tick,
    /// The sequence number, of six bits.
    pub sequence: u64,
    /// The generator ID, of eleven bits.
    pub generator: u64,
    /// The uniqueid cluster, of four bits.
    pub cluster: u64,
    /// The mode.
    pub mode: Mode,
}

/// An ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub u64);

impl Id {
    /// Packs the ID of these fields, which must fit.
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

    /// Creates the ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside 1970 to 2109; [`Error::FieldOutOfRange`] for a value
    /// outside its field.
    pub const fn encode(
        time: UnixMicros,
        sequence: i64,
        generator: i64,
        cluster: i64,
        mode: Mode,
    ) -> Result<Self, Error> {
        let time = match SCALE.locate(time) {
            TickPosition::At(tick) => tick,
            TickPosition::Before | TickPosition::After => {
                return Err(Error::TimeOutOfRange {
                    id_type: NAME,
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

    /// Returns the ID's fields.
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

    /// Returns the ID's mode.
    pub const fn mode(self) -> Mode {
        if MODE.get(self.0 as u128) == 1 { Mode::TimeSequential } else { Mode::Spread }
    }

    /// Returns when the ID's millisecond began, in either mode.
    pub const fn time(self) -> UnixMicros {
        SCALE.start(self.parts().time)
    }

    /// Returns the smallest TIME_SEQUENTIAL ID whose time is not before `time`; the largest if
    /// there is no such ID.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            TickPosition::At(tick) => Self::first(tick),
            TickPosition::Before => Self::first(Tick(0)),
            TickPosition::After => Self::last(SCALE.last()),
        }
    }

    /// Returns the largest TIME_SEQUENTIAL ID whose time is not after `time`; the smallest if there
    /// is no such ID.
    pub const fn max(time: UnixMicros) -> Self {
        match SCALE.last_until(time) {
            TickPosition::At(tick) => Self::last(tick),
            TickPosition::Before => Self::first(Tick(0)),
            TickPosition::After => Self::last(SCALE.last()),
        }
    }

    /// Returns the smallest and the largest TIME_SEQUENTIAL ID whose time is from `from` until
    /// `to`, both included. If there is no such ID, the first is above the second.
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

    /// Returns the sixteen ASCII characters of the ID's text.
    pub const fn text(self) -> [u8; TEXT_LEN] {
        let mut text = [0; TEXT_LEN];
        let mut i = 0;
        while i < TEXT_LEN {
            text[i] = b"0123456789abcdef"[(self.0 >> (60 - 4 * i)) as usize & 15];
            i += 1;
        }
        text
    }

    /// Reads the ID of a text. Digits are read in either case.
    ///
    /// # Errors
    /// [`Error::TextLength`] unless the text has sixteen bytes. [`Error::TextCharacter`] at the
    /// first byte that is no hexadecimal digit.
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
