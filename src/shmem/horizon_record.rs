//! The part of shared memory that holds the horizon, beside the gates: where it began when shared memory was
//! initialized, what was written when, and what recovery has replayed.
//!
//! Shared memory is initialized when the postmaster starts, and again after a crash of a process. If the library is not
//! preloaded, the first session that needs it does so.

use crate::clock::now;
use crate::id_types::ID_TYPES;
use crate::identity::Names;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, TRACKS};
use flakeid_core::generator::IdLayout;
use flakeid_core::horizon_message::HorizonMessage;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The value of an epoch that is not set.
pub const NO_EPOCH: u64 = u64::MAX;

/// The horizon since shared memory was initialized. Numbers are nanoseconds since 1970. Processes change them under the
/// server's lock, except `replayed`, which one worker changes, and `recovered`.
#[derive(Debug)]
pub struct HorizonRecord {
    /// Whether the state file has been read, and all other fields and the gates are set.
    pub loaded: AtomicBool,
    /// The horizon when shared memory was initialized, by track, and its tick-tock bit. Cells begin above it.
    pub start_horizon: [AtomicU64; TRACKS],
    pub toggle: AtomicBool,
    /// The last times that cells had issued, since shared memory was initialized, before they were revived, by track. A
    /// cell forgets them when it is revived.
    pub issued: [AtomicU64; TRACKS],
    /// The last reading of the clock that was known when shared memory was initialized. A clock behind it has stepped
    /// back.
    pub start_clock_reading: AtomicU64,
    /// The last reading of the clock that is known now: that of the start, or of the last move of the gates.
    pub last_clock_reading: AtomicU64,
    /// The earliest epoch of each ID type; [`NO_EPOCH`] if it has issued no IDs.
    pub epochs: [AtomicU64; ID_TYPES.len()],
    /// The epoch of flake by the postmaster's settings; [`NO_EPOCH`] if the library is not preloaded.
    pub epoch_in_force: AtomicU64,
    /// The random names of the server, for ID types for which no setting gives one. A MAC address of 0 means that
    /// they are not known.
    pub guid_node: AtomicU32,
    pub mac_address: AtomicU64,
    /// The last write: its time by the clock and since boot, and its duration. 0 before the first write.
    pub written_at: AtomicU64,
    pub written_since_boot: AtomicU64,
    pub took: AtomicU64,
    /// The duration of the write before the last one; 0 if there was no such write.
    pub took_before: AtomicU64,
    /// The number of writes and of failed writes, the time of the last failure, and the operating system's number for
    /// its error. Only a view uses them.
    pub writes: AtomicU64,
    pub failures: AtomicU64,
    pub failed: AtomicU64,
    pub failed_with: AtomicI32,
    /// The error of the last write; [`NO_FAILURE`] if it succeeded, or before the first.
    fails_with: AtomicI32,
    /// Whether this server has written its place beside the state.
    pub located: AtomicBool,
    /// The WAL timeline on which the server started; 0 if the library is not preloaded.
    pub started_on: AtomicU32,
    /// The primary's time, as far as a standby has replayed it.
    pub replayed: AtomicU64,
    /// The primary's horizon, as far as a standby has replayed it.
    pub recovered: Recovered,
    /// The number of processes that issue IDs, on a server where the last of them makes the horizon exact.
    pub users: AtomicU32,
}

/// A number that no error of a write has.
const NO_FAILURE: i32 = -1;

/// The state with which shared memory was initialized.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub horizon: Horizon,
    /// The last reading of the clock that is known: see [`flakeid_core::gate::CellInit`].
    pub last_clock_reading: UnixNanos,
    /// The earliest epoch of each ID type; `None` if the server has issued none of its IDs.
    pub epochs: [Option<UnixNanos>; ID_TYPES.len()],
}

