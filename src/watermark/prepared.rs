//! Prepared transactions that have generated IDs. They outlive their session, and the server.
//!
//! # The argument
//! 1. *A transaction has a bound lock before it is prepared.* PostgreSQL calls [`before_prepare`]
//!    before it writes the record that prepares the transaction. The [`bound_lock`] says the bound,
//!    or that the transaction has no IDs. From then on the lock is where the transaction is, as
//!    PostgreSQL keeps both in one record. If a session cannot take the lock, the transaction is
//!    rolled back.
//! 2. *A transaction without a bound lock is not known.* Another library prepared it, or a session
//!    that has not loaded this one. Its bound is 0, so that no ID is settled before it has ended.
//!    On a server that preloads this library each session takes the lock. So there such a
//!    transaction is from before the library was preloaded, or from a primary.
//! 3. *Shared memory has a list.* [`load`] puts all transactions into it that are prepared when
//!    shared memory was initialized: no session has generated an ID yet since then. Then each
//!    session adds its transaction, if that has IDs, before it is prepared. The session leaves its
//!    slot after that. A reader reads the slots first and then the list, so it finds the
//!    transaction in one of them.
//! 4. *An entry stays after its transaction has ended*, as old snapshots do not see the
//!    transaction: [`flakeid_core::prepared`]. A reader asks its snapshot about each entry.
//! 5. *A transaction may have ended before the list was made, and a snapshot be older than that.*
//!    Such a snapshot counts the transaction among those that run. The transaction's number is
//!    below that of the beginning, it has ended, and it is not in the list. Then its bound is 0
//!    ([`unseen_bound`]). For this the list also has the transactions of sessions that run at the
//!    beginning, and that have no IDs yet. So no snapshot that was taken later finds such a
//!    transaction.
//!
//! So nothing is written but what PostgreSQL writes for the transaction in any case. And nothing on
//! disk can be older than the transaction: no file of a backup, of a standby, or of a life without
//! this library.
//!
//! # What it costs
//! A prepared transaction has one lock more, which adds 28 bytes to its record. Its session adds an
//! entry to the list, under a lock. The list is pruned when it has doubled, and then asks
//! PostgreSQL about each entry. What the list decides is in the core; here is what PostgreSQL
//! knows.

use super::bound_lock::{self, BoundLock};
use super::transactions::{ServerTransactions, next_transaction};
use super::usage;
use crate::error::{Code, Report};
use crate::lock::ExclusiveLock;
use crate::shmem::{self, ENDED, Shared, WatermarkSegment};
use crate::{process, server_log};
use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{Entry, Limits, NO_IDS, NoRoom};
use flakeid_core::transactions::full_transaction;
use flakeid_core::watermark::Position;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

const LIMITS: Limits = Limits { ended: ENDED, least_pruned: 64 };

/// Lists what is prepared when shared memory was initialized, and sets the floor to its beginning.
/// The horizon has been loaded.
///
/// # Errors
/// The errors of [`usage::begin`]; or the wait for the lock was canceled.
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
    usage::begin(shared, memory)?;
    // A transaction that is not found below has ended before this, or has begun later.
    let next = next_transaction();
    let prepared = process::prepared_transactions();
    // A transaction has its bound lock as long as it is prepared.
    let locks = if prepared.is_empty() { Vec::new() } else { bound_lock::all() };
    let bound_of = |id| Some(locks.iter().find(|lock| lock.transaction_id == id)?.bound);
    // The slots have the bounds of these.
    let sessions = process::session_transactions().map(|id| (id, Some(NO_IDS)));
    let found = prepared.into_iter().map(|id| (id, bound_of(id))).chain(sessions);
    let unknown = memory.change_prepared(&mut lock, |list| {
        list.clear();
        let mut unknown = 0;
        for (id, bound) in found {
            let transaction = full_transaction(id, next);
            let is_unknown = list.add_found(transaction, bound, LIMITS, &ServerTransactions)?;
            unknown += usize::from(is_unknown);
        }
        Ok(unknown)
    });
    match unknown.map_err(no_room)? {
        0 => {}
        unknown => server_log::unknown_prepared(unknown),
    }
    memory.loaded_at.store(next, Ordering::Release);
    Ok(())
}

/// Returns the error for a list without room. It has room for all that can be prepared, and for
/// each session that prepares one.
fn no_room(_error: NoRoom) -> Report {
    Report::new(Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, "too many prepared transactions")
}

/// Takes the bound lock of this session's transaction before it is prepared, and adds the
/// transaction to the list if it has IDs. Then it has entered: with a bound, and at a time.
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
        let entry = Entry::new(transaction, bound, first_id_at);
        memory
            .change_prepared(&mut lock, |list| list.add(entry, LIMITS, &ServerTransactions))
            .map_err(no_room)?;
    }
    Ok(())
}

/// Returns the least bound of all prepared transactions that a snapshot does not see, or may not
/// see. The last function returns the transactions below a number that ran when the snapshot was
/// taken.
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
    memory.prepared(&mut lock).unseen_bound(sees, covers, early, &ServerTransactions)
}

/// Returns a number that changes when a transaction is prepared, or when one of the list has ended.
pub fn fingerprint(memory: &WatermarkSegment) -> u64 {
    if memory.is_list_empty() {
        return 0;
    }
    let mut lock = ExclusiveLock::take(memory.lock());
    memory.prepared(&mut lock).fingerprint(&ServerTransactions)
}

/// Returns the entries of transactions that have not ended and may have IDs.
pub fn running(memory: &WatermarkSegment) -> Vec<Entry> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    memory.prepared(&mut lock).running(&ServerTransactions).collect()
}
