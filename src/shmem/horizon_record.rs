//! What shared memory holds of the horizon beside the gate.

use crate::clock::now;
use crate::id_types::ID_TYPES;
use crate::identity::Names;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, LANES};
use flakeid_core::generator::System;
use flakeid_core::horizon_message::HorizonMessage;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// No epoch.
pub const NO_EPOCH: u64 = u64::MAX;

/// What is known of the horizon in this life of the shared memory. Numbers are nanoseconds since 1970.
/// All is written under the node's lock, but for `replayed`, which one worker writes, and `recovered`.
#[derive(Debug)]
pub struct HorizonRecord {
    /// Whether the state file has been read, and the rest, and the gate, are set.
    pub loaded: AtomicBool,
    /// What the cells begin at, by lane, and its tick-tock bit.
    pub begun: [AtomicU64; LANES],
    pub toggle: AtomicBool,
    /// By lane, what cells had issued in this life before they were revived, which they forget.
    pub issued: [AtomicU64; LANES],
    /// The last reading of the clock that was known then; one behind it has stepped back.
    pub since: AtomicU64,
    /// The same as it is known now: that, or when the gate was last extended.
    pub extended: AtomicU64,
    /// Each system's earliest epoch; [`NO_EPOCH`] where it has made no IDs.
    pub epochs: [AtomicU64; ID_TYPES.len()],
    /// What the node is called where nobody says; a worker of 0 is none.
    pub guid_node: AtomicU32,
    pub worker: AtomicU64,
    /// The last write: when, by the clock and since boot, and how long it took. 0 before the first.
    pub written: AtomicU64,
    pub written_since_boot: AtomicU64,
    pub took: AtomicU64,
    /// How long the write before it took; 0 where there was none.
    pub took_before: AtomicU64,
    /// How many writes have been made and how many have failed, when the last failed and with which error of
    /// the operating system. They are counted for people alone.
    pub writes: AtomicU64,
    pub failures: AtomicU64,
    pub failed: AtomicU64,
    pub failed_with: AtomicI32,
    /// The primary's time, as far as a standby knows it.
    pub replayed: AtomicU64,
    /// The primary's horizon, as far as a standby has replayed it.
    pub recovered: Recovered,
    /// Processes that issue IDs, where the last to leave has to know that it is.
    pub users: AtomicU32,
}

/// What the last write was.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub at: UnixNanos,
    pub took: Duration,
}

/// What was counted of writes since shared memory was set up.
#[derive(Clone, Copy, Debug)]
pub struct Writes {
    pub writes: u64,
    pub failures: u64,
    /// The last failure, and the operating system's number for it; 0 where it had none.
    pub failed: Option<UnixNanos>,
    pub failed_with: i32,
}

impl HorizonRecord {
    pub fn new() -> Self {
        Self {
            loaded: AtomicBool::new(false),
            begun: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            issued: std::array::from_fn(|_| AtomicU64::new(0)),
            since: AtomicU64::new(0),
            extended: AtomicU64::new(0),
            epochs: std::array::from_fn(|_| AtomicU64::new(NO_EPOCH)),
            guid_node: AtomicU32::new(0),
            worker: AtomicU64::new(0),
            written: AtomicU64::new(0),
            written_since_boot: AtomicU64::new(0),
            took: AtomicU64::new(0),
            took_before: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failed_with: AtomicI32::new(0),
            replayed: AtomicU64::new(0),
            recovered: Recovered::new(),
            users: AtomicU32::new(0),
        }
    }

    pub fn loaded(&self) -> bool {
        // Acquire pairs with the Release in `load`.
        self.loaded.load(Ordering::Acquire)
    }

    pub fn begun(&self) -> Horizon {
        Horizon {
            until: std::array::from_fn(|lane| UnixNanos(self.begun[lane].load(Ordering::Relaxed))),
            toggle: self.toggle.load(Ordering::Relaxed),
        }
    }

    /// What this life began at, and what revived cells had issued in it.
    pub fn begun_and_issued(&self) -> Horizon {
        let mut horizon = self.begun();
        for (until, issued) in horizon.until.iter_mut().zip(&self.issued) {
            *until = UnixNanos(issued.load(Ordering::Relaxed)).max(*until);
        }
        horizon
    }

    /// Keeps what a cell has issued that is about to be revived. The caller holds the lock.
    pub fn keep(&self, issued: Horizon) {
        for (kept, until) in self.issued.iter().zip(issued.until) {
            kept.fetch_max(until.0, Ordering::Relaxed);
        }
    }

    pub fn extended(&self) -> UnixNanos {
        UnixNanos(self.extended.load(Ordering::Relaxed))
    }

    pub fn epoch(&self, system: usize) -> Option<UnixNanos> {
        match self.epochs[system].load(Ordering::Relaxed) {
            NO_EPOCH => None,
            epoch => Some(UnixNanos(epoch)),
        }
    }

