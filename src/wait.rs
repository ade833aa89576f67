//! Waiting for the clock to reach a tick, holding nothing, open to cancellation.
//!
//! A tick is short (1 ms for flake), a sleep's end is not exact (50 us and more late), and with one
//! generator ID every tick is waited for. So the last stretch is spent looking at the clock; only
//! what is longer is slept, and only what is much longer waits on the latch, as PostgreSQL does.

use crate::clock::{Stopwatch, now};
use crate::error::Failure;
use flakeid_core::clock::{Scale, Tick};
use pgrx::pg_sys;
use std::time::Duration;

/// Less than this is spent looking at the clock.
const LOOK: Duration = Duration::from_micros(200);
/// How much earlier than wanted a sleep is set to end.
const LATE: Duration = Duration::from_micros(150);
/// More than this waits on the latch: it can be woken, where a sleep only ends.
const SLEEP: Duration = Duration::from_millis(5);
/// After this the clock is looked at again: it may have been set to where it belongs.
const LATCH: Duration = Duration::from_millis(100);

/// Returns when the clock reads `until` or later.
///
/// # Errors
/// [`Failure::ClockBehind`] where that is further off than `longest` and a tick, or did not come
/// about within that time because the clock stands still or goes on stepping back. Cancellation and
/// `statement_timeout` end it as PostgreSQL's own errors.
pub fn until(
    system: &'static str,
    until: Tick,
    scale: Scale,
    longest: Duration,
) -> Result<(), Failure> {
    let target = scale.nanos(until).0;
    // Waiting for the next tick is no fault of the clock, and a tick may have just begun.
    let patience = longest + Duration::from_nanos(2 * scale.unit());
    let watch = Stopwatch::start();
    loop {
        let left = Duration::from_nanos(target.saturating_sub(now().0));
        if left.is_zero() {
            return Ok(());
        }
        if left > patience || watch.elapsed() > patience {
            return Err(Failure::ClockBehind { system, by: left, wait: longest });
        }
        if left <= LOOK {
            std::hint::spin_loop();
        } else if left <= SLEEP {
            std::thread::sleep(left - LATE);
        } else {
            wait_on_latch(left.min(LATCH));
        }
        pg_sys::check_for_interrupts!();
    }
}

fn wait_on_latch(left: Duration) {
    let millis = left.as_millis() as _;
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: MyLatch is this process's own.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, millis, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}
