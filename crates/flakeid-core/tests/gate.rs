//! Tests of gates: the stamps that they admit, how they move, which part is durable, and which
//! generation they serve.

#![cfg(not(loom))]

use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{Gate, Horizon, Limits, MAX_LEAD_FOR_DISK, lead};
use flakeid_core::generator::{Block, Rules, Stamp};
use flakeid_core::sno::{SCALE, TickTock};
use std::time::Duration;

/// The result of one attempt to issue from a cell.
type Outcome = Result<Option<Block>, Stall>;

const NOTHING: IssueRequest = IssueRequest {
    floor: Stamp::new::<TickTock>(Tick(0), false),
    later: false,
    within: Tick(u64::MAX),
    want: 1,
    generation: 0,
    ..IssueRequest::any(1)
};

fn issue(cell: &Cell, gate: &Gate, now: u64) -> Outcome {
    let rules = Rules { sequence: (0, 7), end: Tick(1000) };
    loop {
        let clock = &mut || Some(Tick(now));
        match cell.issue::<TickTock>(NOTHING, Limits::new(&rules, gate, SCALE), clock) {
            Err(Stall::SteppedBack { .. }) => {}
            outcome => return outcome,
        }
    }
}

/// Returns a horizon without the single timeline, and with these ticks of the two timelines.
fn until(first: u64, second: u64) -> Horizon {
    Horizon { until: [0, first, second].map(moment), toggle: false }
}

fn moment(tick: u64) -> UnixNanos {
    match tick {
        0 => UnixNanos(0),
        tick => SCALE.nanos(Tick(tick)),
    }
}

fn stamp(tick: u64, toggle: bool) -> Stamp {
    Stamp::new::<TickTock>(Tick(tick), toggle)
}

#[test]
fn nothing_is_issued_from_the_gate_on() {
    let gate = Gate::at(until(10, 0));
    let cell = Cell::after::<TickTock>(Tick(5));
    assert!(matches!(issue(&cell, &gate, 9), Ok(Some(_))));
    let word = cell.word();
    assert_eq!(issue(&cell, &gate, 10), Err(Stall::Gated(stamp(10, false))));
    assert_eq!(issue(&cell, &gate, 11), Err(Stall::Gated(stamp(11, false))));
    assert_eq!(cell.word(), word);
    // A tick that begins before the gate is admitted to its end.
    assert!(matches!(issue(&cell, &gate, 9), Ok(Some(_))));
}

#[test]
fn a_change_of_timeline_needs_the_gate_of_the_new_timeline() {
    let gate = Gate::at(until(100, 0));
    let cell = Cell::after::<TickTock>(Tick(5));
    assert!(matches!(issue(&cell, &gate, 90), Ok(Some(_))));
    assert_eq!(issue(&cell, &gate, 50), Err(Stall::Gated(stamp(50, true))));
    let durable = std::cell::Cell::new(Horizon::NONE);
    let make_durable = |horizon| {
        assert_eq!(issue(&cell, &gate, 50), Err(Stall::Gated(stamp(50, true))));
        durable.set(horizon);
        Ok::<(), ()>(())
    };
    gate.extend::<TickTock, _>(stamp(50, true), moment(60), make_durable).unwrap();
    assert_eq!(durable.get().until[1..], until(100, 60).until[1..]);
    assert!(durable.get().toggle);
    let issued = issue(&cell, &gate, 50);
    assert!(matches!(issued, Ok(Some(block)) if block.stamp == stamp(50, true)));
}

