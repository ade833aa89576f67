//! Waiting for the clock to reach a tick, without a lock, and open to cancellation.
//!
//! A tick is short (1 ms for flake), a sleep ends late (by 50 us and more), and with one generator
//! ID the session waits for every tick. So the session spins for the last stretch, and reads the
//! clock all the time. It sleeps only for a longer wait. For a much longer one it waits on the
//! latch, as PostgreSQL does.

use crate::clock::{Stopwatch, now};
use flakeid_core::clock::{Scale, Tick};
use pgrx::pg_sys;
use std::time::Duration;

/// The longest wait for which the session spins.
const SPIN_LIMIT: Duration = Duration::from_micros(200);
/// The time by which a sleep is set to end early.
const SLEEP_MARGIN: Duration = Duration::from_micros(150);
/// The longest wait for which the session sleeps. A longer one waits on the latch: the latch can be
/// woken, and a sleep can not.
const SLEEP_LIMIT: Duration = Duration::from_millis(5);
/// The longest wait on the latch before the session reads the clock again: it may have been
/// corrected.
const LATCH_TIMEOUT: Duration = Duration::from_millis(100);

/// The interval at which a session checks whether generator IDs have been leased: leasing takes a
/// few milliseconds.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The events for which a process waits, as `pg_stat_activity` shows them.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The clock shows a tick.
    Clock,
    /// The state file has been written.
    HorizonWrite,
    /// Generator IDs have been leased, or their lease has been renewed.
    Lease,
    /// The watermark has passed a time.
    Watermark,
}

/// Gets the events' numbers from the server. That may raise an error if other extensions have
/// exhausted the numbers, so this comes before a process takes a lock.
pub fn register() {
    for event in [Event::Clock, Event::HorizonWrite, Event::Lease, Event::Watermark] {
        let _ = event.number();
    }
}

/// A guard: the process shows the event as long as this lives.
pub struct Waiting(());

impl Event {
    /// Returns the event's number: one of its own from PostgreSQL 17 on, and before that the one of
    /// all extensions.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    fn number(self) -> u32 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBERS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
        let number = NUMBERS[self as usize].load(Ordering::Relaxed);
        if number != 0 {
            return number;
        }
        let name = match self {
            Self::Clock => c"FlakeidClock",
            Self::HorizonWrite => c"FlakeidHorizonWrite",
            Self::Lease => c"FlakeidLease",
            Self::Watermark => c"FlakeidWatermark",
        };
        // SAFETY: a name that is registered already keeps its number. This process holds no lock of
        // flakeid: see `register`.
        let number = unsafe { pg_sys::WaitEventExtensionNew(name.as_ptr()) };
        NUMBERS[self as usize].store(number, Ordering::Relaxed);
        number
    }

    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn number(self) -> u32 {
        pg_sys::PG_WAIT_EXTENSION
    }

    /// Shows the event as long as the guard lives.
    pub fn begin(self) -> Waiting {
        // SAFETY: the pointer leads to this process's entry, or to a variable of its own if it has
        // no entry; PostgreSQL's pgstat_report_wait_start writes in this way.
        unsafe { pg_sys::my_wait_event_info.write_volatile(self.number()) };
        Waiting(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: the pointer leads to this process's entry, or to a variable of its own if it has
        // no entry.
        unsafe { pg_sys::my_wait_event_info.write_volatile(0) };
    }
}

/// Returns when the clock reads `until` or later.
///
/// # Errors
/// The time that is left, if it is more than `longest` and a tick. Also if the clock does not get
/// there within that time, because it stands still or steps back again and again. Cancellation and
/// `statement_timeout` end the wait as PostgreSQL's own errors.
pub fn until(until: Tick, scale: Scale, longest: Duration) -> Result<(), Duration> {
    let target = scale.nanos(until).0;
    // Waiting for the next tick is no fault of the clock, and a tick may have just begun.
    let patience = longest + Duration::from_nanos(2 * scale.unit());
    let watch = Stopwatch::start();
    loop {
        // The clock is read after this, as this process may stand still for a while in between.
        let is_late = watch.elapsed() > patience;
        let left = Duration::from_nanos(target.saturating_sub(now().0));
        if left.is_zero() {
            return Ok(());
        }
        if left > patience || is_late {
            return Err(left);
        }
        if left <= SPIN_LIMIT {
            std::hint::spin_loop();
        } else if left <= SLEEP_LIMIT {
            exit_without_postmaster();
            let _waiting = Event::Clock.begin();
            std::thread::sleep(left - SLEEP_MARGIN);
        } else {
            wait_on_latch(left.min(LATCH_TIMEOUT), Event::Clock);
        }
        pg_sys::check_for_interrupts!();
    }
}

/// Ends the process if its server has died, as waiting on a latch does: otherwise a session that
/// only ever waits for the next tick would continue for ever.
fn exit_without_postmaster() {
    unsafe extern "C-unwind" {
        fn PostmasterIsAliveInternal() -> bool;
    }
    // SAFETY: these calls have no preconditions; the exit runs the process's callbacks, as from any
    // wait.
    unsafe {
        // Single-user mode has no postmaster.
        if pg_sys::IsUnderPostmaster && !PostmasterIsAliveInternal() {
            pg_sys::proc_exit(1);
        }
    }
}

/// Waits a little for the worker that leases generator IDs. It holds no lock and can be canceled.
pub fn for_lease() {
    wait_on_latch(LEASE_POLL_INTERVAL, Event::Lease);
    pg_sys::check_for_interrupts!();
}

/// Waits for at most this time, or until another session wakes this one. It holds no lock and can
/// be canceled.
pub fn for_watermark(longest: Duration) {
    // The latch counts whole milliseconds.
    wait_on_latch(longest + Duration::from_micros(999), Event::Watermark);
    pg_sys::check_for_interrupts!();
}

/// Waits for at most this time, or until the process is woken. This is for the main loop of a
/// worker.
pub fn for_pause(longest: Duration) {
    wait_on_latch(longest, Event::Watermark);
}

/// Waits on the latch for at most `left`.
fn wait_on_latch(left: Duration, event: Event) {
    let millis = left.as_millis() as _;
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: `MyLatch` is this process's own latch.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, millis, event.number());
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}
