//! A server's setting changes from fixed generator IDs to leased ones and back, while statements
//! run that began before.
//!
//! A session uses the setting with which its statement began. The server's worker uses the present
//! one, when it notices it. To lease, it announces another generation, seals the cells, and claims
//! generator IDs. Perhaps these are the very ones that were fixed, so that the same cells continue.
//! To end leasing, it releases all that is held, and sessions may use fixed ones again.
//!
//! The work of administrators is part of the model, as docs/fleet.md demands it:
//! * Generator IDs are fixed only if no other server has them or requests them, and the server
//!   alone has them in its pool. If others have leased them or had them as fixed ones, the server's
//!   clock must also be past two times: their high-water marks, and the last ID that was issued
//!   with them.
//! * This also applies to the fixed ones of statements that still run, before a server changes from
//!   leased ones to any fixed ones: these statements will use theirs again.
//! * Other servers may lease generator IDs that were fixed when the server's worker leases instead,
//!   or when no statement has them any more. The clock of the server that leases them must also be
//!   past the last ID that was issued with them.

use super::events::{Event, Flaw};
use super::fleet::{Fleet, MICROSECOND};
use super::node::{Life, Node};
use super::session::MAX_GENERATOR_IDS;
use super::worker::Worker;
use crate::clock::MILLISECOND;
use flakeid_core::cell::Cell;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The distance of every processor's clock from a time that it is past.
const PAST: u64 = 20 * MILLISECOND;

/// The source of a server's generator IDs.
#[derive(Debug)]
pub enum Setting {
    Leased,
    Numbers(Vec<u16>),
}

impl Setting {
    fn has(&self, id: u16) -> bool {
        matches!(self, Self::Numbers(ids) if ids.contains(&id))
    }
}

/// The facts about a generator ID that administrators know.
#[derive(Default)]
struct Number {
    /// The server whose pool alone has the generator ID.
    kept_for: Option<usize>,
    /// The servers that have issued IDs with it as a fixed one, and the end of their last tick.
    made: BTreeMap<usize, u64>,
    /// The servers that have leased it.
    leased_by: BTreeSet<usize>,
}

#[derive(Default)]
pub struct Numbers(RefCell<BTreeMap<u16, Number>>);

impl Numbers {
    /// Records that a server has issued an ID with a fixed generator ID.
    pub fn made(&self, id: u16, node: &Node, until: u64) {
        let mut numbers = self.0.borrow_mut();
        let last = numbers.entry(id).or_default().made.entry(node.number).or_default();
        *last = until.max(*last);
    }

    /// Records that a server has leased a generator ID. Returns whether another one has issued IDs
    /// with it as a fixed one.
    pub fn leased(&self, id: u16, node: &Node) -> bool {
        let mut numbers = self.0.borrow_mut();
        let number = numbers.entry(id).or_default();
        number.leased_by.insert(node.number);
        number.made.keys().any(|&other| other != node.number)
    }

    fn is_kept_for_another(&self, id: u16, node: &Node) -> bool {
        let numbers = self.0.borrow();
        let kept_for = numbers.get(&id).and_then(|number| number.kept_for);
        kept_for.is_some_and(|kept_for| kept_for != node.number)
    }

    /// Takes these out of the pools of all other servers, unless some are another server's.
    fn keep(&self, ids: &[u16], node: &Node) -> bool {
        let may = !ids.iter().any(|&id| self.is_kept_for_another(id, node));
        let mut numbers = self.0.borrow_mut();
        for &id in ids.iter().filter(|_| may) {
            numbers.entry(id).or_default().kept_for = Some(node.number);
        }
        may
    }

    /// Returns all generator IDs that were kept for a server to all pools.
    pub fn let_go(&self, node: &Node) {
        for number in self.0.borrow_mut().values_mut() {
            number.kept_for = number.kept_for.filter(|&kept_for| kept_for != node.number);
        }
    }

    fn was_leased_by_others(&self, id: u16, node: &Node) -> bool {
        let numbers = self.0.borrow();
        let mut by = numbers.get(&id).into_iter().flat_map(|number| &number.leased_by);
        by.any(|&other| other != node.number)
    }

    /// Returns whether a clock with this reading is past all IDs that others issued with it as a
    /// fixed one.
    fn is_past(&self, id: u16, node: &Node, reading: u64) -> bool {
        let numbers = self.0.borrow();
        let mut made = numbers.get(&id).into_iter().flat_map(|number| &number.made);
        made.all(|(&other, &last)| other == node.number || last + PAST < reading)
    }
}

