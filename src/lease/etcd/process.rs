//! What the worker's parts need of the process that they run in: signals and the deadline, which it sees to while a
//! call waits, how this server shows itself, and random numbers.

use super::{note, registry};
use crate::clock::boot;
use crate::error::span;
use crate::identity;
use crate::lease::transitions;
use crate::shmem::{Shared, State, shared};
use pgrx::bgworkers::BackgroundWorker;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest sleep: so often it looks at the deadline.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// This process was told to end.
pub static ENDED: AtomicBool = AtomicBool::new(false);
/// The settings may have changed.
pub static RELOADED: AtomicBool = AtomicBool::new(false);
/// The log has been told that the lease was not renewed in half its time.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Waits so long at most, for a reload, an end, or its latch. False where it has to do something else
/// than what it is at.
pub fn look_up(longest: Duration) -> bool {
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

/// Between slices of a call.
pub fn may_go_on() -> bool {
    look_up(Duration::ZERO)
}

/// Between slices of a call that may take long.
pub fn may_wait() -> bool {
    look_up(Duration::ZERO) && !RELOADED.load(Ordering::Relaxed)
}

/// Gives up what is over, and warns at half the time.
fn watch_deadline(shared: &'static Shared) {
    let kept = shared.look_at_lease();
    if kept.state != State::Held {
        return;
    }
    let boot = boot();
    if kept.claim.is_over(boot) {
        if !transitions::give_up(shared, None, true).is_empty() {
            note::lost(&kept, "The lease could not be renewed in time.");
        }
    } else if boot >= kept.sent + kept.ttl / 2 && !WARNED.swap(true, Ordering::Relaxed) {
        let left = span(kept.claim.deadline.saturating_sub(boot));
        note::not_renewed(boot.saturating_sub(kept.sent), &left, kept.trouble.get());
    }
}

/// Another lease is held, of which nothing has been said.
pub fn began() {
    WARNED.store(false, Ordering::Relaxed);
}

/// The lease was renewed.
pub fn renewed() {
    if WARNED.swap(false, Ordering::Relaxed) {
        note::renewed_again();
    }
}

/// How this server shows itself to people who read the claims.
pub fn whoami() -> registry::Document {
    // SAFETY: strings and numbers that are set when the server starts.
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

/// A number that no lease has: random, and positive as etcd's are.
pub fn new_lease() -> Option<i64> {
    let mut bytes = [0; 8];
    identity::random(&mut bytes).then(|| i64::from_be_bytes(bytes) & i64::MAX | 1)
}

/// Where to begin among the IDs of a pool, other than others do.
pub fn anywhere() -> u16 {
    let mut bytes = [0; 2];
    identity::random(&mut bytes);
    u16::from_be_bytes(bytes)
}
