//! What the worker does, one turn after the other. What it holds is in shared memory ([`Kept`]); here is only
//! what it has in hand.

mod authority;
mod base;
mod claiming;
mod forgotten;
mod marks;
mod memory;
mod releasing;
mod standing;

pub use base::Holder;

use super::note;
use super::process::renewed;
use super::registry::{Holding, Renewal};
use crate::clock::boot;
use crate::guc;
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::transitions;
use crate::shmem::{Authority, Kept, Marked, State};
use base::{AGAIN, Halt, TRIES};
use flakeid_core::flake::Flake;
use flakeid_core::lease::Term;
use std::time::Duration;

impl Holder {
    /// Does what is due. Gives how long nothing is.
    pub fn turn(&mut self, wanted: usize) -> Duration {
        self.asked |= self.shared.lease.was_asked();
        transitions::begin(self.shared, wanted);
        let now = boot();
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
                transitions::trouble(self.shared, &reason);
                // Whether the pool is still empty nobody knows.
                transitions::wait(self.shared, false);
                if let Some(left_out) = self.told.due(&reason) {
                    note::cannot(&reason, left_out);
                }
                self.not_before = boot() + AGAIN;
                AGAIN
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
        let kept = self.shared.look_at_lease();
        if kept.state == State::Held {
            self.keep(&kept, wanted)?;
        }
        let kept = self.shared.look_at_lease();
        let missing = wanted.saturating_sub(kept.held().len());
        if missing > 0 && (kept.state != State::Held || boot() >= self.more_at) {
            self.claim(&kept, missing)?;
        }
        let kept = self.shared.look_at_lease();
        if kept.state != State::Held {
            return Ok(Duration::ZERO);
        }
        let renewal = kept.sent + Term(kept.ttl).renewal();
        let next = if kept.held().len() < wanted { renewal.min(self.more_at) } else { renewal };
        Ok(next.saturating_sub(boot()))
    }

    /// Gives back what is not wanted any more, and renews what is held when that is due.
    fn keep(&mut self, kept: &Kept, wanted: usize) -> Result<(), Halt> {
        let pool = settings::pool();
        let changed = kept.namespace.get() != settings::namespace()
            || self.ttl != settings::lease_ttl()
            || kept.epoch != Flake::scale().epoch();
        if changed {
            self.give_back(None, None);
            return Ok(());
        }
        let (inside, outside): (Vec<u16>, Vec<u16>) =
            kept.held().iter().map(|held| held.id).partition(|id| pool.contains(id));
        let surplus: Vec<u16> = inside.into_iter().skip(wanted).chain(outside).collect();
        if !surplus.is_empty() {
            self.give_back(Some(&surplus), None);
            return Ok(());
        }
        if self.asked || boot() >= kept.sent + Term(kept.ttl).renewal() {
            self.asked = false;
            self.renew(kept)?;
            if boot() < self.strays_until {
                self.let_go_of_strays(&self.shared.look_at_lease())?;
            }
        }
        Ok(())
    }

    fn renew(&mut self, kept: &Kept) -> Result<(), Halt> {
        let document = self.document(kept.since, kept.lease);
        let (mut held, claim) = (kept.held().to_vec(), kept.claim);
        for _ in 0..TRIES {
            let Kept { authority: Authority { etcd, .. }, cluster, lease, .. } = *kept;
            let registry = &self.registry;
            let holding = Holding { etcd, cluster, lease, held: &held, document: &document };
            let renewal =
                self.etcd.call(async |client| registry.renew(client, &holding, claim).await)?;
            let ours = match renewal {
                Renewal::Done(sent, claim, revisions) => {
                    if transitions::renew(self.shared, lease, claim, sent, &revisions) {
                        transitions::endpoint(self.shared, self.etcd.endpoint());
                        renewed();
                    }
                    // So that the endpoint is remembered. What is wrong there, the next listing says.
                    if self.listed_at != self.etcd.endpoint() {
                        let _ = self.list_once();
                    }
                    return Ok(());
                }
                Renewal::Unsure => continue,
                Renewal::Only(ours) => Some(ours),
                Renewal::Gone | Renewal::Elsewhere => None,
            };
            let forgotten = self.has_forgotten(kept.authority, &held)?;
            let is_gone = ours.is_none();
            let ours = ours.unwrap_or_default();
            let is_ours = |held: &Marked| ours.iter().any(|(id, _)| *id == held.id);
            let lost: Vec<u16> =
                held.iter().filter(|held| !is_ours(held)).map(|held| held.id).collect();
            if !lost.is_empty() {
                let why = match (forgotten, is_gone) {
                    (true, _) => "etcd has forgotten the lease.",
                    (false, true) => "The lease has expired or was revoked.",
                    (false, false) if ours.is_empty() => "All claims were deleted in etcd.",
                    (false, false) => "Claims were deleted in etcd.",
                };
                self.lose(kept, Some(&lost), why, forgotten);
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
