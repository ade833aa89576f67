//! A node that leases its generator IDs: its clocks, its disk, and what its processes share in one life.

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::session::Client;
use super::switch::Setting;
use super::worker::Worker;
use crate::clock::{Clock, SECOND};
use crate::node::State;
use crate::world::Served;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{Gate, Horizon, Start};
use flakeid_core::generator::Stamp;
use flakeid_core::lease::{Claim, Sent};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The systems that have generator IDs, by their places.
pub const NUMBERED: [usize; 3] = [Flake::PLACE, TickTock::PLACE, UniqueId::PLACE];

pub struct Node {
    pub number: usize,
    pub clock: Clock,
    pub noisy: bool,
    /// What its clock since boot makes of a million nanoseconds, and what it showed at first.
    rate: u64,
    booted: u64,
    lead: u64,
    pub disk: Slot<Option<State>>,
    pub life: RefCell<Option<Rc<Life>>>,
    /// How many generator IDs it wants.
    pub want: Slot<usize>,
    /// Until then all its processes stand still; its worker alone; and it doesn't reach the registry.
    pub paused: Slot<u64>,
    pub stuck: Slot<u64>,
    pub cut: Slot<u64>,
    /// Where its generator IDs come from, the numbers that it had last, and those that it is to have.
    pub setting: RefCell<Rc<Setting>>,
    pub numbers: RefCell<Vec<u16>>,
    pub plan: RefCell<Option<Vec<u16>>>,
    /// Its clock was set since the gate was capped last, or the node stood still.
    pub disturbed: Slot<bool>,
}

/// A generator ID that is held.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// What it was claimed with.
    pub mark: u64,
    /// What was written last, in this revision.
    pub written: u64,
    pub revision: u64,
}

/// A node's memory.
pub struct Life {
    /// Its number among all lives of all nodes.
    pub number: u32,
    pub begun: State,
    pub gate: Gate,
    /// The same, capped by the claim.
    pub leased: Gate,
    pub held: RefCell<BTreeMap<u16, Held>>,
    pub claim: Slot<Option<Claim>>,
    /// Counts changes of the set of IDs, and of the right by which they are used.
    pub generation: Slot<u64>,
    /// Whether generator IDs are leased.
    pub leases: Slot<bool>,
    /// What this life began at, and what cells had issued before they were revived, which they forget.
    issued: Slot<Horizon>,
    pub cells: RefCell<BTreeMap<(usize, u16), Rc<Cell>>>,
    pub sessions: Vec<RefCell<Client>>,
    /// The setting that each session's statement began with, while it runs.
    pub statements: Vec<RefCell<Option<Rc<Setting>>>>,
    pub worker: RefCell<Worker>,
    /// How often the clock had been set back when it began.
    pub steps_back: u64,
    /// By system: the greatest tick read, and whether one was read before the horizon's writing.
    pub greatest: [Slot<u64>; 5],
    pub behind: [Slot<bool>; 5],
    /// A crash or a stop: nothing that happens from now on has happened.
    pub over: Slot<bool>,
}

impl Node {
    pub fn new(fleet: &Fleet, number: usize, skew: u64) -> Self {
        let (random, time) = (&fleet.world.random, fleet.world.time.get());
        Self {
            number,
            clock: Clock::new(random, time, skew),
            noisy: random.one_in(2),
            rate: 999_500 + random.below(1001),
            booted: time - random.below(1000 * SECOND),
            lead: random.pick(&[SECOND / 10, SECOND, SECOND, 20 * SECOND]),
            disk: Slot::new(None),
            life: RefCell::new(None),
            want: Slot::new(fleet.want()),
            paused: Slot::new(0),
            stuck: Slot::new(0),
            cut: Slot::new(0),
            setting: RefCell::new(Rc::new(Setting::Leased)),
            numbers: RefCell::default(),
            plan: RefCell::default(),
            disturbed: Slot::new(false),
        }
    }

    pub fn life(&self) -> Option<Rc<Life>> {
        self.life.borrow().clone()
    }

    /// Since the machine was booted.
    pub fn boot(&self, time: u64) -> Duration {
        let since = u128::from(time - self.booted) * u128::from(self.rate) / 1_000_000;
        Duration::from_nanos(since as u64)
    }

    /// The true time at which that clock has shown `boot`.
    pub fn time_of(&self, boot: Duration) -> u64 {
        self.booted + (boot.as_nanos() * 1_000_000 / u128::from(self.rate)) as u64 + 2
    }

