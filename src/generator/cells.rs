//! The cells from which a session issues: those of the server's generator IDs, or the one of its
//! node.

use crate::error::{Code, Report};
use crate::id_types::ServerIdType;
use crate::lease::{self, LeaseError};
use crate::lock::ExclusiveLock;
use crate::shmem::{LeaseState, LeasedId, Shared, shared};
use crate::{guc, horizon};
use flakeid_core::cell::Cell;
use flakeid_core::clock::UnixNanos;
use flakeid_core::generator_ids::GeneratorIdSource;
use flakeid_core::issuing_cell::IssuingCell;

/// The part of an ID that differs between servers.
#[derive(Clone, Copy, Debug)]
pub enum Identity {
    /// A generator ID, up to a largest one. Each has a cell of its own.
    GeneratorIds { max: u64 },
    /// A number that is the same in all IDs of a server. They come from one cell.
    Node(fn() -> Result<u64, Report>),
    /// Nothing but random bits. Every server has this many lanes, each with a cell of its own, so
    /// that its sessions do not change one cell. Lanes need no setting and no lease.
    Lanes(u16),
}

/// An ID type that sessions issue.
pub trait Issuer: ServerIdType {
    /// The part of its IDs that differs between servers.
    const IDENTITY: Identity;
}

/// A cell of one ID type, as this server knows it before it looks it up.
#[derive(Clone, Copy, Debug)]
pub struct CellKey {
    /// The key of the cell in shared memory.
    pub(super) key: u16,
    /// The generator ID in the IDs of the cell; or their node or worker, if the ID type has one
    /// cell for each server.
    pub generator_id: u64,
}

/// Returns the keys of this server's cells of an ID type, in ascending order of generator IDs.
///
/// # Errors
/// The generator IDs are unknown, not leased now, or too large for the ID type; or the node is
/// unknown.
pub fn cell_keys<S: Issuer>() -> Result<Vec<CellKey>, Report> {
    let ids = match (S::IDENTITY, guc::owned()) {
        // The cell stays the same if the node changes.
        (Identity::Node(node), _) => {
            return Ok(vec![CellKey { key: 0, generator_id: node()? }]);
        }
        (Identity::Lanes(lanes), _) => return keys_of::<S>(&(0..lanes).collect::<Vec<_>>()),
        (_, None | Some(GeneratorIdSource::Unassigned)) => {
            return Err(guc::no_generator_ids());
        }
        (_, Some(GeneratorIdSource::Fixed(ids))) => {
            lease::set_cluster(None);
            ids.as_slice().to_vec()
        }
        (_, Some(GeneratorIdSource::Leased(_))) => {
            let shared = shared()?;
            horizon::ensure_not_in_recovery(S::NEXT)?;
            let state = lease::wait(shared, |lock| lease::held(shared, &lock).copied())?;
            lease::set_cluster(Some(state.cluster));
            state.held().iter().map(|held| held.id).collect()
        }
    };
    keys_of::<S>(&ids)
}

/// Returns the keys of these generator IDs.
pub(super) fn keys_of<S: Issuer>(ids: &[u16]) -> Result<Vec<CellKey>, Report> {
    if let Identity::GeneratorIds { max } = S::IDENTITY
        && let Some(&id) = ids.iter().find(|&&id| u64::from(id) > max)
    {
        return Err(generator_too_large(S::NAME, id, max));
    }
    Ok(ids.iter().map(|&id| CellKey { key: id, generator_id: id.into() }).collect())
}

/// Returns the cells from which a session issues. A cell that was sealed when its generator ID was
/// given up is revived.
///
/// # Errors
/// [`LeaseError::NotLeased`] and the errors of [`cell_keys`].
pub(super) fn cells<S: Issuer>(shared: &'static Shared) -> Result<Cells, LeaseError> {
    let owned = guc::owned();
    match (S::IDENTITY, owned) {
        (Identity::GeneratorIds { .. }, Some(GeneratorIdSource::Leased(_))) => {
            lease::wait(shared, |lock| {
                let state = lease::held(shared, &lock)?;
                refuse_other_epoch::<S>(state)?;
                let ids: Vec<u16> = state.held().iter().map(|held| held.id).collect();
                let cells =
                    get_or_create_cells::<S>(shared, &lock, &keys_of::<S>(&ids)?, state.held())?;
                lease::set_cluster(Some(state.cluster));
                Ok(cells)
            })
        }
        _ => {
            let keys = cell_keys::<S>()?;
            if let Some(cells) = lookup_cells::<S>(shared, &keys) {
                return Ok(cells);
            }
            let is_numbered = matches!(S::IDENTITY, Identity::GeneratorIds { .. });
            let fingerprint = guc::identity_fingerprint();
            let usable = |is_leased: bool| !is_leased && shared.lease.admits(fingerprint);
            lease::wait(shared, |lock| match is_numbered && !usable(lease::is_on(shared, &lock)) {
                true => Err(LeaseError::StillLeased),
                false => get_or_create_cells::<S>(shared, &lock, &keys, &[]),
            })
        }
    }
}

