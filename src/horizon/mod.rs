//! The horizon: that no ID comes twice when memory is lost.
//!
//! # Who writes what
//! * The gate ([`flakeid_core::gate`]) stands in shared memory, and [`Record`] beside it says what it
//!   stood at when this life of the memory began. Both change under the node's lock alone.
//! * The state file ([`mod@file`]) changes under the same lock, by the backend that meets the gate; and by
//!   the postmaster when it ends, which is alone then.
//!
//! # The argument
//! 1. *An ID is only given out for a time before the durable horizon.* Gate and cell see to it; here
//!    [`extend`] writes the file, synced, before the gate opens. A write that fails leaves the gate
//!    where it is. The old file or the new one is on disk then; both are at or past the gate.
//! 2. *Memory that is new begins above the horizon.* After a crash of a backend (PostgreSQL sets up
//!    shared memory anew), of the postmaster or of the machine, after a stop of any kind, the first
//!    who asks reads the file, and all cells begin at it: the clock is past it, or at most
//!    `flakeid.horizon_lead` before it, unless it has stepped back. There is no way to the cells but
//!    through [`open`], and no way through that without the file.
//! 3. *A file that is not what this server wrote last gives no IDs.* Damaged, of another cluster, of a
//!    later version, unreadable, or gone while its directory is there: all are errors, until the file
//!    is back or a superuser vouches for the clock ([`accept`]). Only where the directory is missing
//!    too was there never a state; then IDs begin after what the clock shows.
//! 4. *A clean stop is exact.* The postmaster ends after all its children; it seals every cell and
//!    writes what they issued in this life of the memory, not what they began at: that is the horizon that
//!    the file had, or a mark of etcd's, below which other servers have issued and which stays there.
//!    The seal makes it true even if a process had outlived it. Where the
//!    library was not preloaded the postmaster doesn't know it: there the last session that leaves
//!    does it, under the lock, when no one else is counted in. It may, as who comes next finds the
//!    gate moved down with the file.
//! 5. *What a primary made is behind its standby.* A standby issues nothing. Its state file is as old as its base
//!    backup or its last restart point; but each move of the primary's horizon is in the WAL before the IDs that it lets
//!    through, and the standby replays it ([`wal`]). So a server that was promoted, or was recovered from a backup, begins
//!    above all IDs that the WAL which it replayed can know of, also where clocks were wrong. It begins after the
//!    latest time of a transaction it replayed, or of a message from the primary, as well: for
//!    a primary whose flakeid is too old to write its horizon into the WAL. A worker looks at these times five
//!    times a second and writes down the greatest, ahead by the lead, and exactly when recovery ends
//!    ([`recovery`]). What the primary gave out after that, nobody here can know: such IDs are
//!    safe if this server's clock is not behind the last of them.
//! 6. *An epoch that moves never brings a tick back.* The file holds the earliest epoch that a system's
//!    IDs were made by, written before the first of them; floors are counted from it. By a later epoch
//!    the ticks would come again: that is refused at once ([`Failure::EpochLater`]).
//! 7. *A server keeps the names it chose.* Where nobody says what guid's node or flake128's worker is,
//!    they are chosen at random with the state, and lie in its file; it is written before a system's first
//!    ID ([`open`]), so no ID has a name that a crash makes forgotten. One cell serves each of these
//!    systems whatever the name: IDs of one tick differ by their number though the name changes.
//! 8. *Old backends of a dead postmaster.* They may go on with the statement they are in, and extend.
//!    A new postmaster does not start before they have let go of the shared memory: PostgreSQL sees
//!    to it by the segment that `postmaster.pid` names.
//!
//! # What it costs
//! Two syncs, and 104 bytes of WAL, for every three quarters of `flakeid.horizon_lead` in which IDs are
//! asked for, by one of those who ask, while the others go on ([`Gates`]); none when nobody does. After a
//! crash, and after a promotion, a wait of at most that lead, and as much of the time in IDs that is never used. Where both of the last two writes
//! took longer than half the lead, the next goes ahead by twice what the faster one took, up to
//! [`gate::LONGEST_FOR_DISK`].
//!
//! # What does not carry over
//! `pg_upgrade` copies no directory of an extension: the new cluster begins after what the clock
//! shows. A copied `flakeid` directory is another cluster's, which [`accept`] takes over with its
//! horizon. `pg_rewind` takes the source's file, as it takes all else; the IDs of the tail that it discards are those
//! that nobody can know of in point 5.

mod end;
pub mod file;
mod gates;
mod record;
mod recovery;
mod wal;

