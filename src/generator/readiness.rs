//! Whether a session would get an ID now, found out without generating one.
//!
//! The checks are those of a session before its first ID. Then comes a rehearsal: copies of the
//! server's cells issue to a new session through a closed gate. A stamp that meets only the gate is
//! one that a session would get. So this writes no file, moves no gate, changes no cell and no
//! counter, and takes no lock that a session holds while it writes. Before a session has opened the
//! state, this reads flakeid's files.
//!
//! # What it cannot know
//! * Whether the next write of the state succeeds. If the last one failed, and a session has to
//!   write, it reports that failure until a write succeeds. Its text says "write" also if a session
//!   would fail at another step.
//! * How long a session waits for another one that writes, on a disk that hangs.
//! * On a server without a worker that leases generator IDs: whether the first session can start
//!   one.
//! * How other sessions differ: it reports what holds for a new session with the settings of the
//!   one that asks.

use super::cells::{CellKey, Identity, Issuer, keys_of, refuse_other_epoch};
use super::source::{Ahead, before_epoch, clock_behind, ended, ensure_in_time, first_tick};
use crate::clock::{now, since_boot};
use crate::error::Report;
use crate::lease::{self, LeaseError};
use crate::shmem::{self, LeaseState, LeaseStatus, Shared, Start};
use crate::{guc, horizon, watermark};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::{Gate, Horizon, Limits};
use flakeid_core::generator_ids::GeneratorIdSource;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use std::time::Duration;

/// Whether this server can generate IDs of one type.
#[derive(Debug)]
pub struct Readiness {
    pub id_type: &'static str,
    /// Whether the server has generated IDs of the type, by its state; `None` if the state cannot
    /// be opened.
    pub is_used: Option<bool>,
    /// The error that a session would get.
    pub obstacle: Option<Report>,
}

/// Returns whether a session would get an ID of a type now.
pub fn readiness<S: Issuer>() -> Readiness {
    let opened = shmem::shared().and_then(|shared| Ok((shared, horizon::peek(shared)?)));
    let is_used = opened.as_ref().ok().map(|(_, start)| start.epochs[S::INDEX].is_some());
    let outcome = guc::ensure_usable(S::IS_NUMBERED).and_then(|()| {
        let (shared, start) = opened?;
        ensure_ready::<S>(shared, &start)
    });
    Readiness { id_type: S::NAME, is_used, obstacle: outcome.err() }
}

fn ensure_ready<S: Issuer>(shared: &'static Shared, start: &Start) -> Result<(), Report> {
    ensure_in_time::<S>(shared)?;
    let Some(SessionKeys { keys, lease }) = keys::<S>(shared)? else { return Ok(()) };
    // Before its first ID an ID type writes down its epoch.
    let ours = S::scale().epoch();
    if start.epochs[S::INDEX].is_none_or(|earliest| ours < earliest) {
        horizon::ensure_writable(shared)?;
    }
    shared.ensure_room(S::INDEX, keys.iter().map(|of| of.key))?;
    let cells: Vec<Cell> = keys
        .iter()
        .map(|of| {
            let leased = lease.iter().flat_map(LeaseState::held).find(|held| held.id == of.key);
            let high_water_mark = leased.map_or(UnixNanos(0), |leased| leased.high_water_mark);
            copy::<S>(shared, start, of.key, high_water_mark)
        })
        .collect();
    let cells: Vec<_> = IssuingCell::numbered(&cells).collect();
    rehearse::<S>(shared, start, &cells, lease.as_ref())
}

/// The keys of a session, and the lease by which the server has their generator IDs.
struct SessionKeys {
    keys: Vec<CellKey>,
    lease: Option<LeaseState>,
}