impl Fleet {
    /// Returns the pool that an administrator gives a server, and how many generator IDs it leases.
    /// The pool is the part of the fleet's in which it may lease all. Of several it is the one of
    /// which it holds most.
    pub fn pool_of(&self, node: &Node) -> (RangeInclusive<u16>, usize) {
        let want = node.want.get();
        if !self.is_switching {
            return (self.pool.clone(), want);
        }
        let held = node.life().map_or(Vec::new(), |life| life.held());
        let others = self.others(node);
        let reading = node.clock.read(self.world.time.get());
        let only = node.only.borrow().map_or(self.pool.clone(), |(first, last)| first..=last);
        let may_lease = |&id: &u16| {
            only.contains(&id)
                && !self.numbers.is_kept_for_another(id, node)
                && !others.iter().any(|other| other.uses(id))
                && self.numbers.is_past(id, node, reading)
        };
        let all: Vec<u16> = self.pool.clone().filter(may_lease).collect();
        let parts = all.chunk_by(|id, next| id + 1 == *next);
        let holds = |id: &&u16| held.iter().any(|held| held.id == **id);
        let best = parts.max_by_key(|part| (part.iter().filter(holds).count(), part.len()));
        match best.and_then(|part| Some(*part.first()?..=*part.last()?)) {
            Some(pool) => (pool, want),
            None => (u16::MAX..=u16::MAX, 0),
        }
    }

    fn others(&self, node: &Node) -> Vec<Rc<Node>> {
        let all = self.nodes.borrow();
        let living = self.living.borrow();
        let others = living.iter().filter(|&&number| number != node.number);
        others.map(|&number| all[number].clone()).collect()
    }

    /// Returns whether a generator ID may be a server's fixed one by now. It is in no other
    /// server's pool.
    fn is_ready(&self, node: &Node, id: u16) -> bool {
        let time = self.world.time.get();
        let reading = node.clock.read(time);
        let (holder, high_water_mark) = {
            let etcd = self.etcd();
            (etcd.holder(time, id), etcd.high_water_mark(id))
        };
        let own = node.life().map(|life| life.last_lease.get().0);
        let asks = |other: &Rc<Node>| {
            other.life().is_some_and(|life| {
                life.leases.get() && life.worker.borrow().settings.pool.contains(&id)
            })
        };
        (holder.is_none() || holder == own)
            && !self.others(node).iter().any(|other| other.uses(id) || asks(other))
            && !self.is_claim_under_way(node, id)
            && self.numbers.is_past(id, node, reading)
            && (!self.numbers.was_leased_by_others(id, node) || high_water_mark + PAST < reading)
    }

    /// Lets an administrator change a server's setting, or take a step towards that.
    pub fn switch(&self, node: &Node) {
        let random = &self.world.random;
        if !self.living.borrow().contains(&node.number) {
            return;
        }
        if node.has_numbers() && !random.one_in(3) {
            return self.lease(node);
        }
        let planned = node.plan.take();
        let plan = planned.unwrap_or_else(|| match random.one_in(2) {
            true if !node.numbers.borrow().is_empty() => node.numbers.borrow().clone(),
            _ => {
                let first = self.pool.start() + random.below(self.pool.len() as u64 + 2) as u16;
                (first..=first + random.below(3) as u16).collect()
            }
        });
        // Statements that still run use theirs again.
        let mut all: BTreeSet<u16> = plan.iter().copied().collect();
        if let Some(life) = node.life() {
            all.extend(life.numbers_in_statements());
        }
        let all: Vec<u16> = all.into_iter().collect();
        if !self.numbers.keep(&all, node) {
            return;
        }
        self.others(node).iter().for_each(|other| self.reload(other));
        if all.iter().all(|&id| self.is_ready(node, id)) {
            if plan.iter().any(|&id| self.numbers.was_leased_by_others(id, node)) {
                self.events.saw(Event::LeasedBecomesNumber);
            }
            node.numbers.replace(plan.clone());
            self.set(node, Setting::Numbers(plan));
        } else if !random.one_in(20) {
            node.plan.replace(Some(plan));
        } else if matches!(**node.setting.borrow(), Setting::Leased) {
            // The administrator abandons the plan.
            self.numbers.let_go(node);
        }
    }

    /// Makes a server lease, instead of its fixed generator IDs, which all pools have again.
    pub fn lease(&self, node: &Node) {
        self.numbers.let_go(node);
        self.set(node, Setting::Leased);
    }

    pub fn set(&self, node: &Node, setting: Setting) {
        node.setting.replace(Rc::new(setting));
        self.reload(node);
    }