    /// Both clocks.
    pub fn sent(&self, time: u64) -> Sent {
        Sent { now: UnixNanos(self.clock.read(time)), boot: self.boot(time) }
    }

    /// What some processor's clock reads.
    pub fn read(&self, fleet: &Fleet, unit: u64) -> UnixNanos {
        let random = &fleet.world.random;
        let late = if self.noisy { random.below(unit + 1) } else { 0 };
        UnixNanos(self.clock.read(fleet.world.time.get()) - late)
    }

    pub fn read_tick<S: Served>(&self, fleet: &Fleet, life: &Life) -> Tick {
        let now = S::scale().tick(self.read(fleet, S::UNIT)).expect("a clock past the epoch");
        let greatest = &life.greatest[S::PLACE];
        greatest.set(greatest.get().max(now.0));
        if now.0 + 1 < since::<S>(life).0 {
            life.behind[S::PLACE].set(true);
        }
        now
    }

    /// Begins a life at what the disk says. It holds nothing, whatever it held before.
    pub fn start(&self, fleet: &Fleet, sessions: usize) {
        let begun = self.disk.get().unwrap_or(State::fresh(self.read(fleet, SECOND / 1000)));
        let gate = Gate::at(begun.horizon);
        let random = &fleet.world.random;
        let life = Rc::new(Life {
            number: fleet.next_life(),
            begun,
            gate,
            leased: Gate::closed(),
            held: RefCell::default(),
            claim: Slot::new(None),
            generation: Slot::new(0),
            leases: Slot::new(!fleet.is_switching),
            issued: Slot::new(begun.horizon),
            cells: RefCell::default(),
            sessions: (0..sessions).map(|_| RefCell::new(Client::new(random))).collect(),
            statements: (0..sessions).map(|_| RefCell::default()).collect(),
            worker: RefCell::default(),
            steps_back: self.clock.steps_back(),
            greatest: Default::default(),
            behind: Default::default(),
            over: Slot::new(false),
        });
        self.life.replace(Some(life.clone()));
        self.cap(fleet, &life);
        fleet.wake(self, &life, fleet.world.time.get());
    }

    /// Ends the life, as a crash does.
    pub fn end(&self, fleet: &Fleet) {
        let Some(life) = self.life.take() else { return };
        life.over.set(true);
        fleet.close(&life);
    }

    /// A clean stop: all is given up, exactly, and so is the horizon. What goes to the registry may
    /// never get there.
    pub fn stop(&self, fleet: &Fleet) {
        let Some(life) = self.life() else { return };
        life.seal_all();
        let mut exact = Horizon { toggle: life.gate.toggle(), ..life.issued.get() };
        for (&(system, _), cell) in life.cells.borrow().iter() {
            exact = issued(exact, system, cell);
        }
        let ids: Vec<u16> = life.held.borrow().keys().copied().collect();
        if !ids.is_empty() {
            self.release(fleet, &life, &ids);
        }
        let written = self.read(fleet, SECOND / 1000);
        self.disk.set(Some(State { horizon: exact, written, lead: 0 }));
        fleet.events.saw(Event::Stop);
        self.end(fleet);
    }

    /// Puts the leased gate to where the claim lets it stand. Whoever has changed either calls it.
    pub fn cap(&self, fleet: &Fleet, life: &Life) {
        let sent = self.sent(fleet.world.time.get());
        let horizon = life.gate.horizon();
        let claim = life.claim.get().filter(|claim| !claim.is_over(sent.boot));
        life.leased.set(match claim {
            Some(_) if fleet.flaw == Flaw::Uncapped => horizon,
            Some(claim) => claim.caps(horizon, sent.now, sent.boot),
            None => Horizon { toggle: horizon.toggle, ..Horizon::NONE },
        });
        self.disturbed.set(false);
    }

    /// Moves the gates past a stamp: the node's, durable and then open, and the leased one as far as the
    /// claim goes, where a session goes by that. The node may crash on the way. False where there is no getting past it.
    pub fn extend<S: Served>(
        &self,
        fleet: &Fleet,
        life: &Life,
        stamp: Stamp,
        leased: bool,
    ) -> bool {
        let own = if leased { &life.leased } else { &life.gate };
        let passes = |gate: &Gate| gate.admits::<S>(S::scale(), stamp) && gate.goes_by::<S>(stamp);
        if passes(own) {
            return true;
        }
        if (!leased || life.claim.get().is_some()) && !passes(&life.gate) {
            let written = self.read(fleet, S::UNIT);
            let from = written.max(S::scale().nanos(stamp.tick::<S>())).0;
            let (crash, lead) = (fleet.world.random.below(400), self.lead);
            let make_durable = |horizon| {
                if crash != 0 {
                    self.disk.set(Some(State { horizon, written, lead }));
                }
                if crash > 1 { Ok(()) } else { Err(()) }
            };
            let extended = life.gate.extend::<S, _>(stamp, UnixNanos(from + lead), make_durable);
            if extended.is_err() {
                fleet.events.saw(Event::Crash);
                self.end(fleet);
                return false;
            }
            fleet.events.saw(Event::Extension);
        }
        if leased {
            self.cap(fleet, life);
        }
        passes(own)
    }

