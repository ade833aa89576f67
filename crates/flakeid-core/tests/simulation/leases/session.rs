//! A session on a node that leases: it asks the cells of the IDs that are held, and every ID that it is
//! given is checked.
//!
//! It looks at the gate when it has read the clock, and may stand still right after that, for longer than
//! a lease, alone or with its node, while all else goes on; and swaps then.

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Held, Life, NUMBERED, Node, revive};
use super::switch::Setting;
use crate::checks::{Fault, Place};
use crate::node::{Answer, Last};
use crate::random::Random;
use crate::world::Served;
use flakeid_core::cell::Cell;
use flakeid_core::clock::Tick;
use flakeid_core::flake::Flake;
use flakeid_core::gate::Gate;
use flakeid_core::generator::{Rules, Stamp};
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::Cell as Slot;
use std::rc::Rc;

/// At most so many generator IDs to a node.
pub const MOST: usize = 8;

pub struct Client {
    system: usize,
    number: u32,
    session: Session,
    /// The setting that the rest was made by; the IDs that it knows of; what counts them in the checks.
    setting: Rc<Setting>,
    ids: Vec<u16>,
    generators: Vec<usize>,
    cells: Vec<Rc<Cell>>,
    last: Option<Last>,
}

/// What a session saw when it last looked at the clock and the gate.
#[derive(Clone, Copy)]
struct Look {
    now: Tick,
    /// The claim held then, by the clock since boot; or it can't be known to.
    in_time: bool,
    generation: u64,
}

/// What a session is asked for.
struct Asked {
    /// The setting of its statement.
    setting: Rc<Setting>,
    want: u32,
    /// Nothing happens meanwhile.
    alone: bool,
}

