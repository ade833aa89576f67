#![cfg(not(loom))]
//! Sessions that share a server's generator IDs, in one thread but interleaved in every way. A
//! session may run in the middle of another's call, at each point where that one reads the clock.
//! That is between its load of the word and its swap.

mod ledger;

use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::gate::{Gate, Horizon, Limits, TRACKS};
use flakeid_core::generator::{Block, IdLayout, Rules};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::{SCALE, TickTock};
use ledger::{Ledger, Steps};
use proptest::prelude::*;
use std::cell::RefCell;
use std::marker::PhantomData;

struct Plain2;
impl IdLayout for Plain2 {
    const SEQUENCE_BITS: u32 = 2;
    const TICK_TOCK: bool = false;
}

struct TickTock2;
impl IdLayout for TickTock2 {
    const SEQUENCE_BITS: u32 = 2;
    const TICK_TOCK: bool = true;
}

struct TickTock3;
impl IdLayout for TickTock3 {
    const SEQUENCE_BITS: u32 = 3;
    const TICK_TOCK: bool = true;
}

const START: u64 = 1000;
const OPEN: Horizon = Horizon { until: [UnixNanos(u64::MAX); TRACKS], toggle: false };
const FAR: Tick = Tick(1 << 38);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Forward,
    Noisy,
    /// A clock such as [`Clock::Noisy`], on a server that changes from timeline to timeline.
    Turns,
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

/// Another call, made while a session reads the clock for the n-th time: before the reading, or
/// after it.
#[derive(Clone, Debug)]
struct Interruption {
    reads: usize,
    before: bool,
    call: Call,
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
    /// The server changes to this timeline.
    Turn(bool),
}

#[derive(Clone, Debug)]
struct Script {
    slots: usize,
    numbers: Vec<u32>,
    slice: (u32, u32),
    end: Tick,
    events: Vec<Event>,
}

/// A session, with the state on which its promises depend.
struct Walker {
    session: Session,
    owned: Vec<usize>,
    /// The tick of its last ID, and the slot of that ID if the session's list has not changed
    /// since.
    last: Option<(u64, Option<usize>)>,
    /// The tick until which it was told to wait.
    waits: u64,
}

