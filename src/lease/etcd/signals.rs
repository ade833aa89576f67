//! The process of the worker: its signals and the deadline of its lease, which are checked while a
//! call waits, and how its claims describe this server.

use super::log;
use super::registry::ClaimDocument;
use crate::clock::since_boot;
use crate::error::span;
use crate::identity;
use crate::lease::transitions;
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
/// Whether the log has the warning that the lease was not renewed in half its time.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Waits for a reload, an end or the latch, but not longer than this. Returns false if the process
/// must end.
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
    if state.limits.is_expired(boot) {
        if !transitions::give_up(shared, None, true).is_empty() {
            log::lost(state.lease, state.held(), "The lease could not be renewed in time.");
        }
    } else if boot >= state.sent + state.ttl / 2 && !WARNED.swap(true, Ordering::Relaxed) {
        let left = span(state.limits.deadline.saturating_sub(boot));
        log::not_renewed(boot.saturating_sub(state.sent), &left, state.last_error.get());
    }
}

/// Ends the warning about an earlier lease, as another one is held.
pub fn reset_warning() {
    WARNED.store(false, Ordering::Relaxed);
}

/// Logs that the lease was renewed, if there was a warning.
pub fn log_if_recovered() {
    if WARNED.swap(false, Ordering::Relaxed) {
        log::renewed_again();
    }
}

/// Returns how the claims of this server describe it.
pub fn claim_document() -> ClaimDocument {
    // SAFETY: PostgreSQL sets both when the server starts, and `DataDir` is a string that ends in
    // NUL.
    let (data, port) = unsafe {
        let data = std::ffi::CStr::from_ptr(pg_sys::DataDir).to_string_lossy().into_owned();
        (data, pg_sys::PostPortNumber)
    };
    let data = data.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    ClaimDocument {
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
