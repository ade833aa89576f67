//! Which cells a session issues from: those of the server's generator IDs, or the one of its node.

use crate::error::{Code, Report};
use crate::id_types::ServerIdType;
use crate::lease::{self, LeaseError};
use crate::lock::ExclusiveLock;
use crate::shmem::{Kept, Marked, Shared, shared};
use crate::{guc, horizon};
use flakeid_core::cell::Cell;
use flakeid_core::clock::UnixNanos;
use flakeid_core::generator_ids::Owned;

/// How the servers are told apart in an ID type.
#[derive(Clone, Copy, Debug)]
pub enum Identity {
    /// By generator IDs up to a largest, each with a cell of its own.
    GeneratorIds { max: u64 },
    /// By a number that all of a server's IDs have, from one cell.
    Node(fn() -> Result<u64, Report>),
}

/// An ID type that sessions issue.
pub trait Issuer: ServerIdType {
    const IDENTITY: Identity;
}

/// One of the node's cells of a system.
#[derive(Clone, Copy, Debug)]
pub struct Partition {
    /// By which it is found.
    key: u16,
    /// What its IDs have as generator ID, or as node.
    pub mark: u64,
}

/// A system's partitions on this node, by rising mark.
pub fn partitions<S: Issuer>() -> Result<Vec<Partition>, Report> {
    let ids = match (S::IDENTITY, guc::owned()) {
        // The cell is the same under each name that the node may have in turn.
        (Identity::Node(mark), _) => return Ok(vec![Partition { key: 0, mark: mark()? }]),
        (_, None) => return Err(guc::no_generator_ids()),
        (_, Some(Owned::Fixed(ids))) => {
            lease::set_cluster(None);
            ids.as_slice().to_vec()
        }
        (_, Some(Owned::Leased(_))) => {
            let shared = shared()?;
            horizon::ensure_not_in_recovery(S::NEXT)?;
            let kept = lease::wait(shared, |lock| lease::held(shared, &lock).copied())?;
            lease::set_cluster(Some(kept.cluster));
            kept.held().iter().map(|held| held.id).collect()
        }
    };
    numbered::<S>(&ids)
}

/// The partitions of these generator IDs.
fn numbered<S: Issuer>(ids: &[u16]) -> Result<Vec<Partition>, Report> {
    if let Identity::GeneratorIds { max } = S::IDENTITY
        && let Some(&id) = ids.iter().find(|&&id| u64::from(id) > max)
    {
        return Err(generator_too_large(S::NAME, id, max));
    }
    Ok(ids.iter().map(|&id| Partition { key: id, mark: id.into() }).collect())
}

/// The partitions with their cells, and the count of the lease's changes at that moment. A cell that was
/// sealed when its ID was given up is revived.
///
/// # Errors
/// [`LeaseError::NotLeased`] and others of [`partitions`].
pub(super) fn cells<S: Issuer>(shared: &'static Shared) -> Result<Cells, LeaseError> {
    let owned = guc::owned();
    match (S::IDENTITY, owned) {
        (Identity::GeneratorIds { .. }, Some(Owned::Leased(_))) => lease::wait(shared, |lock| {
            let kept = lease::held(shared, &lock)?;
            refuse_other_epoch::<S>(kept)?;
            let ids: Vec<u16> = kept.held().iter().map(|held| held.id).collect();
            let cells = found::<S>(shared, &lock, numbered::<S>(&ids)?, kept.held())?;
            lease::set_cluster(Some(kept.cluster));
            Ok(cells)
        }),
        _ => {
            let partitions = partitions::<S>()?;
            if let Some(cells) = there::<S>(shared, &partitions) {
                return Ok(cells);
            }
            let numbered = matches!(S::IDENTITY, Identity::GeneratorIds { .. });
            let fingerprint = guc::identity_fingerprint();
            let usable = |is_leased: bool| !is_leased && shared.lease.admits(fingerprint);
            lease::wait(shared, |lock| match numbered && !usable(lease::is_on(shared, &lock)) {
                true => Err(LeaseError::StillLeased),
                false => found::<S>(shared, &lock, partitions.clone(), &[]),
            })
        }
    }
}

/// The cells of these partitions where they are all there, as they mostly are: without the lock, which
/// another session may have while it writes the horizon.
fn there<S: Issuer>(shared: &'static Shared, partitions: &[Partition]) -> Option<Cells> {
    let generation = shared.lease.generation();
    let lease = &shared.lease;
    if matches!(S::IDENTITY, Identity::GeneratorIds { .. })
        && (lease.is_active() || !lease.admits(guc::identity_fingerprint()))
    {
        return None;
    }
    let cell = |partition: &Partition| {
        let cell = shared.find(S::PLACE, partition.key)?;
        (!cell.is_sealed()).then_some(cell)
    };
    let cells = partitions.iter().map(cell).collect::<Option<_>>()?;
    Some(Cells { partitions: partitions.to_vec(), cells, generation })
}

/// What a session issues from.
pub(super) struct Cells {
    pub partitions: Vec<Partition>,
    pub cells: Vec<&'static Cell>,
    pub generation: u64,
}

/// The cells of these partitions, brought in or revived above what their generator IDs were leased with.
fn found<S: Issuer>(
    shared: &'static Shared,
    lock: &ExclusiveLock,
    partitions: Vec<Partition>,
    leased: &[Marked],
) -> Result<Cells, LeaseError> {
    let cell = |partition: &Partition| {
        let marked = leased.iter().find(|leased| leased.id == partition.key);
        let mark = marked.map_or(UnixNanos(0), |held| held.mark);
        let begin = |cell: &Cell| cell.begin::<S>(horizon::start(shared, S::PLACE, mark));
        let cell = shared.cell(lock, S::PLACE, partition.key, begin)?;
        if !shared.lease.is_stopping() {
            horizon::revive(shared, S::PLACE, cell, mark);
        }
        Ok(cell)
    };
    let cells = partitions.iter().map(cell).collect::<Result<Vec<_>, Report>>()?;
    Ok(Cells { partitions, cells, generation: shared.lease.generation() })
}

/// Generator IDs go from server to server: they must all count from one epoch, or a later holder's ticks
/// would be an earlier one's.
fn refuse_other_epoch<S: Issuer>(kept: &Kept) -> Result<(), Report> {
    let epoch = S::scale().epoch();
    match S::NAME == flakeid_core::flake::NAME && epoch != kept.epoch {
        true => Err(lease::other_epoch(epoch, kept.epoch)),
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
