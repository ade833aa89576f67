#![cfg(not(loom))]
//! One generator ID against a model that keeps every ID it ever issued, and finds the next one
//! among all possible IDs, under any clock.

use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{CellInit, Gate, Horizon, Limits, TRACKS};
use flakeid_core::generator::{Block, IdLayout, Rules, Stamp, Step, Word, step};
use flakeid_core::sno::{SCALE, TickTock};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The result of one attempt to issue from a cell.
type Outcome = Result<Option<Block>, Stall>;

/// An ID type with so few sequence numbers that a tick is soon exhausted.
struct Plain2;
impl IdLayout for Plain2 {
    const SEQUENCE_BITS: u32 = 2;
    const TICK_TOCK: bool = false;
}

struct TickTock3;
impl IdLayout for TickTock3 {
    const SEQUENCE_BITS: u32 = 3;
    const TICK_TOCK: bool = true;
}

const START: u64 = 1000;

/// The number of ticks by which a clock may be behind another's reading without having stepped
/// back.
const LATE: u64 = 1;

/// A tick and its timeline. Tuples have the order that stamps must have.
type At = (u64, bool);

fn at<S: IdLayout>(stamp: Stamp) -> At {
    (stamp.tick::<S>().0, stamp.toggle::<S>())
}

fn stamp<S: IdLayout>((tick, toggle): At) -> Stamp {
    Stamp::new::<S>(Tick(tick), toggle)
}

/// The outcomes that a generator ID may have.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Issued(Vec<(At, u32)>),
    Wait(u64),
    NewTick,
    SteppedBack(u64),
    Ended,
}

impl Answer {
    fn of_block<S: IdLayout>(block: Block) -> Self {
        let numbers = block.sequence..block.sequence + block.count;
        Self::Issued(numbers.map(|sequence| (at::<S>(block.stamp), sequence)).collect())
    }

