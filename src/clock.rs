//! The only reader of time.

use flakeid_core::clock::UnixNanos;
use std::time::{Duration, Instant};

/// The wall clock: one call into the vDSO. A clock set before 1970 reads as 1970.
///
/// `std`'s `SystemTime` reads the same clock, but checks and carries what is then only multiplied
/// out again: 5 ns of an ID's 30.
#[inline]
pub fn now() -> UnixNanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the struct; this clock is always there, so it can't fail.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    // From the year 2554 on the count of nanoseconds would wrap; no system has ticks that late.
    UnixNanos(seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
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
