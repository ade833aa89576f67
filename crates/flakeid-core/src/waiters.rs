//! Sessions that wait until the watermark has passed a time.
//!
//! Summary: each waiting session shows the time for which it waits. One of them, the *leader*,
//! computes the watermark again and again, and wakes those whose time has passed. The others sleep.
//! Writers know nothing of this.
//!
//! # The protocol
//! Each session has a [`Wait`], and all share one word that names the leader ([`Waiters`]).
//! 1. A session shows its time ([`Waiters::begin`]). Then it tries to become the leader
//!    ([`Waiters::lead`]): it does if there is no leader. Otherwise it wakes the leader, which may
//!    sleep for longer than this session waits, and sleeps until another session wakes it.
//! 2. The leader notes in each wait whose time has passed that it is over
//!    ([`Waiters::end_passed`]), and wakes its session.
//! 3. A session that waits no longer, for any reason, ends its wait ([`Waiters::end`]). If it was
//!    the leader, there is no leader then. If there is no leader, it wakes one of those that wait,
//!    so that this one leads.
//! 4. A session that was woken looks at its own wait. If that is not over, it tries to become the
//!    leader, as in 1.
//!
//! # Why no session sleeps without a leader
//! Take a session S that sleeps and whose wait is not over. It has shown its time, and found
//! another leader L after that. L ends its wait later: it takes its name away, and then looks for a
//! session to wake. All these accesses are in one order that all threads agree on. So L finds the
//! wait of S, and wakes S or another session T that waits. T leads, or finds another leader, or
//! ends its own wait. In the last case T finds no leader after it has taken its own wait away, and
//! looks for a session itself. If T ended its wait before L looked, L did not choose T. If T looked
//! at the leader before L took its name away, T's wait had ended before L looked.
//!
//! # Why no session sleeps past its time
//! The leader reads all waits after it was woken last. S shows its time before it wakes the leader.
//! So the leader has read the time of S before it sleeps, or does not sleep.
//!
//! # A leader that stands still
//! A leader may be stopped, or wait for its client to read an error. It shows a *beat* each time it
//! looks ([`Waiters::beat`]). The others wake from time to time by themselves. A session that finds
//! the same beat for long takes the leadership over ([`Waiters::take_over`]). The former leader
//! notices that when it goes on, and sleeps as the others do. While two sessions believe to lead,
//! each wait is still over only if its time has passed.
//!
//! # What outlives what
//! * *A session that is canceled or terminated* ends its wait, as the transaction that calls ends.
//! * *A crash.* All waits are lost, with all sessions.
//! * *A session begins another wait while the leader notes that the first one is over.* The leader
//!   changes a wait only if it still shows the time that the leader has read. That time has passed.

use crate::clock::UnixNanos;
use crate::sync::{AtomicU64, Ordering, keep_seq_cst_order};

/// A session that does not wait.
const IDLE: u64 = 0;
/// A session whose time has passed, and that has not ended its wait.
const PASSED: u64 = u64::MAX;
/// There is no leader.
const NOBODY: u64 = 0;

/// The time for which one session waits.
#[derive(Debug)]
pub struct Wait(AtomicU64);

impl Wait {
    /// Creates the wait of a session that does not wait.
    pub fn idle() -> Self {
        Self(AtomicU64::new(IDLE))
    }

    /// Returns the time for which the session waits; `None` if it does not wait, or if its time has
    /// passed.
    fn until(&self) -> Option<UnixNanos> {
        match self.0.load(Ordering::SeqCst) {
            IDLE | PASSED => None,
            until => Some(UnixNanos(until)),
        }
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self::idle()
    }
}

/// The name of the leader.
#[derive(Debug)]
pub struct Waiters {
    leader: AtomicU64,
    beats: AtomicU64,
}

/// The place of a session after it has tried to become the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The session leads.
    Leader,
    /// The session with this number leads. It must be woken.
    Follower(usize),
}

impl Waiters {
    /// Creates the state without a leader.
    pub fn new() -> Self {
        Self { leader: AtomicU64::new(NOBODY), beats: AtomicU64::new(0) }
    }

    /// Shows the time for which the session with a number waits. The time is neither the first nor
    /// the last of the range.
    pub fn begin(&self, waits: &[Wait], own: usize, until: UnixNanos) {
        let until = until.0.clamp(IDLE + 1, PASSED - 1);
        waits[own].0.store(until, Ordering::SeqCst);
        keep_seq_cst_order();
    }

    /// Makes the session with a number the leader, if there is no other one.
    pub fn lead(&self, own: usize) -> Role {
        let name = own as u64 + 1;
        match self.leader.compare_exchange(NOBODY, name, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Role::Leader,
            Err(leader) if leader == name => Role::Leader,
            Err(leader) => Role::Follower(leader as usize - 1),
        }
    }

    /// Shows that the leader looks.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often leaders have looked.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Makes the session with a number the leader instead of another one, if that one still leads.
    /// Returns whether it leads now.
    pub fn take_over(&self, own: usize, from: usize) -> bool {
        let (name, former) = (own as u64 + 1, from as u64 + 1);
        self.leader.compare_exchange(former, name, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Returns whether the wait of the session with a number is over.
    pub fn is_over(&self, waits: &[Wait], own: usize) -> bool {
        waits[own].0.load(Ordering::SeqCst) == PASSED
    }

    /// Notes in each wait whose time is before the watermark that it is over, and calls `wake` with
    /// the session's number.
    pub fn end_passed(&self, waits: &[Wait], watermark: UnixNanos, mut wake: impl FnMut(usize)) {
        for (number, wait) in waits.iter().enumerate() {
            if let Some(until) = wait.until().filter(|&until| until < watermark)
                && wait
                    .0
                    .compare_exchange(until.0, PASSED, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok()
            {
                wake(number);
            }
        }
    }

    /// Returns the least time for which a session waits; `None` if no session waits.
    pub fn earliest(&self, waits: &[Wait]) -> Option<UnixNanos> {
        waits.iter().filter_map(Wait::until).min()
    }

    /// Ends the wait of the session with a number. Returns the session that must be woken, if there
    /// is one.
    #[must_use]
    pub fn end(&self, waits: &[Wait], own: usize) -> Option<usize> {
        waits[own].0.store(IDLE, Ordering::SeqCst);
        keep_seq_cst_order();
        let name = own as u64 + 1;
        let had = self.leader.compare_exchange(name, NOBODY, Ordering::SeqCst, Ordering::SeqCst);
        keep_seq_cst_order();
        match had {
            Ok(_) | Err(NOBODY) => waits.iter().position(|wait| wait.until().is_some()),
            Err(_) => None,
        }
    }
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new()
    }
}
