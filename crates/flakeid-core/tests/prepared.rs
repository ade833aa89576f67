//! The list of prepared transactions: what it keeps, what it forgets, and what that is for a
//! snapshot.

use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{
    Entry, Forgotten, Limits, List, ListState, NO_IDS, NoRoom, UNKNOWN, prune, unseen_bound,
};
use flakeid_core::transactions::Transactions;
use flakeid_core::watermark::Position;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Transactions of a database: all below `next` have ended, but those that run.
#[derive(Clone, Debug, Default)]
struct Database {
    running: BTreeSet<u64>,
    next: u64,
    oldest: u64,
    /// One more than the greatest number of a transaction that has ended.
    ended: u64,
}

impl Transactions for Database {
    fn has_ended(&self, transaction: u64) -> bool {
        transaction < self.next && !self.running.contains(&transaction)
    }

    fn next(&self) -> Position {
        Position(self.next)
    }

    fn oldest_unseen(&self) -> u64 {
        self.oldest
    }

    fn new_snapshots_cover(&self, position: Position) -> bool {
        position.0 < self.ended
    }
}

fn entry(transaction: u64) -> Entry {
    Entry::new(transaction, UnixNanos(1000 * transaction), UnixNanos(0))
}

fn left(list: &[Entry]) -> Vec<u64> {
    list.iter().map(|entry| entry.transaction).collect()
}

/// Prunes a list, and returns its transactions and what it forgot.
fn pruned(
    list: &mut Vec<Entry>,
    ended: usize,
    length: usize,
    database: &Database,
) -> Option<Forgotten> {
    let mut forgotten = None;
    let left = prune(list, &mut forgotten, ended, length, database);
    list.truncate(left);
    forgotten
}

#[test]
fn a_transaction_that_runs_stays_however_old_it_is() {
    let running = BTreeSet::from([3, 5]);
    let database = Database { running, next: 100, oldest: 100, ended: 100 };
    let mut list = [3, 4, 5, 6].map(entry).to_vec();
    assert_eq!(pruned(&mut list, 0, 2, &database), None);
    assert_eq!(left(&list), [3, 5]);
}

#[test]
fn a_transaction_that_a_snapshot_does_not_see_stays_while_there_is_room() {
    let database = Database { next: 100, oldest: 5, ended: 100, ..Database::default() };
    let mut list = [3, 5, 7].map(entry).to_vec();
    assert_eq!(pruned(&mut list, 2, 9, &database), None);
    assert_eq!(left(&list), [5, 7]);
}

#[test]
fn the_oldest_are_forgotten_once_new_snapshots_see_them() {
    let mut database = Database { next: 100, oldest: 3, ended: 100, ..Database::default() };
    let mut list = [3, 4, 5, 6].map(entry).to_vec();
    assert_eq!(pruned(&mut list, 2, 9, &database), None, "no later transaction has ended");
    assert_eq!(left(&list), [3, 4, 5, 6]);
    (database.next, database.ended) = (102, 101);
    let forgotten = Forgotten { ended_by: Position(100), bound: UnixNanos(3000) };
    assert_eq!(pruned(&mut list, 2, 9, &database), Some(forgotten));
    assert_eq!(left(&list), [5, 6]);
}

#[test]
fn a_full_list_forgets_what_new_snapshots_may_not_see() {
    let database = Database { next: 100, oldest: 3, ended: 100, ..Database::default() };
    let mut list = [3, 4, 5, 6].map(entry).to_vec();
    let forgotten = Forgotten { ended_by: Position(100), bound: UnixNanos(3000) };
    assert_eq!(pruned(&mut list, 2, 3, &database), Some(forgotten));
    assert_eq!(left(&list), [4, 5, 6]);
}

#[test]
fn what_was_forgotten_counts_for_snapshots_that_do_not_cover_its_end() {
    let forgotten = Some(Forgotten { ended_by: Position(100), bound: UnixNanos(3000) });
    let list = [5, 6].map(entry);
    let bound = |sees, covers| unseen_bound(&list, forgotten, |_| sees, |_| covers);
    assert_eq!(bound(true, true), NO_IDS);
    assert_eq!(bound(true, false), UnixNanos(3000));
    assert_eq!(bound(false, true), UnixNanos(5000));
}

