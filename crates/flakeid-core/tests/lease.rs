#![cfg(not(loom))]
//! A generator ID that is released, claimed again and passed on while a process stands still.

use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::{CellInit, Gate, Horizon, Limits};
use flakeid_core::generator::{IdLayout, Rules, Stamp};
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime};
use flakeid_core::sno::SCALE;
use std::time::Duration;

struct Plain;
impl IdLayout for Plain {
    const SEQUENCE_BITS: u32 = 5;
    const TICK_TOCK: bool = false;
}

const RULES: Rules = Rules { sequence: (0, 31), end: Tick(1 << 30) };
/// A lease duration of which three ticks can be used.
const TERM: LeaseDuration = LeaseDuration(Duration::from_millis(24));
const ASK: IssueRequest = IssueRequest {
    floor: Stamp::new::<Plain>(Tick(0), false),
    later: false,
    within: Tick(u64::MAX),
    want: 1,
    generation: 0,
    ..IssueRequest::any(1)
};

fn claim_at(now: u64) -> LeaseLimits {
    LeaseLimits::from_grant(RequestTime { now: SCALE.nanos(Tick(now)), boot: Duration::ZERO }, TERM)
}

/// Returns a gate that only the claim of this time caps.
fn gate(now: u64) -> Gate {
    let far = Horizon::NONE.raised(SCALE.nanos(Tick(900)));
    Gate::at(claim_at(now).caps(far, SCALE.nanos(Tick(now)), Duration::ZERO))
}

/// Returns the beginning of a cell above a high-water mark, by a clock that reads `now`.
fn above(high_water_mark: UnixNanos, now: u64) -> CellInit {
    let floors = Horizon::NONE.raised(high_water_mark).floors::<Plain>(SCALE);
    CellInit { floors, toggle: false, last_clock_reading: Tick(0), now: Some(Tick(now)) }
}

/// The process has read the word, the clock and the gate. Then the ID is released with its exact
/// high-water mark, the clock steps back, and the same server claims the ID again. Then the server
/// is lost, and another one begins at the high-water mark. No swap with the old word succeeds, or
/// both servers would issue the same ID.
#[test]
fn a_process_that_stood_still_issues_nothing_by_the_word_of_an_earlier_claim() {
    let cell = Cell::after::<Plain>(Tick(5));
    let (mut high_water_mark, mut stood_still) = (claim_at(12).ceiling, false);
    let first = cell.issue::<Plain>(ASK, Limits::new(&RULES, &gate(12), SCALE), &mut || {
        if stood_still {
            // The process has read the word again, and decides by the current gate.
            return None;
        }
        stood_still = true;
        high_water_mark = Horizon::NONE.covering::<Plain>(SCALE, cell.seal::<Plain>()).until[0];
        cell.revive::<Plain>(above(high_water_mark, 6));
        high_water_mark = high_water_mark.max(claim_at(6).ceiling);
        Some(Tick(12))
    });
    assert_eq!(first, Err(Stall::BeforeEpoch), "the first swap did not fail");
    let successor = Cell::after::<Plain>(Tick(0));
    successor.begin::<Plain>(above(high_water_mark, 12));
    let second = successor
        .issue::<Plain>(ASK, Limits::new(&RULES, &gate(12), SCALE), &mut || Some(Tick(12)));
    assert!(matches!(second, Ok(Some(_))), "{second:?}");
}
