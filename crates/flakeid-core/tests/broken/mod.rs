//! Loops that issue IDs and are wrong, each in one point, to show that the tests notice.
#![allow(dead_code, reason = "each test that shares this uses a part of it")]

use flakeid_core::clock::Tick;
use flakeid_core::generator::{
    Block, IdLayout, Rules, Stamp, Step, Word, change_timeline, step, stepped_back,
};

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

/// The flaw of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no flaw.
    None,
    /// The clock is read before the word, so it may look as if it had stepped back.
    ClockFirst,
    /// The new word is stored, even if the old one has changed.
    BlindStore,
    /// A change of timeline does not ask for the last tick of the other timeline.
    HeedlessTurn,
}

/// A cell like the real one, except for its flaw and for floors, which it does not have.
pub struct Cell {
    flaw: Flaw,
    word: AtomicU64,
    reached: [AtomicU64; 2],
}

impl Cell {
    pub fn after<S: IdLayout>(tick: Tick, flaw: Flaw) -> Self {
        let word = AtomicU64::new(number::<S>(Word::exhausted::<S>(tick, false)));
        Self { flaw, word, reached: [AtomicU64::new(tick.0), AtomicU64::new(tick.0)] }
    }

    /// Issues one ID.
    pub fn issue<S: IdLayout>(
        &self,
        rules: &Rules,
        clock: &mut impl FnMut() -> Tick,
    ) -> Option<Block> {
        loop {
            let early = (self.flaw == Flaw::ClockFirst).then(&mut *clock);
            let old = self.word.load(Ordering::Acquire);
            let word = word::<S>(old);
            let now = early.unwrap_or_else(&mut *clock);
            let Step::Issue(next, block) = self.decide::<S>(word, now, rules) else {
                return None;
            };
            let next = number::<S>(next);
            if self.flaw == Flaw::BlindStore {
                self.word.store(next, Ordering::Release);
                return Some(block);
            }
            let swap = self.word.compare_exchange(old, next, Ordering::AcqRel, Ordering::Acquire);
            if swap.is_ok() {
                return Some(block);
            }
        }
    }

    fn decide<S: IdLayout>(&self, word: Word, now: Tick, rules: &Rules) -> Step {
        let stamp = word.stamp::<S>();
        if S::TICK_TOCK && stepped_back::<S>(stamp, now) {
            let reached = |timeline: bool| &self.reached[usize::from(timeline)];
            let safe = match self.flaw {
                Flaw::HeedlessTurn => Tick(0),
                _ => Tick(reached(!stamp.toggle::<S>()).load(Ordering::Relaxed)),
            };
            if let Some((next, block)) = change_timeline::<S>(word, now, safe, rules, 1) {
                let tick = stamp.tick::<S>().0;
                reached(stamp.toggle::<S>()).fetch_max(tick, Ordering::Relaxed);
                return Step::Issue(next, block);
            }
        }
        step::<S>(word, now, Stamp::default(), rules, 1)
    }
}

/// Returns the bits of a word: its stamp's tick and toggle, and its sequence.
fn number<S: IdLayout>(word: Word) -> u64 {
    let (stamp, timelines) = (word.stamp::<S>(), 1 + u64::from(S::TICK_TOCK));
    let stamp = stamp.tick::<S>().0 * timelines + u64::from(stamp.toggle::<S>());
    (stamp << S::SEQUENCE_BITS) + u64::from(word.sequence::<S>())
}

fn word<S: IdLayout>(number: u64) -> Word {
    let timelines = 1 + u64::from(S::TICK_TOCK);
    let stamp = number >> S::SEQUENCE_BITS;
    let stamp = Stamp::new::<S>(Tick(stamp / timelines), stamp % timelines == 1);
    Word::new::<S>(stamp, (number % (1 << S::SEQUENCE_BITS)) as u32)
}
