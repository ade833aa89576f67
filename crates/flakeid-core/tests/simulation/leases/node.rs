//! A server that leases its generator IDs: its clocks, its disk, and the memory that its processes
//! share in one run.

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::session::Client;
use super::switch::Setting;
use super::worker::Worker;
use crate::clock::{Clock, SECOND};
use crate::node::State;
use crate::world::ServerIdType;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{CellInit, Gate, Horizon};
use flakeid_core::generator::Stamp;
use flakeid_core::lease::{LeaseLimits, RequestTime};
use flakeid_core::registry::action::Lease;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::transaction::LeasedId;
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The ID types that have generator IDs, by their indexes.
pub const NUMBERED: [usize; 3] = [Flake::INDEX, TickTock::INDEX, UniqueId::INDEX];

pub struct Node {
    pub number: usize,
    pub clock: Clock,
    pub noisy: bool,
    /// The length of a million nanoseconds by its clock since boot, and the first reading of that
    /// clock.
    rate: u64,
    booted: u64,
    lead: u64,
    pub disk: Slot<Option<State>>,
    pub life: RefCell<Option<Rc<Life>>>,
    /// The number of generator IDs that it wants.
    pub want: Slot<usize>,
    /// The endpoints of its settings, and those that lead elsewhere for it: the places of the
    /// etcds.
    pub endpoints: RefCell<Rc<Vec<String>>>,
    pub astray: RefCell<BTreeMap<String, usize>>,
    /// Its memory of the registry, on its disk.
    pub memory: RefCell<Option<Memory>>,
    /// The times until which all its processes stand still, its worker alone stands still, and it
    /// does not reach the registry.
    pub paused: Slot<u64>,
    pub stuck: Slot<u64>,
    pub cut: Slot<u64>,
    /// The source of its generator IDs, the fixed ones that it had last, and those that it must
    /// get.
    pub setting: RefCell<Rc<Setting>>,
    pub numbers: RefCell<Vec<u16>>,
    pub plan: RefCell<Option<Vec<u16>>>,
    /// The first and the last generator ID of its pool, if that is not the fleet's.
    pub only: RefCell<Option<(u16, u16)>>,
    /// Whether its clock was set since the gate was capped last, or the server stood still.
    pub disturbed: Slot<bool>,
}

/// The memory of a server in one run.
pub struct Life {
    /// The number among all runs of all servers.
    pub number: u32,
    pub begun: State,
    pub gate: Gate,
    /// The gate of the server, capped by the claim.
    pub leased: Gate,
    /// The lease with the generator IDs that are held, and its limits.
    pub lease: RefCell<Option<Lease>>,
    pub claim: Slot<Option<LeaseLimits>>,
    /// The number and the duration of the last lease.
    pub last_lease: Slot<(i64, Duration)>,
    /// The memory of the registry as the server has read or written it in this run.
    pub memory: RefCell<Option<Memory>>,
    /// The number of changes of the set of IDs, and of the right to use them.
    pub generation: Slot<u64>,
    /// Whether generator IDs are leased.
    pub leases: Slot<bool>,
    /// The horizon at which this run began, with the IDs that cells had issued before they were
    /// revived, which they forget.
    issued: Slot<Horizon>,
    pub cells: RefCell<BTreeMap<(usize, u16), Rc<Cell>>>,
    pub sessions: Vec<RefCell<Client>>,
    /// The setting with which each session's statement began, while it runs.
    pub statements: Vec<RefCell<Option<Rc<Setting>>>>,
    pub worker: RefCell<Worker>,
    /// The time at which the worker is woken next, if there is one.
    pub timer: Slot<Option<u64>>,
    /// The latest revision of the registry's etcd that the worker knows.
    pub seen: Slot<i64>,
    /// How often the clock had been set to an earlier time when the run began.
    pub steps_back: u64,
    /// By ID type: the greatest tick read, and whether one was read from before the horizon was
    /// written.
    pub greatest: [Slot<u64>; 5],
    pub behind: [Slot<bool>; 5],
    /// Whether the run ended by a crash or a stop. From then on nothing has an effect.
    pub over: Slot<bool>,
}

