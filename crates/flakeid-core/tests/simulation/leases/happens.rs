//! The events that happen to the servers of a fleet and to the registry, also in the middle of a
//! session's call.

use super::events::Event;
use super::fleet::{Fleet, MICROSECOND};
use super::node::{Life, Node};
use crate::clock::{HOUR, MILLISECOND, SECOND};
use crate::node::Answer;
use std::rc::Rc;

impl Fleet {
    /// Lets a random event happen.
    pub fn happen(&self) {
        let random = &self.world.random;
        let ttl = self.ttl();
        self.pass(match random.below(4000) {
            0 if random.one_in(8) => random.below(HOUR),
            1..=8 => random.below(2 * ttl),
            9..=50 => random.below(2 * SECOND),
            51..=500 => random.below(20 * MILLISECOND),
            501..=1500 => random.below(2 * MILLISECOND),
            _ => random.below(50 * MICROSECOND),
        });
        let time = self.world.time.get();
        match random.below(1000) {
            0 => {
                self.events.saw(Event::Outage);
                self.etcd_mut().down = time + random.below(2 * ttl);
            }
            1..=2 => {
                self.events.saw(Event::Election);
                self.etcd_mut().elect(time);
            }
            3..=6 => self.etcd_mut().divide(time, time + random.below(4 * ttl)),
            7..=8 if self.living.borrow().len() < 10 && self.may_join() => self.bear(),
            9 if random.one_in(2) => {
                self.events.saw(Event::SilentEndpoint);
                let endpoints = self.endpoints.borrow().clone();
                let endpoint = &endpoints[random.below(endpoints.len() as u64) as usize];
                let until = time + random.below(ttl);
                self.silent.borrow_mut().insert(endpoint.clone(), until);
            }
            11 if self.is_forgetful => self.forget(),
            13..=15 if self.is_moved && (self.is_moving() || random.one_in(20)) => self.move_on(),
            16 if self.is_moved => self.clean_up(),
            17 if self.is_meddled => self.meddle(),
            _ if self.is_moving() && random.one_in(20) => self.move_on(),
            _ => {}
        }
        let number = random.pick(&self.living.borrow());
        let node = self.nodes.borrow()[number].clone();
        if time >= node.paused.get() {
            self.happen_to(&node);
        }
    }

    fn happen_to(&self, node: &Node) {
        let (random, time) = (&self.world.random, self.world.time.get());
        let ttl = self.ttl();
        let Some(life) = node.life() else {
            if random.one_in(30) && node.astray.borrow().is_empty() && !self.is_moving() {
                self.events.saw(Event::MemoryLost);
                node.memory.replace(None);
            }
            if random.one_in(2) && self.may_start(node) {
                node.start(self, self.sessions());
            }
            return;
        };
        match random.below(1000) {
            0..=9 => self.disturb(node),
            15..=19 => {
                self.events.saw(Event::Crash);
                node.end(self);
            }
            20..=24 => node.stop(self),
            25..=29 => {
                self.events.saw(Event::Partition);
                node.cut.set(time + random.below(2 * ttl));
            }
            30..=39 => {
                node.want.set(self.want());
                node.only.replace(None);
                self.reload(node);
            }
            40..=43 => self.pause(node, random.below(3 * ttl)),
            44..=46 => {
                // Only its gate limits this session.
                node.stuck.set(time + random.below(3 * ttl));
            }
            47 if self.living.borrow().len() > 1 && random.one_in(2) => {
                self.events.saw(Event::Death);
                self.living.borrow_mut().retain(|&number| number != node.number);
                self.numbers.let_go(node);
                node.end(self);
            }
            48..=60 => {
                let session = random.below(life.sessions.len() as u64) as usize;
                node.reconnect(self, &life, session);
            }
            61..=75 if self.is_switching => self.switch(node),
            76 if !self.is_blocked() => node.restart_worker(self, &life),
            77 => self.lead_astray(node),
            78..=79 => node.astray.borrow_mut().clear(),
            80 if self.is_forgetful => self.help(node),
            _ => self.take_many(node, &life),
        }
    }

    fn pause(&self, node: &Node, long: u64) {
        node.paused.set(self.world.time.get() + long);
        node.disturbed.set(true);
    }

    /// Lets an event happen to a server's clock, which is often corrected.
    fn disturb(&self, node: &Node) {
        let (random, time) = (&self.world.random, self.world.time.get());
        node.disturbed.set(true);
        if self.keeps_time() {
            return;
        }
        let far = match random.below(40) {
            0..=15 => 1 + random.below(SECOND / 20),
            16..=37 => random.below(3 * SECOND),
            38 => random.below(2 * self.ttl()),
            _ => random.below(HOUR),
        };
        match random.below(8) {
            0..=2 => node.clock.set(time, node.clock.read(time) - far),
            3..=4 => node.clock.set(time, node.clock.read(time) + far),
            5 => node.clock.stand(time, random.below(SECOND / 5)),
            _ => node.clock.set(time, time - SECOND / 1000 + random.below(SECOND / 500)),
        }
    }