impl Start {
    /// Returns how far the clock is behind the horizon, in the timelines of one ID type: the wait after a crash. Of two
    /// timelines the nearer one counts. The result is zero if it would be longer than the lead, or if the clock has
    /// stepped back.
    pub fn recovery_left<S: IdLayout>(&self, lead: Duration) -> Duration {
        let now = now();
        // The lead may have been another when that horizon was written.
        let was = self.horizon.in_use().0.saturating_sub(self.last_clock_reading.0);
        let longest = lead.max(Duration::from_nanos(was));
        let ahead =
            [false, true].map(|toggle| self.horizon.of::<S>(toggle).0.saturating_sub(now.0));
        match ahead.into_iter().filter(|&left| left > 0).min().map(Duration::from_nanos) {
            Some(left) if left <= longest && now >= self.last_clock_reading => left,
            _ => Duration::ZERO,
        }
    }
}

/// The last write of the state file.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub at: UnixNanos,
    pub took: Duration,
}

/// The counts of writes since shared memory was set up.
#[derive(Clone, Copy, Debug)]
pub struct Writes {
    pub writes: u64,
    pub failures: u64,
    /// The time of the last failure, and the operating system's number for its error; 0 for an error of another kind.
    pub failed: Option<UnixNanos>,
    pub failed_with: i32,
}

impl HorizonRecord {
    pub fn new() -> Self {
        Self {
            loaded: AtomicBool::new(false),
            start_horizon: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            issued: std::array::from_fn(|_| AtomicU64::new(0)),
            start_clock_reading: AtomicU64::new(0),
            last_clock_reading: AtomicU64::new(0),
            epochs: std::array::from_fn(|_| AtomicU64::new(NO_EPOCH)),
            epoch_in_force: AtomicU64::new(NO_EPOCH),
            guid_node: AtomicU32::new(0),
            mac_address: AtomicU64::new(0),
            written_at: AtomicU64::new(0),
            written_since_boot: AtomicU64::new(0),
            took: AtomicU64::new(0),
            took_before: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failed_with: AtomicI32::new(0),
            fails_with: AtomicI32::new(NO_FAILURE),
            located: AtomicBool::new(false),
            started_on: AtomicU32::new(0),
            replayed: AtomicU64::new(0),
            recovered: Recovered::new(),
            users: AtomicU32::new(0),
        }
    }

    /// Returns whether the state has been opened since shared memory was initialized.
    pub fn loaded(&self) -> bool {
        // Acquire pairs with the Release in `install_state`.
        self.loaded.load(Ordering::Acquire)
    }

    /// Returns the horizon when shared memory was initialized.
    pub fn start_horizon(&self) -> Horizon {
        Horizon {
            until: std::array::from_fn(|track| {
                UnixNanos(self.start_horizon[track].load(Ordering::Relaxed))
            }),
            toggle: self.toggle.load(Ordering::Relaxed),
        }
    }

    /// Returns the state with which shared memory was initialized; and the earliest epochs of now.
    pub fn start(&self) -> Start {
        Start {
            horizon: self.start_horizon(),
            last_clock_reading: UnixNanos(self.start_clock_reading.load(Ordering::Relaxed)),
            epochs: self.epochs(),
        }
    }

    /// Returns the horizon when shared memory was initialized, raised by all that revived cells have issued since.
    pub fn issued_horizon(&self) -> Horizon {
        let mut horizon = self.start_horizon();
        for (until, issued) in horizon.until.iter_mut().zip(&self.issued) {
            *until = UnixNanos(issued.load(Ordering::Relaxed)).max(*until);
        }
        horizon
    }

    /// Adds what a cell has issued, before it is revived. The caller holds the lock.
    pub fn keep(&self, issued: Horizon) {
        for (kept, until) in self.issued.iter().zip(issued.until) {
            kept.fetch_max(until.0, Ordering::Relaxed);
        }
    }

    /// Returns the last reading of the clock that is known.
    pub fn last_clock_reading(&self) -> UnixNanos {
        UnixNanos(self.last_clock_reading.load(Ordering::Relaxed))
    }

    /// Returns the earliest epoch of the ID type with this index; `None` if it has issued no IDs.
    pub fn epoch(&self, id_type: usize) -> Option<UnixNanos> {
        match self.epochs[id_type].load(Ordering::Relaxed) {
            NO_EPOCH => None,
            epoch => Some(UnixNanos(epoch)),
        }
    }

