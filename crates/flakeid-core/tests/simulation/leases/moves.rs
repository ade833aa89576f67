//! The work of administrators so that servers lease from another registry, as docs/fleet.md demands
//! it.
//!
//! They move the fleet from one etcd to another one, and later back. They change the settings of
//! all servers, and wait until the last lease of the old registry has ended. Then they write that
//! the new registry replaces the old one. A registry that the fleet goes back to was deleted, or
//! all servers have leased from the other one since. During a move no server joins or loses its
//! memory, and no server runs that has never leased. When all servers lease from the new registry,
//! they may delete the old one, or its entry.
//!
//! A server may refuse since the registry has another ID or another address than that of its last
//! lease. Administrators write an entry for it when all leases have ended that etcd may have
//! forgotten, and all its endpoints lead to the fleet's registry.

use super::etcd::Etcd;
use super::events::Event;
use super::fleet::Fleet;
use super::node::Node;
use super::worker::NAMESPACE;
use flakeid_core::registry::listing::address;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::transaction::{Key, Value, Write};
use std::rc::Rc;

impl Etcd {
    /// Writes beside the address that this registry replaces another one. Earlier names stay.
    fn replace(&mut self, replaced: &str) {
        let before = self.data().value(Key::Address).unwrap_or_default();
        let mut names: Vec<&str> = before.split(',').skip(1).collect();
        if !names.contains(&replaced) {
            names.push(replaced);
        }
        let value = [&*self.name(), &names.join(",")].join(",");
        self.write_by_hand(&[Write::Put(Key::Address, Value::Text(value), 0)]);
    }
}

impl Node {
    /// Returns whether the server remembers no registry.
    pub fn is_new(&self) -> bool {
        self.memory.borrow().is_none()
    }
}

impl Fleet {
    /// Returns whether the fleet moves to another registry.
    pub fn is_moving(&self) -> bool {
        *self.endpoints.borrow().as_ref() != Self::endpoints_of(self.home.get())
    }

    /// Begins to move the fleet to the other registry, or takes a step towards that.
    pub fn move_on(&self) {
        let (random, time) = (&self.world.random, self.world.time.get());
        if !self.is_moving() {
            let is_old_gone =
                self.etcds.borrow()[self.other_home()].data().value(Key::Id).is_none();
            let knows = |node: &Rc<Node>| self.is_remembered(node);
            if self.is_unsettled()
                || self.is_blocked()
                || !(is_old_gone || self.living_nodes().iter().all(knows))
            {
                return;
            }
            self.lead_all_back();
            let endpoints = Rc::new(Self::endpoints_of(self.other_home()));
            self.endpoints.replace(endpoints);
        }
        let endpoints = self.endpoints.borrow().clone();
        let nodes = self.living_nodes();
        // A server that has never leased would lease from the new registry at once.
        if let Some(node) = nodes.iter().find(|node| node.is_new() && node.life().is_some()) {
            return node.stop(self);
        }
        if let Some(node) = nodes.iter().find(|node| *node.endpoints.borrow() != endpoints) {
            node.endpoints.replace(endpoints);
            return self.reload(node);
        }
        let uses_new = |node: &Rc<Node>| {
            node.life().is_none_or(|life| life.worker.borrow().settings.endpoints == endpoints)
        };
        if !nodes.iter().all(uses_new) || self.etcd().has_leases(time) {
            return;
        }
        let old = self.etcd().name();
        let old =
            match old.split_once('#') {
                // The addresses alone are enough if they differ.
                Some((address, _))
                    if self.etcds.borrow()[self.other_home()].id != self.etcd().id =>
                {
                    if random.one_in(2) { address.to_string() } else { old.clone() }
                }
                _ => old,
            };
        self.home.set(self.other_home());
        self.etcd_mut().replace(&old);
        self.past.borrow_mut().last = time;
        self.moves.set(self.moves.get() + 1);
        self.events.saw(if self.moves.get() > 1 { Event::MovedBack } else { Event::Moved });
    }

    /// Lets administrators delete the registry that all servers have left, or its entry.
    pub fn clean_up(&self) {
        let random = &self.world.random;
        let all = self.living_nodes().iter().all(|node| self.is_remembered(node));
        // A server that is led there must find another registry, and not an etcd without data.
        let is_any_there = self.is_any_at(self.other_home());
        if self.moves.get() == 0 || self.is_moving() || !all || is_any_there {
            return;
        }
        let old = &mut self.etcds.borrow_mut()[self.other_home()];
        match random.below(3) {
            0 => old.delete_all(),
            1 => {
                let value = Value::Text(address(old.id, NAMESPACE));
                old.write_by_hand(&[Write::Put(Key::Address, value, 0)]);
            }
            _ => {}
        }
    }

    /// Lets an administrator help a server that refuses to lease from the fleet's registry.
    pub fn help(&self, node: &Node) {
        let Some(life) = node.life() else { return };
        let is_led_astray = !node.astray.borrow().is_empty();
        if self.is_moving() || self.is_unsettled() || self.is_blocked() || is_led_astray {
            return;
        }
        let refusal = life.worker.borrow().refusal.clone();
        let name = self.etcd().name();
        match refusal {
            Some(Refusal::OtherRegistry { last, listed }) if listed == name && last != name => {
                self.etcd_mut().replace(&last);
            }
            Some(Refusal::Copy { stated, address: listed }) if name.starts_with(&listed) => {
                let stated = stated.split(',').next().unwrap_or_default();
                if !stated.starts_with(&listed) {
                    self.etcd_mut().replace(stated);
                }
            }
            _ => {}
        }
    }
}
