//! The worker that leases generator IDs from etcd.
//!
//! One process of the server, there only where `flakeid.generator_ids` is `etcd:N`: registered at start
//! where the library is preloaded and the setting says so then, else by the first session that wants an ID.
//! It begins when recovery is over, so a standby holds nothing and a promoted one claims for itself.
//!
//! # What it does
//! It claims N generator IDs ([`registry`]), publishes them ([`super::lease`]), and renews the lease three
//! times in its life. Nothing of it is on disk: a copy of the data directory, a clone or a backup that is
//! restored claims for itself, too.
//!
//! # When it can't
//! * etcd away: it tries once a second; sessions go on until the deadline, with a warning in the log at half
//!   the time. Whoever passes the deadline closes the gates: this process, or a session that meets its gate.
//! * The lease or a claim is gone: the cells are sealed, and others are claimed at once.
//! * The pool is empty: it watches the pool and takes the first that comes free.
//! * This process dies: with an error it comes back after a second, finds the lease in shared memory and goes
//!   on with it; killed, the server starts all over, and shared memory with it.
//!
//! # When it ends
//! SIGTERM comes with the server's end, or from an administrator; nobody can tell which. Either way it seals
//! the cells, writes the exact marks and gives the lease back, for which it takes less than a second. It ends
//! with 1, so that a server that goes on starts it again; only where the setting is another does it end for good.

mod client;
mod holder;
mod note;
mod registry;

use crate::clock::boot;
use crate::error::{Report, span};
use crate::lease::error::no_worker;
use crate::lease::transitions;
use crate::shmem::State;
use crate::shmem::{Shared, shared};
use crate::wait;
use crate::{guc, identity};
use holder::Holder;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How soon the worker comes back after an error, or when it was told to end and the server was not.
const RESTART: Duration = Duration::from_secs(1);

/// The longest sleep: so often it looks at the deadline.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How long it takes to give the lease back when the server ends.
const AT_THE_END: Duration = Duration::from_millis(800);

/// This process was told to end.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The settings may have changed.
static RELOADED: AtomicBool = AtomicBool::new(false);
/// The log has been told that the lease was not renewed in half its time.
static WARNED: AtomicBool = AtomicBool::new(false);

fn builder() -> BackgroundWorkerBuilder {
    BackgroundWorkerBuilder::new("flakeid etcd")
        .set_type("flakeid etcd")
        .set_library("flakeid")
        .set_function("flakeid_etcd_main")
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(Some(RESTART))
        .enable_spi_access()
}

/// Registers the worker while libraries are preloaded, if it is wanted.
pub fn register() {
    if guc::leased().is_some() {
        builder().load();
    }
}

/// Registers the worker in a server that runs.
///
/// # Errors
/// PostgreSQL has no place for another worker.
pub fn register_now() -> Result<(), Report> {
    builder().load_dynamic().map(drop).map_err(|_| no_worker())
}

#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn flakeid_etcd_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    // To no database: so that it shows in pg_stat_activity.
    BackgroundWorker::connect_worker_to_spi(None, None);
    let Ok(shared) = shared() else { return };
    wait::register();
    if !transitions::enter(shared) {
        return;
    }
    // SAFETY: called once, in a process that has joined the server.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
    let mut holder = match Holder::new(shared) {
        Ok(holder) => holder,
        Err(error) => pgrx::error!("could not begin to lease generator IDs: {error}"),
    };
    loop {
        if RELOADED.swap(false, Ordering::Relaxed) {
            // SAFETY: where PostgreSQL's own workers do it.
            unsafe { pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP) };
            holder.reloaded();
        }
        if ENDED.load(Ordering::Relaxed) {
            holder.give_back(None, Some(boot() + AT_THE_END));
            break;
        }
        let Some(wanted) = guc::leased() else {
            holder.give_back(None, Some(boot() + AT_THE_END));
            transitions::end(shared);
            return;
        };
        let pause = holder.turn(wanted);
        if !shared.lease.is_asked() {
            look_up(pause);
        }
    }
    drop(holder);
    // SAFETY: as a worker ends that is to come back.
    unsafe { pg_sys::proc_exit(1) };
}

/// This process ends.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    if let Ok(shared) = shared() {
        transitions::leave(shared);
    }
}

/// Waits so long at most, for whatever this process has to see to. False where it has to do something else
/// than what it is at.
fn look_up(longest: Duration) -> bool {
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
fn may_go_on() -> bool {
    look_up(Duration::ZERO)
}

/// Between slices of a call that may take long.
fn may_wait() -> bool {
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
fn began() {
    WARNED.store(false, Ordering::Relaxed);
}

/// The lease was renewed.
fn renewed() {
    if WARNED.swap(false, Ordering::Relaxed) {
        note::renewed_again();
    }
}

/// How this server shows itself to people who read the claims.
fn whoami() -> registry::Document {
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
fn new_lease() -> Option<i64> {
    let mut bytes = [0; 8];
    identity::random(&mut bytes).then(|| i64::from_be_bytes(bytes) & i64::MAX | 1)
}

/// Where to begin among the IDs of a pool, other than others do.
fn anywhere() -> u16 {
    let mut bytes = [0; 2];
    identity::random(&mut bytes);
    u16::from_be_bytes(bytes)
}
