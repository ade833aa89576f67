#![cfg(not(loom))]
//! Tests of a cell, from its beginning until it is sealed, and of its counters.

use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::counts::Counts;
use flakeid_core::gate::{CellInit, Gate, Horizon, Limits, TRACKS};
use flakeid_core::generator::{Block, IdLayout, Rules, Stamp};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::Session;
use flakeid_core::sno::SCALE;
use std::cell::RefCell;

/// The result of one attempt to issue from a cell.
type Outcome = Result<Option<Block>, Stall>;

struct Plain;
impl IdLayout for Plain {
    const SEQUENCE_BITS: u32 = 5;
    const TICK_TOCK: bool = false;
}

struct TickTock;
impl IdLayout for TickTock {
    const SEQUENCE_BITS: u32 = 5;
    const TICK_TOCK: bool = true;
}

const RULES: Rules = Rules { sequence: (0, 31), end: Tick(1 << 30) };

fn ask<S: IdLayout>(cell: &Cell, gate: &Gate, want: u32, clock: impl FnOnce() -> u64) -> Outcome {
    let ask = IssueRequest {
        floor: Stamp::default(),
        later: false,
        within: Tick(u64::MAX),
        want,
        generation: 0,
        ..IssueRequest::any(want)
    };
    let mut clock = Some(clock);
    cell.issue::<S>(ask, Limits::new(&RULES, gate, SCALE), &mut || {
        clock.take().map(|read| Tick(read()))
    })
}

/// Takes one ID at `now` on a server in its first timeline.
fn take<S: IdLayout>(cell: &Cell, now: u64) -> Outcome {
    ask::<S>(cell, &Gate::open(), 1, || now)
}

/// Returns an open gate of a server in this timeline.
fn node_in(toggle: bool) -> Gate {
    Gate::at(Horizon { until: [UnixNanos(u64::MAX); TRACKS], toggle })
}

fn begun<S: IdLayout>(floors: [u64; 2], toggle: bool, since: u64, now: u64) -> Cell {
    let cell = Cell::after::<S>(Tick(0));
    let (floors, now) = (floors.map(Tick), Some(Tick(now)));
    cell.begin::<S>(CellInit { floors, toggle, last_clock_reading: Tick(since), now });
    cell
}

fn is_issued<S: IdLayout>(outcome: Outcome, at: (u64, bool)) -> bool {
    let stamp = Stamp::new::<S>(Tick(at.0), at.1);
    matches!(outcome, Ok(Some(block)) if block.stamp == stamp)
}

fn wait(until: u64, now: u64) -> Outcome {
    Err(Stall::Wait { until: Tick(until), now: Tick(now) })
}

fn stepped_back(from: u64, now: u64) -> Outcome {
    Err(Stall::SteppedBack { from: Tick(from), now: Tick(now) })
}

/// Returns the floors of both timelines, in their order. `own` is that of the timeline in use.
fn floors(own: u64, other: u64, toggle: bool) -> [u64; 2] {
    if toggle { [other, own] } else { [own, other] }
}

#[test]
fn a_clock_past_the_floor_of_the_timeline_in_use_continues_in_it() {
    for toggle in [false, true] {
        for (own, other) in [(10, 10), (10, 40), (19, 0)] {
            // The time at which the floor was written makes no difference.
            for since in [0, 9, 15, 90] {
                let cell = begun::<TickTock>(floors(own, other, toggle), toggle, since, 20);
                let gate = node_in(toggle);
                let issued = ask::<TickTock>(&cell, &gate, 1, || 20);
                assert!(is_issued::<TickTock>(issued, (20, toggle)));
                assert_eq!(
                    (cell.counters.get().steps_back, cell.counters.get().tick_tocks),
                    (0, 0)
                );
            }
        }
    }
}

