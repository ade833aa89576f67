//! Calls of sessions, one after the other.

use super::*;
use flakeid_core::gate::{CellInit, Horizon, Limits, TRACKS};
use flakeid_core::issuing_cell::IssuingCell;
use std::collections::BTreeSet;

/// In the mode TIME_SEQUENTIAL the packed IDs increase.
fn assert_ids_rise(numbers: &[Number]) {
    assert!(numbers.is_sorted_by(|a, b| a.id() < b.id()));
    // Each bit of the sequence, the generator ID and the time changes.
    assert!(numbers.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_session_gets_every_number_of_all_its_generator_ids_in_their_order_and_then_waits() {
    for slots in [1, 2, 3, 8, 64] {
        let cells = cells::<UniqueId>(slots);
        let cells: Vec<&Cell> = cells.iter().collect();
        for session in [Session::new(0, slots), Session::new(u32::MAX, slots)] {
            let session = &mut session.moved(7, slots);
            let first = 100 * (1 + cells[0].counters.get().issued);
            let mut given = Vec::new();
            for now in [first, first + 1, first + 5] {
                let (numbers, stall) = exhaust::<UniqueId>(session, &cells, now);
                assert_eq!(numbers.len(), slots * 64);
                assert!(numbers.iter().copied().eq(all_of::<UniqueId>(now, slots)));
                assert_eq!(stall, wait(now + 1, now));
                assert_eq!(take::<UniqueId>(session, &cells, now), Err(stall));
                given.extend(numbers);
            }
            assert_ids_rise(&given);
            let ids: BTreeSet<_> = given.iter().map(|number| number.id()).collect();
            assert_eq!(ids.len(), 3 * slots * 64);
        }
        let counts = cells.iter().map(|cell| cell.counters.get());
        assert!(counts.into_iter().all(|c| (c.issued, c.exhausted) == (6 * 64, 6)));
    }
}

#[test]
fn a_session_that_wants_many_at_once_gets_one() {
    let cells = cells::<UniqueId>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let issuing: Vec<_> = IssuingCell::numbered(cells.iter().copied()).collect();
    let session = &mut Session::new(0, 2);
    for (sequence, slot) in [(0, 0), (0, 1), (1, 0)] {
        let (rules, clock) = (rules::<UniqueId>(), &mut || Some(Tick(100)));
        let gate = Gate::open();
        let limits = Limits::new(&rules, &gate, SCALE);
        let issued = session.next::<UniqueId>(&issuing, u32::MAX, limits, clock);
        let number = Number::given::<UniqueId>(issued.unwrap(), &[0, 1]);
        assert_eq!(number, Number { tick: 100, sequence, slot });
    }
    // The session has no prefetched ID that it could discard.
    session.discard_prefetched(&issuing);
    let issued = cells.iter().map(|cell| cell.counters.get().issued);
    assert!(issued.eq([2, 1]));
}

#[test]
fn sessions_that_take_turns_get_alternate_numbers() {
    let cells = cells::<Numbers<2>>(3);
    let cells: Vec<&Cell> = cells.iter().collect();
    let mut sessions = [0, 1, 5, 9].map(|number| Session::new(number, 3));
    for now in [100, 101, 200] {
        for (i, number) in all_of::<Numbers<2>>(now, 3).enumerate() {
            // One session runs ahead of the others, and the others follow.
            let session = &mut sessions[if i % 5 == 4 { 1 } else { i % 4 }];
            assert_eq!(take::<Numbers<2>>(session, &cells, now), Ok(number));
        }
        for session in &mut sessions {
            assert_eq!(take::<Numbers<2>>(session, &cells, now), Err(wait(now + 1, now)));
        }
    }
}

#[test]
fn a_slice_of_the_numbers_is_all_that_a_generator_id_has() {
    for (first, last) in [(0, 0), (63, 63), (10, 12), (1, 62)] {
        let cells = cells::<UniqueId>(3);
        let cells: Vec<&Cell> = cells.iter().collect();
        let rules = Rules { sequence: (first, last), ..rules::<UniqueId>() };
        let session = &mut Session::new(0, 3);
        let mut take = |now| take_by::<UniqueId>(session, &cells, &rules, &Gate::open(), now);
        for tick in [100, 101] {
            for sequence in first..=last {
                for slot in 0..3 {
                    assert_eq!(take(tick), Ok(Number { tick, sequence, slot }));
                }
            }
            assert_eq!(take(tick), Err(wait(tick + 1, tick)));
        }
    }
}

/// A generator ID that has fewer numbers left than another: each continues at its own number.
#[test]
fn generator_ids_that_are_not_level_are_exhausted_from_the_lowest_number_on() {
    let cells = cells::<Numbers<2>>(3);
    let cells: Vec<&Cell> = cells.iter().collect();
    let other = &mut Session::new(0, 1);
    for sequence in 0..3 {
        let number = Number { tick: 100, sequence, slot: 0 };
        assert_eq!(take::<Numbers<2>>(other, &cells[1..2], 100), Ok(number));
    }
    let (given, stall) = exhaust::<Numbers<2>>(&mut Session::new(0, 3), &cells, 100);
    let places: Vec<_> = given.iter().map(|number| (number.sequence, number.slot)).collect();
    let expected = [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 2), (3, 0), (3, 1), (3, 2)];
    assert_eq!((&places[..], stall), (&expected[..], wait(101, 100)));
    assert_eq!(take::<Numbers<2>>(other, &cells[1..2], 100), Err(wait(101, 100)));
}

#[test]
fn after_any_number_of_reloads_a_session_continues_in_the_next_tick() {
    let cells = cells::<Numbers<2>>(4);
    let cells: Vec<&Cell> = cells.iter().collect();
    let mut session = Session::new(1, 3);
    for slot in 0..2 {
        let number = Number { tick: 100, sequence: 0, slot };
        assert_eq!(take::<Numbers<2>>(&mut session, &cells[..3], 100), Ok(number));
    }
    let stays = &mut session.clone();
    // The list becomes shorter, different, and longer, with and without the session's generator
    // IDs.
    for list in [&cells[..1], &cells[2..], &cells[1..], &cells[..]] {
        session = session.moved(2, list.len());
        assert_eq!(take::<Numbers<2>>(&mut session, list, 100), Err(wait(101, 100)));
        // If the clock is a tick late, the session may have to return when that tick is reached.
        let stall = take::<Numbers<2>>(&mut session, list, 99).unwrap_err();
        assert!([100, 101].map(|until| wait(until, 99)).contains(&stall), "{stall:?}");
    }
    // A session that continues with the old list gets the numbers that the other has left.
    let (given, stall) = exhaust::<Numbers<2>>(stays, &cells[..3], 100);
    assert!(given.into_iter().eq(all_of::<Numbers<2>>(100, 3).skip(2)));
    assert_eq!(stall, wait(101, 100));
    let number = Number { tick: 101, sequence: 0, slot: 0 };
    assert_eq!(take::<Numbers<2>>(&mut session, &cells, 101), Ok(number));
    assert_eq!(take::<Numbers<2>>(stays, &cells[..3], 101), Ok(Number { slot: 1, ..number }));
}

/// A session that has had nothing may get another list, too. So may a session whose list becomes
/// longer by one at its end. Then the slot after its last is a slot of the new list.
#[test]
fn a_session_that_has_had_nothing_is_moved_without_a_wait() {
    let cells = cells::<Numbers<2>>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let session = &mut Session::new(3, 1).moved(3, 2);
    let number = Number { tick: 91, sequence: 0, slot: 0 };
    assert_eq!(take::<Numbers<2>>(session, &cells, 91), Ok(number));
    assert_eq!(take::<Numbers<2>>(session, &cells, 91), Ok(Number { slot: 1, ..number }));
}

#[test]
fn a_clock_that_is_held_back_leaves_what_is_left_and_then_a_wait() {
    let cells = cells::<Numbers<2>>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let session = &mut Session::new(0, 2);
    let mut all = all_of::<Numbers<2>>(100, 2);
    for number in all.by_ref().take(3) {
        assert_eq!(take::<Numbers<2>>(session, &cells, 100), Ok(number));
    }
    // A clock that is a tick late has not stepped back.
    assert_eq!(take::<Numbers<2>>(session, &cells, 99).ok(), all.next());
    let (from, now) = (Tick(100), Tick(50));
    // Each generator ID reports it once.
    for _ in 0..2 {
        let stepped_back = Err(Stall::SteppedBack { from, now });
        assert_eq!(take::<Numbers<2>>(session, &cells, 50), stepped_back);
        assert_eq!(take::<Numbers<2>>(session, &cells, 50).ok(), all.next());
    }
    let (given, stall) = exhaust::<Numbers<2>>(session, &cells, 50);
    assert!(given.into_iter().eq(all));
    assert_eq!(stall, wait(101, 50));
    assert_eq!(take::<Numbers<2>>(session, &cells, 100), Err(wait(101, 100)));
    let (given, stall) = exhaust::<Numbers<2>>(session, &cells, 101);
    assert!(given.into_iter().eq(all_of::<Numbers<2>>(101, 2)));
    assert_eq!(stall, wait(102, 101));
}

/// Two generator IDs are at 100 and one is not: the step back holds those two there. The numbers of
/// the third at the clock's own time are for sessions that have had nothing later.
#[test]
fn a_held_session_does_not_go_down_to_a_generator_id_that_is_not_held() {
    let cells = cells::<Numbers<1>>(3);
    let cells: Vec<&Cell> = cells.iter().collect();
    let session = &mut Session::new(0, 3);
    for slot in 0..2 {
        let number = Number { tick: 100, sequence: 0, slot };
        assert_eq!(take::<Numbers<1>>(session, &cells, 100), Ok(number));
    }
    let mut places = Vec::new();
    let stall = loop {
        match take::<Numbers<1>>(session, &cells, 95) {
            Ok(Number { tick, sequence, slot }) => places.push((tick, sequence, slot)),
            Err(Stall::SteppedBack { .. }) => {}
            Err(stall) => break stall,
        }
    };
    assert_eq!((&places[..], stall), (&[(100, 1, 0), (100, 1, 1)][..], wait(100, 95)));
    let other = &mut Session::new(1, 3);
    for sequence in 0..2 {
        let number = Number { tick: 95, sequence, slot: 2 };
        assert_eq!(take::<Numbers<1>>(other, &cells, 95), Ok(number));
    }
    assert_eq!(take::<Numbers<1>>(other, &cells, 95), Err(wait(96, 95)));
}

#[test]
fn a_sealed_generator_id_ends_it_for_all_sessions() {
    for sealed in 0..3 {
        let cells = cells::<Numbers<2>>(3);
        let cells: Vec<&Cell> = cells.iter().collect();
        let (session, fresh) = (&mut Session::new(0, 3), &mut Session::new(1, 3));
        let mut all = all_of::<Numbers<2>>(100, 3);
        assert_eq!(take::<Numbers<2>>(session, &cells, 100).ok(), all.next());
        let before = cells[sealed].seal::<Numbers<2>>();
        assert_eq!(before[0], if sealed == 0 { Tick(100) } else { Tick(90) });
        assert_eq!(take::<Numbers<2>>(fresh, &cells, 100), Err(Stall::Sealed));
        assert_eq!(take::<Numbers<2>>(fresh, &cells, 500), Err(Stall::Sealed));
        // The next number after the last is found without a look at the others.
        let (given, stall) = exhaust::<Numbers<2>>(session, &cells, 100);
        let rest: Vec<Number> = all.collect();
        assert!(given.len() < 3 && rest.starts_with(&given), "{given:?}");
        assert!(given.iter().all(|number| number.slot != sealed));
        assert_eq!(stall, Stall::Sealed);
        assert_eq!(take::<Numbers<2>>(session, &cells, 101), Err(Stall::Sealed));
        assert_eq!(cells[sealed].last::<Numbers<2>>(), before);
    }
}

#[test]
fn nothing_goes_out_behind_a_gate_that_is_not_open() {
    let cells = cells::<Numbers<1>>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let (session, rules) = (&mut Session::new(0, 2), rules::<Numbers<1>>());
    let gate = Gate::closed();
    let mut take = |gate: &Gate, now| take_by::<Numbers<1>>(session, &cells, &rules, gate, now);
    let Err(Stall::Gated(stamp)) = take(&gate, 100) else { panic!("a closed gate") };
    assert_eq!(stamp.tick::<Numbers<1>>(), Tick(100));
    // The gate is open until tick 101 begins.
    let until = [SCALE.nanos(Tick(101)); TRACKS];
    gate.set(Horizon { until, toggle: false });
    for number in all_of::<Numbers<1>>(100, 2) {
        assert_eq!(take(&gate, 100), Ok(number));
    }
    let Err(Stall::Gated(stamp)) = take(&gate, 101) else { panic!("a closed gate") };
    assert_eq!(stamp.tick::<Numbers<1>>(), Tick(101));
    // A closed gate costs no number.
    assert!(all_of::<Numbers<1>>(101, 2).eq([(); 4].map(|()| take(&Gate::open(), 101).unwrap())));
}

/// The gate may close while a session goes from number to number, in the middle of a tick.
#[test]
fn a_gate_that_moves_down_stops_a_session_on_its_way() {
    let cells = cells::<Numbers<2>>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let (session, rules, gate) = (&mut Session::new(0, 2), rules::<Numbers<2>>(), Gate::open());
    assert!(take_by::<Numbers<2>>(session, &cells, &rules, &gate, 100).is_ok());
    gate.set(Horizon { until: [SCALE.nanos(Tick(100)); TRACKS], toggle: false });
    for _ in 0..2 {
        let stall = take_by::<Numbers<2>>(session, &cells, &rules, &gate, 100).unwrap_err();
        assert!(matches!(stall, Stall::Gated(stamp) if stamp.tick::<Numbers<2>>() == Tick(100)));
    }
}

#[test]
fn nothing_goes_out_past_the_end_or_before_the_epoch() {
    let cells = cells::<Numbers<1>>(2);
    let cells: Vec<&Cell> = cells.iter().collect();
    let issuing: Vec<_> = IssuingCell::numbered(cells.iter().copied()).collect();
    let rules = Rules { end: Tick(100), ..rules::<Numbers<1>>() };
    let (gate, session) = (Gate::open(), &mut Session::new(0, 2));
    for number in all_of::<Numbers<1>>(100, 2) {
        let none = session
            .next::<Numbers<1>>(&issuing, 1, Limits::new(&rules, &gate, SCALE), &mut || None)
            .unwrap_err();
        assert_eq!(none, Stall::BeforeEpoch);
        let given = take_by::<Numbers<1>>(session, &cells, &rules, &gate, 100);
        assert_eq!(given, Ok(number));
    }
    // The last tick is exhausted, and then the ID type has ended.
    let mut take = |now| take_by::<Numbers<1>>(session, &cells, &rules, &gate, now);
    assert_eq!(take(100), Err(wait(101, 100)));
    assert_eq!(take(101), Err(Stall::Ended));
    let late = &mut Session::new(0, 2);
    assert_eq!(take_by::<Numbers<1>>(late, &cells, &rules, &gate, 200), Err(Stall::Ended));
}

#[test]
fn a_clock_behind_where_generator_ids_begin_is_reported_before_a_wait() {
    let cells: Vec<Cell> = [110, 110, 95].map(|tick| Cell::after::<Numbers<1>>(Tick(tick))).into();
    let cells: Vec<&Cell> = cells.iter().collect();
    let session = &mut Session::new(0, 3);
    let numbers = [(0, 2), (1, 2)].map(|(sequence, slot)| Number { tick: 100, sequence, slot });
    let (given, stall) = exhaust::<Numbers<1>>(session, &cells, 100);
    assert_eq!(given, numbers);
    assert_eq!(stall, Stall::SteppedBack { from: Tick(110), now: Tick(100) });
    // Each generator ID reports that once, and then the session waits.
    let stalls = [(); 2].map(|()| take::<Numbers<1>>(session, &cells, 100).unwrap_err());
    assert_eq!(stalls, [stall, wait(101, 100)]);
    let (given, stall) = exhaust::<Numbers<1>>(session, &cells, 111);
    assert!(given.into_iter().eq(all_of::<Numbers<1>>(111, 3)));
    assert_eq!(stall, wait(112, 111));
}

/// Each generator ID may begin at a floor of its own. The session waits for the first that has a
/// number.
#[test]
fn the_wait_is_for_the_generator_id_that_is_ahead_the_least() {
    for floors in [[105, 110, 107], [110, 105, 107], [107, 110, 105]] {
        let cells = floors.map(|tick| Cell::after::<Numbers<1>>(Tick(tick)));
        let cells = cells.each_ref();
        let session = &mut Session::new(0, 3);
        let stall = loop {
            match take::<Numbers<1>>(session, &cells, 100).unwrap_err() {
                Stall::SteppedBack { .. } => {}
                stall => break stall,
            }
        };
        assert_eq!(stall, wait(106, 100));
        let slot = floors.iter().position(|&tick| tick == 105).unwrap();
        let numbers = [0, 1].map(|sequence| Number { tick: 106, sequence, slot });
        assert_eq!(exhaust::<Numbers<1>>(session, &cells, 106), (numbers.into(), wait(107, 106)));
    }
}

/// A session that used the numbers of a later tick would get nothing until then.
#[test]
fn no_session_takes_numbers_of_later_ticks_while_another_generator_id_has_some_in_the_next_tick() {
    let cells = cells::<Numbers<2>>(3);
    let cells: Vec<&Cell> = cells.iter().collect();
    let ahead = &mut Session::new(0, 1);
    assert!(take::<Numbers<2>>(ahead, &cells[1..2], 60_000).is_ok());
    let session = &mut Session::new(0, 3);
    for now in 100..103 {
        let mut given = Vec::new();
        let stall = loop {
            match take::<Numbers<2>>(session, &cells, now) {
                Ok(number) => given.push(number),
                Err(Stall::SteppedBack { .. }) => {}
                Err(stall) => break stall,
            }
        };
        assert_eq!((given.len(), stall), (8, wait(now + 1, now)));
        assert!(given.iter().all(|number| number.tick == now && number.slot != 1));
    }
    // A session that is there already continues there.
    assert_eq!(take::<Numbers<2>>(ahead, &cells[1..2], 103).unwrap().tick, 60_000);
}

#[test]
fn a_generator_id_that_begins_past_the_end_is_out_of_use_by_itself() {
    let end = rules::<Numbers<2>>().end.0;
    let cells = cells::<Numbers<2>>(3);
    // The cell begins as after a high-water mark of another server: the clock has not stepped back.
    let (floors, last_clock_reading) = ([Tick(end + 5); 2], Tick(90));
    cells[1].begin::<Numbers<2>>(CellInit {
        floors,
        toggle: false,
        last_clock_reading,
        now: Some(Tick(95)),
    });
    let cells: Vec<&Cell> = cells.iter().collect();
    let session = &mut Session::new(1, 3);
    for now in 100..103 {
        let (given, stall) = exhaust::<Numbers<2>>(session, &cells, now);
        assert_eq!((given.len(), stall), (8, wait(now + 1, now)));
        assert!(given.iter().all(|number| number.slot != 1));
    }
    let session = &mut Session::new(0, 1);
    assert_eq!(take::<Numbers<2>>(session, &cells[1..2], 103), Err(Stall::Ended));
    let session = &mut Session::new(0, 3);
    assert_eq!(take::<Numbers<2>>(session, &cells, end + 1), Err(Stall::Ended));
}
