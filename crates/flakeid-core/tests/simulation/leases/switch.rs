//! A server's setting goes from numbers of its own to leased ones and back, while statements run that began before.
//!
//! A session goes by the setting that its statement began with. Its worker goes by the present one, when it comes to
//! it: it announces another generation, seals the cells, and claims generator IDs, maybe the very numbers that the
//! server had, so that the same cells go on. Or it gives up all that is held, and sessions may use numbers again.
//!
//! What administrators do is part of the model, as docs/fleet.md says it:
//! * numbers are a server's own only when nobody else has them or asks for them, when it is alone in having them in its
//!   pool, and, where others have leased them or had them as their own, when its clock is past their marks and the last
//!   ID that was made with them;
//! * the same goes for numbers of statements that still run, before a server goes from leased ones to any numbers:
//!   these statements will use theirs again;
//! * numbers that a server had as its own are others' to lease when its worker leases in their place, or when no
//!   statement has them any more; and when the clock of who leases them is past the last ID that was made with them.

use super::etcd::Change;
use super::events::{Event, Flaw};
use super::fleet::{Fleet, MICROSECOND, MILLISECOND};
use super::node::{Life, Node};
use super::session::MOST;
use flakeid_core::cell::Cell;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A clock is past a moment when it is so far past it: every processor's.
const PAST: u64 = 20 * MILLISECOND;

/// Where a server's generator IDs come from.
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

/// What administrators know of a generator ID.
#[derive(Default)]
struct Number {
    /// It is in the pool of this node alone.
    kept_for: Option<usize>,
    /// Which nodes have made IDs with it as a number of their own, and up to when.
    made: BTreeMap<usize, u64>,
    /// Which nodes have leased it.
    leased_by: BTreeSet<usize>,
}

#[derive(Default)]
pub struct Numbers(RefCell<BTreeMap<u16, Number>>);

impl Numbers {
    /// A node has made an ID with a number of its own.
    pub fn made(&self, id: u16, node: &Node, until: u64) {
        let mut numbers = self.0.borrow_mut();
        let last = numbers.entry(id).or_default().made.entry(node.number).or_default();
        *last = until.max(*last);
    }

    /// A node has leased it. Gives whether another has made IDs with it as a number of its own.
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

    /// Takes these out of the pools of all other nodes, unless some are another's.
    fn keep(&self, ids: &[u16], node: &Node) -> bool {
        let may = !ids.iter().any(|&id| self.is_kept_for_another(id, node));
        let mut numbers = self.0.borrow_mut();
        for &id in ids.iter().filter(|_| may) {
            numbers.entry(id).or_default().kept_for = Some(node.number);
        }
        may
    }

    /// All numbers that were kept for a node are in all pools again.
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

    /// Whether a clock that reads this is past all IDs that others made with it as their own.
    fn is_past(&self, id: u16, node: &Node, reading: u64) -> bool {
        let numbers = self.0.borrow();
        let mut made = numbers.get(&id).into_iter().flat_map(|number| &number.made);
        made.all(|(&other, &last)| other == node.number || last + PAST < reading)
    }
}

impl Fleet {
    /// Whether a generator ID is in a node's pool.
    pub fn is_in_pool_of(&self, node: &Node, id: u16) -> bool {
        !self.numbers.is_kept_for_another(id, node)
    }

    /// Whether a node may lease what nobody has claimed.
    pub fn may_lease(&self, node: &Node, id: u16) -> bool {
        let reading = node.clock.read(self.world.time.get());
        !self.is_switching
            || self.is_in_pool_of(node, id)
                && !self.others(node).iter().any(|other| other.uses(id))
                && self.numbers.is_past(id, node, reading)
    }

    fn others(&self, node: &Node) -> Vec<Rc<Node>> {
        let all = self.nodes.borrow();
        let living = self.living.borrow();
        let others = living.iter().filter(|&&number| number != node.number);
        others.map(|&number| all[number].clone()).collect()
    }

