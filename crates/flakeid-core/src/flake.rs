//! flake: 64 bits, the layout of Twitter's Snowflake as go-flakeid has it.
//!
//! | bits | field | |
//! |---|---|---|
//! | 42 | time | milliseconds since the epoch, which is a setting |
//! | 5 | datacenter | the generator ID's upper half |
//! | 5 | worker | its lower half |
//! | 12 | counter | within the millisecond |
//!
//! Reference: T-PWK/go-flakeid v1.0.1. There values too large for a field are masked; here they are
//! errors.
//!
//! An ID is kept in a signed 64-bit column. Those of the first 2^41 ms (69 years) are positive.
//! Later ones are never issued, because they would sort below all others. [`Id::parts`] and
//! [`Id::pack`] know all 64 bits. [`Id::encode_signed`] and the bounds of a time know only the
//! positive half.
//!
//! # Two kinds of epoch
//! A server counts from an [`Epoch`], which lies from 1970 to 2109. A caller who creates an ID
//! names one, too: any other time is an error. But a caller who reads an ID, or asks for the bounds
//! of a time, may name any time as the [`Origin`]. The result is what the arithmetic says. So these
//! functions have no error, and SQL can declare them LEAKPROOF.

use crate::base62::{self, Case};
use crate::base64;
use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros};
use crate::error::Error;
use crate::generator::IdLayout;

/// The name of the ID type.
pub const NAME: &str = "flake";

/// The sequence number within the millisecond.
pub const COUNTER: Field = Field::new("counter", 0, 12);
/// The lower five bits of the generator ID.
pub const WORKER: Field = Field::above("worker", COUNTER, 5);
/// The upper five bits of the generator ID.
pub const DATACENTER: Field = Field::above("datacenter", WORKER, 5);
/// The milliseconds since the epoch.
pub const TIME: Field = Field::above("time", DATACENTER, 42);
/// The datacenter and the worker as one number.
pub const GENERATOR: Field = Field::above("generator ID", COUNTER, 10);

/// The last tick of the positive half.
pub const LAST_SIGNED: Tick = Tick(TIME.max() >> 1);

/// Nanoseconds in a tick.
pub const UNIT: u64 = 1_000_000;

/// The layout of flake for the generator.
pub struct Flake;

impl IdLayout for Flake {
    const SEQUENCE_BITS: u32 = COUNTER.width();
    const TICK_TOCK: bool = false;
}

/// Milliseconds from 1970-01-01 UTC to tick 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u64);

impl Epoch {
    /// 1970-01-01 UTC.
    pub const UNIX: Self = Self(0);
    /// The latest epoch: as many milliseconds after 1970 as the time field holds, in the year 2109.
    pub const MAX: Self = Self(TIME.max());

    /// Returns the epoch at `millis` milliseconds after 1970-01-01 UTC; `None` before that or after
    /// [`Self::MAX`].
    pub const fn from_millis(millis: i64) -> Option<Self> {
        if millis < 0 || millis as u64 > Self::MAX.0 {
            return None;
        }
        Some(Self(millis as u64))
    }

    /// Returns the epoch at a time, cut to the millisecond; `None` under the conditions of
    /// [`Self::from_millis`].
    pub const fn from_micros(micros: UnixMicros) -> Option<Self> {
        Self::from_millis(micros.0.div_euclid(1000))
    }

    /// Returns when tick 0 begins.
    pub const fn micros(self) -> UnixMicros {
        UnixMicros(self.0 as i64 * 1000)
    }

    /// Returns the scale of all 42 bits of time from this epoch.
    pub const fn scale(self) -> Scale {
        Scale::new(UNIT, self.0, Tick(TIME.max()))
    }

    /// Returns the scale of the half whose IDs are positive.
    pub const fn signed_scale(self) -> Scale {
        Scale::new(UNIT, self.0, LAST_SIGNED)
    }

    /// Returns the epoch as a time from which IDs are read.
    pub const fn origin(self) -> Origin {
        Origin::at(self.micros())
    }
}

/// A time at which tick 0 begins for a reader: any time at all, cut to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(UnixMicros);

