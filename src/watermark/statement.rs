//! One statement sees one watermark.
//!
//! PostgreSQL may call a STABLE function for each row of a statement. The watermark rises between two calls. With two
//! watermarks a statement could leave out a row and return a later one, and its reader would go on after the later one.
//! So all calls under one snapshot get the same watermark: those of a statement, of all FETCHes from a cursor, and of
//! STABLE functions that a statement calls. A parallel worker has a copy of its own, and so gets an error.
//!
//! # How a snapshot keeps its watermark
//! PostgreSQL copies a snapshot when a statement makes it the active one. The copy lasts as long as the statement or the
//! cursor, and an MVCC snapshot never uses its field `speculativeToken`. So the watermark is kept there, and copies of the
//! copy have it, too. The field has 32 bits. It counts milliseconds from a base, which is 24 days before the first
//! watermark of a transaction is asked for. The few watermarks that are earlier have a place in a list, and the least
//! numbers are for these places. Snapshots end with their transaction, and so do base and list ([`Numbers`]).

use super::{prepared, reader, replayed, rewritten, usage};
use crate::clock::now;
use crate::error::{Code, Report};
use crate::shmem::{self, shared};
use crate::{horizon, process};
use flakeid_core::clock::{UnixMicros, UnixNanos};
use pgrx::pg_sys;
use std::cell::RefCell;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The distance of the base from the clock: 24 days.
const BEFORE: i64 = 1 << 31;

/// The first number that is not for a place in the list.
const FIRST: i64 = 1 << 16;

/// The numbers of watermarks in one transaction.
#[derive(Debug)]
struct Numbers {
    /// The transaction, by PostgreSQL's local number.
    transaction: u32,
    /// The time of number 0, in milliseconds since 1970. It may be before 1970.
    base: i64,
    /// The times of the numbers from 1 on, in milliseconds since 1970.
    early: Vec<i64>,
}

thread_local! {
    static NUMBERS: RefCell<Numbers> =
        const { RefCell::new(Numbers { transaction: 0, base: 0, early: Vec::new() }) };
}

impl Numbers {
    /// Returns the time of a number, in milliseconds since 1970; `None` for 0, and for a number that was not given in
    /// this transaction.
    fn time(&self, number: u32) -> Option<i64> {
        match i64::from(number) {
            _ if self.transaction != transaction() => None,
            number if number >= FIRST => Some(self.base + number),
            number => self.early.get(usize::try_from(number - 1).ok()?).copied(),
        }
    }

    /// Returns a number for a time in milliseconds since 1970, and the time, which may be lowered.
    fn give(&mut self, millis: i64) -> (u32, i64) {
        if self.transaction != transaction() {
            let now = (now().0 / NANOS_PER_MILLI) as i64;
            *self = Self { transaction: transaction(), base: now - BEFORE, early: Vec::new() };
        }
        let number = millis.min(self.base + i64::from(u32::MAX)) - self.base;
        if let Ok(number) = u32::try_from(number)
            && i64::from(number) >= FIRST
        {
            return (number, self.base + i64::from(number));
        }
        let at = self.early.iter().position(|&early| early == millis);
        let at = at.unwrap_or_else(|| {
            // If the list is full, the last place is for 1970.
            let is_full = self.early.len() as i64 >= FIRST - 3;
            let early = if is_full { 0 } else { millis };
            self.early.iter().position(|&there| there == early).unwrap_or_else(|| {
                self.early.push(early);
                self.early.len() - 1
            })
        });
        (at as u32 + 1, self.early[at])
    }
}

/// Returns the local number of the present transaction.
fn transaction() -> u32 {
    process::own().local_transaction
}

/// Returns the watermark of the active snapshot, in whole milliseconds.
///
/// # Errors
/// This is a parallel worker; the snapshot is not one of a statement, or is from before a promotion; the errors of the
/// horizon, without which there are no IDs; the file cannot be written; a standby has replayed no watermark.
pub fn watermark_of_statement() -> Result<UnixMicros, Report> {
    let snapshot = active_snapshot()?;
    // SAFETY: the snapshot is active, and so it is PostgreSQL's copy in this process.
    let kept = unsafe { (*snapshot).speculativeToken };
    if let Some(millis) = NUMBERS.with_borrow(|numbers| numbers.time(kept)) {
        return Ok(UnixMicros(millis * 1000));
    }
    let shared = shared()?;
    let memory = shmem::watermark()?;
    // SAFETY: the snapshot is active.
    let is_standby = unsafe { (*snapshot).takenDuringRecovery };
    if !is_standby {
        horizon::ensure_loaded(shared)?;
        prepared::ensure_loaded(shared, memory)?;
        usage::begin_use(shared, memory)?;
    }
    let view = reader::Snapshot::new(snapshot);
    let watermark = match rewritten::hide_rows(&view) {
        true => UnixNanos(0),
        false if is_standby => replayed::watermark(memory, &view)?,
        false => reader::watermark(shared, memory, view)?,
    };
    let millis = (watermark.0 / NANOS_PER_MILLI) as i64;
    let (number, millis) = NUMBERS.with_borrow_mut(|numbers| numbers.give(millis));
    // SAFETY: the snapshot is active, and only this process uses the copy.
    unsafe { (*snapshot).speculativeToken = number };
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
