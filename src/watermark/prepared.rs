//! Prepared transactions that have generated IDs. They outlive their session, and the server.
//!
//! # The argument
//! 1. *A transaction has a bound lock before it is prepared.* PostgreSQL calls [`before_prepare`] before it writes the
//!    record that prepares the transaction. The [`bound_lock`] says the bound, or that the transaction has no IDs. From
//!    then on the lock is where the transaction is, as PostgreSQL keeps both in one record. If a session cannot take the
//!    lock, the transaction is rolled back.
//! 2. *A transaction without a bound lock is not known.* Another library prepared it, or a session that has not loaded
//!    this one. Its bound is 0, so that no ID is settled before it has ended. On a server that preloads this library
//!    each session takes the lock. So there such a transaction is one of an earlier life of the server, or of its
//!    primary.
//! 3. *One life of the memory has a list.* [`load`] puts all transactions into it that are prepared at its beginning: no
//!    session has generated an ID yet in this life. Then each session adds its transaction, if that has IDs, before it is
//!    prepared. The session leaves its slot after that. A reader reads the slots first and then the list, so it finds the
//!    transaction in one of them.
//! 4. *An entry stays after its transaction has ended*, as old snapshots do not see the transaction:
//!    [`flakeid_core::prepared`]. A reader asks its snapshot about each entry.
//! 5. *A transaction may have ended before the list was made, and a snapshot be older than that.* Such a snapshot counts
//!    the transaction among those that run. The transaction's number is below that of the beginning, it has ended, and
//!    it is not in the list. Then its bound is 0 ([`unseen_bound`]). For this the list also has the transactions of
//!    sessions that run at the beginning, and that have no IDs yet. So no snapshot that was taken later finds such a
//!    transaction.
//!
//! So nothing is written but what PostgreSQL writes for the transaction in any case. And nothing on disk can be older
//! than the transaction: no file of a backup, of a standby, or of a life without this library.
//!
//! # What it costs
//! A prepared transaction has one lock more, which adds 28 bytes to its record. Its session adds an entry to the list,
//! under a lock. The list is pruned when it has doubled, and then asks PostgreSQL about each entry.

use super::bound_lock::{self, BoundLock};
use super::transactions::{Transactions, full_transaction, next_transaction};
use super::usage;
use crate::error::{Code, Report};
use crate::lock::ExclusiveLock;
use crate::shmem::{self, ENDED, Shared, WatermarkSegment};
use crate::{process, server_log};
use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{self, Entry, NO_IDS, Transactions as _, UNKNOWN};
use flakeid_core::watermark::Position;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

/// The least length at which the list is pruned.
const LEAST_PRUNED: usize = 64;

/// Begins this life of the memory: lists what is prepared, and sets the floor to its beginning. The horizon has been
/// loaded.
///
/// # Errors
/// The errors of [`usage::begin_life`]; or the wait for the lock was canceled.
#[inline]
pub fn ensure_loaded(shared: &Shared, memory: &WatermarkSegment) -> Result<(), Report> {
    // Acquire pairs with the Release in `load`.
    match memory.loaded_at.load(Ordering::Acquire) {
        0 => load(shared, memory),
        _ => Ok(()),
    }
}

#[cold]
fn load(shared: &Shared, memory: &WatermarkSegment) -> Result<(), Report> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    if memory.loaded_at.load(Ordering::Acquire) != 0 {
        return Ok(());
    }
    usage::begin_life(shared, memory)?;
    // A transaction that is not found below has ended before this, or is of this life.
    let next = next_transaction();
    let prepared = process::prepared_transactions();
    // A transaction has its bound lock as long as it is prepared.
    let locks = if prepared.is_empty() { Vec::new() } else { bound_lock::all() };
    let mut unknown = 0;
    memory.truncate_prepared(&mut lock, 0);
    for id in prepared {
        let transaction = full_transaction(id, next);
        let lock_of_it = locks.iter().find(|lock| lock.transaction_id == id);
        if lock_of_it.is_none() {
            if Transactions.has_ended(transaction) {
                continue;
            }
            unknown += 1;
        }
        let bound = lock_of_it.map_or(UNKNOWN, |lock| lock.bound);
        add(memory, &mut lock, Entry::new(transaction, bound, UnixNanos(0)))?;
    }
    // The slots have the bounds of these.
    for id in process::session_transactions() {
        add(memory, &mut lock, Entry::new(full_transaction(id, next), NO_IDS, UnixNanos(0)))?;
    }
    if unknown > 0 {
        server_log::unknown_prepared(unknown);
    }
    memory.loaded_at.store(next, Ordering::Release);
    Ok(())
}