    fn of_outcome<S: IdLayout>(outcome: Outcome) -> Self {
        match outcome {
            Ok(Some(block)) => Self::of_block::<S>(block),
            Err(Stall::Wait { until, .. }) => Self::Wait(until.0),
            Ok(None) => Self::NewTick,
            Err(Stall::SteppedBack { from, .. }) => Self::SteppedBack(from.0),
            Err(Stall::Ended) => Self::Ended,
            Err(Stall::Gated(_) | Stall::BeforeEpoch | Stall::Sealed | Stall::Outdated) => {
                panic!("{outcome:?}")
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Call {
    now: u64,
    floor: At,
    later: bool,
    within: u64,
    want: u32,
    /// The server's timeline at the time of the call.
    node: bool,
    /// Which of two settings holds at the time of the call.
    reloaded: bool,
}

/// A model of a generator ID, which remembers everything.
struct Model {
    tick_tock: bool,
    last: (At, u32),
    used: BTreeSet<(At, u32)>,
    /// The tick at which the model began, while it has issued nothing. A clock from this tick on
    /// has not stepped back.
    waits_from: Option<u64>,
    /// Whether the model has reported that the clock has stepped back.
    said: bool,
}

impl Model {
    fn new<S: IdLayout>(start: &CellInit) -> Self {
        let (own, other) = (start.toggle, !start.toggle);
        let floor = |timeline| start.floors[usize::from(timeline)].0;
        let now = start.now.map_or(0, |now| now.0);
        let is_past = |timeline| now > floor(timeline);
        let toggle = if !S::TICK_TOCK {
            false
        } else if start.now.is_none() || is_past(own) || now + LATE >= start.last_clock_reading.0 {
            own
        } else if is_past(other) || floor(other) < floor(own) {
            other
        } else {
            own
        };
        let spent = |tick, timeline| ((tick, timeline), (1 << S::SEQUENCE_BITS) - 1);
        let last = spent(floor(toggle), toggle);
        // IDs that may have been issued before count as used.
        let before = [false, true].map(|timeline| spent(floor(timeline), timeline));
        Self {
            tick_tock: S::TICK_TOCK,
            last,
            used: before.into(),
            waits_from: (start.now.is_none() || floor(toggle) > now)
                .then_some(start.last_clock_reading.0),
            // If the clock is past the floor of the other timeline, no session will notice the step
            // back any more.
            said: S::TICK_TOCK && toggle != own && is_past(toggle),
        }
    }

    fn answer(&mut self, call: &Call, rules: &Rules) -> Answer {
        let &Call { now, mut floor, later, within, want, node, .. } = call;
        let slice = rules.sequence.0..=rules.sequence.1;
        let ((held, toggle), _) = self.last;
        if now > within {
            return Answer::NewTick;
        }
        let least = if later { (floor.0 + 1, false) } else { floor };
        let stepped_back =
            now + LATE < held && self.waits_from.is_none_or(|since| now + LATE < since);
        if stepped_back && !self.said {
            self.said = true;
            return Answer::SteppedBack(held);
        }
        // This is the last tick that the other timeline has had, so it is free from the next one
        // on.
        let others = self.used.iter().filter(|&&((_, timeline), _)| timeline != toggle);
        let safe = others.map(|&((tick, _), _)| tick).max().unwrap_or(0);
        // A session's order ends at a step back, but not for the sessions that have seen the other
        // timeline's IDs.
        let across = self.tick_tock && now + LATE < floor.0;
        let follows = node != toggle && now > held && (across || (now, !toggle) >= least);
        if self.tick_tock && (stepped_back || follows) && safe < now && now <= rules.end.0 {
            if across || (now, !toggle) >= least {
                return self.issue((now, !toggle), slice.take(want as usize));
            }
            return Answer::Wait((now..).find(|&tick| (tick, !toggle) >= least).unwrap());
        }
        floor = if across { (0, false) } else { least };
        let tick = now.max(held).max(floor.0);
        if tick > rules.end.0 {
            return Answer::Ended;
        }
        let wait = |until: u64| match self.tick_tock && stepped_back {
            true => Answer::Wait(until.min(safe + 1)),
            false => Answer::Wait(until),
        };
        if tick > now && tick > held {
            return wait(tick);
        }
        let last = self.last;
        let mut left = slice.filter(|&n| ((tick, toggle), n) > last).peekable();
        match left.peek().is_some() && (tick, toggle) >= floor {
            true => self.issue((tick, toggle), left.take(want as usize)),
            false => wait(tick + 1),
        }
    }

    fn issue(&mut self, at: At, numbers: impl Iterator<Item = u32>) -> Answer {
        let ids: Vec<_> = numbers.map(|number| (at, number)).collect();
        for &id in &ids {
            assert!(self.used.insert(id), "the model itself repeats {id:?}");
        }
        self.said &= at == self.last.0;
        self.waits_from = None;
        self.last = ids[ids.len() - 1];
        Answer::Issued(ids)
    }
}

/// A slice of the sequence, in eighths, and the last tick.
type Setting = ((u32, u32), u64);

fn play<S: IdLayout>(cell: &Cell, start: &CellInit, settings: &[Setting; 2], calls: &[Call]) {
    let capacity = 1 << S::SEQUENCE_BITS;
    // The slice is one of the last eight numbers, or of all if there are fewer.
    let room = 8.min(capacity);
    let number = |eighth| capacity - room + eighth * room / 8;
    let rules = settings.map(|((first, last), end)| {
        let sequence = (number(first), number(last));
        Rules { sequence, end: Tick(end) }
    });
    let mut model = Model::new::<S>(start);
    for call in calls {
        let rules = &rules[usize::from(call.reloaded)];
        let &Call { now, floor, later, within, want, node, .. } = call;
        let floor = stamp::<S>(floor);
        let least = if later { floor.next_tick::<S>() } else { floor };
        let pure = (!S::TICK_TOCK && now <= within)
            .then(|| step::<S>(cell.word(), Tick(now), least, rules, want));
        let expected = model.answer(&Call { floor: at::<S>(floor), ..*call }, rules);

        let ask = IssueRequest {
            floor,
            later,
            within: Tick(within),
            want,
            generation: 0,
            ..IssueRequest::any(want)
        };
        let clock = &mut || Some(Tick(now));
        let gate = Gate::at(Horizon { until: [UnixNanos(u64::MAX); TRACKS], toggle: node });
        let outcome = cell.issue::<S>(ask, Limits::new(rules, &gate, SCALE), clock);
        assert_eq!(Answer::of_outcome::<S>(outcome), expected, "{call:?}");
        if let Err(Stall::Wait { until, now: read }) = outcome {
            assert!(read == Tick(now) && until > read, "{call:?}: {outcome:?}");
        }
        let word = cell.word();
        assert_eq!((at::<S>(word.stamp::<S>()), word.sequence::<S>()), model.last, "{call:?}");
        match pure.filter(|_| !matches!(outcome, Err(Stall::SteppedBack { .. }))) {
            Some(Step::Issue(next, block)) => {
                assert_eq!((next, Answer::of_block::<S>(block)), (word, expected));
            }
            Some(Step::Wait(until)) => assert_eq!(Answer::Wait(until.0), expected),
            Some(Step::Ended) => assert_eq!(Answer::Ended, expected),
            None => {}
        }
    }
}

/// Generates clocks that stand, advance, run and step back, a little and a lot.
fn calls() -> impl Strategy<Value = Vec<Call>> {
    let tick_by = prop_oneof![
        4 => Just(0),
        3 => 1..=2i64,
        2 => -3..=-1i64,
        1 => -40..=40i64,
    ];
    let floor_by = prop_oneof![3 => Just(None), 2 => (-3..=3i64, any::<bool>()).prop_map(Some)];
    let within_by = prop_oneof![4 => Just(None), 1 => (-1..=1i64).prop_map(Some)];
    let want = prop_oneof![3 => Just(1), 1 => 1..=10u32, 1 => Just(u32::MAX)];
    let (node, reloaded) = (prop::bool::weighted(0.3), prop::bool::weighted(0.1));
    let call = (tick_by, floor_by, any::<bool>(), within_by, want, node, reloaded);
    prop::collection::vec(call, 1..80).prop_map(|calls| {
        let mut now = START + 3;
        let mut timed = Vec::new();
        for (by, floor, later, within, want, node, reloaded) in calls {
            now = now.saturating_add_signed(by);
            let from_now = |by| now.saturating_add_signed(by);
            let floor = floor.map_or((0, false), |(by, timeline)| (from_now(by), timeline));
            let within = within.map_or(u64::MAX, from_now);
            timed.push(Call { now, floor, later, within, want, node, reloaded });
        }
        timed
    })
}

/// Generates horizons and clocks around the ticks where the calls begin.
fn starts() -> impl Strategy<Value = CellInit> {
    let tick = || (START - 10..START + 20).prop_map(Tick);
    let start = ([tick(), tick()], any::<bool>(), tick(), prop::option::of(tick()));
    start.prop_map(|(floors, toggle, last_clock_reading, now)| CellInit {
        floors,
        toggle,
        last_clock_reading,
        now,
    })
}

fn setting() -> impl Strategy<Value = Setting> {
    let slice = (0..8u32, 0..8u32).prop_map(|(a, b)| (a.min(b), a.max(b)));
    (slice, prop_oneof![2 => Just(SCALE.last().0), 1 => START..START + 60])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_generator_id_gives_what_the_naive_model_gives(
        start in starts(), settings in [setting(), setting()], calls in calls()
    ) {
        fn run<S: IdLayout>(start: &CellInit, settings: &[Setting; 2], calls: &[Call]) {
            let cell = Cell::after::<S>(Tick(START));
            let after = CellInit { floors: [Tick(START); 2], toggle: false, last_clock_reading: Tick(START), now: None };
            play::<S>(&cell, &after, settings, calls);
            let cell = Cell::after::<S>(Tick(0));
            cell.begin::<S>(*start);
            play::<S>(&cell, start, settings, calls);
        }
        // An ID type with one timeline has one floor.
        let plain = CellInit { floors: [start.floors[0]; 2], ..start };
        run::<Plain2>(&plain, &settings, &calls);
        run::<TickTock3>(&start, &settings, &calls);
        run::<Flake>(&plain, &settings, &calls);
        run::<TickTock>(&start, &settings, &calls);
    }

    #[test]
    fn words_sort_by_tick_then_timeline_then_sequence(
        a in ((0..1u64 << 39, any::<bool>()), 0..1u32 << 16),
        b in ((0..1u64 << 39, any::<bool>()), 0..1u32 << 16),
    ) {
        let word = |(at, sequence)| Word::new::<TickTock>(stamp::<TickTock>(at), sequence);
        prop_assert_eq!(word(a).cmp(&word(b)), a.cmp(&b));
        let stamp = word(a).stamp::<TickTock>();
        prop_assert_eq!((at::<TickTock>(stamp), word(a).sequence::<TickTock>()), a);
        prop_assert_eq!(at::<TickTock>(stamp.next_tick::<TickTock>()), (a.0.0 + 1, false));
        // An exhausted word has nothing left in its tick and its timeline, which is the first.
        prop_assert_eq!(word(a) <= Word::exhausted::<TickTock>(Tick(a.0.0), false), !a.0.1);
    }
}

#[test]
fn a_clock_before_the_epoch_and_a_tick_past_the_end_are_reported() {
    let cell = Cell::after::<Plain2>(Tick(START));
    let rules = Rules { sequence: (0, 3), end: Tick(START + 1) };
    let ask = |now: Option<u64>| {
        let ask = IssueRequest {
            floor: Stamp::default(),
            later: false,
            within: Tick(u64::MAX),
            want: 1,
            generation: 0,
            ..IssueRequest::any(1)
        };
        let clock = &mut || now.map(Tick);
        cell.issue::<Plain2>(ask, Limits::new(&rules, &Gate::open(), SCALE), clock)
    };
    assert_eq!(ask(None), Err(Stall::BeforeEpoch));
    assert!(matches!(ask(Some(START + 1)), Ok(Some(_))));
    assert_eq!(ask(Some(START + 2)), Err(Stall::Ended));
}
