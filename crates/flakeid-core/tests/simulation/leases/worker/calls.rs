//! An action of etcd, as requests on their way: to one endpoint after the other, until one answers.

use super::super::etcd::{Reply, Request};
use super::super::events::Event;
use super::super::fleet::Fleet;
use super::super::node::{Life, Node};
use super::Worker;
use crate::clock::SECOND;
use flakeid_core::lease::{LeaseLimits, RequestTime};
use flakeid_core::registry::action::{Action, KeepAlive};
use flakeid_core::registry::transaction::{Change, Listed};
use flakeid_core::registry::turn::{Failure, Outcome};

/// An action that is not done yet.
pub(super) struct Call {
    pub(super) action: Action,
    /// The time at which it begins, if the worker stands still before.
    pub(super) begin: Option<u64>,
    /// The place of the endpoint that is asked, and how many were asked before.
    pub(super) at: usize,
    tried: usize,
    /// The time before the request that counts.
    pub(super) sent: RequestTime,
    /// The answer to the keep-alive of a renewal, and the limits that follow from it.
    pub(super) kept: Option<(KeepAlive, LeaseLimits)>,
    /// The time until which the worker waits for the answer.
    pub(super) timeout: u64,
}

impl Node {
    pub(super) fn call(
        &self,
        fleet: &Fleet,
        worker: &Worker,
        action: Action,
        begin: Option<u64>,
    ) -> Call {
        let time = fleet.world.time.get();
        let longest = (fleet.ttl() / 10).clamp(SECOND / 2, 2 * SECOND);
        let (at, sent) = (worker.at, self.sent(time));
        Call { action, begin, at, tried: 0, sent, kept: None, timeout: time + longest }
    }

    /// Begins an action. Returns whether the protocol has its outcome, and the turn has not ended
    /// by that.
    pub(super) fn act(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        action: Action,
    ) -> bool {
        if let Some(outcome) = self.pretend(fleet, life, worker, &action) {
            return self.after(fleet, life, worker, Ok(outcome));
        }
        if let Some(outcome) = self.act_here(fleet, life, worker, &action) {
            return !life.over.get() && self.after(fleet, life, worker, outcome);
        }
        let mut call = self.call(fleet, worker, action, None);
        match &call.action {
            Action::AwaitRelease { longest, .. } => {
                let half = longest.as_nanos() as u64 / 2;
                let long = half + fleet.world.random.below(half + 1);
                call.timeout = fleet.world.time.get() + long;
            }
            Action::List { at: Some(at) }
            | Action::Grant { at: Some(at), .. }
            | Action::Change { at: Some(at), .. } => {
                let endpoints = &worker.settings.endpoints;
                let Some(place) = endpoints.iter().position(|endpoint| endpoint == at) else {
                    return self.after(fleet, life, worker, Err(no_answer()));
                };
                // No other endpoint is asked.
                (call.at, call.tried) = (place, endpoints.len() - 1);
                worker.at = place;
            }
            _ => {}
        }
        worker.call = Some(call);
        self.send_request(fleet, life, worker);
        false
    }

    /// Sends the request of the action under way.
    fn send_request(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let time = fleet.world.time.get();
        worker.number += 1;
        let Some(call) = &mut worker.call else { return };
        let mut request = match &call.action {
            Action::List { .. } => Request::List,
            Action::ReadMarks { ids, registry, .. } => {
                Request::HighWaterMarks(ids.clone(), registry.clone())
            }
            Action::Grant { lease, ttl, .. } => Request::Grant(*lease, ttl.as_nanos() as u64),
            Action::Revoke(lease) => Request::Revoke(*lease),
            Action::Renew { holding, .. } => match call.kept {
                None => {
                    call.sent = self.sent(time);
                    Request::KeepAlive(holding.lease)
                }
                Some((_, limits)) => {
                    let (holding, ceiling) = (holding.clone(), limits.ceiling);
                    let change = Change::Renew { holding, ceiling };
                    Request::Change(self.transaction(fleet, life, &change, &Listed::default()))
                }
            },
            Action::Change { listed, change, .. } => {
                Request::Change(self.transaction(fleet, life, change, listed))
            }
            _ => return,
        };
        self.alter(fleet, &call.action, &mut request);
        let endpoint = &worker.settings.endpoints[call.at];
        fleet.send(self, life, worker.number, endpoint, request);
    }

    /// Asks the next endpoint, if there is another one to ask.
    pub(super) fn attempt_failed(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let count = worker.settings.endpoints.len();
        let Some(call) = &mut worker.call else { return };
        if let Action::AwaitRelease { .. } = call.action {
            return self.finish(fleet, life, worker, Ok(Outcome::Done));
        }
        call.at = (call.at + 1) % count;
        worker.at = call.at;
        call.tried += 1;
        call.kept = None;
        if call.tried < count {
            let Call { timeout, .. } = self.call(fleet, worker, Action::Revoke(0), None);
            worker.call.as_mut().expect("the call").timeout = timeout;
            return self.send_request(fleet, life, worker);
        }
        if let Action::Change { change: Change::Claim { .. }, .. } = call.action {
            fleet.events.saw(Event::AmbiguousClaim);
        }
        self.finish(fleet, life, worker, Err(no_answer()));
    }

    /// Handles an answer.
    pub fn hear(&self, fleet: &Fleet, life: &Life, number: u64, etcd: usize, reply: Reply) {
        self.watch_deadline(fleet, life);
        let mut guard = life.worker.borrow_mut();
        let worker = &mut *guard;
        if worker.number != number || worker.call.is_none() {
            return;
        }
        match self.outcome(fleet, life, worker, etcd, reply) {
            Some(Ok(outcome)) => {
                worker.at = worker.call.as_ref().map_or(0, |call| call.at);
                self.finish(fleet, life, worker, Ok(outcome));
            }
            Some(Err(_)) => self.attempt_failed(fleet, life, worker),
            None => self.send_request(fleet, life, worker),
        }
        self.wake_again(fleet, life, worker);
    }

    fn finish(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        outcome: Result<Outcome, Failure>,
    ) {
        worker.call = None;
        worker.number += 1;
        if self.after(fleet, life, worker, outcome) {
            self.run(fleet, life, worker);
        }
    }

    /// Gives an outcome to the protocol. Returns whether the turn goes on.
    fn after(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        outcome: Result<Outcome, Failure>,
    ) -> bool {
        let reading = self.read_situation(fleet, life, worker);
        match worker.protocol.after(outcome, &reading.situation()) {
            Some(end) => {
                self.end_turn(fleet, life, worker, end);
                false
            }
            None => true,
        }
    }
}

pub(super) fn no_answer() -> Failure {
    Failure::Failed("etcd did not answer in time".into())
}