#[test]
fn what_was_forgotten_does_not_count_once_all_snapshots_see_it() {
    let database = Database { next: 200, oldest: 100, ended: 200, ..Database::default() };
    let mut forgotten = Some(Forgotten { ended_by: Position(100), bound: UnixNanos(3000) });
    prune(&mut [], &mut forgotten, 2, 9, &database);
    assert_eq!(forgotten, None);
}

/// A database that counts the questions of a list.
struct Counting<'a>(&'a Database, Cell<u64>);

impl Transactions for Counting<'_> {
    fn has_ended(&self, transaction: u64) -> bool {
        self.1.set(self.1.get() + 1);
        self.0.has_ended(transaction)
    }

    fn next(&self) -> Position {
        self.0.next()
    }

    fn oldest_unseen(&self) -> u64 {
        self.0.oldest_unseen()
    }

    fn new_snapshots_cover(&self, position: Position) -> bool {
        self.0.new_snapshots_cover(position)
    }
}

#[test]
fn a_list_asks_about_each_transaction_some_two_times_beside_an_old_snapshot() {
    const ADDED: u64 = 100_000;
    let limits = Limits { ended: 512, least_pruned: 64 };
    let (mut room, mut state) = (vec![entry(0); 2000], ListState::EMPTY);
    let mut list = List { room: &mut room, state: &mut state };
    let mut questions = 0;
    for next in 3..3 + ADDED {
        let database = Database { next, oldest: 3, ended: next, ..Database::default() };
        let counting = Counting(&database, Cell::new(0));
        assert_eq!(list.add(entry(next), limits, &counting), Ok(()));
        questions += counting.1.get();
    }
    assert!(questions <= 2 * ADDED, "{questions} questions");
    assert!(state.forgotten.is_some());
}

/// Limits with which only a full list is pruned.
const UNPRUNED: Limits = Limits { ended: 0, least_pruned: usize::MAX };

/// Runs a test with a list of this capacity, which has these transactions. None of them has ended.
fn with_list(capacity: usize, transactions: &[u64], test: impl FnOnce(&mut List)) {
    let (mut room, mut state) = (vec![entry(0); capacity], ListState::EMPTY);
    let mut list = List { room: &mut room, state: &mut state };
    let running = transactions.iter().copied().collect();
    let database = Database { running, next: 1000, oldest: 0, ended: 0 };
    for &transaction in transactions {
        assert_eq!(list.add(entry(transaction), UNPRUNED, &database), Ok(()));
    }
    test(&mut list);
}

#[test]
fn a_full_list_refuses_a_transaction_while_all_of_its_own_run() {
    let running = BTreeSet::from([3, 5]);
    let database = Database { running, next: 100, oldest: 100, ended: 100 };
    with_list(2, &[3, 5], |list| {
        assert_eq!(list.add(entry(7), UNPRUNED, &database), Err(NoRoom));
        assert_eq!(left(list.entries()), [3, 5]);
    });
    with_list(2, &[3, 4], |list| {
        assert_eq!(list.add(entry(7), UNPRUNED, &database), Ok(()));
        assert_eq!(left(list.entries()), [3, 7]);
    });
}

#[test]
fn a_new_list_has_the_bounds_of_what_is_prepared_and_none_for_what_is_not_known() {
    let running = BTreeSet::from([3, 5]);
    let database = Database { running, next: 100, oldest: 3, ended: 100 };
    with_list(9, &[], |list| {
        let mut add = |id, bound| list.add_found(id, bound, UNPRUNED, &database);
        assert_eq!(add(3, Some(UnixNanos(7))), Ok(false));
        assert_eq!(add(4, None), Ok(false), "it has ended");
        assert_eq!(add(5, None), Ok(true), "it is not known");
        let bounds = list.entries().iter().map(|entry| (entry.transaction, entry.bound));
        assert_eq!(bounds.collect::<Vec<_>>(), [(3, UnixNanos(7)), (5, UNKNOWN)]);
    });
}

#[test]
fn what_ended_before_the_list_was_made_may_have_had_any_bound() {
    let running = BTreeSet::from([5]);
    let database = Database { running, next: 100, oldest: 3, ended: 100 };
    with_list(9, &[3], |list| {
        let bound = |early: &[u64]| {
            list.unseen_bound(|_| false, |_| true, early.iter().copied(), &database)
        };
        assert_eq!(bound(&[]), UnixNanos(3000));
        assert_eq!(bound(&[3, 5]), UnixNanos(3000), "one is listed, the other one runs");
        assert_eq!(bound(&[4]), UNKNOWN);
    });
}