#[test]
fn a_clock_behind_the_floor_but_not_behind_its_writing_waits_without_a_tick_tock() {
    for toggle in [false, true] {
        let cell = begun::<TickTock>(floors(30, 5, toggle), toggle, 20, 25);
        let gate = node_in(toggle);
        for now in [25, 28, 20, 30] {
            assert_eq!(ask::<TickTock>(&cell, &gate, 1, || now), wait(31, now));
        }
        let issued = ask::<TickTock>(&cell, &gate, 1, || 31);
        assert!(is_issued::<TickTock>(issued, (31, toggle)));
        assert_eq!((cell.counters.get().steps_back, cell.counters.get().tick_tocks), (0, 0));
        // From then on the cell behaves as every other cell.
        assert_eq!(ask::<TickTock>(&cell, &gate, 1, || 28), stepped_back(31, 28));
    }
    let cell = begun::<Plain>([30; 2], false, 20, 25);
    assert_eq!(take::<Plain>(&cell, 25), wait(31, 25));
    assert!(is_issued::<Plain>(take::<Plain>(&cell, 31), (31, false)));
    assert_eq!(cell.counters.get().steps_back, 0);
}

#[test]
fn a_cell_that_waits_at_its_floor_changes_timeline_when_the_clock_is_behind_its_writing() {
    for toggle in [false, true] {
        let cell = begun::<TickTock>(floors(30, 5, toggle), toggle, 20, 25);
        let gate = node_in(toggle);
        assert_eq!(ask::<TickTock>(&cell, &gate, 1, || 25), wait(31, 25));
        assert_eq!(ask::<TickTock>(&cell, &gate, 1, || 15), stepped_back(30, 15));
        let issued = ask::<TickTock>(&cell, &gate, 1, || 15);
        assert!(is_issued::<TickTock>(issued, (15, !toggle)));
    }
}

/// The floor and the reading may come from the clocks of two processors.
#[test]
fn a_clock_a_tick_behind_the_floors_writing_has_not_stepped_back() {
    for (begins, reads) in [(25, 19), (19, 25), (19, 19)] {
        let cell = begun::<TickTock>([30, 5], false, 20, begins);
        assert_eq!(take::<TickTock>(&cell, reads), wait(31, reads), "{begins}, {reads}");
    }
    let cell = begun::<Plain>([30; 2], false, 20, 25);
    assert_eq!(take::<Plain>(&cell, 19), wait(31, 19));
}

#[test]
fn a_clock_behind_the_floors_writing_continues_at_once_if_the_other_timeline_is_free() {
    for toggle in [false, true] {
        let cell = begun::<TickTock>(floors(30, 5, toggle), toggle, 20, 10);
        let gate = node_in(toggle);
        let issued = ask::<TickTock>(&cell, &gate, 1, || 10);
        assert!(is_issued::<TickTock>(issued, (10, !toggle)));
        let Counts { steps_back, largest_step, tick_tocks, .. } = cell.counters.get();
        assert_eq!((steps_back, largest_step, tick_tocks), (1, 10, 1));
        // The session waits until the server's timeline is free as well.
        let issued = ask::<TickTock>(&cell, &gate, 1, || 30);
        assert!(is_issued::<TickTock>(issued, (30, !toggle)));
        let issued = ask::<TickTock>(&cell, &gate, 1, || 31);
        assert!(is_issued::<TickTock>(issued, (31, toggle)));
    }
}

#[test]
fn a_clock_behind_both_floors_waits_for_the_lower() {
    for toggle in [false, true] {
        let gate = node_in(toggle);
        for (own, other) in [(30, 15), (15, 30), (15, 15)] {
            let cell = begun::<TickTock>(floors(own, other, toggle), toggle, 40, 10);
            assert_eq!(ask::<TickTock>(&cell, &gate, 1, || 10), stepped_back(15, 10));
            assert_eq!(ask::<TickTock>(&cell, &gate, 1, || 10), wait(16, 10));
            let issued = ask::<TickTock>(&cell, &gate, 1, || 16);
            let timeline = if other < own { !toggle } else { toggle };
            assert!(is_issued::<TickTock>(issued, (16, timeline)), "{own} {other} {toggle}");
        }
    }
}

