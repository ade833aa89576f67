//! The process of the worker, as its parts need it: signals and the deadline, which are checked while a call waits, the
//! names of this server, and random numbers.

use super::{note, registry};
use crate::clock::since_boot;
use crate::error::span;
use crate::identity;
use crate::lease::transitions;
use crate::random;
use crate::shmem::{LeaseStatus, Shared, shared};
use pgrx::bgworkers::BackgroundWorker;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest sleep, after which the worker checks the deadline.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Whether this process was told to end.
pub static ENDED: AtomicBool = AtomicBool::new(false);
/// Whether the settings may have changed.
pub static RELOADED: AtomicBool = AtomicBool::new(false);
/// Whether the log says that the lease was not renewed in half its time.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Waits for a reload, an end or the latch, but not longer than this. Returns false if the process must end.
pub fn wait_for_events(longest: Duration) -> bool {
    let longest = longest.min(LONGEST_SLEEP);
    if !ENDED.load(Ordering::Relaxed) && !BackgroundWorker::wait_latch(Some(longest)) {
        ENDED.store(true, Ordering::Relaxed);
    }
    if BackgroundWorker::sighup_received() {
        RELOADED.store(true, Ordering::Relaxed);
    }
    if let Ok(shared) = shared() {
        watch_deadline(shared);
    }
    !ENDED.load(Ordering::Relaxed)
}

/// Returns whether a call may continue. It is called between slices.
pub fn may_go_on() -> bool {
    wait_for_events(Duration::ZERO)
}

/// Returns whether a call that may take long may continue: not after a reload.
pub fn may_wait() -> bool {
    wait_for_events(Duration::ZERO) && !RELOADED.load(Ordering::Relaxed)
}

/// Gives up generator IDs whose deadline has passed, and warns at half the time.
fn watch_deadline(shared: &'static Shared) {
    let state = shared.lease_snapshot();
    if state.status != LeaseStatus::Held {
        return;
    }
    let boot = since_boot();
    if state.claim.is_expired(boot) {
        if !transitions::give_up(shared, None, true).is_empty() {
            note::lost(&state, "The lease could not be renewed in time.");
        }
    } else if boot >= state.sent + state.ttl / 2 && !WARNED.swap(true, Ordering::Relaxed) {
        let left = span(state.claim.deadline.saturating_sub(boot));
        note::not_renewed(boot.saturating_sub(state.sent), &left, state.last_error.get());
    }
}

/// Notes that another lease is held, of which the log says nothing yet.
pub fn began() {
    WARNED.store(false, Ordering::Relaxed);
}

/// Notes that the lease was renewed, and logs it after a warning.
pub fn renewed() {
    if WARNED.swap(false, Ordering::Relaxed) {
        note::renewed_again();
    }
}

/// Returns the description of this server for people who read the claims.
pub fn whoami() -> registry::Document {
    // SAFETY: PostgreSQL sets both when the server starts, and `DataDir` is a string that ends in NUL.
    let (data, port) = unsafe {
        let data = std::ffi::CStr::from_ptr(pg_sys::DataDir).to_string_lossy().into_owned();
        (data, pg_sys::PostPortNumber)
    };
    let data = data.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    registry::Document {
        server: crate::horizon::system_identifier().to_string(),
        host: identity::host_name().unwrap_or_default().into(),
        port: u16::try_from(port).unwrap_or(0),
        data,
        since: String::new(),
        until: String::new(),
        lease: String::new(),
        version: crate::library::version(),
    }
}

/// Returns a number that no lease has: random, and positive as etcd's are.
pub fn new_lease() -> Option<i64> {
    let mut bytes = [0; 8];
    random::fill(&mut bytes).then(|| i64::from_be_bytes(bytes) & i64::MAX | 1)
}

/// Returns a random place in the pool, so that servers begin at different ones.
pub fn anywhere() -> u16 {
    let mut bytes = [0; 2];
    random::fill(&mut bytes);
    u16::from_be_bytes(bytes)
}
