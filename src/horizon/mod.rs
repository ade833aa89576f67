//! The horizon: that no ID comes twice when memory is lost.
//!
//! # Who writes what
//! * The gate ([`flakeid_core::gate`]) stands in shared memory, and [`crate::shmem::HorizonRecord`] beside it says what
//!   it stood at when this life of the memory began. Both change under the node's lock alone.
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
//!    the ticks would come again: that is refused at once ([`epoch_later`]).
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

pub mod file;
mod message;
mod opening;
mod recovery;
mod replayed;
mod shutdown;
mod wal;

use crate::clock::now;
use crate::error::{Report, instant};
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::{Names, no_randomness};
use crate::lock::ExclusiveLock;
use crate::shmem::{Gates, Shared, shared};
use crate::{guc, server_log};
use file::{State, StateFileError};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::gate::{self, Gate, Horizon, Start};
use flakeid_core::generator::Stamp;
use opening::{fresh, known, load, take_over, write};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(feature = "etcd")]
pub use file::directory;
pub use replayed::ensure_not_in_recovery;
#[cfg(feature = "etcd")]
pub use replayed::system_identifier;
pub use shutdown::{join, leave, stop};

/// Puts in place what observes recovery, while libraries are preloaded.
pub fn register() {
    wal::register();
    recovery::register();
}

/// Returns where a new cell of the ID type at this place begins, above the mark that its generator ID was leased with
/// as well (0 for none). The state has been [`open`]ed for it.
pub fn start(shared: &Shared, id_type: usize, mark: UnixNanos) -> Start {
    let (record, entry) = (&shared.record, &ID_TYPES[id_type]);
    let (begun, scale) = (record.begun().raised(mark), (entry.scale)());
    let earliest = record.epoch(id_type).unwrap_or(scale.epoch());
    let tick = |moment| scale.tick(moment);
    Start {
        floors: (entry.floors)(begun, scale.counted_from(earliest)),
        toggle: begun.toggle,
        since: tick(UnixNanos(record.since.load(Ordering::Relaxed))).unwrap_or(Tick(0)),
        now: tick(now()),
    }
}

/// Lets a sealed cell of the ID type at this place issue again, above the horizon, a mark, and all that it had itself.
/// What it has issued is kept for the exact horizon. The caller holds the lock.
pub fn revive(shared: &Shared, id_type: usize, cell: &Cell, mark: UnixNanos) {
    if !cell.is_sealed() {
        return;
    }
    let entry = &ID_TYPES[id_type];
    let issued = (entry.issued)(cell);
    if issued != [Tick(0); 2] {
        let scale = entry.scale_from(earliest(shared, id_type));
        shared.record.keep((entry.covering)(Horizon::NONE, scale, issued));
    }
    (entry.revive)(cell, start(shared, id_type, mark));
}

/// Returns the earliest epoch that the ID type at this place has made IDs by; its present one where it has made none.
pub fn earliest(shared: &Shared, id_type: usize) -> UnixNanos {
    shared.record.epoch(id_type).unwrap_or((ID_TYPES[id_type].scale)().epoch())
}

