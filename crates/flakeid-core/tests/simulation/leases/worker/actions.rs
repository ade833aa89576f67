//! The actions that the server does itself: its disk, the cells of its generator IDs, and its log.

use super::super::events::{Event, Flaw};
use super::super::fleet::Fleet;
use super::super::node::{Life, Node};
use super::Worker;
use flakeid_core::lease::{LeaseLimits, RequestTime};
use flakeid_core::registry::action::{Action, GraceBegins, Lease, Loss, MemoryPurpose, Report};
use flakeid_core::registry::listing::ClaimRevision;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::transaction::LeasedId;
use flakeid_core::registry::trust::GraceReason;
use flakeid_core::registry::turn::{Failure, Outcome};

impl Node {
    /// Does an action without etcd. Returns `None` if the action needs etcd.
    pub(super) fn act_here(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        action: &Action,
    ) -> Option<Result<Outcome, Failure>> {
        Some(match action {
            Action::Prefer(endpoint) => {
                if worker.is_misled {
                    fleet.events.saw(Event::ContinuedElsewhere);
                }
                let mut endpoints = worker.settings.endpoints.iter();
                worker.at = endpoints.position(|at| at == endpoint).unwrap_or(worker.at);
                Ok(Outcome::Done)
            }
            Action::Remember { memory, purpose } => self.remember(fleet, life, memory, purpose),
            Action::GiveUp { ids, is_lost } => {
                Ok(Outcome::GaveUp(self.give_up(fleet, life, ids, *is_lost)))
            }
            Action::Publish { lease } => Ok(Outcome::Usable(self.publish(fleet, life, lease))),
            Action::Extend { lease, limits, sent, revisions } => {
                let is_usable = self.extend_lease(fleet, life, *lease, *limits, *sent, revisions);
                Ok(Outcome::Usable(is_usable))
            }
            Action::Report(report) => {
                fleet.report(report);
                Ok(Outcome::Done)
            }
            _ => return None,
        })
    }

    /// Writes the memory, unless the disk is full. The server may crash before or after that.
    fn remember(
        &self,
        fleet: &Fleet,
        life: &Life,
        memory: &Memory,
        purpose: &MemoryPurpose,
    ) -> Result<Outcome, Failure> {
        let chance = if fleet.well.get() { 99 } else { fleet.world.random.below(60) };
        if chance == 0 {
            fleet.events.saw(Event::MemoryNotWritten);
            return Err(Failure::Failed("the disk is full".into()));
        }
        if chance != 1 {
            let retired = |memory: &Memory| memory.retired.len();
            let known = life.memory.borrow().as_ref().map_or(0, retired);
            if retired(memory) > known {
                fleet.events.saw(Event::Retired);
            }
            let memory = &self.mind(fleet, memory);
            life.memory.replace(Some(memory.clone()));
            if fleet.flaw != Flaw::ClaimsBeforeRemembering {
                self.memory.replace(Some(memory.clone()));
            }
            if let MemoryPurpose::Switch(_) = purpose {
                fleet.events.saw(Event::Followed);
                life.seen.set(0);
            }
        }
        if chance <= 2 {
            fleet.events.saw(Event::Crash);
            self.end(fleet);
        }
        Ok(Outcome::Done)
    }

    /// Gives up all that is held if the deadline has passed.
    pub(super) fn watch_deadline(&self, fleet: &Fleet, life: &Life) {
        let boot = self.boot(fleet.world.time.get());
        if life.claim.get().is_some_and(|claim| claim.is_expired(boot)) {
            fleet.events.saw(Event::LossByDeadline);
            let ids: Vec<u16> = life.held().iter().map(|held| held.id).collect();
            self.give_up(fleet, life, &ids, true);
        }
    }

