//! The horizon: no ID repeats when memory is lost.
//!
//! The horizon is the persisted high-water mark of time. A server generates an ID only for a time
//! before it, and begins above it when its memory is new: after a crash, a restart, a promotion or
//! a restore. It is in the state file and in the WAL. A session moves it about once in three
//! quarters of `flakeid.horizon_lead`; a clean stop makes it exact. Without a valid file there are
//! no IDs.
//!
//! # Which process writes what
//! * The gate ([`flakeid_core::gate`]) is in shared memory, and [`crate::shmem::OpenedState`]
//!   beside it has the horizon when shared memory was initialized. Both change under the server's
//!   lock alone.
//! * The state file ([`mod@file`]) changes under the same lock, by the session that meets the gate;
//!   and by the postmaster when it ends, which is alone then.
//!
//! # The argument
//! 1. *An ID is generated only for a time before the durable horizon.* Gate and cell ensure it;
//!    here [`extend`] writes the file, synced, before the gate opens. A write that fails leaves the
//!    gate where it is. The disk has the old file or the new one then; both are at or past the
//!    gate.
//! 2. *New memory begins above the horizon.* That is the case after a crash of a backend
//!    (PostgreSQL sets up shared memory again), of the postmaster or of the machine, and after a
//!    stop of any kind. The first process that needs the state reads the file, and all cells begin
//!    at it. The clock is past it, or at most `flakeid.horizon_lead` before it, unless it has
//!    stepped back. The only way to the cells is through [`open`], and the only way through that is
//!    with the file.
//! 3. *A file that differs from what this server wrote last gives no IDs.* Damaged, of another
//!    cluster, of a later version, unreadable, behind a link, or gone while its directory exists:
//!    all are errors, until the file is back or a superuser accepts the clock ([`accept`]). Only if
//!    the directory is missing too there never was a state; then IDs begin after what the clock
//!    shows, unless the server is on a later WAL timeline without having seen why ([`lineage`]).
//! 4. *A clean stop is exact.* The postmaster ends after all its children. It seals every cell and
//!    writes what the cells issued since shared memory was initialized, but not the times at which
//!    they began. Such a time is that of the horizon that the file had, or a high-water mark in
//!    etcd, below which other servers have issued and which stays there. The seal keeps the file
//!    true even if a process had outlived the postmaster. If the library is not preloaded, the
//!    postmaster does not know it. There the last session that leaves does it, under the lock, when
//!    no other session is counted as a user. It may do so, as the next session finds the gate moved
//!    down with the file.
//! 5. *A standby begins above what its primary issued.* A standby issues nothing. Its state file is
//!    as old as its base backup or its last restart point. But each move of the primary's horizon
//!    is in the WAL before the IDs that it lets through, and the standby replays it ([`wal`]). So a
//!    server that was promoted, or was recovered from a backup, begins above all IDs that the WAL
//!    which it replayed can know of, even if clocks were wrong. It also begins after the latest
//!    time of a transaction that it replayed, or of a message from the primary: for a primary whose
//!    flakeid is too old to write its horizon into the WAL. A worker reads these times five times a
//!    second. It writes the greatest into the state file, plus the lead, and exactly when recovery
//!    ends ([`recovery`]). This server cannot know what the primary generated after that: such IDs
//!    are safe if this server's clock is not behind the last of them. If the library was not
//!    preloaded, nothing sees the messages: see [`lineage`].
//! 6. *An epoch that moves never brings a tick back.* The file holds the earliest epoch with which
//!    IDs of an ID type were issued, written before the first of them; floors are counted from it.
//!    With a later epoch the ticks would come again: that is refused at once ([`mod@epoch`]).
//! 7. *A server keeps the names that it chose.* If no setting gives guid's node or flake128's
//!    worker, they are chosen at random with the state, and are in its file. The file is written
//!    before the first ID of an ID type ([`open`]), so no ID has a name that a crash erases. One
//!    cell serves each of these ID types under any name: if the name changes, IDs of one tick still
//!    differ by their sequence number.
//! 8. *Backends of a dead postmaster are harmless.* They may continue with the statement they are
//!    in, and move the gate. A new postmaster does not start before they have released the shared
//!    memory: PostgreSQL ensures it by the segment that `postmaster.pid` names.
//!
//! # What it costs
//! Two syncs, and 104 bytes of WAL, for every three quarters of `flakeid.horizon_lead` in which IDs
//! are generated, by one of the sessions, while the others continue ([`Gates`]). A server that
//! generates no IDs writes nothing. After a crash, and after a promotion, the server waits for at
//! most that lead, and so much of the time in IDs is never used. If both of the last two writes
//! took longer than half the lead, the next horizon is ahead by twice what the faster one took, up
//! to [`gate::MAX_LEAD_FOR_DISK`].
//!
//! # What does not carry over
//! `pg_upgrade` copies no directory of an extension: the new cluster begins after what the clock
//! shows, and rule 4 of [`mod@epoch`] is about flakes of 0.6 in it. A copied `flakeid` directory is
//! that of another cluster, which [`accept`] adopts with its horizon. `pg_rewind` takes the
//! source's file, as it takes all else; the IDs of the tail that it discards are those that this
//! server cannot know of in point 5.