/// Returns a session's keys; `None` if the first session that asks must start the worker that
/// leases them.
///
/// # Errors
/// The server has no generator IDs now, or they are too large for the ID type.
fn keys<S: Issuer>(shared: &Shared) -> Result<Option<SessionKeys>, LeaseError> {
    let fixed = |keys| Some(SessionKeys { keys, lease: None });
    match (S::IDENTITY, guc::owned()) {
        // The node of a guid makes no difference to its cell, and reading it would open the state.
        (Identity::Node(_), _) => Ok(fixed(vec![CellKey { key: 0, generator_id: 0 }])),
        (Identity::Lanes(lanes), _) => Ok(fixed(keys_of::<S>(&(0..lanes).collect::<Vec<_>>())?)),
        (_, None | Some(GeneratorIdSource::Unassigned)) => Err(guc::no_generator_ids().into()),
        (_, Some(GeneratorIdSource::Fixed(ids))) => {
            match shared.lease.admits_fixed(guc::identity_fingerprint()) {
                true => Ok(fixed(keys_of::<S>(ids.as_slice())?)),
                false => Err(LeaseError::StillLeased),
            }
        }
        (_, Some(GeneratorIdSource::Leased(_))) => {
            let lease = shared.lease_snapshot();
            if lease.status == LeaseStatus::Off && !shared.lease.has_worker() {
                return Ok(None);
            }
            if !lease.is_usable(since_boot()) {
                return Err(lease::not_leased(&lease));
            }
            refuse_other_epoch::<S>(&lease)?;
            let ids: Vec<u16> = lease.held().iter().map(|held| held.id).collect();
            Ok(Some(SessionKeys { keys: keys_of::<S>(&ids)?, lease: Some(lease) }))
        }
    }
}

/// Returns a cell that issues what the server's cell of this key would issue.
fn copy<S: Issuer>(
    shared: &'static Shared,
    start: &Start,
    key: u16,
    high_water_mark: UnixNanos,
) -> Cell {
    let init = || horizon::cell_init(start, S::INDEX, high_water_mark);
    match shared.find(S::INDEX, key) {
        Some(cell) => {
            let copy = cell.copy();
            // A session would do this to a sealed cell.
            copy.revive::<S>(init());
            copy
        }
        None => {
            let cell = Cell::after::<S>(Tick(0));
            cell.begin::<S>(init());
            cell
        }
    }
}

/// Lets a session ask the copies of the cells for an ID.
///
/// # Errors
/// The error with which the session would end, or for which it would wait too long.
fn rehearse<S: Issuer>(
    shared: &Shared,
    start: &Start,
    cells: &[IssuingCell<'_>],
    lease: Option<&LeaseState>,
) -> Result<(), Report> {
    let (scale, rules) = (S::scale(), S::rules());
    let least = first_tick(scale, watermark::peek_floor(start)?);
    let mut session = Session::new(0, cells.len());
    session.issue_from::<S>(cells, least);
    let toggle = match shared.opened.loaded() {
        true => shared.gates.horizon().toggle,
        false => start.horizon.toggle,
    };
    let gate = Gate::at(Horizon { toggle, ..Horizon::NONE });
    let mut clock = || S::tick(scale, now());
    // A session waits for a tick, if not for too long.
    let reach = |until: Tick| {
        let longest = guc::max_clock_wait();
        let patience = longest.max(start.recovery_left::<S>(guc::horizon_lead()));
        let left = Duration::from_nanos(scale.nanos(until).0.saturating_sub(now().0));
        if left <= patience + Duration::from_nanos(2 * scale.unit()) {
            return Ok(());
        }
        let ahead = if until <= least { Ahead::Watermark } else { Ahead::LastId };
        Err(clock_behind(S::NAME, left, longest, ahead))
    };
    loop {
        let limits = Limits::new(&rules, &gate, scale);
        return match session.next::<S>(cells, 1, limits, &mut clock) {
            // Each copy reports this once.
            Err(Stall::SteppedBack { .. }) => continue,
            Err(Stall::Gated(stamp)) => match lease {
                Some(lease) if scale.nanos(stamp.tick::<S>()) >= lease.limits.ceiling => {
                    match scale.nanos(stamp.tick::<S>()) > now() {
                        true => reach(stamp.tick::<S>()),
                        false => Err(lease::not_leased(lease).into()),
                    }
                }
                _ => {
                    let gates = if lease.is_some() { &shared.leased } else { &shared.gates };
                    match horizon::passes::<S>(&gates.soft, scale, stamp) {
                        true => Ok(()),
                        false => horizon::ensure_writable(shared),
                    }
                }
            },
            Err(Stall::Wait { until, .. }) => reach(until),
            Err(Stall::Ended) => Err(ended::<S>(shared, scale.start(rules.end))),
            Err(Stall::BeforeEpoch) => Err(before_epoch(S::NAME, scale.start(Tick(0)))),
            // No other process has the copies.
            Ok(_) | Err(Stall::Sealed | Stall::Outdated) => Ok(()),
        };
    }
}