impl Origin {
    /// Returns the origin at a time. From [`UnixMicros::BEYOND`] on it is infinity.
    pub const fn at(time: UnixMicros) -> Self {
        match time.0 {
            i64::MIN => Self(time),
            micros if micros >= UnixMicros::BEYOND.0 => Self(UnixMicros(i64::MAX)),
            micros => Self(UnixMicros(micros.div_euclid(1000).saturating_mul(1000))),
        }
    }

    /// Returns when `tick` begins. Ticks beyond the numbers of microseconds begin at infinity, and
    /// so do all that count from infinity. Those that count from minus infinity begin there.
    const fn start(self, tick: Tick) -> UnixMicros {
        match self.0.0 {
            i64::MIN => self.0,
            micros => UnixMicros(micros.saturating_add(tick.0 as i64 * 1000)),
        }
    }

    /// Returns the first tick of the positive half that begins at a time or later, as
    /// [`Scale::first_from`] does. A time that is too far from the origin for a number is outside
    /// the layout, on the side of that infinity.
    const fn first_from(self, time: UnixMicros) -> TickPosition {
        SIGNED.first_from(match (time.0, self.0.0) {
            (i64::MIN, _) => time,
            (_, i64::MIN) => UnixMicros(i64::MAX),
            (micros, origin) => UnixMicros(micros.saturating_sub(origin)),
        })
    }

    /// Returns the last tick of the positive half that begins not after a time, as
    /// [`Scale::last_until`] does.
    const fn last_until(self, time: UnixMicros) -> TickPosition {
        SIGNED.last_until(match (time.0, self.0.0) {
            (i64::MAX, _) | (_, i64::MIN) => UnixMicros(i64::MAX),
            (micros, origin) => UnixMicros(micros.saturating_sub(origin)),
        })
    }
}

/// The ticks of the positive half, for times that are counted from an origin.
const SIGNED: Scale = Epoch::UNIX.signed_scale();

/// The fields of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Milliseconds since the epoch, of 42 bits.
    pub tick: Tick,
    /// The datacenter, of five bits.
    pub datacenter: u64,
    /// The worker, of five bits.
    pub worker: u64,
    /// The counter, of twelve bits.
    pub counter: u64,
}

/// An ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

impl Id {
    /// Packs the ID of a generator ID's `counter` in `tick`. All must fit their fields.
    #[inline]
    pub const fn pack(tick: Tick, generator: u64, counter: u64) -> Self {
        Self((TIME.put(tick.0) | GENERATOR.put(generator) | COUNTER.put(counter)) as u64)
    }

    /// Creates the ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside the 42 bits from `epoch`; [`Error::FieldOutOfRange`] for a
    /// value outside its field.
    pub const fn encode(
        time: UnixMicros,
        datacenter: i64,
        worker: i64,
        counter: i64,
        epoch: Epoch,
    ) -> Result<Self, Error> {
        Self::encode_within(epoch.scale(), time, datacenter, worker, counter)
    }

    /// Creates the positive ID of these fields at `time`, cut to the millisecond. A signed column
    /// sorts it by its time.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] outside the 41 bits from `epoch`; [`Error::FieldOutOfRange`] for a
    /// value outside its field.
    pub const fn encode_signed(
        time: UnixMicros,
        datacenter: i64,
        worker: i64,
        counter: i64,
        epoch: Epoch,
    ) -> Result<Self, Error> {
        Self::encode_within(epoch.signed_scale(), time, datacenter, worker, counter)
    }

