//! What happened to a partition, for those who operate it. Nothing here has a say in any ID.
//!
//! A count is touched once a block of IDs (a run that a session takes ahead, or a set) or once a
//! tick, never once an ID. Each number is right by itself; they are not of one moment together.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one [`Cell`](crate::cell::Cell), on its cache lines. They are never loom's atomics:
/// there is no order between them to check.
#[derive(Debug, Default)]
pub struct Counters {
    issued: AtomicU64,
    exhausted: AtomicU64,
    spills: AtomicU64,
    waits: AtomicU64,
    waited: AtomicU64,
    steps_back: AtomicU64,
    largest_step: AtomicU64,
    turns: AtomicU64,
    /// Ticks by which the clock is behind the last ID; 0 while it is not.
    behind: AtomicU64,
}

/// The same as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// IDs handed out from the partition. Of those that a session had taken ahead it counts up to 15 only when
    /// it asks the partition again, or gives the rest up.
    pub issued: u64,
    /// Ticks whose sequence was used up.
    pub exhausted: u64,
    /// Times that a session went on to the next higher partition, for want of sequence.
    pub spills: u64,
    /// Times that a session whose home this is waited for the clock.
    pub waits: u64,
    /// Nanoseconds that those took.
    pub waited: u64,
    /// Times that the clock was found to have stepped back.
    pub steps_back: u64,
    /// By how many ticks at most.
    pub largest_step: u64,
    /// Turns of the tick-tock.
    pub turns: u64,
}

impl Counters {
    pub fn get(&self) -> Counts {
        Counts {
            issued: self.issued.load(Relaxed),
            exhausted: self.exhausted.load(Relaxed),
            spills: self.spills.load(Relaxed),
            waits: self.waits.load(Relaxed),
            waited: self.waited.load(Relaxed),
            steps_back: self.steps_back.load(Relaxed),
            largest_step: self.largest_step.load(Relaxed),
            turns: self.turns.load(Relaxed),
        }
    }

    /// Begins to count, for a clock that is not behind.
    pub(crate) fn begin(&self) {
        self.reset();
        self.behind.store(0, Relaxed);
    }

    /// Begins to count anew.
    pub fn reset(&self) {
        for counter in [
            &self.issued,
            &self.exhausted,
            &self.spills,
            &self.waits,
            &self.waited,
            &self.steps_back,
            &self.largest_step,
            &self.turns,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// A session of this home has waited.
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

    /// So many of those that were taken ahead have been handed out.
    #[cold]
    pub(crate) fn handed_out(&self, count: u32) {
        self.issued.fetch_add(count.into(), Relaxed);
    }

    pub(crate) fn spilled(&self) {
        self.spills.fetch_add(1, Relaxed);
    }

    pub(crate) fn turned(&self) {
        self.turns.fetch_add(1, Relaxed);
    }

    /// The clock is this many ticks behind. True for the first to say so since it last was not.
    #[cold]
    pub(crate) fn stepped_back(&self, by: u64) -> bool {
        self.largest_step.fetch_max(by, Relaxed);
        let first = self.behind.swap(by, Relaxed) == 0;
        if first {
            self.steps_back.fetch_add(1, Relaxed);
        }
        first
    }

    /// The clock has caught up.
    #[inline]
    pub(crate) fn caught_up(&self) {
        if self.behind.load(Relaxed) != 0 {
            self.behind.store(0, Relaxed);
        }
    }
}
