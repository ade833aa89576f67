//! The worker of a server. It drives the shipped protocol: the protocol returns one action, and
//! gets its outcome.
//!
//! An action of etcd becomes requests on their way, to one endpoint after the other. One request at
//! a time is under way. Its result is not known until the answer arrives, or never. An action of
//! the server is done by [`actions`]. Between two actions the worker may stand still, and the
//! server may crash.

mod actions;
mod calls;
mod flaws;
mod outcomes;

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Life, Node};
use crate::clock::{MILLISECOND, SECOND};
use calls::Call;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::RequestTime;
use flakeid_core::registry::action::{Action, Lease};
use flakeid_core::registry::listing::Listing;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::plan::Settings;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::turn::{
    RETRY_DELAY, Random, Situation, Step, TurnEnd, Worker as Protocol,
};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

/// The namespace of the registry.
pub const NAMESPACE: &str = "flakeid/";

/// The epoch of all servers.
pub const EPOCH: UnixNanos = UnixNanos(0);

/// The longest time that a worker takes to give its lease back when the setting names fixed
/// generator IDs.
const LONGEST_LEAVE: u64 = 800 * MILLISECOND;

/// The settings that the worker uses, as it has read them last.
pub struct InForce {
    pub endpoints: Rc<Vec<String>>,
    pub pool: RangeInclusive<u16>,
    want: usize,
}

pub struct Worker {
    protocol: Protocol,
    pub settings: Rc<InForce>,
    call: Option<Call>,
    /// The number of the request under way.
    number: u64,
    /// The place of the endpoint that answered last.
    at: usize,
    /// The time of the next turn.
    next: u64,
    /// Whether a session wants a renewal.
    is_renewal_requested: bool,
    /// The time until which it gives its lease back, to end then.
    leaving: Option<u64>,
    /// The latest revision of etcd that this turn has listed, and whether it has listed another
    /// etcd than the fleet's.
    listed: i64,
    is_misled: bool,
    /// Why the last turn failed.
    pub refusal: Option<Refusal>,
    /// For flawed servers: the last listing, and whether a lease was granted or renewed in this
    /// turn.
    last_listing: Option<Listing>,
    is_fresh: bool,
}

/// The situation that the protocol is told.
struct Reading {
    settings: Rc<InForce>,
    endpoints: Rc<Vec<String>>,
    endpoint: String,
    ttl: Duration,
    now: RequestTime,
    lease: Option<Lease>,
    last_lease: (i64, Duration),
    memory: Option<Memory>,
    random: Random,
}

impl Reading {
    fn situation(&self) -> Situation<'_> {
        Situation {
            now: self.now,
            settings: Settings {
                wanted: self.settings.want,
                pool: self.settings.pool.clone(),
                namespace: NAMESPACE,
                ttl: self.ttl,
                epoch: EPOCH,
                endpoints: &self.endpoints,
            },
            lease: self.lease.as_ref(),
            last_lease: self.last_lease,
            memory: Ok(self.memory.as_ref()),
            endpoint: &self.endpoint,
            random: self.random,
        }
    }
}

impl Worker {
    pub fn new(fleet: &Fleet, node: &Node) -> Self {
        Self::of(fleet, node, Protocol::new(fleet.term.0, false, Duration::ZERO))
    }

    fn of(fleet: &Fleet, node: &Node, protocol: Protocol) -> Self {
        Self {
            protocol,
            settings: node.settings(fleet),
            call: None,
            number: 0,
            at: 0,
            next: 0,
            is_renewal_requested: false,
            leaving: None,
            listed: 0,
            is_misled: false,
            refusal: None,
            last_listing: None,
            is_fresh: false,
        }
    }

    /// Returns whether the worker gives its lease back, to end then.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Lets the next turn begin at this time at the latest.
    pub fn hurry(&mut self, time: u64) {
        self.next = self.next.min(time);
    }
}

impl Node {
    fn settings(&self, fleet: &Fleet) -> Rc<InForce> {
        let (pool, want) = fleet.pool_of(self);
        Rc::new(InForce { endpoints: self.endpoints.borrow().clone(), pool, want })
    }

