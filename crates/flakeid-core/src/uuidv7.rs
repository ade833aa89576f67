//! uuidv7: 128 bits, version 7 of RFC 9562.
//!
//! | bits | field | |
//! |---|---|---|
//! | 48 | time | milliseconds since 1970-01-01 UTC |
//! | 4 | version | 7 |
//! | 12 | fraction | of the millisecond, in units of 1/4096 ms |
//! | 2 | variant | binary 10 |
//! | 2 | lane | |
//! | 8 | sequence | within the lane and the millisecond |
//! | 52 | random | from a cryptographic generator |
//!
//! The bytes, big-endian, sort as the ID does: by the clock, to a quarter of a microsecond. RFC
//! 9562 calls the fraction method 3 of its section 6.2. The `uuidv7()` of PostgreSQL 18 has the
//! same fraction at the same place, so that its IDs and these sort together by the clock.
//!
//! # Unique
//! A session that generates an ID owns a lane and a sequence number for the millisecond. It uses
//! them again in each fraction that the clock shows, and takes another number for a second ID in
//! one fraction: see [`session`](crate::session). So the IDs of a server differ by time, fraction,
//! lane and sequence. A lane is a cell. Lanes have no meaning beyond one server: they keep its
//! sessions from changing one cell. The IDs of different servers differ by their random bits alone.
//!
//! # The time of an ID
//! The time of an ID is its millisecond, as for all readers of version 7. So the bounds of a time
//! are those of whole milliseconds.
//!
//! A UUID of another version or variant has no time, and no bounds contain it: it can stand between
//! two IDs, but [`Id::is_valid`] tells it apart.
//!
//! # Why not a tick of the fraction
//! If a cell counted in ticks of 1/4096 ms, nearly each ID would change it, as a session seldom
//! asks twice within 244 ns. That was measured: an ID took 35 ns more than reading the clock, and a
//! flake128 8 ns more. If the twelve bits were a sequence within the millisecond, an ID would be as
//! cheap as here, but the IDs of several sessions, and those of PostgreSQL, would be in order to
//! the millisecond alone.

use crate::bits::Field;
use crate::clock::{Scale, Tick, TickPosition, UnixMicros, UnixNanos};
use crate::error::Error;
use crate::generator::IdLayout;

/// The name of the ID type.
pub const NAME: &str = "uuidv7";

/// The random bits.
pub const RANDOM: Field = Field::new("random", 0, 52);
/// The sequence number within the lane.
pub const SEQUENCE: Field = Field::above("sequence", RANDOM, 8);
/// The lane.
pub const LANE: Field = Field::above("lane", SEQUENCE, 2);
const VARIANT: Field = Field::above("variant", LANE, 2);
/// The fraction of the millisecond, in units of 1/4096 ms.
pub const FRACTION: Field = Field::above("fraction", VARIANT, 12);
const VERSION: Field = Field::above("version", FRACTION, 4);
/// The milliseconds since 1970.
pub const TIME: Field = Field::above("time", VERSION, 48);

/// The number of bytes of an ID.
pub const LEN: usize = (TIME.end() / 8) as usize;

/// The bits that all IDs have in common.
pub const COMMON: u128 = VERSION.put(7) | VARIANT.put(0b10);

/// Nanoseconds in a millisecond.
pub const UNIT: u64 = 1_000_000;

/// Milliseconds from 1970 on.
pub const SCALE: Scale = Scale::new(UNIT, 0, Tick(TIME.max()));

/// The last whole millisecond that a clock of 64 bits of nanoseconds reads, in the year 2554.
pub const END: Tick = Tick(u64::MAX / UNIT - 1);

/// The number of lanes of a server.
pub const LANES: u16 = LANE.max() as u16 + 1;

/// The layout of uuidv7 for the generator.
pub struct Uuidv7;

impl IdLayout for Uuidv7 {
    const SEQUENCE_BITS: u32 = SEQUENCE.width();
    const TICK_TOCK: bool = false;
    const FRACTION_BITS: u32 = FRACTION.width();
}

/// Returns the tick that holds `now`, and below it the fraction: what a session's clock gives.
#[inline]
pub const fn tick_with_fraction(now: UnixNanos) -> Tick {
    let fraction = (now.0 % UNIT << FRACTION.width()) / UNIT;
    Tick(now.0 / UNIT << FRACTION.width() | fraction)
}

/// The fields of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Milliseconds since 1970, of 48 bits.
    pub time: Tick,
    /// The fraction of the millisecond in units of 1/4096 ms, of 12 bits.
    pub fraction: u64,
    /// The lane, of 2 bits.
    pub lane: u64,
    /// The sequence number, of 8 bits.
    pub sequence: u64,
    /// The random number, of 52 bits.
    pub random: u64,
}

/// A UUID, its bytes from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(pub [u8; LEN]);

/// The UUIDs below and above all IDs: RFC 9562 calls them Nil and Max.
const NIL: Id = Id([0; LEN]);
const MAX: Id = Id([0xff; LEN]);

