//! How the worker claims generator IDs: it lists those that are taken, chooses among the rest, and claims them.
//!
//! # A listing that etcd has forgotten
//! The worker claims a generator ID only if all that the claim depends on is still as it was listed. But etcd can be
//! restored to an older state between the listing and the claim. In that state everything can be as it was listed, and
//! etcd can have forgotten that another server has claimed the same generator ID since. So a claim also
//! depends on something that this server wrote into etcd before the listing, and that no older state has:
//! * *A new lease* depends on itself. The worker requests it, lists again, and only then claims. An etcd that was
//!   restored to a state from before the grant has no such lease, and refuses to bind a key to it.
//! * *A lease that this server holds already* depends on one of its claims. The worker renews the lease, lists again,
//!   and claims only if that claim is as the renewal wrote it.
//!
//! One state could still mislead: it has the grant or the renewal but not the other server's claim, which came after
//! the listing. Someone would have to save and restore that state within one lease: IDs that are claimed later are not
//! used.
//!
//! # A claim whose answer is lost
//! etcd may have done a claim whose answer does not arrive in time. If the server then revoked the lease and began
//! again, it would find high-water marks that are ahead by most of a lease, although no ID was generated with them. It
//! would take other generator IDs, or its sessions would wait. So it makes the claim a second time with the same lease,
//! and the registry takes the first one as this server's. It does so only without a lease: a server that holds one
//! must renew it in time.
//!
//! Claims that this server does not use can stay under its lease. For example, someone deletes one claim of the first
//! call before the second call. So the next renewals look for such claims and delete them. If the pool has nothing to
//! claim, such claims of its own may be what fills it. So the server revokes an unused lease before it waits.

use super::base::{CONTENTION_BACKOFF, Halt, Holder, RETRY_DELAY, TRIES};
use crate::clock::{now, since_boot};
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::etcd::client::{CallError, Patience};
use crate::lease::etcd::note;
use crate::lease::etcd::process::{anywhere, began, may_go_on, may_wait, new_lease};
use crate::lease::etcd::registry::{HighWaterMark, Holding, Listing, MAX_CLAIMS_PER_TXN, Registry};
use crate::lease::transitions;
use crate::shmem::{LeaseState, LeaseStatus, LeasedId};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime, choose};
use std::time::Duration;

/// A lease that etcd has granted.
#[derive(Clone, Copy)]
struct NewLease {
    lease: i64,
    ttl: Duration,
    /// The time before it was requested.
    sent: RequestTime,
    claim: LeaseLimits,
}

impl Holder {
    /// Leases the generator IDs that are missing. If the pool is empty, logs that and waits for a claim to end.
    pub(super) fn claim(&mut self, state: &LeaseState, missing: usize) -> Result<(), Halt> {
        let mut unused = None;
        let done = self.claim_with(state, missing, &mut unused);
        self.leftover.extend(unused.map(|new: NewLease| new.lease));
        done
    }

