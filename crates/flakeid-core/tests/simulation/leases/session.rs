//! A session on a node that leases: it asks the cells of the IDs that are held, and every ID that it is
//! given is checked.
//!
//! It looks at the gate when it has read the clock, and may stand still right after that, for longer than
//! a lease, alone or with its node, while all else goes on; and swaps then.

use super::events::{Event, Flaw};
use super::fleet::Fleet;
use super::node::{Held, Life, NUMBERED, Node};
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
    /// The IDs that it knows of, and since when; what counts them in the checks.
    version: u32,
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
    version: u32,
}

impl Client {
    pub fn new(random: &Random) -> Self {
        Self {
            system: random.pick(&NUMBERED),
            number: random.next() as u32,
            session: Session::new(0, 1),
            version: 0,
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
        match client.system {
            Flake::PLACE => self.ask_for::<Flake>(fleet, life, &mut client, want, alone),
            TickTock::PLACE => self.ask_for::<TickTock>(fleet, life, &mut client, want, alone),
            _ => self.ask_for::<UniqueId>(fleet, life, &mut client, want, alone),
        }
    }

    fn ask_for<S: Served>(
        &self,
        fleet: &Fleet,
        life: &Life,
        client: &mut Client,
        want: u32,
        alone: bool,
    ) -> Answer {
        let rules = Rules { sequence: fleet.slices[S::PLACE], end: S::scale().last() };
        // Each cell may say once that the clock has stepped back, meet the gate, or be sealed.
        for _ in 0..=6 * MOST {
            if life.over.get() || life.held.borrow().is_empty() {
                return Answer::Nothing;
            }
            if client.cells.is_empty() || client.version != life.version.get() {
                self.look_up::<S>(fleet, life, client);
            }
            let last = client.cells.len() - 1;
            let cells: [&Cell; MOST] = std::array::from_fn(|place| &*client.cells[place.min(last)]);
            // The gate as this process has seen it.
            let (gate, look) =
                (Gate::closed(), Slot::new(Look { now: Tick(0), in_time: true, version: 0 }));
            let clock = &mut || {
                if !alone && fleet.world.random.one_in(60) {
                    fleet.meanwhile(self, life, S::UNIT);
                }
                look.set(self.look::<S>(fleet, life));
                gate.set(life.leased.horizon());
                if !alone && fleet.world.random.one_in(200) {
                    fleet.stand_still(self);
                }
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
                    if !self.extend::<S>(fleet, life, stamp) {
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
                    // It learns of it now, if it has not by then.
                    let knew = client.version == life.version.get();
                    fleet.world.expect(!knew, Fault::GoesRound);
                }
                Err(stall @ (Stall::Ended | Stall::BeforeEpoch | Stall::Outdated)) => {
                    panic!("{stall:?}")
                }
            }
        }
        fleet.world.expect(false, Fault::GoesRound);
        Answer::Nothing
    }

    fn look<S: Served>(&self, fleet: &Fleet, life: &Life) -> Look {
        let boot = self.boot(fleet.world.time.get());
        // Two clocks that differ a little in their rates.
        let ends = life.claim.get().map(|claim| claim.deadline + fleet.term.margin());
        Look {
            now: self.read_tick::<S>(fleet, life),
            in_time: self.disturbed.get() || ends.is_none_or(|ends| boot < ends),
            version: life.version.get(),
        }
    }

    /// The session's cells, as the IDs held now have them.
    fn look_up<S: Served>(&self, fleet: &Fleet, life: &Life, client: &mut Client) {
        let held = life.held.borrow();
        let first = client.cells.is_empty();
        client.ids = held.keys().copied().collect();
        let mut checks = fleet.world.checks.borrow_mut();
        let number = |&id: &u16| checks.generator(S::PLACE, id, life.number);
        client.generators = client.ids.iter().map(number).collect();
        let mut cells = life.cells.borrow_mut();
        let cell = |(&id, held): (&u16, &Held)| {
            let cell = cells.entry((S::PLACE, id)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let now = self.read_tick::<S>(fleet, life);
                cell.begin::<S>(life.start::<S>(fleet, held.mark, now));
                Rc::new(cell)
            });
            cell.clone()
        };
        client.cells = held.iter().map(cell).collect();
        client.version = life.version.get();
        let (number, count) = (client.number, client.cells.len());
        client.session = match first {
            true => Session::new(number, count),
            false => client.session.moved(number, count),
        };
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
        if fleet.is_strict {
            let mark = fleet.etcd.borrow().mark(id);
            checks.expect(S::scale().nanos(tick).0 < mark, Fault::Uncovered);
        }
        if look.version != life.version.get() && !life.held.borrow().contains_key(&id) {
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
