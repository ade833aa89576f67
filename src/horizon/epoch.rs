//! flake's epoch: the setting gives one, and the state has the earliest with which flakes were
//! generated.
//!
//! # The rules
//! 1. *A later epoch than the state's is refused.* With it flakes would repeat, and earlier ones
//!    would be read with a later time. A reload refuses it ([`check_new`]). If it is in force all
//!    the same, as the file had it at the start, the server generates no flakes and reads none.
//! 2. *An earlier epoch is the operator's decision, if the configuration has it.* Nobody has
//!    decided on the built-in default. If it is not the state's epoch, the line was lost, or this
//!    is a standby whose own configuration never had it. Then it is refused, too.
//! 3. *If the state cannot be read, the default is refused.* A superuser who accepts the clock must
//!    set an epoch first ([`epochs_without_state`]). Otherwise the server would forget the epoch
//!    together with the state.
//! 4. *If nothing tells the epoch of flakes of 0.6, the default is refused.* `pg_upgrade` takes the
//!    rows and the SQL of a server along, and neither its state nor its configuration. 0.6 counted
//!    from 1970 by default, so such a server often has no line to copy. With the default of today
//!    its flakes would be read 40 years late, and new ones would sort below them. So in a database
//!    that has the SQL of 0.6, on a server without a recorded epoch and without the line, sessions
//!    neither generate flakes nor read them ([`ensure_default_is_theirs`]). After
//!    `ALTER EXTENSION UPDATE` nothing would show that any more. So it raises the same error if
//!    objects of the database use flakes, and warns if none does ([`is_epoch_unknown`]). A dump has
//!    no version, so that only the documentation can tell.
//! 5. *A session writes down only the epoch in force* ([`ensure_in_force`]). A statement keeps its
//!    settings to the end. Without this rule, a statement that began before a reload would restore
//!    the old epoch.
//!
//! # How a process knows the state's epoch
//! An open state is in shared memory; before that it is on disk. A process compares the epochs once
//! for each change of its settings, and of two numbers in shared memory: the epoch of the open
//! state, and that of a primary's messages. A call that reads a flake costs three relaxed loads.
//!
//! The logging collector handles reloads, too. It has left shared memory, but still has the
//! postmaster's address of it. There [`crate::shmem::attached`] returns `None`, and the process
//! accepts each epoch.

use super::file;
use crate::catalog::{self, Catalog};
use crate::error::{Report, instant};
use crate::id_types::ServerIdType;
use crate::shmem::{self, Shared};
use crate::{guc, server_log};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::{Epoch, Flake};
use flakeid_formats::state::Epochs;
use pgrx::pg_sys;
use std::cell::Cell;

/// The consequences of an epoch that is earlier than that of existing flakes.
const EARLIER: &str =
    "Their times are read differently now. The first flake makes this epoch final.";

const FLAKE: usize = Flake::INDEX;

/// The epochs of flake in shared memory: that of the open state, and that of messages in the WAL.
type SharedEpochs = [Option<UnixNanos>; 2];

fn shared_epochs() -> SharedEpochs {
    shmem::attached().map_or([None; 2], |shared| {
        [shared.opened.epoch(FLAKE), shared.recovered.flake_epoch.get()]
    })
}

thread_local! {
    /// The version of the settings, and the epochs in shared memory, with which this process may
    /// read flakes. No version is 0.
    static AGREED: Cell<(u32, SharedEpochs)> = const { Cell::new((0, [None; 2])) };
}

/// Returns the epoch for a caller that reads or writes flakes without giving one.
///
/// # Errors
/// This process does not know the server's epoch; it is invalid; or flakes were generated with
/// another one.
#[inline]
pub fn server_epoch() -> Result<Epoch, Report> {
    if AGREED.get() != (guc::version(), shared_epochs()) {
        agree()?;
    }
    Ok(guc::epoch())
}

#[cold]
fn agree() -> Result<(), Report> {
    guc::epoch_setting()?;
    // From PostgreSQL 17 on another session may have made the segment.
    let shared = shmem::shared().ok();
    let epochs = shared_epochs();
    ensure_agrees(shared)?;
    AGREED.set((guc::version(), epochs));
    Ok(())
}

/// Returns the earliest epoch with which flakes were generated; `None` if the state has no flakes.
///
/// # Errors
/// The state cannot be read.
fn recorded(shared: Option<&Shared>) -> Result<Option<UnixNanos>, Report> {
    if let Some(shared) = shared
        && shared.opened.loaded()
    {
        return Ok(shared.opened.epoch(FLAKE));
    }
    let recovered = shared.and_then(|shared| shared.recovered.flake_epoch.get());
    match file::read() {
        Ok(state) => {
            let on_disk = state.and_then(|state| state.epochs[FLAKE]);
            Ok(on_disk.into_iter().chain(recovered).min())
        }
        Err(_) if recovered.is_some() => Ok(recovered),
        Err(failure) => Err(failure.into()),
    }
}