    /// Claims as [`Self::claim`] does. Puts a lease that it requests into `lease`, and takes it out again if it is used.
    fn claim_with(
        &mut self,
        state: &LeaseState,
        missing: usize,
        lease: &mut Option<NewLease>,
    ) -> Result<(), Halt> {
        let holds = state.status == LeaseStatus::Held;
        if !holds {
            let namespace = settings::namespace();
            if self.registry.namespace != namespace {
                self.high_water_marks.clear();
            }
            self.registry = Registry { namespace, ..Registry::default() };
            self.ttl = settings::lease_ttl();
            // A lease that was lost may exist in etcd for a while.
            if state.lease != self.revoked {
                self.revoked = state.lease;
                self.leftover.push(state.lease);
            }
        }
        let mut state = *state;
        let mut is_fresh = false;
        for _ in 0..=TRIES {
            let mut listing = self.list()?;
            let cluster = self.registry.cluster_of(&listing).map_err(Halt::Because)?;
            if holds && cluster != state.cluster {
                self.give_back(None, None);
                return Ok(());
            }
            // A claim of ours that was deleted looks free here, and must not be claimed beside the one that we hold.
            let is_ours = |held: &LeasedId| {
                listing.claims.iter().any(|&(lease, (id, _))| lease == state.lease && id == held.id)
            };
            let lost: Vec<u16> = state
                .held()
                .iter()
                .filter(|held| holds && !is_ours(held))
                .map(|held| held.id)
                .collect();
            if !lost.is_empty() {
                let forgotten = self.has_forgotten(state.authority, state.held())?.0;
                let why = match forgotten {
                    true => "etcd has forgotten the lease.",
                    false => "Claims were deleted in etcd.",
                };
                self.lose(&state, Some(&lost), why, forgotten);
                self.more_at = Duration::ZERO;
                return Ok(());
            }
            let chosen = match listing.grace.value {
                None => self.choose(&mut listing, missing.min(MAX_CLAIMS_PER_TXN)),
                Some(_) => match self.reclaimable(&mut listing, missing.min(MAX_CLAIMS_PER_TXN)) {
                    // This server continues with those that it holds.
                    Err(Halt::Because(_)) if holds => Ok(None),
                    reclaimable => reclaimable.map(Some),
                },
            };
            self.tell_unreadable();
            let Some(chosen) = chosen? else {
                self.more_at = since_boot() + self.ttl / 3;
                // The next turn revokes the lease that was granted in this one. Its claims are free then.
                return if holds || lease.is_some() { Ok(()) } else { self.wait(&listing) };
            };
            self.remember(&listing)?;
            if !is_fresh {
                is_fresh = true;
                match holds {
                    true => self.renew(&state)?,
                    false => *lease = Some(self.grant()?),
                }
                state = self.shared.lease_snapshot();
                if holds && state.status != LeaseStatus::Held {
                    return Ok(());
                }
                continue;
            }
            // Claims that are added to a lease have its times.
            let added = || {
                let sent = RequestTime { now: state.renewed, boot: state.sent };
                NewLease { lease: state.lease, ttl: state.ttl, sent, claim: state.claim }
            };
            let NewLease { lease: id, ttl, sent, claim } = lease.unwrap_or_else(added);
            let beside = state.held().first().filter(|_| holds);
            let document = self.document(if holds { state.leased_at } else { sent.now }, id);
            let registry = &self.registry;
            let authority = self.authority(&listing);
            let etcd = authority.etcd;
            let holding = Holding { etcd, cluster, lease: id, held: &chosen, document: &document };
            let claiming = async |client: &mut _| {
                registry.claim(client, &holding, &listing, claim.ceiling, beside).await
            };
            let mut claimed = self.etcd.call(claiming);
            if !holds
                && matches!(claimed, Err(CallError::Etcd(_)))
                && !claim.is_expired(since_boot())
            {
                claimed = self.etcd.call(claiming);
            }
            match claimed {
                Ok(Some(revisions)) => {
                    let chosen: Vec<_> =
                        chosen.into_iter().map(|leased| leased.as_of(&revisions)).collect();
                    let granted = transitions::Granted {
                        lease: id,
                        namespace: &self.registry.namespace,
                        ttl,
                        authority,
                        cluster,
                        epoch: Flake::scale().epoch(),
                        claim,
                        sent: sent.boot,
                        sent_at: sent.now,
                    };
                    if transitions::publish_claims(self.shared, granted, &chosen) {
                        *lease = None;
                        transitions::set_endpoint(self.shared, self.etcd.endpoint());
                        if !holds {
                            began();
                        }
                        note::leased(&chosen);
                        self.told_waiting = false;
                        self.start = 0;
                    } else if !holds {
                        return Err(Halt::Because("etcd did not answer in time".into()));
                    }
                    return Ok(());
                }
                // Other servers were faster: begin at another place than they do. Or an earlier call has claimed some of
                // these generator IDs, and its answer was lost.
                Ok(None) => {
                    self.start = anywhere();
                    self.expect_strays();
                }
                Err(error) => {
                    if holds {
                        self.expect_strays();
                    }
                    return Err(error.into());
                }
            }
        }
        let later = since_boot() + CONTENTION_BACKOFF;
        match holds {
            true => self.more_at = later,
            false => self.not_before = later,
        }
        Ok(())
    }

