#![cfg(not(loom))]
//! Sessions that take partitions in turn, in the format whose sequence stands above the generator
//! ID: step by step, interleaved in every way against a naive list of all numbers, and on threads.

mod schedules;
mod steps;
mod threads;

use flakeid_core::cell::Cell;
use flakeid_core::clock::Tick;
use flakeid_core::gate::Gate;
use flakeid_core::generator::{Rules, System};
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::uniqueid::{self, Mode, Parts, SCALE, UniqueId};

/// As the format itself, with as few numbers as a run uses up.
struct Numbers<const BITS: u32>;
impl<const BITS: u32> System for Numbers<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// What an ID of this format sorts by: the order in which the numbers of a node go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    tick: u64,
    sequence: u32,
    /// The generator ID, which is the partition's place among all of the node.
    partition: usize,
}

impl Number {
    /// What a session was given, where the list that it asked for is that of these partitions.
    fn given<S: System>(issued: Issued, owned: &[usize]) -> Self {
        let Issued { partition, block } = issued;
        assert_eq!(block.count, 1, "one at a time");
        let (tick, sequence) = (block.stamp.tick::<S>().0, block.sequence);
        Self { tick, sequence, partition: owned[partition] }
    }

    /// Its ID on a node that owns the generator IDs from 250 on, where the upper bits of the
    /// generator change.
    fn id(self) -> uniqueid::Id {
        uniqueid::Id::pack(Parts {
            time: Tick(self.tick),
            sequence: self.sequence.into(),
            generator: 250 + self.partition as u64,
            cluster: 5,
            mode: Mode::TimeSequential,
        })
    }
}

/// Partitions that have had all up to tick 90.
fn cells<S: System>(count: usize) -> Vec<Cell> {
    (0..count).map(|_| Cell::after::<S>(Tick(90))).collect()
}

const fn rules<S: System>() -> Rules {
    Rules { sequence: (0, (1 << S::SEQUENCE_BITS) - 1), end: Tick(1 << 30) }
}

/// One number at `now`, from an open gate.
fn take<S: System>(session: &mut Session, cells: &[&Cell], now: u64) -> Result<Number, Stall> {
    take_by::<S>(session, cells, &rules::<S>(), &Gate::open(), now)
}

fn take_by<S: System>(
    session: &mut Session,
    cells: &[&Cell],
    rules: &Rules,
    gate: &Gate,
    now: u64,
) -> Result<Number, Stall> {
    let all: Vec<usize> = (0..cells.len()).collect();
    let issued = session.next::<S>(cells, 1, rules, gate, SCALE, &mut || Some(Tick(now)));
    issued.map(|issued| Number::given::<S>(issued, &all))
}

/// Takes all that a session gets at `now`, and gives them with what it is told then.
fn use_up<S: System>(session: &mut Session, cells: &[&Cell], now: u64) -> (Vec<Number>, Stall) {
    let mut given = Vec::new();
    loop {
        match take::<S>(session, cells, now) {
            Ok(number) => given.push(number),
            Err(stall) => return (given, stall),
        }
    }
}

/// All numbers of a tick on so many partitions, in their order.
fn all_of<S: System>(tick: u64, partitions: usize) -> impl Iterator<Item = Number> {
    (0..1 << S::SEQUENCE_BITS).flat_map(move |sequence| {
        (0..partitions).map(move |partition| Number { tick, sequence, partition })
    })
}

const fn wait(until: u64, now: u64) -> Stall {
    Stall::Wait { until: Tick(until), now: Tick(now) }
}
