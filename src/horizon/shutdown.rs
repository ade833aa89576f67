//! The end of a server that stops cleanly: the horizon becomes exact.

use super::file::{self, PersistedState};
use super::lineage;
use super::location;
use super::opening::{check_cluster, ensure_covered, merge_replayed, present_state, save};
use super::replayed::replayed;
use crate::clock::now;
use crate::error::Report;
use crate::id_types::{ID_TYPES, IdTypeEntry};
use crate::lock::ExclusiveLock;
use crate::shmem::{Shared, attached_watermark};
use crate::{guc, server_log};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::Horizon;
use std::sync::atomic::{Ordering, fence};

/// Returns the exact horizon, if no session issues any more: that of the time when shared memory
/// was initialized, raised by what the cells of all ID types issued since. Also returns the last
/// reading of the clock that this horizon shows in the timeline in use.
///
/// The time at which a cell began is left out. It is that of the horizon, which is included; or it
/// is etcd's high-water mark, and then other servers issued up to it. An ID of this server is above
/// the time at which its cell began.
fn exact(
    shared: &Shared,
    issued: impl Fn(&IdTypeEntry, &Cell) -> [Tick; 2],
) -> (Horizon, UnixNanos) {
    let opened = &shared.opened;
    let toggle = shared.gates.horizon().toggle;
    let start = Horizon { toggle, ..opened.start_horizon() };
    let mut horizon = Horizon { toggle, ..opened.issued_horizon() };
    for (index, entry) in ID_TYPES.iter().enumerate() {
        let Some(earliest) = opened.epoch(index) else { continue };
        let scale = entry.scale_from(earliest);
        for (_, cell) in shared.cells(index) {
            let issued = issued(entry, cell);
            if issued != [Tick(0); 2] {
                horizon = (entry.covering)(horizon, scale, issued);
            }
        }
    }
    let horizon = covering_watermark(horizon);
    // An ID's tick is one that a clock has read; the time at which the horizon began is not.
    let read = if horizon.in_use() > start.in_use() { horizon.in_use().0 - 1 } else { 0 };
    (horizon, opened.last_clock_reading().max(UnixNanos(read)))
}

/// Returns the horizon that also covers the watermarks that were reported since shared memory was
/// initialized. Every ID after the next start is above the greatest track then.
fn covering_watermark(mut horizon: Horizon) -> Horizon {
    let reported = attached_watermark().map(|watermark| watermark.floor.get());
    horizon.until[0] = horizon.until[0].max(reported.unwrap_or(UnixNanos(0)));
    horizon
}

/// Writes the exact horizon when the postmaster ends after all its children. There is no lock to
/// take any more; the seal replaces it. If the file cannot be written, the horizon stays where it
/// was, which is safe.
pub fn stop(shared: &'static Shared) {
    if let Err(error) = write_exact(shared) {
        server_log::not_exact(error);
    }
}

fn write_exact(shared: &Shared) -> Result<(), Report> {
    let has_written = shared.writes.last().is_some();
    let state = match shared.opened.loaded() {
        // There never was an ID, nor a reader of the watermark.
        true if !shared.opened.has_ids() && !has_written => return Ok(()),
        // There was no ID since shared memory was initialized, and no setting asks how long the
        // server is down.
        true if !has_written && guc::allowable_downtime().is_none() => return Ok(()),
        true => {
            shared.lease.stop();
            let (horizon, last_clock_reading) = exact(shared, |entry, cell| {
                let _ = (entry.seal)(cell);
                (entry.issued)(cell)
            });
            shared.gates.set(horizon);
            shared.leased.set(Horizon::NONE);
            PersistedState { stopped: true, ..present_state(shared, horizon, last_clock_reading) }
        }
        // A server without calls has still seen what its primary did, or was promoted.
        false => return write_unopened(shared),
    };
    Ok(file::write(&state, |new| location::begin(&location::here(), new))?)
}

/// Writes what a server knows from recovery, if it has not opened its state.
fn write_unopened(shared: &Shared) -> Result<(), Report> {
    let has_replayed = replayed(shared).0 != 0 || shared.recovered.message().is_some();
    let on_disk = file::read().map_err(Report::from).and_then(check_cluster);
    let state = on_disk.as_ref().ok().filter(|&&state| ensure_covered(shared, state).is_ok());
    let location = state.and_then(|state| lineage::at_stop(state.is_some()));
    if !has_replayed && location.is_none() {
        return Ok(());
    }
    let state = merge_replayed(shared, on_disk?)?;
    let state = PersistedState { written_at: now(), stopped: true, ..state };
    file::write(&state, |new| location::begin(&lineage::of_new_state(shared), new))?;
    location.map_or(Ok(()), |location| location::write(&location))
}

/// Counts this process as a user, if the last user has to make the horizon exact.
pub fn add_user(shared: &'static Shared) {
    if shared.ends_with_its_users() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        shared.users.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts this process out. The last user makes the horizon exact, and calls `after` when the
/// server's own gates have moved. A session that is not the last leaves without the lock, which
/// another may hold for as long as its disk takes.
pub fn remove_user(shared: &'static Shared, after: impl FnOnce(&ExclusiveLock)) {
    if !shared.ends_with_its_users() {
        return;
    }
    // Release and Acquire: all that the other sessions did before they left happens before what the
    // last one does.
    if shared.users.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    let lock = ExclusiveLock::take(shared.lock());
    // A session counts itself in under the lock: it may have come since, and left, too.
    let others = shared.users.load(Ordering::Acquire) > 0;
    if others || !shared.opened.loaded() || !shared.opened.has_ids() {
        return;
    }
    let (horizon, last_clock_reading) = exact(shared, |entry, cell| (entry.issued)(cell));
    // The gate moves first: if the file cannot be written, or it is unknown whether it was, the
    // gate is at or before it.
    shared.gates.set(horizon);
    // A reader of the watermark may have raised the floor by the old gates. Either it sees the new
    // ones when it looks again, or this sees the floor.
    fence(Ordering::SeqCst);
    let horizon = covering_watermark(horizon);
    shared.gates.set(horizon);
    after(&lock);
    shared.opened.set_last_clock_reading(last_clock_reading);
    if let Err(error) = save(shared, &present_state(shared, horizon, last_clock_reading)) {
        server_log::not_exact(error.into());
    }
}
