//! How a turn comes to a listing by which the server may lease.

use super::{MOST_PREPARATIONS, Planned, Situation, Worker};
use crate::clock::UnixNanos;
use crate::registry::action::{Action, GraceBegins, Lease, MemoryPurpose};
use crate::registry::listing::{Listing, address, name};
use crate::registry::memory::{Memory, Seen};
use crate::registry::refusal::Refusal;
use crate::registry::survey::View;
use crate::registry::transaction::{Change, Listed};
use crate::registry::trust::{GraceReason, Knowledge, Preparation, Verdict, decide};

impl Worker {
    pub(super) fn knowledge<'a>(
        &'a self,
        situation: &Situation<'a>,
        memory: Option<&'a Memory>,
    ) -> Knowledge<'a> {
        Knowledge {
            memory,
            namespace: situation.settings.namespace,
            epoch: situation.settings.epoch,
            endpoints: situation.settings.endpoints,
            seen: self.seen,
            replacing: self.replacing.as_ref(),
            random: situation.random.registry,
        }
    }

    /// Notes the revisions in which the generator IDs that are held were written. etcd must not be
    /// behind them.
    pub(super) fn note_revision(&mut self, lease: &Lease) {
        let written = lease.held.iter().map(|held| held.revision).max().unwrap_or(0);
        if written > 0 {
            let is_same = self.seen.authority == lease.authority;
            let revision = if is_same { self.seen.revision.max(written) } else { written };
            self.seen = Seen { authority: lease.authority, revision };
        }
    }

    /// Lists the registry, and decides whether the server may lease by that.
    pub(super) fn view(&mut self, situation: &Situation<'_>) -> Planned {
        if self.turn.views.is_empty() {
            self.turn.todo.push_back(match self.unrevoked.last() {
                Some(&lease) => Action::Revoke(lease),
                None => Action::List { at: None },
            });
            return Ok(None);
        }
        if let Some(lease) = situation.lease {
            self.note_revision(lease);
        }
        let memory = situation.memory.map_err(|error| Refusal::Failed(error.into()))?;
        match decide(self.knowledge(situation, memory), &self.turn.views) {
            Verdict::Ask(endpoint) => {
                self.turn.todo.push_back(Action::List { at: Some(endpoint) });
            }
            Verdict::Lease { view, note } => {
                self.switch_to(view)?;
                if let Some(memory) = note {
                    let purpose = MemoryPurpose::Note;
                    self.turn.todo.push_back(Action::Remember { memory, purpose });
                }
            }
            Verdict::Prepare { view, first } => {
                self.turn.preparations += 1;
                if self.turn.preparations > MOST_PREPARATIONS {
                    return Err(Refusal::WrittenKeyLost);
                }
                let View { shown, .. } = self.turn.views.swap_remove(view);
                let listing = shown.map_err(Refusal::Failed)?;
                self.turn.views.clear();
                // These change nothing about which registry it is.
                let is_usable = |preparation: &Preparation| {
                    matches!(
                        preparation,
                        Preparation::Note(_) | Preparation::Retire(_) | Preparation::Create(_)
                    )
                };
                if !first.is_empty() && first.iter().all(is_usable) {
                    self.seen = Seen { authority: listing.authority(), revision: listing.revision };
                }
                for preparation in first {
                    self.prepare(situation, &listing, preparation)?;
                }
            }
            Verdict::Refuse(refusal) => return Err(refusal),
        }
        Ok(None)
    }

    /// Continues with the view at this place, at its endpoint.
    pub(super) fn switch_to(&mut self, view: usize) -> Result<(), Refusal> {
        let asked = self.turn.views.len();
        let View { endpoint, shown } = self.turn.views.swap_remove(view);
        let listing = shown.map_err(Refusal::Failed)?;
        self.seen = Seen { authority: listing.authority(), revision: listing.revision };
        self.high_water_marks.retain(|id, high_water_mark| {
            high_water_mark.moment.is_err()
                && listing.mark_revisions.get(id) == Some(&high_water_mark.revision)
        });
        self.listed_at.clone_from(&endpoint);
        if asked > 1 {
            self.turn.todo.push_back(Action::Prefer(endpoint.clone()));
        }
        self.turn.views = [View { endpoint, shown: Ok(listing.clone()) }].into();
        self.turn.listing = Some(listing);
        Ok(())
    }

    fn prepare(
        &mut self,
        situation: &Situation<'_>,
        listing: &Listing,
        preparation: Preparation,
    ) -> Result<(), Refusal> {
        let change = match preparation {
            Preparation::BeginGrace(reason) => {
                self.begin_grace(situation, listing, reason);
                return Ok(());
            }
            Preparation::SwitchTo { memory, names } => {
                let purpose = MemoryPurpose::Switch(names);
                self.turn.todo.push_back(Action::Remember { memory, purpose });
                return Ok(());
            }
            Preparation::Note(memory) => {
                let purpose = MemoryPurpose::Note;
                self.turn.todo.push_back(Action::Remember { memory, purpose });
                return Ok(());
            }
            Preparation::Found(identity) => {
                let address = address(listing.etcd, situation.settings.namespace);
                let id = listing.identity()?.map_or(identity.id, |listed| listed.id);
                let why = GraceBegins::Founded(name(&address, Some(id)));
                let (lease, until) = (self.grant_grace(situation, listing, why), UnixNanos(0));
                let epoch = situation.settings.epoch;
                Change::Found { lease, until, address, epoch, identity }
            }
            Preparation::Identify(identity) => Change::Identify(identity),
            Preparation::Retire(retired) => Change::Retire(retired),
            Preparation::Create(key) => Change::Create(key),
        };
        self.change_at(listing, change);
        Ok(())
    }

    /// Makes a change at the endpoint of this listing alone, since it depends on what that endpoint
    /// has shown.
    fn change_at(&mut self, listing: &Listing, change: Change) {
        let at = Some(listing.endpoint.clone());
        self.turn.todo.push_back(Action::Change { at, listed: Listed::from(listing), change });
    }

    /// Requests a lease for a grace period. It is never revoked: if an answer is lost, a grace
    /// period may be bound to it.
    fn grant_grace(
        &mut self,
        situation: &Situation<'_>,
        listing: &Listing,
        why: GraceBegins,
    ) -> i64 {
        self.turn.grace = Some(why);
        let lease = situation.random.lease;
        let (_, last) = situation.last_lease;
        let (ttl, at) = (self.requested_ttl.max(last), Some(listing.endpoint.clone()));
        self.turn.todo.push_back(Action::Grant { lease, ttl, at });
        lease
    }

    /// Begins a grace period because etcd has forgotten.
    pub(super) fn begin_grace(
        &mut self,
        situation: &Situation<'_>,
        listing: &Listing,
        why: GraceReason,
    ) {
        let lease = self.grant_grace(situation, listing, GraceBegins::Forgotten(why));
        // The end follows from the answer to the request of the lease.
        self.change_at(listing, Change::BeginGrace { lease, until: UnixNanos(0) });
    }
}