#[test]
fn a_change_of_timeline_goes_on_record_even_if_the_gate_is_open_already() {
    let gate = Gate::at(until(100, 60));
    let cell = Cell::after::<TickTock>(Tick(5));
    assert!(matches!(issue(&cell, &gate, 90), Ok(Some(_))));
    assert_eq!(issue(&cell, &gate, 50), Err(Stall::Gated(stamp(50, true))));
    gate.extend::<TickTock, _>(stamp(50, true), moment(55), |_| Ok::<(), ()>(())).unwrap();
    assert_eq!(
        gate.horizon(),
        Horizon { toggle: true, ..until(100, 60) }.extended::<Flake>(Stamp::default(), moment(55))
    );
    let issued = issue(&cell, &gate, 50);
    assert!(matches!(issued, Ok(Some(block)) if block.stamp == stamp(50, true)));
    // ... and with the next tick it stays there.
    let issued = issue(&cell, &gate, 51);
    assert!(matches!(issued, Ok(Some(block)) if block.stamp == stamp(51, true)));
    assert_eq!(cell.counters.get().tick_tocks, 1);
}

#[test]
fn a_horizon_that_cannot_be_made_durable_moves_nothing() {
    let gate = Gate::at(until(10, 0));
    let refused = gate.extend::<TickTock, _>(stamp(15, false), moment(20), |_| Err("disk full"));
    assert_eq!(refused, Err("disk full"));
    assert_eq!(gate.horizon(), until(10, 0));
    assert!(!gate.admits::<TickTock>(SCALE, stamp(10, false)));
}

#[test]
fn the_horizon_never_moves_down_when_it_is_extended() {
    let was = Horizon { until: [40, 10, 30].map(moment), toggle: false };
    let is = was.extended::<TickTock>(stamp(15, true), moment(20));
    assert_eq!(is, Horizon { toggle: true, ..was });
}

#[test]
fn an_id_type_of_one_timeline_extends_the_one_in_use_and_leaves_the_other() {
    let was = Horizon { until: [5, 100, 10].map(moment), toggle: true };
    let is = was.extended::<Flake>(Stamp::default(), moment(20));
    assert_eq!(is, Horizon { until: [20, 100, 20].map(moment), toggle: true });
    // ... so that a step back still finds it free.
    assert_eq!(is.floors::<TickTock>(SCALE), [Tick(99), Tick(19)]);
    assert_eq!(is.floors::<Flake>(SCALE), [Tick(19); 2]);
}

#[test]
fn floors_are_the_last_ticks_that_begin_before_the_horizon() {
    let begin = moment(10).0;
    let floor = |until| Horizon::NONE.raised(UnixNanos(until)).floors::<TickTock>(SCALE);
    assert_eq!(floor(begin), [Tick(9); 2]);
    assert_eq!(floor(begin + 1), [Tick(10); 2]);
    assert_eq!(floor(0), [Tick(0); 2]);
    let exact = Horizon::NONE.covering::<TickTock>(SCALE, [Tick(3), Tick(10)]);
    assert_eq!(exact.floors::<TickTock>(SCALE), [Tick(3), Tick(10)]);
    assert_eq!(exact.until[0], UnixNanos(0));
}

#[test]
fn the_lead_is_twice_what_a_slow_disk_takes_up_to_a_limit_and_not_for_a_single_slow_write() {
    let seconds = |seconds| Duration::from_secs(seconds);
    let (set, quick) = (seconds(1), Duration::from_millis(2));
    assert_eq!(lead(set, [quick; 2]), set);
    assert_eq!(lead(set, [seconds(24), quick]), set);
    assert_eq!(lead(set, [quick, seconds(24)]), set);
    assert_eq!(lead(set, [seconds(3), seconds(2)]), seconds(4));
    assert_eq!(lead(set, [seconds(2), seconds(3)]), seconds(4));
    assert_eq!(lead(set, [seconds(24), seconds(30)]), MAX_LEAD_FOR_DISK);
    assert_eq!(lead(set, [Duration::MAX; 2]), MAX_LEAD_FOR_DISK);
    // The setting may be longer than the limit.
    assert_eq!(lead(seconds(3600), [seconds(24); 2]), seconds(3600));
}

#[test]
fn an_open_gate_admits_all_and_a_closed_one_nothing() {
    let last = Stamp::new::<TickTock>(SCALE.last(), true);
    assert!(Gate::open().admits::<TickTock>(SCALE, last));
    assert!(!Gate::closed().admits::<TickTock>(SCALE, stamp(0, false)));
}
