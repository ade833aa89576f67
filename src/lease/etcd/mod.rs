//! The worker that leases generator IDs from etcd.
//!
//! It is one process of the server, and runs only if `flakeid.generator_ids` is `etcd:N`. The
//! server registers it at start if the library is preloaded and the setting says so then. Otherwise
//! the first session that wants an ID does. It begins when recovery is over. So a standby holds
//! nothing, and a promoted one claims for itself.
//!
//! # What it does
//! It claims N generator IDs ([`worker`]), publishes them ([`crate::lease`]), and renews the lease
//! three times in its life. [`flakeid_core::registry`] decides what it does, and [`act`] does it.
//! No part of a lease is on disk. So a copy of the data directory, a clone or a restored backup
//! claims for itself.
//!
//! # What it does if it fails
//! * *etcd does not answer.* The worker tries once a second. Sessions continue until the deadline,
//!   and at half the time the log has a warning. The first process that passes the deadline closes
//!   the gates: the worker, or a session that meets its gate.
//! * *The lease or a claim is gone.* The cells are sealed, and the worker claims others at once.
//! * *The pool is empty.* The worker watches the pool, and takes the first generator ID that
//!   becomes free.
//! * *The worker ends with an error.* It comes back after a second, finds the lease in shared
//!   memory and continues with it. If it is killed, the server restarts, and shared memory is set
//!   up again.
//!
//! # How it ends
//! SIGTERM comes with the server's end, or from an administrator. The worker can't know which. In
//! both cases it seals the cells, writes the exact high-water marks and gives the lease back, in
//! three seconds at most. It ends with 1, so that a server that still runs starts it again. It ends
//! with 0 only if the setting names no lease any more.

mod act;
mod client;
mod credentials;
mod listing;
mod log;
mod memory;
mod registry;
mod signals;
mod worker;

use crate::clock::since_boot;
use crate::error::Report;
use crate::lease::error::no_worker;
use crate::lease::transitions;
use crate::shmem::shared;
use crate::{guc, process, wait};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use signals::{ENDED, RELOADED, wait_for_events};
use std::sync::atomic::Ordering;
use std::time::Duration;
use worker::LeaseWorker;

/// The time after which the worker comes back, after an error or if it was told to end and the
/// server was not.
const RESTART: Duration = Duration::from_secs(1);

/// The longest time to give the lease back when the server ends. It has no sessions any more that
/// wait for that.
const AT_A_STOP: Duration = Duration::from_secs(3);

/// The longest time to give the lease back when the settings name generator IDs. Sessions wait for
/// that, by default for at most a second.
const AT_A_RELOAD: Duration = Duration::from_millis(800);

fn builder() -> BackgroundWorkerBuilder {
    BackgroundWorkerBuilder::new("flakeid etcd")
        .set_type("flakeid etcd")
        .set_library("flakeid")
        .set_function("flakeid_etcd_main")
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(Some(RESTART))
        .enable_spi_access()
}

/// Registers the worker while libraries are preloaded, if the settings want it.
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
    process::read_configuration_files();
    // It connects to no database. This makes it visible in pg_stat_activity.
    BackgroundWorker::connect_worker_to_spi(None, None);
    let Ok(shared) = shared() else { return };
    wait::register();
    if !transitions::register_worker(shared) {
        return;
    }
    // SAFETY: this process has joined the server, and registers the callback once. `leave` has the
    // type of a callback.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
    let mut worker = match LeaseWorker::new(shared) {
        Ok(worker) => worker,
        Err(error) => pgrx::error!("could not begin to lease generator IDs: {error}"),
    };
    loop {
        if RELOADED.swap(false, Ordering::Relaxed) {
            process::read_configuration_files();
            worker.reload();
        }
        if ENDED.load(Ordering::Relaxed) {
            worker.give_back(since_boot() + AT_A_STOP);
            break;
        }
        let Some(wanted) = guc::leased() else {
            worker.give_back(since_boot() + AT_A_RELOAD);
            transitions::disable(shared);
            return;
        };
        let pause = worker.run_turn(wanted);
        if !shared.lease.is_renewal_requested() {
            wait_for_events(pause);
        }
    }
    drop(worker);
    // SAFETY: this process is a worker, and holds nothing that has to be dropped. PostgreSQL runs
    // its exit callbacks.
    unsafe { pg_sys::proc_exit(1) };
}

/// Ends the registration as the worker when this process ends.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    if let Ok(shared) = shared() {
        transitions::unregister_worker(shared);
    }
}