impl Node {
    pub fn new(fleet: &Fleet, number: usize, skew: u64) -> Self {
        let (random, time) = (&fleet.world.random, fleet.world.time.get());
        let clock = Clock::new(random, time, skew);
        Self {
            number,
            clock: if fleet.keeps_time() { clock.corrected() } else { clock },
            noisy: random.one_in(2),
            rate: 999_500 + random.below(1001),
            booted: time - random.below(1000 * SECOND),
            lead: random.pick(&[SECOND / 10, SECOND, SECOND, 20 * SECOND]),
            disk: Slot::new(None),
            life: RefCell::new(None),
            want: Slot::new(fleet.want()),
            endpoints: RefCell::new(fleet.endpoints.borrow().clone()),
            astray: RefCell::default(),
            memory: RefCell::default(),
            paused: Slot::new(0),
            stuck: Slot::new(0),
            cut: Slot::new(0),
            setting: RefCell::new(Rc::new(Setting::Leased)),
            numbers: RefCell::default(),
            plan: RefCell::default(),
            only: RefCell::default(),
            disturbed: Slot::new(false),
        }
    }

    pub fn life(&self) -> Option<Rc<Life>> {
        self.life.borrow().clone()
    }

    /// Returns the time since the machine was booted.
    pub fn boot(&self, time: u64) -> Duration {
        let since = u128::from(time - self.booted) * u128::from(self.rate) / 1_000_000;
        Duration::from_nanos(since as u64)
    }

    /// Returns the true time at which that clock has shown `boot`.
    pub fn time_of(&self, boot: Duration) -> u64 {
        self.booted + (boot.as_nanos() * 1_000_000 / u128::from(self.rate)) as u64 + 2
    }

    /// Returns the readings of both clocks.
    pub fn sent(&self, time: u64) -> RequestTime {
        RequestTime { now: UnixNanos(self.clock.read(time)), boot: self.boot(time) }
    }

    /// Returns the reading of some processor's clock.
    pub fn read(&self, fleet: &Fleet, unit: u64) -> UnixNanos {
        let random = &fleet.world.random;
        let late = if self.noisy { random.below(unit + 1) } else { 0 };
        UnixNanos(self.clock.read(fleet.world.time.get()) - late)
    }

    pub fn read_tick<S: ServerIdType>(&self, fleet: &Fleet, life: &Life) -> Tick {
        let now = S::scale().tick(self.read(fleet, S::UNIT)).expect("a clock past the epoch");
        let greatest = &life.greatest[S::INDEX];
        greatest.set(greatest.get().max(now.0));
        if now.0 + 1 < since::<S>(life).0 {
            life.behind[S::INDEX].set(true);
        }
        now
    }

    /// Begins a run at the state on the disk. The server holds nothing, even if it held something
    /// before.
    pub fn start(&self, fleet: &Fleet, sessions: usize) {
        let begun = self.disk.get().unwrap_or(State::fresh(self.read(fleet, SECOND / 1000)));
        let gate = Gate::at(begun.horizon);
        let random = &fleet.world.random;
        let life = Rc::new(Life {
            number: fleet.next_life(),
            begun,
            gate,
            leased: Gate::closed(),
            lease: RefCell::default(),
            claim: Slot::new(None),
            last_lease: Slot::default(),
            memory: RefCell::new(self.memory.borrow().clone()),
            generation: Slot::new(0),
            leases: Slot::new(!fleet.is_switching),
            issued: Slot::new(begun.horizon),
            cells: RefCell::default(),
            sessions: (0..sessions).map(|_| RefCell::new(Client::new(random))).collect(),
            statements: (0..sessions).map(|_| RefCell::default()).collect(),
            worker: RefCell::new(Worker::new(fleet, self)),
            timer: Slot::new(None),
            seen: Slot::new(0),
            steps_back: self.clock.steps_back(),
            greatest: Default::default(),
            behind: Default::default(),
            over: Slot::new(false),
        });
        self.life.replace(Some(life.clone()));
        self.cap(fleet, &life);
        fleet.wake(self, &life, fleet.world.time.get());
    }

