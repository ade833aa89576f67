//! The only module that reads the time, and conversions from PostgreSQL's way of counting it.

use flakeid_core::clock::{UnixMicros, UnixNanos};
use pgrx::pg_sys;
use std::time::{Duration, Instant};

/// Reads the wall clock by one call into the vDSO. A clock that shows a time before 1970 reads as
/// 1970, and one after 2554 as the end of that range.
///
/// `std`'s `SystemTime` reads this clock, too. But it checks and carries what is then only
/// multiplied out again: 5 ns of an ID's 30.
#[inline]
pub fn now() -> UnixNanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the struct; this clock always exists, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    let seconds = time.tv_sec as u64;
    if seconds > LAST_SECOND {
        return out_of_range(time.tv_sec);
    }
    UnixNanos(seconds * NANOS + time.tv_nsec as u64)
}

const NANOS: u64 = 1_000_000_000;
/// The last whole second whose nanoseconds a number of 64 bits counts, in the year 2554. A second
/// before 1970 is negative, and so it is greater than this one without its sign.
const LAST_SECOND: u64 = u64::MAX / NANOS - 1;

#[cold]
fn out_of_range(seconds: i64) -> UnixNanos {
    UnixNanos(if seconds < 0 { 0 } else { u64::MAX })
}

/// Returns the time since the machine was booted, by a clock that cannot be set and that continues
/// while the machine sleeps.
pub fn since_boot() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the struct; Linux has this clock, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// A measurement of time by a clock that cannot be set.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The microseconds from 1970 to 2000, PostgreSQL's epoch.
pub const POSTGRES_EPOCH: i64 =
    (pg_sys::POSTGRES_EPOCH_JDATE as i64 - pg_sys::UNIX_EPOCH_JDATE as i64) * 86_400_000_000;

/// Converts a time of PostgreSQL's. Its infinities are the ends of the number range, as they are in
/// the core. The last 29 years of its calendar are outside that range: [`UnixMicros::BEYOND`].
pub fn unix_micros(micros: pg_sys::TimestampTz) -> UnixMicros {
    match micros {
        i64::MIN | i64::MAX => UnixMicros(micros),
        _ => UnixMicros(micros.saturating_add(POSTGRES_EPOCH)).min(UnixMicros::BEYOND),
    }
}
