//! Prepared transactions that have generated IDs. They outlive their session, and the server.
//!
//! # The argument
//! 1. *A transaction is in the list before it is prepared.* PostgreSQL calls [`add_own`] before it writes the record that
//!    prepares the transaction. The session leaves its slot after that. A reader reads the slots first and then the list,
//!    so it finds the transaction in one of them.
//! 2. *The list is on disk before the transaction is prepared*, if a watermark may have been reported ([`begin_use`]). A
//!    write that fails is an error, and the transaction is rolled back.
//! 3. *A reader that finds nothing on disk trusts nothing.* The list of a life of the memory is complete for the
//!    transactions that were prepared in it. If the file is missing or damaged, those that were prepared before are
//!    unknown. Each transaction that is prepared then, and is not in the list, gets the bound 0, and so no ID is settled
//!    before it has ended. That is so at the first use on a server, too. If the library is not preloaded, it is so after
//!    each start: the server may have replayed WAL without this library.
//! 4. *A standby has the list of its primary.* A message in the WAL has the new entries, before the record that prepares
//!    the transaction. As for the horizon (`horizon::wal`), a server that replays that record replays the message, or
//!    began with a file that has the entry. A message says whether it has the whole list, as the first one does. If there
//!    is no file, and the first message that is replayed does not have the whole list, the list is *lost*.
//! 5. *A list that is lost stays so on disk* until a server that is not in recovery has added all unknown transactions.
//!    So a later start does not trust it.
//! 6. *An entry stays after its transaction has ended*, as old snapshots do not see the transaction. A reader asks its
//!    snapshot about each entry. An entry is forgotten when all snapshots see its transaction. If too many snapshots are
//!    too old for that, the oldest entries are forgotten, and their least bound counts for snapshots that may not see
//!    them.
//!
//! A transaction that fails after it was put into the list has ended, and so its entry does no harm. A crash can lose
//! such a transaction's ID, and PostgreSQL assigns it again: a start drops entries of IDs that are not assigned.

use super::file;
use crate::error::Report;
use crate::horizon::{self, Listener};
use crate::lock::ExclusiveLock;
use crate::shmem::{self, Prepared, Shared, Start, Watermark};
use crate::{process, server_log, wal_message};
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::Position;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// The prefix of the messages in the WAL.
const PREFIX: &CStr = c"flakeid_prepared";

/// The format of the messages, and the length of an entry in them: three little-endian numbers of 64 bits. Between the
/// two is a byte that is 1 if the message has the whole list.
const FORMAT: u8 = 1;
const ENTRY: usize = 24;

/// Lets the startup process replay the messages, while libraries are preloaded.
pub fn register_replay() {
    horizon::replay_with(Listener { prefix: PREFIX, replay, keep });
}

/// Begins this life of the memory: reads the list, and sets the floor to its beginning. The horizon has been loaded.
///
/// # Errors
/// The wait for the lock was canceled.
#[inline]
pub fn ensure_loaded(shared: &Shared, memory: &Watermark) -> Result<(), Report> {
    // Acquire pairs with the Release in `load`.
    match memory.loaded.load(Ordering::Acquire) {
        true => Ok(()),
        false => load(shared, memory),
    }
}

#[cold]
fn load(shared: &Shared, memory: &Watermark) -> Result<(), Report> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    if memory.loaded.load(Ordering::Acquire) {
        return Ok(());
    }
    merge_file(memory, &mut lock);
    // A crash can lose a transaction's ID after the list was written, and PostgreSQL assigns it again.
    let next = next_transaction();
    let mut list = memory.prepared(&mut lock).to_vec();
    let before = list.len();
    list.retain(|entry| entry.transaction < next);
    memory.set_prepared(&mut lock, &list);
    if memory.used.load(Ordering::Relaxed) {
        let is_lost = memory.locked(&mut lock).is_lost;
        if shared.ends_with_its_users() || is_lost {
            add_unlisted(memory, &mut lock);
        }
        let is_changed = is_lost || list.len() < before;
        // If this fails, the file is not trusted at the next start either.
        if is_changed && file::write(memory.prepared(&mut lock), false).is_ok() {
            memory.locked(&mut lock).is_lost = false;
        }
        memory.floor.raise(first_floor(&shared.record.start()));
    }
    memory.loaded.store(true, Ordering::Release);
    Ok(())
}

