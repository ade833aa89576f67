//! The list of prepared transactions of one life, and what it asks the database.

use super::database::Snapshot;
use super::events::{Event, Flaw};
use super::log::Record;
use super::server::{Life, Server};
use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{Entry, Limits, List, NO_IDS, UNKNOWN};
use flakeid_core::transactions::Transactions;
use flakeid_core::watermark::Position;

/// The list is short, so that readers with old snapshots miss some transactions.
const LIMITS: Limits = Limits { ended: 2, least_pruned: 0 };

/// A server as its list asks about transactions.
struct Database<'a>(&'a Server, &'a Life);

impl Transactions for Database<'_> {
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

impl Life {
    fn with_list<T>(&self, act: impl FnOnce(List) -> T) -> T {
        let (room, state) = &mut *self.list.borrow_mut();
        act(List { room, state })
    }
}

impl Server {
    /// Begins a life: lists the transactions that are prepared, before the first ID and the first
    /// reader; and those of sessions, which have no ID.
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
        let entry = Entry::new(number, bound, UnixNanos(0));
        // There is room for one more, so that a full list is no reason to forget.
        life.list.borrow_mut().0.push(entry);
        life.with_list(|mut list| {
            let before = list.state.forgotten;
            list.add(entry, LIMITS, &Database(self, life)).unwrap();
            let forgotten = &mut list.state.forgotten;
            if forgotten.is_some() && *forgotten != before {
                life.forgets.set(life.forgets.get() + 1);
                self.saw(Event::Forget);
            }
            *forgotten = forgotten.filter(|_| self.flaw != Flaw::ListForgets);
        });
    }

    /// Returns whether a transaction is in the list whose IDs are not known.
    pub fn has_unknown(&self, life: &Life) -> bool {
        life.with_list(|list| list.entries().iter().any(|entry| entry.bound == UNKNOWN))
    }

    /// Returns the least bound of the prepared transactions that have not ended.
    pub fn running_bound(&self, life: &Life) -> UnixNanos {
        let has_ended = |number| self.database.has_ended(number);
        let database = Database(self, life);
        life.with_list(|list| list.unseen_bound(has_ended, |_| true, std::iter::empty(), &database))
    }

    /// Returns the least bound of the prepared transactions that a snapshot does not see.
    pub fn unseen_bound(&self, life: &Life, snapshot: &Snapshot) -> UnixNanos {
        let is_asked = self.flaw != Flaw::NoEarly;
        let early = snapshot.running_below(life.loaded_at.get()).filter(|_| is_asked);
        let covers = |position| snapshot.covers(position);
        let sees = |number| snapshot.sees(number);
        let database = Database(self, life);
        let bound = life.with_list(|list| list.unseen_bound(sees, covers, early, &database));
        if bound == UNKNOWN && !self.has_unknown(life) {
            self.saw(Event::ToldNothing);
        }
        bound
    }
}
