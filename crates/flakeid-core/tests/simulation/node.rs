//! A node as the extension makes one around the core, in one process: it keeps a horizon on its disk,
//! begins its cells there, moves the gate when a session meets it, and tells its sessions to wait.
//! Everything but the disk is lost when a life ends.
//!
//! A session may get its turn in the middle of another's, where that one reads the clock: after it
//! has looked at the word, before it swaps.

use crate::checks::{Fault, Place};
use crate::clock::{Clock, SECOND};
use crate::random::Random;
use crate::standby::Standby;
use crate::world::{Event, Flaw, SYSTEMS, Served, World};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::flake128::Flake128;
use flakeid_core::gate::{Gate, Horizon, Start};
use flakeid_core::generator::{Rules, Stamp, System};
use flakeid_core::guid::Guid;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_core::session::{Session, Stall};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// At most so many generator IDs to a node.
pub const POOL: usize = 8;

/// What is on a node's disk.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub horizon: Horizon,
    pub written: UnixNanos,
    /// How far it was ahead of the clock when it was written.
    pub lead: u64,
}

impl State {
    /// Where there is no file: after all that the clock shows.
    pub fn fresh(now: UnixNanos) -> Self {
        Self { horizon: Horizon::NONE.raised(now), written: now, lead: 0 }
    }

    /// When the horizon of the system's timeline in use was written: with the last writing, or with
    /// one before it that reached further, when the clock had not stepped back yet.
    pub fn since<S: System>(&self) -> UnixNanos {
        let until = self.horizon.of::<S>(self.horizon.toggle);
        self.written.max(UnixNanos(until.0.saturating_sub(self.lead)))
    }
}

pub struct Node {
    pub clock: Clock,
    /// Whether one processor's clock may be a tick behind another's.
    pub noisy: bool,
    pub lead: u64,
    /// What of each system's sequence is this node's.
    pub slices: [(u32, u32); SYSTEMS],
    /// The generator IDs it may own, ascending, and their numbers in the checks by system.
    pub pool: Vec<u16>,
    pub generators: [Vec<usize>; SYSTEMS],
    pub disk: Slot<Option<State>>,
    pub life: Option<Life>,
    pub standby: RefCell<Option<Standby>>,
}

/// A node's memory, from a start to a crash or a stop.
pub struct Life {
    pub begun: State,
    gate: Gate,
    /// The generator IDs it owns, as places in the pool, and how often that has changed.
    owned: RefCell<Vec<usize>>,
    version: Slot<u32>,
    /// By system and place in the pool. What a reload takes away stays here.
    cells: RefCell<BTreeMap<(usize, usize), Rc<Cell>>>,
    pub sessions: Vec<RefCell<Client>>,
    /// How often the clock had been set back when it began.
    pub steps_back: u64,
    /// By system: the greatest tick read, and whether one was read before the horizon's writing.
    pub greatest: [Slot<u64>; SYSTEMS],
    pub behind: [Slot<bool>; SYSTEMS],
    /// It has crashed: nothing that happens from now on has happened.
    over: Slot<bool>,
    pub stopped: Slot<bool>,
}

/// A session with what it keeps between two calls.
pub struct Client {
    system: usize,
    number: u32,
    session: Session,
    /// What it knows of the node's generator IDs, by places in the pool, and since when.
    version: u32,
    pub owned: Vec<usize>,
    cells: Vec<Rc<Cell>>,
    pub last: Option<Last>,
}

/// A session's last ID.
#[derive(Clone, Copy)]
pub struct Last {
    pub at: Place,
    /// In the order of the format.
    pub id: (Stamp, u64),
}

impl Last {
    /// What sorts as the IDs of a system do.
    pub fn id<S: System>(stamp: Stamp, partition: u16, sequence: u32) -> (Stamp, u64) {
        let (partition, sequence) = (u64::from(partition), u64::from(sequence));
        match S::SEQUENCE_FIRST {
            true => (stamp, sequence << 32 | partition),
            false => (stamp, partition << 32 | sequence),
        }
    }
}

/// What a session is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Given,
    /// To come back when every clock of the node has reached this reading.
    Wait(u64),
    /// The node is no more, or this session is in the middle of a call.
    Nothing,
}