/// Sees to it that the state is on disk, and with it the directory of flakeid's files.
///
/// # Errors
/// As [`open`].
#[cfg(feature = "etcd")]
pub fn make_durable() -> Result<(), Report> {
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
/// As [`open`]; the server is in recovery and has not opened its state.
pub fn names(function: &'static str) -> Result<Names, Report> {
    let shared = shared()?;
    if !shared.record.loaded() {
        ensure_not_in_recovery(function)?;
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !shared.record.loaded() {
            load(shared)?;
        }
    }
    shared.record.names().ok_or_else(no_randomness)
}

/// The same where the state has been read.
pub fn known_names() -> Option<Names> {
    shared().ok()?.record.names()
}

/// Makes the state ready for a system's IDs by its present epoch: read, and that epoch durable.
///
/// # Errors
/// The state file cannot be read or written; this process does not know the server's settings; the server was down
/// for too long; the epoch is later than one that IDs were made by.
pub fn open<S: ServerIdType>(shared: &'static Shared) -> Result<(), Report> {
    let (record, scale) = (&shared.record, S::scale());
    let place = S::PLACE;
    if !record.loaded() || record.epoch(place).is_none_or(|earliest| scale.epoch() < earliest) {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !record.loaded() {
            load(shared)?;
        }
        if record.epoch(place).is_none_or(|earliest| scale.epoch() < earliest) {
            let mut epochs = record.epochs();
            epochs[place] = Some(scale.epoch());
            write(record, shared.gates.horizon(), record.names(), epochs, record.extended())?;
            record.epochs[place].store(scale.epoch().0, Ordering::Relaxed);
        }
    }
    refuse_later_epoch::<S>(shared, scale, record.epoch(place))
}

/// An epoch that has moved later gives smaller ticks for the same time; those up to the gate, counted
/// from the earliest, may have been issued.
fn refuse_later_epoch<S: ServerIdType>(
    shared: &Shared,
    scale: Scale,
    earliest: Option<UnixNanos>,
) -> Result<(), Report> {
    let Some(earliest) = earliest.filter(|&earliest| earliest < scale.epoch()) else {
        return Ok(());
    };
    let [last, _] = shared.gates.horizon().floors::<S>(scale.counted_from(earliest));
    match scale.tick(now()) {
        Some(tick) if tick <= last => Err(epoch_later(S::NAME, earliest, scale.epoch())),
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

/// What came of asking for the lock that moves gates.
pub enum Turn {
    /// There is nothing to do any more.
    Passed(Pass),
    Mine(ExclusiveLock),
}

/// Waits for the lock, to move `gates` past a stamp that one of them does not admit; or leaves that to the process that
/// is at it, where the true gate lets the stamp through.
pub fn wait_for_turn<S: ServerIdType>(
    shared: &'static Shared,
    gates: &Gates,
    scale: Scale,
    stamp: Stamp,
) -> Turn {
    match ExclusiveLock::take_unless(shared.lock(), || passes::<S>(&gates.last, scale, stamp)) {
        None => Turn::Passed(Pass::Last),
        Some(_) if passes::<S>(&gates.near, scale, stamp) => Turn::Passed(Pass::Near),
        Some(lock) => Turn::Mine(lock),
    }
}

/// Whether a gate lets a stamp through, or will close for a step back that it has been told of.
pub fn passes<S: ServerIdType>(gate: &Gate, scale: Scale, stamp: Stamp) -> bool {
    gate.admits::<S>(scale, stamp) && gate.goes_by::<S>(stamp)
}

/// Moves the server's own gates past a stamp that one of them does not admit, by the lead from now on.
///
/// # Errors
/// The state file cannot be written; then nothing has moved.
pub fn extend<S: ServerIdType>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
) -> Result<Pass, Report> {
    match wait_for_turn::<S>(shared, &shared.gates, scale, stamp) {
        Turn::Passed(pass) => Ok(pass),
        Turn::Mine(lock) => {
            extend_locked::<S>(shared, &lock, scale, stamp)?;
            Ok(Pass::Near)
        }
    }
}

/// Moves the server's own gates, with the lock held.
///
/// # Errors
/// As [`extend`].
pub fn extend_locked<S: ServerIdType>(
    shared: &'static Shared,
    _lock: &ExclusiveLock,
    scale: Scale,
    stamp: Stamp,
) -> Result<(), Report> {
    let (gates, record) = (&shared.gates, &shared.record);
    if passes::<S>(&gates.near, scale, stamp) {
        return Ok(());
    }
    let now = now();
    server_log::clock_ahead(&shared.rate_limits, now, &record.written, &record.written_since_boot);
    let from = now.max(scale.nanos(stamp.tick::<S>()));
    // A session that still counts from a later epoch than others do by now meets ticks of theirs.
    let earliest = record.epoch(S::PLACE);
    if let Some(earliest) = earliest.filter(|&earliest| earliest < scale.epoch())
        && from.0 - now.0 > scale.unit()
    {
        return Err(epoch_later(S::NAME, earliest, scale.epoch()));
    }
    let lead = gate::lead(guc::horizon_lead(), record.took());
    gates.extend::<S, _>(stamp, from, lead, |horizon| {
        write(record, horizon, record.names(), record.epochs(), now)
    })?;
    record.extended.store(now.0, Ordering::Relaxed);
    server_log::slow_write(
        &shared.rate_limits,
        Duration::from_nanos(record.took.load(Ordering::Relaxed)),
        lead,
    );
    Ok(())
}

/// Takes over what there is of a state on a superuser's word that the clock is right, past all IDs
/// that were made. False where there is nothing to accept.
///
/// # Errors
/// A later version wrote the file, or it cannot be read or written.
pub fn accept(shared: &'static Shared) -> Result<bool, Report> {
    guc::ensure_known()?;
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    if shared.record.loaded() || load(shared).is_ok() {
        return Ok(false);
    }
    let now = now();
    let state = match file::read() {
        // Down for too long.
        Ok(Some(state)) if state.system_identifier == replayed::system_identifier() => Some(state),
        // Of another cluster, as after pg_upgrade: its IDs may be in this one.
        Ok(Some(state)) => {
            Some(State { horizon: state.horizon.raised(now), since: state.since.max(now), ..state })
        }
        Err(StateFileError::Missing | StateFileError::Damaged(_)) => Some(fresh(now)),
        Ok(None) => None,
        Err(trouble) => return Err(trouble.into()),
    };
    let state = State { written: now, ..known(shared, state)? };
    write(&shared.record, state.horizon, state.names, state.epochs, state.since)?;
    take_over(shared, &state);
    Ok(true)
}

fn epoch_later(name: &str, earliest: UnixNanos, epoch: UnixNanos) -> Report {
    Report::wrong_state(format!(
        "{name} IDs with the epoch {} could repeat earlier ones",
        instant(epoch)
    ))
    .detail(format!("IDs were generated with the epoch {}.", instant(earliest)))
    .hint("Set \"flakeid.epoch\" to that time.")
}