mod epoch;
pub mod file;
mod lineage;
mod location;
mod message;
mod opening;
mod recovery;
mod replayed;
mod shutdown;
mod wal;

use crate::clock::now;
use crate::error::Report;
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::no_randomness;
use crate::lock::ExclusiveLock;
use crate::shmem::{Gates, Shared, Start, shared};
use crate::{guc, server_log};
use file::{PersistedState, StateFileError};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{self, CellInit, Gate, Horizon};
use flakeid_core::generator::Stamp;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_formats::state::Names;
use opening::{
    begin_at, check_cluster, ensure_covered, ensure_not_moved, install_state, load, merge_replayed,
    present_state, write,
};

pub use epoch::{ensure_agrees, is_epoch_unknown, server_epoch, unknown_epoch, wrong_line};
pub use file::{denied_code, directory};
pub use opening::begin_with_extension;
pub use replayed::ensure_not_in_recovery;
pub use replayed::system_identifier;
pub use shutdown::{add_user, remove_user, stop};
pub use wal::{MessageKind, ReplayHandler, replay_with};

/// Installs the check of an epoch before it is set, in each process that loads the library.
pub fn watch_epoch() {
    guc::check_epoch_with(epoch::check_new);
}

/// Installs what observes recovery and changes of the epoch, while libraries are preloaded.
pub fn register() {
    guc::call_after_change(epoch::publish);
    wal::register();
    recovery::register();
}

/// Returns how a new cell of the ID type with this index begins: above the horizon, and above the
/// high-water mark with which its generator ID was leased (0 if it is not leased). The state has
/// been [`open`]ed for the ID type, if the cell is to issue.
pub fn cell_init(start: &Start, id_type: usize, high_water_mark: UnixNanos) -> CellInit {
    let entry = &ID_TYPES[id_type];
    let (horizon, scale) = (start.horizon.raised(high_water_mark), (entry.scale)());
    let earliest = start.epochs[id_type].unwrap_or(scale.epoch());
    let tick = |moment| scale.tick(moment);
    CellInit {
        floors: (entry.floors)(horizon, scale.counted_from(earliest)),
        toggle: horizon.toggle,
        last_clock_reading: tick(start.last_clock_reading).unwrap_or(Tick(0)),
        now: tick(now()),
    }
}

/// Returns the state with which shared memory was initialized, or would be if a session opened the
/// state now. It opens nothing and writes nothing.
///
/// # Errors
/// The errors of [`ensure_loaded`].
pub fn peek(shared: &Shared) -> Result<Start, Report> {
    if shared.opened.loaded() {
        return Ok(shared.opened.start());
    }
    guc::ensure_known()?;
    Ok(Start::from(&begin_at(shared, check_cluster(file::read()?)?)?))
}