struct State {
    walkers: Vec<Option<Walker>>,
    ledger: Ledger,
    now: u64,
    /// The greatest reading so far.
    greatest: u64,
    reloaded: bool,
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
        // The slice is one of the last eight numbers, or of all if there are fewer.
        let capacity = 1 << S::SEQUENCE_BITS;
        let room = 8.min(capacity);
        let slice = (script.slice.0 * room / 8, script.slice.1 * room / 8);
        let sequence = (capacity - room + slice.0, capacity - room + slice.1);
        let walker = |&number: &u32| {
            let session = Session::new(number, script.slots);
            Some(Walker { session, owned: (0..script.slots).collect(), last: None, waits: 0 })
        };
        let steps = match clock {
            Clock::Forward | Clock::Noisy => Steps::Never,
            Clock::Turns => Steps::Elsewhere,
            Clock::StepsBack => Steps::Back,
        };
        let state = State {
            walkers: script.numbers.iter().map(walker).collect(),
            ledger: Ledger::new(steps, sequence.0),
            now: START + 3,
            greatest: 0,
            reloaded: false,
        };
        Self {
            cells: (0..script.slots).map(|_| Cell::after::<S>(Tick(START))).collect(),
            rules: Rules { sequence, end: script.end },
            gate: Gate::at(OPEN),
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
                    state.reloaded = true;
                    let count = state.walkers.len();
                    let walker = state.walkers[walker % count].as_mut().unwrap();
                    walker.owned = (0..self.cells.len()).filter(|i| mask >> i & 1 == 1).collect();
                    if walker.owned.is_empty() {
                        walker.owned = (0..self.cells.len()).collect();
                    }
                    walker.session = walker.session.moved(number, walker.owned.len());
                    walker.last = walker.last.map(|(tick, _)| (tick, None));
                    walker.waits = 0;
                }
                &Event::Turn(toggle) => self.gate.set(Horizon { toggle, ..OPEN }),
            }
        }
        let state = self.state.borrow();
        for (slot, cell) in self.cells.iter().enumerate() {
            assert_eq!(state.ledger.below_word::<S>(slot as u64, cell.word()), Ok(()));
        }
        // The session gets all of its prefetched IDs before the tick is over.
        if self.clock == Clock::Forward && script.numbers.len() == 1 && !state.reloaded {
            assert_eq!(state.ledger.without_gaps(), Ok(()));
        }
    }

    fn read(&self, (by, late): Reading) -> u64 {
        let mut state = self.state.borrow_mut();
        state.now = state.now.saturating_add_signed(by);
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
        let home = walker.session.home();
        let (mut reads, mut last) = (0, 0);
        let mut clock = || {
            let interruption = |before| {
                let other = call.interruption.as_ref();
                let other = other.filter(|other| (other.reads, other.before) == (reads, before));
                other.map(|other| self.next(&other.call));
            };
            interruption(true);
            let reading = self.read(*call.readings.get(reads).unwrap_or(&(0, 0)));
            interruption(false);
            reads += 1;
            last = reading;
            Some(Tick(reading))
        };
        let (want, rules) = (call.want, &self.rules);
        let limits = Limits::new(rules, &self.gate, SCALE);
        let given = walker.session.next::<S>(&owned, want, limits, &mut clock);
        let mut state = self.state.borrow_mut();
        match given {
            Ok(Issued { generator_id, block, .. }) => {
                let slot = generator_id as usize;
                let Block { stamp, sequence, count } = block;
                let tick = stamp.tick::<S>();
                assert!((1..=want).contains(&count));
                assert!(rules.sequence.0 <= sequence);
                assert!(sequence + count - 1 <= rules.sequence.1);
                assert!(tick.0 >= last, "{block:?} is late");
                assert!(tick.0 <= state.greatest, "{block:?} is early");
                assert!(tick <= rules.end);
                let id = walker.owned[slot] as u64;
                assert_eq!(state.ledger.enter::<S>(number, id, block), Ok(()));
                walker.last = Some((tick.0, Some(slot)));
            }
            Err(Stall::Wait { until, now }) => {
                assert!(until > now);
                if self.clock == Clock::Forward {
                    self.assert_nothing_left(&walker, home, now.0);
                }
                walker.waits = until.0;
            }
            // A session may need the tick after its last.
            Err(Stall::Ended) => assert!(state.greatest >= rules.end.0),
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

    /// Checks a wait with a clock that does not step back. No generator ID from the session's slot
    /// on has a number left in the tick from which it must take.
    fn assert_nothing_left(&self, walker: &Walker, home: usize, now: u64) {
        if now < walker.waits {
            // It has been at an exhausted generator ID since. Its home may be lower now, for the
            // next tick.
            return;
        }
        let (tick, place) = match walker.last {
            // A session that goes home leaves lower generator IDs, even in the middle of a tick.
            Some((tick, Some(place))) if tick >= now => (tick, place.max(home)),
            // No ID of the new list may sort below it.
            Some((tick, None)) if tick >= now => (tick + 1, home),
            _ => (now, home),
        };
        if tick > now {
            return;
        }
        for &slot in &walker.owned[place..] {
            let word = self.cells[slot].word();
            let left = match word.stamp::<S>().tick::<S>().0 {
                last if last == tick => word.sequence::<S>() < self.rules.sequence.1,
                last => last < tick,
            };
            assert!(!left, "slot {slot} has some left in tick {tick}");
        }
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

    /// The IDs taken from the cells are those that the sessions used, once no session has
    /// prefetched IDs. A session that asks for a single ID in two ticks has none left.
    fn assert_all_are_counted(&self) {
        for _ in 0..2 {
            let mut state = self.state.borrow_mut();
            state.now = state.now.max(state.greatest) + 2;
            drop(state);
            self.assert_all_continue();
        }
        let issued: u64 = self.cells.iter().map(|cell| cell.counters.get().issued).sum();
        assert_eq!(issued, self.state.borrow().ledger.ids().count() as u64);
    }
}

fn call(reading: BoxedStrategy<Reading>) -> impl Strategy<Value = Call> {
    let want = prop_oneof![4 => Just(1), 2 => 2..6u32, 1 => Just(u32::MAX)];
    let call = (0..4usize, want, prop::collection::vec(reading, 0..5))
        .prop_map(|(walker, want, readings)| Call { walker, want, readings, interruption: None });
    call.prop_recursive(2, 3, 1, |call| {
        let interruption = (0..3usize, any::<bool>(), call.clone())
            .prop_map(|(reads, before, call)| Box::new(Interruption { reads, before, call }));
        (call, prop::option::weighted(0.3, interruption))
            .prop_map(|(call, interruption)| Call { interruption, ..call })
    })
}

fn script(
    reading: impl Strategy<Value = Reading> + 'static,
    turns: bool,
) -> impl Strategy<Value = Script> {
    let numbers = prop_oneof![0..8u32, any::<u32>()];
    let reload = (0..4usize, any::<u8>(), numbers.clone())
        .prop_map(|(walker, mask, number)| Event::Reload { walker, mask, number });
    let turn = any::<bool>().prop_map(Event::Turn);
    let turns = u32::from(turns);
    let call = call(reading.boxed()).prop_map(Event::Next);
    let event = prop_oneof![15 => call, 1 => reload, turns => turn];
    let slice = (0..8u32, 0..8u32).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let end = prop_oneof![5 => Just(FAR), 1 => (START..START + 40).prop_map(Tick)];
    let numbers = prop::collection::vec(numbers, 1..=4);
    let script = (1..=5usize, numbers, slice, end, prop::collection::vec(event, 1..60));
    script.prop_map(|(slots, numbers, slice, end, events)| Script {
        slots,
        numbers,
        slice,
        end,
        events,
    })
}

fn by() -> impl Strategy<Value = i64> {
    prop_oneof![12 => Just(0), 4 => Just(1), 1 => 2..5i64]
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
    if script.end == FAR {
        world.assert_all_continue();
        if !world.state.borrow().reloaded {
            world.assert_all_are_counted();
        }
    }
}

/// Checks every run: no ID repeats, none is ahead of all clocks or below the session's last, and a
/// session that waits as it was told continues.
fn play_all(script: &Script, clock: Clock) {
    play::<Plain2>(script, clock);
    play::<TickTock2>(script, clock);
    play::<TickTock3>(script, clock);
    play::<Flake>(script, clock);
    play::<TickTock>(script, clock);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024, failure_persistence: None, ..Default::default()
    })]

    /// Each session's IDs increase.
    #[test]
    fn sessions_never_wait_for_nothing_while_the_clock_goes_forward(script in script(forward(), false)) {
        play_all(&script, Clock::Forward);
    }

    /// Each session's IDs increase with noise too, for ID types with and without a tick-tock bit.
    #[test]
    fn clocks_a_tick_apart_are_no_step_back(script in script(noise(), false)) {
        play_all(&script, Clock::Noisy);
    }

    /// Each session's IDs increase when the server changes its timeline.
    #[test]
    fn sessions_that_follow_the_servers_timeline_keep_rising(script in script(noise(), true)) {
        play_all(&script, Clock::Turns);
    }

    /// Each session's IDs increase for ID types without a tick-tock bit.
    #[test]
    fn a_clock_step_back_never_repeats_an_id(script in script(steps(), true)) {
        play_all(&script, Clock::StepsBack);
    }
}