impl Node {
    /// What some processor's clock reads.
    fn read(&self, world: &World, unit: u64) -> UnixNanos {
        let late = if self.noisy { world.random.below(unit + 1) } else { 0 };
        UnixNanos(self.clock.read(world.time.get()) - late)
    }

    fn read_tick<S: Served>(&self, world: &World, life: &Life) -> Tick {
        let now = S::scale().tick(self.read(world, S::UNIT)).expect("a clock past the epoch");
        let greatest = &life.greatest[S::PLACE];
        greatest.set(greatest.get().max(now.0));
        if now.0 + 1 < self.since::<S>(world, life).0 {
            life.behind[S::PLACE].set(true);
        }
        now
    }

    fn since<S: Served>(&self, world: &World, life: &Life) -> Tick {
        let since = match world.flaw {
            Flaw::YoungHorizon => life.begun.written,
            _ => life.begun.since::<S>(),
        };
        S::scale().tick(since).unwrap_or(Tick(0))
    }

    /// Begins a life at what the disk says.
    pub fn start(&mut self, world: &World, sessions: usize) {
        let mut begun = self.disk.get().unwrap_or(State::fresh(self.read(world, SECOND / 1000)));
        match world.flaw {
            Flaw::NoHorizon => begun.horizon = Horizon::NONE,
            Flaw::WrongTimeline => begun.horizon.until.swap(1, 2),
            _ => {}
        }
        let mut life = Life {
            begun,
            gate: Gate::at(begun.horizon),
            owned: RefCell::new(Vec::new()),
            version: Slot::new(0),
            cells: RefCell::new(BTreeMap::new()),
            sessions: Vec::new(),
            steps_back: self.clock.steps_back(),
            greatest: Default::default(),
            behind: Default::default(),
            over: Slot::new(false),
            stopped: Slot::new(false),
        };
        life.sessions.extend((0..sessions).map(|_| RefCell::new(Client::new(&world.random))));
        self.life = Some(life);
        self.reload(world);
        world.saw(Event::Start);
        let now = TickTock::scale().tick(UnixNanos(self.clock.read(world.time.get())));
        let mut tops = self.generators[TickTock::PLACE]
            .iter()
            .flat_map(|&generator| world.checks.borrow().tops(generator));
        if tops.any(|top| Some(Tick(top)) == now) {
            world.saw(Event::StartInSameTick);
        }
    }

    /// Whether its life has come to an end, by a crash or a stop.
    pub fn is_down(&self) -> bool {
        self.life.as_ref().is_none_or(|life| life.over.get() || life.stopped.get())
    }

    /// Ends the life, as a crash does; after [`Self::stop`] nothing is lost by it.
    pub fn end(&mut self, world: &World) {
        self.life = None;
        let mut checks = world.checks.borrow_mut();
        self.generators.iter().flatten().for_each(|&generator| checks.close(generator));
    }

    /// Another choice of generator IDs.
    pub fn reload(&self, world: &World) {
        let Some(life) = &self.life else { return };
        let mask = world.random.next();
        let mut owned: Vec<_> =
            (0..self.pool.len()).filter(|place| mask >> place & 1 == 1).collect();
        if owned.is_empty() || world.random.one_in(3) {
            owned = (0..self.pool.len()).collect();
        }
        world.saw(Event::Reload);
        life.owned.replace(owned);
        life.version.set(life.version.get() + 1);
    }

    /// Another session takes this one's place.
    pub fn reconnect(&self, world: &World, session: usize) {
        let Some(life) = &self.life else { return };
        let client = life.sessions[session].replace(Client::new(&world.random));
        world.checks.borrow_mut().let_go(client.last.map(|last| last.at));
    }

