//! Converts a flake to an ID of another ID type and back.
//!
//! A conversion keeps all that is in the flake: the millisecond, the generator ID and the counter.
//! Different flakes stay different, and the order of the flakes, as numbers without a sign, is that
//! of the converted IDs. The way back refuses an ID that has more in it than a flake has room for,
//! and one of a time at which flakes are negative in SQL.
//!
//! | field of the flake | flake128 | uuidv7 |
//! |---|---|---|
//! | time | time | time; the fraction of the millisecond is 0 |
//! | datacenter and worker, 10 bits | worker | bits 12 to 21 of the random number |
//! | counter, 12 bits | sequence | bits 0 to 11 of the random number |
//!
//! There is no conversion to sno, which counts units of four milliseconds.

use crate::clock::{Tick, UnixMicros};
use crate::error::Error;
use crate::flake::{self, COUNTER, Epoch, GENERATOR, WORKER};
use crate::{flake128, uuidv7};

/// Returns milliseconds since 1970 of a flake that counts from an epoch, and its generator ID and
/// counter as they are in it.
const fn taken_apart(id: flake::Id, epoch: Epoch) -> (Tick, u64, u64) {
    let parts = id.parts();
    let millis = epoch.micros().0 as u64 / 1000 + parts.tick.0;
    (Tick(millis), parts.datacenter << WORKER.width() | parts.worker, parts.counter)
}

/// Creates the flake of a time, a generator ID and a counter.
const fn put_together(
    time: UnixMicros,
    generator: u64,
    counter: u64,
    epoch: Epoch,
) -> Result<flake::Id, Error> {
    match (GENERATOR.check(generator as i64), COUNTER.check(counter as i64)) {
        (Ok(generator), Ok(counter)) => {
            let (datacenter, worker) = (generator >> WORKER.width(), generator & WORKER.max());
            flake::Id::encode_signed(time, datacenter as i64, worker as i64, counter as i64, epoch)
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// Returns the flake128 of a flake that counts from `epoch`.
pub const fn flake_to_flake128(id: flake::Id, epoch: Epoch) -> flake128::Id {
    let (time, generator, counter) = taken_apart(id, epoch);
    flake128::Id::pack(time, generator, counter)
}

/// Returns the flake, counted from `epoch`, that becomes this flake128.
///
/// # Errors
/// [`Error::TimeOutOfRange`] outside the 41 bits from `epoch`; [`Error::FieldOutOfRange`] for a
/// worker or a sequence number that is too large for a flake.
pub const fn flake_from_flake128(id: flake128::Id, epoch: Epoch) -> Result<flake::Id, Error> {
    let parts = id.parts();
    put_together(id.time(), parts.worker, parts.sequence, epoch)
}

/// Returns the uuidv7 of a flake that counts from `epoch`.
pub const fn flake_to_uuidv7(id: flake::Id, epoch: Epoch) -> uuidv7::Id {
    let (time, generator, counter) = taken_apart(id, epoch);
    uuidv7::Id::pack(time, 0, 0, 0, generator << COUNTER.width() | counter)
}

/// Returns the flake, counted from `epoch`, that becomes this UUID; `None` if no flake does.
///
/// # Errors
/// [`Error::TimeOutOfRange`] outside the 41 bits from `epoch`.
pub const fn flake_from_uuidv7(id: uuidv7::Id, epoch: Epoch) -> Option<Result<flake::Id, Error>> {
    let (Some(parts), Some(time)) = (id.parts(), id.time()) else { return None };
    let (generator, counter) = (parts.random >> COUNTER.width(), parts.random & COUNTER.max());
    match (parts.fraction, parts.lane, parts.sequence) {
        (0, 0, 0) if generator <= GENERATOR.max() => {
            Some(put_together(time, generator, counter, epoch))
        }
        _ => None,
    }
}
