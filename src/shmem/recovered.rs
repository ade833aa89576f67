//! The horizon that recovery has shown since shared memory was initialized.

use super::atomic_epoch::AtomicEpoch;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, TRACKS};
use flakeid_core::horizon_message::HorizonMessage;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The horizon that the replayed WAL contains. Only the startup process writes it, except
/// `primary_time`. A process that reads it after recovery sees all of it, as PostgreSQL publishes
/// the end of recovery with a memory barrier.
#[derive(Debug)]
pub struct Recovered {
    /// The greatest time of all messages by track; 0 if there was no message.
    until: [AtomicU64; TRACKS],
    /// The timeline and the reading of the clock of the last message.
    toggle: AtomicBool,
    read_at: AtomicU64,
    /// The earliest epoch of flake in all messages, if the primary has issued flakes.
    pub flake_epoch: AtomicEpoch,
    /// The primary's time, as far as a standby has replayed it. Any process can raise it.
    primary_time: AtomicU64,
    /// The WAL timeline on which the server started; 0 if the library is not preloaded.
    pub started_on: AtomicU32,
}

impl Recovered {
    pub(super) fn new() -> Self {
        Self {
            until: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            read_at: AtomicU64::new(0),
            flake_epoch: AtomicEpoch::none(),
            primary_time: AtomicU64::new(0),
            started_on: AtomicU32::new(0),
        }
    }

    /// Adds a message that was replayed.
    pub fn take(&self, message: &HorizonMessage) {
        self.toggle.store(message.horizon.toggle, Ordering::Relaxed);
        self.read_at.store(message.read_at.0, Ordering::Relaxed);
        if let Some(epoch) = message.flake_epoch {
            self.flake_epoch.lower(epoch);
        }
        for (until, told) in self.until.iter().zip(message.horizon.until) {
            until.fetch_max(told.0, Ordering::Relaxed);
        }
    }

    /// Returns the greatest horizon of all messages, with the other fields of the last one.
    pub fn message(&self) -> Option<HorizonMessage> {
        let until: [_; TRACKS] =
            std::array::from_fn(|track| UnixNanos(self.until[track].load(Ordering::Relaxed)));
        (until != [UnixNanos(0); TRACKS]).then(|| HorizonMessage {
            horizon: Horizon { until, toggle: self.toggle.load(Ordering::Relaxed) },
            read_at: UnixNanos(self.read_at.load(Ordering::Relaxed)),
            flake_epoch: self.flake_epoch.get(),
        })
    }

    /// Adds a time of the primary's clock, and returns the latest.
    pub fn raise_primary_time(&self, time: UnixNanos) -> UnixNanos {
        let before = self.primary_time.fetch_max(time.0, Ordering::Relaxed);
        UnixNanos(before).max(time)
    }
}
