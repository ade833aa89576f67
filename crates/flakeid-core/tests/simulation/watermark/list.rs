//! The list of prepared transactions of one life, and what it asks the database.

use super::database::Snapshot;
use super::events::{Event, Flaw};
use super::log::Record;
use super::server::{Life, Server};
use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{self, Entry, NO_IDS, UNKNOWN};
use flakeid_core::watermark::Position;

/// The greatest number of ended transactions that the list keeps. It is small, so that readers with old snapshots miss
/// some.
const ENDED: usize = 2;

/// A server as its list asks about transactions.
struct Transactions<'a>(&'a Server, &'a Life);

impl prepared::Transactions for Transactions<'_> {
    fn has_ended(&self, transaction: u64) -> bool {
        self.0.database.has_ended(transaction)
    }

    fn next(&self) -> Position {
        Position(self.0.database.next())
    }

    fn oldest_unseen(&self) -> u64 {
        let Self(server, life) = self;
        let (kept, reading) = (life.snapshots.borrow(), life.reading.borrow());
        let oldest = kept.iter().map(|snapshot| snapshot.xmin).chain(reading.iter().copied());
        oldest.fold(server.database.snapshot(0).xmin, u64::min)
    }

    fn new_snapshots_cover(&self, position: Position) -> bool {
        let Self(server, _) = self;
        server.flaw == Flaw::ForgetsForNew || server.database.snapshot(0).covers(position)
    }
}

impl Server {
    /// Begins a life: lists the transactions that are prepared, before the first ID and the first reader; and those of
    /// sessions, which have no ID.
    pub fn ensure_loaded(&self, life: &Life) {
        if life.loaded_at.get() != 0 {
            return;
        }
        life.loaded_at.set(self.database.next());
        life.loaded_after.set(self.database.snapshots());
        if life.used.get() {
            // A crash may have lost the record.
            self.log.insert(Record::Used);
        }
        for prepared in self.prepared.borrow().iter() {
            let unknown = if self.flaw == Flaw::NoUnknown { NO_IDS } else { UNKNOWN };
            let bound = prepared.bound.unwrap_or(unknown);
            let is_kept = self.flaw != Flaw::LockNotKept || prepared.life == self.life_number();
            self.add_to_list(life, prepared.numbers.own, if is_kept { bound } else { NO_IDS });
        }
        let sessions = life.transactions.iter().filter_map(|transaction| transaction.get()?.number);
        sessions.for_each(|number| self.add_to_list(life, number, NO_IDS));
    }

    /// Adds a transaction to the list, and prunes the list.
    pub fn add_to_list(&self, life: &Life, number: u64, bound: UnixNanos) {
        let mut list = life.list.borrow_mut();
        list.push(Entry::new(number, bound, UnixNanos(0)));
        let (before, mut forgotten) = (life.forgotten.get(), life.forgotten.get());
        let transactions = Transactions(self, life);
        let left = prepared::prune(&mut list, &mut forgotten, ENDED, usize::MAX, &transactions);
        list.truncate(left);
        if forgotten.is_some() && forgotten != before {
            life.forgets.set(life.forgets.get() + 1);
            self.saw(Event::Forget);
        }
        life.forgotten.set(forgotten.filter(|_| self.flaw != Flaw::ListForgets));
    }

    /// Returns whether a transaction is in the list whose IDs are not known.
    pub fn has_unknown(&self, life: &Life) -> bool {
        life.list.borrow().iter().any(|entry| entry.bound == UNKNOWN)
    }

    /// Returns the least bound of the prepared transactions that have not ended.
    pub fn running_bound(&self, life: &Life) -> UnixNanos {
        let has_ended = |number| self.database.has_ended(number);
        prepared::unseen_bound(&life.list.borrow(), life.forgotten.get(), has_ended, |_| true)
    }

    /// Returns the least bound of the prepared transactions that a snapshot does not see.
    pub fn unseen_bound(&self, life: &Life, snapshot: &Snapshot) -> UnixNanos {
        let list = life.list.borrow();
        let is_listed = |id| list.iter().any(|entry| entry.transaction == id);
        let mut early = snapshot.running_below(life.loaded_at.get());
        let may_be_prepared =
            early.any(|number| !is_listed(number) && self.database.has_ended(number));
        if may_be_prepared && self.flaw != Flaw::NoEarly {
            self.saw(Event::ToldNothing);
            return UNKNOWN;
        }
        let covers = |position| snapshot.covers(position);
        let sees = |number| snapshot.sees(number);
        prepared::unseen_bound(&list, life.forgotten.get(), sees, covers)
    }
}