use crate::clock::{boot, now};
use crate::error::Failure;
use crate::generate::{Served, no_standby};
use crate::identity::{Names, lease};
use crate::note;
use crate::shmem::{ExclusiveLock, Shared, shared};
use crate::systems::{self, TABLE};
use crate::{guc, wait};
use file::{State, Trouble};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::flake;
use flakeid_core::gate::{self, Gate, Horizon, Start};
use flakeid_core::generator::Stamp;
use flakeid_core::horizon_message::HorizonMessage;
use record::NONE;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use end::stop;
#[cfg(feature = "etcd")]
pub use file::directory;
pub use gates::Gates;
pub use record::Record;
#[cfg(feature = "etcd")]
pub use recovery::system_identifier;

/// Puts in place what observes recovery, while libraries are preloaded.
pub fn register() {
    wal::register();
    recovery::register();
}

/// Where a new cell of the system begins, above the mark that its generator ID was leased with as well
/// (0 for none). The state has been [`open`]ed for it.
pub fn start<S: Served>(shared: &Shared, mark: UnixNanos) -> Start {
    let record = &shared.record;
    let (begun, scale) = (record.begun().raised(mark), S::scale());
    let earliest = record.epoch(const { systems::index(S::NAME) }).unwrap_or(scale.epoch());
    let tick = |moment| scale.tick(moment);
    Start {
        floors: begun.floors::<S>(scale.counted_from(earliest)),
        toggle: begun.toggle,
        since: tick(UnixNanos(record.since.load(Ordering::Relaxed))).unwrap_or(Tick(0)),
        now: tick(now()),
    }
}

/// Lets a sealed cell issue again, above the horizon, a mark, and all that it had itself. What it has issued
/// is kept for the exact horizon. The caller holds the lock.
pub fn revive<S: Served>(shared: &Shared, cell: &Cell, mark: UnixNanos) {
    if !cell.is_sealed() {
        return;
    }
    let issued = cell.issued::<S>();
    if issued != [Tick(0); 2] {
        let scale = S::scale().counted_from(earliest(shared, const { systems::index(S::NAME) }));
        shared.record.keep(Horizon::NONE.covering::<S>(scale, issued));
    }
    cell.revive::<S>(start::<S>(shared, mark));
}

/// The earliest epoch that the system at this place of the table has made IDs by; its present one where it
/// has made none.
pub fn earliest(shared: &Shared, system: usize) -> UnixNanos {
    shared.record.epoch(system).unwrap_or((TABLE[system].scale)().epoch())
}

/// Sees to it that the state is on disk, and with it the directory of flakeid's files.
///
/// # Errors
/// As [`open`].
#[cfg(feature = "etcd")]
pub fn make_durable() -> Result<(), Failure> {
    let shared = shared()?;
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    let record = &shared.record;
    if !record.loaded() {
        load(shared)?;
    }
    if file::read()?.is_none() {
        let horizon = shared.gates.horizon();
        write(record, horizon, record.names(), record.epochs(), record.extended())?;
    }
    Ok(())
}

/// What this node is called where nobody says. It is as durable as the horizon before the first ID that
/// has it.
///
/// # Errors
/// As [`open`]; [`Failure::Standby`] of this function where the state has not been opened.
pub fn names(function: &'static str) -> Result<Names, Failure> {
    let shared = shared()?;
    if !shared.record.loaded() {
        no_standby(function)?;
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !shared.record.loaded() {
            load(shared)?;
        }
    }
    shared.record.names().ok_or(Failure::NoRandomness)
}

/// The same where the state has been read.
pub fn known_names() -> Option<Names> {
    shared().ok()?.record.names()
}

/// Makes the state ready for a system's IDs by its present epoch: read, and that epoch durable.
///
/// # Errors
/// [`Failure::State`], [`Failure::Unknown`], [`Failure::Downtime`], [`Failure::EpochLater`].
pub fn open<S: Served>(shared: &'static Shared) -> Result<(), Failure> {
    let (record, scale) = (&shared.record, S::scale());
    let system = const { systems::index(S::NAME) };
    end::join(shared);
    if !record.loaded() || record.epoch(system).is_none_or(|earliest| scale.epoch() < earliest) {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !record.loaded() {
            load(shared)?;
        }
        if record.epoch(system).is_none_or(|earliest| scale.epoch() < earliest) {
            let mut epochs = record.epochs();
            epochs[system] = Some(scale.epoch());
            write(record, shared.gates.horizon(), record.names(), epochs, record.extended())?;
            record.epochs[system].store(scale.epoch().0, Ordering::Relaxed);
        }
    }
    refuse_later_epoch::<S>(shared, scale, record.epoch(system))
}

