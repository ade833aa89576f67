#![cfg(not(loom))]
//! A generator ID that is given back, claimed again and handed on while a process stands still.

use flakeid_core::cell::{Ask, Cell, Outcome};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::{Gate, Horizon, Start};
use flakeid_core::generator::{Rules, Stamp, System};
use flakeid_core::lease::{Claim, Sent, Term};
use flakeid_core::sno::SCALE;
use std::time::Duration;

struct Plain;
impl System for Plain {
    const SEQUENCE_BITS: u32 = 5;
    const TICK_TOCK: bool = false;
}

const RULES: Rules = Rules { sequence: (0, 31), end: Tick(1 << 30) };
/// Three ticks of it can be used.
const TERM: Term = Term(Duration::from_millis(24));
const ASK: Ask = Ask {
    floor: Stamp::new::<Plain>(Tick(0), false),
    later: false,
    within: Tick(u64::MAX),
    want: 1,
    generation: 0,
    ..Ask::any(1)
};

fn asked(now: u64) -> Claim {
    Claim::asked(Sent { now: SCALE.nanos(Tick(now)), boot: Duration::ZERO }, TERM)
}

/// A gate that such a claim caps, and nothing else does.
fn gate(now: u64) -> Gate {
    let far = Horizon::NONE.raised(SCALE.nanos(Tick(900)));
    Gate::at(asked(now).caps(far, SCALE.nanos(Tick(now)), Duration::ZERO))
}

/// Above a mark, by a clock that reads `now`.
fn above(mark: UnixNanos, now: u64) -> Start {
    let floors = Horizon::NONE.raised(mark).floors::<Plain>(SCALE);
    Start { floors, toggle: false, since: Tick(0), now: Some(Tick(now)) }
}

/// The process has read the word, the clock and the gate when the ID is given back with its exact mark, the
/// clock is set back, and the same node claims the ID again. Then the node is lost, and another begins at
/// the mark. No swap of then succeeds, or the two would make the same ID.
#[test]
fn a_process_that_stood_still_issues_nothing_by_the_word_of_an_earlier_claim() {
    let cell = Cell::after::<Plain>(Tick(5));
    let (mut mark, mut stood_still) = (asked(12).ceiling, false);
    let first = cell.issue::<Plain>(ASK, &RULES, &gate(12), SCALE, &mut || {
        if stood_still {
            // It has looked again, by the gate of now.
            return None;
        }
        stood_still = true;
        mark = Horizon::NONE.covering::<Plain>(SCALE, cell.seal::<Plain>()).until[0];
        cell.revive::<Plain>(above(mark, 6));
        mark = mark.max(asked(6).ceiling);
        Some(Tick(12))
    });
    assert_eq!(first, Outcome::BeforeEpoch, "the first swap did not fail");
    let successor = Cell::after::<Plain>(Tick(0));
    successor.begin::<Plain>(above(mark, 12));
    let second = successor.issue::<Plain>(ASK, &RULES, &gate(12), SCALE, &mut || Some(Tick(12)));
    assert!(matches!(second, Outcome::Issued(_)), "{second:?}");
}
