//! Disasters of the registry: etcd loses its data or is restored, and people delete keys.
//!
//! A registry that is restored with the same cluster ID is older than it was, which a server
//! notices by what it has seen. So this happens only while servers run that have seen a later
//! revision than the snapshot's. All others end at that moment, and no server starts before a grace
//! period has begun. A snapshot is older than a lease: see the header of
//! [`plan`](flakeid_core::registry::plan).

use super::astray::{EMPTY, new_cluster_id};
use super::etcd::Data;
use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::Node;
use crate::clock::SECOND;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::transaction::{Key, Write};
use std::collections::VecDeque;
use std::rc::Rc;

/// The number of snapshots that are kept.
const SNAPSHOTS: usize = 4;

/// A snapshot of the etcd that has the fleet's registry.
pub struct Snapshot {
    time: u64,
    /// The place and the cluster ID of the etcd.
    etcd: (usize, u64),
    data: Data,
}

/// The past of the registry.
#[derive(Default)]
pub struct Past {
    pub snapshots: VecDeque<Snapshot>,
    /// The time of the last loss, restoration or move.
    pub last: u64,
    /// Whether the registry is older than it was, and no server has begun a grace period yet.
    is_older: bool,
}

fn id(data: &Data) -> Option<u64> {
    data.value(Key::Id).and_then(|value| Identity::parse(&value)).map(|identity| identity.id)
}

impl Fleet {
    /// Returns whether servers must not start, since the registry is older than it was.
    pub fn is_blocked(&self) -> bool {
        let time = self.world.time.get();
        let mut past = self.past.borrow_mut();
        let is_noticed = self.etcd().is_in_grace(time);
        // Without a server that runs, none can notice. All leases are over then.
        let runs = self.nodes.borrow().iter().any(|node| node.life().is_some());
        let is_over = !runs && time > past.last + 2 * self.ttl();
        past.is_older &= !is_noticed && !is_over;
        past.is_older
    }

    /// Returns whether a new server may start.
    pub fn may_join(&self) -> bool {
        !self.is_moving() && !self.is_blocked()
    }

    pub fn may_start(&self, node: &Node) -> bool {
        !(self.is_blocked() || self.is_moving() && node.is_new())
    }

    /// Returns whether leases may still exist that etcd has forgotten, or calls that were made
    /// before.
    pub fn is_unsettled(&self) -> bool {
        let past = self.past.borrow().last;
        past > 0 && self.world.time.get() < past + self.ttl() * 5 / 4 + 8 * SECOND
    }

    /// Lets something happen to the registry of a fleet whose etcd forgets.
    pub fn forget(&self) {
        let (random, time) = (&self.world.random, self.world.time.get());
        if self.is_moving() || self.is_blocked() {
            return;
        }
        let what = match self.flaw {
            Flaw::LateReclaim | Flaw::NoGrace | Flaw::ShortGrace => 3,
            flaw if flaw.needs_restoring() => random.pick(&[0, 0, 4]),
            _ => random.below(8),
        };
        match what {
            0..=2 => {
                // Generator IDs that are free then, and claimed later, show the flaws of servers.
                let is_free = 2 * self.etcd().claims().count() <= self.pool.len();
                if self.flaw.needs_restoring() && !is_free {
                    return;
                }
                let mut past = self.past.borrow_mut();
                let etcd = (self.home.get(), self.etcd().id);
                let data = self.etcd().data().clone();
                past.snapshots.push_back(Snapshot { time, etcd, data });
                if past.snapshots.len() > SNAPSHOTS {
                    past.snapshots.pop_front();
                }
            }
            3 if !self.is_any_at(EMPTY) => {
                self.events.saw(Event::DataLoss);
                self.past.borrow_mut().last = time;
                let id = self.etcd().id;
                self.etcd_mut().restore(time, id, Data::default());
            }
            4..=6 => self.restore(),
            7 => self.restore_anew(),
            _ => {}
        }
    }

    /// Restores the registry with the same cluster ID, if all servers can notice that.
    pub fn restore(&self) {
        let (random, time) = (&self.world.random, self.world.time.get());
        if self.is_moving() || self.is_blocked() || self.is_any_at(EMPTY) {
            return;
        }
        let mut past = self.past.borrow_mut();
        if past.snapshots.is_empty() {
            return;
        }
        let place = random.below(past.snapshots.len() as u64) as usize;
        let Snapshot { time: saved, etcd, data } = &past.snapshots[place];
        let (present, earlier) = (id(self.etcd().data()), id(data));
        let nodes = self.living_nodes();
        let notices = |node: &Rc<Node>| match node.life() {
            Some(life) if present == earlier => life.seen.get() > data.revision,
            // The earlier ID tells it.
            Some(_) => self.is_remembered(node),
            None => false,
        };
        if *etcd != (self.home.get(), self.etcd().id)
            || time < saved + self.ttl() * 5 / 4
            || earlier.is_none()
            || !nodes.iter().any(|node| node.life().is_some() && notices(node))
        {
            return;
        }
        nodes.iter().filter(|node| !notices(node)).for_each(|node| node.end(self));
        self.events.saw(Event::Restored);
        let (data, id) = (data.clone(), self.etcd().id);
        self.etcd_mut().restore(time, id, data);
        (past.last, past.is_older) = (time, true);
    }

    /// Restores the registry with another cluster ID.
    fn restore_anew(&self) {
        let (random, time) = (&self.world.random, self.world.time.get());
        let mut past = self.past.borrow_mut();
        let Some(Snapshot { etcd: (place, _), data, .. }) = past.snapshots.pop_front() else {
            return;
        };
        if place != self.home.get() || self.is_any_at(EMPTY) || id(&data).is_none() {
            return;
        }
        self.events.saw(Event::RestoredAnew);
        self.etcd_mut().restore(time, new_cluster_id(random), data);
        past.last = time;
    }

    pub fn living_nodes(&self) -> Vec<Rc<Node>> {
        let nodes = self.nodes.borrow();
        self.living.borrow().iter().map(|&number| nodes[number].clone()).collect()
    }

    /// Lets a person delete a key, or revoke a lease.
    pub fn meddle(&self) {
        let random = &self.world.random;
        self.events.saw(Event::Meddled);
        let claims: Vec<_> = self.etcd().claims().collect();
        let mut etcd = self.etcd_mut();
        let key = match random.below(8) {
            0..=3 if !claims.is_empty() => random.pick(&claims).0,
            4..=5 if !claims.is_empty() => return etcd.revoke_by_hand(random.pick(&claims).2),
            6 => random.pick(&[Key::Address, Key::ClusterId, Key::Epoch]),
            7 => random.pick(&[Key::Id, Key::Retired]),
            _ => return,
        };
        etcd.write_by_hand(&[Write::Delete(key)]);
    }
}
