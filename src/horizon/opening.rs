//! The state of this life of the shared memory: what it begins at, and how it is written down.

use super::file::{self, State, StateFileError};
use super::message;
use super::replayed::{replayed, started, system_identifier};
use crate::clock::{Stopwatch, boot, now};
use crate::error::{Report, span};
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::Names;
use crate::shmem::{HorizonRecord, NO_EPOCH, Shared};
use crate::{guc, server_log, wait};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::HorizonMessage;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Reads the state file, with the lock held. The gate is where this life begins: nothing before it
/// is issued, as all cells begin there, and nothing from it on before it is extended.
pub(super) fn load(shared: &Shared) -> Result<(), Report> {
    guc::ensure_known()?;
    begin(shared, own(file::read()?)?)
}

/// Begins this life at the file's state and what recovery has shown, where that may be, with the lock held.
pub(super) fn begin(shared: &Shared, on_disk: Option<State>) -> Result<(), Report> {
    let state = known(shared, on_disk)?;
    if let Some(allowed) = guc::allowable_downtime() {
        let down = started().0.saturating_sub(state.written.0);
        let down = Duration::from_nanos(down);
        if down > allowed {
            return Err(downtime(down, allowed));
        }
    }
    // PostgreSQL forgets what it has replayed with the next start, whether or not IDs come before.
    let recovered = &shared.record.recovered;
    let is_kept = recovered.message().is_none()
        || on_disk.is_some_and(|state| message::covers(&state, recovered));
    if replayed(shared).0 != 0 || !is_kept {
        write(&shared.record, state.horizon, state.names, state.epochs, state.since)?;
    }
    take_over(shared, &state);
    let [until, ..] = state.horizon.until;
    let ahead = Duration::from_nanos(until.0.saturating_sub(now().0));
    if ahead > guc::horizon_lead() {
        server_log::clock_behind(&shared.rate_limits, ahead);
    }
    Ok(())
}

/// Begins this life at a state, without a check of what it says.
pub(super) fn take_over(shared: &Shared, state: &State) {
    let record = &shared.record;
    for (begun, until) in record.begun.iter().zip(state.horizon.until) {
        begun.store(until.0, Ordering::Relaxed);
    }
    record.toggle.store(state.horizon.toggle, Ordering::Relaxed);
    record.since.store(state.since.0, Ordering::Relaxed);
    record.extended.store(state.since.0, Ordering::Relaxed);
    for (epoch, known) in record.epochs.iter().zip(state.epochs) {
        epoch.store(known.map_or(NO_EPOCH, |epoch| epoch.0), Ordering::Relaxed);
    }
    if let Some(Names { guid_node, worker }) = state.names {
        record.guid_node.store(guid_node, Ordering::Relaxed);
        record.worker.store(worker, Ordering::Relaxed);
    }
    shared.gates.set(state.horizon);
    shared.leased.set(Horizon::NONE);
    // Release pairs with the Acquire in `loaded`.
    record.loaded.store(true, Ordering::Release);
}

/// A state as this cluster's own.
pub(super) fn own(state: Option<State>) -> Result<Option<State>, Report> {
    let ours = system_identifier();
    match state {
        Some(State { system_identifier: theirs, .. }) if theirs != ours => {
            Err(StateFileError::Foreign { theirs, ours }.into())
        }
        state => Ok(state),
    }
}

/// Returns what is known altogether: by the file, or by the clock if no file exists; and by recovery.
pub(super) fn known(shared: &Shared, state: Option<State>) -> Result<State, Report> {
    let state = state.unwrap_or_else(|| fresh(now()));
    let state = message::merged(state, &shared.record.recovered);
    let replayed = replayed(shared);
    Ok(State {
        horizon: state.horizon.raised(replayed),
        names: Some(state.names.map_or_else(Names::random, Ok)?),
        since: state.since.max(replayed),
        written: state.written.max(replayed),
        ..state
    })
}

/// A state that begins after a moment.
pub(super) fn fresh(moment: UnixNanos) -> State {
    State {
        system_identifier: system_identifier(),
        horizon: Horizon::NONE.raised(moment),
        names: None,
        epochs: [None; ID_TYPES.len()],
        since: moment,
        written: moment,
        stopped: false,
    }
}

/// Writes the state, and a message about it for those who replay the WAL, with the lock held. Nothing may be issued
/// by it before this returns.
pub(super) fn write(
    record: &HorizonRecord,
    horizon: Horizon,
    names: Option<Names>,
    epochs: [Option<UnixNanos>; ID_TYPES.len()],
    since: UnixNanos,
) -> Result<(), StateFileError> {
    save(record, horizon, names, epochs, since)?;
    let flake_epoch = epochs[Flake::PLACE];
    message::write(&HorizonMessage { horizon, read_at: since, flake_epoch });
    Ok(())
}

/// Writes the state, with the lock held.
pub(super) fn save(
    record: &HorizonRecord,
    horizon: Horizon,
    names: Option<Names>,
    epochs: [Option<UnixNanos>; ID_TYPES.len()],
    since: UnixNanos,
) -> Result<(), StateFileError> {
    let (system_identifier, now) = (system_identifier(), now());
    let _waiting = wait::Event::HorizonWrite.begin();
    let watch = Stopwatch::start();
    let outcome = file::write(&State {
        system_identifier,
        horizon,
        names,
        epochs,
        since,
        written: now,
        stopped: false,
    });
    record.count_write(file::counted(&outcome));
    outcome?;
    record.written.store(now.0, Ordering::Relaxed);
    record.written_since_boot.store(boot().as_nanos() as u64, Ordering::Relaxed);
    record.took_before.store(record.took.load(Ordering::Relaxed), Ordering::Relaxed);
    record.took.store(watch.elapsed().as_nanos() as u64, Ordering::Relaxed);
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
