//! Endpoints that lead servers to other etcds than that of their registry.
//!
//! Only what the header of [`trust`](flakeid_core::registry::trust) lets a server notice happens:
//! * A server is led astray while it remembers the fleet's registry. The memory of a server is lost
//!   only while all its endpoints lead there.
//! * At least one endpoint still leads to the registry. Or all lead to an etcd in which there is
//!   another registry, with any cluster ID, and no grace period. They lead to a registry that
//!   the fleet has left only if the server knows that it was retired.
//! * A copy of the registry has another cluster ID.

use super::etcd::Etcd;
use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::Node;
use super::worker::{EPOCH, NAMESPACE};
use crate::random::Random;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::listing::{address, name};
use flakeid_core::registry::transaction::{Key, Value, Write};

/// The places of the etcds. The fleet's registry is in one of the first two.
pub const FIRST: usize = 0;
const SECOND: usize = 1;
/// An etcd without data, such as a member that was removed and starts again.
pub const EMPTY: usize = 2;
/// The etcd of another fleet.
const FOREIGN: usize = 3;
/// An etcd that was set up from a snapshot of the fleet's.
const COPY: usize = 4;

/// Returns a cluster ID that no other etcd has.
pub fn new_cluster_id(random: &Random) -> u64 {
    random.next() | 1 << 32
}

/// Creates all etcds. Some are set up alike, so that they have one cluster ID.
pub fn etcds(random: &Random) -> Vec<Etcd> {
    let first = new_cluster_id(random);
    let alike = || if random.one_in(2) { first } else { new_cluster_id(random) };
    let ids = [first, alike(), first, alike(), first];
    let mut etcds: Vec<Etcd> = ids.into_iter().map(Etcd::new).collect();
    let foreign = &mut etcds[FOREIGN];
    let put = |key, value: String| Write::Put(key, Value::Text(value), 0);
    foreign.write_by_hand(&[
        put(Key::Address, address(foreign.id, NAMESPACE)),
        Write::Put(Key::Epoch, Value::Epoch(EPOCH), 0),
        put(Key::Id, Identity::new(random.next(), []).to_string()),
        put(Key::ClusterId, "0".into()),
    ]);
    etcds
}

impl Etcd {
    /// Returns the name of the registry.
    pub fn name(&self) -> String {
        let identity = self.data().value(Key::Id).and_then(|value| Identity::parse(&value));
        name(&address(self.id, NAMESPACE), identity.map(|identity| identity.id))
    }
}

impl Fleet {
    /// Returns the endpoints of one of the two etcds that can have the fleet's registry.
    pub fn endpoints_of(place: usize) -> Vec<String> {
        let names: &[&str] = if place == FIRST { &["a1", "a2", "a3"] } else { &["b1", "b2"] };
        names.iter().map(|&name| name.into()).collect()
    }

    /// Returns the place of the etcd to which an endpoint leads for a server.
    pub fn route(node: &Node, endpoint: &str) -> usize {
        let usual = if endpoint.starts_with('a') { FIRST } else { SECOND };
        node.astray.borrow().get(endpoint).copied().unwrap_or(usual)
    }

    pub fn other_home(&self) -> usize {
        FIRST + SECOND - self.home.get()
    }

    /// Returns whether a server remembers the fleet's registry as it is.
    pub fn is_remembered(&self, node: &Node) -> bool {
        let name = self.etcd().name();
        let life = node.life();
        let is_it = |memory: &Option<_>| {
            memory.as_ref().is_some_and(|memory: &flakeid_core::registry::memory::Memory| {
                memory.name() == name
            })
        };
        let in_life = life.is_none_or(|life| is_it(&life.memory.borrow()));
        in_life && (is_it(&node.memory.borrow()) || self.flaw == Flaw::ClaimsBeforeRemembering)
    }

    /// Returns whether an endpoint of some server leads astray to this etcd.
    pub fn is_any_at(&self, place: usize) -> bool {
        let nodes = self.nodes.borrow();
        nodes.iter().any(|node| node.astray.borrow().values().any(|&at| at == place))
    }

    pub fn lead_all_back(&self) {
        self.nodes.borrow().iter().for_each(|node| node.astray.borrow_mut().clear());
    }

    /// Lets endpoints of a server lead elsewhere.
    pub fn lead_astray(&self, node: &Node) {
        let (random, time) = (&self.world.random, self.world.time.get());
        let is_led = !node.astray.borrow().is_empty();
        if is_led || self.is_moving() || self.is_unsettled() || !self.is_remembered(node) {
            return;
        }
        let place = random.pick(&[EMPTY, EMPTY, FOREIGN, FOREIGN, COPY, self.other_home()]);
        let retired = self.etcds.borrow()[self.other_home()].name();
        let knows = node.memory.borrow().iter().any(|memory| {
            memory.retired.iter().any(|of| of.name == retired) || self.flaw == Flaw::IgnoresRetired
        });
        let may_all = match place {
            EMPTY => false,
            FOREIGN | COPY => true,
            _ => knows && self.etcds.borrow()[place].data().value(Key::Id).is_some(),
        };
        {
            let etcds = &mut *self.etcds.borrow_mut();
            let (id, data) = {
                let home = &etcds[self.home.get()];
                (home.id, home.data().clone())
            };
            match place {
                EMPTY => etcds[EMPTY] = Etcd::new(id),
                COPY => etcds[COPY].restore(time, new_cluster_id(random), data),
                _ => {}
            }
        }
        let endpoints = node.endpoints.borrow().clone();
        let all = may_all && random.one_in(2);
        self.events.saw(if all { Event::LedAwayFromAll } else { Event::LedAstray });
        let stays = random.below(endpoints.len() as u64) as usize;
        for (number, endpoint) in endpoints.iter().enumerate() {
            if all || number != stays && !random.one_in(3) {
                node.astray.borrow_mut().insert(endpoint.clone(), place);
            }
        }
    }
}
