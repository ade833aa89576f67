//! A fleet of servers that lease, the registry, and the time in which everything happens.

use super::astray::{self, FIRST};
use super::disasters::Past;
use super::etcd::{Etcd, Reply, Request};
use super::events::{Event, Events, Flaw};
use super::node::{Life, NUMBERED, Node};
use super::session::MAX_GENERATOR_IDS;
use super::switch::Numbers;
use super::worker::NAMESPACE;
use crate::checks::{Checks, Fault};
use crate::clock::{MILLISECOND, SECOND, YEAR};
use crate::random::Random;
use crate::world::{ID_TYPES, ServerIdType, World};
use flakeid_core::clock::{Scale, Tick};
use flakeid_core::flake::Flake;
use flakeid_core::lease::{LeaseDuration, LeaseLimits};
use flakeid_core::registry::listing::address;
use flakeid_core::registry::transaction::{Key, Transaction, Value, Write};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

pub const MICROSECOND: u64 = 1000;

/// An event that is due at some time.
enum Due {
    Timer,
    /// A request arrives at the etcd at this place. Its answer takes this long, or never arrives.
    Request(u64, usize, Request, Option<u64>),
    /// The answer of the etcd at this place.
    Answer(u64, usize, Reply),
}

/// An event for one run of a server.
struct Queued {
    time: u64,
    /// The number of the event, so that those of one time stay in order.
    number: u64,
    node: usize,
    life: u32,
    due: Due,
}

