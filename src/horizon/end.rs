//! The end of a server that stops in good order: the horizon becomes exact.

use super::file::{self, State};
use super::{known, own, recovery, write};
use crate::clock::now;
use crate::error::Failure;
use crate::note;
use crate::shmem::{ExclusiveLock, Shared};
use crate::systems::{Entry, Last, TABLE};
use flakeid_core::gate::Horizon;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the cells had last, in all systems: the exact horizon, if nobody issues any more.
fn exact(shared: &Shared, last: impl Fn(&Entry) -> Last) -> Horizon {
    let record = &shared.record;
    let mut horizon = Horizon { toggle: shared.gates.horizon().toggle, ..record.begun() };
    for (system, entry) in TABLE.iter().enumerate() {
        let Some(earliest) = record.epoch(system) else { continue };
        let scale = entry.scale_from(earliest);
        for (_, cell) in shared.cells(system) {
            horizon = (entry.covering)(horizon, scale, last(entry)(cell));
        }
    }
    horizon
}

/// The postmaster ends, and all its children have: what is known is written down exactly.
///
/// # Errors
/// As [`file::write`]: the horizon stays where it was, which is safe.
pub fn stop(shared: &Shared) -> Result<(), Failure> {
    let record = &shared.record;
    let (horizon, epochs) = match record.loaded() {
        // There never was an ID.
        true if record.epochs().iter().all(Option::is_none) => return Ok(()),
        true => {
            let toggle = shared.gates.horizon().toggle;
            shared.gates.set(Horizon { toggle, ..Horizon::NONE });
            (exact(shared, |entry| entry.seal), record.epochs())
        }
        // A standby that was asked nothing still has seen what its primary did.
        false if recovery::replayed(shared).0 == 0 => return Ok(()),
        false => {
            let state = known(shared, own(file::read()?)?);
            (state.horizon, state.epochs)
        }
    };
    let system_identifier = recovery::system_identifier();
    let state = State { system_identifier, horizon, epochs, written: now(), stopped: true };
    Ok(file::write(&state)?)
}

/// Counts this process in where the last one that leaves has to make the horizon exact.
pub(super) fn join(shared: &'static Shared) {
    if !shared.ends_with_its_users() {
        return;
    }
    static JOINED: AtomicBool = AtomicBool::new(false);
    if JOINED.swap(true, Ordering::Relaxed) {
        return;
    }
    let _lock = ExclusiveLock::take(shared.lock());
    shared.record.users.fetch_add(1, Ordering::Relaxed);
    // SAFETY: called once, in a process that has joined the server.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    let Ok(shared) = crate::shmem::shared() else { return };
    let _lock = ExclusiveLock::take(shared.lock());
    let record = &shared.record;
    let others = record.users.fetch_sub(1, Ordering::Relaxed) > 1;
    if others || !record.loaded() || record.epochs().iter().all(Option::is_none) {
        return;
    }
    let horizon = exact(shared, |entry| entry.last);
    match write(record, horizon, record.epochs(), now()) {
        Ok(()) => shared.gates.set(horizon),
        Err(trouble) => note::not_exact(trouble.into()),
    }
}
