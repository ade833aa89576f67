//! A fleet of servers and the events that happen to it.

use crate::checks::{Checks, Fault};
use crate::clock::{Clock, HOUR, MILLISECOND, SECOND, YEAR};
use crate::node::{Answer, Node, POOL};
use crate::random::Random;
use crate::standby::Standby;
use crate::world::{Event, Flaw, ID_TYPES, World};
use std::cell::{Cell, RefCell};

pub struct Fleet {
    world: World,
    nodes: Vec<Node>,
    /// The number of IDs that the fleet issues.
    goal: u64,
}

impl Fleet {
    pub fn new(seed: u64, flaw: Flaw) -> Self {
        let world = World {
            time: Cell::new(55 * YEAR),
            random: Random::new(seed),
            checks: RefCell::new(Checks::default()),
            flaw,
            seen: Default::default(),
        };
        let size = world.random.pick(&[1, 1, 2, 3, 8, 8, 8, 40, 40, 200, 1000]);
        let goal = 200_000 + 1000 * size;
        // flake has a thousand generator IDs for all servers.
        let pool = (1000 / size).min(POOL as u64);
        let skew = world.random.pick(&[MILLISECOND, SECOND / 10, HOUR]);
        let mut nodes: Vec<Node> = Vec::new();
        for number in 0..size {
            let node = match nodes.last() {
                // The server shares the generator IDs of the one before, whose slices end before
                // its own.
                Some(other) if number % 2 == 1 && world.random.one_in(4) => {
                    let slices = other.slices.map(|(_, last)| (last + 1, last + 32));
                    node(&world, skew, other.pool.clone(), slices)
                }
                _ => {
                    let ids = (number * pool) as u16..((number + 1) * pool) as u16;
                    let flake = world.random.pick(&[(0, 4000), (0, 3), (100, 163), (7, 7)]);
                    let sno = world.random.pick(&[(0, 65_000), (0, 3), (1000, 1063), (9, 520)]);
                    let (flake128, guid) = (sno, world.random.pick(&[(0, 12_000), (5, 5)]));
                    let uniqueid = world.random.pick(&[(0, 30), (0, 3), (7, 7)]);
                    node(&world, skew, ids.collect(), [flake, sno, flake128, guid, uniqueid])
                }
            };
            nodes.push(node);
        }
        Self { world, nodes, goal }
    }

    /// Runs the fleet. Returns how many IDs were issued without a fault, and how often each event
    /// happened.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(mut self) -> Result<(u64, [u64; Event::ALL.len()]), Fault> {
        // If all sessions wait for years, that is no fault.
        for _ in 0..10 * self.goal {
            if self.world.has_failed() || self.world.checks.borrow().ids >= self.goal {
                break;
            }
            self.happen();
        }
        for node in &mut self.nodes {
            go_on(&self.world, node);
        }
        let checks = self.world.checks.into_inner();
        let seen = self.world.seen.map(Cell::into_inner);
        checks.fault.map_or(Ok((checks.ids, seen)), Err)
    }

    /// Lets an event happen to one of the servers.
    fn happen(&mut self) {
        let Self { world, nodes, .. } = self;
        let random = &world.random;
        world.pass(random.duration());
        let number = random.below(nodes.len() as u64) as usize;
        let node = &mut nodes[number];
        let time = world.time.get();
        let Some(life) = &node.life else {
            return match random.below(10) {
                0..=5 => node.start(world, 1 + random.below(6) as usize),
                6..=7 => node.clock.disturb(random, time),
                8 => promote(world, node),
                _ => {}
            };
        };
        let session = random.below(life.sessions.len() as u64) as usize;
        match random.below(1000) {
            0..=14 => node.clock.disturb(random, time),
            15..=22 => node.end(world),
            23..=30 => stop(world, node),
            31..=49 => node.reload(world),
            50..=69 => node.reconnect(world, session),
            70..=79 => back_up(world, node),
            80..=84 => promote(world, node),
            85..=89 => node.lead = lead(random),
            90..=91 => recover_over_a_step_forward(world, node),
            _ => take_many(world, node, session),
        }
        if node.is_down() {
            node.end(world);
        }
        // Often the server is there again at once, within the same tick.
        if node.life.is_none() && random.one_in(2) {
            node.start(world, 1 + random.below(6) as usize);
        }
    }
}

fn lead(random: &Random) -> u64 {
    random.pick(&[10 * MILLISECOND, 100 * MILLISECOND, SECOND, SECOND, 20 * SECOND])
}

fn node(world: &World, skew: u64, pool: Vec<u16>, slices: [(u32, u32); ID_TYPES]) -> Node {
    let random = &world.random;
    let mut checks = world.checks.borrow_mut();
    let generators = std::array::from_fn(|id_type| {
        let number = |&id: &u16| checks.generator(id_type, id, slices[id_type].0);
        pool.iter().map(number).collect()
    });
    Node {
        clock: Clock::new(random, world.time.get(), skew),
        noisy: random.one_in(2),
        lead: lead(random),
        slices,
        pool,
        generators,
        disk: Cell::new(None),
        life: None,
        standby: RefCell::new(None),
    }
}

