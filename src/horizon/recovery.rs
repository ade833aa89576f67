//! What PostgreSQL knows about where this server's data comes from: the cluster's number, and on a
//! standby the primary's time.
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
use crate::error::Failure;
use crate::shmem::{ExclusiveLock, Shared, shared};
use crate::{guc, note, wait};
use flakeid_core::clock::UnixNanos;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a standby looks at its primary's time, and whether it still is a standby.
const LOOK: Duration = Duration::from_millis(200);

/// A transaction's time may have been read on another processor than its last ID's: a tick of noise.
const NOISE: u64 = 4_000_000;

/// How soon the worker comes back when a crash has ended it before recovery was over.
const RESTART: Duration = Duration::from_secs(1);

pub fn system_identifier() -> u64 {
    // SAFETY: a read of the control file's copy, which is there whenever the library is.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// When the server started, by its clock.
pub fn started() -> UnixNanos {
    // SAFETY: set by the postmaster before it has children.
    after(unsafe { pg_sys::PgStartTime })
}

/// The first nanosecond after a time of PostgreSQL's, which counts whole microseconds; 0 for none.
fn after(time: pg_sys::TimestampTz) -> UnixNanos {
    match time {
        0 | i64::MIN | i64::MAX => UnixNanos(0),
        time => {
            let micros = crate::types::unix_micros(time).0.saturating_add(1);
            UnixNanos((micros.max(0) as u64).saturating_mul(1000))
        }
    }
}

/// The latest time of the primary's clock that recovery has come by since the server started, or ever
/// did while the worker looked; 0 where there was no recovery from an archive or a primary.
pub fn replayed(shared: &Shared) -> UnixNanos {
    let after = |time| match after(time) {
        UnixNanos(0) => UnixNanos(0),
        UnixNanos(time) => UnixNanos(time.saturating_add(NOISE)),
    };
    // SAFETY: reads under PostgreSQL's own spinlock what recovery has left in shared memory.
    let transaction = after(unsafe { pg_sys::GetLatestXTime() });
    // SAFETY: set in every process; an aligned number of eight bytes, which is read whole.
    let message = after(unsafe { (&raw const (*pg_sys::WalRcv).lastMsgSendTime).read_volatile() });
    let seen = shared.record.replayed.fetch_max(transaction.max(message).0, Ordering::Relaxed);
    UnixNanos(seen).max(transaction).max(message)
}

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
                note::no_ids(failure);
            }
            Err(_) => {}
        }
        if !BackgroundWorker::wait_latch(Some(LOOK)) {
            // SAFETY: as a worker ends that is to come back.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
    if let Err(failure) = settle(shared, standby.began_with) {
        note::no_ids(failure);
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
    fn look(&mut self, shared: &Shared) -> Result<(), Failure> {
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
            None => *self.began_with.insert(super::known(shared, super::own(file::read()?)?)?),
        };
        let state = super::known(shared, Some(state))?;
        let lead = guc::horizon_lead().max(Duration::from_secs(1)).as_nanos() as u64;
        self.raised_to = replayed.0.saturating_add(lead);
        let horizon = state.horizon.raised(UnixNanos(self.raised_to));
        let outcome = file::write(&State { horizon, stopped: false, ..state });
        shared.record.count_write(&outcome);
        Ok(outcome?)
    }
}

/// Opens the state, without what was added ahead.
fn settle(shared: &Shared, began_with: Option<State>) -> Result<(), Failure> {
    let _lock = ExclusiveLock::take(shared.lock());
    if shared.record.loaded() {
        return Ok(());
    }
    match began_with {
        Some(state) => super::begin(shared, Some(state)),
        None => super::load(shared),
    }
}
