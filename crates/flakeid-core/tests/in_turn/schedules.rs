//! Sessions interleaved in every way. One may run in the middle of another's call, at each point
//! where that one reads the clock. That is between its load of the words and its swap.

use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;

const START: u64 = 1000;
const FAR: Tick = Tick(1 << 38);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Forward,
    Noisy,
    StepsBack,
}

/// A reading of the clock: the clock advances by `by`, and this processor sees it `late` ticks
/// late.
type Reading = (i64, u64);

#[derive(Clone, Debug)]
struct Call {
    walker: usize,
    want: u32,
    readings: Vec<Reading>,
    interruption: Option<Box<Interruption>>,
}

/// Other calls, made while a session reads the clock for the n-th time: before the reading, or
/// after it.
#[derive(Clone, Debug)]
struct Interruption {
    reads: usize,
    before: bool,
    /// How many IDs in a row each of them takes.
    times: usize,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
enum Event {
    Next(Call),
    /// The walker's list becomes the generator IDs of the mask.
    Reload {
        walker: usize,
        mask: u8,
        number: u32,
    },
}

#[derive(Clone, Debug)]
struct Script {
    slots: usize,
    walkers: usize,
    slice: (u32, u32),
    end: Tick,
    events: Vec<Event>,
}

struct Walker {
    session: Session,
    owned: Vec<usize>,
    last: Option<Number>,
    /// Whether its list has changed since its last number. Then it gets nothing of that tick.
    moved: bool,
}

impl Walker {
    /// Returns whether a number may follow its last.
    fn may_get(&self, number: Number) -> bool {
        self.owned.contains(&number.slot)
            && self.last.is_none_or(|last| match self.moved {
                true => number.tick > last.tick,
                false => number > last,
            })
    }
}

struct State {
    walkers: Vec<Option<Walker>>,
    /// All numbers that were issued.
    given: BTreeSet<Number>,
    now: u64,
    /// The greatest reading so far.
    greatest: u64,
}

struct World<S> {
    cells: Vec<Cell>,
    rules: Rules,
    gate: Gate,
    clock: Clock,
    state: RefCell<State>,
    id_type: PhantomData<S>,
}

impl<S: IdLayout> World<S> {
    fn new(script: &Script, clock: Clock) -> Self {
        // The slice is one of the last four numbers, or of all if there are fewer.
        let capacity = 1 << S::SEQUENCE_BITS;
        let room = 4.min(capacity);
        let slice = (script.slice.0 * room / 4, script.slice.1 * room / 4);
        let walker = |number| {
            let owned: Vec<usize> = (0..script.slots).collect();
            let session = Session::new(number as u32, script.slots);
            Some(Walker { session, owned, last: None, moved: false })
        };
        let walkers = (0..script.walkers).map(walker).collect();
        let state = State { walkers, given: BTreeSet::new(), now: START + 3, greatest: 0 };
        Self {
            cells: (0..script.slots).map(|_| Cell::after::<S>(Tick(START))).collect(),
            rules: Rules {
                sequence: (capacity - room + slice.0, capacity - room + slice.1),
                end: script.end,
            },
            gate: Gate::open(),
            clock,
            state: RefCell::new(state),
            id_type: PhantomData,
        }
    }

    fn play(&self, script: &Script) {
        for event in &script.events {
            match event {
                Event::Next(call) => _ = self.next(call),
                &Event::Reload { walker, mask, number } => {
                    let mut state = self.state.borrow_mut();
                    let count = state.walkers.len();
                    let walker = state.walkers[walker % count].as_mut().unwrap();
                    walker.owned = (0..self.cells.len()).filter(|i| mask >> i & 1 == 1).collect();
                    if walker.owned.is_empty() {
                        walker.owned = (0..self.cells.len()).collect();
                    }
                    walker.session = walker.session.moved(number, walker.owned.len());
                    walker.moved = walker.last.is_some();
                }
            }
        }
    }

    fn read(&self, (by, late): Reading) -> u64 {
        let mut state = self.state.borrow_mut();
        state.now = state.now.saturating_add_signed(by).max(1);
        let reading = state.now - late;
        state.greatest = state.greatest.max(reading);
        reading
    }