    /// Seals every cell and writes down what they had last. Sessions that do not know it yet get what
    /// they have taken ahead and nothing more.
    pub fn stop(&self, world: &World) {
        let Some(life) = &self.life else { return };
        let toggle = life.gate.toggle();
        let mut exact = Horizon { toggle, ..life.begun.horizon };
        for (&(system, _), cell) in life.cells.borrow().iter() {
            exact = match system {
                Flake::PLACE => sealed::<Flake>(exact, cell),
                TickTock::PLACE => sealed::<TickTock>(exact, cell),
                Flake128::PLACE => sealed::<Flake128>(exact, cell),
                Guid::PLACE => sealed::<Guid>(exact, cell),
                _ => sealed::<UniqueId>(exact, cell),
            };
        }
        if world.flaw == Flaw::OneTimeline {
            exact.until[1 + usize::from(!toggle)] = UnixNanos(0);
        }
        // Who has met the gate may move it yet, from here.
        life.gate.set(match world.flaw {
            Flaw::ClosedAtStop => Horizon { toggle, ..Horizon::NONE },
            _ => exact,
        });
        let written = self.read(world, SECOND / 1000);
        self.disk.set(Some(State { horizon: exact, written, lead: 0 }));
        life.stopped.set(true);
        world.saw(Event::Stop);
    }

    /// One session asks for up to `want` IDs. `alone` means that nothing happens meanwhile, not even
    /// a reload.
    pub fn ask(&self, world: &World, session: usize, want: u32, alone: bool) -> Answer {
        let Some(life) = &self.life else { return Answer::Nothing };
        let Ok(mut client) = life.sessions[session].try_borrow_mut() else {
            return Answer::Nothing;
        };
        match client.system {
            Flake::PLACE => self.ask_for::<Flake>(world, life, &mut client, want, alone),
            TickTock::PLACE => self.ask_for::<TickTock>(world, life, &mut client, want, alone),
            Flake128::PLACE => self.ask_for::<Flake128>(world, life, &mut client, want, alone),
            Guid::PLACE => self.ask_for::<Guid>(world, life, &mut client, want, alone),
            _ => self.ask_for::<UniqueId>(world, life, &mut client, want, alone),
        }
    }

    fn ask_for<S: Served>(
        &self,
        world: &World,
        life: &Life,
        client: &mut Client,
        want: u32,
        alone: bool,
    ) -> Answer {
        let stale = client.cells.is_empty() || !alone && client.version != life.version.get();
        if stale && life.stopped.get() {
            return Answer::Nothing;
        }
        if stale {
            self.look_up::<S>(world, life, client);
        }
        let rules = Rules { sequence: self.slices[S::PLACE], end: S::scale().last() };
        let last = client.cells.len() - 1;
        let cells: [&Cell; POOL] = std::array::from_fn(|place| &*client.cells[place.min(last)]);
        // Each cell may say once that the clock has stepped back, or meet the gate.
        for _ in 0..=4 * POOL {
            let early = (world.flaw == Flaw::ClockFirst).then(|| self.read_tick::<S>(world, life));
            let mut now = Tick(0);
            let clock = &mut || {
                if !alone && world.random.one_in(30) {
                    self.meanwhile(world, life, S::UNIT);
                }
                now = early.unwrap_or_else(|| self.read_tick::<S>(world, life));
                Some(now)
            };
            let (cells, gate, scale) = (&cells[..=last], &life.gate, S::scale());
            world.saw(Event::Call);
            let given = client.session.next::<S>(cells, want, &rules, gate, scale, clock);
            if life.over.get() {
                return Answer::Nothing;
            }
            match given {
                Ok(issued) => {
                    self.check_given::<S>(world, life, client, issued, now);
                    return Answer::Given;
                }
                Err(Stall::Wait { until, now }) => {
                    self.check_wait::<S>(world, life, client, until, now);
                    // The processor that is asked then may be a tick late.
                    return Answer::Wait(S::scale().nanos(Tick(until.0 + 2)).0);
                }
                Err(Stall::Gated(stamp)) => {
                    self.extend::<S>(world, life, stamp);
                    if life.over.get() {
                        return Answer::Nothing;
                    }
                }
                Err(Stall::SteppedBack { .. }) => {
                    world.saw(Event::StepBack);
                    let has = !self.is_steady(life) || life.behind[S::PLACE].get();
                    world.expect(has, Fault::FalseStepBack);
                }
                Err(Stall::Sealed) => {
                    world.expect(life.stopped.get(), Fault::GoesRound);
                    return Answer::Nothing;
                }
                Err(stall @ (Stall::Ended | Stall::BeforeEpoch | Stall::Outdated)) => {
                    panic!("{stall:?}")
                }
            }
        }
        world.expect(false, Fault::GoesRound);
        Answer::Nothing
    }

