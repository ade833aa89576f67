//! A fleet in which nothing goes wrong any more: it recovers by itself.

use super::etcd::Etcd;
use super::fleet::Fleet;
use super::node::{Life, Node};
use super::switch::Setting;
use crate::checks::Fault;
use crate::clock::{MILLISECOND, SECOND};
use crate::node::Answer;
use std::rc::Rc;

impl Fleet {
    /// Ends all faults, with all clocks past everything that happened. The pool must be claimed as
    /// far as servers want it, and every session of a server that holds generator IDs must get an
    /// ID.
    pub fn all_is_well(&self) {
        self.well.set(true);
        let ttl = self.ttl();
        self.etcds.borrow_mut().iter_mut().for_each(Etcd::is_well);
        self.silent.borrow_mut().clear();
        self.lead_all_back();
        let node = |&number: &usize| self.nodes.borrow()[number].clone();
        let nodes: Vec<_> = self.living.borrow().iter().map(node).collect();
        let mut last = self.world.time.get();
        for node in &nodes {
            for slot in [&node.paused, &node.stuck, &node.cut] {
                slot.set(0);
            }
            let until = node.disk.get().map(|disk| disk.horizon.until);
            last = until.into_iter().flatten().fold(last, |last, until| last.max(until.0));
            last = last.max(node.clock.read(self.world.time.get()));
        }
        last = self.etcd().high_water_marks().fold(last, u64::max);
        self.until(last + 2 * SECOND);
        for node in &nodes {
            let time = self.world.time.get();
            node.clock.set(time, time);
            node.disturbed.set(true);
            node.only.replace(None);
            match node.life() {
                Some(_) => self.reload(node),
                None if self.may_start(node) => node.start(self, 4),
                None => {}
            }
        }
        if self.is_switching {
            self.lease_all(&nodes);
        }
        let lives = || nodes.iter().filter_map(|node| node.life());
        let wanted: usize = nodes.iter().map(|node| node.want.get()).sum();
        for _ in 0..60 {
            self.pass(ttl / 3);
            self.recover(&nodes);
            let held: usize = lives().map(|life| life.count()).sum();
            if held == wanted.min(self.pool.len()) {
                return nodes.iter().for_each(|node| self.serve_all(node));
            }
        }
        self.world.expect(false, Fault::NotServed);
    }

    /// Lets administrators do what is left for them, and start the servers that they have not
    /// started.
    fn recover(&self, nodes: &[Rc<Node>]) {
        if self.is_moving() {
            (0..=nodes.len()).for_each(|_| self.move_on());
        }
        for node in nodes {
            self.help(node);
            if node.life().is_none() && self.may_start(node) {
                node.start(self, 4);
            }
        }
    }

    /// Servers with fixed generator IDs continue with them, and then all lease.
    fn lease_all(&self, nodes: &[Rc<Node>]) {
        self.pass(SECOND);
        for node in nodes {
            if node.life().is_some_and(|life| !life.leases.get()) {
                self.serve_all(node);
            }
        }
        for node in nodes {
            node.plan.replace(None);
            self.numbers.let_go(node);
            self.set(node, Setting::Leased);
        }
    }

    fn serve_all(&self, node: &Node) {
        let has_some = |life: &Rc<Life>| !life.leases.get() || life.count() > 0;
        let Some(life) = node.life().filter(has_some) else { return };
        for session in 0..life.sessions.len() {
            life.end_statement(session);
            let served = (0..100).any(|_| match node.ask(self, &life, session, 1, true) {
                Answer::Given => true,
                Answer::Wait(reading) => {
                    self.until(node.clock.time_of(reading, self.world.time.get()));
                    false
                }
                Answer::Nothing => {
                    self.pass(10 * MILLISECOND);
                    false
                }
            });
            self.world.expect(served || life.over.get(), Fault::NotServed);
        }
    }
}
