//! A server (node) as the extension makes it around the core, in one process. It keeps a horizon on
//! its disk, begins its cells there, moves the gate when a session meets it, and tells its sessions
//! to wait. At the end of a run, which the code calls a life, everything is lost except the disk.
//!
//! A session may run in the middle of another's call, where that one reads the clock: after it has
//! loaded the word, and before it swaps.

use crate::checks::{Fault, Position};
use crate::clock::{Clock, SECOND};
use crate::random::Random;
use crate::standby::Standby;
use crate::world::{Event, Flaw, ID_TYPES, ServerIdType, World};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::flake128::Flake128;
use flakeid_core::gate::{CellInit, Gate, Horizon, Limits};
use flakeid_core::generator::{IdLayout, Rules, Stamp};
use flakeid_core::guid::Guid;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most generator IDs of a server.
pub const POOL: usize = 8;

/// The data on a server's disk.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub horizon: Horizon,
    pub written: UnixNanos,
    /// How far the horizon was ahead of the clock when it was written.
    pub lead: u64,
}

impl State {
    /// Returns the state without a file: after all that the clock shows.
    pub fn fresh(now: UnixNanos) -> Self {
        Self { horizon: Horizon::NONE.raised(now), written: now, lead: 0 }
    }

    /// Returns when the horizon of the ID type's timeline in use was written. That is the last
    /// write, or an earlier one that reached further, when the clock had not stepped back yet.
    pub fn since<S: IdLayout>(&self) -> UnixNanos {
        let until = self.horizon.of::<S>(self.horizon.toggle);
        self.written.max(UnixNanos(until.0.saturating_sub(self.lead)))
    }
}

pub struct Node {
    pub clock: Clock,
    /// Whether one processor's clock may be a tick behind another's.
    pub noisy: bool,
    pub lead: u64,
    /// The part of each ID type's sequence that this server may use.
    pub slices: [(u32, u32); ID_TYPES],
    /// The generator IDs that it may have, ascending, and their indexes in the checks by ID type.
    pub pool: Vec<u16>,
    pub generators: [Vec<usize>; ID_TYPES],
    pub disk: Slot<Option<State>>,
    pub life: Option<Life>,
    pub standby: RefCell<Option<Standby>>,
}

/// The memory of a server, from a start to a crash or a stop.
pub struct Life {
    pub begun: State,
    gate: Gate,
    /// The generator IDs that it has, as indexes of the pool, and how often they have changed.
    owned: RefCell<Vec<usize>>,
    version: Slot<u32>,
    /// The cells by ID type and index of the pool. Those that a reload takes away stay here.
    cells: RefCell<Cells>,
    pub sessions: Vec<RefCell<Client>>,
    /// How often the clock had been set to an earlier time when the run began.
    pub steps_back: u64,
    /// By ID type: the greatest tick read, and whether one was read from before the horizon was
    /// written.
    pub greatest: [Slot<u64>; ID_TYPES],
    pub behind: [Slot<bool>; ID_TYPES],
    /// Whether the server has crashed. From then on nothing has an effect.
    over: Slot<bool>,
    pub stopped: Slot<bool>,
}

/// A session with the state that it keeps between two calls.
pub struct Client {
    id_type: usize,
    number: u32,
    session: Session,
    /// The generator IDs that it knows, as indexes of the pool, and from which change on.
    version: u32,
    pub owned: Vec<usize>,
    cells: Vec<Rc<Cell>>,
    pub last: Option<Last>,
}

/// The last ID of a session.
#[derive(Clone, Copy)]
pub struct Last {
    pub at: Position,
    /// The number in the order of the ID type.
    pub id: (Stamp, u64),
}

impl Last {
    /// Returns a value that sorts as the IDs of an ID type do.
    pub fn id<S: IdLayout>(stamp: Stamp, slot: u16, sequence: u32) -> (Stamp, u64) {
        let (slot, sequence) = (u64::from(slot), u64::from(sequence));
        match S::SEQUENCE_FIRST {
            true => (stamp, sequence << 32 | slot),
            false => (stamp, slot << 32 | sequence),
        }
    }
}

/// The result of a session's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Given,
    /// The session must return when every clock of the server has reached this reading.
    Wait(u64),
    /// The run of the server has ended, or this session is in the middle of a call.
    Nothing,
}

