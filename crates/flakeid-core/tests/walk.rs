#![cfg(not(loom))]
//! A session's choice of generator IDs, step by step: where it begins, when it spills, and when it
//! goes home.

use flakeid_core::cell::Cell;
use flakeid_core::clock::Tick;
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{IdLayout, Rules};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::SCALE;

/// Sequence numbers to a tick and generator ID: more than a session prefetches.
const NUMBERS: usize = 32;

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

fn cells<S: IdLayout>(count: usize) -> Vec<Cell> {
    (0..count).map(|_| Cell::after::<S>(Tick(90))).collect()
}

/// Takes one ID at `now`. Returns its slot, its tick and its timeline.
fn take<S: IdLayout>(
    session: &mut Session,
    cells: &[Cell],
    now: u64,
) -> Result<(usize, u64, bool), Stall> {
    let cells: Vec<_> = IssuingCell::numbered(cells).collect();
    let clock = &mut || Some(Tick(now));
    session.next::<S>(&cells, 1, Limits::new(&RULES, &Gate::open(), SCALE), clock).map(|issued| {
        let Issued { generator_id, block, .. } = issued;
        (generator_id as usize, block.stamp.tick::<S>().0, block.stamp.toggle::<S>())
    })
}

fn stepped_back(from: u64, now: u64) -> Result<(usize, u64, bool), Stall> {
    Err(Stall::SteppedBack { from: Tick(from), now: Tick(now) })
}

/// Takes all that a session gets at `now`, and returns the slots in that order.
fn exhaust<S: IdLayout>(session: &mut Session, cells: &[Cell], now: u64) -> Vec<usize> {
    let mut places = Vec::new();
    loop {
        match take::<S>(session, cells, now) {
            Ok((place, tick, _)) => {
                assert_eq!(tick, now);
                places.push(place);
            }
            Err(stall) => {
                assert_eq!(stall, Stall::Wait { until: Tick(now + 1), now: Tick(now) });
                return places;
            }
        }
    }
}

/// Returns each slot as often as a generator ID has sequence numbers.
fn all_of(places: std::ops::Range<usize>) -> Vec<usize> {
    places.flat_map(|place| [place; NUMBERS]).collect()
}

#[test]
fn as_many_sessions_as_generator_ids_begin_at_one_each() {
    for slots in [1, 2, 4, 8, 16, 32, 64] {
        let homes = (0..slots as u32).map(|number| Session::new(number, slots).home());
        let mut homes: Vec<usize> = homes.collect();
        if slots == 8 {
            assert_eq!(homes, [0, 4, 2, 6, 1, 5, 3, 7]);
        }
        homes.sort_unstable();
        assert!(homes.into_iter().eq(0..slots));
    }
    for slots in 1..=64 {
        for number in [0, 1, 2, 63, 64, 12345, u32::MAX / 2, u32::MAX] {
            assert!(Session::new(number, slots).home() < slots);
        }
    }
}

#[test]
fn a_lone_session_with_a_high_home_gets_room_and_goes_home_again() {
    let cells = cells::<Plain>(8);
    let session = &mut Session::new(7, 8);
    assert_eq!(exhaust::<Plain>(session, &cells, 100), all_of(7..8));
    assert_eq!(exhaust::<Plain>(session, &cells, 101), all_of(3..8));
    assert_eq!(exhaust::<Plain>(session, &cells, 102), all_of(1..8));
    assert_eq!(exhaust::<Plain>(session, &cells, 103), all_of(0..8));
    assert_eq!(exhaust::<Plain>(session, &cells, 104), all_of(0..8));
    // The first tick after the rush begins at the slot that the rush needed. The second tick shows
    // that the room is not needed any more.
    assert_eq!(take::<Plain>(session, &cells, 105), Ok((0, 105, false)));
    assert_eq!(take::<Plain>(session, &cells, 106), Ok((0, 106, false)));
    assert_eq!(session.home(), 7);
    assert_eq!(take::<Plain>(session, &cells, 107), Ok((7, 107, false)));
}