    /// What others do while a session reads the clock.
    fn meanwhile(&self, world: &World, life: &Life, unit: u64) {
        let random = &world.random;
        world.pass(random.skewed(3 * unit));
        // What this flaw needs is rare.
        let seldom = if world.flaw == Flaw::ClosedAtStop { 200 } else { 2000 };
        if random.one_in(seldom) {
            world.saw(Event::StopMeanwhile);
            return self.stop(world);
        }
        let session = random.below(life.sessions.len() as u64) as usize;
        for _ in 0..random.below(4) {
            self.ask(world, session, 1 + random.skewed(20) as u32, true);
        }
    }

    /// The session's cells after a reload; those that are new begin where this life did.
    fn look_up<S: Served>(&self, world: &World, life: &Life, client: &mut Client) {
        client.owned.clone_from(&life.owned.borrow());
        if S::ONE_CELL {
            client.owned = vec![0];
        }
        let cell = |&place: &usize| {
            let mut cells = life.cells.borrow_mut();
            let cell = cells.entry((S::PLACE, place)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let Horizon { toggle, .. } = life.begun.horizon;
                let floors = life.begun.horizon.floors::<S>(S::scale());
                let since = self.since::<S>(world, life);
                let now = Some(self.read_tick::<S>(world, life));
                cell.begin::<S>(Start { floors, toggle, since, now });
                Rc::new(cell)
            });
            cell.clone()
        };
        let first = client.cells.is_empty();
        client.cells = client.owned.iter().map(cell).collect();
        client.version = life.version.get();
        let (number, count) = (client.number, client.cells.len());
        client.session = match first {
            true => Session::new(number, count),
            false => client.session.moved(number, count),
        };
    }

    /// Moves the gate past a stamp: durable, then open. The node may crash on the way.
    fn extend<S: Served>(&self, world: &World, life: &Life, stamp: Stamp) {
        if life.gate.admits::<S>(S::scale(), stamp) && life.gate.goes_by::<S>(stamp) {
            return;
        }
        let written = self.read(world, S::UNIT);
        let (random, lead) = (&world.random, self.lead);
        let mut from = written.max(S::scale().nanos(stamp.tick::<S>())).0;
        if random.one_in(4) {
            // At the beginning of a tick of all systems, where a fault by one would be.
            from -= from % TickTock::UNIT;
        }
        let crash = random.below(200);
        world.saw(match crash {
            0 => Event::CrashWithoutWriting,
            1 => Event::CrashAfterWriting,
            _ => Event::Extension,
        });
        let is_turn = S::TICK_TOCK && stamp.toggle::<S>() != life.gate.toggle();
        let lost = world.flaw == Flaw::LostWrite && random.one_in(2)
            || world.flaw == Flaw::TurnNotDurable && is_turn;
        let make_durable = |horizon| {
            if crash != 0 && !lost {
                self.disk.set(Some(State { horizon, written, lead }));
            }
            if crash <= 1 {
                return Err(());
            }
            if let Some(standby) = &mut *self.standby.borrow_mut() {
                let message = HorizonMessage { horizon, read_at: written, flake_epoch: None };
                standby.is_told(message, lead);
            }
            Ok(())
        };
        let moment = UnixNanos(from + lead);
        if life.gate.extend::<S, _>(stamp, moment, make_durable).is_err() {
            life.over.set(true);
        }
    }
}

/// A horizon that covers what a cell has issued, which is sealed.
fn sealed<S: Served>(horizon: Horizon, cell: &Cell) -> Horizon {
    let _ = cell.seal::<S>();
    horizon.covering::<S>(S::scale(), cell.issued::<S>())
}

impl Client {
    fn new(random: &Random) -> Self {
        Self {
            system: random.below(SYSTEMS as u64) as usize,
            number: random.next() as u32,
            session: Session::new(0, 1),
            version: 0,
            owned: Vec::new(),
            cells: Vec::new(),
            last: None,
        }
    }
}