/// Returns the floor with which a life of the memory begins, if a watermark may have been reported before. All IDs of
/// this life are above the horizon of their lane, and watermarks may be up to the greatest.
fn first_floor(start: &Start) -> UnixNanos {
    start.horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}

/// Returns the floor, or what it will be when the first session opens the list. This opens nothing and writes nothing.
///
/// # Errors
/// The errors of [`shmem::watermark`].
pub fn peek_floor(start: &Start) -> Result<UnixNanos, Report> {
    let memory = shmem::watermark()?;
    // Acquire pairs with the Release in `load`.
    let is_loaded = memory.loaded.load(Ordering::Acquire);
    // A file that cannot be read counts as a list that is lost.
    let begins = || memory.used.load(Ordering::Relaxed) || !matches!(file::read(), Ok(None));
    match !is_loaded && begins() {
        true => Ok(memory.floor.get().max(first_floor(start))),
        false => Ok(memory.floor.get()),
    }
}

/// Makes the list durable. The caller holds the lock.
fn save(memory: &Watermark, lock: &mut ExclusiveLock) -> Result<(), Report> {
    let is_lost = memory.locked(lock).is_lost;
    file::write(memory.prepared(lock), is_lost)
}

/// Adds what is in the file to the list, once in a life of the memory.
fn merge_file(memory: &Watermark, lock: &mut ExclusiveLock) {
    if memory.locked(lock).is_merged {
        return;
    }
    memory.locked(lock).is_merged = true;
    match file::read() {
        Ok(None) => {}
        Ok(Some(on_disk)) => {
            memory.used.store(true, Ordering::Relaxed);
            memory.locked(lock).is_lost = on_disk.is_lost;
            add(memory, lock, &on_disk.prepared);
        }
        Err(reason) => {
            memory.used.store(true, Ordering::Relaxed);
            memory.locked(lock).is_lost = true;
            server_log::prepared_lost(&reason);
        }
    }
}

/// Adds all transactions that are prepared now and are not in the list. Nothing is known of their IDs.
fn add_unlisted(memory: &Watermark, lock: &mut ExclusiveLock) {
    let (bound, first_id_at) = (UnixNanos(0), UnixNanos(0));
    let prepared = process::prepared_transactions();
    let next = next_transaction();
    let unlisted: Vec<_> = prepared
        .into_iter()
        .map(|id| full_transaction(id, next))
        .filter(|&id| memory.prepared(lock).iter().all(|entry| entry.transaction != id))
        .map(|transaction| Prepared { transaction, bound, first_id_at })
        .collect();
    if !unlisted.is_empty() {
        add(memory, lock, &unlisted);
    }
}

/// Begins to keep the list on disk, before the first watermark of a server is reported.
///
/// # Errors
/// The file cannot be written.
pub fn begin_use(shared: &Shared, memory: &Watermark) -> Result<(), Report> {
    if memory.used.load(Ordering::Acquire) {
        return Ok(());
    }
    // The state file creates the directory. A watermark is no later than the horizon on disk, also on a new server.
    horizon::make_durable(shared)?;
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    if memory.used.load(Ordering::Acquire) {
        return Ok(());
    }
    add_unlisted(memory, &mut lock);
    save(memory, &mut lock)?;
    wal_message::write(PREFIX, &message(memory.prepared(&mut lock), true));
    memory.used.store(true, Ordering::Release);
    Ok(())
}