#[test]
fn a_session_that_has_gone_on_stays_until_the_tick_is_over() {
    let cells = cells::<Plain>(2);
    let (first, second) = (&mut Session::new(0, 2), &mut Session::new(0, 2));
    (0..NUMBERS).for_each(|_| assert_eq!(take::<Plain>(first, &cells, 100), Ok((0, 100, false))));
    // The session uses the rest of this tick, and not the next tick.
    assert_eq!(exhaust::<Plain>(second, &cells, 100), all_of(1..2));
    let counts = cells.iter().map(|cell| cell.counters.get());
    let counts: Vec<_> = counts.map(|counts| (counts.spills, counts.exhausted)).collect();
    assert_eq!(counts, [(1, 1), (0, 1)]);
    assert_eq!(take::<Plain>(second, &cells, 101), Ok((0, 101, false)));
}

#[test]
fn a_session_is_back_home_when_home_is_free_whatever_it_met_on_its_way() {
    let cells = cells::<Plain>(3);
    let session = &mut Session::new(0, 3);
    (0..=NUMBERS).for_each(|_| _ = take::<Plain>(session, &cells, 100).unwrap());
    // The clock of another session is a tick ahead.
    let other = &mut Session::new(0, 1);
    (0..NUMBERS)
        .for_each(|_| assert_eq!(take::<Plain>(other, &cells[1..2], 101), Ok((0, 101, false))));
    while take::<Plain>(session, &cells, 100).unwrap() != (2, 100, false) {}
    assert_eq!(take::<Plain>(session, &cells, 101), Ok((0, 101, false)));
}

#[test]
fn a_session_that_wants_many_gets_them_in_one_block_as_far_as_the_generator_id_goes() {
    let cells = cells::<Plain>(2);
    let cells: Vec<_> = IssuingCell::numbered(&cells).collect();
    let session = &mut Session::new(0, 2);
    let counts = [30, 30, 30].map(|want| {
        let clock = &mut || Some(Tick(100));
        let issued = session
            .next::<Plain>(&cells, want, Limits::new(&RULES, &Gate::open(), SCALE), clock)
            .unwrap();
        (issued.generator_id, issued.block.count)
    });
    assert_eq!(counts, [(0, 30), (0, 2), (1, 30)]);
}

/// The numbers above the session's last ID and not above the word are lost with the tick.
#[test]
fn a_session_prefetches_at_most_fifteen_numbers_and_none_for_a_single_id() {
    struct Wide;
    impl IdLayout for Wide {
        const SEQUENCE_BITS: u32 = 12;
        const TICK_TOCK: bool = false;
    }
    let cell = Cell::after::<Wide>(Tick(90));
    let cells: Vec<_> = IssuingCell::numbered([&cell]).collect();
    let rules = Rules { sequence: (0, 4095), end: Tick(1 << 30) };
    let session = &mut Session::new(0, 1);
    let mut ahead = |now| {
        let clock = &mut || Some(Tick(now));
        let issued =
            session.next::<Wide>(&cells, 1, Limits::new(&rules, &Gate::open(), SCALE), clock);
        cell.word().sequence::<Wide>() - issued.unwrap().block.sequence
    };
    assert!((100..200).all(|now| ahead(now) == 0));
    assert_eq!((0..1000).map(|_| ahead(300)).max(), Some(15));
}

#[test]
fn prefetched_ids_do_not_keep_a_session_from_a_change_of_timeline() {
    let cells = cells::<TickTock>(1);
    let session = &mut Session::new(0, 1);
    let (_, _, toggle) = take::<TickTock>(session, &cells, 120).unwrap();
    for _ in 0..2 {
        assert_eq!(take::<TickTock>(session, &cells, 120), Ok((0, 120, toggle)));
    }
    assert_eq!(take::<TickTock>(session, &cells, 110), stepped_back(120, 110));
    assert_eq!(take::<TickTock>(session, &cells, 110), Ok((0, 110, !toggle)));
}

