//! Plans: the ordered actions of a server on its lease. Each plan is a pure function of the lease,
//! a listing that [`trust`](super::trust) lets the server use, the settings and the clocks.
//!
//! # A listing that etcd has forgotten
//! A server claims a generator ID only if all that the claim depends on is still as it was listed.
//! But etcd can be restored to an older state between the listing and the claim. In that state
//! everything can be as it was listed, and etcd can have forgotten that another server has claimed
//! the same generator ID since. So a claim also depends on something that this server wrote into
//! etcd before the listing, and that no older state has:
//! * *A new lease* depends on itself. The server requests it, lists again, and only then claims. An
//!   etcd that was restored to a state from before the grant has no such lease, and refuses to bind
//!   a key to it.
//! * *A lease that this server holds already* depends on one of its claims. The server renews the
//!   lease, lists again, and claims only if that claim is as the renewal wrote it.
//!
//! One state could still mislead: it has the grant or the renewal but not the other server's claim,
//! which came after the listing. Someone would have to save and restore that state within one
//! lease: IDs that are claimed later are not used.
//!
//! # The order of effects
//! * The server remembers a registry, durably, before it claims anything there.
//! * It begins a grace period before it gives up what etcd has forgotten, so that no other server
//!   claims that first.
//! * It gives up generator IDs, with their cells sealed, before it writes their exact
//!   high-water marks.
//!
//! # A claim whose answer is lost
//! etcd may have done a claim whose answer does not arrive in time. If the server then revoked the
//! lease and began again, it would find high-water marks that are ahead by most of a lease,
//! although no ID was generated with them. It would take other generator IDs, or its sessions would
//! wait. So it makes the claim a second time with the same lease, and takes the first one as its
//! own. It does so only without a lease: a server that holds one must renew it in time.
//!
//! Claims that this server does not use can stay under its lease: orphans. For example, someone
//! deletes one claim of the first call before the second call. So the next renewals look for
//! orphans and delete them. If the pool has nothing to claim, orphans of the server itself may be
//! what fills it. So the server revokes an unused lease before it waits.

use super::action::{Action, Lease, MemoryPurpose, NewLease};
use super::listing::{ClaimRevision, HighWaterMark, Listing};
use super::memory::Memory;
use super::transaction::{Change, Holding, LeasedId};
use crate::clock::UnixNanos;
use crate::lease::choose;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

/// The number of generator IDs that one transaction claims at most: etcd takes 128 operations.
pub const MAX_CLAIMS_PER_TXN: usize = 32;

/// The settings of a server that leases.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The number of generator IDs to lease.
    pub wanted: usize,
    pub pool: RangeInclusive<u16>,
    pub namespace: &'a str,
    /// The duration that leases are requested for. etcd may grant a longer one.
    pub ttl: Duration,
    /// Flake's epoch.
    pub epoch: UnixNanos,
    pub endpoints: &'a [String],
}

/// Generator IDs that this server held by a lease that etcd has forgotten, with their exact
/// high-water marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    pub held: Vec<LeasedId>,
    /// The time since boot from which on they are like any other.
    pub deadline: Duration,
}

/// The thing that is due, as far as no listing is needed to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// Give these back, as the settings do not want them any more.
    Release(Vec<u16>),
    Renew,
    /// Claim this many.
    Claim(usize),
    /// Nothing before this time since boot.
    Rest(Duration),
}

/// Returns what is due. `requested_ttl` is the duration for which the lease was requested, and
/// `next_claim_at` the time since boot before which nothing is claimed beside what is held.
pub fn due(
    lease: Option<&Lease>,
    settings: &Settings<'_>,
    requested_ttl: Duration,
    is_renewal_requested: bool,
    next_claim_at: Duration,
    now: Duration,
) -> Due {
    let Some(lease) = lease else { return Due::Claim(settings.wanted) };
    if lease.namespace != settings.namespace
        || lease.epoch != settings.epoch
        || requested_ttl != settings.ttl
    {
        return Due::Release(lease.ids());
    }
    let (inside, outside): (Vec<u16>, Vec<u16>) =
        lease.ids().into_iter().partition(|id| settings.pool.contains(id));
    let surplus: Vec<u16> = inside.into_iter().skip(settings.wanted).chain(outside).collect();
    if !surplus.is_empty() {
        return Due::Release(surplus);
    }
    if is_renewal_requested || now >= lease.renewal() {
        return Due::Renew;
    }
    match settings.wanted - lease.held.len() {
        0 => Due::Rest(lease.renewal()),
        missing if now >= next_claim_at => Due::Claim(missing),
        _ => Due::Rest(lease.renewal().min(next_claim_at)),
    }
}

/// Which generator IDs a server claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Read these high-water marks first.
    Read(Vec<u16>),
    /// Claim these. Each has the high-water mark above which its IDs must be, and the revision of
    /// that.
    Claim(Vec<LeasedId>),
    /// There is nothing to claim.
    Nothing,
}

