//! The state since shared memory was initialized: where it begins, and how it is written.

use super::epoch;
use super::file::{self, PersistedState, StateFileError};
use super::lineage;
use super::location::{self, Location};
use super::message;
use super::replayed::{last_transaction, replayed, started, system_identifier};
use crate::clock::{Stopwatch, now, since_boot};
use crate::error::{Report, span};
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::Names;
use crate::lock::ExclusiveLock;
use crate::shmem::{self, Shared};
use crate::{guc, server_log, wait, wal_timeline};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::gate::{self, Horizon};
use flakeid_core::horizon_message::HorizonMessage;
use pgrx::pg_sys;
use std::time::Duration;

/// Reads the state file and opens the state, with the lock held. The gate is at the horizon of that state:
/// nothing before it is issued, as all cells begin there, and nothing from it on before the gate has moved.
pub(super) fn load(shared: &Shared) -> Result<(), Report> {
    guc::ensure_known()?;
    open_state(shared, check_cluster(file::read()?)?)
}

/// Returns the state at which shared memory begins: the file's, with what recovery has shown.
///
/// # Errors
/// Another place wrote the state, or the server was down for too long, and the settings do not allow it. Or the state
/// does not cover the WAL from which this server's data comes.
pub(super) fn begin_at(
    shared: &Shared,
    on_disk: Option<PersistedState>,
) -> Result<PersistedState, Report> {
    location::ensure_not_moved(on_disk.is_some())?;
    lineage::ensure_covered(shared, on_disk.is_some())?;
    let state = merge_replayed(shared, on_disk)?;
    if let Some(allowed) = guc::allowable_downtime() {
        let down = started().0.saturating_sub(state.written_at.0);
        let down = Duration::from_nanos(down);
        if down > allowed {
            return Err(downtime(down, allowed));
        }
    }
    Ok(state)
}

/// Opens the state, with the lock held.
///
/// # Errors
/// The errors of [`begin_at`]; or the state cannot be written.
pub(super) fn open_state(shared: &Shared, on_disk: Option<PersistedState>) -> Result<(), Report> {
    let state = begin_at(shared, on_disk)?;
    // Before the first write, which makes this place that of the state.
    location::log_move(on_disk.is_some());
    // The next start knows nothing of what was replayed before this one, whether or not there are IDs before it.
    let recovered = &shared.recovered;
    let is_kept = recovered.message().is_none()
        || on_disk.is_some_and(|state| message::covers(&state, recovered));
    if replayed(shared).0 != 0 || !is_kept || !lineage::is_recorded(on_disk.is_some()) {
        write(shared, &state)?;
    }
    install_state(shared, &state);
    epoch::log_disagreement(shared);
    let [until, ..] = state.horizon.until;
    let ahead = Duration::from_nanos(until.0.saturating_sub(now().0));
    // The lead may have been longer: another setting, or a slow disk.
    let was = state.horizon.in_use().0.saturating_sub(state.last_clock_reading.0);
    let was = Duration::from_nanos(was).min(gate::MAX_LEAD_FOR_DISK);
    let lead = guc::horizon_lead();
    if ahead > lead.max(was) {
        server_log::clock_behind(&shared.rate_limits, ahead);
        return Ok(());
    }
    let left = shared.opened.start().recovery_left::<Flake>(lead);
    // A shorter wait is that of a short lead, or of a slow disk.
    if left > gate::MAX_LEAD_FOR_DISK {
        server_log::first_ids_wait(left);
    }
    Ok(())
}

/// Creates the state of a server on a later WAL timeline that gets the extension in one of its databases. So it does not count
/// as one that lost its state: see [`lineage`]. Does nothing if there is a state, or on the first WAL timeline.
///
/// # Errors
/// The files cannot be written.
pub fn begin_with_extension() -> Result<(), Report> {
    if wal_timeline::current().is_none_or(|timeline| timeline == wal_timeline::FIRST) {
        return Ok(());
    }
    // A file that cannot be read is no reason to refuse the extension: sessions that need an ID get that error.
    let has_none = || matches!(file::read(), Ok(None));
    if let Ok(shared) = shmem::shared() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !shared.opened.loaded() && has_none() {
            let state = merge_replayed(shared, None)?;
            write(shared, &state)?;
            install_state(shared, &state);
        }
        return Ok(());
    }
    // Without shared memory the server generates no IDs, so that only sessions like this one write the file.
    // SAFETY: the call waits for a lock that PostgreSQL releases at the end of the transaction.
    unsafe {
        let mode = pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE;
        pg_sys::LockSharedObject(pg_sys::ExtensionRelationId, pg_sys::InvalidOid, 0, mode);
    }
    if has_none() {
        let state = starting_at(now().max(last_transaction()));
        let state = PersistedState { names: Some(Names::random()?), ..state };
        file::write(&state, |new| Location::here().begin(new))?;
    }
    Ok(())
}