    fn read_situation(&self, fleet: &Fleet, life: &Life, worker: &Worker) -> Reading {
        let random = &fleet.world.random;
        let endpoint = worker.settings.endpoints[worker.at].clone();
        let endpoints = match fleet.flaw {
            Flaw::MisledEndpoint => Rc::new(vec![endpoint.clone()]),
            _ => worker.settings.endpoints.clone(),
        };
        Reading {
            settings: worker.settings.clone(),
            endpoints,
            endpoint,
            ttl: fleet.term.0,
            now: self.sent(fleet.world.time.get()),
            lease: life.lease.borrow().clone(),
            last_lease: life.last_lease.get(),
            memory: life.memory.borrow().clone(),
            random: Random {
                lease: random.next() as i64 & i64::MAX | 1,
                registry: random.next(),
                place: random.next() as u16,
            },
        }
    }

    /// Lets the worker do what is due.
    pub fn work(&self, fleet: &Fleet, life: &Life) {
        let time = fleet.world.time.get();
        self.watch_deadline(fleet, life);
        let mut guard = life.worker.borrow_mut();
        let worker = &mut *guard;
        if worker.leaving.is_some_and(|until| time >= until) {
            worker.call = None;
            self.left(fleet, life, worker);
        }
        match worker.call.take_if(|call| call.begin.is_some_and(|begin| time >= begin)) {
            Some(call) => {
                if self.act(fleet, life, worker, call.action) {
                    self.run(fleet, life, worker);
                }
            }
            None => match &worker.call {
                Some(call) if call.begin.is_none() && time >= call.timeout => {
                    self.attempt_failed(fleet, life, worker);
                }
                Some(_) => {}
                None => {
                    if !self.follow(fleet, life, worker) {
                        return;
                    }
                    if worker.leaving.is_some() || time >= worker.next {
                        self.begin_turn(fleet, life, worker);
                    }
                }
            },
        }
        self.wake_again(fleet, life, worker);
    }

    /// Sets when the worker is woken next.
    fn wake_again(&self, fleet: &Fleet, life: &Life, worker: &Worker) {
        if life.over.get() || !life.leases.get() {
            return;
        }
        let mut next = match &worker.call {
            Some(call) => call.begin.unwrap_or(call.timeout),
            None => worker.next,
        };
        next = next.min(worker.leaving.unwrap_or(u64::MAX));
        if let Some(claim) = life.claim.get() {
            next = next.min(self.time_of(claim.deadline));
        }
        fleet.wake(self, life, next.max(fleet.world.time.get() + 1000));
    }

    /// Requests a renewal for a session.
    pub fn hurry(&self, fleet: &Fleet, life: &Life) {
        let time = fleet.world.time.get();
        let Some(claim) = life.claim.get() else { return };
        let left = claim.deadline.saturating_sub(self.boot(time));
        if left + Duration::from_secs(1) < fleet.term.usable() {
            let mut worker = life.worker.borrow_mut();
            worker.is_renewal_requested = true;
            worker.next = time;
            drop(worker);
            fleet.wake(self, life, time + 1000);
        }
    }

    fn begin_turn(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let settings = self.settings(fleet);
        let old = &worker.settings;
        if settings.endpoints != old.endpoints {
            worker.at = 0;
        }
        if settings.endpoints != old.endpoints
            || settings.pool != old.pool
            || settings.want != old.want
        {
            worker.protocol.reload();
        }
        worker.settings = settings;
        if std::mem::take(&mut worker.is_renewal_requested) {
            worker.protocol.request_renewal();
        }
        (worker.listed, worker.is_misled, worker.is_fresh) = (0, false, false);
        self.run(fleet, life, worker);
    }