    const fn encode_within(
        scale: Scale,
        time: UnixMicros,
        datacenter: i64,
        worker: i64,
        counter: i64,
    ) -> Result<Self, Error> {
        let tick = match scale.locate(time) {
            TickPosition::At(tick) => tick,
            TickPosition::Before | TickPosition::After => {
                return Err(Error::TimeOutOfRange {
                    id_type: NAME,
                    time,
                    first: scale.start(Tick(0)),
                    last: scale.start(scale.last()),
                });
            }
        };
        let (datacenter, worker, counter) =
            match (DATACENTER.check(datacenter), WORKER.check(worker), COUNTER.check(counter)) {
                (Ok(datacenter), Ok(worker), Ok(counter)) => (datacenter, worker, counter),
                (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => return Err(error),
            };
        Ok(Self::pack(tick, datacenter << WORKER.width() | worker, counter))
    }

    /// Returns the ID's fields.
    pub const fn parts(self) -> Parts {
        let word = self.0 as u128;
        Parts {
            tick: Tick(TIME.get(word)),
            datacenter: DATACENTER.get(word),
            worker: WORKER.get(word),
            counter: COUNTER.get(word),
        }
    }

    /// Returns when the ID's millisecond began.
    pub const fn time(self, origin: Origin) -> UnixMicros {
        origin.start(self.parts().tick)
    }

    /// Returns the smallest positive ID whose time is not before `time`; the largest if there is no
    /// such ID.
    pub const fn min(time: UnixMicros, origin: Origin) -> Self {
        match origin.first_from(time) {
            TickPosition::At(tick) => Self::pack(tick, 0, 0),
            TickPosition::Before => Self(0),
            TickPosition::After => Self::last(LAST_SIGNED),
        }
    }

    /// Returns the largest positive ID whose time is not after `time`; the smallest if there is no
    /// such ID.
    pub const fn max(time: UnixMicros, origin: Origin) -> Self {
        match origin.last_until(time) {
            TickPosition::At(tick) => Self::last(tick),
            TickPosition::Before => Self(0),
            TickPosition::After => Self::last(LAST_SIGNED),
        }
    }

    /// Returns the smallest and the largest positive ID whose time is from `from` until `to`, both
    /// included. If there is no such ID, the first is above the second.
    pub const fn range(from: UnixMicros, to: UnixMicros, origin: Origin) -> (Self, Self) {
        match (origin.first_from(from), origin.last_until(to)) {
            (TickPosition::At(first), TickPosition::At(last)) if first.0 <= last.0 => {
                (Self::pack(first, 0, 0), Self::last(last))
            }
            _ => (Self::last(LAST_SIGNED), Self(0)),
        }
    }

    const fn last(tick: Tick) -> Self {
        Self::pack(tick, GENERATOR.max(), COUNTER.max())
    }
}

/// The ways to write an ID, each as the number's 64 bits without sign. They are those of
/// go-flakeid: no leading zeros, lower-case hex, base64 of the eight bytes from the lowest to the
/// highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Decimal,
    Hex,
    Binary,
    Base62,
    Base64,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Decimal, Self::Hex, Self::Binary, Self::Base62, Self::Base64];

    /// Returns the format's name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::Hex => "hex",
            Self::Binary => "binary",
            Self::Base62 => "base62",
            Self::Base64 => "base64",
        }
    }

    /// Returns the format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    const fn base(self) -> u32 {
        match self {
            Self::Binary => 2,
            Self::Decimal => 10,
            Self::Hex => 16,
            Self::Base62 | Self::Base64 => 62,
        }
    }

    /// Writes `id`, calls `show` with the text, and returns its result.
    pub fn write<T>(self, id: Id, show: impl FnOnce(&str) -> T) -> T {
        match self {
            Self::Base64 => {
                let text = base64::encode(id.0.to_le_bytes());
                show(core::str::from_utf8(&text).unwrap_or_default())
            }
            Self::Hex => {
                let mut text = base62::encode(u128::from(id.0), 16);
                text.make_ascii_lowercase();
                show(text.as_str())
            }
            _ => show(base62::encode(u128::from(id.0), self.base()).as_str()),
        }
    }

    /// Reads the ID of a text. Hex is read in either case; leading zeros are allowed.
    ///
    /// # Errors
    /// The errors of [`base62::decode`] or [`base64::decode`].
    pub fn read(self, text: &[u8]) -> Result<Id, Error> {
        let case = match self {
            Self::Hex => Case::Either,
            _ => Case::Sensitive,
        };
        match self {
            Self::Base64 => base64::decode(text).map(|bytes| Id(u64::from_le_bytes(bytes))),
            _ => base62::decode(text, self.base(), case, 64).map(|number| Id(number as u64)),
        }
    }
}
