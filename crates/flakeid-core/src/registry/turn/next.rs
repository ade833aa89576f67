//! Which action is next.

use super::{
    CONTENTION_BACKOFF, Errand, ORPHAN_WINDOW, Planned, RETRY_DELAY, Situation, Step, TRIES,
    TurnEnd, Worker,
};
use crate::registry::action::{Action, Lease, Loss, Report};
use crate::registry::listing::{ClaimRevision, Listing};
use crate::registry::memory::Memory;
use crate::registry::plan::{self, Choice, ClaimFor, Due};
use crate::registry::refusal::Refusal;
use crate::registry::trust::{MarksVerdict, check_marks};
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::RangeInclusive;
use core::time::Duration;

impl Worker {
    /// Returns the next action of this turn, or how the turn ends.
    pub fn next(&mut self, situation: &Situation<'_>) -> Step {
        loop {
            if let Some(action) = self.turn.todo.front() {
                return Step::Act(action.clone());
            }
            let end = match self.plan(situation) {
                Ok(None) => continue,
                Ok(Some(end)) => end,
                // These errands are for later turns. What is held does not depend on them.
                Err(_) if self.turn.errand.is_for_later() => TurnEnd::Again,
                Err(refusal) => TurnEnd::Failed(refusal),
            };
            return Step::End(self.end_turn(end, situation.now.boot));
        }
    }

    fn plan(&mut self, situation: &Situation<'_>) -> Planned {
        if self.turn.errand == Errand::Start {
            return Ok(self.start(situation));
        }
        // The lease has ended since the turn began, by its deadline or by what this turn has found.
        // Whether etcd has forgotten it is still to be found out, and what is lost to be written
        // down.
        let number = |lease: Option<&Lease>| lease.map(|lease| lease.lease);
        if number(situation.lease) != number(self.turn.lease.as_ref())
            && !matches!(self.turn.errand, Errand::Doubt { .. } | Errand::AfterLoss)
        {
            return Ok(Some(TurnEnd::Again));
        }
        let Some(listing) = self.turn.listing.clone() else {
            return match self.turn.errand {
                Errand::Finish => Ok(Some(TurnEnd::Again)),
                _ => self.view(situation),
            };
        };
        match (self.turn.errand.clone(), situation.lease) {
            (Errand::Claim, lease) => self.claim(situation, lease, &listing),
            (Errand::Doubt { ours }, _) => self.doubt(situation, ours),
            (Errand::AfterLoss, lease) => self.after_loss(lease, &listing),
            (Errand::Orphans { is_for_claim }, Some(lease)) => {
                self.delete_orphans(situation, lease, &listing, is_for_claim);
                Ok(None)
            }
            _ => Ok(Some(TurnEnd::Again)),
        }
    }

    /// Begins a turn with what is due.
    fn start(&mut self, situation: &Situation<'_>) -> Option<TurnEnd> {
        let Situation { settings, now, .. } = situation;
        if let Some(lease) = situation.lease {
            self.note_revision(lease);
        }
        if now.boot < self.not_before {
            return Some(TurnEnd::Backoff(self.not_before));
        }
        self.turn.lease = situation.lease.cloned();
        let due = plan::due(
            situation.lease,
            settings,
            self.requested_ttl,
            self.is_renewal_requested,
            self.next_claim_at,
            now.boot,
        );
        match (due, situation.lease) {
            (Due::Rest(until), _) => return Some(TurnEnd::Rest(until)),
            (Due::Release(ids), Some(lease)) => self.release(lease, ids),
            (Due::Renew, Some(lease)) => self.renew(lease),
            (Due::Claim(_), held) => {
                self.turn.errand = Errand::Claim;
                if held.is_none() {
                    self.requested_ttl = settings.ttl;
                    if self.namespace != settings.namespace {
                        self.namespace = settings.namespace.into();
                        self.high_water_marks.clear();
                    }
                    // A lease that was lost may exist in etcd for a while.
                    let (last, _) = situation.last_lease;
                    if last != self.ended_lease {
                        self.ended_lease = last;
                        self.unrevoked.push(last);
                    }
                }
            }
            _ => return Some(TurnEnd::Again),
        }
        None
    }

    pub(super) fn release(&mut self, lease: &Lease, ids: Vec<u16>) {
        self.note_revision(lease);
        self.turn.errand = Errand::Finish;
        self.turn.release = Some((lease.clone(), Vec::new()));
        self.turn.todo.push_back(Action::GiveUp { ids, is_lost: false });
    }

    /// Renews what is held, as of the revisions in which a failed renewal has found it.
    pub(super) fn renew(&mut self, lease: &Lease) {
        self.is_renewal_requested = false;
        self.turn.lease = Some(lease.clone());
        let found = &self.turn.found;
        let held = lease.held.iter().map(|held| held.as_of(found)).collect();
        let holding = lease.holding(held);
        self.turn.todo.push_back(Action::Renew { holding, limits: lease.limits });
    }