/// Puts this session's transaction into the list, before it is prepared.
///
/// # Errors
/// The file cannot be written.
pub fn add_own(bound: UnixNanos, first_id_at: UnixNanos) -> Result<(), Report> {
    // SAFETY: reads a plain variable that the postmaster sets.
    if unsafe { pg_sys::max_prepared_xacts } == 0 {
        return Ok(());
    }
    let memory = shmem::watermark()?;
    // SAFETY: PostgreSQL calls this within the transaction, and assigns an ID to it next.
    let transaction = unsafe { pg_sys::GetTopFullTransactionId() }.value;
    let entry = Prepared { transaction, bound, first_id_at };
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    add(memory, &mut lock, &[entry]);
    if memory.used.load(Ordering::Acquire) {
        save(memory, &mut lock)?;
        wal_message::write(PREFIX, &message(&[entry], false));
    }
    Ok(())
}

/// Adds entries to the list. The caller holds the lock.
fn add(memory: &Watermark, lock: &mut ExclusiveLock, entries: &[Prepared]) {
    let mut list = memory.prepared(lock).to_vec();
    for entry in entries {
        // The WAL and the file have the same entries. The first one decides, as both are.
        if list.iter().all(|known| known.transaction != entry.transaction) {
            list.push(*entry);
        }
    }
    forget_ended(memory, lock, &mut list);
    if !memory.set_prepared(lock, &list) {
        // Only a standby can have so many that did not end: those that its primary lost in crashes.
        memory.locked(lock).is_lost = true;
    }
}

/// Takes transactions that have ended off a list: those that all snapshots see, and if the list is still too long, the
/// oldest ones.
fn forget_ended(memory: &Watermark, lock: &mut ExclusiveLock, list: &mut Vec<Prepared>) {
    let next = next_transaction();
    let oldest = oldest_snapshot(next);
    let forgotten = memory.locked(lock).forgotten;
    let mut forgotten = forgotten.filter(|&(position, _)| position.0 > oldest);
    list.retain(|entry| entry.transaction >= oldest || !has_ended(entry.transaction, next));
    let mut surplus = list.len().saturating_sub(memory.capacity());
    if surplus > 0 {
        list.retain(|entry| {
            let forgets = surplus > 0 && has_ended(entry.transaction, next);
            if forgets {
                surplus -= 1;
                let bound = forgotten.map_or(entry.bound, |(_, bound)| bound.min(entry.bound));
                forgotten = Some((Position(next), bound));
            }
            !forgets
        });
    }
    memory.locked(lock).forgotten = forgotten;
}

/// Returns a transaction before which every snapshot sees all transactions that have ended. In recovery that is the next
/// one: no snapshot from before a promotion gets a watermark.
fn oldest_snapshot(next: u64) -> u64 {
    // SAFETY: these functions read shared memory; without a table the second one is about all databases.
    unsafe {
        match pg_sys::RecoveryInProgress() {
            true => next,
            false => {
                let oldest = pg_sys::GetOldestNonRemovableTransactionId(std::ptr::null_mut());
                full_transaction(oldest.into_inner(), next)
            }
        }
    }
}

/// Returns whether a transaction has ended that was in the list. The caller may be the startup process.
fn has_ended(transaction: u64, next: u64) -> bool {
    let id = pg_sys::TransactionId::from(transaction as u32);
    if transaction >= next {
        return false;
    }
    // SAFETY: these functions read shared memory, and the commit log from its oldest transaction on.
    unsafe {
        if !pg_sys::RecoveryInProgress() {
            return next - transaction > u64::from(u32::MAX / 2)
                || !pg_sys::TransactionIdIsInProgress(id);
        }
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let oldest = (*pg_sys::ShmemVariableCache).oldestClogXid;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let oldest = (*pg_sys::TransamVariables).oldestClogXid;
        transaction < full_transaction(oldest.into_inner(), next)
            || pg_sys::TransactionIdDidCommit(id)
            || pg_sys::TransactionIdDidAbort(id)
    }
}

