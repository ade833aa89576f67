//! The atomic around the step: one partition's state in one system, shared by all who issue from it.
//!
//! # Why no ID comes twice
//! 1. Every ID goes out after a compare-and-swap that put its word, or a greater one of the same
//!    block, in place of the word it was computed from. Two blocks computed from the same word:
//!    one swap fails, and that thread computes again.
//! 2. [`step`] only replaces a word by a greater one. A [`turn`] replaces it by one at a tick above
//!    all that the other timeline has had, so that word is new too. Hence no value of the word ever
//!    comes back, and a swap that succeeds has met the very word that was read, not a look-alike.
//! 3. A turn away from timeline `b` first raises `reached[b]` to the word's tick and then swaps.
//!    If the swap succeeds, that tick was the last of timeline `b`. If it fails, `reached[b]` names
//!    a tick that timeline `b` has really had, so it is still a bound from below and, because only
//!    a thread that sees the word in the *other* timeline asks for it, harmless. Whoever reads a word
//!    in timeline `!b` therefore finds in `reached[b]` all that `b` has ever issued.
//!
//! # Why the word is read before the clock
//! A clock read first may be old by the time the word is read: another thread has moved the word on
//! meanwhile, and the clock only *looks* as if it had stepped back. For the tick-tock that is fatal:
//! it would turn for nothing, twice within a period. With the word first, a clock behind it has
//! really been behind, on this processor, after the word was written.

use crate::clock::{Scale, Tick};
use crate::gate::Gate;
use crate::generator::{Block, Rules, Stamp, Step, System, Word, step, stepped_back, turn};
use crate::sync::{AtomicU64, Ordering, spin_loop};

/// One partition's state in one system, on cache lines of its own: 128 bytes, as processors fetch
/// lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
pub struct Cell {
    /// A [`Word`]: what was issued last.
    word: AtomicU64,
    /// Per timeline the last tick it had when it was last left. Only systems with a tick-tock bit
    /// use it; sno's specification calls that of the other timeline `wall_safe`.
    reached: [AtomicU64; 2],
}

/// What an attempt at a cell came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These IDs are the caller's.
    Issued(Block),
    /// Nothing here before the clock reads this tick; it read `now`.
    Wait { until: Tick, now: Tick },
    /// The clock has passed the tick that the caller wanted to stay in.
    NewTick,
    /// The gate does not admit this tick.
    Gated(Tick),
    /// Time has passed the last tick that may be issued.
    Ended,
    /// The clock is before the epoch.
    BeforeEpoch,
}

/// What the caller of [`Cell::issue`] asks for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The session's last stamp: what it gets sorts at or above it, but where a tick-tock has turned.
    pub floor: Stamp,
    /// Whether it must be above: of a later tick.
    pub later: bool,
    /// Nothing is issued once the clock is past this tick.
    pub within: Tick,
    /// How many IDs are wanted, at least one.
    pub want: u32,
}

impl Cell {
    /// A cell that has issued nothing and may issue whatever comes after `tick`.
    pub fn after<S: System>(tick: Tick) -> Self {
        Self {
            word: AtomicU64::new(Word::spent::<S>(tick).0),
            reached: [AtomicU64::new(tick.0), AtomicU64::new(tick.0)],
        }
    }

    /// Makes this cell what [`Cell::after`] gives. For a cell that nobody issues from yet: who lets
    /// others see it must do so by a Release of their own.
    pub fn begin_after<S: System>(&self, tick: Tick) {
        self.word.store(Word::spent::<S>(tick).0, Ordering::Relaxed);
        for reached in &self.reached {
            reached.store(tick.0, Ordering::Relaxed);
        }
    }

    /// The last word, for those who only look.
    pub fn word(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }

    /// Takes the next IDs of this partition, or says why there are none. `clock` is read once a try,
    /// always after the word; `None` means before the epoch.
    #[inline]
    pub fn issue<S: System>(
        &self,
        ask: Ask,
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Outcome {
        // Acquire pairs with the Release of the swap that wrote this word: what its writer put into
        // `reached` before it is seen below.
        let mut word = Word(self.word.load(Ordering::Acquire));
        loop {
            let Some(now) = clock() else {
                return Outcome::BeforeEpoch;
            };
            if now > ask.within {
                return Outcome::NewTick;
            }
            let (next, block) = match self.decide::<S>(word, now, ask, rules) {
                Step::Issue(next, block) => (next, block),
                Step::Wait(until) => return Outcome::Wait { until, now },
                Step::Ended => return Outcome::Ended,
            };
            let tick = block.stamp.tick::<S>();
            if !gate.admits(scale, tick) {
                return Outcome::Gated(tick);
            }
            // Release publishes `reached`; Acquire as above, for the next round.
            match self.word.compare_exchange_weak(
                word.0,
                next.0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Outcome::Issued(block),
                Err(actual) => word = Word(actual),
            }
            spin_loop();
        }
    }

    /// [`step`], or a tick-tock's [`turn`] where the clock has stepped back and the other timeline
    /// is free.
    #[inline]
    fn decide<S: System>(&self, word: Word, now: Tick, ask: Ask, rules: &Rules) -> Step {
        let floor = match ask.later {
            true => ask.floor.next_tick::<S>(),
            false => ask.floor,
        };
        if !S::TICK_TOCK {
            return step::<S>(word, now, floor, rules, ask.want);
        }
        let stamp = word.stamp::<S>();
        if stepped_back::<S>(stamp, now) {
            // Relaxed: the word's Acquire has brought what the last turn wrote.
            let safe = Tick(self.reached[!stamp.toggle::<S>() as usize].load(Ordering::Relaxed));
            if let Some((next, block)) = turn::<S>(word, now, safe, rules, ask.want) {
                // Relaxed: the swap's Release puts it before the word that turns.
                self.reached[stamp.toggle::<S>() as usize]
                    .fetch_max(stamp.tick::<S>().0, Ordering::Relaxed);
                return Step::Issue(next, block);
            }
        }
        // Across a step back a session's order is given up, as the format has it.
        let floor = match stepped_back::<S>(ask.floor, now) {
            true => Stamp::default(),
            false => floor,
        };
        step::<S>(word, now, floor, rules, ask.want)
    }
}