/// Puts a state into shared memory, without checks.
pub(super) fn install_state(shared: &Shared, state: &PersistedState) {
    shared.gates.set(state.horizon);
    shared.leased.set(Horizon::NONE);
    shared.opened.install(&state.start(), state.names);
}

/// Returns a state if it is from this cluster.
pub(super) fn check_cluster(
    state: Option<PersistedState>,
) -> Result<Option<PersistedState>, Report> {
    let ours = system_identifier();
    match state {
        Some(PersistedState { system_identifier: theirs, .. }) if theirs != ours => {
            Err(StateFileError::Foreign { theirs, ours }.into())
        }
        state => Ok(state),
    }
}

/// Merges all that is known: the state in the file, or the time by the clock if no file exists; and what recovery has
/// shown.
pub(super) fn merge_replayed(
    shared: &Shared,
    state: Option<PersistedState>,
) -> Result<PersistedState, Report> {
    let state = state.unwrap_or_else(|| starting_at(now()));
    let state = message::merged(state, &shared.recovered);
    let replayed = replayed(shared);
    Ok(PersistedState {
        horizon: state.horizon.raised(replayed),
        names: Some(state.names.map_or_else(Names::random, Ok)?),
        last_clock_reading: state.last_clock_reading.max(replayed),
        written_at: state.written_at.max(replayed),
        ..state
    })
}

/// Constructs a state whose horizon is a given time.
pub(super) fn starting_at(moment: UnixNanos) -> PersistedState {
    PersistedState {
        system_identifier: system_identifier(),
        horizon: Horizon::NONE.raised(moment),
        names: None,
        epochs: [None; ID_TYPES.len()],
        last_clock_reading: moment,
        written_at: moment,
        stopped: false,
    }
}

/// Returns the opened state for a write: with a horizon, and the last reading of the clock.
pub(super) fn present_state(
    shared: &Shared,
    horizon: Horizon,
    last_clock_reading: UnixNanos,
) -> PersistedState {
    PersistedState {
        system_identifier: system_identifier(),
        horizon,
        names: shared.opened.names(),
        epochs: shared.opened.epochs(),
        last_clock_reading,
        written_at: now(),
        stopped: false,
    }
}

/// Writes the state, and a message about it for servers that replay the WAL, with the lock held. Nothing may be
/// issued by it before this returns.
pub(super) fn write(shared: &Shared, state: &PersistedState) -> Result<(), StateFileError> {
    save(shared, state)?;
    message::write(&HorizonMessage {
        horizon: state.horizon,
        read_at: state.last_clock_reading,
        flake_epoch: state.epochs[Flake::INDEX],
    });
    Ok(())
}

/// Writes the state as that of this cluster and of now, with the lock held.
pub(super) fn save(shared: &Shared, state: &PersistedState) -> Result<(), StateFileError> {
    let system_identifier = system_identifier();
    // Both clocks before the write, so that the time it takes is not one by which the clock stepped forward. The clock is
    // second: a pause between them hides a step of its length, but is not reported as one.
    let (since_boot, now) = (since_boot(), now());
    let _waiting = wait::Event::HorizonWrite.begin();
    let watch = Stopwatch::start();
    let begins = !file::directory().exists();
    // A server that has generated IDs has written the directory, so someone has removed it.
    let was_removed = begins && shared.opened.has_ids();
    if was_removed {
        server_log::state_directory_missing();
    }
    let state = PersistedState { system_identifier, written_at: now, stopped: false, ..*state };
    let outcome = file::write(&state, |new| Location::here().begin(new));
    shared.writes.count(file::counted(&outcome));
    outcome?;
    if begins && !was_removed && shared.recovered.message().is_none() {
        server_log::new_state();
    }
    shared.writes.set_last(now, since_boot, watch.elapsed());
    location::write_place(shared);
    Ok(())
}

fn downtime(down: Duration, allowed: Duration) -> Report {
    Report::wrong_state(format!(
        "the server was down for {}, longer than \"flakeid.allowable_downtime\"",
        span(down)
    ))
    .detail(format!(
        "The limit is {}. By the server's clock, the state file \"{}\" was last written that long \
         before this start.",
        span(allowed),
        file::NAME
    ))
    .hint(file::ACCEPT)
}