/// Returns the number that the next transaction gets, of 64 bits.
pub fn next_transaction() -> u64 {
    // SAFETY: a call without preconditions.
    unsafe { pg_sys::ReadNextFullTransactionId() }.value
}

/// Returns the 64 bits of a transaction's ID, which is at most 2^31 before the next one or equal to it.
pub fn full_transaction(id: u32, next: u64) -> u64 {
    let before = (next as u32).wrapping_sub(id);
    next.saturating_sub(u64::from(before))
}

/// Returns the message for some entries, or for the whole list.
fn message(entries: &[Prepared], is_whole: bool) -> Vec<u8> {
    let mut bytes = vec![FORMAT, is_whole.into()];
    for Prepared { transaction, bound, first_id_at } in entries {
        for number in [*transaction, bound.0, first_id_at.0] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes
}

/// Returns the entries of a message, and whether they are the whole list; `None` if another version wrote it.
fn entries_of(message: &[u8]) -> Option<(Vec<Prepared>, bool)> {
    let (&[format, is_whole], entries) = message.split_first_chunk()?;
    let (entries, rest) = entries.as_chunks::<ENTRY>();
    if format != FORMAT || !rest.is_empty() {
        return None;
    }
    let entry = |bytes: &[u8; ENTRY]| {
        let (numbers, _) = bytes.as_chunks::<8>();
        let [transaction, bound, first_id_at] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
        Prepared { transaction, bound: UnixNanos(bound), first_id_at: UnixNanos(first_id_at) }
    };
    Some((entries.iter().map(entry).collect(), is_whole != 0))
}

/// Adds the entries of a message that the startup process replays.
fn replay(message: &[u8]) {
    let Ok(memory) = shmem::watermark() else { return };
    let mut lock = ExclusiveLock::take(memory.lock());
    merge_file(memory, &mut lock);
    let is_first = !memory.used.swap(true, Ordering::AcqRel);
    match entries_of(message) {
        Some((entries, is_whole)) => {
            if is_first && !is_whole {
                memory.locked(&mut lock).is_lost = true;
            }
            add(memory, &mut lock, &entries);
        }
        None => {
            memory.locked(&mut lock).is_lost = true;
            server_log::prepared_lost(&unknown_message(message.len()));
        }
    }
    memory.locked(&mut lock).unsaved = true;
}

fn unknown_message(length: usize) -> String {
    format!("a message of {length} bytes in the WAL is of a version that this flakeid cannot read")
}

/// Writes what the startup process has replayed, if the file may not have it.
fn keep() {
    let Ok(memory) = shmem::watermark() else { return };
    let mut lock = ExclusiveLock::take(memory.lock());
    if !memory.locked(&mut lock).unsaved {
        return;
    }
    match save(memory, &mut lock) {
        Ok(()) => memory.locked(&mut lock).unsaved = false,
        Err(error) => server_log::prepared_not_kept(error),
    }
}

/// Returns the bounds of all entries whose transactions a snapshot does not see, and that of the forgotten ones if it
/// may not see them.
pub fn unseen_bounds(
    memory: &Watermark,
    sees: impl Fn(u64) -> bool,
    holds: impl Fn(Position) -> bool,
) -> Vec<UnixNanos> {
    if memory.is_list_empty() {
        return Vec::new();
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let forgotten = memory.locked(&mut lock).forgotten.filter(|&(position, _)| !holds(position));
    let list = memory.prepared(&mut lock).iter();
    let unseen = list.filter(|entry| !sees(entry.transaction)).map(|entry| entry.bound);
    unseen.chain(forgotten.map(|(_, bound)| bound)).collect()
}

/// Returns the entries of transactions that have not ended.
pub fn running(memory: &Watermark) -> Vec<Prepared> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let next = next_transaction();
    let list = memory.prepared(&mut lock).iter();
    list.filter(|entry| !has_ended(entry.transaction, next)).copied().collect()
}
