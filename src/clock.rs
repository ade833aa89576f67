//! The only reader of time.

use flakeid_core::clock::UnixNanos;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The wall clock. One call into the vDSO; a clock set before 1970 reads as 1970.
#[inline]
pub fn now() -> UnixNanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // From the year 2554 on the count of nanoseconds would wrap; no system has ticks that late.
    UnixNanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Time that has passed, by a clock that nobody can set.
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
