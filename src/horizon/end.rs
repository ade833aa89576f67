//! The end of a server that stops in good order: the horizon becomes exact.

use super::file::{self, State};
use super::{known, own, recovery, save};
use crate::clock::now;
use crate::error::Failure;
use crate::identity::lease;
use crate::shmem::{ExclusiveLock, Shared};
use crate::systems::{Entry, TABLE};
use crate::{guc, note, wait};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::Horizon;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicBool, Ordering};

/// The horizon that this life began at, and what the cells of all systems issued in it: the exact horizon,
/// if nobody issues any more. And the last reading of the clock that it shows in the timeline in use.
///
/// What a cell began at is left out: it is the horizon's, which is here, or comes from a mark in etcd, and
/// then other servers issued up to it. An ID of this server is above what its cell began at.
fn exact(shared: &Shared, issued: impl Fn(&Entry, &Cell) -> [Tick; 2]) -> (Horizon, UnixNanos) {
    let record = &shared.record;
    let toggle = shared.gates.horizon().toggle;
    let begun = Horizon { toggle, ..record.begun() };
    let mut horizon = Horizon { toggle, ..record.begun_and_issued() };
    for (system, entry) in TABLE.iter().enumerate() {
        let Some(earliest) = record.epoch(system) else { continue };
        let scale = entry.scale_from(earliest);
        for (_, cell) in shared.cells(system) {
            let issued = issued(entry, cell);
            if issued != [Tick(0); 2] {
                horizon = (entry.covering)(horizon, scale, issued);
            }
        }
    }
    // An ID's tick is one that a clock has read; what the horizon began at is not.
    let read = if horizon.in_use() > begun.in_use() { horizon.in_use().0 - 1 } else { 0 };
    (horizon, record.extended().max(UnixNanos(read)))
}

/// The postmaster ends, and all its children have: what is known is written down exactly. There is no
/// lock to take any more; the seal does for it.
///
/// # Errors
/// As [`file::write`]: the horizon stays where it was, which is safe.
pub fn stop(shared: &Shared) -> Result<(), Failure> {
    let record = &shared.record;
    let state = match record.loaded() {
        // There never was an ID.
        true if record.epochs().iter().all(Option::is_none) => return Ok(()),
        // Nor was there one in this life, and nobody wants to know how long the server is down.
        true if record.last_write().is_none() && guc::allowable_downtime().is_none() => {
            return Ok(());
        }
        true => {
            shared.lease.stop();
            let (horizon, since) = exact(shared, |entry, cell| {
                let _ = (entry.seal)(cell);
                (entry.issued)(cell)
            });
            shared.gates.set(horizon);
            shared.leased.set(Horizon::NONE);
            let (system_identifier, epochs) = (recovery::system_identifier(), record.epochs());
            let (names, written) = (record.names(), now());
            State { system_identifier, horizon, names, epochs, since, written, stopped: true }
        }
        // A standby that was asked nothing still has seen what its primary did.
        false if recovery::replayed(shared).0 == 0 && record.recovered.message().is_none() => {
            return Ok(());
        }
        false => State { written: now(), stopped: true, ..known(shared, own(file::read()?)?)? },
    };
    Ok(file::write(&state)?)
}

/// Sees to it that this process's leaving is noticed, and counts it in where the last one that leaves
/// has to make the horizon exact.
pub(super) fn join(shared: &'static Shared) {
    static JOINED: AtomicBool = AtomicBool::new(false);
    if JOINED.load(Ordering::Relaxed) {
        return;
    }
    wait::register();
    if shared.ends_with_its_users() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        shared.record.users.fetch_add(1, Ordering::Relaxed);
    }
    JOINED.store(true, Ordering::Relaxed);
    // SAFETY: called once, in a process that has joined the server.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    for system in TABLE {
        (system.leave)();
    }
    match crate::shmem::shared() {
        Ok(shared) if shared.ends_with_its_users() => leave_to_the_next(shared),
        _ => {}
    }
}

/// The last to leave makes the horizon exact. A session that is not the last leaves without the lock, which
/// another may hold for as long as its disk takes.
fn leave_to_the_next(shared: &Shared) {
    let record = &shared.record;
    // Release and Acquire: what every other session did before it left comes before what the last does.
    if record.users.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    let lock = ExclusiveLock::take(shared.lock());
    // A session counts itself in under the lock: it may have come since, and left, too.
    let others = record.users.load(Ordering::Acquire) > 0;
    if others || !record.loaded() || record.epochs().iter().all(Option::is_none) {
        return;
    }
    let (horizon, since) = exact(shared, |entry, cell| (entry.issued)(cell));
    // The gate first: if the file cannot be written, or may have been, the gate is at or before it.
    shared.gates.set(horizon);
    lease::cap(shared, &lock);
    record.extended.store(since.0, Ordering::Relaxed);
    if let Err(trouble) = save(record, horizon, record.names(), record.epochs(), since) {
        note::not_exact(trouble.into());
    }
}