/// Checks that the last attempt to write the state succeeded, for a session that has to write it
/// now.
///
/// # Errors
/// The error of that attempt, with another action in its text. It stays until a write succeeds,
/// also if its cause is gone.
pub fn ensure_writable(shared: &Shared) -> Result<(), Report> {
    let errno = shared.writes.current_failure_errno();
    errno.map_or(Ok(()), |errno| Err(StateFileError::last_write(errno).into()))
}

/// Lets a sealed cell of the ID type with this index issue again: above the horizon, a
/// high-water mark, and all that it has issued. Shared memory keeps what the cell has issued, for
/// the exact horizon. The caller holds the lock.
pub fn revive(shared: &Shared, id_type: usize, cell: &Cell, high_water_mark: UnixNanos) {
    if !cell.is_sealed() {
        return;
    }
    let entry = &ID_TYPES[id_type];
    let issued = (entry.issued)(cell);
    if issued != [Tick(0); 2] {
        let scale = entry.scale_from(earliest(shared, id_type));
        shared.opened.add_issued((entry.covering)(Horizon::NONE, scale, issued));
    }
    (entry.revive)(cell, cell_init(&shared.opened.start(), id_type, high_water_mark));
}

/// Returns the earliest epoch with which IDs of the ID type with this index were issued; its
/// present one if there are no such IDs.
pub fn earliest(shared: &Shared, id_type: usize) -> UnixNanos {
    shared.opened.epoch(id_type).unwrap_or((ID_TYPES[id_type].scale)().epoch())
}

/// Ensures that the state is on disk, and with it the directory of flakeid's files.
///
/// # Errors
/// The errors of [`open`].
pub fn make_durable(shared: &Shared) -> Result<(), Report> {
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    if !shared.opened.loaded() {
        load(shared)?;
    }
    if file::read()?.is_none() {
        let (horizon, read_at) = (shared.gates.horizon(), shared.opened.last_clock_reading());
        write(shared, &present_state(shared, horizon, read_at))?;
    }
    Ok(())
}

/// Writes the present horizon into the WAL. The state has been opened.
///
/// After a crash it can be that the horizon is in the state file and not in the WAL: the message
/// about its last move was not flushed. No ID needs the message then, as each ID moves the horizon
/// again. A watermark does: it can be up to that horizon, and a standby that knows it must begin
/// above it when it is promoted.
pub fn log_horizon(shared: &Shared) {
    // A horizon that another process is moving is greater, and has a message of its own.
    message::write(&HorizonMessage {
        horizon: shared.gates.horizon(),
        read_at: shared.opened.last_clock_reading(),
        flake_epoch: shared.opened.epoch(Flake::INDEX),
    });
}

/// Returns the random names of this server. They are as durable as the horizon before the first ID
/// that has them.
///
/// # Errors
/// The errors of [`open`]; and an error if the server is in recovery and has not opened its state.
pub fn names(function: &'static str) -> Result<Names, Report> {
    let shared = shared()?;
    if !shared.opened.loaded() {
        ensure_not_in_recovery(function)?;
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !shared.opened.loaded() {
            load(shared)?;
        }
    }
    shared.opened.names().ok_or_else(no_randomness)
}

/// Returns the random names of this server if the state has been read.
pub fn known_names() -> Option<Names> {
    shared().ok()?.opened.names()
}

/// Reads the state, unless a process has read it already.
///
/// # Errors
/// The state file cannot be read or written; this process does not know the server's settings; or
/// the server was down for too long.
pub fn ensure_loaded(shared: &Shared) -> Result<(), Report> {
    if !shared.opened.loaded() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if !shared.opened.loaded() {
            load(shared)?;
        }
    }
    Ok(())
}

