//! The end of a server that stops in good order: the horizon becomes exact.

use super::file::{self, State};
use super::opening::{known, own, save};
use super::replayed::{replayed, system_identifier};
use crate::clock::now;
use crate::error::Report;
use crate::id_types::{ID_TYPES, IdType};
use crate::lock::ExclusiveLock;
use crate::shmem::Shared;
use crate::{guc, server_log};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::Horizon;
use std::sync::atomic::Ordering;

/// The horizon that this life began at, and what the cells of all systems issued in it: the exact horizon,
/// if nobody issues any more. And the last reading of the clock that it shows in the timeline in use.
///
/// What a cell began at is left out: it is the horizon's, which is here, or comes from a mark in etcd, and
/// then other servers issued up to it. An ID of this server is above what its cell began at.
fn exact(shared: &Shared, issued: impl Fn(&IdType, &Cell) -> [Tick; 2]) -> (Horizon, UnixNanos) {
    let record = &shared.record;
    let toggle = shared.gates.horizon().toggle;
    let begun = Horizon { toggle, ..record.begun() };
    let mut horizon = Horizon { toggle, ..record.begun_and_issued() };
    for (system, entry) in ID_TYPES.iter().enumerate() {
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

/// Writes down exactly what is known, when the postmaster ends after all its children. There is no lock to take any
/// more; the seal does for it. Where the file cannot be written, the horizon stays where it was, which is safe.
pub fn stop(shared: &'static Shared) {
    if let Err(error) = write_exact(shared) {
        server_log::not_exact(error);
    }
}

fn write_exact(shared: &Shared) -> Result<(), Report> {
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
            let (system_identifier, epochs) = (system_identifier(), record.epochs());
            let (names, written) = (record.names(), now());
            State { system_identifier, horizon, names, epochs, since, written, stopped: true }
        }
        // A standby that was asked nothing still has seen what its primary did.
        false if replayed(shared).0 == 0 && record.recovered.message().is_none() => {
            return Ok(());
        }
        false => State { written: now(), stopped: true, ..known(shared, own(file::read()?)?)? },
    };
    Ok(file::write(&state)?)
}

/// Counts this process in, where the last one that leaves has to make the horizon exact.
pub fn join(shared: &'static Shared) {
    if shared.ends_with_its_users() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        shared.record.users.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts this process out. The last to leave makes the horizon exact, and calls `after` when the server's own gates
/// have moved. A session that is not the last leaves without the lock, which another may hold for as long as its disk
/// takes.
pub fn leave(shared: &'static Shared, after: impl FnOnce(&ExclusiveLock)) {
    if !shared.ends_with_its_users() {
        return;
    }
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
    after(&lock);
    record.extended.store(since.0, Ordering::Relaxed);
    if let Err(error) = save(record, horizon, record.names(), record.epochs(), since) {
        server_log::not_exact(error.into());
    }
}