/// Returns the high-water mark of a generator ID as it was listed and read. Returns `None` if its
/// value is not a time.
fn high_water_mark(
    listing: &Listing,
    high_water_marks: &BTreeMap<u16, HighWaterMark>,
    id: u16,
) -> Option<LeasedId> {
    let revision = listing.mark_revisions.get(&id).copied().unwrap_or(0);
    let high_water_mark = match high_water_marks.get(&id) {
        Some(HighWaterMark { moment, .. }) => moment.as_ref().ok().copied()?,
        None => UnixNanos(0),
    };
    Some(LeasedId { id, high_water_mark, revision })
}

fn is_unread(listing: &Listing, high_water_marks: &BTreeMap<u16, HighWaterMark>, id: u16) -> bool {
    listing.mark_revisions.contains_key(&id) && !high_water_marks.contains_key(&id)
}

/// Chooses at most `want` generator IDs that are free, beginning at this place in the pool. Only
/// the high-water marks of those that may be chosen are read.
pub fn choose_free(
    listing: &Listing,
    high_water_marks: &BTreeMap<u16, HighWaterMark>,
    pool: &RangeInclusive<u16>,
    place: u16,
    want: usize,
    now: UnixNanos,
) -> Choice {
    let is_free = |id: u16| {
        !listing.taken.contains(&id) && high_water_mark(listing, high_water_marks, id).is_some()
    };
    let is_past = |id: u16| {
        high_water_mark(listing, high_water_marks, id)
            .is_some_and(|high_water_mark| high_water_mark.high_water_mark <= now)
    };
    let best = |number| choose(pool.clone(), place, number, is_free, is_past);
    let Some(chosen) = best(want.min(MAX_CLAIMS_PER_TXN)) else { return Choice::Nothing };
    let is_unread = |id: &u16| is_unread(listing, high_water_marks, *id);
    if !chosen.as_slice().iter().any(is_unread) {
        let chosen = chosen.as_slice().iter();
        return Choice::Claim(
            chosen.filter_map(|&id| high_water_mark(listing, high_water_marks, id)).collect(),
        );
    }
    // More than are wanted, so that few calls read a long run of high-water marks that are ahead.
    let candidates = best(MAX_CLAIMS_PER_TXN).unwrap_or(chosen);
    Choice::Read(candidates.as_slice().iter().copied().filter(is_unread).collect())
}

/// Chooses at most `want` generator IDs that this server may claim in a grace period: those that it
/// held until just now, and that are not claimed in etcd. Each has the least high-water mark that
/// it gets.
pub fn choose_forgotten(
    listing: &Listing,
    high_water_marks: &BTreeMap<u16, HighWaterMark>,
    forgotten: Option<&Forgotten>,
    want: usize,
    now: Duration,
) -> Choice {
    let Some(forgotten) = forgotten.filter(|forgotten| now < forgotten.deadline) else {
        return Choice::Nothing;
    };
    let is_free = |leased: &&LeasedId| !listing.taken.contains(&leased.id);
    let free: Vec<&LeasedId> = forgotten.held.iter().filter(is_free).collect();
    let ids = free.iter().map(|leased| leased.id);
    let unread = ids.filter(|&id| is_unread(listing, high_water_marks, id));
    let unread: Vec<u16> = unread.take(MAX_CLAIMS_PER_TXN).collect();
    if !unread.is_empty() {
        return Choice::Read(unread);
    }
    // The time of the last ID is unknown if a high-water mark is not a time.
    let raised = |leased: &&LeasedId| {
        let listed = high_water_mark(listing, high_water_marks, leased.id)?;
        let high_water_mark = leased.high_water_mark.max(listed.high_water_mark);
        Some(LeasedId { high_water_mark, ..listed })
    };
    let chosen = free.iter().filter_map(raised).take(want.min(MAX_CLAIMS_PER_TXN));
    match chosen.collect::<Vec<_>>() {
        chosen if chosen.is_empty() => Choice::Nothing,
        chosen => Choice::Claim(chosen),
    }
}

/// Returns which claims of a lease the listing does not have any more.
pub fn lost_claims(lease: &Lease, listing: &Listing) -> Vec<u16> {
    let ours = listing.claims_of(lease.lease);
    let is_ours = |id: &u16| ours.iter().any(|(ours, _)| ours == id);
    lease.ids().into_iter().filter(|id| !is_ours(id)).collect()
}

/// The lease for which generator IDs are claimed.
#[derive(Clone, Copy, Debug)]
pub enum ClaimFor<'a> {
    Held(&'a Lease),
    New(&'a NewLease),
    /// There is no lease yet.
    Nothing,
}

/// The arguments of [`claim`].
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub lease: ClaimFor<'a>,
    /// Whether this server wrote the lease, or renewed it, before the listing and in the same turn.
    pub is_fresh: bool,
    pub listing: &'a Listing,
    pub chosen: Vec<LeasedId>,
    pub uniqueid_cluster: u16,
    pub memory: Option<&'a Memory>,
    /// The memory that must be durable before the claim.
    pub remembered: Memory,
    /// The number and the duration of a lease that is requested.
    pub request: (i64, Duration),
}

