//! The worker that leases generator IDs from etcd.
//!
//! One process of the server, there only where `flakeid.generator_ids` is `etcd:N`: registered at start
//! where the library is preloaded and the setting says so then, else by the first session that wants an ID.
//! It begins when recovery is over, so a standby holds nothing and a promoted one claims for itself.
//!
//! # What it does
//! It claims N generator IDs ([`registry`]), publishes them ([`crate::lease`]), and renews the lease three
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
mod process;
mod registry;

use crate::clock::boot;
use crate::error::Report;
use crate::lease::error::no_worker;
use crate::lease::transitions;
use crate::shmem::shared;
use crate::{guc, wait};
use holder::Holder;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use process::{ENDED, RELOADED, look_up};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How soon the worker comes back after an error, or when it was told to end and the server was not.
const RESTART: Duration = Duration::from_secs(1);

/// How long it takes to give the lease back when the server ends.
const AT_THE_END: Duration = Duration::from_millis(800);

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