    /// Logs which generator ID is not leased, since the time of its last ID is unknown.
    fn tell_unreadable(&mut self) {
        let pool = settings::pool();
        let unreadable = self
            .high_water_marks
            .range(pool)
            .find_map(|(id, high_water_mark)| Some((id, high_water_mark.moment.as_ref().err()?)));
        let Some((id, value)) = unreadable else { return };
        let key = format!("{}until/{id}", self.registry.namespace);
        let reason = format!("etcd key \"{key}\" has \"{value}\", which is not a time");
        transitions::record_error(self.shared, &reason);
        if let Some(left_out) = self.told_unreadable.due(&reason) {
            note::left_alone(&reason, *id, left_out);
        }
    }

    /// Chooses generator IDs that are free, and reads the high-water marks of those alone.
    fn choose(
        &mut self,
        listing: &mut Listing,
        want: usize,
    ) -> Result<Option<Vec<LeasedId>>, Halt> {
        self.high_water_marks.retain(|id, high_water_mark| {
            high_water_mark.moment.is_err()
                && listing.mark_revisions.get(id) == Some(&high_water_mark.revision)
        });
        loop {
            let (now, high_water_marks) = (now(), &self.high_water_marks);
            let is_readable = |id: u16| {
                high_water_marks
                    .get(&id)
                    .is_none_or(|high_water_mark| high_water_mark.moment.is_ok())
            };
            let high_water_mark = |id: u16| match high_water_marks.get(&id) {
                Some(HighWaterMark { moment: Ok(high_water_mark), .. }) => *high_water_mark,
                _ => UnixNanos(0),
            };
            let is_free = |id: u16| !listing.taken.contains(&id) && is_readable(id);
            let is_past = |id: u16| high_water_mark(id) <= now;
            let best = |number| choose(settings::pool(), self.start, number, is_free, is_past);
            let Some(chosen) = best(want) else { return Ok(None) };
            let is_unread = |id: &u16| {
                listing.mark_revisions.contains_key(id) && !high_water_marks.contains_key(id)
            };
            let chosen = chosen.as_slice();
            if !chosen.iter().any(is_unread) {
                let leased =
                    |&id: &u16| LeasedId { id, high_water_mark: high_water_mark(id), revision: 0 };
                return Ok(Some(chosen.iter().map(leased).collect()));
            }
            // More than are wanted, so that few calls read a long run of high-water marks that are ahead.
            let candidates = best(MAX_CLAIMS_PER_TXN);
            let candidates = candidates.as_ref().map_or(chosen, |candidates| candidates.as_slice());
            let unread: Vec<u16> = candidates.iter().copied().filter(is_unread).collect();
            // Many broken high-water marks take long to read. The renewal comes first; those that were read stay.
            let state = self.shared.lease_snapshot();
            let renewal = state.sent + LeaseDuration(state.ttl).renewal();
            if state.status == LeaseStatus::Held
                && (since_boot() >= renewal || self.shared.lease.is_renewal_requested())
            {
                return Err(Halt::Interrupted);
            }
            self.read_marks(listing, &unread)?;
        }
    }

    fn grant(&mut self) -> Result<NewLease, Halt> {
        let lease =
            new_lease().ok_or_else(|| Halt::Because("no random numbers are available".into()))?;
        let (registry, ttl) = (&self.registry, self.ttl);
        let sent = RequestTime { now: now(), boot: since_boot() };
        let granted = self.etcd.call(async |client| registry.grant(client, lease, ttl).await);
        match granted {
            Ok(Duration::ZERO) => {
                self.leftover.push(lease);
                Err(Halt::Because("etcd granted a lease of 0 s".into()))
            }
            Ok(ttl) => {
                let claim = LeaseLimits::from_grant(sent, LeaseDuration(ttl));
                Ok(NewLease { lease, ttl, sent, claim })
            }
            Err(error) => {
                self.leftover.push(lease);
                Err(error.into())
            }
        }
    }

    /// Waits until a claim is taken away, but not longer than a third of a lease.
    fn wait(&mut self, listing: &Listing) -> Result<(), Halt> {
        transitions::set_waiting(self.shared, true);
        if !self.told_waiting {
            self.told_waiting = true;
            note::waits(&settings::pool());
        }
        let (registry, revision) = (&self.registry, listing.revision);
        let longest = (self.ttl / 3).max(RETRY_DELAY);
        self.etcd.patience = Patience::While(may_wait);
        let freed = self.etcd.call_for(longest + RETRY_DELAY, async |client| {
            registry.freed(client, revision, longest).await
        });
        self.etcd.patience = Patience::While(may_go_on);
        Ok(freed?)
    }
}