impl Ord for Queued {
    /// The event that is due first is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Queued {}

/// The runs that issued IDs of a tick, by timeline.
type Owners = [BTreeMap<u64, u32>; 2];

pub struct Fleet {
    pub world: World,
    pub etcds: RefCell<Vec<Etcd>>,
    /// The place of the etcd that has the fleet's registry.
    pub home: Cell<usize>,
    /// The endpoints that administrators write into all settings.
    pub endpoints: RefCell<Rc<Vec<String>>>,
    /// The endpoints that do not answer, and until when.
    pub silent: RefCell<BTreeMap<String, u64>>,
    pub past: RefCell<Past>,
    /// How often the fleet has moved to another registry.
    pub moves: Cell<u32>,
    pub term: LeaseDuration,
    pub pool: RangeInclusive<u16>,
    pub slices: [(u32, u32); ID_TYPES],
    pub flaw: Flaw,
    /// Whether the high-water mark in the registry must cover each ID, even if the ID is new.
    pub is_strict: bool,
    pub events: Events,
    pub nodes: RefCell<Vec<Rc<Node>>>,
    /// The servers that have not died, by number.
    pub living: RefCell<Vec<usize>>,
    skew: u64,
    /// The numbers of generator IDs that a server may want.
    wants: [usize; 2],
    queue: RefCell<BinaryHeap<Queued>>,
    /// The time at which the first event of the queue is due.
    next: Cell<u64>,
    number: Cell<u64>,
    lives: Cell<u32>,
    /// The runs by ID type and generator ID.
    owners: RefCell<BTreeMap<(usize, u16), Owners>>,
    /// The server that claimed each generator ID last.
    holders: RefCell<BTreeMap<u16, usize>>,
    /// The number of processes that stand still, each in the middle of another one's pause.
    pub depth: Cell<u32>,
    /// Whether nothing goes wrong any more.
    pub well: Cell<bool>,
    /// Whether the registry loses its data now and then. It loses the high-water marks too, so here
    /// no clock is far from the right time.
    pub is_forgetful: bool,
    /// Whether administrators move such a fleet to another registry now and then.
    pub is_moved: bool,
    /// Whether people delete keys of the registry now and then.
    pub is_meddled: bool,
    /// Whether servers change from fixed generator IDs to leased ones and back. Fixed ones have no
    /// high-water marks. So here, too, no clock is far from the right time, and none is set to an
    /// earlier one.
    pub is_switching: bool,
    pub numbers: Numbers,
    goal: u64,
}

impl Fleet {
    pub fn new(seed: u64, flaw: Flaw) -> Self {
        let random = Random::new(seed);
        let term = LeaseDuration(Duration::from_secs(random.pick(&[5, 10, 10, 30, 60])));
        let size = random.pick(&[1, 2, 2, 3, 3, 5, 8]);
        let wants = [random.pick(&[1, 1, 2, 3]), random.pick(&[1, 2, 4, MAX_GENERATOR_IDS])];
        let demand = size as u64 * (wants[0] + wants[1]) as u64 / 2;
        let pool = random.pick(&[demand / 2, demand, demand, demand + 2, 2 * demand]).max(1) as u16;
        let first = random.pick(&[0, 1, 500]);
        let flake = random.pick(&[(0, 4095), (0, 4095), (0, 3), (7, 7)]);
        let sno = random.pick(&[(0, 65_535), (0, 3), (9, 520)]);
        let world = World {
            time: Cell::new(55 * YEAR),
            random,
            checks: RefCell::new(Checks::default()),
            flaw: crate::world::Flaw::None,
            seen: Default::default(),
        };
        let random = &world.random;
        let uniqueid = random.pick(&[(0, 31), (0, 3), (7, 7)]);
        let skew = random.pick(&[MILLISECOND, SECOND / 10, SECOND, 20 * SECOND]);
        let is_forgetful = match flaw {
            Flaw::None => random.one_in(4),
            flaw => flaw.needs_forgetting(),
        };
        let is_switching = match flaw {
            Flaw::NoGeneration | Flaw::TakesLeased => true,
            Flaw::None => !is_forgetful && random.one_in(3),
            _ => false,
        };
        let is_meddled = match flaw {
            Flaw::None => !is_forgetful && !is_switching && random.one_in(3),
            flaw => flaw == Flaw::Unchecked,
        };
        let skew = if is_forgetful || is_switching { skew.min(SECOND / 10) } else { skew };
        let fleet = Self {
            etcds: RefCell::new(astray::etcds(random)),
            home: Cell::new(FIRST),
            endpoints: RefCell::new(Rc::new(Self::endpoints_of(FIRST))),
            silent: RefCell::default(),
            past: RefCell::default(),
            moves: Cell::new(0),
            term,
            pool: first..=first + pool - 1,
            slices: [flake, sno, (0, 0), (0, 0), uniqueid],
            flaw,
            is_strict: !is_forgetful
                && !matches!(
                    flaw,
                    Flaw::Record
                        | Flaw::IgnoresHighWaterMark
                        | Flaw::Unchecked
                        | Flaw::Uncapped
                        | Flaw::TakesLeased
                ),
            events: Events::default(),
            nodes: RefCell::default(),
            living: RefCell::default(),
            skew,
            wants,
            queue: RefCell::default(),
            next: Cell::new(u64::MAX),
            number: Cell::new(0),
            lives: Cell::new(0),
            owners: RefCell::default(),
            holders: RefCell::default(),
            depth: Cell::new(0),
            well: Cell::new(false),
            is_forgetful,
            is_moved: match flaw {
                Flaw::None => is_forgetful && random.one_in(2),
                flaw => flaw == Flaw::IgnoresRetired,
            },
            is_meddled,
            is_switching,
            numbers: Numbers::default(),
            goal: match flaw {
                Flaw::None | Flaw::LateReclaim => 400_000,
                Flaw::OrphansStay => 40_000,
                _ => 100_000,
            },
            world,
        };
        if fleet.world.random.one_in(2) {
            // The administrator knows that the registry is the first one.
            let address = Value::Text(address(fleet.etcd().id, NAMESPACE));
            fleet.etcd_mut().write_by_hand(&[Write::Put(Key::Address, address, 0)]);
        }
        (0..size).for_each(|_| fleet.bear());
        fleet
    }

    /// Runs the fleet. Returns how many IDs were issued without a fault, and how often each event
    /// happened.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(self) -> Result<(u64, [u64; Event::ALL.len()]), Fault> {
        // If all sessions wait for long, that is no fault.
        for _ in 0..self.goal {
            if self.world.has_failed() || self.world.checks.borrow().ids >= self.goal {
                break;
            }
            self.happen();
        }
        if !self.world.has_failed() {
            self.all_is_well();
        }
        let checks = self.world.checks.into_inner();
        let seen = self.events.0.map(Cell::into_inner);
        checks.fault.map_or(Ok((checks.ids, seen)), Err)
    }