/// Takes the bound lock of this session's transaction before it is prepared, and adds the transaction to the list if it
/// has IDs. Then it has entered: with a bound, and at a time.
///
/// # Errors
/// The list has no room.
pub fn before_prepare(entered: Option<(UnixNanos, UnixNanos)>) -> Result<(), Report> {
    // SAFETY: reads a plain variable that the postmaster sets.
    if unsafe { pg_sys::max_prepared_xacts } == 0 {
        return Ok(());
    }
    // SAFETY: PostgreSQL calls this within the transaction, and would assign an ID to it next.
    let transaction = unsafe { pg_sys::GetTopFullTransactionId() }.value;
    let bound = entered.map_or(NO_IDS, |(bound, _)| bound);
    BoundLock { transaction_id: transaction as u32, bound }.take();
    if let Some((bound, first_id_at)) = entered {
        let memory = shmem::watermark()?;
        let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
        add(memory, &mut lock, Entry::new(transaction, bound, first_id_at))?;
    }
    Ok(())
}

/// Adds an entry to the list. The caller holds the lock.
///
/// # Errors
/// The list has no room.
fn add(memory: &WatermarkSegment, lock: &mut ExclusiveLock, entry: Entry) -> Result<(), Report> {
    let length = memory.prepared(lock).len();
    if length >= memory.locked(lock).prune_at.max(LEAST_PRUNED).min(memory.capacity()) {
        let mut forgotten = memory.locked(lock).forgotten;
        let entries = memory.prepared(lock);
        let most = memory.capacity() - 1;
        let left = prepared::prune(entries, &mut forgotten, ENDED, most, &Transactions);
        memory.truncate_prepared(lock, left);
        let locked = memory.locked(lock);
        locked.forgotten = forgotten;
        locked.prune_at = 2 * left;
    }
    match memory.push_prepared(lock, entry) {
        true => Ok(()),
        // There is room for all that can be prepared, and for each session that prepares one.
        false => Err(Report::new(
            Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            "too many prepared transactions",
        )),
    }
}

/// Returns the least bound of all prepared transactions that a snapshot does not see, or may not see. The last function
/// returns the transactions below a number that ran when the snapshot was taken.
pub fn unseen_bound<Running: Iterator<Item = u64>>(
    memory: &WatermarkSegment,
    sees: impl Fn(u64) -> bool,
    covers: impl Fn(Position) -> bool,
    running_below: impl FnOnce(u64) -> Running,
) -> UnixNanos {
    let mut early = running_below(memory.loaded_at.load(Ordering::Acquire)).peekable();
    if memory.is_list_empty() && early.peek().is_none() {
        return NO_IDS;
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let forgotten = memory.locked(&mut lock).forgotten;
    let entries = memory.prepared(&mut lock);
    let is_listed = |id| entries.iter().any(|entry| entry.transaction == id);
    match early.any(|id| !is_listed(id) && Transactions.has_ended(id)) {
        true => UNKNOWN,
        false => prepared::unseen_bound(entries, forgotten, sees, covers),
    }
}

/// Returns a number that changes when a transaction is prepared, or when one of the list has ended.
pub fn fingerprint(memory: &WatermarkSegment) -> u64 {
    if memory.is_list_empty() {
        return 0;
    }
    let mut lock = ExclusiveLock::take(memory.lock());
    let list = memory.prepared(&mut lock).iter();
    let numbers = list.map(|entry| {
        let has_ended = Transactions.has_ended(entry.transaction);
        (entry.transaction << 1 | u64::from(has_ended)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    numbers.fold(1, u64::wrapping_add)
}

/// Returns the entries of transactions that have not ended and may have IDs.
pub fn running(memory: &WatermarkSegment) -> Vec<Entry> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let list = memory.prepared(&mut lock).iter();
    let may_have_ids = list.filter(|entry| entry.bound != NO_IDS);
    may_have_ids.filter(|entry| !Transactions.has_ended(entry.transaction)).copied().collect()
}
