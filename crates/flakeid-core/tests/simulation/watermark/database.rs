//! Transactions and snapshots as PostgreSQL has them, and the checks of what readers were told.
//!
//! The checks know more than any server: all rows, in the order in which they became visible, and
//! all watermarks that were told, across crashes.

use super::log::Numbers;
use super::server::{Prepared, STREAMS};
use flakeid_core::watermark::{Position, Stream};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// How many watermarks are remembered, to compare those of later snapshots with.
const REMEMBERED: usize = 256;

/// The number of a server's first transaction.
pub const FIRST_NUMBER: u64 = 3;

/// A snapshot as PostgreSQL takes it.
#[derive(Clone)]
pub struct Snapshot {
    pub xmin: u64,
    pub xmax: u64,
    /// The transactions that ran, and their subtransactions, if these are known to be such.
    running: Vec<u64>,
    subs: Vec<u64>,
    /// Its place among all snapshots.
    order: u64,
    /// How many transactions had shown rows.
    shown: usize,
    /// How many entries the list of prepared transactions had forgotten.
    pub forgotten: u64,
}

impl Snapshot {
    pub fn sees(&self, transaction: u64) -> bool {
        transaction < self.xmin
            || transaction < self.xmax
                && self.running.binary_search(&transaction).is_err()
                && self.subs.binary_search(&transaction).is_err()
    }

    /// Returns whether another snapshot sees the same transactions.
    pub fn equals(&self, other: &Self) -> bool {
        (self.xmin, self.xmax) == (other.xmin, other.xmax)
            && (&self.running, &self.subs) == (&other.running, &other.subs)
    }

    /// Returns whether it was one of the first snapshots, up to this number of them.
    pub fn is_before(&self, snapshots: u64) -> bool {
        self.order <= snapshots
    }

    /// Returns the transactions below a number that ran when the snapshot was taken.
    pub fn running_below(&self, number: u64) -> impl Iterator<Item = u64> {
        self.running.iter().copied().filter(move |&running| running < number)
    }

    /// Returns whether the snapshot sees all transactions that had ended before a position was
    /// read.
    pub fn covers(&self, position: Position) -> bool {
        position.0 <= self.xmin || position.0 < self.xmax
    }
}

/// The earliest time of a transaction's IDs in each stream; [`NO_ID`] in a stream without one.
pub type Earliest = [u64; STREAMS];

/// No ID in a stream.
pub const NO_ID: u64 = u64::MAX;

/// A row became visible after a snapshot, and its ID is from before the watermark that was told for
/// it.
#[derive(Debug)]
pub struct Missed;

/// The transactions of a server.
pub struct Database {
    /// The number that the next transaction gets, and the least one that it can be after a crash.
    next: Cell<u64>,
    durable: Cell<u64>,
    /// The number after the greatest one of a transaction that has ended.
    ended: Cell<u64>,
    /// The transactions that run, and their subtransactions. On a standby all are among the former.
    running: RefCell<BTreeSet<u64>>,
    subs: RefCell<BTreeSet<u64>>,
    /// For each transaction that has shown rows: when the earliest tick of its IDs begins.
    shown: RefCell<Vec<Earliest>>,
    snapshots: Cell<u64>,
    /// The greatest watermark of each stream that was told.
    greatest: [Cell<u64>; STREAMS],
    /// Snapshots and their watermarks, for each stream; both rise.
    told: [RefCell<Vec<(u64, u64)>>; STREAMS],
}

impl Database {
    /// Creates the transactions of a server that begins with a number, and whose data had readers
    /// which were told watermarks up to the greatest.
    pub fn beginning_at(next: u64, greatest: u64) -> Self {
        Self {
            next: Cell::new(next),
            durable: Cell::new(next),
            ended: Cell::new(next),
            running: RefCell::default(),
            subs: RefCell::default(),
            shown: RefCell::default(),
            snapshots: Cell::new(0),
            greatest: std::array::from_fn(|_| Cell::new(greatest)),
            told: Default::default(),
        }
    }

    /// Creates the transactions of a standby that knows of none yet.
    pub fn replaying() -> Self {
        Self::beginning_at(FIRST_NUMBER, 0)
    }

    /// Returns the number that the next transaction gets.
    pub fn next(&self) -> u64 {
        self.next.get()
    }

    /// Returns how many snapshots were taken.
    pub fn snapshots(&self) -> u64 {
        self.snapshots.get()
    }

    /// Returns the greatest watermark of a stream that was told.
    pub fn greatest(&self, stream: Stream) -> u64 {
        self.greatest[stream.place()].get()
    }

    /// Assigns a number to a transaction.
    pub fn assign(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.running.borrow_mut().insert(number);
        number
    }

    /// Assigns a number to a subtransaction.
    pub fn assign_sub(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.subs.borrow_mut().insert(number);
        number
    }

    /// Makes a transaction's number durable.
    pub fn keep(&self, number: u64) {
        self.durable.set(self.durable.get().max(number + 1));
    }

    pub fn has_ended(&self, number: u64) -> bool {
        number < self.next.get() && !self.is_running(number)
    }

    pub fn is_running(&self, number: u64) -> bool {
        self.running.borrow().contains(&number) || self.subs.borrow().contains(&number)
    }