    pub fn epochs(&self) -> [Option<UnixNanos>; ID_TYPES.len()] {
        std::array::from_fn(|system| self.epoch(system))
    }

    /// `None` until the state has been read.
    pub fn names(&self) -> Option<Names> {
        let guid_node = self.guid_node.load(Ordering::Relaxed);
        let worker = self.worker.load(Ordering::Relaxed);
        (self.loaded() && worker != 0).then_some(Names { guid_node, worker })
    }

    /// How long the last two writes took.
    pub fn took(&self) -> [Duration; 2] {
        [&self.took, &self.took_before]
            .map(|took| Duration::from_nanos(took.load(Ordering::Relaxed)))
    }

    pub fn last_write(&self) -> Option<Written> {
        let at = UnixNanos(self.written.load(Ordering::Relaxed));
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        (at.0 != 0).then_some(Written { at, took })
    }

    /// Counts a write of the state file; `failed_with` is the operating system's number for the error that it ended
    /// with, and 0 for another error.
    pub fn count_write(&self, outcome: Result<(), i32>) {
        let Err(failed_with) = outcome else {
            self.writes.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.failed.store(now().0, Ordering::Relaxed);
        self.failed_with.store(failed_with, Ordering::Relaxed);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts writes from now on.
    pub fn reset_writes(&self) {
        for count in [&self.writes, &self.failures, &self.failed] {
            count.store(0, Ordering::Relaxed);
        }
        self.failed_with.store(0, Ordering::Relaxed);
    }

    /// What was counted of writes.
    pub fn writes(&self) -> Writes {
        let failed = UnixNanos(self.failed.load(Ordering::Relaxed));
        Writes {
            writes: self.writes.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            failed: (failed.0 != 0).then_some(failed),
            failed_with: self.failed_with.load(Ordering::Relaxed),
        }
    }

    /// Returns how long the clock has yet to go to the horizon that this life began at in the timelines of one
    /// ID type, the nearer one where it has two: the wait after a crash. It is zero where that is longer than
    /// the lead, or where the clock has stepped back.
    pub fn recovery_left<S: System>(&self, lead: Duration) -> Duration {
        let (now, begun) = (now().0, self.begun());
        let since = self.since.load(Ordering::Relaxed);
        // The lead of then may have been another.
        let was = Duration::from_nanos(begun.in_use().0.saturating_sub(since));
        let ahead = [false, true].map(|toggle| begun.of::<S>(toggle).0.saturating_sub(now));
        match ahead.into_iter().filter(|&left| left > 0).min().map(Duration::from_nanos) {
            Some(left) if left <= lead.max(was) && now >= since => left,
            _ => Duration::ZERO,
        }
    }
}

/// The horizon that the replayed WAL tells. The startup process alone writes it; who reads it after recovery
/// sees all of it, as PostgreSQL publishes the end of recovery with a memory barrier.
#[derive(Debug)]
pub struct Recovered {
    /// By lane, the greatest of all messages; 0 where there was none.
    until: [AtomicU64; LANES],
    /// As the last message has them.
    toggle: AtomicBool,
    read_at: AtomicU64,
    /// The earliest epoch of flake; [`NO_EPOCH`] where the primary has made none.
    flake_epoch: AtomicU64,
}

impl Recovered {
    fn new() -> Self {
        Self {
            until: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            read_at: AtomicU64::new(0),
            flake_epoch: AtomicU64::new(NO_EPOCH),
        }
    }

    /// Adds a message that was replayed.
    pub fn take(&self, message: &HorizonMessage) {
        self.toggle.store(message.horizon.toggle, Ordering::Relaxed);
        self.read_at.store(message.read_at.0, Ordering::Relaxed);
        let epoch = message.flake_epoch.map_or(NO_EPOCH, |epoch| epoch.0);
        self.flake_epoch.fetch_min(epoch, Ordering::Relaxed);
        for (until, told) in self.until.iter().zip(message.horizon.until) {
            until.fetch_max(told.0, Ordering::Relaxed);
        }
    }

    /// Returns the greatest horizon of all messages, with the rest as the last has it.
    pub fn message(&self) -> Option<HorizonMessage> {
        let until: [_; LANES] =
            std::array::from_fn(|lane| UnixNanos(self.until[lane].load(Ordering::Relaxed)));
        let epoch =
            Some(self.flake_epoch.load(Ordering::Relaxed)).filter(|&epoch| epoch != NO_EPOCH);
        (until != [UnixNanos(0); LANES]).then(|| HorizonMessage {
            horizon: Horizon { until, toggle: self.toggle.load(Ordering::Relaxed) },
            read_at: UnixNanos(self.read_at.load(Ordering::Relaxed)),
            flake_epoch: epoch.map(UnixNanos),
        })
    }
}
