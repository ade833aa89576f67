//! The state since shared memory was initialized: where it begins, and how it is written.

use super::epoch;
use super::file::{self, PersistedState, StateFileError};
use super::lineage;
use super::location;
use super::message;
use super::replayed::{last_transaction, replayed, started, system_identifier};
use crate::clock::{Stopwatch, now, since_boot};
use crate::error::{Report, span};
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::random_names;
use crate::lock::ExclusiveLock;
use crate::shmem::{self, Shared, Start};
use crate::{guc, server_log, wait, wal_timeline};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::gate::{self, Horizon};
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_core::opening::{Evidence, Extent, FIRST_TIMELINE, Refusal, Rules, decide};
use flakeid_formats::location::Location;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Reads the state file and opens the state, with the lock held. The gate is at the horizon of that
/// state: nothing before it is issued, as all cells begin there, and nothing from it on before the
/// gate has moved.
pub(super) fn load(shared: &Shared) -> Result<(), Report> {
    guc::ensure_known()?;
    open_state(shared, check_cluster(file::read()?)?)
}

/// Lets the core decide about what this server knows, with a state that is on disk.
///
/// # Errors
/// The core refuses it.
fn decide_with<T>(
    shared: &Shared,
    state: Option<PersistedState>,
    decide: impl FnOnce(&Evidence) -> Result<T, Refusal>,
) -> Result<T, Report> {
    let (location, here) = (location::on_disk(), location::here());
    let evidence = Evidence {
        state: state.map(|state| state.extent()),
        location: location.as_ref().map(Location::facts),
        here: here.facts(),
        started_on: shared.recovered.started_on.load(Ordering::Relaxed),
        recovered: shared.recovered.message(),
        primary_time: replayed(shared),
        now: now(),
        started: started(),
    };
    decide(&evidence).map_err(|refusal| match refusal {
        Refusal::Moved(moved) => location::refusal(moved, &evidence),
        Refusal::NotCovered { timeline } => lineage::refusal(timeline, &evidence),
        Refusal::Down { down, allowed } => downtime(down, allowed),
    })
}

/// Checks that this server may continue with an existing state that was last written in another
/// place.
///
/// # Errors
/// The state was written in another place, and `flakeid.moved_state` is `error`.
pub(super) fn ensure_not_moved(
    shared: &Shared,
    state: Option<PersistedState>,
) -> Result<(), Report> {
    decide_with(shared, state, |evidence| evidence.ensure_not_moved(guc::refuses_moved_state()))
}

/// Checks that a state covers the WAL from which this server's data comes.
///
/// # Errors
/// The server was promoted, or recovered from an archive, and the library did not see it.
pub(super) fn ensure_covered(shared: &Shared, state: Option<PersistedState>) -> Result<(), Report> {
    decide_with(shared, state, |evidence| evidence.ensure_covered(wal_timeline::beginning))
}

/// Returns the state at which shared memory begins: the file's, with what recovery has shown.
///
/// # Errors
/// Another place wrote the state, or the server was down for too long, and the settings do not
/// allow it. Or the state does not cover the WAL from which this server's data comes.
pub(super) fn begin_at(
    shared: &Shared,
    on_disk: Option<PersistedState>,
) -> Result<PersistedState, Report> {
    let rules = Rules {
        refuses_moved: guc::refuses_moved_state(),
        allowable_downtime: guc::allowable_downtime(),
    };
    let extent =
        decide_with(shared, on_disk, |evidence| decide(evidence, rules, wal_timeline::beginning))?;
    with_names(on_disk, extent)
}

/// Opens the state, with the lock held.
///
/// # Errors
/// The errors of [`begin_at`]; or the state cannot be written.
pub(super) fn open_state(shared: &Shared, on_disk: Option<PersistedState>) -> Result<(), Report> {
    let state = begin_at(shared, on_disk)?;
    // Before the first write, which makes this place that of the state.
    location::log_move(on_disk.is_some());
    // The next start knows nothing of what was replayed before this one, whether or not there are
    // IDs before it.
    let recovered = &shared.recovered;
    let is_kept =
        recovered.message().is_none() || on_disk.is_some_and(|state| has_recovered(shared, &state));
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

/// Creates the state of a server on a later WAL timeline that gets the extension in one of its
/// databases. So it does not count as one that lost its state: see [`lineage`]. Does nothing if
/// there is a state, or on the first WAL timeline.
///
/// # Errors
/// The files cannot be written.
pub fn begin_with_extension() -> Result<(), Report> {
    if wal_timeline::current().is_none_or(|timeline| timeline == FIRST_TIMELINE) {
        return Ok(());
    }
    // A file that cannot be read is no reason to refuse the extension: sessions that need an ID get
    // that error.
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
    // Without shared memory the server generates no IDs, so that only sessions like this one write
    // the file. SAFETY: the call waits for a lock that PostgreSQL releases at the end of the
    // transaction.
    unsafe {
        let mode = pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE;
        pg_sys::LockSharedObject(pg_sys::ExtensionRelationId, pg_sys::InvalidOid, 0, mode);
    }
    if has_none() {
        let state = with_names(None, Extent::starting_at(now().max(last_transaction())))?;
        file::write(&state, |new| location::begin(&location::here(), new))?;
    }
    Ok(())
}

/// Puts a state into shared memory, without checks.
pub(super) fn install_state(shared: &Shared, state: &PersistedState) {
    shared.gates.set(state.horizon);
    shared.leased.set(Horizon::NONE);
    shared.opened.install(&Start::from(state), state.names);
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

/// Returns whether a state on disk has all that was recovered.
pub(super) fn has_recovered(shared: &Shared, state: &PersistedState) -> bool {
    let extent = state.extent();
    extent.with_recovered(shared.recovered.message()) == extent
}

/// Merges all that is known: the state in the file, or the time by the clock if no file exists; and
/// what recovery has shown.
pub(super) fn merge_replayed(
    shared: &Shared,
    state: Option<PersistedState>,
) -> Result<PersistedState, Report> {
    let known = state.map(|state| state.extent());
    let recovered = shared.recovered.message();
    with_names(state, Extent::known(known, recovered, replayed(shared), now()))
}

/// Returns a state with another extent, or a new one. It has names, which are random in a new one.
fn with_names(state: Option<PersistedState>, extent: Extent) -> Result<PersistedState, Report> {
    let state = state.unwrap_or(PersistedState {
        system_identifier: system_identifier(),
        horizon: Horizon::NONE,
        names: None,
        epochs: [None; ID_TYPES.len()],
        last_clock_reading: UnixNanos(0),
        written_at: UnixNanos(0),
        stopped: false,
    });
    let names = Some(state.names.map_or_else(random_names, Ok)?);
    Ok(PersistedState { names, ..state }.with_extent(extent))
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

/// Writes the state, and a message about it for servers that replay the WAL, with the lock held.
/// Nothing may be issued by it before this returns.
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
    // Both clocks before the write, so that the time it takes is not one by which the clock stepped
    // forward. The clock is second: a pause between them hides a step of its length, but is not
    // reported as one.
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
    let outcome = file::write(&state, |new| location::begin(&location::here(), new));
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