/// Checks by the state whether this process can generate and read flakes with its epoch.
///
/// # Errors
/// Flakes were generated with another epoch, or may have been.
pub fn ensure_agrees(shared: Option<&Shared>) -> Result<(), Report> {
    let is_set = guc::is_epoch_set();
    let recorded = match recorded(shared) {
        Ok(Some(recorded)) => recorded,
        Ok(None) if is_set => return Ok(()),
        Ok(None) => return ensure_default_is_theirs(),
        Err(_) if is_set => return Ok(()),
        Err(failure) => return Err(unreadable(failure)),
    };
    match conflict(recorded, guc::epoch(), !is_set) {
        Some(_) if guc::adopt_epoch(recorded) => Ok(()),
        Some(conflict) => Err(conflict.into()),
        None => Ok(()),
    }
}

/// Returns whether neither the configuration nor the state tells the epoch of the flakes that this
/// server may have. A state that cannot be read is another error.
pub fn is_epoch_unknown() -> bool {
    !guc::is_epoch_set() && matches!(recorded(shmem::shared().ok()), Ok(None))
}

/// Checks that the flakes of this database, if there are any, were not generated with the default
/// of 0.6.
///
/// # Errors
/// The database has the SQL of 0.6.
fn ensure_default_is_theirs() -> Result<(), Report> {
    match catalog::sql_version(Catalog::Now).filter(|version| counts_from_1970(version)) {
        None => Ok(()),
        Some(version) => Err(unknown_epoch(&version)),
    }
}

/// Returns whether a version of the SQL is of a time in which the default epoch was 1970.
fn counts_from_1970(version: &str) -> bool {
    version.starts_with("0.6.")
}

/// Constructs the error about flakes of an earlier version, of which nothing tells the epoch.
pub fn unknown_epoch(version: &str) -> Report {
    Report::wrong_state("the epoch of existing flakes is unknown")
        .detail(format!(
            "\"flakeid.epoch\" is not set, and this server has no state that tells it. The SQL of \
             this database is from flakeid {version}, which counted from 1970 by default."
        ))
        .hint(format!(
            "Write the line of \"flakeid.epoch\" of the server that generated the flakes into \
             postgresql.conf, and reload the configuration. If it had no such line, write \
             \"flakeid.epoch = 'unix'\". If there are no flakes yet, write \"flakeid.epoch = \
             '{}'\".",
            guc::epoch_value(guc::default_epoch().scale().epoch())
        ))
}

/// Writes a line to the log if the epoch in force is not that of existing flakes: they cannot be
/// read, or are read with other times.
pub(super) fn log_disagreement(shared: &Shared) {
    if let Err(refusal) = ensure_agrees(Some(shared)) {
        return server_log::no_flakes(refusal);
    }
    if let Ok(Some(recorded)) = recorded(Some(shared)) {
        log_earlier(recorded, guc::epoch());
    }
}

/// Writes a line to the log if an epoch is earlier than that of existing flakes.
fn log_earlier(recorded: UnixNanos, epoch: Epoch) {
    let ours = epoch.scale().epoch();
    if ours < recorded {
        let conflict = Conflict { recorded, ours, is_default: false };
        server_log::earlier_epoch(format!("{} {EARLIER}", conflict.detail()));
    }
}

/// Checks by the state an epoch that is about to be set.
///
/// # Errors
/// Flakes were generated with another epoch.
pub(super) fn check_new(epoch: Epoch, is_default: bool) -> Result<(), guc::Veto> {
    let Some(shared) = shmem::attached() else { return Ok(()) };
    let Ok(Some(recorded)) = recorded(Some(shared)) else { return Ok(()) };
    conflict(recorded, epoch, is_default).map_or(Ok(()), |conflict| Err(conflict.into()))
}

/// Publishes what the postmaster has by its settings, after one of them has changed. If a reload
/// has brought an earlier epoch than that of existing flakes, this writes a line to the log.
pub(super) fn publish() {
    let in_force = || {
        let shared = shmem::attached()?;
        Some((shared, shared.epoch_in_force.get()))
    };
    let before = in_force();
    shmem::publish_identity();
    if let (Some((shared, before)), Some((_, now))) = (before, in_force())
        && before != now
        && before.is_some()
        && let Some(recorded) = shared.opened.epoch(FLAKE)
    {
        log_earlier(recorded, guc::epoch());
    }
}