impl Id {
    /// Packs an ID. The fields must fit, but of `random` the lowest 52 bits count.
    #[inline]
    pub const fn pack(tick: Tick, fraction: u64, lane: u64, sequence: u64, random: u64) -> Self {
        let time = TIME.put(tick.0) | FRACTION.put(fraction);
        let place = LANE.put(lane) | SEQUENCE.put(sequence);
        Self((COMMON | time | place | RANDOM.put(random & RANDOM.max())).to_be_bytes())
    }

    /// Creates the ID of these fields at `time`, cut to the millisecond.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] before 1970 and after the year 10889; [`Error::FieldOutOfRange`]
    /// for a value outside its field.
    pub const fn encode(
        time: UnixMicros,
        fraction: i64,
        lane: i64,
        sequence: i64,
        random: i64,
    ) -> Result<Self, Error> {
        let TickPosition::At(tick) = SCALE.locate(time) else {
            let (first, last) = (SCALE.start(Tick(0)), SCALE.start(SCALE.last()));
            return Err(Error::TimeOutOfRange { id_type: NAME, time, first, last });
        };
        let fraction = match FRACTION.check(fraction) {
            Ok(fraction) => fraction,
            Err(error) => return Err(error),
        };
        match (LANE.check(lane), SEQUENCE.check(sequence), RANDOM.check(random)) {
            (Ok(lane), Ok(sequence), Ok(random)) => {
                Ok(Self::pack(tick, fraction, lane, sequence, random))
            }
            (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => Err(error),
        }
    }

    /// Creates an ID at `time`, to the microsecond. Of `number` the lowest ten bits are the lane
    /// and the sequence, and of `random` the lowest 52 bits count.
    ///
    /// # Errors
    /// [`Error::TimeOutOfRange`] before 1970 and after the year 10889.
    pub const fn at(time: UnixMicros, number: u64, random: u64) -> Result<Self, Error> {
        const MICROS: i64 = (UNIT / 1000) as i64;
        let fraction = time.0.rem_euclid(MICROS) << FRACTION.width();
        // The first fraction that is not before this microsecond, so that the microsecond can be
        // read back from it.
        let fraction = (fraction + MICROS - 1) / MICROS;
        let (lane, sequence) = (number >> SEQUENCE.width() & LANE.max(), number & SEQUENCE.max());
        let random = (random & RANDOM.max()) as i64;
        Self::encode(time, fraction, lane as i64, sequence as i64, random)
    }

    /// Returns whether this is a UUID of version 7, in the variant of RFC 9562.
    pub const fn is_valid(self) -> bool {
        let word = self.word();
        VERSION.get(word) == VERSION.get(COMMON) && VARIANT.get(word) == VARIANT.get(COMMON)
    }

    /// Returns the ID's fields, or `None` if it is not [valid](Self::is_valid).
    pub const fn parts(self) -> Option<Parts> {
        if !self.is_valid() {
            return None;
        }
        let word = self.word();
        Some(Parts {
            time: Tick(TIME.get(word)),
            fraction: FRACTION.get(word),
            lane: LANE.get(word),
            sequence: SEQUENCE.get(word),
            random: RANDOM.get(word),
        })
    }

    /// Returns when the ID's millisecond began, or `None` if it is not [valid](Self::is_valid).
    pub const fn time(self) -> Option<UnixMicros> {
        match self.is_valid() {
            true => Some(SCALE.start(Tick(TIME.get(self.word())))),
            false => None,
        }
    }

    /// Returns the smallest ID whose time is not before `time`: its other fields are 0.
    pub const fn min(time: UnixMicros) -> Self {
        match SCALE.first_from(time) {
            TickPosition::At(tick) => Self::pack(tick, 0, 0, 0, 0),
            TickPosition::Before => NIL,
            TickPosition::After => MAX,
        }
    }

    /// Returns the largest ID whose time is not after `time`; a UUID below all IDs if there is no
    /// such ID.
    pub const fn max(time: UnixMicros) -> Self {
        match SCALE.last_until(time) {
            TickPosition::At(tick) => Self::last(tick),
            TickPosition::Before => NIL,
            TickPosition::After => MAX,
        }
    }

    /// Returns the smallest and the largest ID whose time is from `from` until `to`, both included.
    /// If there is no such ID, the first is above the second.
    pub const fn range(from: UnixMicros, to: UnixMicros) -> (Self, Self) {
        match SCALE.between(from, to) {
            Some((first, last)) => (Self::pack(first, 0, 0, 0, 0), Self::last(last)),
            None => (MAX, NIL),
        }
    }

    const fn last(tick: Tick) -> Self {
        Self::pack(tick, FRACTION.max(), LANE.max(), SEQUENCE.max(), RANDOM.max())
    }

    const fn word(self) -> u128 {
        u128::from_be_bytes(self.0)
    }
}
