//! The list of prepared transactions, for readers of the watermark.
//!
//! A prepared transaction stands in no [`TransactionSlot`](crate::watermark::TransactionSlot), as
//! its session has gone on. So a server keeps a list of those that have generated IDs, and a scan
//! adds the bound of each that its snapshot does not see.
//!
//! # What the list keeps
//! An entry stays after its transaction has ended, since old snapshots do not see the transaction.
//! It goes when all snapshots see it. A snapshot of an hour would make the list long, so it keeps a
//! limited number of ended transactions, and forgets the others. Of those it keeps the least bound,
//! and a [`Position`] that was read after they had ended ([`Forgotten`]). A snapshot that covers
//! the position sees all of them. For any other snapshot that bound counts.
//!
//! The watermark of new snapshots must not fall when the list forgets. So it forgets an entry only
//! if new snapshots cover the position that was read after the entry's transaction had ended. That
//! is the case once a transaction has ended that began after that. The exception is a list without
//! room.
//!
//! # What it costs
//! [`prune`] asks about each entry. A caller that prunes when the list has doubled, and keeps half
//! as many ended transactions as there is room for, asks about each entry some two times.
//! [`List::add`] does so.

use crate::clock::UnixNanos;
use crate::transactions::Transactions;
use crate::watermark::Position;

/// The bound of a transaction whose IDs are not known: no ID is settled before it has ended.
pub const UNKNOWN: UnixNanos = UnixNanos(0);

/// The bound of a transaction that has generated no ID.
pub const NO_IDS: UnixNanos = UnixNanos(u64::MAX);

/// A prepared transaction in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The transaction's number.
    pub transaction: u64,
    /// No tick of its IDs begins before this.
    pub bound: UnixNanos,
    /// The time of its first ID, for a view; 0 if it is not known.
    pub first_id_at: UnixNanos,
    /// A position that was read after the transaction had ended.
    ended_by: Option<Position>,
}

impl Entry {
    /// Creates the entry of a transaction that has not ended.
    pub const fn new(transaction: u64, bound: UnixNanos, first_id_at: UnixNanos) -> Self {
        Self { transaction, bound, first_id_at, ended_by: None }
    }
}

/// The transactions that a list has forgotten although a snapshot may not see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// All of them had ended before this position was read.
    pub ended_by: Position,
    /// The least of their bounds.
    pub bound: UnixNanos,
}

/// How long a list may get.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The greatest number of transactions that have ended and that the list keeps after it is
    /// pruned.
    pub ended: usize,
    /// The least length at which the list is pruned.
    pub least_pruned: usize,
}

/// The state of a list beside its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    length: usize,
    /// The length at which the list is pruned next, if that is not below the least one.
    prune_at: usize,
    pub forgotten: Option<Forgotten>,
}

impl ListState {
    /// The state of a list without entries.
    pub const EMPTY: Self = Self { length: 0, prune_at: 0, forgotten: None };
}

/// The list, in memory that the caller has. Only one process uses it at a time.
#[derive(Debug)]
pub struct List<'a> {
    /// The memory: the entries of the list, and room for more.
    pub room: &'a mut [Entry],
    pub state: &'a mut ListState,
}