    /// Ends the run as a crash does.
    pub fn end(&self, fleet: &Fleet) {
        let Some(life) = self.life.take() else { return };
        life.over.set(true);
        fleet.close(&life);
    }

    /// Stops the server cleanly: it releases all generator IDs with their exact high-water marks,
    /// and makes the horizon exact. Its requests to the registry may never arrive.
    pub fn stop(&self, fleet: &Fleet) {
        let Some(life) = self.life() else { return };
        life.seal_all();
        let mut exact = Horizon { toggle: life.gate.toggle(), ..life.issued.get() };
        for (&(id_type, _), cell) in life.cells.borrow().iter() {
            exact = issued(exact, id_type, cell);
        }
        self.leave(fleet, &life);
        let written = self.read(fleet, SECOND / 1000);
        self.disk.set(Some(State { horizon: exact, written, lead: 0 }));
        fleet.events.saw(Event::Stop);
        self.end(fleet);
    }

    /// Moves the leased gate to where the claim lets it stand. A caller that has changed either of
    /// the two calls this.
    pub fn cap(&self, fleet: &Fleet, life: &Life) {
        let sent = self.sent(fleet.world.time.get());
        let horizon = life.gate.horizon();
        let claim = life.claim.get().filter(|claim| !claim.is_expired(sent.boot));
        life.leased.set(match claim {
            Some(_) if fleet.flaw == Flaw::Uncapped => horizon,
            Some(claim) => claim.caps(horizon, sent.now, sent.boot),
            None => Horizon { toggle: horizon.toggle, ..Horizon::NONE },
        });
        self.disturbed.set(false);
    }

    /// Moves the gates past a stamp: the server's gate, durable and then open, and the leased one
    /// as far as the claim goes, if the session uses that. The server may crash between the two.
    /// Returns false if the leased gate cannot pass the stamp.
    pub fn extend<S: ServerIdType>(
        &self,
        fleet: &Fleet,
        life: &Life,
        stamp: Stamp,
        leased: bool,
    ) -> bool {
        let own = if leased { &life.leased } else { &life.gate };
        let passes =
            |gate: &Gate| gate.admits::<S>(S::scale(), stamp) && gate.timeline_matches::<S>(stamp);
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

    /// Returns whether the clock has not been set to an earlier time in this run.
    pub fn is_steady(&self, life: &Life) -> bool {
        self.clock.steps_back() == life.steps_back
    }
}

/// Returns the tick in which the horizon was written at which this run began.
pub fn since<S: ServerIdType>(life: &Life) -> Tick {
    S::scale().tick(life.begun.since::<S>()).unwrap_or(Tick(0))
}

impl Life {
    /// Returns the generator IDs that are held.
    pub fn held(&self) -> Vec<LeasedId> {
        self.lease.borrow().as_ref().map_or(Vec::new(), |lease| lease.held.clone())
    }

    pub fn count(&self) -> usize {
        self.lease.borrow().as_ref().map_or(0, |lease| lease.held.len())
    }

    pub fn holds(&self, id: u16) -> bool {
        let lease = self.lease.borrow();
        lease.iter().flat_map(|lease| &lease.held).any(|held| held.id == id)
    }

    /// Returns whether the server holds this lease, and not this generator ID.
    pub fn is_orphan(&self, number: i64, id: u16) -> bool {
        let lease = self.lease.borrow();
        lease.as_ref().is_some_and(|lease| lease.lease == number) && !self.holds(id)
    }

