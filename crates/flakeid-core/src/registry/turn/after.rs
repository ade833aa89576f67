//! The consequences of an action's outcome.

use super::{Errand, Failure, Outcome, RETRY_DELAY, Situation, TRIES, TurnEnd, Worker};
use crate::clock::UnixNanos;
use crate::lease::{LeaseDuration, LeaseLimits};
use crate::registry::action::{Action, Lease, Loss, MemoryPurpose, NewLease, Renewal, Report};
use crate::registry::listing::{HighWaterMark, Listing};
use crate::registry::memory::Seen;
use crate::registry::plan::{self, Forgotten};
use crate::registry::refusal::Refusal;
use crate::registry::survey::View;
use crate::registry::transaction::{Answer, Change, Holding, LeasedId, Listed};
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;

/// How an outcome ends a turn.
enum End {
    Again,
    Interrupted,
    Refused(Refusal),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Worker {
    /// Takes the outcome of the action that [`Self::next`] returned. Returns the end of the turn,
    /// if it ends by that.
    pub fn after(
        &mut self,
        outcome: Result<Outcome, Failure>,
        situation: &Situation<'_>,
    ) -> Option<TurnEnd> {
        let action = self.turn.todo.pop_front()?;
        let end = match outcome {
            Ok(outcome) => self.done(action, outcome, situation).err(),
            Err(failure) => self.failed(action, failure, situation),
        };
        let end = match end? {
            End::Interrupted => TurnEnd::Interrupted,
            End::Refused(refusal) => TurnEnd::Failed(refusal),
            End::Again => TurnEnd::Again,
        };
        Some(self.end_turn(end, situation.now.boot))
    }

    /// Ends the turn. A lease that was granted and not used is revoked in a later one.
    pub(super) fn end_turn(&mut self, end: TurnEnd, now: Duration) -> TurnEnd {
        let turn = mem::take(&mut self.turn);
        self.unrevoked.extend(turn.new_lease.map(|new| new.lease));
        if let TurnEnd::Failed(_) = end {
            self.not_before = now + RETRY_DELAY;
        }
        end
    }

    fn done(
        &mut self,
        action: Action,
        outcome: Outcome,
        situation: &Situation<'_>,
    ) -> Result<(), End> {
        match (action, outcome) {
            (Action::List { .. }, Outcome::Listed(listing)) => self.listed(listing),
            (Action::ReadMarks { .. }, Outcome::HighWaterMarks(read)) => self.read(read),
            (Action::Grant { lease, ttl, at: Some(_) }, Outcome::Granted(_, granted)) => {
                self.granted_grace(lease, ttl, granted, situation.now.now)?;
            }
            (Action::Grant { lease, .. }, Outcome::Granted(sent, ttl)) => {
                let limits = LeaseLimits::from_grant(sent, LeaseDuration(ttl));
                self.turn.new_lease = Some(NewLease { lease, ttl, sent, limits });
                if ttl.is_zero() {
                    return Err(Refusal::ShortLease(ttl).into());
                }
                self.turn.is_fresh = true;
                self.list_again();
            }
            (Action::Revoke(lease), _) => {
                self.unrevoked.retain(|unrevoked| *unrevoked != lease);
                if self.turn.release.is_some() {
                    self.ended_lease = lease;
                }
            }
            (Action::Remember { purpose: MemoryPurpose::Switch(_), .. }, _) => {
                (self.seen, self.replacing) = (Seen::default(), None);
            }
            (Action::Renew { holding, .. }, Outcome::Renewed(renewal)) => {
                self.renewed(holding, renewal, situation)?;
            }
            (action @ Action::Change { .. }, Outcome::Changed(answer)) => {
                self.changed(action, &answer, situation)?;
            }
            (Action::GiveUp { is_lost, .. }, Outcome::GaveUp(gone)) => match is_lost {
                true => self.gave_up_lost(gone),
                false => self.gave_up(gone),
            },
            (Action::Publish { lease }, Outcome::Usable(is_usable)) => {
                self.published(lease, is_usable)?;
            }
            (Action::Extend { .. }, Outcome::Usable(is_usable)) => {
                self.extended(is_usable, situation);
            }
            _ => {}
        }
        Ok(())
    }

    fn published(&mut self, lease: Lease, is_usable: bool) -> Result<(), End> {
        if is_usable {
            (self.turn.new_lease, self.place) = (None, 0);
            self.turn.todo.push_back(Action::Report(Report::Leased(lease.held)));
        } else if self.turn.new_lease.is_some() {
            return Err(Refusal::Late.into());
        }
        self.turn.errand = Errand::Finish;
        self.turn.listing = None;
        Ok(())
    }

    /// Continues after a renewal with what it was for, or with what is to be looked after.
    fn extended(&mut self, is_usable: bool, situation: &Situation<'_>) {
        self.list_again();
        self.turn.found.clear();
        self.turn.lease = situation.lease.cloned();
        let is_for_claim = self.turn.errand == Errand::Claim;
        self.turn.is_fresh |= is_for_claim;
        self.turn.errand = match is_usable {
            false => Errand::Finish,
            true if self.orphans_until.is_some() => Errand::Orphans { is_for_claim },
            true if is_for_claim => Errand::Claim,
            true if self.listed_at != situation.endpoint => Errand::NoteEndpoint,
            true => Errand::Finish,
        };
    }

    fn listed(&mut self, listing: Listing) {
        let is_begun = |(lease, _): &mut (i64, _)| *lease == listing.grace.lease;
        if let Some((_, why)) = self.unanswered_grace.take_if(is_begun) {
            self.turn.todo.push_front(Action::Report(Report::GraceBegan(why)));
        }
        let endpoint = listing.endpoint.clone();
        self.turn.views.push(View { endpoint, shown: Ok(listing) });
    }

    fn read(&mut self, read: Vec<(u16, Option<HighWaterMark>)>) {
        let Some(listing) = &mut self.turn.listing else { return };
        for (id, high_water_mark) in read {
            match high_water_mark {
                Some(high_water_mark) => {
                    listing.mark_revisions.insert(id, high_water_mark.revision);
                    self.high_water_marks.insert(id, high_water_mark);
                }
                None => {
                    listing.mark_revisions.remove(&id);
                    self.high_water_marks.remove(&id);
                }
            }
        }
    }

    /// Begins the grace period at the present time, for which the lease was granted.
    fn granted_grace(
        &mut self,
        lease: i64,
        ttl: Duration,
        granted: Duration,
        now: UnixNanos,
    ) -> Result<(), End> {
        if granted < ttl {
            self.unrevoked.push(lease);
            return Err(Refusal::ShortLease(granted).into());
        }
        let nanos = u64::try_from(granted.as_nanos()).unwrap_or(u64::MAX);
        let end = UnixNanos(now.0.saturating_add(nanos));
        if let Some(Action::Change {
            change: Change::BeginGrace { until, .. } | Change::Found { until, .. },
            ..
        }) = self.turn.todo.front_mut()
        {
            *until = end;
        }
        Ok(())
    }

    fn renewed(
        &mut self,
        holding: Holding,
        renewal: Renewal,
        situation: &Situation<'_>,
    ) -> Result<(), End> {
        let ours = match renewal {
            Renewal::Done { sent, limits, revisions } => {
                let lease = holding.lease;
                self.turn.todo.push_back(Action::Extend { lease, limits, sent, revisions });
                return Ok(());
            }
            Renewal::Unsure => {
                self.turn.tries += 1;
                if self.turn.tries >= TRIES {
                    return Err(Refusal::LeaderChanges.into());
                }
                if let Some(lease) = situation.lease {
                    self.renew(lease);
                }
                return Ok(());
            }
            Renewal::Only(ours) => Some(ours),
            Renewal::Gone | Renewal::Elsewhere => None,
        };
        self.list_again();
        self.turn.errand = Errand::Doubt { ours };
        Ok(())
    }

    fn changed(
        &mut self,
        action: Action,
        answer: &Answer,
        situation: &Situation<'_>,
    ) -> Result<(), End> {
        let claim = action.clone();
        let Action::Change { listed, change, .. } = action else { return Ok(()) };
        match change {
            Change::Found { .. } | Change::BeginGrace { .. } if answer.is_done => {
                let report = self.turn.grace.take().map(Report::GraceBegan);
                if let Some(report) = report.map(Action::Report) {
                    self.turn.todo.push_front(report);
                }
            }
            Change::BeginGrace { .. } if answer.read.is_empty() => {
                return Err(Refusal::OtherEtcd.into());
            }
            Change::Claim { ref holding, ceiling, .. } if !answer.is_done => {
                // The conditions also do not hold if an earlier call made the claim and its answer
                // was lost. The lease may have been renewed since, and the high-water marks of that
                // call are before its ceiling now.
                let ours = holding.ours(answer);
                if ours.len() != holding.held.len() {
                    self.lose_race(situation);
                    return Ok(());
                }
                let held = holding.held.iter().map(|held| held.as_of(&ours)).collect();
                self.turn.claim = Some(claim);
                let change = Change::ConfirmClaim { holding: holding.with(held), ceiling };
                self.turn.todo.push_back(Action::Change { at: None, listed, change });
            }
            Change::ConfirmClaim { .. } if !answer.is_done => self.lose_race(situation),
            Change::Claim { holding, .. } | Change::ConfirmClaim { holding, .. } => {
                self.publish(&holding, answer, situation);
            }
            Change::Release(holding) if self.turn.release.is_some() => {
                self.released(holding, answer, listed, situation.now.boot);
            }
            _ => {}
        }
        Ok(())
    }

    fn publish(&mut self, holding: &Holding, answer: &Answer, situation: &Situation<'_>) {
        let revisions = holding.written(answer);
        let held: Vec<LeasedId> =
            holding.held.iter().map(|leased| leased.as_of(&revisions)).collect();
        // Claims that are added to a lease have its times.
        let lease = match (situation.lease, self.turn.new_lease, &self.turn.listing) {
            (Some(lease), _, Some(listing)) => {
                Lease { authority: listing.authority(), held, ..lease.clone() }
            }
            (None, Some(new), Some(listing)) => Lease {
                lease: new.lease,
                namespace: situation.settings.namespace.into(),
                authority: listing.authority(),
                cluster: holding.cluster,
                ttl: new.ttl,
                epoch: situation.settings.epoch,
                limits: new.limits,
                sent: new.sent,
                since: new.sent.now,
                held,
            },
            _ => return,
        };
        self.turn.todo.push_back(Action::Publish { lease });
    }

    /// Reports what is lost, and writes its exact high-water marks, as far as they are still as
    /// this server wrote them.
    fn gave_up_lost(&mut self, gone: Vec<LeasedId>) {
        let Some(loss) = self.turn.loss.filter(|_| !gone.is_empty()) else { return };
        let Some(Lease { lease, cluster, .. }) = self.turn.lease else { return };
        self.next_claim_at = Duration::ZERO;
        self.turn.todo.push_back(Action::Report(Report::Lost { lease, gone: gone.clone(), loss }));
        if loss == Loss::Forgotten {
            let deadline = self.turn.forgotten_until;
            self.forgotten = Some(Forgotten { held: gone.clone(), deadline });
            self.turn.forgotten = gone;
        } else if let Some(listing) = &self.turn.listing {
            let finalize = gone.into_iter().map(|leased| plan::finalize(cluster, leased, listing));
            self.turn.todo.extend(finalize);
        }
    }

    /// Releases what was given up on purpose.
    fn gave_up(&mut self, gone: Vec<LeasedId>) {
        let Some((lease, given_up)) = &mut self.turn.release else { return };
        if gone.is_empty() {
            return;
        }
        given_up.clone_from(&gone);
        let change = Change::Release(lease.holding(gone));
        self.turn.todo.push_back(Action::Change { at: None, listed: Listed::default(), change });
    }

    fn released(&mut self, holding: Holding, answer: &Answer, listed: Listed, now: Duration) {
        let Some((lease, gone)) = self.turn.release.clone() else { return };
        let is_all = gone.len() == lease.held.len();
        if !answer.is_done {
            let ours = holding.ours(answer);
            let is_ours = |held: &&LeasedId| ours.iter().any(|(id, _)| *id == held.id);
            let rest: Vec<_> =
                holding.held.iter().filter(is_ours).map(|held| held.as_of(&ours)).collect();
            self.turn.tries += 1;
            if !rest.is_empty() && self.turn.tries < TRIES {
                let change = Change::Release(holding.with(rest));
                self.turn.todo.push_back(Action::Change { at: None, listed, change });
                return;
            }
            if !rest.is_empty() && !is_all {
                return self.keep_claims(now);
            }
            // Another etcd may have answered, which has none of these claims. The next renewals
            // look for them.
            if !is_all {
                self.expect_orphans(now);
            }
        }
        if is_all {
            self.turn.todo.push_back(Action::Revoke(lease.lease));
        }
        self.turn.todo.push_back(Action::Report(Report::Released(gone)));
    }

    /// Leaves the claims of what was given up to the end of their lease.
    fn keep_claims(&mut self, now: Duration) {
        let Some((lease, gone)) = self.turn.release.take() else { return };
        match gone.len() == lease.held.len() {
            true => self.unrevoked.push(lease.lease),
            false => self.expect_orphans(now),
        }
        self.turn.todo.clear();
        self.turn.todo.push_back(Action::Report(Report::NotReleased(gone)));
    }

    /// Decides what follows if an action was not done, or may have been done.
    fn failed(
        &mut self,
        action: Action,
        failure: Failure,
        situation: &Situation<'_>,
    ) -> Option<End> {
        let error = match failure {
            Failure::Interrupted => None,
            Failure::Failed(error) => Some(error),
        };
        let goes_on = match (&action, &error) {
            (Action::List { at: Some(endpoint) }, Some(error)) => {
                let (endpoint, shown) = (endpoint.clone(), Err(error.clone()));
                self.turn.views.push(View { endpoint, shown });
                true
            }
            (Action::Remember { purpose: MemoryPurpose::Note, .. }, Some(_)) => true,
            (Action::Remember { purpose: MemoryPurpose::Switch(names), .. }, _) => {
                self.replacing.clone_from(names);
                false
            }
            (Action::Grant { lease, at: None, .. }, _) => {
                self.unrevoked.push(*lease);
                false
            }
            // The claims are deleted already.
            (Action::Revoke(lease), _) if self.turn.release.is_some() => {
                self.unrevoked.push(*lease);
                true
            }
            (Action::ReadMarks { .. }, Some(_)) => self.skip_finalizing(),
            (Action::Change { change, .. }, _) => {
                let is_error = error.is_some();
                self.change_failed(change, &action, is_error, situation.now.boot)
            }
            _ => false,
        };
        if goes_on {
            return None;
        }
        let is_for_later = self.turn.errand.is_for_later()
            || matches!(action, Action::Change { change: Change::Release(_), .. });
        match error {
            None => Some(End::Interrupted),
            Some(_) if is_for_later => Some(End::Again),
            Some(error) => Some(Refusal::Failed(error).into()),
        }
    }

    /// Decides what follows if a change may not have been done. Returns whether the turn goes on.
    fn change_failed(
        &mut self,
        change: &Change,
        action: &Action,
        is_error: bool,
        now: Duration,
    ) -> bool {
        match change {
            Change::BeginGrace { lease, .. } | Change::Found { lease, .. } => {
                self.unanswered_grace = self.turn.grace.take().map(|why| (*lease, why));
                false
            }
            Change::Claim { .. } | Change::ConfirmClaim { .. } => {
                let Some(new) = self.turn.new_lease else {
                    self.expect_orphans(now);
                    return false;
                };
                let is_last = self.turn.is_second_claim || new.limits.is_expired(now);
                if is_error && !is_last {
                    self.turn.is_second_claim = true;
                    let claim = self.turn.claim.take().unwrap_or_else(|| action.clone());
                    self.turn.todo.push_back(claim);
                }
                is_error && !is_last
            }
            Change::Release(_) if self.turn.release.is_some() => {
                self.keep_claims(now);
                true
            }
            // The next renewal looks whether orphans are left. The claim that follows does not need
            // them.
            Change::Release(_) if is_error && self.turn.errand == Errand::Claim => {
                self.turn.todo.clear();
                true
            }
            Change::FinalizeMark { .. } if is_error => self.skip_finalizing(),
            _ => false,
        }
    }

    /// Leaves the high-water marks of what was lost as they are: later than those that would be
    /// written. Returns whether the turn was to write them.
    fn skip_finalizing(&mut self) -> bool {
        let is_after_loss = self.turn.errand == Errand::AfterLoss;
        if is_after_loss {
            self.turn.todo.clear();
            self.turn.forgotten.clear();
        }
        is_after_loss
    }
}