#[test]
fn an_id_type_of_one_timeline_is_never_in_the_second() {
    for toggle in [false, true] {
        for (floor, since, now) in [(10, 9, 20), (30, 20, 25), (30, 20, 10), (15, 40, 10)] {
            let cell = begun::<Plain>([floor; 2], toggle, since, now);
            let gate = node_in(!toggle);
            let first = now.max(floor) + 1;
            let issued = ask::<Plain>(&cell, &gate, 1, || first);
            assert!(is_issued::<Plain>(issued, (first, false)), "{floor} {since} {now}");
            assert_eq!(ask::<Plain>(&cell, &gate, 1, || first - 5), stepped_back(first, first - 5));
            let issued = ask::<Plain>(&cell, &gate, 1, || first - 5);
            assert!(is_issued::<Plain>(issued, (first, false)));
        }
    }
}

#[test]
fn where_there_is_no_clock_yet_a_cell_begins_at_its_floor() {
    let cell = Cell::after::<TickTock>(Tick(0));
    cell.begin::<TickTock>(CellInit {
        floors: [Tick(30), Tick(5)],
        toggle: false,
        last_clock_reading: Tick(20),
        now: None,
    });
    assert_eq!(take::<TickTock>(&cell, 25), wait(31, 25));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 31), (31, false)));
}

#[test]
fn the_generator_ids_of_a_server_follow_a_change_of_timeline() {
    let cells = [(); 2].map(|()| begun::<TickTock>([5, 5], false, 5, 10));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cells[0], 100), (100, false)));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cells[1], 80), (80, false)));
    // For the second cell this is no step back, but the first cell has changed its timeline, and
    // the server with it.
    assert_eq!(take::<TickTock>(&cells[0], 90), stepped_back(100, 90));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cells[0], 90), (90, true)));
    for now in [90, 91, 150] {
        for cell in &cells {
            let issued = ask::<TickTock>(cell, &node_in(true), 1, || now);
            assert!(is_issued::<TickTock>(issued, (now, true)));
        }
    }
    let counts = cells.map(|cell| cell.counters.get());
    assert_eq!(counts.map(|counts| (counts.steps_back, counts.tick_tocks)), [(1, 1), (0, 1)]);
}

#[test]
fn a_generator_id_follows_only_where_the_timeline_is_free() {
    let cell = begun::<TickTock>([5, 90], false, 5, 10);
    let at = |now| ask::<TickTock>(&cell, &node_in(true), 1, || now);
    assert!(is_issued::<TickTock>(at(90), (90, false)));
    assert!(is_issued::<TickTock>(at(91), (91, true)));
}

#[test]
fn prefetched_ids_count_when_they_are_used_and_the_count_never_falls() {
    let cells = [(); 2].map(|()| begun::<Plain>([5; 2], false, 5, 10));
    let session = &mut Session::new(0, 2);
    let counted = || cells.each_ref().map(|cell| cell.counters.get().issued).iter().sum::<u64>();
    let (mut issued, mut before) = (0, 0);
    let mut next = |session: &mut Session, now| {
        let clock = &mut || Some(Tick(now));
        let given = session.next::<Plain>(
            &IssuingCell::numbered(&cells).collect::<Vec<_>>(),
            1,
            Limits::new(&RULES, &Gate::open(), SCALE),
            clock,
        );
        issued += u64::from(given.unwrap().block.count);
        assert!(counted() >= before && counted() <= issued);
        before = counted();
        issued - counted()
    };
    // The session takes one, one, two, and four IDs at a time.
    assert_eq!([100; 6].map(|now| next(session, now)), [0, 0, 0, 1, 0, 1]);
    // The rest of the four is discarded.
    assert_eq!([101; 3].map(|now| next(session, now)), [0, 0, 0]);
    // A step back discards nothing for an ID type with one timeline, for which it has no effect.
    assert_eq!(next(session, 90), 1);
    // The session takes all of a tick, and the rest of the tick in the next generator ID.
    (0..40).for_each(|_| _ = next(session, 102));
    session.discard_prefetched(&IssuingCell::numbered(&cells).collect::<Vec<_>>());
    assert_eq!(counted(), issued);
}

