//! How the flaws of the protocol are planted: the simulation alters what the shipped protocol gets
//! and does.

use super::super::etcd::{Etcd, Reply, Request};
use super::super::events::Flaw;
use super::super::fleet::Fleet;
use super::super::node::{Life, Node};
use super::Worker;
use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::action::Action;
use flakeid_core::registry::listing::Listing;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::transaction::{
    Answer, Change, Condition, Key, Listed, Transaction, Value, Write,
};
use flakeid_core::registry::turn::Outcome;

/// Returns the generator ID and the time of a write of a high-water mark.
fn marked(write: &mut Write) -> Option<(u16, &mut UnixNanos)> {
    match write {
        Write::Put(Key::HighWaterMark(id), Value::Time(time), _) => Some((*id, time)),
        _ => None,
    }
}

fn is_of_claim(condition: &Condition) -> bool {
    matches!(condition, Condition::Revision(Key::Claim { .. }, _) | Condition::Lease(..))
}

impl Node {
    /// Returns the transaction of a change.
    pub(super) fn transaction(
        &self,
        fleet: &Fleet,
        life: &Life,
        change: &Change,
        listed: &Listed,
    ) -> Transaction {
        let mut transaction = change.transaction(listed);
        let Transaction { conditions, writes, .. } = &mut transaction;
        match (fleet.flaw, change) {
            (Flaw::Record, Change::Claim { holding, .. } | Change::Renew { holding, .. }) => {
                for (id, time) in writes.iter_mut().filter_map(marked) {
                    let held = holding.held.iter().find(|held| held.id == id);
                    let claimed = held.map_or(0, |held| held.high_water_mark.0);
                    *time = life.last(id, claimed, false);
                }
            }
            (Flaw::StaleHighWaterMark, Change::Claim { .. }) => {
                conditions
                    .retain(|it| !matches!(it, Condition::Revision(Key::HighWaterMark(_), _)));
            }
            (Flaw::LateRelease, Change::Release(_)) | (Flaw::LateRenewal, Change::Renew { .. }) => {
                conditions.retain(|it| !matches!(it, Condition::Revision(Key::Claim { .. }, _)));
            }
            (Flaw::NoGrace, Change::Found { .. }) => {
                writes.retain(|write| !matches!(write, Write::Put(Key::Grace, ..)));
            }
            _ => {}
        }
        transaction
    }

    /// Returns the outcome of an action that a flawed server does not do.
    pub(super) fn pretend(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        action: &Action,
    ) -> Option<Outcome> {
        match (fleet.flaw, action) {
            (Flaw::OrphansStay, Action::Change { change: Change::Release(holding), .. }) => {
                let is_orphan = |id| life.is_orphan(holding.lease, id);
                let stays = holding.held.iter().all(|held| is_orphan(held.id));
                let done = Answer { is_done: true, ..Answer::default() };
                stays.then_some(Outcome::Changed(done))
            }
            (Flaw::ClaimsByOldListing, Action::Grant { at: None, .. }) => {
                fleet.restore();
                worker.is_fresh = true;
                None
            }
            (Flaw::ClaimsByOldListing, Action::Renew { .. }) => {
                worker.is_fresh = true;
                None
            }
            (Flaw::ClaimsByOldListing, Action::List { at }) if worker.is_fresh => {
                let mut listing = worker.last_listing.clone()?;
                listing.endpoint = at.clone().unwrap_or(listing.endpoint);
                Some(Outcome::Listed(listing))
            }
            _ => None,
        }
    }

    /// Alters the request of a flawed server.
    pub(super) fn alter(&self, fleet: &Fleet, action: &Action, request: &mut Request) {
        if let (Flaw::ShortGrace, Action::Grant { at: Some(_), .. }, Request::Grant(_, ttl)) =
            (fleet.flaw, action, request)
        {
            *ttl /= 20;
        }
    }

    /// Alters the answer to a flawed server.
    pub(super) fn forge(&self, fleet: &Fleet, reply: &mut Reply) {
        let home = fleet.etcd().id;
        match (fleet.flaw, reply) {
            (Flaw::AcceptsCopy, Reply::Listing(listing)) => listing.etcd = home,
            (Flaw::AcceptsCopy, Reply::Alive { etcd, .. } | Reply::HighWaterMarks(etcd, _)) => {
                *etcd = home
            }
            (Flaw::AcceptsCopy, Reply::Answer(answer)) => answer.etcd = home,
            (Flaw::IgnoresTerm, Reply::Alive { term, .. }) => *term = 0,
            (Flaw::IgnoresTerm, Reply::Answer(answer)) => answer.term = 0,
            (Flaw::IgnoresRevision, Reply::Listing(listing)) => listing.revision = i64::MAX / 2,
            (Flaw::IgnoresRetired, Reply::Listing(listing)) => listing.retired.value = None,
            (Flaw::ShortGrace, Reply::Granted(ttl)) => *ttl = fleet.term.0,
            _ => {}
        }
    }

    /// Returns what a flawed server remembers of a registry.
    pub(super) fn mind(&self, fleet: &Fleet, memory: &Memory) -> Memory {
        let mut memory = memory.clone();
        if fleet.flaw == Flaw::IgnoresRetired {
            memory.retired.clear();
        }
        memory
    }
}

impl Worker {
    /// Keeps a listing for a flawed server.
    pub(super) fn keep(&mut self, listing: &Listing) {
        self.last_listing = Some(listing.clone());
    }
}

impl Fleet {
    /// Lets an etcd answer. The renewal of a flawed server writes high-water marks though its
    /// claims are gone.
    pub(in super::super) fn answer(&self, etcd: &mut Etcd, time: u64, request: &Request) -> Reply {
        let random = &self.world.random;
        let reply = etcd.apply(time, request, random, &self.events);
        let (Flaw::Unchecked, Request::Change(transaction), Reply::Answer(answer)) =
            (self.flaw, request, &reply)
        else {
            return reply;
        };
        let is_renewal = transaction.conditions.iter().all(is_of_claim);
        if answer.is_done
            || !is_renewal
            || transaction.writes.iter().any(|write| matches!(write, Write::Delete(_)))
        {
            return reply;
        }
        let mut writes = transaction.writes.clone();
        writes.retain(|write| matches!(write, Write::Put(Key::HighWaterMark(_), ..)));
        let unchecked = Transaction { writes, ..Transaction::default() };
        etcd.apply(time, &Request::Change(unchecked), random, &self.events)
    }
}