/// Opens the state for the IDs of an ID type with its present epoch: reads it, and makes that epoch
/// durable.
///
/// # Errors
/// The errors of [`ensure_loaded`]; or the server cannot count from that epoch: see [`mod@epoch`].
pub fn open<S: ServerIdType>(shared: &'static Shared) -> Result<(), Report> {
    let (opened, index) = (&shared.opened, S::INDEX);
    ensure_loaded(shared)?;
    let ours = S::scale().epoch();
    let is_flake = index == Flake::INDEX;
    if is_flake {
        ensure_agrees(Some(shared))?;
    }
    let must_write = || opened.epoch(index).is_none_or(|earliest| ours < earliest);
    if must_write() {
        let _lock = ExclusiveLock::take_interruptibly(shared.lock());
        if is_flake {
            ensure_agrees(Some(shared))?;
            epoch::ensure_in_force(shared, ours)?;
        }
        if must_write() {
            if is_flake {
                epoch::log_disagreement(shared);
            }
            let horizon = shared.gates.horizon();
            let mut state = present_state(shared, horizon, opened.last_clock_reading());
            state.epochs[index] = Some(ours);
            write(shared, &state)?;
            opened.set_epoch(index, ours);
        }
    }
    Ok(())
}

/// Returns whether the state has IDs of an ID type, with its present epoch.
pub fn is_open<S: ServerIdType>(shared: &Shared) -> bool {
    shared.opened.epoch(S::INDEX) == Some(S::scale().epoch())
}

/// Moves the server's own gates for readers of the watermark: so that they are past a time, which
/// is at or before that of the clock. Returns the horizon of ID types with one timeline.
///
/// # Errors
/// The state file cannot be written; then the gates have not moved.
pub fn extend_to(shared: &'static Shared, time: UnixNanos) -> Result<UnixNanos, Report> {
    let durable = || shared.gates.hard.horizon().until[0];
    if time <= durable() {
        return Ok(durable());
    }
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    if time <= durable() {
        return Ok(durable());
    }
    let now = now();
    advance::<Flake>(shared, Stamp::FIRST, now, now.max(time))?;
    Ok(durable())
}

/// The gate by which a session continues after it has met one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateChoice {
    /// The soft gate, as usual.
    Soft,
    /// The hard gate: another process is moving both.
    Hard,
    /// No gate lets the stamp through. The lease of the generator IDs ends before it, and must be
    /// renewed first; or the clock has stepped back, and must come nearer to the stamp.
    WaitForLease,
}

/// The outcome of a request for the lock under which gates move.
pub enum Turn {
    /// The session need not move the gates any more.
    Passed(GateChoice),
    /// The session holds the lock, and must move the gates.
    Mine(ExclusiveLock),
}

/// Waits for the lock, to move `gates` past a stamp that one of them does not admit. If another
/// process is moving them and the hard gate lets the stamp through, the session leaves that to the
/// other process.
pub fn wait_for_turn<S: ServerIdType>(
    shared: &'static Shared,
    gates: &Gates,
    scale: Scale,
    stamp: Stamp,
) -> Turn {
    match ExclusiveLock::take_unless(shared.lock(), || passes::<S>(&gates.hard, scale, stamp)) {
        None => Turn::Passed(GateChoice::Hard),
        Some(_) if passes::<S>(&gates.soft, scale, stamp) => Turn::Passed(GateChoice::Soft),
        Some(lock) => Turn::Mine(lock),
    }
}

/// Returns whether a gate admits a stamp and is in its timeline. A cell changes to the other
/// timeline only after the gate.
pub fn passes<S: ServerIdType>(gate: &Gate, scale: Scale, stamp: Stamp) -> bool {
    gate.admits::<S>(scale, stamp) && gate.timeline_matches::<S>(stamp)
}

/// Moves the server's own gates past a stamp that one of them does not admit, to the lead from now
/// on.
///
/// # Errors
/// The state file cannot be written; then the gates have not moved.
pub fn extend<S: ServerIdType>(
    shared: &'static Shared,
    scale: Scale,
    stamp: Stamp,
) -> Result<GateChoice, Report> {
    match wait_for_turn::<S>(shared, &shared.gates, scale, stamp) {
        Turn::Passed(pass) => Ok(pass),
        Turn::Mine(lock) => {
            extend_locked::<S>(shared, &lock, scale, stamp)?;
            Ok(GateChoice::Soft)
        }
    }
}

