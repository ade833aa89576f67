#![cfg(not(loom))]
//! Sessions of an ID type that has a fraction of its tick: they use their numbers again in each
//! fraction. Several sessions of one server take IDs in turn, by a clock that advances, stands
//! still or steps back.

use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick};
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{IdLayout, Rules};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use proptest::prelude::*;
use std::collections::HashSet;

struct Fractioned;
impl IdLayout for Fractioned {
    const SEQUENCE_BITS: u32 = 4;
    const TICK_TOCK: bool = false;
    const FRACTION_BITS: u32 = 3;
}

const FRACTIONS: u64 = 1 << Fractioned::FRACTION_BITS;
const SCALE: Scale = Scale::new(1_000_000, 0, Tick(1 << 40));
const RULES: Rules = Rules { sequence: (0, 15), end: Tick(1 << 40) };

/// The place of an ID in the order: tick, fraction, slot, sequence.
type Place = (u64, u64, u64, u32);

#[derive(Clone, Debug)]
enum Event {
    /// A session asks for some IDs; the clock reads this much later each time.
    Take { session: usize, want: u32, by: i64 },
    /// A session discards what it has prefetched, as at its end.
    Discard { session: usize },
    /// A session gets a changed list of generator IDs, with this many of them.
    Reload { session: usize, slots: usize },
    /// A session's transaction may have no tick before this one, counted from the clock's.
    From { session: usize, by: i64 },
}

fn events(steps_back: bool) -> impl Strategy<Value = Vec<Event>> {
    let session = 0..4usize;
    let by = match steps_back {
        true => prop_oneof![8 => 0..3i64, 2 => 0..40i64, 1 => -40..0i64].boxed(),
        false => prop_oneof![8 => 0..3i64, 2 => 0..40i64].boxed(),
    };
    let want = prop_oneof![4 => Just(1u32), 1 => 1..20u32];
    let event = prop_oneof![
        40 => (session.clone(), want, by).prop_map(|(session, want, by)| Event::Take { session, want, by }),
        1 => session.clone().prop_map(|session| Event::Discard { session }),
        1 => (session.clone(), 1..4usize).prop_map(|(session, slots)| Event::Reload { session, slots }),
        1 => (session, -2..2i64).prop_map(|(session, by)| Event::From { session, by }),
    ];
    prop::collection::vec(event, 1..400)
}

/// Lets sessions play a script, and checks all promises. Returns how often a session used a number
/// again.
fn play(script: &[Event], steps_back: bool) -> u64 {
    let cells: Vec<Cell> = (0..3).map(|_| Cell::after::<Fractioned>(Tick(0))).collect();
    let gate = Gate::open();
    let all: Vec<_> = IssuingCell::numbered(&cells).collect();
    let mut sessions: Vec<(Session, usize)> =
        (0..4).map(|number| (Session::new(number, 3), 3)).collect();
    let mut last: [Option<Place>; 4] = [None; 4];
    let mut least = [0u64; 4];
    let (mut seen, mut numbers) = (HashSet::new(), HashSet::new());
    let (mut reading, mut taken, mut again) = (1000 * FRACTIONS as i64, 0u64, 0u64);
    for event in script {
        match *event {
            Event::Take { session: number, want, by } => {
                reading += by;
                let (session, slots) = &mut sessions[number];
                // Each cell reports a step back once.
                for _ in 0..=3 {
                    let mut clock = || Some(Tick(reading as u64));
                    let limits = Limits::new(&RULES, &gate, SCALE);
                    let given =
                        session.next::<Fractioned>(&all[..*slots], want, limits, &mut clock);
                    let now = reading as u64 / FRACTIONS;
                    match given {
                        Ok(issued) => {
                            let tick = issued.block.stamp.tick::<Fractioned>().0;
                            if !steps_back {
                                // The ID is of the fraction that the clock reads.
                                let own = (tick, issued.fraction);
                                assert_eq!(own, (now, reading as u64 % FRACTIONS));
                            }
                            assert!(tick >= least[number] && tick >= now);
                            for i in 0..issued.block.count {
                                let sequence = issued.block.sequence + i;
                                let place = (tick, issued.fraction, issued.generator_id, sequence);
                                assert!(last[number] < Some(place), "{:?} {place:?}", last[number]);
                                assert!(seen.insert(place), "{place:?} repeats");
                                again += u64::from(!numbers.insert((
                                    tick,
                                    issued.generator_id,
                                    sequence,
                                )));
                                (last[number], taken) = (Some(place), taken + 1);
                            }
                        }
                        Err(Stall::SteppedBack { .. }) if steps_back => continue,
                        Err(Stall::Wait { until, .. }) => assert!(until.0 > now),
                        Err(stall) => panic!("{stall:?}"),
                    }
                    break;
                }
            }
            Event::Discard { session } => {
                let (session, slots) = &mut sessions[session];
                session.discard_prefetched(&all[..*slots]);
            }
            Event::Reload { session, slots } => {
                let (of, before) = &mut sessions[session];
                of.discard_prefetched(&all[..*before]);
                (*of, *before) = (of.moved(session as u32, slots), slots);
            }
            Event::From { session, by } => {
                let tick = (reading / FRACTIONS as i64 + by) as u64;
                let (of, slots) = &mut sessions[session];
                of.issue_from::<Fractioned>(&all[..*slots], Tick(tick));
                least[session] = tick;
            }
        }
    }
    for (session, slots) in &mut sessions {
        session.discard_prefetched(&all[..*slots]);
    }
    assert_eq!(cells.iter().map(|cell| cell.counters.get().issued).sum::<u64>(), taken);
    again
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..Default::default() })]

    #[test]
    fn ids_have_the_fraction_of_the_clock_and_none_repeats_and_each_counts_once(script in events(false)) {
        // A session whose first tick is still to come waits for it.
        let script: Vec<_> =
            script.into_iter().filter(|event| !matches!(event, Event::From { by: 1.., .. })).collect();
        play(&script, false);
    }

    #[test]
    fn a_clock_that_steps_back_repeats_no_id_and_no_session_goes_back(script in events(true)) {
        play(&script, true);
    }
}

#[test]
fn a_session_changes_its_cell_once_in_a_tick_while_it_takes_one_id_of_a_fraction() {
    let script: Vec<_> =
        (0..FRACTIONS).map(|i| Event::Take { session: 0, want: 1, by: i64::from(i > 0) }).collect();
    assert_eq!(play(&script, false), FRACTIONS - 1);
}

#[test]
fn a_session_has_as_many_ids_of_a_fraction_as_the_server_has_numbers() {
    let cells = [Cell::after::<Fractioned>(Tick(0)), Cell::after::<Fractioned>(Tick(0))];
    let cells: Vec<_> = IssuingCell::numbered(&cells).collect();
    let (gate, mut session) = (Gate::open(), Session::new(0, 2));
    let mut take = |reading: u64| {
        session.next::<Fractioned>(&cells, 1, Limits::new(&RULES, &gate, SCALE), &mut || {
            Some(Tick(reading))
        })
    };
    for reading in [FRACTIONS, 5 * FRACTIONS + 3] {
        for _ in 0..2 * 16 {
            assert_eq!(take(reading).map(|issued| issued.fraction), Ok(reading % FRACTIONS));
        }
        let wait =
            Stall::Wait { until: Tick(reading / FRACTIONS + 1), now: Tick(reading / FRACTIONS) };
        assert_eq!(take(reading), Err(wait));
    }
    // In the next fraction it has the numbers of its last block again.
    assert!(take(5 * FRACTIONS + 4).is_ok());
}