    /// Returns the earliest epoch of each ID type.
    pub fn epochs(&self) -> [Option<UnixNanos>; ID_TYPES.len()] {
        std::array::from_fn(|id_type| self.epoch(id_type))
    }

    /// Returns the random names of the server; `None` until the state has been read.
    pub fn names(&self) -> Option<Names> {
        let guid_node = self.guid_node.load(Ordering::Relaxed);
        let mac_address = self.mac_address.load(Ordering::Relaxed);
        (self.loaded() && mac_address != 0).then_some(Names { guid_node, mac_address })
    }

    /// Returns the durations of the last two writes, the last one first.
    pub fn took(&self) -> [Duration; 2] {
        [&self.took, &self.took_before]
            .map(|took| Duration::from_nanos(took.load(Ordering::Relaxed)))
    }

    /// Returns the last write of the state file; `None` before the first.
    pub fn last_write(&self) -> Option<Written> {
        let at = UnixNanos(self.written_at.load(Ordering::Relaxed));
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        (at.0 != 0).then_some(Written { at, took })
    }

    /// Counts a write of the state file. An error is the operating system's number for it, or 0 for an error of
    /// another kind.
    pub fn count_write(&self, outcome: Result<(), i32>) {
        let Err(failed_with) = outcome else {
            self.fails_with.store(NO_FAILURE, Ordering::Relaxed);
            self.writes.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.fails_with.store(failed_with, Ordering::Relaxed);
        self.failed.store(now().0, Ordering::Relaxed);
        self.failed_with.store(failed_with, Ordering::Relaxed);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the error of the last write as [`Self::count_write`] got it, if that write failed. A reset of the counts
    /// does not change it.
    pub fn fails_with(&self) -> Option<i32> {
        Some(self.fails_with.load(Ordering::Relaxed)).filter(|&number| number != NO_FAILURE)
    }

    /// Begins to count writes from 0.
    pub fn reset_writes(&self) {
        for count in [&self.writes, &self.failures, &self.failed] {
            count.store(0, Ordering::Relaxed);
        }
        self.failed_with.store(0, Ordering::Relaxed);
    }

    /// Returns the counts of writes.
    pub fn writes(&self) -> Writes {
        let failed = UnixNanos(self.failed.load(Ordering::Relaxed));
        Writes {
            writes: self.writes.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            failed: (failed.0 != 0).then_some(failed),
            failed_with: self.failed_with.load(Ordering::Relaxed),
        }
    }
}

/// The horizon that the replayed WAL contains. Only the startup process writes it. A process that reads it after
/// recovery sees all of it, as PostgreSQL publishes the end of recovery with a memory barrier.
#[derive(Debug)]
pub struct Recovered {
    /// The greatest time of all messages by track; 0 if there was no message.
    until: [AtomicU64; TRACKS],
    /// The timeline and the reading of the clock of the last message.
    toggle: AtomicBool,
    read_at: AtomicU64,
    /// The earliest epoch of flake; [`NO_EPOCH`] if the primary has issued no flakes.
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

    /// Returns the earliest epoch of flake in all messages; [`NO_EPOCH`] if none has one.
    pub fn flake_epoch(&self) -> u64 {
        self.flake_epoch.load(Ordering::Relaxed)
    }

    /// Returns the greatest horizon of all messages, with the other fields of the last one.
    pub fn message(&self) -> Option<HorizonMessage> {
        let until: [_; TRACKS] =
            std::array::from_fn(|track| UnixNanos(self.until[track].load(Ordering::Relaxed)));
        let epoch =
            Some(self.flake_epoch.load(Ordering::Relaxed)).filter(|&epoch| epoch != NO_EPOCH);
        (until != [UnixNanos(0); TRACKS]).then(|| HorizonMessage {
            horizon: Horizon { until, toggle: self.toggle.load(Ordering::Relaxed) },
            read_at: UnixNanos(self.read_at.load(Ordering::Relaxed)),
            flake_epoch: epoch.map(UnixNanos),
        })
    }
}