    /// Returns the beginning of a cell whose generator ID was claimed with this high-water mark.
    pub fn start<S: ServerIdType>(
        &self,
        fleet: &Fleet,
        high_water_mark: u64,
        now: Tick,
    ) -> CellInit {
        let high_water_mark =
            if fleet.flaw == Flaw::IgnoresHighWaterMark { 0 } else { high_water_mark };
        let horizon = self.begun.horizon.raised(UnixNanos(high_water_mark));
        let floors = horizon.floors::<S>(S::scale());
        CellInit {
            floors,
            toggle: horizon.toggle,
            last_clock_reading: since::<S>(self),
            now: Some(now),
        }
    }

    /// Returns the last time of the cells of a generator ID, and not less than its high-water mark
    /// at the claim. The time is exact if the cells are sealed.
    pub fn last(&self, id: u16, high_water_mark: u64, seal: bool) -> UnixNanos {
        let mut horizon = Horizon::NONE.raised(UnixNanos(high_water_mark));
        for (&(id_type, _), cell) in self.cells.borrow().iter().filter(|((_, of), _)| *of == id) {
            horizon = covering(horizon, id_type, cell, seal);
        }
        horizon.until.into_iter().max().unwrap()
    }

    /// Returns whether all cells are sealed.
    pub fn seal_all(&self) {
        for (&(id_type, _), cell) in self.cells.borrow().iter() {
            covering(Horizon::NONE, id_type, cell, true);
        }
    }

    /// Revives the cells of a generator ID above the high-water mark of its claim.
    pub fn revive(&self, fleet: &Fleet, node: &Node, id: u16, high_water_mark: u64) {
        let _ = self.last(id, high_water_mark, true);
        for (&(id_type, _), cell) in self.cells.borrow().iter().filter(|((_, of), _)| *of == id) {
            fleet.events.saw(Event::Revival);
            match id_type {
                Flake::INDEX => revive::<Flake>(self, fleet, node, high_water_mark, cell),
                TickTock::INDEX => revive::<TickTock>(self, fleet, node, high_water_mark, cell),
                _ => revive::<UniqueId>(self, fleet, node, high_water_mark, cell),
            }
        }
    }
}

pub fn revive<S: ServerIdType>(
    life: &Life,
    fleet: &Fleet,
    node: &Node,
    high_water_mark: u64,
    cell: &Cell,
) {
    life.issued.set(issued(life.issued.get(), S::INDEX, cell));
    let now = node.read_tick::<S>(fleet, life);
    cell.revive::<S>(life.start::<S>(fleet, high_water_mark, now));
}

/// Returns a horizon that covers the ticks of a sealed cell.
fn issued(horizon: Horizon, id_type: usize, cell: &Cell) -> Horizon {
    fn of<S: ServerIdType>(horizon: Horizon, cell: &Cell) -> Horizon {
        horizon.covering::<S>(S::scale(), cell.issued::<S>())
    }
    match id_type {
        Flake::INDEX => of::<Flake>(horizon, cell),
        TickTock::INDEX => of::<TickTock>(horizon, cell),
        _ => of::<UniqueId>(horizon, cell),
    }
}

/// Returns a horizon that covers the last ticks of a cell. It is exact if the cell is sealed for
/// that.
fn covering(horizon: Horizon, id_type: usize, cell: &Cell, seal: bool) -> Horizon {
    fn of<S: ServerIdType>(horizon: Horizon, cell: &Cell, seal: bool) -> Horizon {
        let last = if seal { cell.seal::<S>() } else { cell.last::<S>() };
        horizon.covering::<S>(S::scale(), last)
    }
    match id_type {
        Flake::INDEX => of::<Flake>(horizon, cell, seal),
        TickTock::INDEX => of::<TickTock>(horizon, cell, seal),
        _ => of::<UniqueId>(horizon, cell, seal),
    }
}