    /// Makes one call of a session. Returns `None` if the session is in the middle of a call
    /// already.
    fn next(&self, call: &Call) -> Option<Result<Issued, Stall>> {
        let number = call.walker % self.state.borrow().walkers.len();
        let mut walker = self.state.borrow_mut().walkers[number].take()?;
        let owned: Vec<_> =
            IssuingCell::numbered(walker.owned.iter().map(|&i| &self.cells[i])).collect();
        let (mut reads, mut last, mut alone) = (0, 0, true);
        let mut clock = || {
            let mut interruption = |before| {
                let other = call.interruption.as_ref();
                let other = other.filter(|other| (other.reads, other.before) == (reads, before));
                let Some(other) = other else { return };
                alone = false;
                for _ in 0..other.times {
                    other.calls.iter().for_each(|call| _ = self.next(call));
                }
            };
            interruption(true);
            let reading = self.read(*call.readings.get(reads).unwrap_or(&(0, 0)));
            interruption(false);
            reads += 1;
            last = reading;
            Some(Tick(reading))
        };
        let limits = Limits::new(&self.rules, &self.gate, SCALE);
        let given = walker.session.next::<S>(&owned, call.want, limits, &mut clock);
        let expected = self.left_for(&walker, last);
        let mut state = self.state.borrow_mut();
        match given {
            Ok(issued) => {
                let number = Number::given::<S>(issued, &walker.owned);
                assert!(walker.may_get(number), "{number:?} is not above {:?}", walker.last);
                assert!(walker.last.is_none_or(|last| last.id() < number.id()));
                assert!(number.tick >= last, "{number:?} is late");
                assert!(number.tick <= state.greatest, "{number:?} is early");
                assert!(Tick(number.tick) <= self.rules.end);
                let (first, last) = self.rules.sequence;
                assert!((first..=last).contains(&number.sequence), "{number:?}");
                assert!(state.given.insert(number), "{number:?} repeats");
                if self.clock == Clock::Forward {
                    // If another session was faster, nothing below its number is left.
                    let least = expected.expect("a number is left");
                    assert!(number <= least || !alone, "{number:?} for {least:?}");
                    let left = self.all(number.tick, &walker.owned);
                    let skipped =
                        left.take_while(|&n| n < number).find(|n| !state.given.contains(n));
                    assert_eq!(skipped, None, "{number:?} leaves it behind");
                }
                if self.clock == Clock::Forward && alone {
                    assert_eq!(Some(number), expected);
                }
                (walker.last, walker.moved) = (Some(number), false);
            }
            Err(Stall::Wait { until, now }) => {
                assert!(until > now && now.0 == last);
                if self.clock == Clock::Forward {
                    assert_eq!((until, expected), (Tick(now.0 + 1), None));
                }
            }
            Err(Stall::Ended) => assert!(state.greatest >= self.rules.end.0),
            Err(Stall::SteppedBack { from, now }) => {
                assert_eq!(self.clock, Clock::StepsBack);
                assert!(from > now);
            }
            Err(Stall::Gated(_) | Stall::BeforeEpoch | Stall::Sealed | Stall::Outdated) => {
                panic!("{given:?}")
            }
        }
        state.walkers[number] = Some(walker);
        Some(given)
    }

    /// Returns all numbers of a tick on these generator IDs, in the order in which they must be
    /// issued.
    fn all<'a>(&self, tick: u64, owned: &'a [usize]) -> impl Iterator<Item = Number> + use<'a, S> {
        let (first, last) = self.rules.sequence;
        (first..=last).flat_map(move |sequence| {
            owned.iter().map(move |&slot| Number { tick, sequence, slot })
        })
    }

    /// Returns the least number of this tick that no session has and that may follow a session's
    /// last.
    fn left_for(&self, walker: &Walker, tick: u64) -> Option<Number> {
        let given = &self.state.borrow().given;
        self.all(tick, &walker.owned).find(|&n| walker.may_get(n) && !given.contains(&n))
    }

    /// Checks that a generator ID's numbers are issued from the first on without a gap, up to its
    /// word.
    fn assert_words_are_what_went_out(&self) {
        let given = &self.state.borrow().given;
        for &number in given {
            let before = Number { sequence: number.sequence.wrapping_sub(1), ..number };
            assert!(number.sequence == self.rules.sequence.0 || given.contains(&before));
        }
        for (slot, cell) in self.cells.iter().enumerate() {
            let last = given.iter().rev().find(|number| number.slot == slot);
            let word = cell.word();
            let (tick, sequence) = (word.stamp::<S>().tick::<S>().0, word.sequence::<S>());
            let unused = tick == START && cell.counters.get().issued == 0;
            let said = Number { tick, sequence, slot };
            assert_eq!(last.copied(), Some(said).filter(|_| !unused));
        }
        let issued: u64 = self.cells.iter().map(|cell| cell.counters.get().issued).sum();
        assert_eq!(issued, given.len() as u64);
    }

    /// If no other session runs, a session that returns when it was told to gets an ID soon.
    fn assert_all_continue(&self) {
        let count = self.state.borrow().walkers.len();
        for walker in 0..count {
            let call = Call { walker, want: 1, readings: Vec::new(), interruption: None };
            let (mut waits, mut notes) = (0, 0);
            while let Err(stall) = self.next(&call).unwrap() {
                match stall {
                    Stall::Wait { until, .. } => {
                        self.state.borrow_mut().now = until.0;
                        waits += 1;
                    }
                    Stall::SteppedBack { .. } => notes += 1,
                    stall => panic!("{stall:?}"),
                }
                assert!(waits <= 3 + self.cells.len(), "still waits");
                assert!(notes <= self.cells.len(), "still says that the clock has stepped back");
            }
        }
    }
}