    /// Does one action after the other, until one has to wait for etcd, or the turn ends.
    fn run(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let random = &fleet.world.random;
        while !life.over.get() {
            self.watch_deadline(fleet, life);
            let mut reading = self.read_situation(fleet, life, worker);
            if fleet.flaw == Flaw::LateReclaim && worker.listed > 0 && reading.lease.is_none() {
                // For this server no time passes until it may not reclaim any more.
                reading.now.boot = Duration::ZERO;
            }
            let action = match worker.protocol.next(&reading.situation()) {
                Step::Act(action) => action,
                Step::End(end) => return self.end_turn(fleet, life, worker, end),
            };
            if !fleet.well.get() && worker.leaving.is_none() {
                if random.one_in(3000) {
                    fleet.events.saw(Event::Crash);
                    return self.end(fleet);
                }
                let is_grant = matches!(action, Action::Grant { at: None, .. });
                if fleet.flaw == Flaw::ClaimsByOldListing && is_grant && random.one_in(2) {
                    let begin = Some(fleet.world.time.get() + random.below(fleet.ttl()));
                    worker.call = Some(self.call(fleet, worker, action, begin));
                    return;
                }
                if random.one_in(30) {
                    let long = if random.one_in(20) { 2 * fleet.ttl() } else { SECOND / 10 };
                    let begin = Some(fleet.world.time.get() + random.below(long));
                    worker.call = Some(self.call(fleet, worker, action, begin));
                    return;
                }
            }
            if !self.act(fleet, life, worker, action) {
                return;
            }
        }
    }

    fn end_turn(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, end: TurnEnd) {
        if worker.leaving.is_some() {
            return self.left(fleet, life, worker);
        }
        let time = fleet.world.time.get();
        worker.refusal = None;
        let refusal = match end {
            TurnEnd::Rest(until) | TurnEnd::Backoff(until) => {
                worker.next = self.time_of(until);
                return;
            }
            TurnEnd::Again | TurnEnd::Interrupted => {
                life.seen.set(life.seen.get().max(worker.listed));
                worker.next = time + 1000;
                return;
            }
            TurnEnd::Failed(refusal) => refusal,
        };
        worker.next = time + RETRY_DELAY.as_nanos() as u64;
        match refusal {
            Refusal::GracePeriod(_) => fleet.events.saw(Event::WaitForGrace),
            Refusal::Copy { .. } => fleet.events.saw(Event::RefusedCopy),
            Refusal::OtherRegistry { .. } => fleet.events.saw(Event::RefusedOther),
            Refusal::DifferentRegistries { .. } => fleet.events.saw(Event::RefusedDifferent),
            Refusal::EndpointSilent(_) => fleet.events.saw(Event::RefusedSilent),
            Refusal::LeaderChanges => fleet.events.saw(Event::UnsureRenewal),
            _ => {}
        }
        worker.refusal = Some(refusal);
    }

    /// Begins to give the lease back, as the setting names fixed generator IDs.
    pub fn begin_leaving(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        worker.leaving = Some(fleet.world.time.get() + LONGEST_LEAVE);
        match life.lease.borrow().clone() {
            Some(lease) => worker.protocol.give_back(&lease),
            None => self.left(fleet, life, worker),
        }
    }

    /// Ends the worker that has given its lease back. The next one begins when the setting wants
    /// it.
    fn left(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        *worker = Worker { number: worker.number + 1, ..Worker::new(fleet, self) };
        life.seen.set(0);
        self.end_leasing(fleet, life);
        let time = fleet.world.time.get();
        fleet.wake(self, life, time + 1000);
    }

    /// Gives the lease back as the server stops. Its requests may never arrive.
    pub fn leave(&self, fleet: &Fleet, life: &Life) {
        let mut worker = life.worker.borrow_mut();
        let lease = life.lease.borrow().clone();
        if let Some(lease) = lease.filter(|_| worker.leaving.is_none()) {
            worker.leaving = Some(u64::MAX);
            worker.call = None;
            worker.protocol.give_back(&lease);
            self.run(fleet, life, &mut worker);
        }
    }

    /// Lets the worker end and begin again. It finds the lease that the server holds.
    pub fn restart_worker(&self, fleet: &Fleet, life: &Life) {
        fleet.events.saw(Event::WorkerEnded);
        let time = fleet.world.time.get();
        let mut worker = life.worker.borrow_mut();
        if worker.leaving.is_some() {
            return;
        }
        let holds = life.lease.borrow().is_some();
        let protocol = Protocol::new(fleet.term.0, holds, self.boot(time));
        *worker = Worker { number: worker.number + 1, ..Worker::of(fleet, self, protocol) };
        worker.next = time + SECOND;
        life.seen.set(0);
        self.wake_again(fleet, life, &worker);
    }
}
