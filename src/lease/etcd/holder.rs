//! The work of the worker, one turn after the other. The lease is in shared memory ([`LeaseState`]). The [`Holder`] has
//! only what the worker needs for its work.

mod authority;
mod base;
mod claiming;
mod forgotten;
mod high_water_marks;
mod left;
mod memory;
mod releasing;
mod remembering;
mod standing;
mod survey;

pub use base::Holder;

use super::note;
use super::process::renewed;
use super::registry::{Holding, Renewal};
use crate::clock::since_boot;
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::transitions;
use crate::shmem::{Authority, LeaseState, LeaseStatus, LeasedId};
use crate::{guc, horizon};
use base::{Halt, RETRY_DELAY, TRIES};
use flakeid_core::flake::Flake;
use flakeid_core::lease::LeaseDuration;
use std::time::Duration;

impl Holder {
    /// Does everything that is due. Returns the time until something is due again.
    pub fn run_once(&mut self, wanted: usize) -> Duration {
        self.asked |= self.shared.lease.take_renewal_request();
        transitions::enable(self.shared, wanted);
        let now = since_boot();
        if now < self.not_before {
            return self.not_before - now;
        }
        match self.act(wanted) {
            Ok(pause) => {
                self.told.forget();
                pause
            }
            Err(Halt::Interrupted) => Duration::ZERO,
            Err(Halt::Because(reason)) => {
                transitions::record_error(self.shared, &reason);
                // The pool may have a free generator ID by now.
                transitions::set_waiting(self.shared, false);
                if let Some(left_out) = self.told.due(&reason) {
                    note::cannot(&reason, left_out);
                }
                self.not_before = since_boot() + RETRY_DELAY;
                RETRY_DELAY
            }
        }
    }

    fn act(&mut self, wanted: usize) -> Result<Duration, Halt> {
        if let Some(refusal) = guc::refusal() {
            return Err(Halt::Because(format!(
                "\"{}\" is invalid: {}",
                refusal.setting, refusal.reason
            )));
        }
        // The first server of a registry writes its epoch there. It must not be one that its own state refuses.
        if let Err(report) = horizon::ensure_agrees(Some(self.shared)) {
            return Err(Halt::Because(report.line().0));
        }
        let state = self.shared.lease_snapshot();
        if state.status == LeaseStatus::Held {
            self.maintain(&state, wanted)?;
        }
        let state = self.shared.lease_snapshot();
        let missing = wanted.saturating_sub(state.held().len());
        if missing > 0 && (state.status != LeaseStatus::Held || since_boot() >= self.more_at) {
            self.claim(&state, missing)?;
        }
        let state = self.shared.lease_snapshot();
        if state.status != LeaseStatus::Held {
            return Ok(Duration::ZERO);
        }
        let renewal = state.sent + LeaseDuration(state.ttl).renewal();
        let next = if state.held().len() < wanted { renewal.min(self.more_at) } else { renewal };
        Ok(next.saturating_sub(since_boot()))
    }

    /// Gives back generator IDs that are not wanted any more, and renews the lease when that is due.
    fn maintain(&mut self, state: &LeaseState, wanted: usize) -> Result<(), Halt> {
        let pool = settings::pool();
        let changed = state.namespace.get() != settings::namespace()
            || self.ttl != settings::lease_ttl()
            || state.epoch != Flake::scale().epoch();
        if changed {
            self.give_back(None, None);
            return Ok(());
        }
        let (inside, outside): (Vec<u16>, Vec<u16>) =
            state.held().iter().map(|held| held.id).partition(|id| pool.contains(id));
        let surplus: Vec<u16> = inside.into_iter().skip(wanted).chain(outside).collect();
        if !surplus.is_empty() {
            self.give_back(Some(&surplus), None);
            return Ok(());
        }
        if self.asked || since_boot() >= state.sent + LeaseDuration(state.ttl).renewal() {
            self.asked = false;
            self.renew(state)?;
        }
        Ok(())
    }

    /// Renews the lease, and moves the high-water marks of the generator IDs that are held. Deletes claims of the lease
    /// that are not used.
    fn renew(&mut self, state: &LeaseState) -> Result<(), Halt> {
        self.renew_held(state)?;
        if let Some(until) = self.strays_until {
            let is_over = since_boot() >= until;
            // Best effort: the next renewal looks again.
            let is_clean = self.let_go_of_strays(&self.shared.lease_snapshot()).unwrap_or(false);
            if is_over && is_clean {
                self.strays_until = None;
            }
        }
        Ok(())
    }

    fn renew_held(&mut self, state: &LeaseState) -> Result<(), Halt> {
        let document = self.document(state.leased_at, state.lease);
        let (mut held, claim) = (state.held().to_vec(), state.claim);
        for _ in 0..TRIES {
            let LeaseState { authority: Authority { etcd, .. }, cluster, lease, .. } = *state;
            let registry = &self.registry;
            let holding = Holding { etcd, cluster, lease, held: &held, document: &document };
            let renewal =
                self.etcd.call(async |client| registry.renew(client, &holding, claim).await)?;
            let ours = match renewal {
                Renewal::Done(sent, claim, revisions) => {
                    if transitions::renew(self.shared, lease, claim, sent, &revisions) {
                        transitions::set_endpoint(self.shared, self.etcd.endpoint());
                        renewed();
                    }
                    // So that the endpoint is remembered. The next listing reports an error.
                    if self.listed_at != self.etcd.endpoint() {
                        let _ = self.list_once();
                    }
                    return Ok(());
                }
                Renewal::Unsure => continue,
                Renewal::Only(ours) => Some(ours),
                Renewal::Gone | Renewal::Elsewhere => None,
            };
            let (forgotten, listing) = self.has_forgotten(state.authority, &held)?;
            let is_gone = ours.is_none();
            let ours = match forgotten {
                true => ours.unwrap_or_default(),
                // The renewal may have been answered by another etcd than this listing.
                false => listing.claims_of(lease),
            };
            let is_ours = |held: &LeasedId| ours.iter().any(|(id, _)| *id == held.id);
            let lost: Vec<u16> =
                held.iter().filter(|held| !is_ours(held)).map(|held| held.id).collect();
            if !lost.is_empty() {
                let why = match (forgotten, is_gone) {
                    (true, _) => "etcd has forgotten the lease.",
                    (false, true) if ours.is_empty() => "The lease has expired or was revoked.",
                    (false, _) if ours.is_empty() => "All claims were deleted in etcd.",
                    (false, _) => "Claims were deleted in etcd.",
                };
                self.lose(state, Some(&lost), why, forgotten);
                self.more_at = Duration::ZERO;
            }
            if ours.is_empty() {
                return Ok(());
            }
            held.retain(is_ours);
            held = held.into_iter().map(|held| held.as_of(&ours)).collect();
        }
        Err(Halt::Because("etcd is changing its leader".into()))
    }
}
