//! The watermarks that snapshots of the present transaction were told.
//!
//! A snapshot can ask for the watermarks of several streams, and must get the same answer each
//! time. PostgreSQL copies a snapshot when a statement makes it the active one. The copy lasts as
//! long as the statement or the cursor, and an MVCC snapshot never uses its field
//! `speculativeToken`. So a snapshot that asks gets a number there, and its answers are in a list
//! under its address and its number.
//!
//! # The argument
//! * *A snapshot gets its own answers.* A new copy has the number 0, and its first question gives
//!   it a number that no other snapshot of the transaction has. So what was there before at the
//!   same address is of a snapshot that has ended.
//! * *A copy of a copy has the number of the first one*, which lasts longer: it is the active
//!   snapshot of a statement that runs another one, such as `EXPLAIN ANALYZE` and
//!   `COPY (SELECT ...)`. The copy takes over the answers, under its own address.
//! * *The list is short.* An address that is used again replaces what is there. So the list has at
//!   most an entry for each place in which there was a snapshot, and no more with the number of
//!   statements. Snapshots end with their transaction, and so does the list.
//!
//! A number whose answers are not there counts as no number. The answer to that is a new one, which
//! is right for the snapshot.
//!
//! # Why a field of PostgreSQL's snapshot
//! The answers need a key that a snapshot shares with its copies, and with no other snapshot. These
//! do not give one:
//! * *The address.* A copy has another address, and a later snapshot can have the address of one
//!   that has ended.
//! * *The contents.* Two statements have equal snapshots if no transaction has ended in between.
//!   But the watermark of the second one is later, and a loop that waits for it in one transaction
//!   would not end.
//! * *A list of registered snapshots.* A snapshot that flakeid registers keeps its address. But it
//!   stays until its resource owner ends, and a portal has one for all statements of a DO block: a
//!   loop would pin a snapshot in each turn. A copy still has another address.
//! * *A callback of the resource owner.* It tells the end of a portal, and not that of a snapshot
//!   within it.
//!
//! So the key must be in the snapshot, in a field that PostgreSQL copies. All versions document
//! `speculativeToken` as "not used in MVCC snapshots". A test compares the header of each version,
//! and tries statements that use it elsewhere.

use crate::process;
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The number of a snapshot, in its field `speculativeToken`. 0 is that of a snapshot that has not
/// asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct Token(u32);

/// PostgreSQL's field has the form of a token: otherwise this does not compile.
const _: fn(&mut pg_sys::SnapshotData) -> &mut u32 = |snapshot| &mut snapshot.speculativeToken;

impl Token {
    const NONE: Self = Self(0);

    /// Returns the token of a snapshot.
    ///
    /// # Safety
    /// The snapshot is an active MVCC snapshot.
    unsafe fn of(snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: the caller guarantees the snapshot.
        Self(unsafe { (*snapshot).speculativeToken })
    }

    /// Gives a snapshot this token.
    ///
    /// # Safety
    /// The snapshot is an active MVCC snapshot, and so it is PostgreSQL's copy in this process.
    unsafe fn put(self, snapshot: pg_sys::Snapshot) {
        // SAFETY: the caller guarantees the snapshot, which only this process uses.
        unsafe { (*snapshot).speculativeToken = self.0 };
    }
}

/// The answers to one snapshot.
#[derive(Clone, Debug)]
struct Answers {
    token: Token,
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
    /// The token that was given last, and whether each token was given.
    last: Token,
    has_wrapped: bool,
    /// The answers, by the addresses of snapshots.
    answers: BTreeMap<usize, Answers>,
}

thread_local! {
    static LIST: RefCell<List> = const {
        RefCell::new(List {
            transaction: 0,
            last: Token::NONE,
            has_wrapped: false,
            answers: BTreeMap::new(),
        })
    };
}

impl List {
    /// Returns the answers to a snapshot with a token, at an address. A copy takes over those of
    /// the first snapshot.
    fn find(&mut self, address: usize, token: Token) -> Option<&mut Answers> {
        if token == Token::NONE {
            return None;
        }
        let is_own = self.answers.get(&address).is_some_and(|own| own.token == token);
        if !is_own {
            let first = self.answers.values().find(|first| first.token == token)?.clone();
            self.answers.insert(address, first);
        }
        self.answers.get_mut(&address)
    }

    fn next_token(&mut self) -> Token {
        loop {
            self.has_wrapped |= self.last.0 == u32::MAX;
            self.last = Token(self.last.0.wrapping_add(1).max(1));
            let is_used = |answers: &Answers| answers.token == self.last;
            if !self.has_wrapped || !self.answers.values().any(is_used) {
                return self.last;
            }
        }
    }

    /// Keeps an answer, and returns the token of the snapshot.
    fn keep(&mut self, address: usize, token: Token, stream: Stream, millis: i64) -> Token {
        if let Some(answers) = self.find(address, token) {
            answers.of_streams.push((stream, millis));
            return token;
        }
        let token = self.next_token();
        self.answers.insert(address, Answers { token, of_streams: vec![(stream, millis)] });
        token
    }
}

/// Returns the local number of the present transaction.
fn transaction() -> u32 {
    process::own().local_transaction
}

/// Returns the watermark of a stream that a snapshot was told, in milliseconds since 1970.
///
/// # Safety
/// The snapshot is an active MVCC snapshot.
pub unsafe fn find(snapshot: pg_sys::Snapshot, stream: Stream) -> Option<i64> {
    // SAFETY: the caller guarantees the snapshot.
    let token = unsafe { Token::of(snapshot) };
    LIST.with_borrow_mut(|list| match list.transaction == transaction() {
        true => list.find(snapshot.addr(), token)?.find(stream),
        false => None,
    })
}

/// Keeps the watermark of a stream that a snapshot is told first.
///
/// # Safety
/// The snapshot is an active MVCC snapshot.
pub unsafe fn keep(snapshot: pg_sys::Snapshot, stream: Stream, millis: i64) {
    LIST.with_borrow_mut(|list| {
        if list.transaction != transaction() {
            list.answers.clear();
            (list.transaction, list.last, list.has_wrapped) = (transaction(), Token::NONE, false);
        }
        // SAFETY: the caller guarantees the snapshot.
        unsafe {
            let token = list.keep(snapshot.addr(), Token::of(snapshot), stream, millis);
            token.put(snapshot);
        }
    });
}
