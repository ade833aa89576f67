//! The watermark of a snapshot, and the transactions that hold it back.
//!
//! A reader takes these steps, and reports nothing if one of them fails:
//! 1. It moves the gates past the present time, so that the watermark is covered by the durable
//!    horizon.
//! 2. It raises the floor, and looks at the gates again: the last user of a server that is not
//!    preloaded may have moved them down in between.
//! 3. It reads all slots, and then the list of prepared transactions.
//! 4. It records what is settled, with a position, for old snapshots. If another reader does that
//!    now, it does not.
//!
//! # Which transactions a snapshot sees
//! A transaction's ID has 64 bits here, as slots keep IDs for as long as the server runs.
//! PostgreSQL's own function compares 32 bits. So it is asked only about an ID between the
//! snapshot's `xmin` and `xmax`.
//!
//! # Old snapshots
//! If a slot has forgotten what an old snapshot does not see, the history may have a watermark for
//! it, that of all IDs. If it has none, the snapshot is older than the first scan. Then the
//! watermark is the horizon when shared memory was initialized. Only prepared transactions can have
//! earlier IDs, and their bounds count in any case.

use super::transactions::{ServerTransactions, next_transaction};
use super::{prepared, usage};
use crate::clock::now;
use crate::error::Report;
use crate::lock::ExclusiveLock;
use crate::shmem::{self, Shared, WatermarkSegment};
use crate::{horizon, process};
use flakeid_core::clock::UnixNanos;
use flakeid_core::transactions::{Transactions as _, full_transaction};
use flakeid_core::watermark::{Position, Scan, Stream, Streams, settled_by_clock};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::sync::atomic::{Ordering, fence};

/// Reads the clock, and returns a time at or before the beginning of all ticks that hold the
/// reading.
pub fn settled() -> UnixNanos {
    settled_by_clock(now())
}

/// A snapshot, with transaction IDs of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    snapshot: pg_sys::Snapshot,
    xmin: u64,
    xmax: u64,
}

impl Snapshot {
    /// Constructs it from PostgreSQL's, which is an MVCC snapshot and lives as long.
    pub fn new(snapshot: pg_sys::Snapshot) -> Self {
        let next = next_transaction();
        // SAFETY: the caller has the snapshot.
        let (xmin, xmax) = unsafe { ((*snapshot).xmin, (*snapshot).xmax) };
        let full = |id: pg_sys::TransactionId| full_transaction(id.into_inner(), next);
        Self { snapshot, xmin: full(xmin), xmax: full(xmax) }
    }

    /// Returns whether the snapshot sees the transaction of a slot's entry.
    fn sees(&self, transaction: u64) -> bool {
        transaction < self.xmin
            || transaction < self.xmax
                // SAFETY: the snapshot is one that this function knows, and the ID is near to it.
                && unsafe {
                    !pg_sys::XidInMVCCSnapshot((transaction as u32).into(), self.snapshot)
                }
    }

    /// Returns whether the snapshot sees what a transaction or subtransaction has written, by the
    /// 32 bits of its number; `None` is for what all see.
    pub fn sees_row_of(&self, transaction_id: Option<u32>) -> bool {
        let next = next_transaction();
        transaction_id.is_none_or(|id| self.sees(full_transaction(id, next)))
    }

    /// Returns the numbers between which the snapshot sees some transactions and others not.
    pub fn ends(&self) -> (u64, u64) {
        (self.xmin, self.xmax)
    }

    /// Returns whether the snapshot is equal to one that is taken now: then both see the same
    /// transactions.
    pub fn equals_present(&self) -> bool {
        fn ids<'a>(ids: *mut pg_sys::TransactionId, count: usize) -> &'a [pg_sys::TransactionId] {
            // SAFETY: the caller passes an array of a snapshot, which has this many IDs.
            if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(ids, count) } }
        }
        thread_local! {
            /// A snapshot of our own: PostgreSQL lends none in a parallel query.
            static PRESENT: RefCell<pg_sys::SnapshotData> = RefCell::default();
        }
        let present = PRESENT.with(RefCell::as_ptr);
        // SAFETY: the caller has the one snapshot. PostgreSQL fills the other one, and allocates
        // its arrays the first time. The process has one thread, and nothing else uses it. A
        // snapshot is active, so that taking another one changes nothing that other processes see.
        unsafe {
            (*present).snapshot_type = pg_sys::SnapshotType::SNAPSHOT_MVCC;
            let (own, present) = (&*self.snapshot, &*pg_sys::GetSnapshotData(present));
            let count = |number: i32| number.max(0) as usize;
            own.xmin == present.xmin
                && own.xmax == present.xmax
                && own.takenDuringRecovery == present.takenDuringRecovery
                && own.suboverflowed == present.suboverflowed
                && ids(own.xip, own.xcnt as usize) == ids(present.xip, present.xcnt as usize)
                && ids(own.subxip, count(own.subxcnt))
                    == ids(present.subxip, count(present.subxcnt))
        }
    }

    /// Returns PostgreSQL's snapshot.
    pub fn raw(&self) -> pg_sys::Snapshot {
        self.snapshot
    }

    /// Returns whether the snapshot sees all transactions that had ended before a position was
    /// read.
    pub fn covers(&self, position: Position) -> bool {
        position.0 <= self.xmin || position.0 < self.xmax
    }

    /// Returns the transactions below a number that ran when the snapshot was taken.
    fn running_below(&self, number: u64) -> impl Iterator<Item = u64> {
        let Self { snapshot, xmin, xmax } = *self;
        // SAFETY: the caller has the snapshot.
        let (ids, count) = unsafe { ((*snapshot).xip, (*snapshot).xcnt as usize) };
        let count = if xmin < number { count } else { 0 };
        // SAFETY: the array has this many IDs. If there are no IDs, the closure is not called.
        let id = move |place| unsafe { (*ids.add(place)).into_inner() };
        (0..count)
            .map(move |place| full_transaction(id(place), xmax))
            .filter(move |&id| id < number)
    }
}

