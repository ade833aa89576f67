//! The worker that sends `NOTIFY flakeid` in one database, with the watermark as payload.
//!
//! It runs on behalf of the [`publisher`](super::publisher), and ends with it, or when
//! `flakeid.notify_databases` no longer has its database. A transaction with a `NOTIFY` takes a
//! lock that all such transactions of the server wait for. Writers have none, and this worker has
//! one in an interval.
//!
//! A commit of this worker waits for no standby: with `synchronous_standby_names` and no standby it
//! would keep that lock. SIGTERM ends it as it ends a session, also while it waits for the lock.

use super::announcing::{Ended, LOOK_INTERVAL, present, take_settings};
use crate::clock::{now, since_boot};
use crate::error::{Report, moment};
use crate::shmem::{self, Shared, WatermarkSegment, shared};
use crate::{guc, process, server_log, wait};
use flakeid_core::announcer::Announcer;
use flakeid_core::clock::{UnixMicros, UnixNanos};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, DynamicBackgroundWorker,
    SignalWakeFlags,
};
use pgrx::pg_sys;
use std::ffi::{CStr, CString};
use std::time::Duration;

/// The channel.
const CHANNEL: &CStr = c"flakeid";

/// The pause after an error.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the notifier of a database, on behalf of this process; `None` if PostgreSQL has no place
/// for another worker.
pub fn start(database: &str) -> Option<DynamicBackgroundWorker> {
    let worker = BackgroundWorkerBuilder::new(&format!("flakeid notifier for {database}"))
        .set_type("flakeid notifier")
        .set_library("flakeid")
        .set_function("flakeid_notifier_main")
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(None)
        .set_extra(database)
        .set_notify_pid(process::own().pid)
        .enable_spi_access();
    worker.load_dynamic().ok()
}

/// Runs the worker.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn flakeid_notifier_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP);
    process::read_configuration_files();
    process::end_as_sessions_do();
    let database = BackgroundWorker::get_extra().to_owned();
    BackgroundWorker::connect_worker_to_spi(Some(&database), None);
    // SAFETY: both are strings, and the setting is one that each session may set.
    unsafe {
        pg_sys::SetConfigOption(
            c"synchronous_commit".as_ptr(),
            c"off".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_OVERRIDE,
        );
    }
    let (Ok(shared), Ok(memory)) = (shared(), shmem::watermark()) else { return };
    let publisher = memory.publisher.pid();
    let mut ended = Ended::default();
    let mut announcer = Announcer::new(guc::notify_interval(), now(), since_boot());
    let mut reported = false;
    let wants = || publisher != 0 && memory.publisher.pid() == publisher;
    while wants() && guc::notify_databases().contains(&database) {
        announcer.set_interval(guc::notify_interval());
        announcer.look(ended.have_changed(memory), now(), since_boot());
        let mut pause = LOOK_INTERVAL.min(guc::notify_interval());
        match notify(shared, memory, &mut announcer) {
            Ok(()) => reported = false,
            Err(report) => {
                pause = PAUSE;
                if !std::mem::replace(&mut reported, true) {
                    server_log::not_announced(report);
                }
            }
        }
        wait::for_pause(pause);
        if process::must_end() {
            break;
        }
        pg_sys::check_for_interrupts!();
        take_settings();
    }
}

/// Sends the watermark, if it is time.
fn notify(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
    announcer: &mut Announcer,
) -> Result<(), Report> {
    if !announcer.is_due(since_boot()) {
        return Ok(());
    }
    let watermark = present(shared, memory)?.watermark;
    // Readers see whole milliseconds.
    let millis = watermark.0 / 1_000_000;
    if announcer.announces(UnixNanos(millis * 1_000_000), since_boot()) {
        send(&moment(UnixMicros((millis * 1000) as i64)));
    }
    Ok(())
}

/// Sends a payload in a transaction of its own.
fn send(payload: &str) {
    let Ok(payload) = CString::new(payload) else { return };
    // SAFETY: the worker is connected to a database, and runs no transaction. PostgreSQL copies
    // both texts. An error ends the worker, and its publisher starts another one.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        pg_sys::Async_Notify(CHANNEL.as_ptr(), payload.as_ptr());
        pg_sys::CommitTransactionCommand();
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null());
    }
}