/// The error that a list has no room for one more transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl List<'_> {
    /// Returns the entries.
    pub fn entries(&self) -> &[Entry] {
        &self.room[..self.state.length]
    }

    /// Takes all entries off the list.
    pub fn clear(&mut self) {
        self.state.length = 0;
    }

    /// Adds a transaction that is prepared when the list is made; nothing if it has ended. One
    /// without a bound is not known. Returns whether it counts as unknown.
    ///
    /// # Errors
    /// The list has no room.
    pub fn add_found(
        &mut self,
        transaction: u64,
        bound: Option<UnixNanos>,
        limits: Limits,
        transactions: &impl Transactions,
    ) -> Result<bool, NoRoom> {
        if bound.is_none() && transactions.has_ended(transaction) {
            return Ok(false);
        }
        let entry = Entry::new(transaction, bound.unwrap_or(UNKNOWN), UnixNanos(0));
        self.add(entry, limits, transactions)?;
        Ok(bound.is_none())
    }

    /// Adds an entry, and prunes the list first if it has doubled since it was pruned last, or is
    /// full.
    ///
    /// # Errors
    /// The list has no room.
    pub fn add(
        &mut self,
        entry: Entry,
        limits: Limits,
        transactions: &impl Transactions,
    ) -> Result<(), NoRoom> {
        let capacity = self.room.len();
        let due = self.state.prune_at.max(limits.least_pruned).min(capacity);
        if self.state.length >= due {
            let most = capacity.saturating_sub(1);
            let entries = &mut self.room[..self.state.length];
            let forgotten = &mut self.state.forgotten;
            let left = prune(entries, forgotten, limits.ended, most, transactions);
            self.state.length = left;
            self.state.prune_at = 2 * left;
        }
        *self.room.get_mut(self.state.length).ok_or(NoRoom)? = entry;
        self.state.length += 1;
        Ok(())
    }

    /// Returns the least bound of all prepared transactions that a snapshot does not see, or may
    /// not see. `early` are those that ran when the snapshot was taken, and that began before the
    /// list was made. One of them that has ended and is not in the list may have been prepared,
    /// with any bound.
    pub fn unseen_bound(
        &self,
        sees: impl Fn(u64) -> bool,
        covers: impl Fn(Position) -> bool,
        mut early: impl Iterator<Item = u64>,
        transactions: &impl Transactions,
    ) -> UnixNanos {
        let is_listed = |id| self.entries().iter().any(|entry| entry.transaction == id);
        match early.any(|id| !is_listed(id) && transactions.has_ended(id)) {
            true => UNKNOWN,
            false => unseen_bound(self.entries(), self.state.forgotten, sees, covers),
        }
    }

    /// Returns the entries of transactions that have not ended and may have IDs.
    pub fn running(&self, transactions: &impl Transactions) -> impl Iterator<Item = Entry> {
        let may_have_ids = self.entries().iter().filter(|entry| entry.bound != NO_IDS);
        may_have_ids.filter(|entry| !transactions.has_ended(entry.transaction)).copied()
    }

    /// Returns a number that changes when a transaction is prepared, or when one of the list has
    /// ended.
    pub fn fingerprint(&self, transactions: &impl Transactions) -> u64 {
        let numbers = self.entries().iter().map(|entry| {
            let has_ended = transactions.has_ended(entry.transaction);
            (entry.transaction << 1 | u64::from(has_ended)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        numbers.fold(1, u64::wrapping_add)
    }
}

/// Takes transactions off a list that have ended: those that all snapshots see, and then the oldest
/// ones, until it has at most `ended` that have ended and `length` in all. Returns how many entries
/// are left, at the beginning of the slice.
pub fn prune(
    entries: &mut [Entry],
    forgotten: &mut Option<Forgotten>,
    ended: usize,
    length: usize,
    transactions: &impl Transactions,
) -> usize {
    let oldest = transactions.oldest_unseen();
    let is_new =
        |entry: &Entry| entry.ended_by.is_none() && transactions.has_ended(entry.transaction);
    let provisional = Position(u64::MAX);
    for entry in entries.iter_mut() {
        if is_new(entry) {
            entry.ended_by = Some(provisional);
        }
    }
    // The position is read after each of them was found to have ended.
    let next = transactions.next();
    for entry in entries.iter_mut().filter(|entry| entry.ended_by == Some(provisional)) {
        entry.ended_by = Some(next);
    }
    *forgotten = forgotten.filter(|forgotten| forgotten.ended_by.0 > oldest);
    let is_unseen = |entry: &Entry| entry.ended_by.is_none() || entry.transaction >= oldest;
    let mut left = retain(entries, is_unseen);
    let count = entries[..left].iter().filter(|entry| entry.ended_by.is_some()).count();
    let mut surplus = count.saturating_sub(ended);
    for is_forced in [false, true] {
        if is_forced {
            surplus = left.saturating_sub(length);
        }
        left = retain(&mut entries[..left], |entry| {
            let Some(ended_by) = entry.ended_by.filter(|_| surplus > 0) else { return true };
            if !is_forced && !transactions.new_snapshots_cover(ended_by) {
                return true;
            }
            surplus -= 1;
            let before = forgotten.unwrap_or(Forgotten { ended_by, bound: entry.bound });
            *forgotten = Some(Forgotten {
                ended_by: before.ended_by.max(ended_by),
                bound: before.bound.min(entry.bound),
            });
            false
        });
    }
    left
}

/// Moves the entries that stay to the beginning, in their order. Returns how many these are.
fn retain(entries: &mut [Entry], mut stays: impl FnMut(&Entry) -> bool) -> usize {
    let mut left = 0;
    for place in 0..entries.len() {
        if stays(&entries[place]) {
            entries[left] = entries[place];
            left += 1;
        }
    }
    left
}

/// Returns the least bound of a list's transactions that a snapshot does not see, and of the
/// forgotten ones that it may not see; [`NO_IDS`] if there is no such transaction.
pub fn unseen_bound(
    entries: &[Entry],
    forgotten: Option<Forgotten>,
    sees: impl Fn(u64) -> bool,
    covers: impl Fn(Position) -> bool,
) -> UnixNanos {
    let unseen = entries.iter().filter(|entry| !sees(entry.transaction)).map(|entry| entry.bound);
    let forgotten = forgotten.filter(|forgotten| !covers(forgotten.ended_by));
    unseen.chain(forgotten.map(|forgotten| forgotten.bound)).min().unwrap_or(NO_IDS)
}
