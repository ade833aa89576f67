//! The worker of a server: it claims generator IDs, renews the claim, and releases them. One request at a time is
//! under way. Its result is not known until the answer arrives, or never.

mod losing;

use super::etcd::{ANY, Change, Claimant, HighWaterMark, Listing, Reply, Request};
use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Held, Life, Node};
use crate::clock::SECOND;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::{LeaseLimits, RequestTime, choose};
use std::time::Duration;

#[derive(Default)]
pub struct Worker {
    /// The lease for the held IDs, or for those that the worker will claim.
    lease: Option<u64>,
    /// The task for whose answer it waits, the number of its request, and the timeout.
    task: Option<Task>,
    number: u64,
    timeout: u64,
    renewal: Duration,
    /// The time before which it does not claim.
    retry: u64,
    /// The time until which an abandoned request may still have an effect; 0 if there is no such request.
    unsure: u64,
    /// The place at which its next search for free IDs begins.
    start: u16,
    /// The time at which it is woken next, if there is one.
    timer: Option<u64>,
    /// The IDs that it held and the registry has forgotten, with their exact high-water marks, and the deadline of
    /// the claim.
    forgotten: Vec<(u16, UnixNanos)>,
    deadline: Duration,
}

/// A claim of generator IDs.
#[derive(Clone)]
struct ClaimRequest {
    sent: RequestTime,
    changes: Vec<Change>,
    /// The high-water marks in the listing, above which the IDs will begin.
    seen: Vec<u64>,
    claimant: Claimant,
}

#[derive(Clone)]
enum Task {
    /// Lists the registry: to find free IDs; to learn the holders of those in a claim; to learn which are still held.
    Find,
    CheckClaim(ClaimRequest),
    SeeHeld,
    Grant(ClaimRequest),
    Claim(ClaimRequest),
    KeepAlive(RequestTime),
    Renew(RequestTime, Vec<Change>),
    Release,
    /// Founds the registry, or begins a grace period.
    Found,
    Settle,
}

impl Worker {
    /// Returns the lease of the held IDs.
    pub fn lease(&self) -> Option<u64> {
        self.lease
    }

    /// Returns whether it claims such a generator ID.
    pub fn asks_for(&self, it: impl Fn(&Change) -> bool) -> bool {
        match &self.task {
            Some(
                Task::Grant(claim_request)
                | Task::Claim(claim_request)
                | Task::CheckClaim(claim_request),
            ) => claim_request.changes.iter().any(it),
            _ => false,
        }
    }

    /// Sets where its next search for free IDs begins.
    pub fn look_from(&mut self, id: u16) {
        self.start = id;
    }

    /// Ends all tasks. Nothing is held any more.
    pub fn abandon(&mut self) {
        (self.lease, self.task, self.unsure, self.retry) = (None, None, 0, 0);
        self.number += 1;
    }
}

impl Node {
    /// Lets the worker find its next task.
    pub fn work(&self, fleet: &Fleet, life: &Life) {
        let time = fleet.world.time.get();
        let boot = self.boot(time);
        if !self.follow(fleet, life) {
            return;
        }
        let mut worker = life.worker.borrow_mut();
        if life.claim.get().is_some_and(|claim| claim.is_expired(boot)) {
            fleet.events.saw(Event::LossByDeadline);
            self.lose_all(fleet, life, &mut worker);
        }
        if worker.task.is_some() && time >= worker.timeout {
            self.time_out(fleet, life, &mut worker);
        }
        if worker.task.is_none() {
            let held = life.held.borrow().len();
            let want = self.want.get();
            let in_pool = |&id: &u16| fleet.is_in_pool_of(self, id);
            let (inside, outside): (Vec<u16>, Vec<u16>) =
                life.held.borrow().keys().copied().partition(in_pool);
            let surplus: Vec<u16> = inside.into_iter().skip(want).chain(outside).collect();
            if held > 0 && boot >= worker.renewal {
                let request = Request::KeepAlive(worker.lease.expect("the lease of what is held"));
                let sent = self.sent(time);
                self.send(fleet, life, &mut worker, Task::KeepAlive(sent), request);
            } else if !surplus.is_empty() {
                drop(worker);
                self.release(fleet, life, &surplus);
                worker = life.worker.borrow_mut();
            } else if (held < want || worker.unsure > 0) && time >= worker.retry {
                self.send(fleet, life, &mut worker, Task::Find, Request::List);
            }
        }
        let mut next = if worker.task.is_some() { worker.timeout } else { u64::MAX };
        if let Some(claim) = life.claim.get() {
            next = next.min(self.time_of(claim.deadline));
            if worker.task.is_none() {
                next = next.min(self.time_of(worker.renewal));
            }
        }
        let wants = life.held.borrow().len() < self.want.get() || worker.unsure > 0;
        if worker.task.is_none() && wants {
            next = next.min(worker.retry);
        }
        drop(worker);
        if next < u64::MAX {
            fleet.wake(self, life, next.max(time + 1000));
        }
    }