impl Node {
    /// Returns the reading of some processor's clock.
    fn read(&self, world: &World, unit: u64) -> UnixNanos {
        let late = if self.noisy { world.random.below(unit + 1) } else { 0 };
        UnixNanos(self.clock.read(world.time.get()) - late)
    }

    fn read_tick<S: ServerIdType>(&self, world: &World, life: &Life) -> Tick {
        let now = S::scale().tick(self.read(world, S::UNIT)).expect("a clock past the epoch");
        let greatest = &life.greatest[S::INDEX];
        greatest.set(greatest.get().max(now.0));
        if now.0 + 1 < self.since::<S>(world, life).0 {
            life.behind[S::INDEX].set(true);
        }
        now
    }

    fn since<S: ServerIdType>(&self, world: &World, life: &Life) -> Tick {
        let since = match world.flaw {
            Flaw::YoungHorizon => life.begun.written,
            _ => life.begun.since::<S>(),
        };
        S::scale().tick(since).unwrap_or(Tick(0))
    }

    /// Begins a run at the state on the disk.
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
        let mut tops = self.generators[TickTock::INDEX]
            .iter()
            .flat_map(|&generator| world.checks.borrow().tops(generator));
        if tops.any(|top| Some(Tick(top)) == now) {
            world.saw(Event::StartInSameTick);
        }
    }

    /// Returns whether the run has ended, by a crash or a stop.
    pub fn is_down(&self) -> bool {
        self.life.as_ref().is_none_or(|life| life.over.get() || life.stopped.get())
    }

    /// Ends the run as a crash does. After [`Self::stop`] nothing is lost by it.
    pub fn end(&mut self, world: &World) {
        self.life = None;
        let mut checks = world.checks.borrow_mut();
        self.generators.iter().flatten().for_each(|&generator| checks.close(generator));
    }

    /// Chooses other generator IDs.
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

    /// Replaces this session by another.
    pub fn reconnect(&self, world: &World, session: usize) {
        let Some(life) = &self.life else { return };
        let client = life.sessions[session].replace(Client::new(&world.random));
        world.checks.borrow_mut().let_go(client.last.map(|last| last.at));
    }

    /// Seals every cell, and writes the last ticks that they had. Sessions that have not noticed it
    /// yet get the rest of their prefetched IDs and nothing more.
    pub fn stop(&self, world: &World) {
        let Some(life) = &self.life else { return };
        let toggle = life.gate.toggle();
        let begun = Horizon { toggle, ..life.begun.horizon };
        let mut exact = seal_all(begun, &life.cells.borrow());
        if world.flaw == Flaw::OneTimeline {
            exact.until[1 + usize::from(!toggle)] = UnixNanos(0);
        }
        // A session that has met the gate may still move it, from here on.
        life.gate.set(match world.flaw {
            Flaw::ClosedAtStop => Horizon { toggle, ..Horizon::NONE },
            _ => exact,
        });
        let written = self.read(world, SECOND / 1000);
        self.disk.set(Some(State { horizon: exact, written, lead: 0 }));
        life.stopped.set(true);
        world.saw(Event::Stop);
    }

    /// Lets one session take up to `want` IDs. `alone` means that nothing else happens during the
    /// call, not even a reload.
    pub fn ask(&self, world: &World, session: usize, want: u32, alone: bool) -> Answer {
        let Some(life) = &self.life else { return Answer::Nothing };
        let Ok(mut client) = life.sessions[session].try_borrow_mut() else {
            return Answer::Nothing;
        };
        match client.id_type {
            Flake::INDEX => self.ask_for::<Flake>(world, life, &mut client, want, alone),
            TickTock::INDEX => self.ask_for::<TickTock>(world, life, &mut client, want, alone),
            Flake128::INDEX => self.ask_for::<Flake128>(world, life, &mut client, want, alone),
            Guid::INDEX => self.ask_for::<Guid>(world, life, &mut client, want, alone),
            _ => self.ask_for::<UniqueId>(world, life, &mut client, want, alone),
        }
    }

    fn ask_for<S: ServerIdType>(
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
        let rules = Rules { sequence: self.slices[S::INDEX], end: S::scale().last() };
        let owned = client.cells.clone();
        let cells: Vec<_> = IssuingCell::numbered(owned.iter().map(|cell| &**cell)).collect();
        // Each cell may report once that the clock has stepped back, or meet the gate.
        for _ in 0..=4 * POOL {
            let early = (world.flaw == Flaw::ClockFirst).then(|| self.read_tick::<S>(world, life));
            let mut now = Tick(0);
            let clock = &mut || {
                if !alone && world.random.one_in(30) {
                    self.interruption(world, life, S::UNIT);
                }
                now = early.unwrap_or_else(|| self.read_tick::<S>(world, life));
                Some(now)
            };
            let (gate, scale) = (&life.gate, S::scale());
            world.saw(Event::Call);
            let given =
                client.session.next::<S>(&cells, want, Limits::new(&rules, gate, scale), clock);
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
                    // The processor of the next call may be a tick late.
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
                    let has = !self.is_steady(life) || life.behind[S::INDEX].get();
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

    /// Lets other sessions run while a session reads the clock.
    fn interruption(&self, world: &World, life: &Life, unit: u64) {
        let random = &world.random;
        world.pass(random.skewed(3 * unit));
        // The event that this flaw needs is rare.
        let seldom = if world.flaw == Flaw::ClosedAtStop { 200 } else { 2000 };
        if random.one_in(seldom) {
            world.saw(Event::StopDuringCall);
            return self.stop(world);
        }
        let session = random.below(life.sessions.len() as u64) as usize;
        for _ in 0..random.below(4) {
            self.ask(world, session, 1 + random.skewed(20) as u32, true);
        }
    }

    /// Looks up the session's cells after a reload. Those that are new begin where this run did.
    fn look_up<S: ServerIdType>(&self, world: &World, life: &Life, client: &mut Client) {
        client.owned.clone_from(&life.owned.borrow());
        if S::ONE_CELL {
            client.owned = vec![0];
        }
        let cell = |&place: &usize| {
            let mut cells = life.cells.borrow_mut();
            let cell = cells.entry((S::INDEX, place)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let Horizon { toggle, .. } = life.begun.horizon;
                let floors = life.begun.horizon.floors::<S>(S::scale());
                let last_clock_reading = self.since::<S>(world, life);
                let now = Some(self.read_tick::<S>(world, life));
                cell.begin::<S>(CellInit { floors, toggle, last_clock_reading, now });
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

    /// Moves the gate past a stamp: first durable, then open. The server may crash between the two.
    fn extend<S: ServerIdType>(&self, world: &World, life: &Life, stamp: Stamp) {
        if life.gate.admits::<S>(S::scale(), stamp) && life.gate.timeline_matches::<S>(stamp) {
            return;
        }
        let written = self.read(world, S::UNIT);
        let (random, lead) = (&world.random, self.lead);
        let mut from = written.max(S::scale().nanos(stamp.tick::<S>())).0;
        if random.one_in(4) {
            // The time is the beginning of a tick of all ID types, where an error by one would
            // show.
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

/// The cells of a server, by ID type and generator ID.
pub type Cells = BTreeMap<(usize, usize), Rc<Cell>>;

/// Seals all cells, and returns a horizon that covers their ticks.
pub fn seal_all(begun: Horizon, cells: &Cells) -> Horizon {
    cells.iter().fold(begun, |exact, (&(id_type, _), cell)| match id_type {
        Flake::INDEX => sealed::<Flake>(exact, cell),
        TickTock::INDEX => sealed::<TickTock>(exact, cell),
        Flake128::INDEX => sealed::<Flake128>(exact, cell),
        Guid::INDEX => sealed::<Guid>(exact, cell),
        _ => sealed::<UniqueId>(exact, cell),
    })
}

/// Returns a horizon that covers the ticks of a sealed cell.
fn sealed<S: ServerIdType>(horizon: Horizon, cell: &Cell) -> Horizon {
    let _ = cell.seal::<S>();
    horizon.covering::<S>(S::scale(), cell.issued::<S>())
}

impl Client {
    fn new(random: &Random) -> Self {
        Self {
            id_type: random.below(ID_TYPES as u64) as usize,
            number: random.next() as u32,
            session: Session::new(0, 1),
            version: 0,
            owned: Vec::new(),
            cells: Vec::new(),
            last: None,
        }
    }
}