    /// Returns the numbers as a server writes them into its log: the next one, the oldest that
    /// runs, the one after the last that has ended, and all that run.
    pub fn running(&self) -> (u64, u64, u64, Vec<u64>) {
        let mut running: Vec<_> = self.running.borrow().iter().copied().collect();
        running.extend(self.subs.borrow().iter());
        let oldest = running.iter().copied().min().unwrap_or(self.next.get());
        (self.next.get(), oldest, self.ended.get(), running)
    }

    /// On a standby: notes that a number was assigned. All numbers before it run, too, unless they
    /// have ended.
    pub fn observe(&self, number: u64, knows_running: bool) {
        if knows_running {
            self.running.borrow_mut().extend(self.next.get()..=number);
        }
        self.next.set(self.next.get().max(number + 1));
    }

    /// On a standby: begins with the running transactions of the primary.
    pub fn begin_with(&self, next: u64, ended: u64, running: BTreeSet<u64>) {
        self.next.set(self.next.get().max(next));
        self.ended.set(self.ended.get().max(ended));
        self.running.borrow_mut().extend(running);
    }

    /// On a standby: ends all transactions below a number.
    pub fn expire(&self, oldest: u64) {
        self.running.borrow_mut().retain(|&number| number >= oldest);
        self.ended.set(self.ended.get().max(oldest));
    }

    /// Ends a transaction or a subtransaction.
    pub fn end(&self, number: u64) {
        self.running.borrow_mut().remove(&number);
        self.subs.borrow_mut().remove(&number);
        self.ended.set(self.ended.get().max(number + 1));
    }

    /// Ends a transaction and shows its rows, if it has any. The earliest have IDs of ticks that
    /// begin at `earliest`.
    ///
    /// # Errors
    /// A reader was told a later watermark before.
    pub fn show(&self, numbers: Numbers, earliest: Option<Earliest>) -> Result<(), Missed> {
        numbers.iter().for_each(|number| self.end(number));
        let Some(earliest) = earliest else { return Ok(()) };
        self.shown.borrow_mut().push(earliest);
        let mut streams = earliest.iter().zip(&self.greatest);
        let is_missed = streams.any(|(&earliest, greatest)| earliest < greatest.get());
        if is_missed { Err(Missed) } else { Ok(()) }
    }

    /// Returns the greatest of the times of all IDs that transactions have shown.
    pub fn latest_shown(&self) -> u64 {
        self.shown.borrow().iter().map(|earliest| earliest[0]).max().unwrap_or(0)
    }

    /// Takes a snapshot.
    pub fn snapshot(&self, forgotten: u64) -> Snapshot {
        let running: Vec<_> = self.running.borrow().iter().copied().collect();
        let xmax = self.ended.get();
        let subs: Vec<_> = self.subs.borrow().iter().copied().collect();
        let xmin = running.iter().chain(&subs).fold(xmax, |least, &number| least.min(number));
        let (order, shown) = (self.snapshots.get() + 1, self.shown.borrow().len());
        self.snapshots.set(order);
        Snapshot { xmin, xmax, running, subs, order, shown, forgotten }
    }

    /// Returns the greatest watermark of a stream that was told for a snapshot or an earlier one.
    pub fn told(&self, snapshot: &Snapshot, stream: Stream) -> u64 {
        let told = self.told[stream.place()].borrow();
        let place = told.partition_point(|&(order, _)| order <= snapshot.order);
        if place > 0 { told[place - 1].1 } else { 0 }
    }

    /// Tells a reader the watermark of a stream for a snapshot, by the reader's own scan or not.
    /// One that is not from that can be above the next scans: the beginning of a life, which an old
    /// snapshot is told, or a message for standbys.
    ///
    /// # Errors
    /// A row has become visible since the snapshot that is below the watermark.
    pub fn tell(
        &self,
        snapshot: &Snapshot,
        stream: Stream,
        watermark: u64,
        by_scan: bool,
    ) -> Result<(), Missed> {
        let place = stream.place();
        self.greatest[place].set(self.greatest[place].get().max(watermark));
        let shown = self.shown.borrow();
        if shown[snapshot.shown..].iter().any(|earliest| earliest[place] < watermark) {
            return Err(Missed);
        }
        if by_scan && watermark > self.told(snapshot, stream) {
            let mut told = self.told[place].borrow_mut();
            let place = told.partition_point(|&(order, _)| order <= snapshot.order);
            let later = told[place..].iter().take_while(|&&(_, later)| later <= watermark).count();
            told.splice(place..place + later, [(snapshot.order, watermark)]);
            if told.len() > REMEMBERED {
                told.remove(0);
            }
        }
        Ok(())
    }

    /// Loses all transactions but the prepared ones. A number that is not durable may be assigned
    /// again: `next` chooses one in this range. Returns whether there is such a number.
    pub fn crash(&self, prepared: &[Prepared], next: impl Fn(u64, u64) -> u64) -> bool {
        let before = self.next.get();
        let next = next(self.durable.get(), before);
        self.next.set(next);
        self.ended.set(next);
        let numbers = prepared.iter().map(|prepared| prepared.numbers);
        self.subs.replace(numbers.clone().filter_map(|numbers| numbers.sub).collect());
        self.running.replace(numbers.map(|numbers| numbers.own).collect());
        next < before
    }
}
