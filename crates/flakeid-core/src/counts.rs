//! Statistics of one generator ID, for operators. No ID depends on them.
//!
//! A counter changes once for each block of IDs or once for each tick, never for each ID. A block
//! is a set, or the IDs that a session prefetches. Each counter is exact by itself, but they are
//! not read at one moment.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one [`Cell`](crate::cell::Cell), on its cache lines. They are never the atomics
/// of loom, as there is no order between them to check.
#[derive(Debug, Default)]
pub struct Counters {
    issued: AtomicU64,
    exhausted: AtomicU64,
    spills: AtomicU64,
    waits: AtomicU64,
    waited: AtomicU64,
    steps_back: AtomicU64,
    largest_step: AtomicU64,
    tick_tocks: AtomicU64,
    /// The number of ticks by which the clock is behind the last ID; 0 while it is not behind.
    behind: AtomicU64,
}

/// The values of [`Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// IDs issued with the generator ID. Up to 15 prefetched IDs, or 31 of a type with fractions,
    /// are counted only when their session asks the cell again, or discards the others.
    pub issued: u64,
    /// Ticks whose sequence was exhausted.
    pub exhausted: u64,
    /// Times that a session spilled to the next higher generator ID, because the sequence was
    /// exhausted.
    pub spills: u64,
    /// Times that a session with this home waited for the clock.
    pub waits: u64,
    /// The duration of these waits, in nanoseconds.
    pub waited: u64,
    /// Times that a session found the clock stepped back.
    pub steps_back: u64,
    /// The largest step back, in ticks.
    pub largest_step: u64,
    /// Changes of timeline.
    pub tick_tocks: u64,
}

impl Counters {
    /// Returns the values of all counters.
    pub fn get(&self) -> Counts {
        Counts {
            issued: self.issued.load(Relaxed),
            exhausted: self.exhausted.load(Relaxed),
            spills: self.spills.load(Relaxed),
            waits: self.waits.load(Relaxed),
            waited: self.waited.load(Relaxed),
            steps_back: self.steps_back.load(Relaxed),
            largest_step: self.largest_step.load(Relaxed),
            tick_tocks: self.tick_tocks.load(Relaxed),
        }
    }

    /// Begins to count, for a clock that is not behind.
    pub(crate) fn begin(&self) {
        self.reset();
        self.behind.store(0, Relaxed);
    }

    /// Sets all counters to 0.
    pub fn reset(&self) {
        for counter in [
            &self.issued,
            &self.exhausted,
            &self.spills,
            &self.waits,
            &self.waited,
            &self.steps_back,
            &self.largest_step,
            &self.tick_tocks,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// Counts a wait of a session with this home.
    pub fn waited(&self, nanos: u64) {
        self.waits.fetch_add(1, Relaxed);
        self.waited.fetch_add(nanos, Relaxed);
    }

    #[inline]
    pub(crate) fn issued(&self, count: u32, exhausted: bool) {
        self.issued.fetch_add(count.into(), Relaxed);
        if exhausted {
            self.exhausted.fetch_add(1, Relaxed);
        }
    }

    /// Counts prefetched IDs that have been used.
    #[cold]
    pub(crate) fn used_prefetched(&self, count: u32) {
        self.issued.fetch_add(count.into(), Relaxed);
    }

    pub(crate) fn spilled(&self) {
        self.spills.fetch_add(1, Relaxed);
    }

    pub(crate) fn timeline_changed(&self) {
        self.tick_tocks.fetch_add(1, Relaxed);
    }

    /// Records that the clock is `by` ticks behind. Returns true for the first caller since the
    /// clock was last not behind.
    #[cold]
    pub(crate) fn stepped_back(&self, by: u64) -> bool {
        self.largest_step.fetch_max(by, Relaxed);
        let first = self.behind.swap(by, Relaxed) == 0;
        if first {
            self.steps_back.fetch_add(1, Relaxed);
        }
        first
    }

    /// Records that the clock has caught up.
    #[inline]
    pub(crate) fn caught_up(&self) {
        if self.behind.load(Relaxed) != 0 {
            self.behind.store(0, Relaxed);
        }
    }
}
