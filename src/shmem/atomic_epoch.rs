//! An epoch in shared memory.

use flakeid_core::clock::UnixNanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of an epoch that is not set.
const NONE: u64 = u64::MAX;

/// An epoch that may not be set.
#[derive(Debug)]
pub struct AtomicEpoch(AtomicU64);

impl AtomicEpoch {
    pub(super) const fn none() -> Self {
        Self(AtomicU64::new(NONE))
    }

    #[inline]
    pub fn get(&self) -> Option<UnixNanos> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&epoch| epoch != NONE).map(UnixNanos)
    }

    pub fn set(&self, epoch: Option<UnixNanos>) {
        self.0.store(epoch.map_or(NONE, |epoch| epoch.0), Ordering::Relaxed);
    }

    /// Sets an epoch if it is the first one or an earlier one.
    pub fn lower(&self, epoch: UnixNanos) {
        self.0.fetch_min(epoch.0, Ordering::Relaxed);
    }
}