/// An epoch that has moved later gives smaller ticks for the same time; those up to the gate, counted
/// from the earliest, may have been issued.
fn refuse_later_epoch<S: Served>(
    shared: &Shared,
    scale: Scale,
    earliest: Option<UnixNanos>,
) -> Result<(), Failure> {
    let Some(earliest) = earliest.filter(|&earliest| earliest < scale.epoch()) else {
        return Ok(());
    };
    let [last, _] = shared.gates.horizon().floors::<S>(scale.counted_from(earliest));
    match scale.tick(now()) {
        Some(tick) if tick <= last => {
            Err(Failure::EpochLater { system: S::NAME, earliest, epoch: scale.epoch() })
        }
        _ => Ok(()),
    }
}

/// Which gate to go on by after one was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// As ever.
    Near,
    /// By the true gate: another process is moving both.
    Last,
    /// None lets it through: the generator IDs' lease reaches no further, and must be renewed first; or,
    /// where the clock has stepped back, it must come nearer.
    Leased,
}

/// By which gates a system goes.
pub fn gates(shared: &Shared, leased: bool) -> &Gates {
    if leased { &shared.leased } else { &shared.gates }
}

/// Moves the gates past a stamp that one of them does not admit, by the lead from now on; or leaves
/// that to the process that is at it, where the true gate lets the stamp through meanwhile.
///
/// # Errors
/// [`Failure::State`] when the file cannot be written; then nothing has moved.
pub fn extend<S: Served>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
    leased: bool,
) -> Result<Pass, Failure> {
    let own = gates(shared, leased);
    let passes = |gate: &Gate| gate.admits::<S>(scale, stamp) && gate.goes_by::<S>(stamp);
    let Some(lock) = ExclusiveLock::take_unless(shared.lock(), || passes(&own.last)) else {
        return Ok(Pass::Last);
    };
    if passes(&own.near) {
        return Ok(Pass::Near);
    }
    if leased {
        // By the clock since boot, whatever has become of the worker.
        if let Err(failure) = lease::held(shared, &lock) {
            lease::cap(shared, &lock);
            return Err(failure);
        }
    }
    if !passes(&shared.gates.near) {
        extend_node::<S>(shared, scale, stamp)?;
    }
    if leased {
        lease::cap(shared, &lock);
        return Ok(if passes(&own.near) { Pass::Near } else { Pass::Leased });
    }
    Ok(Pass::Near)
}

/// The node's gates, with the lock held.
fn extend_node<S: Served>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
) -> Result<(), Failure> {
    let (gates, record) = (&shared.gates, &shared.record);
    let now = now();
    note::clock_ahead(shared, now, &record.written, &record.written_since_boot);
    let from = now.max(scale.nanos(stamp.tick::<S>()));
    // A session that still counts from a later epoch than others do by now meets ticks of theirs.
    let earliest = record.epoch(const { systems::index(S::NAME) });
    if let Some(earliest) = earliest.filter(|&earliest| earliest < scale.epoch())
        && from.0 - now.0 > scale.unit()
    {
        return Err(Failure::EpochLater { system: S::NAME, earliest, epoch: scale.epoch() });
    }
    let lead = gate::lead(guc::horizon_lead(), record.took());
    gates.extend::<S, _>(stamp, from, lead, |horizon| {
        write(record, horizon, record.names(), record.epochs(), now)
    })?;
    record.extended.store(now.0, Ordering::Relaxed);
    note::slow_write(shared, Duration::from_nanos(record.took.load(Ordering::Relaxed)), lead);
    Ok(())
}

/// Reads the state file, with the lock held. The gate is where this life begins: nothing before it
/// is issued, as all cells begin there, and nothing from it on before it is extended.
fn load(shared: &Shared) -> Result<(), Failure> {
    guc::ensure_known()?;
    begin(shared, own(file::read()?)?)
}

/// Begins this life at the file's state and what recovery has shown, where that may be, with the lock held.
fn begin(shared: &Shared, on_disk: Option<State>) -> Result<(), Failure> {
    let state = known(shared, on_disk)?;
    if let Some(allowed) = guc::allowable_downtime() {
        let down = recovery::started().0.saturating_sub(state.written.0);
        let down = Duration::from_nanos(down);
        if down > allowed {
            return Err(Failure::Downtime { down, allowed });
        }
    }
    // PostgreSQL forgets what it has replayed with the next start, whether or not IDs come before.
    let recovered = &shared.record.recovered;
    let is_kept = recovered.message().is_none()
        || on_disk.is_some_and(|state| wal::covers(&state, recovered));
    if recovery::replayed(shared).0 != 0 || !is_kept {
        write(&shared.record, state.horizon, state.names, state.epochs, state.since)?;
    }
    take_over(shared, &state);
    let [until, ..] = state.horizon.until;
    let ahead = Duration::from_nanos(until.0.saturating_sub(now().0));
    if ahead > guc::horizon_lead() {
        note::clock_behind(shared, ahead);
    }
    Ok(())
}