    pub fn want(&self) -> usize {
        self.world.random.pick(&self.wants)
    }

    pub fn next_life(&self) -> u32 {
        self.lives.set(self.lives.get() + 1);
        self.lives.get()
    }

    /// Lets a new server join.
    pub fn bear(&self) {
        let number = self.nodes.borrow().len();
        let node = Rc::new(Node::new(self, number, self.skew));
        self.nodes.borrow_mut().push(node.clone());
        self.living.borrow_mut().push(number);
        node.start(self, self.sessions());
        self.events.saw(Event::Birth);
    }

    pub fn sessions(&self) -> usize {
        1 + self.world.random.below(6) as usize
    }

    /// Ends a run, so that no session has prefetched numbers of it.
    pub fn close(&self, life: &Life) {
        let mut checks = self.world.checks.borrow_mut();
        for &(id_type, id) in life.cells.borrow().keys() {
            let generator = checks.generator(id_type, id, life.number);
            checks.close(generator);
        }
    }

    /// Returns whether no other run has issued IDs of this tick with a generator ID.
    pub fn is_owner(&self, id_type: usize, id: u16, at: (bool, u64), life: u32) -> bool {
        let mut owners = self.owners.borrow_mut();
        let ticks = &mut owners.entry((id_type, id)).or_default()[usize::from(at.0)];
        *ticks.entry(at.1).or_insert(life) == life
    }

    /// Records that a server has claimed an ID with this high-water mark. Its clock may be behind
    /// it.
    pub fn hand_on(&self, id: u16, node: &Node, high_water_mark: u64, ahead: bool) {
        if self.numbers.leased(id, node) {
            self.events.saw(Event::NumberIsLeased);
        }
        if self.is_strict && !self.is_switching {
            let owners = self.owners.borrow();
            let is_covered = |(id_type, scale): (usize, Scale)| {
                let lines = owners.get(&(id_type, id)).into_iter().flatten();
                let mut last = lines.filter_map(|ticks| ticks.keys().next_back());
                last.all(|&tick| scale.nanos(Tick(tick)).0 < high_water_mark)
            };
            let scales = [Flake::scale(), TickTock::scale(), UniqueId::scale()];
            let covered = NUMBERED.into_iter().zip(scales).all(is_covered);
            self.world.expect(covered, Fault::Uncovered);
        }
        if !self.is_forgetful && !self.is_meddled {
            let holds = |other: &Rc<Node>| {
                let boot = other.boot(self.world.time.get());
                let is_held = |claim: LeaseLimits| !claim.is_expired(boot);
                other.number != node.number
                    && other
                        .life()
                        .is_some_and(|life| life.holds(id) && life.claim.get().is_some_and(is_held))
            };
            self.world.expect(!self.nodes.borrow().iter().any(holds), Fault::HeldTwice);
        }
        let last = self.holders.borrow_mut().insert(id, node.number);
        if last.is_some_and(|last| last != node.number) {
            self.events.saw(if ahead { Event::HandedOnAhead } else { Event::HandedOn });
        }
    }

    /// Returns whether the clocks are right, except for a little.
    pub fn keeps_time(&self) -> bool {
        self.is_forgetful || self.is_switching
    }