/// Prepares the server for a reader: opens the state, and remembers that the watermark is in use.
///
/// # Errors
/// The errors of the horizon, without which there are no IDs; the file cannot be written.
pub fn prepare(shared: &Shared, memory: &WatermarkSegment) -> Result<(), Report> {
    horizon::ensure_loaded(shared)?;
    prepared::ensure_loaded(shared, memory)?;
    usage::begin_use(shared, memory)
}

/// Returns the watermark of a stream for a snapshot. The server is [prepared](prepare).
///
/// # Errors
/// The state file cannot be written.
pub fn compute(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
    snapshot: Snapshot,
    stream: Stream,
) -> Result<UnixNanos, Report> {
    let sees = |transaction| snapshot.sees(transaction);
    let mut scan = scan(shared, memory, stream, sees)?;
    let covers = |position| snapshot.covers(position);
    let prepared = prepared::unseen_bound(memory, sees, covers, |id| snapshot.running_below(id));
    scan.add(prepared);
    let position = Position(next_transaction());
    if let Some(watermark) = scan.watermark() {
        if let Some(mut lock) = ExclusiveLock::try_take(memory.lock()) {
            memory.locked(&mut lock).history.record(position, scan.settled());
        }
        return Ok(watermark);
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let history = &mut memory.locked(&mut lock).history;
    history.record(position, scan.settled());
    let recorded = history.watermark(snapshot.xmin, snapshot.xmax);
    let watermark = recorded.unwrap_or_else(|| {
        let start = shared.opened.start_horizon().until;
        start.into_iter().min().unwrap_or(UnixNanos(0))
    });
    Ok(watermark.min(prepared))
}

/// Returns the watermark of every snapshot that is taken from now on.
///
/// # Errors
/// The errors of [`prepare`]; the state file cannot be written.
pub fn present(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
) -> Result<UnixNanos, Report> {
    prepare(shared, memory)?;
    let scan = scan(shared, memory, Stream::ALL, |_| true)?;
    let has_ended = |transaction| ServerTransactions.has_ended(transaction);
    let prepared = prepared::unseen_bound(memory, has_ended, |_| true, |_| std::iter::empty());
    let settled = scan.settled().min(prepared);
    if let Some(mut lock) = ExclusiveLock::try_take(memory.lock()) {
        let position = Position(next_transaction());
        memory.locked(&mut lock).history.record(position, settled);
    }
    Ok(settled)
}

/// Raises the floor to the present time, and reads all slots.
fn scan(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
    stream: Stream,
    sees: impl Fn(u64) -> bool + Copy,
) -> Result<Scan<'static>, Report> {
    let clock = settled();
    let mut scan =
        Scan::begin(&memory.floor, stream, clock.min(horizon::extend_to(shared, clock)?));
    // Either this sees the gates that the last user has moved down, or that user sees the floor.
    fence(Ordering::SeqCst);
    horizon::extend_to(shared, memory.floor.get())?;
    for process in memory.processes() {
        scan.read(&process.slot, sees);
    }
    Ok(scan)
}

/// A transaction that holds the watermark back.
#[derive(Clone, Copy, Debug)]
pub struct BlockingTransaction {
    /// The process ID; `None` if the transaction is prepared.
    pub pid: Option<i32>,
    /// The transaction's ID; 0 if it has none yet.
    pub transaction_id: u32,
    /// The database's OID; 0 if it is not known here.
    pub database: u32,
    /// The time of the first ID; `None` if it is not known.
    pub first_id_at: Option<UnixNanos>,
    /// The watermark that the transaction holds.
    pub bound: UnixNanos,
    /// The streams that it holds back; `None` for all of them.
    pub streams: Option<Streams>,
}

/// Returns the transactions that hold the watermark back now; none on a standby, which has no
/// watermark. A transaction that begins or ends at this moment may be missing.
pub fn blocking_transactions() -> Vec<BlockingTransaction> {
    // SAFETY: a call without preconditions.
    let is_standby = unsafe { pg_sys::RecoveryInProgress() };
    let (Ok(memory), false) = (shmem::watermark(), is_standby) else { return Vec::new() };
    let sessions = memory.processes().iter().enumerate().filter_map(|(number, entry)| {
        let bound = entry.slot.entered()?;
        let process = process::get(number);
        Some(BlockingTransaction {
            pid: Some(process.pid),
            transaction_id: process.transaction_id,
            database: process.database,
            first_id_at: Some(UnixNanos(entry.first_id_at.load(Ordering::Relaxed))),
            bound,
            streams: Some(entry.slot.streams()),
        })
    });
    let mut all: Vec<_> = sessions.collect();
    all.extend(prepared::running(memory).into_iter().map(|prepared| BlockingTransaction {
        pid: None,
        transaction_id: prepared.transaction as u32,
        database: 0,
        first_id_at: Some(prepared.first_id_at).filter(|time| time.0 > 0),
        bound: prepared.bound,
        streams: None,
    }));
    all
}
