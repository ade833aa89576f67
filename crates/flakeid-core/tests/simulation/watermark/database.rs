//! Transactions and snapshots as PostgreSQL has them, and the checks of what readers were told.
//!
//! The checks know more than any server: all rows, in the order in which they became visible, and all watermarks that
//! were told, across crashes.

use super::server::STREAMS;
use flakeid_core::watermark::{Position, Stream};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// How many watermarks are remembered, to compare those of later snapshots with.
const REMEMBERED: usize = 256;

/// A snapshot as PostgreSQL takes it.
#[derive(Clone)]
pub struct Snapshot {
    pub xmin: u64,
    pub xmax: u64,
    running: Vec<u64>,
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
            || transaction < self.xmax && self.running.binary_search(&transaction).is_err()
    }

    /// Returns whether it was one of the first snapshots, up to this number of them.
    pub fn is_before(&self, snapshots: u64) -> bool {
        self.order <= snapshots
    }

    /// Returns the transactions below a number that ran when the snapshot was taken.
    pub fn running_below(&self, number: u64) -> impl Iterator<Item = u64> {
        self.running.iter().copied().filter(move |&running| running < number)
    }

    /// Returns whether the snapshot sees all transactions that had ended before a position was read.
    pub fn covers(&self, position: Position) -> bool {
        position.0 <= self.xmin || position.0 < self.xmax
    }
}

/// The earliest time of a transaction's IDs in each stream; [`NO_ID`] in a stream without one.
pub type Earliest = [u64; STREAMS];

/// No ID in a stream.
pub const NO_ID: u64 = u64::MAX;

/// A row became visible after a snapshot, and its ID is from before the watermark that was told for it.
#[derive(Debug)]
pub struct Missed;

/// The transactions of a server.
pub struct Database {
    /// The number that the next transaction gets, and the least one that it can be after a crash.
    next: Cell<u64>,
    durable: Cell<u64>,
    /// The number after the greatest one of a transaction that has ended.
    ended: Cell<u64>,
    running: RefCell<BTreeSet<u64>>,
    /// For each transaction that has shown rows: when the earliest tick of its IDs begins.
    shown: RefCell<Vec<Earliest>>,
    snapshots: Cell<u64>,
    /// The greatest watermark of each stream that was told.
    greatest: [Cell<u64>; STREAMS],
    /// Snapshots and their watermarks, for each stream; both rise.
    told: [RefCell<Vec<(u64, u64)>>; STREAMS],
}

impl Database {
    pub fn new() -> Self {
        Self {
            next: Cell::new(3),
            durable: Cell::new(3),
            ended: Cell::new(3),
            running: RefCell::default(),
            shown: RefCell::default(),
            snapshots: Cell::new(0),
            greatest: Default::default(),
            told: Default::default(),
        }
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

    /// Makes a transaction's number durable.
    pub fn keep(&self, number: u64) {
        self.durable.set(self.durable.get().max(number + 1));
    }

    pub fn has_ended(&self, number: u64) -> bool {
        number < self.next.get() && !self.running.borrow().contains(&number)
    }

    /// Ends a transaction.
    pub fn end(&self, number: u64) {
        self.running.borrow_mut().remove(&number);
        self.ended.set(self.ended.get().max(number + 1));
    }

    /// Ends a transaction and shows its rows, the earliest of which have IDs of ticks that begin at `earliest`.
    ///
    /// # Errors
    /// A reader was told a later watermark before.
    pub fn show(&self, number: u64, earliest: Earliest) -> Result<(), Missed> {
        self.end(number);
        self.shown.borrow_mut().push(earliest);
        let mut streams = earliest.iter().zip(&self.greatest);
        let is_missed = streams.any(|(&earliest, greatest)| earliest < greatest.get());
        if is_missed { Err(Missed) } else { Ok(()) }
    }

    /// Takes a snapshot.
    pub fn snapshot(&self, forgotten: u64) -> Snapshot {
        let running: Vec<_> = self.running.borrow().iter().copied().collect();
        let xmax = self.ended.get();
        let xmin = running.first().map_or(xmax, |&first| first.min(xmax));
        let (order, shown) = (self.snapshots.get() + 1, self.shown.borrow().len());
        self.snapshots.set(order);
        Snapshot { xmin, xmax, running, order, shown, forgotten }
    }

    /// Returns the greatest watermark of a stream that was told for a snapshot or an earlier one.
    pub fn told(&self, snapshot: &Snapshot, stream: Stream) -> u64 {
        let told = self.told[stream.place()].borrow();
        let place = told.partition_point(|&(order, _)| order <= snapshot.order);
        if place > 0 { told[place - 1].1 } else { 0 }
    }

    /// Tells a reader the watermark of a stream for a snapshot, by the reader's own scan or not. The beginning of a life,
    /// which an old snapshot is told, can be above the next scans.
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

    /// Loses all transactions but the prepared ones. A number that is not durable may be assigned again: `next` chooses
    /// one in this range. Returns whether there is such a number.
    pub fn crash(
        &self,
        prepared: impl Iterator<Item = u64>,
        next: impl Fn(u64, u64) -> u64,
    ) -> bool {
        let before = self.next.get();
        let next = next(self.durable.get(), before);
        self.next.set(next);
        self.ended.set(next);
        self.running.replace(prepared.collect());
        next < before
    }
}