    /// Wakes the worker at this time, if nothing wakes it before.
    pub fn is_woken_at(life: &Life, time: u64) -> bool {
        let mut worker = life.worker.borrow_mut();
        let earlier = worker.timer.is_none_or(|timer| time < timer);
        if earlier {
            worker.timer = Some(time);
        }
        earlier
    }

    /// Returns whether this is the time at which it was to be woken, and not before it or after a change of it.
    pub fn wakes(life: &Life, time: u64) -> bool {
        let timer = &mut life.worker.borrow_mut().timer;
        let is_due = *timer == Some(time);
        if is_due {
            *timer = None;
        }
        is_due
    }

    /// Requests a renewal for a session.
    pub fn hurry(&self, fleet: &Fleet, life: &Life) {
        let time = fleet.world.time.get();
        let mut worker = life.worker.borrow_mut();
        if let Some(claim) = life.claim.get()
            && worker.task.is_none()
            && claim.deadline.saturating_sub(self.boot(time)) + Duration::from_secs(1)
                < fleet.term.usable()
        {
            worker.renewal = Duration::ZERO;
            drop(worker);
            fleet.wake(self, life, time + 1000);
        }
    }

    fn send(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, task: Task, request: Request) {
        worker.number += 1;
        worker.task = Some(task);
        let patience = (fleet.term.0.as_nanos() as u64 / 6).min(2 * SECOND);
        worker.timeout = fleet.world.time.get() + patience;
        fleet.send(self, life, worker.number, request);
    }

    /// Handles the loss of an answer: the result of the request is not known.
    fn time_out(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let time = fleet.world.time.get();
        let retry = time + fleet.world.random.below(SECOND);
        worker.unsure = time + 20 * SECOND;
        match worker.task.take() {
            Some(Task::Claim(claim_request)) => {
                fleet.events.saw(Event::AmbiguousClaim);
                self.send(fleet, life, worker, Task::CheckClaim(claim_request), Request::List);
            }
            Some(Task::CheckClaim(claim_request)) => {
                self.send(fleet, life, worker, Task::CheckClaim(claim_request), Request::List);
            }
            Some(Task::KeepAlive(_) | Task::Renew(..) | Task::SeeHeld) => {
                self.send(fleet, life, worker, Task::SeeHeld, Request::List);
            }
            Some(Task::Find | Task::Grant(_) | Task::Release | Task::Found | Task::Settle)
            | None => {
                worker.retry = retry;
            }
        }
    }