/// Begins this life at a state, whatever it says.
fn take_over(shared: &Shared, state: &State) {
    let record = &shared.record;
    for (begun, until) in record.begun.iter().zip(state.horizon.until) {
        begun.store(until.0, Ordering::Relaxed);
    }
    record.toggle.store(state.horizon.toggle, Ordering::Relaxed);
    record.since.store(state.since.0, Ordering::Relaxed);
    record.extended.store(state.since.0, Ordering::Relaxed);
    for (epoch, known) in record.epochs.iter().zip(state.epochs) {
        epoch.store(known.map_or(NONE, |epoch| epoch.0), Ordering::Relaxed);
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
fn own(state: Option<State>) -> Result<Option<State>, Failure> {
    let ours = recovery::system_identifier();
    match state {
        Some(State { system_identifier: theirs, .. }) if theirs != ours => {
            Err(Trouble::Foreign { theirs, ours }.into())
        }
        state => Ok(state),
    }
}

/// What is known altogether: by the file, or by the clock where there is none; and by recovery.
fn known(shared: &Shared, state: Option<State>) -> Result<State, Failure> {
    let state = state.unwrap_or_else(|| fresh(now()));
    let state = wal::merged(state, &shared.record.recovered);
    let replayed = recovery::replayed(shared);
    Ok(State {
        horizon: state.horizon.raised(replayed),
        names: Some(state.names.map_or_else(Names::random, Ok)?),
        since: state.since.max(replayed),
        written: state.written.max(replayed),
        ..state
    })
}

/// A state that begins after a moment.
fn fresh(moment: UnixNanos) -> State {
    State {
        system_identifier: recovery::system_identifier(),
        horizon: Horizon::NONE.raised(moment),
        names: None,
        epochs: [None; TABLE.len()],
        since: moment,
        written: moment,
        stopped: false,
    }
}

/// Writes the state, and a message about it for those who replay the WAL, with the lock held. Nothing may be issued
/// by it before this returns.
fn write(
    record: &Record,
    horizon: Horizon,
    names: Option<Names>,
    epochs: [Option<UnixNanos>; TABLE.len()],
    since: UnixNanos,
) -> Result<(), Trouble> {
    save(record, horizon, names, epochs, since)?;
    let flake_epoch = epochs[const { systems::index(flake::NAME) }];
    wal::write(&HorizonMessage { horizon, read_at: since, flake_epoch });
    Ok(())
}

/// Writes the state, with the lock held.
fn save(
    record: &Record,
    horizon: Horizon,
    names: Option<Names>,
    epochs: [Option<UnixNanos>; TABLE.len()],
    since: UnixNanos,
) -> Result<(), Trouble> {
    let (system_identifier, now) = (recovery::system_identifier(), now());
    let _waiting = wait::Event::HorizonWrite.begin();
    let watch = crate::clock::Stopwatch::start();
    let outcome = file::write(&State {
        system_identifier,
        horizon,
        names,
        epochs,
        since,
        written: now,
        stopped: false,
    });
    record.count_write(&outcome);
    outcome?;
    record.written.store(now.0, Ordering::Relaxed);
    record.written_since_boot.store(boot().as_nanos() as u64, Ordering::Relaxed);
    record.took_before.store(record.took.load(Ordering::Relaxed), Ordering::Relaxed);
    record.took.store(watch.elapsed().as_nanos() as u64, Ordering::Relaxed);
    Ok(())
}

/// Takes over what there is of a state on a superuser's word that the clock is right, past all IDs
/// that were made. False where there is nothing to accept.
///
/// # Errors
/// [`Failure::State`] for a later version's file, and where the file cannot be read or written.
pub fn accept(shared: &'static Shared) -> Result<bool, Failure> {
    guc::ensure_known()?;
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    if shared.record.loaded() || load(shared).is_ok() {
        return Ok(false);
    }
    let now = now();
    let state = match file::read() {
        // Down for too long.
        Ok(Some(state)) if state.system_identifier == recovery::system_identifier() => Some(state),
        // Of another cluster, as after pg_upgrade: its IDs may be in this one.
        Ok(Some(state)) => {
            Some(State { horizon: state.horizon.raised(now), since: state.since.max(now), ..state })
        }
        Err(Trouble::Missing | Trouble::Damaged(_)) => Some(fresh(now)),
        Ok(None) => None,
        Err(trouble) => return Err(trouble.into()),
    };
    let state = State { written: now, ..known(shared, state)? };
    write(&shared.record, state.horizon, state.names, state.epochs, state.since)?;
    take_over(shared, &state);
    Ok(true)
}