/// Returns the actions that claim generator IDs, or that come before a claim.
pub fn claim(claim: Claim<'_>) -> Vec<Action> {
    let Claim { lease, is_fresh, listing, chosen, .. } = claim;
    let mut actions = Vec::new();
    if claim.memory != Some(&claim.remembered) {
        let purpose = MemoryPurpose::Claim;
        actions.push(Action::Remember { memory: claim.remembered, purpose });
    }
    let (number, since, ceiling, beside) = match lease {
        ClaimFor::Held(lease) if is_fresh => {
            (lease.lease, lease.since, lease.limits.ceiling, lease.held.first().copied())
        }
        ClaimFor::New(new) if is_fresh => (new.lease, new.sent.now, new.limits.ceiling, None),
        ClaimFor::Held(lease) => {
            let holding = lease.holding(lease.held.clone());
            actions.push(Action::Renew { holding, limits: lease.limits });
            return actions;
        }
        ClaimFor::New(_) | ClaimFor::Nothing => {
            let (lease, ttl) = claim.request;
            actions.push(Action::Grant { lease, ttl, at: None });
            return actions;
        }
    };
    let (etcd, cluster) = (listing.etcd, claim.uniqueid_cluster);
    let holding = Holding { etcd, cluster, lease: number, since, held: chosen };
    let change = Change::Claim { holding, ceiling, beside };
    actions.push(Action::Change { at: None, listed: listing.into(), change });
    actions
}

/// Returns the orphans of a lease: its claims that are not held, with their revisions.
pub fn orphans(lease: &Lease, listing: &Listing) -> Vec<ClaimRevision> {
    let is_held = |id: u16| lease.held.iter().any(|held| held.id == id);
    listing.claims_of(lease.lease).into_iter().filter(|&(id, _)| !is_held(id)).collect()
}

/// Returns the actions that delete orphans, and how many of them cannot be deleted: those whose
/// high-water mark is not known.
pub fn delete_orphans(
    lease: &Lease,
    listing: &Listing,
    high_water_marks: &BTreeMap<u16, HighWaterMark>,
) -> (Vec<Action>, usize) {
    let orphans = orphans(lease, listing);
    let unread: Vec<u16> = orphans
        .iter()
        .map(|&(id, _)| id)
        .filter(|&id| is_unread(listing, high_water_marks, id))
        .take(MAX_CLAIMS_PER_TXN)
        .collect();
    if !unread.is_empty() {
        return (vec![read(listing, unread)], 0);
    }
    let known = orphans.iter().filter_map(|&(id, revision)| {
        let high_water_mark = high_water_mark(listing, high_water_marks, id)
            .filter(|high_water_mark| high_water_mark.revision != 0)?;
        Some(LeasedId { revision, ..high_water_mark })
    });
    let releases: Vec<Action> = known
        .map(|orphan| {
            let change = Change::Release(lease.holding(vec![orphan]));
            Action::Change { at: None, listed: listing.into(), change }
        })
        .collect();
    let unknown = orphans.len() - releases.len();
    (releases, unknown)
}

/// Returns the actions that write the exact high-water marks of generator IDs that etcd has
/// forgotten, as far as it has lower ones.
pub fn finalize_forgotten(
    cluster: u16,
    gone: &[LeasedId],
    listing: &Listing,
    high_water_marks: &BTreeMap<u16, HighWaterMark>,
) -> Vec<Action> {
    let ids = gone.iter().map(|gone| gone.id);
    let unread: Vec<u16> = ids
        .filter(|&id| is_unread(listing, high_water_marks, id))
        .take(MAX_CLAIMS_PER_TXN)
        .collect();
    if !unread.is_empty() {
        return vec![read(listing, unread)];
    }
    let lower = gone.iter().filter_map(|gone| {
        let revision = listing.mark_revisions.get(&gone.id).copied().unwrap_or(0);
        let listed = high_water_mark(listing, high_water_marks, gone.id)
            .map_or(UnixNanos(0), |high_water_mark| high_water_mark.high_water_mark);
        (listed < gone.high_water_mark).then_some(LeasedId { revision, ..*gone })
    });
    lower.map(|leased| finalize(cluster, leased, listing)).collect()
}

/// Returns the action that writes the exact high-water mark of a generator ID that was lost.
pub fn finalize(cluster: u16, leased: LeasedId, listing: &Listing) -> Action {
    let change = Change::FinalizeMark { cluster, leased };
    Action::Change { at: None, listed: listing.into(), change }
}

/// Returns the action that reads these high-water marks.
pub fn read(listing: &Listing, ids: Vec<u16>) -> Action {
    Action::ReadMarks { ids, etcd: listing.etcd, registry: listing.id.value.clone() }
}
