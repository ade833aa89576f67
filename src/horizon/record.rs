//! What shared memory holds of the horizon beside the gate.

use crate::clock::now;
use crate::systems::TABLE;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, LANES};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// No epoch.
pub(super) const NONE: u64 = u64::MAX;

/// What is known of the horizon in this life of the shared memory. Numbers are nanoseconds since 1970.
/// All is written under the node's lock, but for `replayed`, which one worker writes.
#[derive(Debug)]
pub struct Record {
    /// Whether the state file has been read, and the rest, and the gate, are set.
    pub(super) loaded: AtomicBool,
    /// What the cells begin at, by lane, and its tick-tock bit.
    pub(super) begun: [AtomicU64; LANES],
    pub(super) toggle: AtomicBool,
    /// When that was written; a clock behind it has stepped back.
    pub(super) since: AtomicU64,
    /// Each system's earliest epoch; [`NONE`] where it has made no IDs.
    pub(super) epochs: [AtomicU64; TABLE.len()],
    /// The last write: when, by the clock and since boot, and how long it took. 0 before the first.
    pub(super) written: AtomicU64,
    pub(super) written_since_boot: AtomicU64,
    pub(super) took: AtomicU64,
    /// The primary's time, as far as a standby knows it.
    pub(super) replayed: AtomicU64,
    /// Processes that issue IDs, where the last to leave has to know that it is.
    pub(super) users: AtomicU32,
}

/// What the last write was.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub at: UnixNanos,
    pub took: Duration,
}

impl Record {
    pub fn new() -> Self {
        Self {
            loaded: AtomicBool::new(false),
            begun: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            since: AtomicU64::new(0),
            epochs: std::array::from_fn(|_| AtomicU64::new(NONE)),
            written: AtomicU64::new(0),
            written_since_boot: AtomicU64::new(0),
            took: AtomicU64::new(0),
            replayed: AtomicU64::new(0),
            users: AtomicU32::new(0),
        }
    }

    pub(super) fn loaded(&self) -> bool {
        // Acquire pairs with the Release in `load`.
        self.loaded.load(Ordering::Acquire)
    }

    pub(super) fn begun(&self) -> Horizon {
        Horizon {
            until: std::array::from_fn(|lane| UnixNanos(self.begun[lane].load(Ordering::Relaxed))),
            toggle: self.toggle.load(Ordering::Relaxed),
        }
    }

    pub(super) fn epoch(&self, system: usize) -> Option<UnixNanos> {
        match self.epochs[system].load(Ordering::Relaxed) {
            NONE => None,
            epoch => Some(UnixNanos(epoch)),
        }
    }

    pub(super) fn epochs(&self) -> [Option<UnixNanos>; TABLE.len()] {
        std::array::from_fn(|system| self.epoch(system))
    }

    pub fn last_write(&self) -> Option<Written> {
        let at = UnixNanos(self.written.load(Ordering::Relaxed));
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        (at.0 != 0).then_some(Written { at, took })
    }

    /// Whether the clock has yet to come to the horizon that this life began at, and by how much,
    /// without being behind the moment when that was written: the wait after a crash.
    pub fn recovery_left(&self) -> Duration {
        let (now, since) = (now().0, self.since.load(Ordering::Relaxed));
        // The lane that was extended last is the least ahead of that moment; another may be far ahead
        // since the clock stepped back.
        let ahead = |of: u64| {
            self.begun()
                .until
                .into_iter()
                .filter_map(move |u| u.0.checked_sub(of))
                .filter(|&left| left > 0)
                .min()
        };
        match (ahead(since), ahead(now)) {
            (Some(lead), Some(left)) if left <= lead && now >= since => Duration::from_nanos(left),
            _ => Duration::ZERO,
        }
    }
}