    /// Claims generator IDs that are missing.
    fn claim(
        &mut self,
        situation: &Situation<'_>,
        lease: Option<&Lease>,
        listing: &Listing,
    ) -> Planned {
        let Situation { settings, now, .. } = situation;
        let uniqueid_cluster = listing.uniqueid_cluster(settings.epoch)?;
        if let Some(lease) = lease {
            if lease.cluster != uniqueid_cluster {
                self.release(lease, lease.ids());
                return Ok(None);
            }
            // A claim of ours that was deleted looks free, and must not be claimed beside the one
            // that we hold.
            if !plan::lost_claims(lease, listing).is_empty() {
                let ours = Some(listing.claims_of(lease.lease));
                self.turn.errand = Errand::Doubt { ours };
                return Ok(None);
            }
        }
        let choice = self.choose(situation, lease, listing);
        self.has_chosen |= !matches!(choice, Choice::Read(_));
        let chosen = match (choice, lease) {
            // Many broken high-water marks take long to read. The renewal comes first; those that
            // were read stay.
            (Choice::Read(_), Some(lease))
                if now.boot >= lease.renewal() || self.is_renewal_requested =>
            {
                return Ok(Some(TurnEnd::Again));
            }
            (Choice::Read(ids), _) => {
                self.turn.todo.push_back(plan::read(listing, ids));
                return Ok(None);
            }
            (Choice::Nothing, None) if let Some(until) = &listing.grace.value => {
                return Err(Refusal::GracePeriod(until.clone()));
            }
            (Choice::Nothing, lease) => return Ok(self.find_nothing(situation, lease, listing)),
            (Choice::Claim(chosen), _) => chosen,
        };
        let memory = situation.memory.map_err(|error| Refusal::Failed(error.into()))?;
        let (namespace, endpoints) = (settings.namespace, settings.endpoints);
        let remembered = Memory::after(memory, listing, namespace, endpoints, self.seen)?;
        let claim = plan::Claim {
            lease: match (lease, &self.turn.new_lease) {
                (Some(lease), _) => ClaimFor::Held(lease),
                (None, Some(new)) => ClaimFor::New(new),
                (None, None) => ClaimFor::Nothing,
            },
            is_fresh: self.turn.is_fresh,
            listing,
            chosen,
            uniqueid_cluster,
            memory,
            remembered,
            request: (situation.random.lease, self.requested_ttl),
        };
        self.turn.todo.extend(plan::claim(claim));
        Ok(None)
    }

    /// Chooses generator IDs that are missing: in a grace period those that this server held until
    /// just now.
    fn choose(
        &self,
        situation: &Situation<'_>,
        lease: Option<&Lease>,
        listing: &Listing,
    ) -> Choice {
        let Situation { settings, now, .. } = situation;
        let held = lease.map_or(0, |lease| lease.held.len());
        let want = settings.wanted.saturating_sub(held);
        if listing.grace.value.is_some() {
            let forgotten = self.forgotten.as_ref();
            return plan::choose_forgotten(
                listing,
                &self.high_water_marks,
                forgotten,
                want,
                now.boot,
            );
        }
        plan::choose_free(
            listing,
            &self.high_water_marks,
            &settings.pool,
            self.place,
            want,
            now.now,
        )
    }

    /// Waits for a claim to end, since the pool has nothing to claim.
    fn find_nothing(
        &mut self,
        situation: &Situation<'_>,
        lease: Option<&Lease>,
        listing: &Listing,
    ) -> Option<TurnEnd> {
        let third = self.requested_ttl / 3;
        self.next_claim_at = situation.now.boot + third;
        // The next turn revokes the lease that was granted in this one. Its claims are free then.
        if lease.is_some() || self.turn.new_lease.is_some() {
            return Some(TurnEnd::Again);
        }
        let (revision, longest) = (listing.revision, third.max(RETRY_DELAY));
        self.turn.errand = Errand::Finish;
        self.turn.todo.push_back(Action::Report(Report::PoolEmpty));
        self.turn.todo.push_back(Action::AwaitRelease { revision, longest });
        None
    }

    /// Begins with new views, as other servers were faster or an earlier call has claimed some of
    /// the generator IDs.
    pub(super) fn lose_race(&mut self, situation: &Situation<'_>) {
        let pool = &situation.settings.pool;
        let size = u32::from(pool.end() - pool.start()) + 1;
        self.place = pool.start() + (u32::from(situation.random.place) % size) as u16;
        self.turn.claim = None;
        self.expect_orphans(situation.now.boot);
        self.turn.tries += 1;
        self.turn.is_second_claim = false;
        self.list_again();
        if self.turn.tries >= TRIES {
            let later = situation.now.boot + CONTENTION_BACKOFF;
            match situation.lease {
                Some(_) => self.next_claim_at = later,
                None => self.not_before = later,
            }
            self.turn.errand = Errand::Finish;
        }
    }

    pub(super) fn list_again(&mut self) {
        self.turn.views.clear();
        self.turn.listing = None;
    }