#[test]
fn an_exhausted_tick_counts_once() {
    let cell = begun::<Plain>([5; 2], false, 5, 10);
    for (tick, wants) in [(100, [32, 1, 1]), (101, [40, 1, 40]), (102, [31, 1, 1])] {
        for want in wants {
            let _ = ask::<Plain>(&cell, &Gate::open(), want, || tick);
        }
        let Counts { issued, exhausted, .. } = cell.counters.get();
        assert_eq!((issued, exhausted), (32 * (tick - 99), tick - 99));
    }
}

#[test]
fn a_spill_counts_at_the_exhausted_generator_id() {
    let cells = [(); 3].map(|()| begun::<Plain>([5; 2], false, 5, 10));
    let session = &mut Session::new(0, 3);
    let mut next = |now| {
        let (clock, rules) = (&mut || Some(Tick(now)), &RULES);
        let gate = Gate::open();
        let limits = Limits::new(rules, &gate, SCALE);
        session.next::<Plain>(&IssuingCell::numbered(&cells).collect::<Vec<_>>(), 32, limits, clock)
    };
    for now in [100, 101] {
        (0..3).for_each(|place| assert_eq!(next(now).unwrap().generator_id, place));
        let stall = Stall::Wait { until: Tick(now + 1), now: Tick(now) };
        assert_eq!([next(now), next(now)], [Err(stall); 2]);
    }
    assert_eq!(cells.each_ref().map(|cell| cell.counters.get().spills), [2, 2, 0]);
}

#[test]
fn a_step_back_is_reported_and_counted_once_with_its_greatest_size() {
    let cell = begun::<Plain>([5; 2], false, 5, 10);
    let said = |now| matches!(take::<Plain>(&cell, now), Err(Stall::SteppedBack { .. }));
    let counted = || {
        let Counts { steps_back, largest_step, .. } = cell.counters.get();
        (steps_back, largest_step)
    };
    assert_eq!([100, 99, 101, 100].map(said), [false; 4]);
    assert_eq!(counted(), (0, 0));
    // While the clock is behind, this counts as one step back, which may become larger.
    assert_eq!([90, 91, 80, 80, 99].map(said), [true, false, false, false, false]);
    assert_eq!(counted(), (1, 21));
    assert_eq!([102, 95, 97].map(said), [false, true, false]);
    assert_eq!(counted(), (2, 21));
    cell.counters.reset();
    assert_eq!([50, 103, 60].map(said), [false, false, true]);
    assert_eq!(counted(), (1, 52));
}

#[test]
fn a_change_of_timeline_ends_a_step_back_and_the_next_one_is_reported_again() {
    let cell = begun::<TickTock>([5; 2], false, 5, 10);
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 100), (100, false)));
    assert_eq!(take::<TickTock>(&cell, 90), stepped_back(100, 90));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 90), (90, true)));
    assert_eq!(take::<TickTock>(&cell, 80), stepped_back(90, 80));
    // The session's own tick has IDs left. When it is exhausted, this timeline is free before the
    // other one is.
    let rest = ask::<TickTock>(&cell, &node_in(true), 40, || 80);
    assert!(is_issued::<TickTock>(rest, (90, true)));
    assert_eq!(take::<TickTock>(&cell, 80), wait(91, 80));
    let Counts { steps_back, largest_step, tick_tocks, .. } = cell.counters.get();
    assert_eq!((steps_back, largest_step, tick_tocks), (2, 10, 1));
}

/// Two threads notice one step back. One has read the word. Before it reads the clock, the other
/// one reports the step back and changes the timeline.
#[test]
fn a_step_back_is_reported_once_however_two_threads_meet() {
    let cell = begun::<TickTock>([5; 2], false, 5, 10);
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 100), (100, false)));
    let other = RefCell::new(Vec::new());
    let slow = ask::<TickTock>(&cell, &Gate::open(), 1, || {
        other.borrow_mut().extend([(); 2].map(|()| take::<TickTock>(&cell, 90)));
        90
    });
    assert_eq!(other.borrow()[0], stepped_back(100, 90));
    assert!(is_issued::<TickTock>(other.borrow()[1], (90, true)));
    assert_ne!(slow, stepped_back(100, 90));
    assert_eq!(cell.counters.get().steps_back, 1);
}

