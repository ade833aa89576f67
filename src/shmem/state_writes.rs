//! How writes of the state file went since shared memory was initialized.

use crate::clock::now;
use flakeid_core::clock::UnixNanos;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// The writes of the state file. Numbers are nanoseconds. Processes change them under the server's
/// lock, except [`Self::reset_counts`].
#[derive(Debug)]
pub struct StateWrites {
    /// The last write: its time by the clock since 1970, and since boot. 0 before the first write.
    pub written_at: AtomicU64,
    pub written_since_boot: AtomicU64,
    /// The durations of the last write and of the one before it; 0 if there was no such write.
    took: [AtomicU64; 2],
    /// The number of writes and of failed writes, the time of the last failure, and its
    /// errno. Only a view uses them.
    writes: AtomicU64,
    failures: AtomicU64,
    last_failure_at: AtomicU64,
    last_failure_errno: AtomicI32,
    /// The error of the last write; [`NO_FAILURE`] if it succeeded, or before the first.
    current_failure_errno: AtomicI32,
    /// Whether this server has written its place beside the state.
    pub located: AtomicBool,
}

/// A number that no error of a write has.
const NO_FAILURE: i32 = -1;

/// The last write of the state file.
#[derive(Clone, Copy, Debug)]
pub struct LastWrite {
    pub at: UnixNanos,
    pub took: Duration,
}

/// The counts of writes, since shared memory was initialized or since they were reset.
#[derive(Clone, Copy, Debug)]
pub struct WriteCounts {
    pub writes: u64,
    pub failures: u64,
    /// The time of the last failure, and the operating system's number for its error; 0 for an
    /// error of another kind.
    pub last_failure_at: Option<UnixNanos>,
    pub last_failure_errno: i32,
}

impl StateWrites {
    pub(super) fn new() -> Self {
        Self {
            written_at: AtomicU64::new(0),
            written_since_boot: AtomicU64::new(0),
            took: [AtomicU64::new(0), AtomicU64::new(0)],
            writes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            last_failure_at: AtomicU64::new(0),
            last_failure_errno: AtomicI32::new(0),
            current_failure_errno: AtomicI32::new(NO_FAILURE),
            located: AtomicBool::new(false),
        }
    }

    /// Sets the time and the duration of a write that has succeeded.
    pub fn set_last(&self, at: UnixNanos, since_boot: Duration, took: Duration) {
        self.written_at.store(at.0, Ordering::Relaxed);
        self.written_since_boot.store(since_boot.as_nanos() as u64, Ordering::Relaxed);
        let [last, before] = &self.took;
        before.store(last.load(Ordering::Relaxed), Ordering::Relaxed);
        last.store(took.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Returns the durations of the last two writes, the last one first.
    pub fn took(&self) -> [Duration; 2] {
        [0, 1].map(|write| Duration::from_nanos(self.took[write].load(Ordering::Relaxed)))
    }

    /// Returns the last write; `None` before the first.
    pub fn last(&self) -> Option<LastWrite> {
        let at = UnixNanos(self.written_at.load(Ordering::Relaxed));
        (at.0 != 0).then_some(LastWrite { at, took: self.took()[0] })
    }

    /// Counts a write. An error is the operating system's number for it, or 0 for an error of
    /// another kind.
    pub fn count(&self, outcome: Result<(), i32>) {
        let Err(errno) = outcome else {
            self.current_failure_errno.store(NO_FAILURE, Ordering::Relaxed);
            self.writes.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.current_failure_errno.store(errno, Ordering::Relaxed);
        self.last_failure_at.store(now().0, Ordering::Relaxed);
        self.last_failure_errno.store(errno, Ordering::Relaxed);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the error of the last write as [`Self::count`] got it, if that write failed. A reset
    /// of the counts does not change it.
    pub fn current_failure_errno(&self) -> Option<i32> {
        let errno = self.current_failure_errno.load(Ordering::Relaxed);
        (errno != NO_FAILURE).then_some(errno)
    }

    /// Begins to count writes from 0.
    pub fn reset_counts(&self) {
        for count in [&self.writes, &self.failures, &self.last_failure_at] {
            count.store(0, Ordering::Relaxed);
        }
        self.last_failure_errno.store(0, Ordering::Relaxed);
    }

    /// Returns the counts of writes.
    pub fn counts(&self) -> WriteCounts {
        let last_failure_at = UnixNanos(self.last_failure_at.load(Ordering::Relaxed));
        WriteCounts {
            writes: self.writes.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            last_failure_at: (last_failure_at.0 != 0).then_some(last_failure_at),
            last_failure_errno: self.last_failure_errno.load(Ordering::Relaxed),
        }
    }
}