impl Client {
    pub fn new(random: &Random) -> Self {
        Self {
            system: random.pick(&NUMBERED),
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
    /// Another session takes this one's place.
    pub fn reconnect(&self, fleet: &Fleet, life: &Life, session: usize) {
        if let Ok(mut client) = life.sessions[session].try_borrow_mut() {
            fleet.world.checks.borrow_mut().let_go(client.last.map(|last| last.at));
            life.statements[session].replace(None);
            *client = Client::new(&fleet.world.random);
        }
    }

    /// One session asks for up to `want` IDs. `alone` means that nothing happens meanwhile.
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
        let asked = Asked { setting, want, alone };
        let answer = match client.system {
            Flake::PLACE => self.ask_for::<Flake>(fleet, life, &mut client, &asked),
            TickTock::PLACE => self.ask_for::<TickTock>(fleet, life, &mut client, &asked),
            _ => self.ask_for::<UniqueId>(fleet, life, &mut client, &asked),
        };
        drop(client);
        if fleet.is_switching && answer == Answer::Nothing && fleet.world.random.one_in(2) {
            // The error ends the statement, unless the statement catches it.
            life.end_statement(session);
        }
        answer
    }

    fn ask_for<S: Served>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        asked: &Asked,
    ) -> Answer {
        let Asked { setting, want, alone } = asked;
        let (want, alone, leased) = (*want, *alone, matches!(**setting, Setting::Leased));
        let mut stale = client.cells.is_empty() || !Rc::ptr_eq(&client.setting, setting);
        let rules = Rules { sequence: fleet.slices[S::PLACE], end: S::scale().last() };
        // Each cell may say once that the clock has stepped back, meet the gate, or be sealed.
        for _ in 0..=6 * MOST {
            if life.over.get() || leased && life.held.borrow().is_empty() {
                return Answer::Nothing;
            }
            if stale && !self.look_up::<S>(fleet, life, client, asked) {
                return Answer::Nothing;
            }
            stale = false;
            let last = client.cells.len() - 1;
            let cells: [&Cell; MOST] = std::array::from_fn(|place| &*client.cells[place.min(last)]);
            // The gate as this process has seen it.
            let gate = Gate::closed();
            let look = Slot::new(Look { now: Tick(0), in_time: true, generation: 0 });
            let hear = || {
                if fleet.flaw != Flaw::NoGeneration {
                    gate.announce(life.generation.get());
                }
            };
            hear();
            let clock = &mut || {
                if !alone && fleet.world.random.one_in(60) {
                    fleet.meanwhile(self, life, S::UNIT);
                }
                look.set(self.look::<S>(fleet, life, leased));
                gate.set(if leased { life.leased.horizon() } else { life.gate.horizon() });
                if !alone && fleet.world.random.one_in(200) {
                    fleet.stand_still(self);
                }
                // It asks for the generation before each reading of the clock, so this is for the next.
                hear();
                Some(look.get().now)
            };
            let cells = &cells[..=last];
            // What it took ahead was let through when it took it.
            let ahead = client.session.ahead::<S>(cells, want, &gate, clock);
            let is_ahead = ahead.is_some();
            let given = match ahead {
                Some(issued) => Ok(issued),
                None => client.session.next::<S>(cells, want, &rules, &gate, S::scale(), clock),
            };
            if life.over.get() {
                return Answer::Nothing;
            }
            match given {
                Ok(issued) => {
                    let Look { in_time, .. } = look.get();
                    let look = Look { in_time: in_time || is_ahead, ..look.get() };
                    self.check::<S>(fleet, life, client, issued, look);
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
                    let has = !self.is_steady(life) || life.behind[S::PLACE].get();
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

    /// Whether it holds some of these, and its clock is past the ceiling of the claim.
    fn is_past_ceiling(&self, fleet: &Fleet, life: &Life, ids: &[u16]) -> bool {
        let reading = self.clock.read(fleet.world.time.get());
        ids.iter().any(|id| life.held.borrow().contains_key(id))
            && life.claim.get().is_some_and(|claim| claim.ceiling.0 <= reading)
    }

    fn look<S: Served>(&self, fleet: &Fleet, life: &Life, leased: bool) -> Look {
        let boot = self.boot(fleet.world.time.get());
        // Two clocks that differ a little in their rates.
        let ends =
            life.claim.get().filter(|_| leased).map(|claim| claim.deadline + fleet.term.margin());
        Look {
            now: self.read_tick::<S>(fleet, life),
            in_time: self.disturbed.get() || ends.is_none_or(|ends| boot < ends),
            generation: life.generation.get(),
        }
    }

    /// Makes the session's list of cells by the setting of its statement: those of the IDs held now, or of numbers. Gives
    /// whether there are any to be had.
    fn look_up<S: Served>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        asked: &Asked,
    ) -> bool {
        let find = |id: u16| life.cells.borrow().get(&(S::PLACE, id)).cloned();
        let bring = |id: u16, mark: u64| {
            let mut cells = life.cells.borrow_mut();
            let cell = cells.entry((S::PLACE, id)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let now = self.read_tick::<S>(fleet, life);
                cell.begin::<S>(life.start::<S>(fleet, mark, now));
                Rc::new(cell)
            });
            if cell.is_sealed() {
                fleet.events.saw(Event::Revival);
                revive::<S>(life, fleet, self, mark, cell);
            }
            cell.clone()
        };
        let (generation, ids, cells) = match &*asked.setting {
            Setting::Leased if !life.leases.get() => return false,
            Setting::Leased => {
                let held = life.held.borrow();
                let cell = |(&id, held): (&u16, &Held)| bring(id, held.mark);
                let ids: Vec<u16> = held.keys().copied().collect();
                (life.generation.get(), ids, held.iter().map(cell).collect())
            }
            Setting::Numbers(ids) => {
                let bring = |id: u16| bring(id, 0);
                let cells = self.cells_of(fleet, life, ids, asked.alone, find, bring);
                let Some((generation, cells)) = cells else { return false };
                (generation, ids.clone(), cells)
            }
        };
        let first = client.cells.is_empty();
        let mut checks = fleet.world.checks.borrow_mut();
        let number = |&id: &u16| checks.generator(S::PLACE, id, life.number);
        client.generators = ids.iter().map(number).collect();
        (client.ids, client.cells) = (ids, cells);
        client.setting = asked.setting.clone();
        let (number, count) = (client.number, client.cells.len());
        let session = match first {
            true => Session::new(number, count),
            false => client.session.moved(number, count),
        };
        client.session = session.of_generation(generation);
        true
    }

    /// What holds for every ID that a session is given.
    fn check<S: Served>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        issued: Issued,
        look: Look,
    ) {
        let Issued { partition, block } = issued;
        let (id, stamp) = (client.ids[partition], block.stamp);
        let (tick, toggle) = (stamp.tick::<S>(), stamp.toggle::<S>());
        let (first, last) = (block.sequence, block.sequence + block.count - 1);
        let mut checks = fleet.world.checks.borrow_mut();

        let slice = fleet.slices[S::PLACE];
        checks.expect(slice.0 <= first && last <= slice.1, Fault::OutsideSlice);
        checks.expect(tick.0 <= life.greatest[S::PLACE].get(), Fault::Early);
        checks.expect(tick >= look.now, Fault::Late);
        checks.expect(fleet.is_owner(S::PLACE, id, (toggle, tick.0), life.number), Fault::Shared);
        if fleet.flaw == Flaw::None {
            checks.expect(look.in_time, Fault::PastDeadline);
        }
        let leased = matches!(*client.setting, Setting::Leased);
        if !leased {
            fleet.numbers.made(id, self, S::scale().nanos(tick).0 + S::UNIT);
        }
        // It is of a claimed number also where its statement began with that as the server's own: then it was taken
        // ahead before the claim, by a clock that is not set back, so the claim's ceiling is past it.
        let is_claimed = leased || life.held.borrow().contains_key(&id);
        if fleet.is_strict && is_claimed {
            let mark = fleet.etcd.borrow().mark(id);
            checks.expect(S::scale().nanos(tick).0 < mark, Fault::Uncovered);
        }
        if look.generation != life.generation.get()
            && leased
            && !life.held.borrow().contains_key(&id)
        {
            fleet.events.saw(Event::GivenAfterLoss);
        }
        if let Some(before) = client.last {
            let rises = Last::id::<S>(stamp, id, first) > before.id;
            let across = S::TICK_TOCK && look.now.0 + 1 < before.at.tick;
            checks.expect(rises || across, Fault::NotAbove);
            if toggle != before.at.toggle {
                fleet.events.saw(Event::Turn);
            }
        }
        let at = Place { generator: client.generators[partition], toggle, tick: tick.0 };
        checks.enter(at, (first, last), client.last.map(|last| last.at));
        client.last = Some(Last { at, id: Last::id::<S>(Stamp::new::<S>(tick, toggle), id, last) });
    }
}