    /// Whether a number may be a node's own by now. It is in no other's pool.
    fn is_ready(&self, node: &Node, id: u16) -> bool {
        let time = self.world.time.get();
        let reading = node.clock.read(time);
        let is_it = |&(of, ..): &Change| of == id;
        let (holder, mark) = {
            let etcd = self.etcd.borrow();
            (etcd.holder(time, id), etcd.mark(id))
        };
        let own = node.life().and_then(|life| life.worker.borrow().lease());
        let asks = |other: &Rc<Node>| {
            other.life().is_some_and(|life| life.worker.borrow().asks_for(is_it))
        };
        (holder.is_none() || holder == own)
            && !self.others(node).iter().any(|other| other.uses(id) || asks(other))
            && !self.is_claim_under_way(node, is_it)
            && self.numbers.is_past(id, node, reading)
            && (!self.numbers.was_leased_by_others(id, node) || mark + PAST < reading)
    }

    /// An administrator changes a node's setting, or takes a step towards that.
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
        // Statements that still run take theirs again.
        let mut all: BTreeSet<u16> = plan.iter().copied().collect();
        if let Some(life) = node.life() {
            all.extend(life.numbers_in_statements());
        }
        let all: Vec<u16> = all.into_iter().collect();
        if !self.numbers.keep(&all, node) {
            return;
        }
        if all.iter().all(|&id| self.is_ready(node, id)) {
            if plan.iter().any(|&id| self.numbers.was_leased_by_others(id, node)) {
                self.events.saw(Event::LeasedBecomesNumber);
            }
            node.numbers.replace(plan.clone());
            self.set(node, Setting::Numbers(plan));
        } else if !random.one_in(20) {
            node.plan.replace(Some(plan));
        } else if matches!(**node.setting.borrow(), Setting::Leased) {
            // He gives it up.
            self.numbers.let_go(node);
        }
    }

    /// A node is to lease, in the place of numbers of its own, which are in all pools again.
    pub fn lease(&self, node: &Node) {
        self.numbers.let_go(node);
        self.set(node, Setting::Leased);
    }

    /// The settings are read again.
    pub fn set(&self, node: &Node, setting: Setting) {
        node.setting.replace(Rc::new(setting));
        if let Some(life) = node.life() {
            let soon = self.world.random.below(20 * MILLISECOND);
            self.wake(node, &life, self.world.time.get() + MICROSECOND + soon);
        }
    }
}

impl Node {
    /// Whether it has numbers of its own, and is to have no others.
    pub fn has_numbers(&self) -> bool {
        matches!(**self.setting.borrow(), Setting::Numbers(_)) && self.plan.borrow().is_none()
    }

    /// Whether it uses a number as its own, or may do so again without another change of its setting.
    fn uses(&self, id: u16) -> bool {
        let in_statement = |life: Rc<Life>| {
            !life.leases.get() && life.numbers_in_statements().into_iter().any(|of| of == id)
        };
        self.setting.borrow().has(id) || self.life().is_some_and(in_statement)
    }

    /// The worker does what the setting says. Gives whether it is to lease generator IDs.
    pub fn follow(&self, fleet: &Fleet, life: &Life) -> bool {
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
                    let ids: Vec<u16> = life.held.borrow().keys().copied().collect();
                    if !ids.is_empty() {
                        self.release(fleet, life, &ids);
                    }
                    life.worker.borrow_mut().abandon();
                    life.leases.set(false);
                    life.next_generation();
                    self.cap(fleet, life);
                }
                false
            }
        }
    }

    /// The cells of numbers of the server's own, and the generation that they are listed for; nothing while
    /// generator IDs are leased. A process may stand still at each step that it takes without the lock.
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
    /// From now on no session gets an ID by a list of cells that it made before.
    pub fn next_generation(&self) {
        self.generation.set(self.generation.get() + 1);
        self.gate.announce(self.generation.get());
        self.leased.announce(self.generation.get());
    }

    /// The setting that a session's statement goes by: the present one, where another statement begins.
    pub fn statement(&self, node: &Node, session: usize) -> Rc<Setting> {
        let mut statement = self.statements[session].borrow_mut();
        statement.get_or_insert_with(|| node.setting.borrow().clone()).clone()
    }

    /// A session's statement ends, unless it is in the middle of a call.
    pub fn end_statement(&self, session: usize) {
        if self.sessions[session].try_borrow().is_ok() {
            self.statements[session].replace(None);
        }
    }

    /// The numbers that statements which still run began with.
    fn numbers_in_statements(&self) -> Vec<u16> {
        let mut numbers = Vec::with_capacity(MOST);
        for statement in &self.statements {
            if let Some(Setting::Numbers(ids)) = statement.borrow().as_deref() {
                numbers.extend(ids);
            }
        }
        numbers
    }
}