/// Looks up the cells of these keys without the lock, which another session may hold while it
/// writes the horizon. Returns `None` if one is missing, which is rare.
fn lookup_cells<S: Issuer>(shared: &'static Shared, keys: &[CellKey]) -> Option<Cells> {
    let generation = shared.lease.generation();
    if matches!(S::IDENTITY, Identity::GeneratorIds { .. })
        && !shared.lease.admits_fixed(guc::identity_fingerprint())
    {
        return None;
    }
    let cell = |&CellKey { key, generator_id }: &CellKey| {
        let cell = shared.find(S::INDEX, key)?;
        (!cell.is_sealed()).then_some(IssuingCell { cell, generator_id })
    };
    let cells = keys.iter().map(cell).collect::<Option<_>>()?;
    Some(Cells { cells, generation })
}

/// The cells from which a session issues.
pub(super) struct Cells {
    /// The cells, in ascending order of generator IDs.
    pub cells: Vec<IssuingCell<'static>>,
    /// The generation of the server's identity for which the cells were looked up.
    pub generation: u64,
}

/// Returns the cells of these keys. A missing cell is created, and a sealed one is revived, above
/// the high-water mark with which its generator ID was leased.
fn get_or_create_cells<S: Issuer>(
    shared: &'static Shared,
    lock: &ExclusiveLock,
    keys: &[CellKey],
    leased: &[LeasedId],
) -> Result<Cells, LeaseError> {
    let start = shared.opened.start();
    let cell = |of: &CellKey| {
        let lease = leased.iter().find(|leased| leased.id == of.key);
        let high_water_mark = lease.map_or(UnixNanos(0), |leased| leased.high_water_mark);
        let begin =
            |cell: &Cell| cell.begin::<S>(horizon::cell_init(&start, S::INDEX, high_water_mark));
        let cell = shared.cell(lock, S::INDEX, of.key, begin)?;
        if !shared.lease.is_stopping() {
            horizon::revive(shared, S::INDEX, cell, high_water_mark);
        }
        Ok(IssuingCell { cell, generator_id: of.generator_id })
    };
    let cells = keys.iter().map(cell).collect::<Result<Vec<_>, Report>>()?;
    Ok(Cells { cells, generation: shared.lease.generation() })
}

/// Waits until this server holds generator IDs from a registry with the present epoch. Before that
/// the server does not know whether its default is the epoch of all servers.
///
/// # Errors
/// [`LeaseError::NotLeased`]; or the registry has another epoch.
pub(super) fn wait_for_lease<S: Issuer>(shared: &'static Shared) -> Result<(), LeaseError> {
    lease::wait(shared, |lock| Ok(refuse_other_epoch::<S>(lease::held(shared, &lock)?)?))
}

/// Refuses an epoch other than the namespace's. Generator IDs go from server to server. With
/// another epoch a later holder's ticks would be those of an earlier holder.
pub(super) fn refuse_other_epoch<S: Issuer>(state: &LeaseState) -> Result<(), Report> {
    let epoch = S::scale().epoch();
    match S::NAME == flakeid_core::flake::NAME && epoch != state.epoch {
        true => Err(lease::other_epoch(epoch, state.epoch)),
        false => Ok(()),
    }
}

fn generator_too_large(name: &str, id: u16, max: u64) -> Report {
    Report::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("generator ID {id} is too large for {name}"),
    )
    .detail(format!("A {name} has generator IDs from 0 to {max}."))
    .hint("Choose smaller generator IDs in \"flakeid.generator_ids\", or another ID type.")
}