#[test]
fn after_any_number_of_reloads_a_session_continues_in_the_next_tick() {
    fn run<S: IdLayout>() {
        let cells = cells::<S>(2);
        let mut session = Session::new(1, 2);
        let (_, _, toggle) = take::<S>(&mut session, &cells, 100).unwrap();
        for _ in 0..3 {
            session = session.moved(0, 1);
            // The clock of another processor may be a tick late.
            for now in [Tick(100), Tick(99)] {
                let stall = Stall::Wait { until: Tick(101), now };
                assert_eq!(take::<S>(&mut session, &cells[..1], now.0), Err(stall));
            }
        }
        assert_eq!(take::<S>(&mut session, &cells[..1], 101), Ok((0, 101, toggle)));
    }
    run::<Plain>();
    run::<TickTock>();
}

#[test]
fn a_clock_a_tick_late_is_no_step_back_and_two_ticks_are_one() {
    let cells = cells::<TickTock>(1);
    let session = &mut Session::new(0, 1);
    let (_, _, toggle) = take::<TickTock>(session, &cells, 100).unwrap();
    assert_eq!(take::<TickTock>(session, &cells, 99), Ok((0, 100, toggle)));
    assert_eq!(take::<TickTock>(session, &cells, 98), stepped_back(100, 98));
    assert_eq!(take::<TickTock>(session, &cells, 98), Ok((0, 98, !toggle)));
}

/// Both generator IDs gave an ID at 200. Then the clock has stepped back to 161. The session has
/// noticed that, but only with the generator ID from which it took its IDs.
#[test]
fn a_session_rises_at_a_generator_id_that_has_not_noticed_the_step_back() {
    let cells = cells::<TickTock>(2);
    for place in 0..2 {
        let taken = take::<TickTock>(&mut Session::new(0, 1), &cells[place..=place], 200);
        assert_eq!(taken, Ok((0, 200, false)));
    }
    let session = &mut Session::new(0, 2);
    assert_eq!(take::<TickTock>(session, &cells, 161), stepped_back(200, 161));
    (0..NUMBERS)
        .for_each(|_| assert_eq!(take::<TickTock>(session, &cells, 161), Ok((0, 161, true))));
    // Another processor's clock is a tick late.
    assert_eq!(take::<TickTock>(session, &cells, 160), stepped_back(200, 160));
    let stall = Stall::Wait { until: Tick(161), now: Tick(160) };
    assert_eq!(take::<TickTock>(session, &cells, 160), Err(stall));
    assert_eq!(take::<TickTock>(session, &cells, 161), Ok((1, 161, true)));
}

#[test]
fn after_a_reload_a_session_rises_at_a_generator_id_that_has_not_noticed_the_step_back() {
    let cells = cells::<TickTock>(2);
    for place in 0..2 {
        let taken = take::<TickTock>(&mut Session::new(0, 1), &cells[place..=place], 200);
        assert_eq!(taken, Ok((0, 200, false)));
    }
    let session = &mut Session::new(1, 2);
    assert_eq!(take::<TickTock>(session, &cells, 161), stepped_back(200, 161));
    assert_eq!(take::<TickTock>(session, &cells, 161), Ok((1, 161, true)));
    let session = &mut session.moved(0, 2);
    let mut said = 0;
    let stall = loop {
        match take::<TickTock>(session, &cells, 161) {
            Err(Stall::SteppedBack { .. }) => said += 1,
            given => break given,
        }
    };
    assert_eq!((said, stall), (1, Err(Stall::Wait { until: Tick(162), now: Tick(161) })));
    assert_eq!(take::<TickTock>(session, &cells, 162), Ok((0, 162, true)));
}

/// A step back is reported once for each generator ID that is ahead.
fn take_after_notes(
    session: &mut Session,
    cells: &[Cell],
    now: u64,
) -> Result<(usize, u64), Stall> {
    loop {
        match take::<Plain>(session, cells, now) {
            Err(Stall::SteppedBack { .. }) => {}
            taken => return taken.map(|(place, tick, _)| (place, tick)),
        }
    }
}

