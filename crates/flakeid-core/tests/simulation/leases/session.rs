//! A session on a server that leases. It takes IDs from the cells of the generator IDs that the
//! server holds, and every ID is checked.
//!
//! The session asks the gate when it has read the clock. It may stand still right after that, for
//! longer than a lease, alone or with its server, while everything else continues. Then it swaps.

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Life, NUMBERED, Node, revive};
use super::switch::Setting;
use crate::checks::{Fault, Position};
use crate::node::{Answer, Last};
use crate::random::Random;
use crate::world::ServerIdType;
use flakeid_core::cell::Cell;
use flakeid_core::clock::Tick;
use flakeid_core::flake::Flake;
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{Rules, Stamp};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::registry::transaction::LeasedId;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::Cell as Slot;
use std::rc::Rc;

/// The most generator IDs of a server.
pub const MAX_GENERATOR_IDS: usize = 8;

pub struct Client {
    id_type: usize,
    number: u32,
    session: Session,
    /// The setting from which the other fields were made; the IDs that the session knows; their
    /// indexes in the checks.
    setting: Rc<Setting>,
    ids: Vec<u16>,
    generators: Vec<usize>,
    cells: Vec<Rc<Cell>>,
    last: Option<Last>,
}

/// The state that a session found when it last read the clock and asked the gate.
#[derive(Clone, Copy)]
struct GateReading {
    now: Tick,
    /// Whether the claim held then, by the clock since boot. True also if that cannot be known.
    in_time: bool,
    generation: u64,
}

/// The arguments of a session's call.
struct CallArguments {
    /// The setting of its statement.
    setting: Rc<Setting>,
    want: u32,
    /// Whether nothing else happens during the call.
    alone: bool,
}

impl Client {
    pub fn new(random: &Random) -> Self {
        Self {
            id_type: random.pick(&NUMBERED),
            number: random.next() as u32,
            session: Session::new(0, 1),
            setting: Rc::new(Setting::Leased),
            ids: Vec::new(),
            generators: Vec::new(),
            cells: Vec::new(),
            last: None,
        }
    }
}

impl Node {
    /// Replaces this session by another.
    pub fn reconnect(&self, fleet: &Fleet, life: &Life, session: usize) {
        if let Ok(mut client) = life.sessions[session].try_borrow_mut() {
            fleet.world.checks.borrow_mut().let_go(client.last.map(|last| last.at));
            life.statements[session].replace(None);
            *client = Client::new(&fleet.world.random);
        }
    }

    /// Lets one session take up to `want` IDs. `alone` means that nothing else happens during the
    /// call.
    pub fn ask(
        &self,
        fleet: &Fleet,
        life: &Life,
        session: usize,
        want: u32,
        alone: bool,
    ) -> Answer {
        let Ok(mut client) = life.sessions[session].try_borrow_mut() else {
            return Answer::Nothing;
        };
        let setting = life.statement(self, session);
        let arguments = CallArguments { setting, want, alone };
        let answer = match client.id_type {
            Flake::INDEX => self.ask_for::<Flake>(fleet, life, &mut client, &arguments),
            TickTock::INDEX => self.ask_for::<TickTock>(fleet, life, &mut client, &arguments),
            _ => self.ask_for::<UniqueId>(fleet, life, &mut client, &arguments),
        };
        drop(client);
        if fleet.is_switching && answer == Answer::Nothing && fleet.world.random.one_in(2) {
            // The error ends the statement, unless the statement catches it.
            life.end_statement(session);
        }
        answer
    }

