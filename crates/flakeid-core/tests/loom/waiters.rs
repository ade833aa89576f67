//! Sessions that wait for a watermark, which another thread raises. A session that sleeps for ever
//! is a deadlock, which loom reports.

use super::*;
use flakeid_core::waiters::{Role, Wait, Waiters};
use loom::sync::{Condvar, Mutex};

/// A fault in how the parts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// A session tries to become the leader before it shows its time.
    LateTime,
    /// A session that ends its wait wakes no other one.
    NoSuccessor,
    /// A session does not wake the leader.
    SilentStart,
}

/// A latch as PostgreSQL has it: it stays set until its owner resets it.
#[derive(Default)]
struct Latch {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    fn set(&self) {
        *self.is_set.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut is_set = self.is_set.lock().unwrap();
        while !*is_set {
            is_set = self.changed.wait(is_set).unwrap();
        }
        *is_set = false;
    }
}

struct Server<const SESSIONS: usize> {
    flaw: Flaw,
    waiters: Waiters,
    waits: [Wait; SESSIONS],
    latches: [Latch; SESSIONS],
    watermark: AtomicU64,
}

impl<const SESSIONS: usize> Server<SESSIONS> {
    /// Creates a server that is never dropped: loom aborts if it reports a deadlock while its
    /// objects are dropped.
    fn new(flaw: Flaw, watermark: u64) -> &'static Self {
        Box::leak(Box::new(Self {
            flaw,
            waiters: Waiters::new(),
            waits: std::array::from_fn(|_| Wait::idle()),
            latches: std::array::from_fn(|_| Latch::default()),
            watermark: AtomicU64::new(watermark),
        }))
    }

    /// Waits until the watermark has passed a time, or until `patience` turns are over. A leader
    /// whose time has not come sleeps until it is woken, as if that time were far away.
    fn wait(&self, own: usize, until: u64, patience: usize) -> bool {
        let show = || self.waiters.begin(&self.waits, own, UnixNanos(until));
        if self.flaw != Flaw::LateTime {
            show();
        }
        let mut turns = 0;
        let is_over = loop {
            if self.waiters.is_over(&self.waits, own) {
                break true;
            }
            if turns == patience {
                break false;
            }
            turns += 1;
            match self.waiters.lead(own) {
                Role::Leader => {
                    if self.flaw == Flaw::LateTime && turns == 1 {
                        show();
                    }
                    let watermark = UnixNanos(self.watermark.load(Ordering::SeqCst));
                    self.waiters
                        .end_passed(&self.waits, watermark, |number| self.latches[number].set());
                    if self.waiters.is_over(&self.waits, own) {
                        break true;
                    }
                    if patience == usize::MAX {
                        self.latches[own].wait();
                    }
                }
                Role::Follower(leader) => {
                    if self.flaw == Flaw::LateTime && turns == 1 {
                        show();
                    }
                    if self.flaw != Flaw::SilentStart {
                        self.latches[leader].set();
                    }
                    if patience == usize::MAX {
                        self.latches[own].wait();
                    }
                }
            }
        };
        let next = self.waiters.end(&self.waits, own);
        if let Some(next) = next.filter(|_| self.flaw != Flaw::NoSuccessor) {
            self.latches[next].set();
        }
        is_over
    }

    /// Raises the watermark, and ends the sleep of all, as the clock ends that of the leader.
    fn raise(&self, to: u64) {
        self.watermark.store(to, Ordering::SeqCst);
        for latch in &self.latches {
            latch.set();
        }
    }
}

/// Two sessions wait for times that have passed already.
fn both_have_passed(flaw: Flaw) {
    let server = Server::<2>::new(flaw, 30);
    let other = thread::spawn(move || server.wait(1, 20, usize::MAX));
    assert!(server.wait(0, 10, usize::MAX));
    assert!(other.join().unwrap());
}

/// One session gives up after one turn, as a canceled one does, and the other must then lead.
fn one_gives_up(flaw: Flaw) {
    let server = Server::<2>::new(flaw, 30);
    let other = thread::spawn(move || server.wait(1, 40, 1));
    assert!(server.wait(0, 10, usize::MAX));
    assert!(!other.join().unwrap());
}

/// Two sessions wait, and the watermark passes both times while they begin.
fn the_watermark_rises(flaw: Flaw) {
    let server = Server::<2>::new(flaw, 5);
    let other = thread::spawn(move || server.wait(1, 20, usize::MAX));
    let clock = thread::spawn(move || server.raise(30));
    assert!(server.wait(0, 10, usize::MAX));
    assert!(other.join().unwrap());
    clock.join().unwrap();
}

/// The watermark has risen while the leader sleeps, and a session begins whose time has passed.
fn one_begins_later(flaw: Flaw) {
    let server = Server::<2>::new(flaw, 5);
    let other = thread::spawn(move || {
        server.watermark.store(30, Ordering::SeqCst);
        server.wait(1, 10, usize::MAX)
    });
    assert!(server.wait(0, 20, usize::MAX));
    assert!(other.join().unwrap());
}

/// A session that leads stands still. Another one takes over, and a third one begins at the same
/// time.
fn the_leader_stands_still() {
    let server = Server::<3>::new(Flaw::None, 30);
    server.waiters.begin(&server.waits, 2, UnixNanos(50));
    assert_eq!(server.waiters.lead(2), Role::Leader);
    let other = thread::spawn(move || server.wait(1, 20, usize::MAX));
    if let Role::Follower(2) = server.waiters.lead(0) {
        server.waiters.take_over(0, 2);
    }
    assert!(server.wait(0, 10, usize::MAX));
    assert!(other.join().unwrap());
    // It goes on, and leads no more than another session lets it.
    assert!(!server.waiters.is_over(&server.waits, 2));
    assert_eq!(server.waiters.lead(2), Role::Leader);
}

#[test]
fn another_session_takes_over_from_a_leader_that_stands_still() {
    model(3, the_leader_stands_still);
}

#[test]
fn each_session_is_woken_whose_time_has_passed() {
    model(3, || both_have_passed(Flaw::None));
}

#[test]
fn another_session_leads_if_the_leader_gives_up() {
    model(3, || one_gives_up(Flaw::None));
}

#[test]
fn each_session_is_woken_while_the_watermark_rises() {
    model(2, || the_watermark_rises(Flaw::None));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_time_that_is_shown_too_late_is_found() {
    model(3, || both_have_passed(Flaw::LateTime));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_session_that_wakes_no_successor_is_found() {
    model(3, || both_have_passed(Flaw::NoSuccessor));
}

#[test]
fn a_session_that_begins_wakes_the_leader() {
    model(3, || one_begins_later(Flaw::None));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_session_that_does_not_wake_the_leader_is_found() {
    model(3, || one_begins_later(Flaw::SilentStart));
}