#[test]
fn a_cell_that_begins_again_reports_a_step_back_again() {
    let cell = begun::<Plain>([5; 2], false, 5, 10);
    assert!(is_issued::<Plain>(take::<Plain>(&cell, 100), (100, false)));
    assert_eq!(take::<Plain>(&cell, 90), stepped_back(100, 90));
    let (floors, now) = ([Tick(200); 2], Some(Tick(190)));
    cell.begin::<Plain>(CellInit { floors, toggle: false, last_clock_reading: Tick(180), now });
    assert_eq!(cell.counters.get(), Counts::default());
    assert_eq!(take::<Plain>(&cell, 190), wait(201, 190));
    assert_eq!(take::<Plain>(&cell, 150), stepped_back(200, 150));
}

#[test]
fn a_sealed_cell_issues_nothing_at_any_time() {
    fn run<S: IdLayout>() {
        let cell = begun::<S>([5; 2], false, 5, 10);
        assert!(is_issued::<S>(take::<S>(&cell, 100), (100, false)));
        let _ = cell.seal::<S>();
        for now in [0, 50, 99, 100, 101, 1 << 29, SCALE.last().0] {
            assert_eq!(take::<S>(&cell, now), Err(Stall::Sealed));
        }
        let session = &mut Session::new(0, 1);
        let clock = &mut || Some(Tick(101));
        let given = session.next::<S>(
            &IssuingCell::numbered([&cell]).collect::<Vec<_>>(),
            1,
            Limits::new(&RULES, &Gate::open(), SCALE),
            clock,
        );
        assert_eq!(given, Err(Stall::Sealed));
        let Counts { issued, steps_back, .. } = cell.counters.get();
        assert_eq!((issued, steps_back), (1, 0));
    }
    run::<Plain>();
    run::<TickTock>();
}

#[test]
fn a_seal_gives_the_last_tick_of_each_timeline_as_often_as_it_is_asked() {
    fn seal<S: IdLayout>(cell: &Cell) -> [u64; 2] {
        let last = cell.last::<S>();
        assert_eq!([cell.seal::<S>(), cell.seal::<S>(), cell.last::<S>()], [last; 3]);
        last.map(|tick| tick.0)
    }
    fn after(clocks: &[u64]) -> [u64; 2] {
        let cell = begun::<TickTock>([5, 7], false, 5, 10);
        for &now in clocks {
            if let Err(Stall::SteppedBack { .. }) = take::<TickTock>(&cell, now) {
                let _ = take::<TickTock>(&cell, now);
            }
        }
        seal::<TickTock>(&cell)
    }
    assert_eq!(after(&[100]), [100, 7]);
    assert_eq!(after(&[100, 50]), [100, 50]);
    assert_eq!(after(&[100, 50, 40]), [100, 50]);
    assert_eq!(after(&[100, 50, 100, 101]), [101, 100]);
    assert_eq!(after(&[100, 50, 200, 120]), [200, 120]);

    let plain = begun::<Plain>([5; 2], false, 5, 10);
    let _ = take::<Plain>(&plain, 100);
    assert_eq!(seal::<Plain>(&plain)[0], 100);
    // No other server can have been given anything below the floors.
    assert_eq!(seal::<TickTock>(&begun::<TickTock>([30, 20], false, 25, 28)), [30, 20]);
}