    /// Finds out whether etcd has forgotten what this server wrote, and gives up what is lost.
    fn doubt(&mut self, situation: &Situation<'_>, ours: Option<Vec<ClaimRevision>>) -> Planned {
        let Some(lease) = self.turn.lease.clone() else { return Ok(Some(TurnEnd::Again)) };
        let found = &self.turn.found;
        let held: Vec<_> = lease.held.iter().map(|held| held.as_of(found)).collect();
        let memory = situation.memory.map_err(|error| Refusal::Failed(error.into()))?;
        let knowledge = self.knowledge(situation, memory);
        let forgotten = match check_marks(knowledge, &self.turn.views, lease.authority, &held) {
            MarksVerdict::Ask(endpoint) => {
                self.turn.todo.push_back(Action::List { at: Some(endpoint) });
                return Ok(None);
            }
            MarksVerdict::Refuse(refusal) => return Err(refusal),
            MarksVerdict::Kept(view) => {
                if view > 0 {
                    self.switch_to(view)?;
                }
                None
            }
            MarksVerdict::Forgotten(reason) => Some(reason),
        };
        let Some(listing) = self.turn.listing.clone() else { return Ok(Some(TurnEnd::Again)) };
        let is_gone = ours.is_none();
        let ours = match forgotten {
            Some(_) => ours.unwrap_or_default(),
            // The renewal may have been answered by another etcd than this listing.
            None => listing.claims_of(lease.lease),
        };
        if let Some(reason) = forgotten {
            // With older data, claims may be back that this server gave up.
            self.expect_orphans(situation.now.boot);
            if listing.grace.value.is_none() {
                self.begin_grace(situation, &listing, reason);
            }
        }
        let is_ours = |id: &u16| ours.iter().any(|(ours, _)| ours == id);
        let lost: Vec<u16> = lease.ids().into_iter().filter(|id| !is_ours(id)).collect();
        self.turn.loss = Some(match (forgotten, is_gone) {
            (Some(_), _) => Loss::Forgotten,
            (None, true) if ours.is_empty() => Loss::Ended,
            (None, _) if ours.is_empty() => Loss::AllDeleted,
            (None, _) => Loss::SomeDeleted,
        });
        if !lost.is_empty() {
            let early = lease.sent.boot.saturating_add(lease.ttl / 2);
            self.turn.forgotten_until = lease.limits.deadline.min(early);
            self.turn.todo.push_back(Action::GiveUp { ids: lost, is_lost: true });
        }
        self.turn.found = ours;
        self.turn.errand = Errand::AfterLoss;
        Ok(None)
    }

    /// Writes the exact high-water marks of what etcd has forgotten, and renews what is left.
    fn after_loss(&mut self, lease: Option<&Lease>, listing: &Listing) -> Planned {
        let forgotten = mem::take(&mut self.turn.forgotten);
        if let (false, Some(of)) = (forgotten.is_empty(), &self.turn.lease) {
            let actions =
                plan::finalize_forgotten(of.cluster, &forgotten, listing, &self.high_water_marks);
            if matches!(actions.first(), Some(Action::ReadMarks { .. })) {
                self.turn.forgotten = forgotten;
            }
            self.turn.todo.extend(actions);
            return Ok(None);
        }
        match lease {
            Some(lease) if !self.turn.found.is_empty() => {
                self.turn.tries += 1;
                if self.turn.tries >= TRIES {
                    return Err(Refusal::LeaderChanges);
                }
                self.renew(lease);
                Ok(None)
            }
            _ => Ok(Some(TurnEnd::Again)),
        }
    }

    fn delete_orphans(
        &mut self,
        situation: &Situation<'_>,
        lease: &Lease,
        listing: &Listing,
        is_for_claim: bool,
    ) {
        let (actions, unknown) = plan::delete_orphans(lease, listing, &self.high_water_marks);
        let is_reading = matches!(actions.first(), Some(Action::ReadMarks { .. }));
        if !is_reading {
            let is_over = self.orphans_until.is_some_and(|until| situation.now.boot >= until);
            if is_over && actions.is_empty() && unknown == 0 {
                self.orphans_until = None;
            }
            // The next renewal looks whether any are left.
            self.turn.errand = if is_for_claim { Errand::Claim } else { Errand::Finish };
            if is_for_claim && !actions.is_empty() {
                self.list_again();
            }
        }
        self.turn.todo.extend(actions);
    }

    pub(super) fn expect_orphans(&mut self, boot: Duration) {
        self.orphans_until = Some(boot + ORPHAN_WINDOW);
    }

    /// Returns the namespace in which the next action works.
    pub fn namespace<'a>(&'a self, settings: &'a str) -> &'a str {
        self.turn.release.as_ref().map_or(settings, |(lease, _)| &*lease.namespace)
    }

    /// Returns whether generator IDs were chosen since the last call of this function.
    pub fn take_choice(&mut self) -> bool {
        mem::take(&mut self.has_chosen)
    }

    /// Returns a generator ID of the pool that is not leased, since its high-water mark is not a
    /// time, and that value.
    pub fn unreadable_mark(&self, pool: RangeInclusive<u16>) -> Option<(u16, &String)> {
        let mut high_water_marks = self.high_water_marks.range(pool);
        high_water_marks
            .find_map(|(&id, high_water_mark)| Some((id, high_water_mark.moment.as_ref().err()?)))
    }
}