#[test]
fn a_session_passes_over_a_generator_id_that_is_ahead_of_the_clock() {
    for ahead in 0..3 {
        let cells = cells::<Plain>(3);
        let early = &mut Session::new(0, 1);
        assert_eq!(take::<Plain>(early, &cells[ahead..=ahead], 60_000), Ok((0, 60_000, false)));
        for number in 0..8 {
            let session = &mut Session::new(number, 3);
            let mut last = (0, 0);
            for now in (1_000..1_004).flat_map(|now| [now + u64::from(number) * 10; 20]) {
                let (place, tick) = take_after_notes(session, &cells, now).unwrap();
                assert!(place != ahead && tick == now);
                assert!((tick, place) >= last, "{place} in {tick} after {last:?}");
                last = (tick, place);
            }
        }
        // When time has reached it again, the generator ID is used as the others are.
        let session = &mut Session::new(0, 3);
        let places: Vec<usize> = (0..3 * NUMBERS)
            .map(|_| take_after_notes(session, &cells, 60_001).unwrap().0)
            .collect();
        assert_eq!(places, all_of(0..3));
    }
}

#[test]
fn a_session_that_had_ids_of_a_time_to_come_rises_and_takes_what_is_left_of_it() {
    let cells = cells::<Plain>(2);
    let session = &mut Session::new(1, 2);
    assert_eq!(take_after_notes(session, &cells, 60_000), Ok((1, 60_000)));
    for _ in 1..NUMBERS {
        assert_eq!(take_after_notes(session, &cells, 1_000), Ok((1, 60_000)));
    }
    let stall = Stall::Wait { until: Tick(60_001), now: Tick(1_000) };
    for _ in 0..3 {
        assert_eq!(take_after_notes(session, &cells, 1_000), Err(stall));
    }
    assert!(matches!(take_after_notes(session, &cells, 60_001), Ok((_, 60_001))));
}

#[test]
fn where_all_generator_ids_are_ahead_a_session_takes_what_is_left_and_then_waits() {
    let cells = cells::<Plain>(2);
    for place in 0..2 {
        assert!(take::<Plain>(&mut Session::new(0, 1), &cells[place..=place], 60_000).is_ok());
    }
    let session = &mut Session::new(1, 2);
    let mut last = (0, 0);
    for _ in 0..2 * NUMBERS - 2 {
        let (place, tick) = take_after_notes(session, &cells, 1_000).unwrap();
        assert!(tick == 60_000 && (tick, place) >= last);
        last = (tick, place);
    }
    let stall = Stall::Wait { until: Tick(60_001), now: Tick(1_000) };
    assert_eq!(take_after_notes(session, &cells, 1_000), Err(stall));
}

#[test]
fn a_generator_id_that_begins_past_the_end_is_out_of_use_by_itself() {
    let end = RULES.end.0;
    for past in [end, end + 1, end + (1 << 20)] {
        for dead in 0..3 {
            let cells: Vec<Cell> = (0..3)
                .map(|place| Cell::after::<Plain>(Tick(if place == dead { past } else { 90 })))
                .collect();
            for number in 0..8 {
                let session = &mut Session::new(number, 3);
                for now in (1_000..1_003).flat_map(|now| [now + u64::from(number) * 10; 20]) {
                    let (place, tick) = take_after_notes(session, &cells, now).unwrap();
                    assert!(place != dead && tick == now);
                }
            }
            let session = &mut Session::new(0, 3);
            let mut places: Vec<usize> = Vec::new();
            let stall = loop {
                match take_after_notes(session, &cells, 2_000) {
                    Ok((place, _)) => places.push(place),
                    Err(stall) => break stall,
                }
            };
            places.dedup();
            assert!(!places.contains(&dead));
            assert_eq!(stall, Stall::Wait { until: Tick(2_001), now: Tick(2_000) });
        }
    }
}

#[test]
fn past_the_end_all_generator_ids_say_so() {
    let session = &mut Session::new(1, 2);
    assert_eq!(take::<Plain>(session, &cells::<Plain>(2), RULES.end.0 + 1), Err(Stall::Ended));
    let past: Vec<Cell> = (0..2).map(|_| Cell::after::<Plain>(Tick(RULES.end.0 + 1))).collect();
    assert_eq!(take_after_notes(session, &past, 1_000), Err(Stall::Ended));
}