#[test]
fn a_cell_that_has_issued_nothing_since_it_began_says_so_sealed_or_not() {
    fn issued<S: IdLayout>(cell: &Cell) -> [u64; 2] {
        let issued = cell.issued::<S>();
        let _ = cell.seal::<S>();
        assert_eq!(cell.issued::<S>(), issued);
        issued.map(|tick| tick.0)
    }
    fn after(clocks: &[u64]) -> [u64; 2] {
        let cell = begun::<TickTock>([30, 40], false, 25, 28);
        for &now in clocks {
            if let Err(Stall::SteppedBack { .. }) = take::<TickTock>(&cell, now) {
                let _ = take::<TickTock>(&cell, now);
            }
        }
        issued::<TickTock>(&cell)
    }
    assert_eq!(after(&[]), [0, 0]);
    assert_eq!(after(&[30]), [0, 0]);
    assert_eq!(after(&[100]), [100, 0]);
    assert_eq!(after(&[100, 50]), [100, 50]);
    assert_eq!(after(&[100, 50, 40]), [100, 50]);
    // Only the other timeline has issued: the clock is behind the time at which the floors were
    // written.
    assert_eq!(issued::<TickTock>(&begun::<TickTock>([30, 20], false, 25, 22)), [0, 0]);
    let turned = begun::<TickTock>([30, 20], false, 25, 22);
    assert!(is_issued::<TickTock>(take::<TickTock>(&turned, 22), (22, true)));
    assert_eq!(issued::<TickTock>(&turned), [0, 22]);

    let plain = begun::<Plain>([30; 2], false, 25, 28);
    assert_eq!(issued::<Plain>(&plain), [0, 0]);
    let plain = begun::<Plain>([30; 2], false, 25, 28);
    let _ = take::<Plain>(&plain, 31);
    assert_eq!(issued::<Plain>(&plain), [31, 0]);
}

/// A sealed cell's ticks are covered: no cell that begins there can issue them again.
#[test]
fn a_cell_that_begins_at_the_ticks_of_a_seal_issues_above_them() {
    let cell = begun::<TickTock>([5; 2], false, 5, 10);
    for now in [100, 50, 50] {
        let _ = take::<TickTock>(&cell, now);
    }
    let horizon = Horizon::NONE.covering::<TickTock>(SCALE, cell.seal::<TickTock>());
    let floors = horizon.floors::<TickTock>(SCALE).map(|tick| tick.0);
    assert_eq!(floors, [100, 50]);
    let next = begun::<TickTock>(floors, true, 50, 51);
    assert!(is_issued::<TickTock>(ask::<TickTock>(&next, &node_in(true), 1, || 52), (52, true)));
}

fn revive<S: IdLayout>(cell: &Cell, floors: [u64; 2], toggle: bool, since: u64, now: u64) {
    let (floors, now) = (floors.map(Tick), Some(Tick(now)));
    cell.revive::<S>(CellInit { floors, toggle, last_clock_reading: Tick(since), now });
}

/// Returns a sealed cell that has had tick 100 in its first timeline and tick 50 in its second.
fn sealed() -> Cell {
    let cell = begun::<TickTock>([5; 2], false, 5, 10);
    for now in [100, 50, 50] {
        let _ = take::<TickTock>(&cell, now);
    }
    assert_eq!(cell.seal::<TickTock>(), [100, 50].map(Tick));
    cell
}

#[test]
fn a_revived_cell_has_issued_nothing_until_it_does() {
    let cell = sealed();
    assert_eq!(cell.issued::<TickTock>(), [100, 50].map(Tick));
    revive::<TickTock>(&cell, [900; 2], false, 900, 101);
    assert_eq!(cell.issued::<TickTock>(), [Tick(0); 2]);
    let _ = cell.seal::<TickTock>();
    assert_eq!(cell.issued::<TickTock>(), [Tick(0); 2]);
    revive::<TickTock>(&cell, [900; 2], false, 900, 950);
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 950), (950, false)));
    assert_eq!(cell.issued::<TickTock>(), [950, 0].map(Tick));
}

#[test]
fn only_a_sealed_cell_is_revived() {
    let cell = begun::<Plain>([5; 2], false, 5, 10);
    assert!(is_issued::<Plain>(take::<Plain>(&cell, 100), (100, false)));
    let word = cell.word();
    revive::<Plain>(&cell, [200; 2], false, 200, 201);
    assert_eq!((cell.word(), cell.is_sealed()), (word, false));
    let _ = cell.seal::<Plain>();
    assert!(cell.is_sealed());
    revive::<Plain>(&cell, [200; 2], false, 200, 201);
    assert!(!cell.is_sealed());
    assert!(is_issued::<Plain>(take::<Plain>(&cell, 201), (201, false)));
    assert_eq!(cell.counters.get().issued, 2);
}