    /// Handles an answer.
    pub fn hear(&self, fleet: &Fleet, life: &Life, number: u64, reply: Reply) {
        let time = fleet.world.time.get();
        let mut guard = life.worker.borrow_mut();
        let worker = &mut *guard;
        if life.claim.get().is_some_and(|claim| claim.is_expired(self.boot(time))) {
            fleet.events.saw(Event::LossByDeadline);
            self.lose_all(fleet, life, worker);
        }
        if worker.number != number {
            return;
        }
        let random = &fleet.world.random;
        match (worker.task.take(), reply) {
            (Some(Task::Find), Reply::Listing(listing)) => {
                self.found(fleet, life, worker, listing);
            }
            (Some(Task::Grant(claim_request)), Reply::Granted(lease)) => {
                worker.lease = Some(lease);
                let request =
                    Request::Claim(lease, claim_request.changes.clone(), claim_request.claimant);
                self.send(fleet, life, worker, Task::Claim(claim_request), request);
            }
            (Some(Task::Claim(claim_request)), Reply::Done(revision)) => {
                self.begin(fleet, life, worker, claim_request, |_| revision);
            }
            (Some(Task::Claim(_)), _) => {
                fleet.events.saw(Event::LostRace);
                worker.start = fleet.pool.start() + random.below(fleet.pool.len() as u64) as u16;
                worker.retry = time + random.below(SECOND / 10);
                self.drop_lease(fleet, life, worker);
            }
            (Some(Task::CheckClaim(claim_request)), Reply::Listing(listing)) => {
                let own = |&(id, ..): &Change| listing.pool.get(&id).copied() == worker.lease;
                if worker.lease.is_some() && claim_request.changes.iter().all(own) {
                    fleet.events.saw(Event::AmbiguousGranted);
                    self.begin(fleet, life, worker, claim_request, |id| {
                        listing.high_water_mark(id).revision
                    });
                } else {
                    self.drop_lease(fleet, life, worker);
                }
            }
            (Some(Task::KeepAlive(sent)), Reply::Done(_)) => {
                let Some(claim) = life.claim.get() else { return };
                let ceiling = claim.renewed(sent, fleet.term).ceiling;
                let changes = self.changes(fleet, life, ceiling);
                let lease = worker.lease.expect("the lease of what is held");
                let request = match fleet.flaw {
                    Flaw::Unchecked => Request::Overwrite(changes.clone()),
                    _ => Request::Renew(lease, changes.clone()),
                };
                self.send(fleet, life, worker, Task::Renew(sent, changes), request);
            }
            (Some(Task::KeepAlive(_)), _) => {
                self.send(fleet, life, worker, Task::SeeHeld, Request::List);
            }
            (Some(Task::Found), _) if !worker.forgotten.is_empty() => {
                let change = |&(id, exact): &(u16, UnixNanos)| (id, ANY, exact);
                let changes = worker.forgotten.iter().map(change).collect();
                self.send(fleet, life, worker, Task::Settle, Request::Settle(changes));
            }
            (Some(Task::Renew(sent, changes)), Reply::Done(revision)) => {
                let Some(claim) = life.claim.get() else { return };
                fleet.events.saw(Event::Renewal);
                for (id, _, UnixNanos(until)) in changes {
                    if let Some(held) = life.held.borrow_mut().get_mut(&id) {
                        held.revision = revision;
                        held.written = until;
                    }
                }
                life.claim.set(Some(claim.renewed(sent, fleet.term)));
                worker.renewal = sent.boot + fleet.term.renewal();
                self.cap(fleet, life);
            }
            (Some(Task::Release), Reply::ParseError) => worker.unsure = time + SECOND,
            (Some(Task::Renew(..)), _) => {
                self.send(fleet, life, worker, Task::SeeHeld, Request::List);
            }
            (Some(Task::SeeHeld), Reply::Listing(listing)) => {
                self.see_held(fleet, life, worker, &listing);
            }
            _ => {}
        }
        drop(guard);
        fleet.wake(self, life, time + 1000);
    }

    /// Returns the changes that a renewal writes.
    fn changes(&self, fleet: &Fleet, life: &Life, ceiling: UnixNanos) -> Vec<Change> {
        let held = life.held.borrow();
        let change = |(&id, held): (&u16, &Held)| match fleet.flaw {
            Flaw::Record => (id, held.revision, life.last(id, held.high_water_mark, false)),
            Flaw::Unchecked => (id, held.revision, ceiling),
            Flaw::LateRenewal => (id, ANY, ceiling.max(UnixNanos(held.high_water_mark))),
            _ => (id, held.revision, ceiling.max(UnixNanos(held.written))),
        };
        held.iter().map(change).collect()
    }

