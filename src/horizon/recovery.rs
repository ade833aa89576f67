//! The worker that writes down the primary's time on a standby, and opens the state when recovery is over.
//!
//! The primary's horizon comes with the WAL ([`super::wal`]), and needs no worker. The time is for what a primary
//! with a flakeid before 0.6.1 has made, which writes no horizon into its WAL, and for IDs that the WAL
//! has not told of yet.
//!
//! The worker is registered where the library is preloaded. It starts when recovery is consistent (or over). Five
//! times a second it looks at the time and writes down what it sees. When recovery is over it opens the state, so that
//! the log says early what is wrong with the file; then it ends. Without it (no place among `max_worker_processes`, or
//! no preload) the first backend that asks for an ID opens the state, with what recovery has left in shared memory.
//! Told to end (SIGTERM), the worker ends with 1, so that a server that goes on starts it again.

use super::file::{self, State};
use super::opening;
use super::replayed::replayed;
use crate::error::Report;
use crate::lock::ExclusiveLock;
use crate::shmem::{Shared, shared};
use crate::{guc, server_log, wait};
use flakeid_core::clock::UnixNanos;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use std::time::Duration;

/// How often a standby looks at its primary's time, and whether it still is a standby.
const LOOK: Duration = Duration::from_millis(200);

/// How soon the worker comes back when a crash has ended it before recovery was over.
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

#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn flakeid_recovery_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    let Ok(shared) = shared() else { return };
    wait::register();
    let mut standby = Standby::default();
    let mut said = false;
    // SAFETY: a call without conditions.
    while unsafe { pg_sys::RecoveryInProgress() } {
        match standby.look(shared) {
            Ok(()) => said = false,
            Err(failure) if !said => {
                said = true;
                server_log::no_ids(failure);
            }
            Err(_) => {}
        }
        if !BackgroundWorker::wait_latch(Some(LOOK)) {
            // SAFETY: as a worker ends that is to come back.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
    if let Err(failure) = settle(shared, standby.began_with) {
        server_log::no_ids(failure);
    }
}

/// What a standby's worker keeps in mind.
#[derive(Default)]
struct Standby {
    /// The state without what is added here.
    began_with: Option<State>,
    /// Up to this time of the primary's the state is raised on disk.
    raised_to: u64,
}

impl Standby {
    /// Keeps the state on disk ahead of the primary's time by the lead, so that a crash does not make
    /// it forgotten, whatever recovery shows after that.
    fn look(&mut self, shared: &Shared) -> Result<(), Report> {
        let replayed = replayed(shared);
        if replayed.0 <= self.raised_to {
            return Ok(());
        }
        let _lock = ExclusiveLock::take(shared.lock());
        if shared.record.loaded() {
            return Ok(());
        }
        let state = match self.began_with {
            Some(state) => state,
            None => *self.began_with.insert(opening::known(shared, opening::own(file::read()?)?)?),
        };
        let state = opening::known(shared, Some(state))?;
        let lead = guc::horizon_lead().max(Duration::from_secs(1)).as_nanos() as u64;
        self.raised_to = replayed.0.saturating_add(lead);
        let horizon = state.horizon.raised(UnixNanos(self.raised_to));
        let outcome = file::write(&State { horizon, stopped: false, ..state });
        shared.record.count_write(file::counted(&outcome));
        Ok(outcome?)
    }
}

/// Opens the state, without what was added ahead.
fn settle(shared: &Shared, began_with: Option<State>) -> Result<(), Report> {
    let _lock = ExclusiveLock::take(shared.lock());
    if shared.record.loaded() {
        return Ok(());
    }
    match began_with {
        Some(state) => opening::begin(shared, Some(state)),
        None => opening::load(shared),
    }
}
