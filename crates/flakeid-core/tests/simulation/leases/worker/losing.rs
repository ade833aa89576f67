//! The worker of a server when generator IDs are lost or released.

use super::super::etcd::{ANY, Listing, Request};
use super::super::events::{Event, Flaw};
use super::super::fleet::Fleet;
use super::super::node::{Held, Life, Node};
use super::{Task, Worker};
use std::time::Duration;

impl Node {
    pub(super) fn see_held(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        listing: &Listing,
    ) {
        let is_older =
            |(&id, held): (&u16, &Held)| listing.high_water_mark(id).revision < held.revision;
        if life.held.borrow().iter().any(is_older) {
            return self.see_forgotten(fleet, life, worker, listing);
        }
        let mut gone = Vec::new();
        for (&id, held) in life.held.borrow_mut().iter_mut() {
            match listing.pool.get(&id).copied() == worker.lease {
                true => {
                    let high_water_mark = listing.high_water_mark(id);
                    (held.revision, held.written) =
                        (high_water_mark.revision, high_water_mark.until);
                }
                false => gone.push(id),
            }
        }
        if !gone.is_empty() {
            fleet.events.saw(Event::LossByKey);
            self.lose(fleet, life, &gone);
        }
        match life.held.borrow().is_empty() {
            true => worker.lease = None,
            false => worker.renewal = Duration::ZERO,
        }
    }

    /// Handles a registry that has forgotten this server's data: the server loses all IDs, and tries to get them
    /// back.
    fn see_forgotten(&self, fleet: &Fleet, life: &Life, worker: &mut Worker, listing: &Listing) {
        fleet.events.saw(Event::Forgotten);
        let exact = |(&id, held): (&u16, &Held)| (id, life.last(id, held.high_water_mark, true));
        worker.forgotten = life.held.borrow().iter().map(exact).collect();
        worker.deadline = life.claim.get().map_or(Duration::ZERO, |claim| claim.deadline);
        self.lose_all(fleet, life, worker);
        let request = if listing.is_founded { Request::Grace } else { Request::Found };
        self.send(fleet, life, worker, Task::Found, request);
    }

    /// Seals these and forgets them. The high-water mark stays where it is.
    fn lose(&self, fleet: &Fleet, life: &Life, ids: &[u16]) {
        life.next_generation();
        for &id in ids {
            life.held.borrow_mut().remove(&id);
            let _ = life.last(id, 0, true);
        }
        if life.held.borrow().is_empty() {
            life.claim.set(None);
        }
        self.cap(fleet, life);
    }

    pub(super) fn lose_all(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        let ids: Vec<u16> = life.held.borrow().keys().copied().collect();
        self.lose(fleet, life, &ids);
        // All calls that are under way are of a lease that is over.
        (worker.lease, worker.task) = (None, None);
        worker.number += 1;
    }

    /// Revokes a lease to which nothing is bound: a further claim must count from another request.
    pub(super) fn drop_lease(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) {
        if life.held.borrow().is_empty()
            && let Some(lease) = worker.lease.take()
        {
            fleet.send(self, life, worker.number, Request::Revoke(lease));
        }
    }

    /// Releases these, with their exact high-water marks.
    pub fn release(&self, fleet: &Fleet, life: &Life, ids: &[u16]) {
        let mut changes = Vec::new();
        life.next_generation();
        for &id in ids {
            let Some(held) = life.held.borrow_mut().remove(&id) else { continue };
            let exact = life.last(id, held.high_water_mark, fleet.flaw != Flaw::NotSealed);
            let seen = if fleet.flaw == Flaw::LateRelease { ANY } else { held.revision };
            changes.push((id, seen, exact));
        }
        if life.held.borrow().is_empty() {
            life.claim.set(None);
        }
        self.cap(fleet, life);
        fleet.events.saw(Event::Release);
        let mut worker = life.worker.borrow_mut();
        let lease = worker.lease.expect("the lease of what is held");
        if life.held.borrow().is_empty() {
            worker.lease = None;
        }
        self.send(fleet, life, &mut worker, Task::Release, Request::Release(lease, changes));
    }
}
