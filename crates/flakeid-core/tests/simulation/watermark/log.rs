//! The write-ahead log (WAL) of the server, from which standbys learn of transactions and
//! watermarks.

use super::database::Earliest;
use super::server::Prepared;
use crate::node::State;
use flakeid_core::watermark_message::LENGTH;
use std::cell::{Cell, Ref, RefCell};

/// The numbers of a transaction: its own, and that of a subtransaction which ends with it.
#[derive(Clone, Copy)]
pub struct Numbers {
    pub own: u64,
    pub sub: Option<u64>,
}

impl Numbers {
    pub fn iter(self) -> impl Iterator<Item = u64> {
        self.sub.into_iter().chain([self.own])
    }
}

/// A record of the WAL.
pub enum Record {
    /// A transaction or a subtransaction has written something.
    Write(u64),
    /// A transaction has been committed or rolled back. It shows rows if there are the earliest
    /// times of its IDs.
    End(Numbers, Option<Earliest>),
    Prepare(Prepared),
    /// The running transactions, as a server writes them from time to time and when it starts.
    Running {
        /// Whether the server starts. Then it takes the next number from this record after a crash.
        is_start: bool,
        /// The number that the next transaction gets.
        next: u64,
        /// The least number of a running transaction, or `next`.
        oldest: u64,
        /// The number after the greatest one of a transaction that has ended.
        ended: u64,
        running: Vec<u64>,
    },
    /// The horizon, before the gate moves there.
    Horizon(State),
    /// A watermark may be reported from now on.
    Used,
    Watermark([u8; LENGTH]),
    /// A place that a record is put into later.
    Reserved,
}

impl Record {
    /// Returns the numbers of transactions that the record shows to be assigned.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let numbers = match *self {
            Self::Write(own) => Some(Numbers { own, sub: None }),
            Self::End(numbers, _) | Self::Prepare(Prepared { numbers, .. }) => Some(numbers),
            _ => None,
        };
        numbers.into_iter().flat_map(Numbers::iter)
    }
}

/// The log of all lives of the server, and of the primary before it.
#[derive(Default)]
pub struct Log {
    records: RefCell<Vec<Record>>,
    /// How many records are durable. Standbys get these.
    flushed: Cell<usize>,
}

impl Log {
    pub fn records(&self) -> Ref<'_, [Record]> {
        Ref::map(self.records.borrow(), Vec::as_slice)
    }

    /// Adds a record, and returns its place.
    pub fn insert(&self, record: Record) -> usize {
        let mut records = self.records.borrow_mut();
        records.push(record);
        records.len() - 1
    }

    /// Puts a record into the place that was reserved for it.
    pub fn fill(&self, place: usize, record: Record) {
        self.records.borrow_mut()[place] = record;
    }

    pub fn flush(&self) {
        self.flushed.set(self.records.borrow().len());
    }

    pub fn flushed(&self) -> usize {
        self.flushed.get()
    }

    /// Loses the records from a place on. All others are durable.
    pub fn truncate(&self, length: usize) {
        self.records.borrow_mut().truncate(length);
        self.flush();
    }
}
