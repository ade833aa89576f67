//! The watermarks that snapshots of the present transaction were told.
//!
//! A snapshot can ask for the watermarks of several streams, and must get the same answer each time. PostgreSQL copies a
//! snapshot when a statement makes it the active one. The copy lasts as long as the statement or the cursor, and an MVCC
//! snapshot never uses its field `speculativeToken`. So a snapshot that asks gets a number there, and its answers are in a
//! list under its address and its number.
//!
//! # The argument
//! * *A snapshot gets its own answers.* A new copy has the number 0, and its first question gives it a number that no
//!   other snapshot of the transaction has. So what was there before at the same address is of a snapshot that has ended.
//! * *A copy of a copy has the number of the first one*, which lasts longer: it is the active snapshot of a statement that
//!   runs another one, such as `EXPLAIN ANALYZE` and `COPY (SELECT ...)`. The copy takes over the answers, under its own
//!   address.
//! * *The list is short.* An address that is used again replaces what is there. So the list has at most an entry for each
//!   place in which there was a snapshot, and no more with the number of statements. Snapshots end with their
//!   transaction, and so does the list.
//!
//! A number whose answers are not there counts as no number. The answer to that is a new one, which is right for the
//! snapshot.

use crate::process;
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The answers to one snapshot.
#[derive(Clone, Debug)]
struct Answers {
    number: u32,
    /// Watermarks in milliseconds since 1970.
    of_streams: Vec<(Stream, i64)>,
}

impl Answers {
    fn find(&self, stream: Stream) -> Option<i64> {
        self.of_streams.iter().find(|(of, _)| *of == stream).map(|&(_, millis)| millis)
    }
}

/// The answers of one transaction.
#[derive(Debug)]
struct List {
    /// The transaction, by PostgreSQL's local number.
    transaction: u32,
    /// The number that was given last, and whether each number was given.
    last: u32,
    has_wrapped: bool,
    /// The answers, by the addresses of snapshots.
    answers: BTreeMap<usize, Answers>,
}

thread_local! {
    static LIST: RefCell<List> = const {
        RefCell::new(List { transaction: 0, last: 0, has_wrapped: false, answers: BTreeMap::new() })
    };
}

impl List {
    /// Returns the answers to a snapshot with a number, at an address. A copy takes over those of the first snapshot.
    fn find(&mut self, address: usize, number: u32) -> Option<&mut Answers> {
        let is_own = self.answers.get(&address).is_some_and(|own| own.number == number);
        if !is_own {
            let first = self.answers.values().find(|first| first.number == number)?.clone();
            self.answers.insert(address, first);
        }
        self.answers.get_mut(&address)
    }

    fn next_number(&mut self) -> u32 {
        loop {
            self.has_wrapped |= self.last == u32::MAX;
            self.last = self.last.wrapping_add(1).max(1);
            let is_used = |answers: &Answers| answers.number == self.last;
            if !self.has_wrapped || !self.answers.values().any(is_used) {
                return self.last;
            }
        }
    }

    /// Keeps an answer, and returns the number of the snapshot.
    fn keep(&mut self, address: usize, number: u32, stream: Stream, millis: i64) -> u32 {
        if number != 0
            && let Some(answers) = self.find(address, number)
        {
            answers.of_streams.push((stream, millis));
            return number;
        }
        let number = self.next_number();
        self.answers.insert(address, Answers { number, of_streams: vec![(stream, millis)] });
        number
    }
}

/// Returns the local number of the present transaction.
fn transaction() -> u32 {
    process::own().local_transaction
}

/// Returns the watermark of a stream that a snapshot was told, in milliseconds since 1970.
///
/// # Safety
/// The snapshot is active.
pub unsafe fn find(snapshot: pg_sys::Snapshot, stream: Stream) -> Option<i64> {
    // SAFETY: the caller guarantees the snapshot.
    let number = unsafe { (*snapshot).speculativeToken };
    LIST.with_borrow_mut(|list| {
        if number == 0 || list.transaction != transaction() {
            return None;
        }
        list.find(snapshot.addr(), number)?.find(stream)
    })
}

/// Keeps the watermark of a stream that a snapshot is told first.
///
/// # Safety
/// The snapshot is active, and so it is PostgreSQL's copy in this process.
pub unsafe fn keep(snapshot: pg_sys::Snapshot, stream: Stream, millis: i64) {
    // SAFETY: the caller guarantees the snapshot, which only this process uses.
    let number = unsafe { &mut (*snapshot).speculativeToken };
    LIST.with_borrow_mut(|list| {
        if list.transaction != transaction() {
            list.answers.clear();
            (list.transaction, list.last, list.has_wrapped) = (transaction(), 0, false);
        }
        *number = list.keep(snapshot.addr(), *number, stream, millis);
    });
}