/// Moves the server's own gates, with the lock held.
///
/// # Errors
/// The errors of [`extend`].
pub fn extend_locked<S: ServerIdType>(
    shared: &'static Shared,
    _lock: &ExclusiveLock,
    scale: Scale,
    stamp: Stamp,
) -> Result<(), Report> {
    if passes::<S>(&shared.gates.soft, scale, stamp) {
        return Ok(());
    }
    let now = now();
    server_log::clock_ahead(
        &shared.rate_limits,
        now,
        &shared.writes.written_at,
        &shared.writes.written_since_boot,
    );
    let from = now.max(scale.nanos(stamp.tick::<S>()));
    // A session that still counts from a later epoch than others by now meets ticks of theirs.
    let earliest = shared.opened.epoch(S::INDEX);
    if let Some(earliest) = earliest.filter(|&earliest| earliest < scale.epoch())
        && from.0 - now.0 > scale.unit()
    {
        return Err(epoch::later(earliest, scale.epoch()));
    }
    advance::<S>(shared, stamp, now, from)
}

/// Moves the server's own gates past a stamp, to the lead after `from`. The caller holds the lock,
/// and has read the clock as `now`.
///
/// # Errors
/// The errors of [`extend`].
fn advance<S: ServerIdType>(
    shared: &Shared,
    stamp: Stamp,
    now: UnixNanos,
    from: UnixNanos,
) -> Result<(), Report> {
    let lead = gate::lead(guc::horizon_lead(), shared.writes.took());
    shared.gates.extend::<S, _>(stamp, from, lead, |horizon| {
        write(shared, &present_state(shared, horizon, now))
    })?;
    shared.opened.set_last_clock_reading(now);
    let [took, _] = shared.writes.took();
    server_log::slow_write(&shared.rate_limits, took, lead);
    Ok(())
}

/// Adopts the state that exists. A superuser vouches that the clock is right, past all IDs that
/// were issued. Returns false if there is nothing to accept.
///
/// # Errors
/// A later version wrote the file, or it cannot be read or written; or it is lost, and nothing
/// tells flake's epoch.
pub fn accept(shared: &'static Shared) -> Result<bool, Report> {
    guc::ensure_known()?;
    let _lock = ExclusiveLock::take_interruptibly(shared.lock());
    if shared.opened.loaded() || load(shared).is_ok() {
        return Ok(false);
    }
    // The clock is what the superuser vouches for.
    let (now, on_disk) = (now(), file::read());
    let has_state = matches!(on_disk, Ok(Some(_)));
    ensure_not_moved(shared, on_disk.as_ref().ok().copied().flatten())?;
    let mut lost = None;
    let ours = |state: &PersistedState| state.system_identifier == replayed::system_identifier();
    let state = match on_disk {
        // The server was down for too long.
        Ok(Some(state)) if ours(&state) && ensure_covered(shared, Some(state)).is_ok() => {
            Some(state)
        }
        // The library has not seen all that was recovered. Or the file is from another cluster, as
        // after pg_upgrade: its IDs may be in this one.
        Ok(Some(state)) => Some(PersistedState {
            horizon: state.horizon.raised(now),
            last_clock_reading: state.last_clock_reading.max(now),
            ..state
        }),
        Ok(None) => {
            lost = ensure_covered(shared, None).err();
            None
        }
        Err(error @ (StateFileError::Missing | StateFileError::Damaged(_))) => {
            lost = Some(error.into());
            None
        }
        Err(error) => return Err(error.into()),
    };
    let mut state = PersistedState { written_at: now, ..merge_replayed(shared, state)? };
    if let Some(failure) = lost {
        state.epochs = epoch::epochs_without_state(state.epochs, failure)?;
    }
    location::log_move(has_state);
    write(shared, &state)?;
    install_state(shared, &state);
    Ok(true)
}