#[test]
fn the_fingerprint_of_a_list_changes_when_a_transaction_is_prepared_or_ends() {
    let database = |running: &[u64]| Database {
        running: running.iter().copied().collect(),
        next: 100,
        ..Database::default()
    };
    with_list(9, &[3], |list| {
        let first = list.fingerprint(&database(&[3]));
        assert_ne!(list.fingerprint(&database(&[])), first);
        assert_eq!(list.add(entry(5), UNPRUNED, &database(&[3])), Ok(()));
        assert_ne!(list.fingerprint(&database(&[3])), first);
    });
}

#[test]
fn only_transactions_that_run_and_may_have_ids_hold_the_watermark() {
    let database = Database { running: BTreeSet::from([5, 7]), next: 100, ..Database::default() };
    with_list(9, &[3, 5], |list| {
        let without_ids = Entry::new(7, NO_IDS, UnixNanos(0));
        assert_eq!(list.add(without_ids, UNPRUNED, &database), Ok(()));
        assert_eq!(left(&list.running(&database).collect::<Vec<_>>()), [5]);
    });
}

/// A snapshot of the model: the transactions that it does not see, and its `xmin` and `xmax`.
#[derive(Clone, Debug)]
struct Snapshot {
    xmin: u64,
    xmax: u64,
    running: BTreeSet<u64>,
}

impl Snapshot {
    fn sees(&self, transaction: u64) -> bool {
        transaction < self.xmax && !self.running.contains(&transaction)
    }
}

proptest! {
    /// Transactions are prepared and end, snapshots are taken and end, and the list is pruned, in
    /// any order.
    #[test]
    fn a_list_never_tells_a_snapshot_more_than_it_may(
        steps in prop::collection::vec((0_u8..6, 0_usize..100), 1..300),
        ended in 0_usize..4,
        length in 4_usize..12,
    ) {
        let mut database = Database { next: 3, oldest: 3, ended: 3, ..Database::default() };
        let (mut list, mut forgotten) = (Vec::new(), None);
        let (mut all, mut snapshots): (Vec<Entry>, Vec<Snapshot>) = (Vec::new(), Vec::new());
        for (step, choice) in steps {
            let running: Vec<_> = database.running.iter().copied().collect();
            match step {
                0 | 1 => {
                    let added = Entry::new(database.next, UnixNanos(choice as u64), UnixNanos(0));
                    database.running.insert(database.next);
                    database.next += 1;
                    list.push(added);
                    all.push(added);
                }
                2 | 3 if !running.is_empty() => {
                    let transaction = running[choice % running.len()];
                    database.running.remove(&transaction);
                    database.ended = database.ended.max(transaction + 1);
                }
                4 => {
                    let xmax = database.ended;
                    let xmin = running.first().map_or(xmax, |&first| first.min(xmax));
                    snapshots.push(Snapshot { xmin, xmax, running: database.running.clone() });
                }
                _ if !snapshots.is_empty() => {
                    snapshots.swap_remove(choice % snapshots.len());
                }
                _ => {}
            }
            let first = database.running.first().map_or(database.ended, |&first| first);
            let oldest = snapshots.iter().map(|snapshot| snapshot.xmin);
            database.oldest = oldest.fold(first.min(database.ended), u64::min);
            let left = prune(&mut list, &mut forgotten, ended, length, &database);
            list.truncate(left);
            prop_assert!(left <= length.max(database.running.len()));
            for snapshot in &snapshots {
                let unseen = all.iter().filter(|entry| !snapshot.sees(entry.transaction));
                let exact = unseen.map(|entry| entry.bound).min().unwrap_or(NO_IDS);
                let covers = |position: Position| {
                    position.0 <= snapshot.xmin || position.0 < snapshot.xmax
                };
                let told = unseen_bound(&list, forgotten, |number| snapshot.sees(number), covers);
                prop_assert!(told <= exact, "{told:?} instead of {exact:?} for {snapshot:?}");
            }
        }
    }
}