    fn found(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, listing: Listing) {
        let time = fleet.world.time.get();
        // A stray is a claim that came late, after the worker had abandoned it.
        let is_stray = |(id, lease): (&u16, &u64)| {
            Some(*lease) == worker.lease && !life.held.borrow().contains_key(id)
        };
        let strays = listing.pool.iter().filter(|&entry| is_stray(entry)).map(|(&id, _)| {
            let high_water_mark = listing.high_water_mark(id);
            (id, high_water_mark.revision, UnixNanos(high_water_mark.until))
        });
        let strays: Vec<Change> = strays.collect();
        if let Some(lease) = worker.lease.filter(|_| !strays.is_empty()) {
            return self.send(fleet, life, worker, Task::Release, Request::Release(lease, strays));
        }
        if time >= worker.unsure {
            worker.unsure = 0;
        } else {
            worker.retry = time + SECOND;
        }
        let want = self.want.get().saturating_sub(life.held.borrow().len());
        if want == 0 {
            return;
        }
        let sent = self.sent(time);
        if !listing.is_founded {
            return self.send(fleet, life, worker, Task::Found, Request::Found);
        }
        if listing.is_grace {
            return self.reclaim(fleet, life, worker, &listing, want);
        }
        let is_free = |id| !listing.pool.contains_key(&id) && fleet.may_lease(self, id);
        let is_past = |id| listing.high_water_mark(id).until <= sent.now.0;
        let Some(ids) = choose(fleet.pool.clone(), worker.start, want, is_free, is_past) else {
            fleet.events.saw(Event::WaitForPool);
            worker.start = 0;
            let third = fleet.term.renewal().as_nanos() as u64;
            worker.retry = time + third + fleet.world.random.below(third);
            return;
        };
        worker.start = 0;
        let ceiling = LeaseLimits::from_grant(sent, fleet.term).ceiling.0;
        let high_water_marks = ids.as_slice().iter().map(|&id| (id, listing.high_water_mark(id)));
        let change = |(id, high_water_mark): (u16, HighWaterMark)| {
            let becomes = if fleet.flaw == Flaw::Record { high_water_mark.until } else { ceiling };
            let seen =
                if fleet.flaw == Flaw::StaleHighWaterMark { ANY } else { high_water_mark.revision };
            (id, seen, UnixNanos(becomes.max(high_water_mark.until)))
        };
        let seen =
            high_water_marks.clone().map(|(_, high_water_mark)| high_water_mark.until).collect();
        let changes = high_water_marks.map(change).collect();
        self.claim(
            fleet,
            life,
            worker,
            ClaimRequest { sent, changes, seen, claimant: Claimant::Anybody },
        );
    }

    fn claim(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, claim_request: ClaimRequest) {
        match worker.lease {
            None => self.send(fleet, life, worker, Task::Grant(claim_request), Request::Grant),
            Some(lease) => {
                let request =
                    Request::Claim(lease, claim_request.changes.clone(), claim_request.claimant);
                self.send(fleet, life, worker, Task::Claim(claim_request), request);
            }
        }
    }

    /// Claims the IDs that it held until just now, in a grace period.
    fn reclaim(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        listing: &Listing,
        want: usize,
    ) {
        let sent = self.sent(fleet.world.time.get());
        if sent.boot >= worker.deadline && fleet.flaw != Flaw::LateReclaim {
            worker.forgotten.clear();
        }
        let is_free = |(id, _): &&(u16, UnixNanos)| !listing.pool.contains_key(id);
        let own: Vec<_> = worker.forgotten.iter().filter(is_free).take(want).copied().collect();
        if own.is_empty() {
            fleet.events.saw(Event::WaitForGrace);
            worker.retry = fleet.world.time.get() + SECOND;
            return;
        }
        fleet.events.saw(Event::Reclaim);
        let ceiling = LeaseLimits::from_grant(sent, fleet.term).ceiling;
        let high_water_mark = |&(id, UnixNanos(exact)): &(u16, UnixNanos)| {
            listing.high_water_mark(id).until.max(exact)
        };
        let seen: Vec<u64> = own.iter().map(high_water_mark).collect();
        let change = |(&(id, _), &high_water_mark): (&(u16, UnixNanos), &u64)| {
            (id, listing.high_water_mark(id).revision, ceiling.max(UnixNanos(high_water_mark)))
        };
        let changes = own.iter().zip(&seen).map(change).collect();
        self.claim(
            fleet,
            life,
            worker,
            ClaimRequest { sent, changes, seen, claimant: Claimant::Holder },
        );
    }

    /// Begins to hold these IDs, beside others of the same lease.
    fn begin(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        claim_request: ClaimRequest,
        revision: impl Fn(u16) -> u64,
    ) {
        let sent = self.sent(fleet.world.time.get());
        let mut claim = LeaseLimits::from_grant(claim_request.sent, fleet.term);
        if let Some(held) = life.claim.get() {
            claim.ceiling = claim.ceiling.min(held.ceiling);
            claim.deadline = claim.deadline.min(held.deadline);
        } else {
            worker.renewal = claim_request.sent.boot + fleet.term.renewal();
        }
        if claim.is_expired(sent.boot) {
            return self.drop_lease(fleet, life, worker);
        }
        fleet.events.saw(Event::Claim);
        life.next_generation();
        for (&(id, _, UnixNanos(written)), &high_water_mark) in
            claim_request.changes.iter().zip(&claim_request.seen)
        {
            let held = Held { high_water_mark, written, revision: revision(id) };
            life.held.borrow_mut().insert(id, held);
            fleet.hand_on(id, self, high_water_mark, high_water_mark > sent.now.0);
            life.revive(fleet, self, id, high_water_mark);
        }
        life.claim.set(Some(claim));
        self.cap(fleet, life);
    }
}