    /// Seals the cells of these, and forgets them. Returns each with its exact high-water mark.
    fn give_up(&self, fleet: &Fleet, life: &Life, ids: &[u16], is_lost: bool) -> Vec<LeasedId> {
        let mut gone = Vec::new();
        let is_empty = {
            let mut lease = life.lease.borrow_mut();
            let Some(lease) = &mut *lease else { return gone };
            lease.held.retain(|held| {
                let goes = ids.contains(&held.id);
                if goes {
                    gone.push(*held);
                }
                !goes
            });
            lease.held.is_empty()
        };
        if gone.is_empty() {
            return gone;
        }
        if is_empty {
            life.lease.replace(None);
            life.claim.set(None);
        }
        life.next_generation();
        self.cap(fleet, life);
        if !is_lost {
            fleet.events.saw(Event::Release);
        }
        for held in &mut gone {
            let seal = is_lost || fleet.flaw != Flaw::NotSealed;
            held.high_water_mark = life.last(held.id, held.high_water_mark.0, seal);
        }
        gone
    }

    /// Begins to hold these generator IDs, beside others of the same lease.
    fn publish(&self, fleet: &Fleet, life: &Life, new: &Lease) -> bool {
        let sent = self.sent(fleet.world.time.get());
        if new.limits.is_expired(sent.boot) {
            return false;
        }
        fleet.events.saw(Event::Claim);
        if fleet.etcd().is_in_grace(fleet.world.time.get()) {
            fleet.events.saw(Event::Reclaim);
        }
        life.next_generation();
        for held in &new.held {
            let high_water_mark = held.high_water_mark.0;
            fleet.hand_on(held.id, self, high_water_mark, high_water_mark > sent.now.0);
            life.revive(fleet, self, held.id, high_water_mark);
        }
        let limits = {
            let mut lease = life.lease.borrow_mut();
            match &mut *lease {
                Some(lease) if lease.lease == new.lease => {
                    lease.held.extend(&new.held);
                    lease.held.sort_by_key(|held| held.id);
                    // Another claim does not renew the lease, and all its generator IDs have one
                    // gate.
                    lease.limits.ceiling = lease.limits.ceiling.min(new.limits.ceiling);
                    lease.limits.deadline = lease.limits.deadline.min(new.limits.deadline);
                    lease.limits
                }
                lease => lease.insert(new.clone()).limits,
            }
        };
        life.claim.set(Some(limits));
        life.last_lease.set((new.lease, new.ttl));
        self.cap(fleet, life);
        true
    }

    /// Extends the limits of a lease that was renewed.
    fn extend_lease(
        &self,
        fleet: &Fleet,
        life: &Life,
        number: i64,
        limits: LeaseLimits,
        sent: RequestTime,
        revisions: &[ClaimRevision],
    ) -> bool {
        let boot = self.boot(fleet.world.time.get());
        {
            let mut lease = life.lease.borrow_mut();
            let Some(lease) = lease.as_mut().filter(|lease| lease.lease == number) else {
                return false;
            };
            if lease.limits.is_expired(boot) || limits.is_expired(boot) {
                return false;
            }
            (lease.limits, lease.sent) = (limits, sent);
            for held in &mut lease.held {
                *held = held.as_of(revisions);
                life.seen.set(life.seen.get().max(held.revision));
            }
        }
        fleet.events.saw(Event::Renewal);
        life.claim.set(Some(limits));
        self.cap(fleet, life);
        true
    }
}

impl Fleet {
    fn report(&self, report: &Report) {
        self.events.saw(match report {
            Report::GraceBegan(GraceBegins::Founded(_)) => Event::Founded,
            Report::GraceBegan(GraceBegins::Forgotten(GraceReason::EarlierId)) => Event::SetBack,
            Report::GraceBegan(_) => Event::GraceBegun,
            Report::Lost { loss: Loss::Forgotten, .. } => Event::Forgotten,
            Report::Lost { .. } => Event::LossByKey,
            Report::PoolEmpty => Event::WaitForPool,
            _ => return,
        });
    }
}