/// Lets a session take IDs, one or several at a time. Mostly it waits as it is told.
fn take_many(world: &World, node: &Node, session: usize) {
    let random = &world.random;
    let most = if random.one_in(50) { 1 + random.skewed(5000) } else { 1 };
    for _ in 0..=random.skewed(if random.one_in(50) { 5000 } else { 50 }) {
        if random.one_in(16) {
            world.pass(random.below(5000));
        }
        let want = 1 + random.below(most) as u32;
        match node.ask(world, session, want, false) {
            Answer::Given => {}
            Answer::Wait(reading) if wait(world, node, reading) => come_back(world, node, session),
            Answer::Wait(_) | Answer::Nothing => return,
        }
        if world.has_failed() {
            return;
        }
    }
}

/// Checks that a session that returns when it was told to gets an ID. With a clock that has stepped
/// back that may take more than one wait. The time that was free may be below the session's own
/// last ID by a tick. It may also be over when the clock reaches the tick from which it stepped
/// back.
fn come_back(world: &World, node: &Node, session: usize) {
    for _ in 0..3 {
        let Answer::Wait(reading) = node.ask(world, session, 1, true) else { return };
        world.time.set(node.clock.time_of(reading, world.time.get()));
    }
    world.expect(false, Fault::WaitedInVain);
}

/// Returns whether a session waits until the clock shows this reading. If that is far, the clock
/// may be corrected.
fn wait(world: &World, node: &Node, reading: u64) -> bool {
    let (random, time) = (&world.random, world.time.get());
    let left = reading.saturating_sub(node.clock.read(time));
    let patient = match left {
        0..HOUR if left < SECOND / 10 => !random.one_in(4),
        0..HOUR if left < SECOND => random.one_in(4),
        0..HOUR => random.one_in(50),
        _ => false,
    };
    if patient {
        world.time.set(node.clock.time_of(reading, time));
    } else if left > SECOND && random.one_in(10) {
        node.clock.set(time, reading);
        return node.clock.read(time) >= reading;
    }
    patient
}

/// Stops a server cleanly. Some sessions learn of it late.
fn stop(world: &World, node: &mut Node) {
    node.stop(world);
    let sessions = node.life.as_ref().map_or(0, |life| life.sessions.len());
    for session in 0..sessions {
        let wait = node.ask(world, session, 1, false);
        world.expect(!matches!(wait, Answer::Wait(_)), Fault::WrongWait);
    }
    node.end(world);
}

/// Creates a standby with a copy of the disk, and of all IDs that were issued.
fn back_up(world: &World, node: &Node) {
    let Some(copied) = node.disk.get() else { return };
    let checks = world.checks.borrow();
    let tops = node.generators.iter().flatten().map(|&number| (number, checks.tops(number)));
    let standby = Standby::new(copied, tops.collect());
    node.standby.replace(Some(standby));
}

/// Loses the server, and promotes its standby with a clock of its own. The part that the standby
/// had not replayed never happened.
fn promote(world: &World, node: &mut Node) {
    let Some(standby) = node.standby.take() else { return };
    node.end(world);
    if standby.was_ahead() {
        world.saw(Event::PromotionAfterStepForward);
    }
    let (state, tops) = standby.promote(world);
    for (generator, tops) in tops {
        world.checks.borrow_mut().set_tops(generator, tops);
    }
    let skew = world.random.pick(&[MILLISECOND, SECOND, HOUR]);
    let last = node.clock.read(world.time.get());
    node.clock = Clock::new(&world.random, world.time.get(), skew);
    node.disk.set(Some(state));
    world.saw(match node.clock.read(world.time.get()) < last {
        true => Event::PromotionBehind,
        false => Event::Promotion,
    });
}

/// Lets a server's clock be ahead for a while. IDs are issued and committed, and the clock is
/// corrected. Then a backup from before is recovered to the end of the WAL.
fn recover_over_a_step_forward(world: &World, node: &mut Node) {
    back_up(world, node);
    let random = &world.random;
    let step_forward = random.below(random.pick(&[SECOND, 60 * SECOND, 2 * HOUR]));
    for goes_ahead in [true, false] {
        let time = world.time.get();
        let reading = node.clock.read(time);
        node.clock
            .set(time, if goes_ahead { reading + step_forward } else { reading - step_forward });
        for _ in 0..1 + random.below(4) {
            if node.is_down() {
                node.end(world);
                node.start(world, 2);
            }
            let sessions = node.life.as_ref().map_or(1, |life| life.sessions.len());
            take_many(world, node, random.below(sessions as u64) as usize);
        }
    }
    if let Some(standby) = &mut *node.standby.borrow_mut() {
        standby.catch_up();
    }
    promote(world, node);
}

/// Checks that every session of this server gets an ID, once nothing goes wrong any more.
fn go_on(world: &World, node: &mut Node) {
    node.end(world);
    node.start(world, 4);
    for session in 0..4 {
        for _ in 0..100 {
            match node.ask(world, session, 1, true) {
                Answer::Given => break,
                Answer::Wait(reading) => {
                    world.time.set(node.clock.time_of(reading, world.time.get()));
                    come_back(world, node, session);
                }
                Answer::Nothing => {}
            }
            // This is after a crash while the session extended the gate.
            if node.is_down() {
                node.end(world);
                node.start(world, 4);
            }
        }
    }
}
