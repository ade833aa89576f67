//! The worker that writes the primary's time into a standby's state file, and opens the state when
//! recovery is over.
//!
//! The primary's horizon comes with the WAL ([`super::wal`]), and needs no worker. The time is for
//! the IDs of a primary with a flakeid before 0.6.1, which writes no horizon into its WAL, and for
//! IDs about which the WAL has no message yet.
//!
//! The worker is registered if the library is preloaded. It starts when recovery is consistent (or
//! over). Five times a second it reads the time and writes it into the state file. When recovery is
//! over it opens the state, so that the log says early what is wrong with the file; then it ends.
//! Without it (if `max_worker_processes` is too small, or the library is not preloaded) the first
//! backend that needs an ID opens the state, with what recovery has left in shared memory. At its
//! start it logs which ID types end soon. On SIGTERM the worker exits with 1, so that a server that
//! continues starts it again.

use super::file::{self, PersistedState};
use super::lineage;
use super::location;
use super::opening;
use super::replayed::replayed;
use crate::clock::now;
use crate::error::Report;
use crate::id_types::ID_TYPES;
use crate::lock::ExclusiveLock;
use crate::shmem::{Shared, shared};
use crate::{guc, server_log, wait};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use std::time::Duration;

/// The interval at which a standby reads its primary's time, and checks whether it still is a
/// standby.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Three years, in microseconds. If an ID type ends sooner, each start of the server logs it.
const LAST_YEARS: i64 = 3 * 365 * 86_400_000_000;

/// The delay after which the worker starts again if a crash has ended it before recovery was over.
const RESTART: Duration = Duration::from_secs(1);

/// Registers the worker, while libraries are preloaded.
pub(super) fn register() {
    BackgroundWorkerBuilder::new("flakeid recovery")
        .set_type("flakeid recovery")
        .set_library("flakeid")
        .set_function("flakeid_recovery_main")
        .set_start_time(BgWorkerStartTime::ConsistentState)
        .set_restart_time(Some(RESTART))
        .enable_shmem_access(None)
        .load();
}

/// Runs the worker.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn flakeid_recovery_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    let Ok(shared) = shared() else { return };
    wait::register();
    log_ends();
    let mut standby = Standby::default();
    let mut reported = false;
    // SAFETY: a call without preconditions.
    if unsafe { pg_sys::RecoveryInProgress() } {
        location::log_move(matches!(file::read(), Ok(Some(_))));
    }
    // SAFETY: a call without preconditions.
    while unsafe { pg_sys::RecoveryInProgress() } {
        match standby.raise_state(shared) {
            Ok(()) => reported = false,
            Err(failure) if !reported => {
                reported = true;
                server_log::no_ids(failure);
            }
            Err(_) => {}
        }
        if !BackgroundWorker::wait_latch(Some(POLL_INTERVAL)) {
            // SAFETY: the worker holds no lock, and exits as each worker does that is to be started
            // again.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
    if let Err(failure) = open_after_recovery(shared, standby.began_with) {
        server_log::no_ids(failure);
    }
}

/// Logs which ID types end in the next three years, or have ended.
fn log_ends() {
    let now = (now().0 / 1000) as i64;
    for entry in &ID_TYPES {
        if entry.name == flake::NAME && guc::epoch_setting().is_err() {
            continue;
        }
        let end = (entry.scale)().start((entry.rules)().end);
        if end.0.saturating_sub(now) < LAST_YEARS {
            server_log::ends(entry.name, end, end.0 < now);
        }
    }
}

/// The memory of a standby's worker.
#[derive(Default)]
struct Standby {
    /// The state without what is added here.
    began_with: Option<PersistedState>,
    /// The primary's time up to which the state on disk is raised.
    raised_to: u64,
}

impl Standby {
    /// Keeps the state on disk ahead of the primary's time by the lead, so that a crash does not
    /// lose that time, no matter what recovery shows later.
    fn raise_state(&mut self, shared: &Shared) -> Result<(), Report> {
        let replayed = replayed(shared);
        if replayed.0 <= self.raised_to {
            return Ok(());
        }
        let _lock = ExclusiveLock::take(shared.lock());
        if shared.opened.loaded() {
            return Ok(());
        }
        let state = match self.began_with {
            Some(state) => state,
            None => *self
                .began_with
                .insert(opening::merge_replayed(shared, opening::check_cluster(file::read()?)?)?),
        };
        let state = opening::merge_replayed(shared, Some(state))?;
        let lead = guc::horizon_lead().max(Duration::from_secs(1)).as_nanos() as u64;
        self.raised_to = replayed.0.saturating_add(lead);
        let horizon = state.horizon.raised(UnixNanos(self.raised_to));
        let state = PersistedState { horizon, stopped: false, ..state };
        let outcome =
            file::write(&state, |new| location::begin(&lineage::of_new_state(shared), new));
        shared.writes.count(file::counted(&outcome));
        Ok(outcome?)
    }
}

/// Opens the state, without the lead that was added.
fn open_after_recovery(shared: &Shared, began_with: Option<PersistedState>) -> Result<(), Report> {
    let _lock = ExclusiveLock::take(shared.lock());
    if shared.opened.loaded() {
        return Ok(());
    }
    match began_with {
        Some(state) => opening::open_state(shared, Some(state)),
        None => opening::load(shared),
    }
}
