//! What a node's worker does: it claims generator IDs, renews the claim, and gives them up. One request at
//! a time is under way; what comes of it is not known until the answer is here, or never.

mod losing;

use super::etcd::{ANY, Change, Claimant, Listing, Mark, Reply, Request};
use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Held, Life, Node};
use crate::clock::SECOND;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::{Claim, Sent, choose};
use std::time::Duration;

#[derive(Default)]
pub struct Worker {
    /// The lease that the held IDs are bound to, or are to be.
    lease: Option<u64>,
    /// What it waits for, the number of its request, and for how long.
    task: Option<Task>,
    number: u64,
    timeout: u64,
    renewal: Duration,
    /// Not to claim before this.
    retry: u64,
    /// Until then something may come of a request that is not waited for any more; 0 for nothing.
    unsure: u64,
    /// Where to begin to look for free ones.
    start: u16,
    /// When it is woken next, if it is.
    timer: Option<u64>,
    /// What was held by what the registry has forgotten, with its exact mark, and the deadline of the claim.
    forgotten: Vec<(u16, UnixNanos)>,
    deadline: Duration,
}

/// Generator IDs that are asked for.
#[derive(Clone)]
struct Asked {
    sent: Sent,
    changes: Vec<Change>,
    /// The marks that were seen, and with which they will begin.
    seen: Vec<u64>,
    claimant: Claimant,
}

#[derive(Clone)]
enum Task {
    /// To find free ones; to see whose those are that were asked for; to see which are still held.
    Find,
    SeeAsked(Asked),
    SeeHeld,
    Grant(Asked),
    Claim(Asked),
    KeepAlive(Sent),
    Renew(Sent, Vec<Change>),
    Release,
    /// That the registry is founded, or that there is a grace period.
    Found,
    Settle,
}

impl Worker {
    /// The lease of what is held.
    pub fn lease(&self) -> Option<u64> {
        self.lease
    }

    /// Whether it asks for such a generator ID.
    pub fn asks_for(&self, it: impl Fn(&Change) -> bool) -> bool {
        match &self.task {
            Some(Task::Grant(asked) | Task::Claim(asked) | Task::SeeAsked(asked)) => {
                asked.changes.iter().any(it)
            }
            _ => false,
        }
    }

    /// It looks for free ones from there on next time.
    pub fn look_from(&mut self, id: u16) {
        self.start = id;
    }

    /// Nothing is held, and nothing is waited for any more.
    pub fn abandon(&mut self) {
        (self.lease, self.task, self.unsure, self.retry) = (None, None, 0, 0);
        self.number += 1;
    }
}