    /// Lets a session take IDs, one or several at a time. Often it waits as it is told.
    fn take_many(&self, node: &Node, life: &Rc<Life>) {
        let random = &self.world.random;
        let session = random.below(life.sessions.len() as u64) as usize;
        let most = if random.one_in(20) { 1 + random.skewed(5000) } else { 1 };
        if self.is_switching && !random.one_in(4) {
            life.end_statement(session);
        }
        for _ in 0..=random.skewed(if random.one_in(50) { 5000 } else { 50 }) {
            if random.one_in(16) {
                self.pass(random.below(5000));
            }
            if life.over.get() || self.world.time.get() < node.paused.get() {
                return;
            }
            let want = 1 + random.below(most) as u32;
            match node.ask(self, life, session, want, false) {
                Answer::Given => {}
                Answer::Wait(reading) => {
                    let time = self.world.time.get();
                    let left = reading.saturating_sub(node.clock.read(time));
                    let patient = match left {
                        0..SECOND if left < SECOND / 10 => !random.one_in(4),
                        0..SECOND => random.one_in(4),
                        _ => random.one_in(50) && left < 20 * SECOND,
                    };
                    if patient {
                        self.until(node.clock.time_of(reading, time));
                    } else if left > SECOND && !self.is_switching && random.one_in(4) {
                        // This clock is behind all others, or they have been ahead of the time.
                        node.disturbed.set(true);
                        node.clock.set(time, time);
                        return self.pass(if random.one_in(4) { left.min(HOUR) } else { 0 });
                    } else {
                        return;
                    }
                }
                Answer::Nothing => return,
            }
            if self.world.has_failed() {
                return;
            }
        }
    }

    /// Lets other processes of the server run while a session is about to read the clock.
    pub fn interruption(&self, node: &Node, life: &Life, unit: u64) {
        let random = &self.world.random;
        if self.depth.get() > 2 {
            return;
        }
        self.depth.set(self.depth.get() + 1);
        self.pass(random.skewed(3 * unit));
        let session = random.below(life.sessions.len() as u64) as usize;
        for _ in 0..random.below(4) {
            if !life.over.get() && self.world.time.get() >= node.paused.get() {
                node.ask(self, life, session, 1 + random.skewed(20) as u32, true);
            }
        }
        self.depth.set(self.depth.get() - 1);
    }

    /// Lets a process stand still between its question to the gate and the swap, or its whole
    /// server, while everything else continues.
    pub fn stand_still(&self, node: &Node) {
        if self.depth.get() > 2 {
            return;
        }
        self.depth.set(self.depth.get() + 1);
        let (random, time) = (&self.world.random, self.world.time.get());
        let ttl = self.ttl();
        // Many things must come together in the middle of a statement whose server leases by then.
        let long = match random.below(if self.is_switching { 20 } else { 40 }) {
            0 => random.below(4 * ttl),
            1..=4 => random.below(SECOND),
            _ => random.below(2 * MILLISECOND),
        };
        let whole = random.one_in(3);
        if long > ttl {
            self.events.saw(if whole { Event::PauseOfNode } else { Event::PauseOfProcess });
        }
        if whole {
            self.pause(node, long);
        }
        let end = time + long;
        if !whole && long > SECOND / 2 && random.one_in(2) {
            self.change_hands(node);
        }
        if !whole && long > ttl && self.is_switching {
            self.lease_instead(node, end);
        }
        for _ in 0..if long > ttl { 12 } else { 3 } {
            let left = end.saturating_sub(self.world.time.get());
            if left == 0 {
                break;
            }
            self.pass(random.below(left));
            if random.one_in(3) && !whole && long > SECOND {
                self.disturb(node);
            }
            if self.is_switching && random.one_in(2) {
                self.switch(node);
            }
            self.happen();
        }
        self.until(end);
        if whole {
            node.paused.set(node.paused.get().min(self.world.time.get()));
        }
        self.depth.set(self.depth.get() - 1);
    }

    /// Lets a server lease the very generator IDs that it had as fixed ones, in the middle of a
    /// statement. Then its worker stands still, too, for longer than the statement does. So nothing
    /// renews the claim, and nothing seals the cells at its end.
    fn lease_instead(&self, node: &Node, end: u64) {
        if node.life().is_none() || !node.has_numbers() {
            return;
        }
        let numbers = node.numbers.borrow().clone();
        node.only.replace(numbers.first().copied().zip(numbers.last().copied()));
        node.want.set(node.want.get().max(numbers.len()));
        self.lease(node);
        let random = &self.world.random;
        self.pass(50 * MILLISECOND + random.below(100 * MILLISECOND));
        node.stuck.set(end + random.below(SECOND));
    }

    /// Lets a server release most of its IDs and want them back. Its clock may be set to an earlier
    /// time between the two.
    fn change_hands(&self, node: &Node) {
        let random = &self.world.random;
        let want = node.want.get();
        for wanted in [random.below(2) as usize, want] {
            node.want.set(wanted);
            self.reload(node);
            self.pass(random.below(40 * MILLISECOND));
            if random.one_in(2) && !self.keeps_time() {
                let back = random.below(2 * self.ttl());
                let time = self.world.time.get();
                node.disturbed.set(true);
                node.clock.set(time, node.clock.read(time) - back);
            }
        }
    }
}