#[test]
fn a_revived_cell_issues_above_its_own_last_and_above_the_floors() {
    for floor in [0, 99, 100, 101, 150] {
        let cell = begun::<Plain>([5; 2], false, 5, 10);
        let _ = take::<Plain>(&cell, 100);
        let _ = cell.seal::<Plain>();
        let last = floor.max(100);
        revive::<Plain>(&cell, [floor; 2], false, 5, last);
        assert!(matches!(take::<Plain>(&cell, last), Err(Stall::Wait { .. })));
        assert!(is_issued::<Plain>(take::<Plain>(&cell, last + 2), (last + 2, false)));
    }
    for floors in [[0, 0], [150, 0], [0, 150], [110, 60], [100, 50], [60, 110]] {
        for toggle in [false, true] {
            let cell = sealed();
            let now = floors[usize::from(toggle)].max([100, 50][usize::from(toggle)]) + 2;
            revive::<TickTock>(&cell, floors, toggle, 5, now);
            let issued = ask::<TickTock>(&cell, &node_in(toggle), 1, || now);
            assert!(is_issued::<TickTock>(issued, (now, toggle)), "{floors:?} {toggle}");
        }
    }
}

#[test]
fn a_revived_cell_changes_timeline_only_above_the_ticks_of_the_other() {
    for (other, last) in [(0, 50), (50, 50), (70, 70)] {
        let cell = sealed();
        revive::<TickTock>(&cell, [0, other], false, 5, 120);
        assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 120), (120, false)));
        assert_eq!(take::<TickTock>(&cell, last), stepped_back(120, last));
        // The rest of the held tick is issued, and nothing after it.
        let held = ask::<TickTock>(&cell, &Gate::open(), 40, || last);
        assert!(is_issued::<TickTock>(held, (120, false)));
        assert!(matches!(take::<TickTock>(&cell, last), Err(Stall::Wait { .. })));
        assert!(is_issued::<TickTock>(take::<TickTock>(&cell, last + 2), (last + 2, true)));
        assert_eq!(cell.seal::<TickTock>(), [120, last + 2].map(Tick));
    }
}

#[test]
fn a_cell_revived_ahead_of_the_clock_waits_and_changes_timeline_only_for_a_step_back() {
    let cell = sealed();
    revive::<TickTock>(&cell, [300, 60], false, 200, 210);
    assert_eq!(take::<TickTock>(&cell, 210), wait(301, 210));
    assert_eq!(take::<TickTock>(&cell, 199), wait(301, 199));
    assert_eq!(take::<TickTock>(&cell, 190), stepped_back(300, 190));
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 190), (190, true)));
    // The clock was behind from the beginning.
    let cell = sealed();
    revive::<TickTock>(&cell, [300, 60], false, 200, 190);
    let issued = ask::<TickTock>(&cell, &node_in(true), 1, || 190);
    assert!(is_issued::<TickTock>(issued, (190, true)));
}

#[test]
fn a_revived_cell_is_sealed_again_and_gives_the_last_of_each_timeline() {
    let cell = sealed();
    for (round, toggle) in [(1, false), (2, true), (3, false)] {
        let now = 1000 * round;
        revive::<TickTock>(&cell, [0; 2], toggle, 5, now);
        let issued = ask::<TickTock>(&cell, &node_in(toggle), 1, || now);
        assert!(is_issued::<TickTock>(issued, (now, toggle)));
        let last = cell.seal::<TickTock>().map(|tick| tick.0);
        assert_eq!(last[usize::from(toggle)], now);
        let other = [50, 1000, 2000][round as usize - 1];
        assert!((other..other + 2).contains(&last[usize::from(!toggle)]), "{last:?}");
        let after = [0, now, 9000].map(|now| take::<TickTock>(&cell, now));
        assert_eq!(after, [Err(Stall::Sealed); 3]);
    }
}

