//! A node's clock: right but for its skew and drift, until somebody sets it or the machine is held.

use crate::random::Random;
use std::cell::Cell;

pub const SECOND: u64 = 1_000_000_000;
pub const HOUR: u64 = 3600 * SECOND;
pub const YEAR: u64 = 365 * 24 * HOUR;

/// A clock is not set to a time outside of these, so that no system ends. Nanoseconds since 1970.
const RANGE: std::ops::Range<u64> = 45 * YEAR..65 * YEAR;

/// Readings are nanoseconds since 1970, and so is the true time, which no node knows.
pub struct Clock(Cell<State>);

#[derive(Clone, Copy)]
struct State {
    /// It read `reading` at the true time `from`, or reads it until then.
    reading: u64,
    from: u64,
    /// What it makes of a second, in parts of 2^32.
    rate: u64,
    steps_back: u64,
}

impl Clock {
    /// One that is wrong by up to `skew`, and goes wrong by up to 200 parts in a million.
    pub fn new(random: &Random, time: u64, skew: u64) -> Self {
        let reading = time - skew + random.below(2 * skew + 1);
        let rate = (1 << 32) * (999_800 + random.below(401)) / 1_000_000;
        Self(Cell::new(State { reading, from: time, rate, steps_back: 0 }))
    }

    /// What it shows.
    pub fn read(&self, time: u64) -> u64 {
        let State { reading, from, rate, .. } = self.0.get();
        reading + (u128::from(time.saturating_sub(from)) * u128::from(rate) >> 32) as u64
    }

    /// The true time at which it will show `reading`.
    pub fn time_of(&self, reading: u64, time: u64) -> u64 {
        let State { reading: then, from, rate, .. } = self.0.get();
        let run = u128::from(reading.saturating_sub(then)) << 32;
        time.max(from + (run / u128::from(rate)) as u64 + 2)
    }

    /// How often it has been set back.
    pub fn steps_back(&self) -> u64 {
        self.0.get().steps_back
    }

    /// Somebody sets it by hand, or by a time server that is wrong.
    pub fn set(&self, time: u64, to: u64) {
        let mut state = self.0.get();
        let to = if RANGE.contains(&to) { to } else { time };
        state.steps_back += u64::from(to < self.read(time));
        self.0.set(State { reading: to, from: time, ..state });
    }

    /// The machine is held for a while, and goes on from where it was.
    pub fn stand(&self, time: u64, long: u64) {
        let state = self.0.get();
        self.0.set(State { reading: self.read(time), from: time.max(state.from) + long, ..state });
    }

    /// Something happens to it.
    pub fn disturb(&self, random: &Random, time: u64) {
        let far = match random.below(20) {
            0..=7 => 1 + random.below(SECOND / 20),
            8..=13 => random.below(3 * SECOND),
            14..=18 => random.below(2 * HOUR),
            _ => random.below(YEAR),
        };
        match random.below(6) {
            0..=2 => self.set(time, self.read(time) - far),
            3..=4 => self.set(time, self.read(time) + far),
            _ => self.stand(time, random.below(SECOND / 5)),
        }
    }
}