    /// The clock has not been set back in this life.
    pub fn is_steady(&self, life: &Life) -> bool {
        self.clock.steps_back() == life.steps_back
    }
}

/// The tick in which the horizon was written that this life began at.
pub fn since<S: Served>(life: &Life) -> Tick {
    S::scale().tick(life.begun.since::<S>()).unwrap_or(Tick(0))
}

impl Life {
    /// Where a cell begins or goes on whose generator ID was claimed with this mark.
    pub fn start<S: Served>(&self, fleet: &Fleet, mark: u64, now: Tick) -> Start {
        let mark = if fleet.flaw == Flaw::IgnoresMark { 0 } else { mark };
        let horizon = self.begun.horizon.raised(UnixNanos(mark));
        let floors = horizon.floors::<S>(S::scale());
        Start { floors, toggle: horizon.toggle, since: since::<S>(self), now: Some(now) }
    }

    /// What the cells of a generator ID had last, and not less than what it was claimed with: exactly,
    /// where they are sealed.
    pub fn last(&self, id: u16, mark: u64, seal: bool) -> UnixNanos {
        let mut horizon = Horizon::NONE.raised(UnixNanos(mark));
        for (&(system, _), cell) in self.cells.borrow().iter().filter(|((_, of), _)| *of == id) {
            horizon = covering(horizon, system, cell, seal);
        }
        horizon.until.into_iter().max().unwrap()
    }

    /// All cells are sealed.
    pub fn seal_all(&self) {
        for (&(system, _), cell) in self.cells.borrow().iter() {
            covering(Horizon::NONE, system, cell, true);
        }
    }

    /// The cells of a generator ID go on above what it was claimed with.
    pub fn revive(&self, fleet: &Fleet, node: &Node, id: u16, mark: u64) {
        let _ = self.last(id, mark, true);
        for (&(system, _), cell) in self.cells.borrow().iter().filter(|((_, of), _)| *of == id) {
            fleet.events.saw(Event::Revival);
            match system {
                Flake::PLACE => revive::<Flake>(self, fleet, node, mark, cell),
                TickTock::PLACE => revive::<TickTock>(self, fleet, node, mark, cell),
                _ => revive::<UniqueId>(self, fleet, node, mark, cell),
            }
        }
    }
}

pub fn revive<S: Served>(life: &Life, fleet: &Fleet, node: &Node, mark: u64, cell: &Cell) {
    life.issued.set(issued(life.issued.get(), S::PLACE, cell));
    let now = node.read_tick::<S>(fleet, life);
    cell.revive::<S>(life.start::<S>(fleet, mark, now));
}

/// A horizon that covers what a cell has issued, which is sealed.
fn issued(horizon: Horizon, system: usize, cell: &Cell) -> Horizon {
    fn of<S: Served>(horizon: Horizon, cell: &Cell) -> Horizon {
        horizon.covering::<S>(S::scale(), cell.issued::<S>())
    }
    match system {
        Flake::PLACE => of::<Flake>(horizon, cell),
        TickTock::PLACE => of::<TickTock>(horizon, cell),
        _ => of::<UniqueId>(horizon, cell),
    }
}

/// A horizon that covers what a cell had last: exactly, where it is sealed for that.
fn covering(horizon: Horizon, system: usize, cell: &Cell, seal: bool) -> Horizon {
    fn of<S: Served>(horizon: Horizon, cell: &Cell, seal: bool) -> Horizon {
        let last = if seal { cell.seal::<S>() } else { cell.last::<S>() };
        horizon.covering::<S>(S::scale(), last)
    }
    match system {
        Flake::PLACE => of::<Flake>(horizon, cell, seal),
        TickTock::PLACE => of::<TickTock>(horizon, cell, seal),
        _ => of::<UniqueId>(horizon, cell, seal),
    }
}
