//! Waiting for the clock to reach a tick, holding nothing, open to cancellation.
//!
//! A tick is short (1 ms for flake), a sleep's end is not exact (50 us and more late), and with one
//! generator ID every tick is waited for. So the last stretch is spent looking at the clock; only
//! what is longer is slept, and only what is much longer waits on the latch, as PostgreSQL does.

use crate::clock::{Stopwatch, now};
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

/// How often a session looks whether generator IDs have been leased: that takes a few milliseconds.
const LOOK_AT_LEASE: Duration = Duration::from_millis(10);

/// What a process waits for, as `pg_stat_activity` shows it.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The clock.
    Clock,
    /// The state file.
    HorizonWrite,
    /// Generator IDs to be leased, or their lease to be renewed.
    Lease,
}

/// Gives the events their numbers in the server, which may raise an error where other extensions have used up all that
/// there are: so this comes before a process takes a lock.
pub fn register() {
    for event in [Event::Clock, Event::HorizonWrite, Event::Lease] {
        let _ = event.number();
    }
}

/// The process waits as long as this lives.
pub struct Waiting(());

impl Event {
    /// Its number in the server: of its own from PostgreSQL 17 on, else that of all extensions.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    fn number(self) -> u32 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBERS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
        let number = NUMBERS[self as usize].load(Ordering::Relaxed);
        if number != 0 {
            return number;
        }
        let name = match self {
            Self::Clock => c"FlakeidClock",
            Self::HorizonWrite => c"FlakeidHorizonWrite",
            Self::Lease => c"FlakeidLease",
        };
        // SAFETY: a name that is known already keeps its number. No lock of ours is held: see `register`.
        let number = unsafe { pg_sys::WaitEventExtensionNew(name.as_ptr()) };
        NUMBERS[self as usize].store(number, Ordering::Relaxed);
        number
    }

    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn number(self) -> u32 {
        pg_sys::PG_WAIT_EXTENSION
    }

    pub fn begin(self) -> Waiting {
        // SAFETY: as pgstat_report_wait_start does; it points into this process's entry, or to a
        // variable of its own where it has none.
        unsafe { pg_sys::my_wait_event_info.write_volatile(self.number()) };
        Waiting(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        unsafe { pg_sys::my_wait_event_info.write_volatile(0) };
    }
}

/// Returns when the clock reads `until` or later.
///
/// # Errors
/// How far off that is, where it is more than `longest` and a tick, or did not come about within that
/// time because the clock stands still or goes on stepping back. Cancellation and `statement_timeout`
/// end it as PostgreSQL's own errors.
pub fn until(until: Tick, scale: Scale, longest: Duration) -> Result<(), Duration> {
    let target = scale.nanos(until).0;
    // Waiting for the next tick is no fault of the clock, and a tick may have just begun.
    let patience = longest + Duration::from_nanos(2 * scale.unit());
    let watch = Stopwatch::start();
    loop {
        // Before the clock is read: this process may stand still for a while in between.
        let late = watch.elapsed() > patience;
        let left = Duration::from_nanos(target.saturating_sub(now().0));
        if left.is_zero() {
            return Ok(());
        }
        if left > patience || late {
            return Err(left);
        }
        if left <= LOOK {
            std::hint::spin_loop();
        } else if left <= SLEEP {
            exit_without_postmaster();
            let _waiting = Event::Clock.begin();
            std::thread::sleep(left - LATE);
        } else {
            wait_on_latch(left.min(LATCH), Event::Clock);
        }
        pg_sys::check_for_interrupts!();
    }
}

/// Ends the process where its server has died, as waiting on a latch does: a session that only ever waits
/// for the next tick would go on for ever.
fn exit_without_postmaster() {
    unsafe extern "C-unwind" {
        fn PostmasterIsAliveInternal() -> bool;
    }
    // SAFETY: calls without conditions; what exits runs its callbacks, as from any wait.
    unsafe {
        if !PostmasterIsAliveInternal() {
            pg_sys::proc_exit(1);
        }
    }
}

/// Waits a little for the worker that leases generator IDs. Holds nothing; can be cancelled.
pub fn for_lease() {
    wait_on_latch(LOOK_AT_LEASE, Event::Lease);
    pg_sys::check_for_interrupts!();
}

fn wait_on_latch(left: Duration, event: Event) {
    let millis = left.as_millis() as _;
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: MyLatch is this process's own.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, millis, event.number());
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}
