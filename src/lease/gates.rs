//! The gates of ID types whose generator IDs are leased: the server's own, capped by the claim.

use super::error::{LeaseError, not_leased};
use crate::clock::{now, since_boot};
use crate::horizon::{self, GateChoice, Turn};
use crate::id_types::ServerIdType;
use crate::lock::ExclusiveLock;
use crate::shmem::{LeaseState, Shared};
use flakeid_core::clock::Scale;
use flakeid_core::gate::Horizon;
use flakeid_core::generator::Stamp;

/// Returns the generator IDs that are held now.
///
/// # Errors
/// [`LeaseError::NotLeased`].
pub fn held<'a>(shared: &'a Shared, lock: &'a ExclusiveLock) -> Result<&'a LeaseState, LeaseError> {
    let state = shared.lease.state(lock);
    if state.is_usable(since_boot()) { Ok(state) } else { Err(not_leased(state)) }
}

/// Moves the leased gates to the server's own, as far as the claim permits. Each process that moves
/// one of these two calls it, with the lock held.
pub fn cap(shared: &Shared, lock: &ExclusiveLock) {
    let state = shared.lease.state(lock);
    let (now, boot) = (now(), since_boot());
    match state.is_usable(boot) {
        true => shared.leased.cap(&shared.gates, |horizon| state.limits.caps(horizon, now, boot)),
        false => {
            shared.leased.set(Horizon { toggle: shared.gates.horizon().toggle, ..Horizon::NONE })
        }
    }
}

/// Moves the leased gates past a stamp that one of them does not admit. Moves the server's own
/// gates first if they are in the way. Leaves both to another process that is moving them already.
///
/// # Errors
/// The errors of [`horizon::extend`]; [`LeaseError::NotLeased`].
pub fn extend<S: ServerIdType>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
) -> Result<GateChoice, LeaseError> {
    let lock = match horizon::wait_for_turn::<S>(shared, &shared.leased, scale, stamp) {
        Turn::Passed(pass) => return Ok(pass),
        Turn::Mine(lock) => lock,
    };
    // The deadline is a time since boot, so that this needs no worker.
    if let Err(error) = held(shared, &lock) {
        cap(shared, &lock);
        return Err(error);
    }
    horizon::extend_locked::<S>(shared, &lock, scale, stamp)?;
    cap(shared, &lock);
    match horizon::passes::<S>(&shared.leased.soft, scale, stamp) {
        true => Ok(GateChoice::Soft),
        false => Ok(GateChoice::WaitForLease),
    }
}