fn call(reading: BoxedStrategy<Reading>) -> impl Strategy<Value = Call> {
    let want = prop_oneof![4 => Just(1), 1 => Just(u32::MAX)];
    let call = (0..4usize, want, prop::collection::vec(reading, 0..4))
        .prop_map(|(walker, want, readings)| Call { walker, want, readings, interruption: None });
    call.prop_recursive(2, 6, 2, |call| {
        let times = prop_oneof![4 => Just(1), 1 => 2..12usize];
        let calls = prop::collection::vec(call.clone(), 1..3);
        let interruption =
            (0..3usize, any::<bool>(), times, calls).prop_map(|(reads, before, times, calls)| {
                Box::new(Interruption { reads, before, times, calls })
            });
        (call, prop::option::weighted(0.4, interruption))
            .prop_map(|(call, interruption)| Call { interruption, ..call })
    })
}

fn script(reading: impl Strategy<Value = Reading> + 'static) -> impl Strategy<Value = Script> {
    let reload = (0..4usize, any::<u8>(), any::<u32>())
        .prop_map(|(walker, mask, number)| Event::Reload { walker, mask, number });
    let call = call(reading.boxed()).prop_map(Event::Next);
    let event = prop_oneof![20 => call, 1 => reload];
    let events = prop::collection::vec(event, 1..80);
    let slice = prop_oneof![Just((0, 3)), (0..4u32, 0..4u32)];
    let slice = slice.prop_map(|(a, b)| (a.min(b), a.max(b)));
    let end = prop_oneof![5 => Just(FAR), 1 => (START..START + 40).prop_map(Tick)];
    (1..=5usize, 1..=4usize, slice, end, events).prop_map(|(slots, walkers, slice, end, events)| {
        Script { slots, walkers, slice, end, events }
    })
}

fn by() -> impl Strategy<Value = i64> {
    prop_oneof![20 => Just(0), 2 => Just(1), 1 => 2..5i64]
}

fn forward() -> impl Strategy<Value = Reading> {
    (by(), Just(0))
}

/// Generates clocks of several processors: each advances, and one may be a tick behind another.
fn noise() -> impl Strategy<Value = Reading> {
    (by(), 0..=1u64)
}

fn steps() -> impl Strategy<Value = Reading> {
    (prop_oneof![8 => by(), 3 => -4..0i64, 1 => -50..50i64], 0..=1u64)
}

fn play<S: IdLayout>(script: &Script, clock: Clock) {
    let world = World::<S>::new(script, clock);
    world.play(script);
    world.assert_words_are_what_went_out();
    if script.end == FAR {
        world.assert_all_continue();
        world.assert_words_are_what_went_out();
    }
}

fn play_all(script: &Script, clock: Clock) {
    play::<Numbers<1>>(script, clock);
    play::<Numbers<2>>(script, clock);
    play::<UniqueId>(script, clock);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024, failure_persistence: None, ..Default::default()
    })]

    /// A session gets the least number that is left for it, and waits only if there is no such
    /// number.
    #[test]
    fn numbers_go_out_in_their_order_while_the_clock_goes_forward(script in script(forward())) {
        play_all(&script, Clock::Forward);
    }

    /// No number repeats and each session's numbers increase, here and below.
    #[test]
    fn clocks_a_tick_apart_are_no_step_back(script in script(noise())) {
        play_all(&script, Clock::Noisy);
    }

    #[test]
    fn a_clock_step_back_never_repeats_a_number(script in script(steps())) {
        play_all(&script, Clock::StepsBack);
    }
}