/// Returns what is wrong with the configuration's epoch, in sentences: it is missing although
/// existing flakes need it, or it is earlier than theirs and not yet final.
pub fn wrong_line() -> Option<String> {
    let recorded = recorded(shmem::shared().ok());
    if guc::is_epoch_set() {
        let (recorded, ours) = (recorded.ok()??, guc::epoch().scale().epoch());
        let conflict = Conflict { recorded, ours, is_default: false };
        return (ours < recorded).then(|| format!("{} {EARLIER}", conflict.detail()));
    }
    match recorded {
        Ok(recorded) => {
            let conflict = conflict(recorded?, guc::default_epoch(), true)?;
            Some(format!("{} {}", conflict.detail(), conflict.hint()))
        }
        Err(failure) => Some(unreadable(failure).line().1),
    }
}

/// Checks whether an epoch may be written down as that of new flakes.
///
/// # Errors
/// The configuration has another epoch by now.
pub(super) fn ensure_in_force(shared: &Shared, epoch: UnixNanos) -> Result<(), Report> {
    let is_in_force = match shared.epoch_in_force.get() {
        // Without preloading no postmaster publishes it. But PostgreSQL has told this process of a
        // reload. SAFETY: reads a plain variable of PostgreSQL's, which a signal handler sets.
        None => unsafe { (&raw const pg_sys::ConfigReloadPending).read_volatile() == 0 },
        Some(in_force) => in_force == epoch,
    };
    match is_in_force {
        true => Ok(()),
        false => {
            Err(Report::wrong_state("\"flakeid.epoch\" has changed since this statement began")
                .hint("Run the statement again."))
        }
    }
}

/// Returns the epochs of a new state that replaces a lost one. That of flake comes from the
/// configuration, unless the WAL has an earlier one.
///
/// # Errors
/// The configuration has no epoch or an invalid one, and the WAL has none.
pub(super) fn epochs_without_state(mut epochs: Epochs, lost: Report) -> Result<Epochs, Report> {
    let ours = guc::epoch_setting()?.scale().epoch();
    let flake = match (epochs[FLAKE], guc::is_epoch_set()) {
        (None, false) => return Err(unreadable(lost)),
        (Some(recovered), false) => recovered,
        (recovered, true) => recovered.map_or(ours, |recovered| recovered.min(ours)),
    };
    epochs[FLAKE] = Some(flake);
    Ok(epochs)
}

/// An epoch of the state, and an epoch with which the server cannot use it.
struct Conflict {
    recorded: UnixNanos,
    ours: UnixNanos,
    is_default: bool,
}

fn conflict(recorded: UnixNanos, epoch: Epoch, is_default: bool) -> Option<Conflict> {
    let ours = epoch.scale().epoch();
    let is_refused = recorded < ours || recorded > ours && is_default;
    is_refused.then_some(Conflict { recorded, ours, is_default })
}

impl Conflict {
    fn detail(&self) -> String {
        let (recorded, ours) = (instant(self.recorded), instant(self.ours));
        let verb = if self.is_default { "is not set: its default is" } else { "is" };
        format!(
            "Flakes were generated with the epoch {recorded}, and \"flakeid.epoch\" {verb} {ours}."
        )
    }

    fn hint(&self) -> String {
        hint(&guc::epoch_value(self.recorded))
    }
}

impl From<Conflict> for Report {
    fn from(conflict: Conflict) -> Self {
        Self::wrong_state(match conflict.recorded < conflict.ours {
            true => "\"flakeid.epoch\" is later than the epoch of existing flakes",
            false => "\"flakeid.epoch\" is not set, and existing flakes have a later epoch",
        })
        .detail(conflict.detail())
        .hint(conflict.hint())
    }
}

impl From<Conflict> for guc::Veto {
    fn from(conflict: Conflict) -> Self {
        Self { detail: conflict.detail(), hint: conflict.hint() }
    }
}

/// Constructs the error of a session that counts from a later epoch than other sessions by now.
pub(super) fn later(recorded: UnixNanos, ours: UnixNanos) -> Report {
    Conflict { recorded, ours, is_default: !guc::is_epoch_set() }.into()
}

fn unreadable(failure: Report) -> Report {
    let (message, _) = failure.line();
    Report::wrong_state("the epoch of existing flakes is unknown")
        .detail(format!("\"flakeid.epoch\" is not set, and the state cannot be read: {message}."))
        .hint(
            "Write the epoch of the existing flakes into postgresql.conf, as \"flakeid.epoch = \
             '...'\", and reload the configuration. Do not guess it: flakes are read with it. \
             docs/settings.md shows how to find it from a row.",
        )
}

/// Returns what to do: the line of the configuration, and where it may stand.
fn hint(value: &str) -> String {
    format!(
        "Write \"flakeid.epoch = '{value}'\" into postgresql.conf, and reload the configuration. A \
         value of ALTER SYSTEM (postgresql.auto.conf) or of the command line overrides that file: \
         change it there."
    )
}