    /// Returns the etcd that has the fleet's registry.
    pub fn etcd(&self) -> Ref<'_, Etcd> {
        Ref::map(self.etcds.borrow(), |etcds| &etcds[self.home.get()])
    }

    pub fn etcd_mut(&self) -> RefMut<'_, Etcd> {
        RefMut::map(self.etcds.borrow_mut(), |etcds| &mut etcds[self.home.get()])
    }

    /// Returns the duration of a lease in nanoseconds.
    pub fn ttl(&self) -> u64 {
        self.term.0.as_nanos() as u64
    }

    /// Returns whether another server's claim of a generator ID is on its way to the registry.
    pub fn is_claim_under_way(&self, node: &Node, id: u16) -> bool {
        let is_it =
            |write: &Write| matches!(write, Write::Put(Key::Claim { id: of, .. }, ..) if *of == id);
        let claims = |due: &Due| match due {
            Due::Request(_, _, Request::Change(transaction), _) => {
                transaction.writes.iter().any(is_it)
            }
            _ => false,
        };
        self.queue.borrow().iter().any(|queued| queued.node != node.number && claims(&queued.due))
    }

    fn put(&self, time: u64, node: usize, life: u32, due: Due) {
        self.number.set(self.number.get() + 1);
        let number = self.number.get();
        self.queue.borrow_mut().push(Queued { time, number, node, life, due });
        self.next.set(self.next.get().min(time));
    }

    /// Wakes a server's worker at this time, if nothing wakes it before.
    pub fn wake(&self, node: &Node, life: &Life, time: u64) {
        if life.timer.get().is_none_or(|timer| time < timer) {
            life.timer.set(Some(time));
            self.put(time, node.number, life.number, Due::Timer);
        }
    }

    /// Sends a request to an endpoint. Everything may happen on its way.
    pub fn send(&self, node: &Node, life: &Life, number: u64, endpoint: &str, request: Request) {
        let (random, time) = (&self.world.random, self.world.time.get());
        let short = || 100 * MICROSECOND + random.below(3 * MILLISECOND);
        let long = || random.below(6 * SECOND);
        let chance = match request {
            _ if self.well.get() => 99,
            // The event that this flaw needs is rare.
            Request::Change(Transaction { ref writes, .. })
                if self.flaw == Flaw::LateRelease
                    && writes.iter().any(|write| matches!(write, Write::Delete(_))) =>
            {
                random.below(6)
            }
            _ => random.below(100),
        };
        let (there, back) = match chance {
            0 => return,
            1 => (short(), None),
            2 => (long(), Some(short())),
            3 => (short(), Some(long())),
            _ => (short(), Some(short())),
        };
        let is_silent = self.silent.borrow().get(endpoint).is_some_and(|&until| time < until);
        if time >= node.cut.get() && !is_silent {
            let etcd = Self::route(node, endpoint);
            let due = Due::Request(number, etcd, request, back);
            self.put(time + there, node.number, life.number, due);
        }
    }

    /// Advances the time, and handles all that is due by then.
    pub fn until(&self, end: u64) {
        while self.next.get() <= end {
            let queued = self.queue.borrow_mut().pop().expect("what is due");
            let next = self.queue.borrow().peek().map_or(u64::MAX, |next| next.time);
            self.next.set(next);
            self.world.time.set(self.world.time.get().max(queued.time));
            let node = self.nodes.borrow()[queued.node].clone();
            self.befall(&node, queued);
        }
        self.world.time.set(self.world.time.get().max(end));
    }

    fn befall(&self, node: &Node, queued: Queued) {
        let time = self.world.time.get();
        let Queued { time: at, life: number, due, .. } = queued;
        if let Due::Request(request_number, place, request, back) = due {
            let etcd = &mut self.etcds.borrow_mut()[place];
            if time < etcd.down {
                return;
            }
            let reply = self.answer(etcd, time, &request);
            if let Some(back) = back.filter(|_| time >= node.cut.get()) {
                let answer = Due::Answer(request_number, place, reply);
                self.put(time + back, node.number, number, answer);
            }
            return;
        }
        let Some(life) = node.life().filter(|life| life.number == number) else { return };
        if matches!(due, Due::Timer) {
            // It was to be woken at this time, unless that was changed since.
            if life.timer.get() != Some(at) {
                return;
            }
            life.timer.set(None);
        }
        let stands = node.paused.get().max(node.stuck.get());
        match due {
            Due::Timer if time < stands => self.wake(node, &life, stands + 1),
            due if time < stands => self.put(stands + 1, node.number, number, due),
            Due::Answer(number, etcd, reply) => node.hear(self, &life, number, etcd, reply),
            _ => node.work(self, &life),
        }
    }

    pub fn pass(&self, nanos: u64) {
        self.until(self.world.time.get() + nanos);
    }
}
