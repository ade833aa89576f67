//! The worker that tells readers of the watermark, off the path of the writers.
//!
//! It serves two settings. With `flakeid.standby_watermark_interval` it writes the watermark into
//! the WAL for standbys. For each database in `flakeid.notify_databases` it keeps a [`notifier`]
//! running, as a process can be connected to one database alone. [`flakeid_core::announcer`] argues
//! when there is something to tell.
//!
//! # When it runs
//! The postmaster starts it if the settings want it when the server starts. If a reload changes the
//! settings, the next session that generates an ID starts it: before that there is nothing to tell
//! ([`ensure_publisher`]). On a standby it starts at the promotion. It ends when the settings want
//! nothing any more.
//!
//! # What outlives what
//! * *The worker ends or is killed.* The postmaster starts it again. The next one begins with
//!   something to tell. Its notifiers notice that their publisher is another one, and end; the next
//!   one starts others.
//! * *A crash.* Its place in shared memory is new.

use super::announcing::{Ended, LOOK_INTERVAL, present, take_settings};
use super::{notifier, replayed};
use crate::clock::{now, since_boot};
use crate::error::Report;
use crate::shmem::{self, Shared, WatermarkSegment, shared};
use crate::{guc, process, server_log};
use flakeid_core::announcer::Announcer;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, DynamicBackgroundWorker,
    SignalWakeFlags,
};
use pgrx::pg_sys;
use std::time::Duration;

/// The time after which the worker comes back, after an error or if it was told to end and the
/// server was not.
const RESTART: Duration = Duration::from_secs(1);

/// The time after which the WAL gets a watermark although no transaction has ended: sessions on a
/// standby may wait for a time.
const REPEAT: Duration = Duration::from_secs(1);

/// The pause before a notifier that has ended is started again. It doubles each time, unless the
/// notifier has run for the longest pause.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

fn builder() -> BackgroundWorkerBuilder {
    BackgroundWorkerBuilder::new("flakeid watermark")
        .set_type("flakeid watermark")
        .set_library("flakeid")
        .set_function("flakeid_watermark_main")
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(Some(RESTART))
        .enable_spi_access()
}

/// Registers the worker while libraries are preloaded, if the settings want it.
pub fn register() {
    if is_wanted() {
        builder().load();
    }
}

fn is_wanted() -> bool {
    // pg_upgrade must be alone in each database.
    // SAFETY: reads a plain variable of PostgreSQL's.
    let is_upgrade = unsafe { pg_sys::IsBinaryUpgrade };
    let has_readers =
        guc::standby_watermark_interval().is_some() || !guc::notify_databases().is_empty();
    has_readers && !is_upgrade
}

/// Starts the worker if the settings want it and it does not run. It starts none twice within
/// seconds, and raises no error: a session that generates an ID needs no reader.
pub fn ensure_publisher() {
    // Single-user mode has no workers.
    // SAFETY: reads a plain variable of PostgreSQL's.
    if !unsafe { pg_sys::IsUnderPostmaster } {
        return;
    }
    let Ok(memory) = shmem::watermark() else { return };
    if is_wanted() && memory.publisher.is_missing(since_boot()) && builder().load_dynamic().is_err()
    {
        server_log::no_publisher();
    }
}

/// A notifier of one database.
struct Notifier {
    database: String,
    worker: Option<DynamicBackgroundWorker>,
    /// The time since boot at which it was started last.
    started_at: Duration,
    /// The pause between two starts.
    pause: Duration,
}

impl Notifier {
    fn new(database: String) -> Self {
        Self { database, worker: None, started_at: Duration::ZERO, pause: Duration::ZERO }
    }

    fn is_running(&self) -> bool {
        use pgrx::bgworkers::BackgroundWorkerStatus::{PostmasterDied, Stopped};
        let has_ended = |worker: &DynamicBackgroundWorker| {
            matches!(worker.pid(), Err(Stopped | PostmasterDied))
        };
        self.worker.as_ref().is_some_and(|worker| !has_ended(worker))
    }

    /// Starts it if it does not run.
    fn ensure_running(&mut self, boot: Duration) {
        let ran = boot.saturating_sub(self.started_at);
        if self.is_running() {
            if ran >= PAUSES.1 {
                self.pause = PAUSES.0;
            }
            return;
        }
        if ran < self.pause {
            return;
        }
        self.started_at = boot;
        self.pause = (self.pause * 2).clamp(PAUSES.0, PAUSES.1);
        self.worker = notifier::start(&self.database);
        if self.worker.is_none() {
            server_log::no_publisher();
        }
    }
}

/// Runs the worker.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn flakeid_watermark_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    process::read_configuration_files();
    // It connects to no database. This makes it visible in pg_stat_activity.
    BackgroundWorker::connect_worker_to_spi(None, None);
    let (Ok(shared), Ok(memory)) = (shared(), shmem::watermark()) else { return };
    if !memory.publisher.begin(process::own().pid) {
        return;
    }
    // SAFETY: this process has joined the server, and registers the callback once. `leave` has the
    // type of a callback.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
    let mut notifiers: Vec<Notifier> = Vec::new();
    let mut ended = Ended::look(memory);
    let mut announcer = Announcer::new(LOOK_INTERVAL, now(), since_boot());
    let mut reported = false;
    while is_wanted() {
        let databases = guc::notify_databases();
        // A notifier ends by itself, which can take as long as another session's commit. If its
        // database comes back before, it goes on, and a second one would notify twice.
        notifiers
            .retain(|notifier| databases.contains(&notifier.database) || notifier.is_running());
        for database in databases {
            let known = notifiers.iter().position(|notifier| notifier.database == database);
            let notifier = known.unwrap_or_else(|| {
                notifiers.push(Notifier::new(database));
                notifiers.len() - 1
            });
            notifiers[notifier].ensure_running(since_boot());
        }
        let mut pause = RESTART;
        if let Some(interval) = guc::standby_watermark_interval() {
            pause = LOOK_INTERVAL;
            announcer.set_interval(interval);
            announcer.look(ended.have_changed(memory), now(), since_boot());
            match tell_standbys(shared, memory, &mut announcer) {
                Ok(()) => reported = false,
                Err(report) => {
                    pause = RESTART;
                    if !std::mem::replace(&mut reported, true) {
                        server_log::not_announced(report);
                    }
                }
            }
        }
        if !wait(pause) {
            // SAFETY: the worker holds no lock, and exits as each worker does that is to be started
            // again.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
}

/// Writes the watermark into the WAL, if it is time.
fn tell_standbys(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
    announcer: &mut Announcer,
) -> Result<(), Report> {
    let boot = since_boot();
    let is_due = announcer.is_due(boot);
    if !is_due && !announcer.may_repeat(boot, REPEAT) {
        return Ok(());
    }
    let message = present(shared, memory)?;
    if announcer.announces(message.watermark, boot)
        || announcer.repeats(message.watermark, boot, REPEAT)
    {
        replayed::write(message);
    }
    Ok(())
}

/// Waits for a time, and reads the settings again after a reload. Returns whether the worker may
/// continue.
fn wait(pause: Duration) -> bool {
    let continues = BackgroundWorker::wait_latch(Some(pause));
    take_settings();
    continues
}

/// Gives the place of the worker back when this process ends.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    if let Some(memory) = shmem::attached_watermark() {
        memory.publisher.end();
    }
}