impl Node {
    /// The worker looks what there is to do.
    pub fn work(&self, fleet: &Fleet, life: &Life) {
        let time = fleet.world.time.get();
        let boot = self.boot(time);
        if !self.follow(fleet, life) {
            return;
        }
        let mut worker = life.worker.borrow_mut();
        if life.claim.get().is_some_and(|claim| claim.is_over(boot)) {
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

    /// The worker is woken then, if not before.
    pub fn is_woken_at(life: &Life, time: u64) -> bool {
        let mut worker = life.worker.borrow_mut();
        let earlier = worker.timer.is_none_or(|timer| time < timer);
        if earlier {
            worker.timer = Some(time);
        }
        earlier
    }

    /// Whether this is when it was to be woken, and not before or after another time was settled.
    pub fn wakes(life: &Life, time: u64) -> bool {
        let timer = &mut life.worker.borrow_mut().timer;
        let is_due = *timer == Some(time);
        if is_due {
            *timer = None;
        }
        is_due
    }

    /// A session wants a renewal.
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

    /// Nobody knows what came of the request.
    fn time_out(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let time = fleet.world.time.get();
        let retry = time + fleet.world.random.below(SECOND);
        worker.unsure = time + 20 * SECOND;
        match worker.task.take() {
            Some(Task::Claim(asked)) => {
                fleet.events.saw(Event::AmbiguousClaim);
                self.send(fleet, life, worker, Task::SeeAsked(asked), Request::List);
            }
            Some(Task::SeeAsked(asked)) => {
                self.send(fleet, life, worker, Task::SeeAsked(asked), Request::List);
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

    /// An answer has come.
    pub fn hear(&self, fleet: &Fleet, life: &Life, number: u64, reply: Reply) {
        let time = fleet.world.time.get();
        let mut guard = life.worker.borrow_mut();
        let worker = &mut *guard;
        if life.claim.get().is_some_and(|claim| claim.is_over(self.boot(time))) {
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
            (Some(Task::Grant(asked)), Reply::Granted(lease)) => {
                worker.lease = Some(lease);
                let request = Request::Claim(lease, asked.changes.clone(), asked.claimant);
                self.send(fleet, life, worker, Task::Claim(asked), request);
            }
            (Some(Task::Claim(asked)), Reply::Done(revision)) => {
                self.begin(fleet, life, worker, asked, |_| revision);
            }
            (Some(Task::Claim(_)), _) => {
                fleet.events.saw(Event::LostRace);
                worker.start = fleet.pool.start() + random.below(fleet.pool.len() as u64) as u16;
                worker.retry = time + random.below(SECOND / 10);
                self.drop_lease(fleet, life, worker);
            }
            (Some(Task::SeeAsked(asked)), Reply::Listing(listing)) => {
                let own = |&(id, ..): &Change| listing.pool.get(&id).copied() == worker.lease;
                if worker.lease.is_some() && asked.changes.iter().all(own) {
                    fleet.events.saw(Event::AmbiguousGranted);
                    self.begin(fleet, life, worker, asked, |id| listing.mark(id).revision);
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
            (Some(Task::Release), Reply::Refused) => worker.unsure = time + SECOND,
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

    /// What a renewal writes.
    fn changes(&self, fleet: &Fleet, life: &Life, ceiling: UnixNanos) -> Vec<Change> {
        let held = life.held.borrow();
        let change = |(&id, held): (&u16, &Held)| match fleet.flaw {
            Flaw::Record => (id, held.revision, life.last(id, held.mark, false)),
            Flaw::Unchecked => (id, held.revision, ceiling),
            Flaw::LateRenewal => (id, ANY, ceiling.max(UnixNanos(held.mark))),
            _ => (id, held.revision, ceiling.max(UnixNanos(held.written))),
        };
        held.iter().map(change).collect()
    }

    fn found(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, listing: Listing) {
        let time = fleet.world.time.get();
        // A claim that came late, when it was not waited for any more.
        let is_stray = |(id, lease): (&u16, &u64)| {
            Some(*lease) == worker.lease && !life.held.borrow().contains_key(id)
        };
        let strays = listing.pool.iter().filter(|&entry| is_stray(entry)).map(|(&id, _)| {
            let mark = listing.mark(id);
            (id, mark.revision, UnixNanos(mark.until))
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
        let is_past = |id| listing.mark(id).until <= sent.now.0;
        let Some(ids) = choose(fleet.pool.clone(), worker.start, want, is_free, is_past) else {
            fleet.events.saw(Event::WaitForPool);
            worker.start = 0;
            let third = fleet.term.renewal().as_nanos() as u64;
            worker.retry = time + third + fleet.world.random.below(third);
            return;
        };
        worker.start = 0;
        let ceiling = Claim::asked(sent, fleet.term).ceiling.0;
        let marks = ids.as_slice().iter().map(|&id| (id, listing.mark(id)));
        let change = |(id, mark): (u16, Mark)| {
            let becomes = if fleet.flaw == Flaw::Record { mark.until } else { ceiling };
            let seen = if fleet.flaw == Flaw::OldMark { ANY } else { mark.revision };
            (id, seen, UnixNanos(becomes.max(mark.until)))
        };
        let seen = marks.clone().map(|(_, mark)| mark.until).collect();
        let changes = marks.map(change).collect();
        self.claim(fleet, life, worker, Asked { sent, changes, seen, claimant: Claimant::Anybody });
    }

    fn claim(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, asked: Asked) {
        match worker.lease {
            None => self.send(fleet, life, worker, Task::Grant(asked), Request::Grant),
            Some(lease) => {
                let request = Request::Claim(lease, asked.changes.clone(), asked.claimant);
                self.send(fleet, life, worker, Task::Claim(asked), request);
            }
        }
    }

    /// In a grace period: claims what was held until just now.
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
        let ceiling = Claim::asked(sent, fleet.term).ceiling;
        let mark = |&(id, UnixNanos(exact)): &(u16, UnixNanos)| listing.mark(id).until.max(exact);
        let seen: Vec<u64> = own.iter().map(mark).collect();
        let change = |(&(id, _), &mark): (&(u16, UnixNanos), &u64)| {
            (id, listing.mark(id).revision, ceiling.max(UnixNanos(mark)))
        };
        let changes = own.iter().zip(&seen).map(change).collect();
        self.claim(fleet, life, worker, Asked { sent, changes, seen, claimant: Claimant::Holder });
    }

    /// These are held from now on, beside others of the same lease.
    fn begin(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        asked: Asked,
        revision: impl Fn(u16) -> u64,
    ) {
        let sent = self.sent(fleet.world.time.get());
        let mut claim = Claim::asked(asked.sent, fleet.term);
        if let Some(held) = life.claim.get() {
            claim.ceiling = claim.ceiling.min(held.ceiling);
            claim.deadline = claim.deadline.min(held.deadline);
        } else {
            worker.renewal = asked.sent.boot + fleet.term.renewal();
        }
        if claim.is_over(sent.boot) {
            return self.drop_lease(fleet, life, worker);
        }
        fleet.events.saw(Event::Claim);
        life.next_generation();
        for (&(id, _, UnixNanos(written)), &mark) in asked.changes.iter().zip(&asked.seen) {
            let held = Held { mark, written, revision: revision(id) };
            life.held.borrow_mut().insert(id, held);
            fleet.hand_on(id, self, mark, mark > sent.now.0);
            life.revive(fleet, self, id, mark);
        }
        life.claim.set(Some(claim));
        self.cap(fleet, life);
    }
}