    /// Lets a server's worker read its settings again.
    pub fn reload(&self, node: &Node) {
        if let Some(life) = node.life() {
            let time = self.world.time.get();
            let soon = time + MICROSECOND + self.world.random.below(20 * MILLISECOND);
            life.worker.borrow_mut().hurry(soon);
            self.wake(node, &life, soon);
        }
    }
}

impl Node {
    /// Returns whether it has fixed generator IDs, and must not get others.
    pub fn has_numbers(&self) -> bool {
        matches!(**self.setting.borrow(), Setting::Numbers(_)) && self.plan.borrow().is_none()
    }

    /// Returns whether it uses a generator ID as a fixed one, or may do so again without another
    /// change of its setting.
    fn uses(&self, id: u16) -> bool {
        let in_statement = |life: Rc<Life>| {
            !life.leases.get() && life.numbers_in_statements().into_iter().any(|of| of == id)
        };
        self.setting.borrow().has(id) || self.life().is_some_and(in_statement)
    }

    /// Lets the worker do what the setting demands. Returns whether it has something to do.
    pub fn follow(&self, fleet: &Fleet, life: &Life, worker: &mut Worker) -> bool {
        if worker.is_leaving() {
            return true;
        }
        let setting = self.setting.borrow().clone();
        match (&*setting, life.leases.get()) {
            (Setting::Leased, leases) => {
                if !leases {
                    if !life.cells.borrow().is_empty() {
                        fleet.events.saw(Event::ToLease);
                    }
                    life.leases.set(true);
                    life.next_generation();
                    life.seal_all();
                    self.cap(fleet, life);
                }
                true
            }
            (Setting::Numbers(_), leases) => {
                if leases {
                    fleet.events.saw(Event::ToNumbers);
                    self.begin_leaving(fleet, life, worker);
                }
                worker.is_leaving()
            }
        }
    }

    /// Ends leasing: sessions may use fixed generator IDs again.
    pub fn end_leasing(&self, fleet: &Fleet, life: &Life) {
        life.leases.set(false);
        life.next_generation();
        self.cap(fleet, life);
    }

    /// Returns the cells of fixed generator IDs, and the generation for which they are listed;
    /// nothing while generator IDs are leased. A process may stand still at each step that it takes
    /// without the lock.
    pub fn cells_of(
        &self,
        fleet: &Fleet,
        life: &Life,
        ids: &[u16],
        alone: bool,
        find: impl Fn(u16) -> Option<Rc<Cell>>,
        bring: impl Fn(u16) -> Rc<Cell>,
    ) -> Option<(u64, Vec<Rc<Cell>>)> {
        let takes = || !life.leases.get() || fleet.flaw == Flaw::TakesLeased;
        let stands = || {
            if !alone && fleet.world.random.one_in(50) {
                fleet.stand_still(self);
            }
        };
        let generation = life.generation.get();
        stands();
        if takes() {
            stands();
            let cell = |&id: &u16| find(id).filter(|cell| !cell.is_sealed());
            if let Some(cells) = ids.iter().map(cell).collect() {
                return Some((generation, cells));
            }
        }
        if life.over.get() {
            return None;
        }
        if !takes() {
            fleet.events.saw(Event::StillLeased);
            return None;
        }
        Some((life.generation.get(), ids.iter().map(|&id| bring(id)).collect()))
    }
}

impl Life {
    /// Begins a new generation. From now on no session gets an ID by a list of cells that it made
    /// before.
    pub fn next_generation(&self) {
        self.generation.set(self.generation.get() + 1);
        self.gate.announce(self.generation.get());
        self.leased.announce(self.generation.get());
    }

    /// Returns the setting of a session's statement: the present one, if another statement begins.
    pub fn statement(&self, node: &Node, session: usize) -> Rc<Setting> {
        let mut statement = self.statements[session].borrow_mut();
        statement.get_or_insert_with(|| node.setting.borrow().clone()).clone()
    }

    /// Ends a session's statement, unless the session is in the middle of a call.
    pub fn end_statement(&self, session: usize) {
        if self.sessions[session].try_borrow().is_ok() {
            self.statements[session].replace(None);
        }
    }

    /// Returns the fixed generator IDs with which statements began that still run.
    fn numbers_in_statements(&self) -> Vec<u16> {
        let mut numbers = Vec::with_capacity(MAX_GENERATOR_IDS);
        for statement in &self.statements {
            if let Some(Setting::Numbers(ids)) = statement.borrow().as_deref() {
                numbers.extend(ids);
            }
        }
        numbers
    }
}
