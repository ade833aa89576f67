//! The gates of ID types whose generator IDs are leased: the server's own, capped by the claim.

use super::error::{LeaseError, not_leased};
use crate::clock::{boot, now};
use crate::horizon::{self, Pass, Turn};
use crate::id_types::ServerIdType;
use crate::lock::ExclusiveLock;
use crate::shmem::{Kept, Shared};
use flakeid_core::clock::Scale;
use flakeid_core::gate::Horizon;
use flakeid_core::generator::Stamp;

/// Returns the generator IDs that are held now.
///
/// # Errors
/// [`LeaseError::NotLeased`].
pub fn held<'a>(shared: &'a Shared, lock: &'a ExclusiveLock) -> Result<&'a Kept, LeaseError> {
    let kept = shared.lease.kept(lock);
    if kept.is_good(boot()) { Ok(kept) } else { Err(not_leased(kept)) }
}

/// Puts the leased gates to where the node's stand and the claim lets them. Each process that moves one of these two
/// calls it, with the lock held.
pub fn cap(shared: &Shared, lock: &ExclusiveLock) {
    let kept = shared.lease.kept(lock);
    let (now, boot) = (now(), boot());
    match kept.is_good(boot) {
        true => shared.leased.cap(&shared.gates, |horizon| kept.claim.caps(horizon, now, boot)),
        false => {
            shared.leased.set(Horizon { toggle: shared.gates.horizon().toggle, ..Horizon::NONE })
        }
    }
}

/// Moves the leased gates past a stamp that one of them does not admit, and the server's own gates where they stand in
/// the way; or leaves that to the process that is at it.
///
/// # Errors
/// As [`horizon::extend`]; [`LeaseError::NotLeased`].
pub fn extend<S: ServerIdType>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
) -> Result<Pass, LeaseError> {
    let lock = match horizon::wait_for_turn::<S>(shared, &shared.leased, scale, stamp) {
        Turn::Passed(pass) => return Ok(pass),
        Turn::Mine(lock) => lock,
    };
    // By the clock since boot, so that it needs no worker.
    if let Err(error) = held(shared, &lock) {
        cap(shared, &lock);
        return Err(error);
    }
    horizon::extend_locked::<S>(shared, &lock, scale, stamp)?;
    cap(shared, &lock);
    match horizon::passes::<S>(&shared.leased.near, scale, stamp) {
        true => Ok(Pass::Near),
        false => Ok(Pass::Leased),
    }
}
