//! Random numbers from a seed, the same on every machine: splitmix64.

use crate::clock::{HOUR, MILLISECOND, SECOND};
use std::cell::Cell;

/// A generator of random numbers. All parts of a fleet share it, so that one seed is one run.
pub struct Random(Cell<u64>);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&self, end: u64) -> u64 {
        (u128::from(self.next()) * u128::from(end) >> 64) as u64
    }

    /// Returns true once in `times`.
    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns the time from one event to the next, in nanoseconds: mostly microseconds, seldom up
    /// to an hour.
    pub fn duration(&self) -> u64 {
        match self.below(200) {
            0 => self.below(HOUR),
            1..=4 => self.below(2 * SECOND),
            5..=30 => self.below(20 * MILLISECOND),
            31..=80 => self.below(2 * MILLISECOND),
            _ => self.below(50_000),
        }
    }

    pub fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Returns mostly a small number, and seldom one near `end`: each power of two is as likely as
    /// the next.
    pub fn skewed(&self, end: u64) -> u64 {
        self.below(end) >> self.below(64 - u64::from(end.leading_zeros()))
    }
}