    fn ask_for<S: ServerIdType>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        arguments: &CallArguments,
    ) -> Answer {
        let CallArguments { setting, want, alone } = arguments;
        let (want, alone, leased) = (*want, *alone, matches!(**setting, Setting::Leased));
        let mut stale = client.cells.is_empty() || !Rc::ptr_eq(&client.setting, setting);
        let rules = Rules { sequence: fleet.slices[S::INDEX], end: S::scale().last() };
        // Each cell may report once that the clock has stepped back, meet the gate, or be sealed.
        for _ in 0..=6 * MAX_GENERATOR_IDS {
            if life.over.get() || leased && life.count() == 0 {
                return Answer::Nothing;
            }
            if stale && !self.look_up::<S>(fleet, life, client, arguments) {
                return Answer::Nothing;
            }
            stale = false;
            let owned = client.cells.clone();
            let cells =
                &IssuingCell::numbered(owned.iter().map(|cell| &**cell)).collect::<Vec<_>>();
            // This is the gate as this process has found it.
            let gate = Gate::closed();
            let gate_reading =
                Slot::new(GateReading { now: Tick(0), in_time: true, generation: 0 });
            let hear = || {
                if fleet.flaw != Flaw::NoGeneration {
                    gate.announce(life.generation.get());
                }
            };
            hear();
            let clock = &mut || {
                if !alone && fleet.world.random.one_in(60) {
                    fleet.interruption(self, life, S::UNIT);
                }
                gate_reading.set(self.read_gate::<S>(fleet, life, leased));
                gate.set(if leased { life.leased.horizon() } else { life.gate.horizon() });
                if !alone && fleet.world.random.one_in(200) {
                    fleet.stand_still(self);
                }
                // The session asks for the generation before each reading of the clock, so this one
                // is for the next.
                hear();
                Some(gate_reading.get().now)
            };
            // Prefetched IDs were issued, and admitted by the gate, when they were prefetched.
            let ahead = client.session.take_prefetched::<S>(cells, want, clock);
            let is_ahead = ahead.is_some();
            let limits = Limits::new(&rules, &gate, S::scale());
            let given = match ahead {
                Some(issued) => Ok(issued),
                None => client.session.next::<S>(cells, want, limits, clock),
            };
            if life.over.get() {
                return Answer::Nothing;
            }
            match given {
                Ok(issued) => {
                    let GateReading { in_time, .. } = gate_reading.get();
                    let gate_reading =
                        GateReading { in_time: in_time || is_ahead, ..gate_reading.get() };
                    self.check::<S>(fleet, life, client, issued, gate_reading);
                    return Answer::Given;
                }
                Err(Stall::Wait { until, .. }) => {
                    return Answer::Wait(S::scale().nanos(Tick(until.0 + 2)).0);
                }
                Err(Stall::Gated(stamp)) => {
                    if !self.extend::<S>(fleet, life, stamp, leased) {
                        fleet.events.saw(Event::TurnedAway);
                        self.hurry(fleet, life);
                        return Answer::Nothing;
                    }
                }
                Err(Stall::SteppedBack { .. }) => {
                    fleet.events.saw(Event::StepBack);
                    let has = !self.is_steady(life) || life.behind[S::INDEX].get();
                    fleet.world.expect(has, Fault::FalseStepBack);
                }
                Err(Stall::Sealed) => {
                    // The worker announces a generation before it seals.
                    fleet.world.expect(fleet.flaw != Flaw::None, Fault::GoesRound);
                    stale = true;
                }
                Err(Stall::Outdated) => {
                    if !leased && life.leases.get() {
                        fleet.events.saw(Event::SwitchInStatement);
                        if !client.cells.iter().any(|cell| cell.is_sealed()) {
                            fleet.events.saw(Event::RevivedInStatement);
                            if self.is_past_ceiling(fleet, life, &client.ids) {
                                fleet.events.saw(Event::PastCeilingInStatement);
                            }
                        }
                    }
                    stale = true;
                }
                Err(stall @ (Stall::Ended | Stall::BeforeEpoch)) => panic!("{stall:?}"),
            }
        }
        fleet.world.expect(false, Fault::GoesRound);
        Answer::Nothing
    }

    /// Returns whether the server holds some of these, and its clock is past the ceiling of the
    /// claim.
    fn is_past_ceiling(&self, fleet: &Fleet, life: &Life, ids: &[u16]) -> bool {
        let reading = self.clock.read(fleet.world.time.get());
        ids.iter().any(|id| life.holds(*id))
            && life.claim.get().is_some_and(|claim| claim.ceiling.0 <= reading)
    }

    fn read_gate<S: ServerIdType>(&self, fleet: &Fleet, life: &Life, leased: bool) -> GateReading {
        let boot = self.boot(fleet.world.time.get());
        // The two clocks differ a little in their rates.
        let ends =
            life.claim.get().filter(|_| leased).map(|claim| claim.deadline + fleet.term.margin());
        GateReading {
            now: self.read_tick::<S>(fleet, life),
            in_time: self.disturbed.get() || ends.is_none_or(|ends| boot < ends),
            generation: life.generation.get(),
        }
    }

    /// Makes the session's list of cells by the setting of its statement: those of the IDs held
    /// now, or of fixed ones. Returns whether there are any.
    fn look_up<S: ServerIdType>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        arguments: &CallArguments,
    ) -> bool {
        let find = |id: u16| life.cells.borrow().get(&(S::INDEX, id)).cloned();
        let bring = |id: u16, high_water_mark: u64| {
            let mut cells = life.cells.borrow_mut();
            let cell = cells.entry((S::INDEX, id)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let now = self.read_tick::<S>(fleet, life);
                cell.begin::<S>(life.start::<S>(fleet, high_water_mark, now));
                Rc::new(cell)
            });
            if cell.is_sealed() {
                fleet.events.saw(Event::Revival);
                revive::<S>(life, fleet, self, high_water_mark, cell);
            }
            cell.clone()
        };
        let (generation, ids, cells) = match &*arguments.setting {
            Setting::Leased if !life.leases.get() => return false,
            Setting::Leased => {
                let held = life.held();
                let cell = |held: &LeasedId| bring(held.id, held.high_water_mark.0);
                let ids: Vec<u16> = held.iter().map(|held| held.id).collect();
                (life.generation.get(), ids, held.iter().map(cell).collect())
            }
            Setting::Numbers(ids) => {
                let bring = |id: u16| bring(id, 0);
                let cells = self.cells_of(fleet, life, ids, arguments.alone, find, bring);
                let Some((generation, cells)) = cells else { return false };
                (generation, ids.clone(), cells)
            }
        };
        let first = client.cells.is_empty();
        let mut checks = fleet.world.checks.borrow_mut();
        let number = |&id: &u16| checks.generator(S::INDEX, id, life.number);
        client.generators = ids.iter().map(number).collect();
        (client.ids, client.cells) = (ids, cells);
        client.setting = arguments.setting.clone();
        let (number, count) = (client.number, client.cells.len());
        let session = match first {
            true => Session::new(number, count),
            false => client.session.moved(number, count),
        };
        client.session = session.of_generation(generation);
        true
    }

    /// Checks the promises for every ID that a session gets.
    fn check<S: ServerIdType>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        issued: Issued,
        gate_reading: GateReading,
    ) {
        let Issued { generator_id, block, .. } = issued;
        let slot = generator_id as usize;
        let (id, stamp) = (client.ids[slot], block.stamp);
        let (tick, toggle) = (stamp.tick::<S>(), stamp.toggle::<S>());
        let (first, last) = (block.sequence, block.sequence + block.count - 1);
        let mut checks = fleet.world.checks.borrow_mut();

        let slice = fleet.slices[S::INDEX];
        checks.expect(slice.0 <= first && last <= slice.1, Fault::OutsideSlice);
        checks.expect(tick.0 <= life.greatest[S::INDEX].get(), Fault::Early);
        checks.expect(tick >= gate_reading.now, Fault::Late);
        checks.expect(fleet.is_owner(S::INDEX, id, (toggle, tick.0), life.number), Fault::Shared);
        if fleet.flaw == Flaw::None {
            checks.expect(gate_reading.in_time, Fault::PastDeadline);
        }
        let leased = matches!(*client.setting, Setting::Leased);
        if !leased {
            fleet.numbers.made(id, self, S::scale().nanos(tick).0 + S::UNIT);
        }
        // An ID has a claimed generator ID also if its statement began with that as a fixed one.
        // Then it was prefetched before the claim, by a clock that is not set to an earlier time,
        // so the claim's ceiling is past it.
        let is_claimed = leased || life.holds(id);
        if fleet.is_strict && is_claimed {
            let high_water_mark = fleet.etcd().high_water_mark(id);
            checks.expect(S::scale().nanos(tick).0 < high_water_mark, Fault::Uncovered);
        }
        if gate_reading.generation != life.generation.get() && leased && !life.holds(id) {
            fleet.events.saw(Event::GivenAfterLoss);
        }
        if let Some(before) = client.last {
            let rises = Last::id::<S>(stamp, id, first) > before.id;
            let across = S::TICK_TOCK && gate_reading.now.0 + 1 < before.at.tick;
            checks.expect(rises || across, Fault::NotAbove);
            if toggle != before.at.toggle {
                fleet.events.saw(Event::Turn);
            }
        }
        let at = Position { generator: client.generators[slot], toggle, tick: tick.0 };
        checks.enter(at, (first, last), client.last.map(|last| last.at));
        client.last = Some(Last { at, id: Last::id::<S>(Stamp::new::<S>(tick, toggle), id, last) });
    }
}
