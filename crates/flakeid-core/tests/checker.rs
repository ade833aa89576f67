#![cfg(not(loom))]
//! Tests of the checker: it finds a fault that was put in, and names it.

mod broken;
mod ledger;

use broken::Flaw;
use flakeid_core::cell::{Cell, IssueRequest};
use flakeid_core::clock::Tick;
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{Block, IdLayout, Rules, Stamp, Word};
use flakeid_core::sno::SCALE;
use ledger::{Fault, Id, Ledger, Steps};
use std::cell::RefCell;

struct Plain;
impl IdLayout for Plain {
    const SEQUENCE_BITS: u32 = 3;
    const TICK_TOCK: bool = false;
}

struct TickTock;
impl IdLayout for TickTock {
    const SEQUENCE_BITS: u32 = 3;
    const TICK_TOCK: bool = true;
}

const RULES: Rules = Rules { sequence: (0, 7), end: Tick(1 << 30) };
const START: Tick = Tick(100);

/// A cell, correct or with a flaw.
trait Issue {
    fn issue<S: IdLayout>(&self, clock: &mut impl FnMut() -> Tick) -> Option<Block>;
}

impl Issue for broken::Cell {
    fn issue<S: IdLayout>(&self, clock: &mut impl FnMut() -> Tick) -> Option<Block> {
        self.issue::<S>(&RULES, clock)
    }
}

impl Issue for Cell {
    fn issue<S: IdLayout>(&self, clock: &mut impl FnMut() -> Tick) -> Option<Block> {
        let ask = IssueRequest {
            floor: Stamp::default(),
            later: false,
            within: Tick(u64::MAX),
            want: 1,
            generation: 0,
            ..IssueRequest::any(1)
        };
        let clock = &mut || Some(clock());
        Cell::issue::<S>(self, ask, Limits::new(&RULES, &Gate::open(), SCALE), clock).ok().flatten()
    }
}

/// Lets one session read the clock. Before it does anything else, another session gets IDs at each
/// of these readings. Then the first session continues with its old reading.
fn overtaken<S: IdLayout>(cell: &impl Issue, now: u64, others: &[u64]) -> Result<(), Fault> {
    let ledger = RefCell::new(Ledger::new(Steps::Never, 0));
    let enter = |session, block: Option<Block>| match block {
        Some(block) => ledger.borrow_mut().enter::<S>(session, 0, block),
        None => Ok(()),
    };
    let mut readings = Vec::new();
    let first = cell.issue::<S>(&mut || {
        // A second reading shows the clock as it is by then.
        readings.push(*readings.last().map_or(&now, |_| others.last().unwrap()));
        if readings.len() == 1 {
            for &other in others {
                enter(1, cell.issue::<S>(&mut || Tick(other))).unwrap();
            }
        }
        Tick(readings[readings.len() - 1])
    });
    enter(0, first)
}

#[test]
fn a_clock_read_before_the_word_is_found() {
    let turned = Id { tick: 110, toggle: true, slot: 0, sequence: 0 };
    let cell = broken::Cell::after::<TickTock>(START, Flaw::ClockFirst);
    assert_eq!(overtaken::<TickTock>(&cell, 110, &[120]), Err(Fault::Turned(turned)));

    let unflawed = broken::Cell::after::<TickTock>(START, Flaw::None);
    assert_eq!(overtaken::<TickTock>(&unflawed, 110, &[120]), Ok(()));
    assert_eq!(overtaken::<TickTock>(&Cell::after::<TickTock>(START), 110, &[120]), Ok(()));
}

#[test]
fn a_word_stored_without_a_look_is_found() {
    let first = Id { tick: 110, toggle: false, slot: 0, sequence: 0 };
    let cell = broken::Cell::after::<Plain>(START, Flaw::BlindStore);
    assert_eq!(overtaken::<Plain>(&cell, 110, &[110, 110]), Err(Fault::Repeated(first)));

    let unflawed = broken::Cell::after::<Plain>(START, Flaw::None);
    assert_eq!(overtaken::<Plain>(&unflawed, 110, &[110, 110]), Ok(()));
    assert_eq!(overtaken::<Plain>(&Cell::after::<Plain>(START), 110, &[110, 110]), Ok(()));
}

#[test]
fn a_change_to_a_tick_of_the_other_timeline_is_found() {
    fn run(cell: &impl Issue) -> Result<(), Fault> {
        let mut ledger = Ledger::new(Steps::Back, 0);
        // The clock steps back twice: away from the first timeline, and into ticks that it has had.
        for now in [110, 130, 115, 140, 110] {
            if let Some(block) = cell.issue::<TickTock>(&mut || Tick(now)) {
                ledger.enter::<TickTock>(0, 0, block)?;
            }
        }
        Ok(())
    }
    let again = Id { tick: 110, toggle: false, slot: 0, sequence: 0 };
    let cell = broken::Cell::after::<TickTock>(START, Flaw::HeedlessTurn);
    assert_eq!(run(&cell), Err(Fault::Repeated(again)));

    assert_eq!(run(&broken::Cell::after::<TickTock>(START, Flaw::None)), Ok(()));
    assert_eq!(run(&Cell::after::<TickTock>(START)), Ok(()));
}

#[test]
fn the_ledger_finds_a_fall_a_gap_and_a_word_that_does_not_fit() {
    let at = |tick, sequence, count| {
        let stamp = Stamp::new::<Plain>(Tick(tick), false);
        Block { stamp, sequence, count }
    };
    let id = |tick, sequence| Id { tick, toggle: false, slot: 0, sequence };
    let word =
        |tick, sequence| Word::new::<Plain>(Stamp::new::<Plain>(Tick(tick), false), sequence);

    let mut ledger = Ledger::new(Steps::Never, 0);
    ledger.enter::<Plain>(0, 0, at(110, 0, 3)).unwrap();
    ledger.enter::<Plain>(1, 0, at(111, 0, 2)).unwrap();
    assert_eq!(ledger.without_gaps(), Ok(()));
    assert_eq!(ledger.up_to_word::<Plain>(0, word(111, 1)), Ok(()));
    assert_eq!(ledger.below_word::<Plain>(0, word(111, 2)), Ok(()));
    assert_eq!(ledger.up_to_word::<Plain>(0, word(111, 2)), Err(Fault::NotIssued(id(111, 2))));
    let (word, past) = (word(111, 0), Fault::PastWord { word: id(111, 0), id: id(111, 1) });
    assert_eq!(ledger.below_word::<Plain>(0, word), Err(past));

    ledger.enter::<Plain>(0, 0, at(111, 3, 1)).unwrap();
    assert_eq!(ledger.without_gaps(), Err(Fault::Lost { before: id(111, 3) }));
    let fall = Fault::NotAbove { last: id(111, 3), id: id(110, 3) };
    assert_eq!(ledger.enter::<Plain>(0, 0, at(110, 3, 1)), Err(fall));
}