#[test]
fn a_cell_that_was_never_used_is_revived_at_the_same_floors() {
    let cell = begun::<TickTock>([30, 20], false, 25, 28);
    for _ in 0..3 {
        let last = cell.seal::<TickTock>();
        assert!(last[0] >= Tick(30) && last[1] >= Tick(20));
        assert_eq!(take::<TickTock>(&cell, 40), Err(Stall::Sealed));
        revive::<TickTock>(&cell, [30, 20], false, 25, 28);
        assert!(matches!(take::<TickTock>(&cell, 28), Err(Stall::Wait { .. })));
    }
    assert!(is_issued::<TickTock>(take::<TickTock>(&cell, 40), (40, false)));
    assert_eq!(cell.counters.get(), Counts { issued: 1, ..Counts::default() });
}

#[test]
fn a_session_uses_what_it_prefetched_and_gets_no_more_once_the_gate_serves_a_later_generation() {
    let (cell, gate) = (Cell::after::<Plain>(Tick(0)), Gate::open());
    let mut session = Session::new(0, 1);
    let next = |session: &mut Session| {
        session.next::<Plain>(
            &IssuingCell::numbered([&cell]).collect::<Vec<_>>(),
            1,
            Limits::new(&RULES, &gate, SCALE),
            &mut || Some(Tick(10)),
        )
    };
    for _ in 0..3 {
        next(&mut session).unwrap();
    }
    // The session has taken more IDs than it has used.
    let taken = cell.word();
    gate.announce(1);
    let take = |session: &mut Session| {
        session.take_prefetched::<Plain>(
            &IssuingCell::numbered([&cell]).collect::<Vec<_>>(),
            100,
            &mut || Some(Tick(10)),
        )
    };
    let rest = take(&mut session).unwrap().block;
    assert_eq!(rest.stamp, taken.stamp::<Plain>());
    assert_eq!(rest.sequence + rest.count - 1, taken.sequence::<Plain>());
    assert_eq!(take(&mut session), None);
    assert_eq!(next(&mut session), Err(Stall::Outdated));
    assert_eq!(cell.word(), taken);
    // With a new list of generator IDs the session continues.
    session.discard_prefetched(&IssuingCell::numbered([&cell]).collect::<Vec<_>>());
    let mut session = session.moved(0, 1).of_generation(1);
    assert!(
        session
            .next::<Plain>(
                &IssuingCell::numbered([&cell]).collect::<Vec<_>>(),
                1,
                Limits::new(&RULES, &gate, SCALE),
                &mut || Some(Tick(11))
            )
            .is_ok()
    );
}

/// Takes some IDs, after the step back that is reported first.
fn settled<S: IdLayout>(cell: &Cell, want: u32, now: u64) -> Outcome {
    let gate = node_in(false);
    match ask::<S>(cell, &gate, want, || now) {
        Err(Stall::SteppedBack { .. }) => ask::<S>(cell, &gate, want, || now),
        outcome => outcome,
    }
}

fn a_copy_issues_what_the_cell_would_issue<S: IdLayout>() {
    for init in [0, 20, 40] {
        let cell = begun::<S>([init, init / 2], false, init / 2, 30);
        for (now, want) in [
            (30, 1),
            (31, 40),
            (31, 1),
            (20, 3),
            (20, 40),
            (20, 1),
            (5, 1),
            (45, 2),
            (44, 31),
            (50, 1),
        ] {
            let (before, counts) = (cell.word(), cell.counters.get());
            let expected = settled::<S>(&cell.copy(), want, now);
            assert_eq!((cell.word(), cell.counters.get()), (before, counts));
            assert_eq!(settled::<S>(&cell, want, now), expected);
        }
        cell.seal::<S>();
        let copy = cell.copy();
        for cell in [&copy, &cell] {
            revive::<S>(cell, [45, 45], false, 45, 60);
        }
        assert_eq!(settled::<S>(&copy, 1, 60), settled::<S>(&cell, 1, 60));
    }
}

#[test]
fn a_copy_of_a_cell_issues_what_the_cell_would_issue_and_leaves_it_alone() {
    a_copy_issues_what_the_cell_would_issue::<Plain>();
    a_copy_issues_what_the_cell_would_issue::<TickTock>();
}
