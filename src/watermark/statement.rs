//! One statement sees one watermark.
//!
//! PostgreSQL may call a STABLE function for each row of a statement. The watermark rises between
//! two calls. With two watermarks a statement could leave out a row and return a later one, and its
//! reader would go on after the later one. So all calls under one snapshot get the same watermark:
//! those of a statement, of all FETCHes from a cursor, and of STABLE functions that a statement
//! calls. A parallel worker has a copy of its own, and so gets an error.
//!
//! [`answers`] keeps the watermarks of a snapshot: one for each stream that it was asked for.

use super::{answers, reader, replayed, rewritten};
use crate::error::{Code, Report};
use crate::process;
use crate::shmem::{self, shared};
use flakeid_core::clock::{UnixMicros, UnixNanos};
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Returns the watermark of a stream for the active snapshot, in whole milliseconds.
///
/// # Errors
/// This is a parallel worker; the snapshot is not one of a statement, or is from before a
/// promotion; the errors of the horizon, without which there are no IDs; the file cannot be
/// written; a standby has replayed no watermark.
pub fn watermark_of_statement(stream: Stream) -> Result<UnixMicros, Report> {
    let snapshot = active_snapshot()?;
    // SAFETY: `active_snapshot` returns an MVCC snapshot.
    if let Some(millis) = unsafe { answers::find(snapshot, stream) } {
        return Ok(UnixMicros(millis * 1000));
    }
    let shared = shared()?;
    let memory = shmem::watermark()?;
    // SAFETY: the snapshot is active.
    let is_standby = unsafe { (*snapshot).takenDuringRecovery };
    if !is_standby {
        reader::prepare(shared, memory)?;
    }
    let view = reader::Snapshot::new(snapshot);
    let watermark = match rewritten::hide_rows(&view) {
        true => UnixNanos(0),
        // The watermark of all IDs is not later than that of a stream.
        false if is_standby => replayed::watermark(memory, &view)?,
        false => reader::compute(shared, memory, view, stream)?,
    };
    let millis = (watermark.0 / NANOS_PER_MILLI) as i64;
    // SAFETY: `active_snapshot` returns an MVCC snapshot.
    unsafe { answers::keep(snapshot, stream, millis) };
    Ok(UnixMicros(millis * 1000))
}

fn active_snapshot() -> Result<pg_sys::Snapshot, Report> {
    process::ensure_not_parallel_worker("flakeid_watermark")
        .map_err(|report| report.hint("Declare the function that calls it PARALLEL RESTRICTED."))?;
    // SAFETY: these functions read what this process has.
    let snapshot = unsafe {
        if pg_sys::HistoricSnapshotActive() {
            return Err(Report::wrong_state(
                "flakeid_watermark() cannot be called in logical decoding",
            ));
        }
        if !pg_sys::ActiveSnapshotSet() {
            return Err(no_snapshot());
        }
        pg_sys::GetActiveSnapshot()
    };
    // SAFETY: an active snapshot lives as long as the statement.
    let (kind, is_old) = unsafe {
        let was_standby = (*snapshot).takenDuringRecovery;
        ((*snapshot).snapshot_type, was_standby && !pg_sys::RecoveryInProgress())
    };
    if kind != pg_sys::SnapshotType::SNAPSHOT_MVCC {
        return Err(no_snapshot());
    }
    match is_old {
        true => {
            Err(Report::wrong_state("the snapshot is from before the promotion of this server")
                .hint("Begin a new transaction."))
        }
        false => Ok(snapshot),
    }
}

fn no_snapshot() -> Report {
    Report::new(
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "flakeid_watermark() needs the snapshot of a statement",
    )
}
