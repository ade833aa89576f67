#![cfg(not(loom))]
//! Sessions that take generator IDs in turn, for an ID type whose sequence stands above the
//! generator ID. The tests go step by step, interleave in every way against a naive list of all
//! numbers, and use threads.

mod schedules;
mod steps;
mod threads;

use flakeid_core::cell::Cell;
use flakeid_core::clock::Tick;
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{IdLayout, Rules};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::uniqueid::{self, Mode, Parts, SCALE, UniqueId};

/// An ID type like uniqueid, with so few numbers that a run exhausts them.
struct Numbers<const BITS: u32>;
impl<const BITS: u32> IdLayout for Numbers<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// The part of an ID by which it sorts: the order in which the numbers of a server are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    tick: u64,
    sequence: u32,
    /// The index of the generator ID among all of the server.
    slot: usize,
}

impl Number {
    /// Returns the number of an issued ID, if the session's list has these generator IDs.
    fn given<S: IdLayout>(issued: Issued, owned: &[usize]) -> Self {
        let Issued { generator_id, block, .. } = issued;
        assert_eq!(block.count, 1, "one at a time");
        let (tick, sequence) = (block.stamp.tick::<S>().0, block.sequence);
        Self { tick, sequence, slot: owned[generator_id as usize] }
    }

    /// Returns the ID on a server that has the generator IDs from 250 on, where the upper bits of
    /// the generator ID change.
    fn id(self) -> uniqueid::Id {
        uniqueid::Id::pack(Parts {
            time: Tick(self.tick),
            sequence: self.sequence.into(),
            generator: 250 + self.slot as u64,
            cluster: 5,
            mode: Mode::TimeSequential,
        })
    }
}

/// Returns cells that have had everything up to tick 90.
fn cells<S: IdLayout>(count: usize) -> Vec<Cell> {
    (0..count).map(|_| Cell::after::<S>(Tick(90))).collect()
}

const fn rules<S: IdLayout>() -> Rules {
    Rules { sequence: (0, (1 << S::SEQUENCE_BITS) - 1), end: Tick(1 << 30) }
}

/// Takes one number at `now`, through an open gate.
fn take<S: IdLayout>(session: &mut Session, cells: &[&Cell], now: u64) -> Result<Number, Stall> {
    take_by::<S>(session, cells, &rules::<S>(), &Gate::open(), now)
}

fn take_by<S: IdLayout>(
    session: &mut Session,
    cells: &[&Cell],
    rules: &Rules,
    gate: &Gate,
    now: u64,
) -> Result<Number, Stall> {
    let all: Vec<usize> = (0..cells.len()).collect();
    let cells: Vec<_> = IssuingCell::numbered(cells.iter().copied()).collect();
    let issued =
        session.next::<S>(&cells, 1, Limits::new(rules, gate, SCALE), &mut || Some(Tick(now)));
    issued.map(|issued| Number::given::<S>(issued, &all))
}

/// Takes all that a session gets at `now`, and returns them with the stall that follows.
fn exhaust<S: IdLayout>(session: &mut Session, cells: &[&Cell], now: u64) -> (Vec<Number>, Stall) {
    let mut given = Vec::new();
    loop {
        match take::<S>(session, cells, now) {
            Ok(number) => given.push(number),
            Err(stall) => return (given, stall),
        }
    }
}

/// Returns all numbers of a tick on this many generator IDs, in their order.
fn all_of<S: IdLayout>(tick: u64, slots: usize) -> impl Iterator<Item = Number> {
    (0..1 << S::SEQUENCE_BITS)
        .flat_map(move |sequence| (0..slots).map(move |slot| Number { tick, sequence, slot }))
}

const fn wait(until: u64, now: u64) -> Stall {
    Stall::Wait { until: Tick(until), now: Tick(now) }
}
