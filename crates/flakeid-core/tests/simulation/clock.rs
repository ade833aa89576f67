//! A server's clock: right except for its skew and drift, until it is set or the machine is
//! suspended.

use crate::random::Random;
use std::cell::Cell;

pub const SECOND: u64 = 1_000_000_000;
pub const MILLISECOND: u64 = SECOND / 1000;
pub const HOUR: u64 = 3600 * SECOND;
pub const YEAR: u64 = 365 * 24 * HOUR;

/// The times to which a clock may be set, so that no ID type ends. Nanoseconds since 1970.
const RANGE: std::ops::Range<u64> = 45 * YEAR..65 * YEAR;

/// A clock. Its readings are nanoseconds since 1970, and so is the true time, which no server
/// knows.
pub struct Clock(Cell<State>);

#[derive(Clone, Copy)]
struct State {
    /// The reading at the true time `from`, and until then.
    reading: u64,
    from: u64,
    /// The length of a second by this clock, in parts of 2^32.
    rate: u64,
    steps_back: u64,
}

impl Clock {
    /// Creates a clock that is wrong by up to `skew`, and drifts by up to 200 parts in a million.
    pub fn new(random: &Random, time: u64, skew: u64) -> Self {
        let reading = time - skew + random.below(2 * skew + 1);
        let rate = (1 << 32) * (999_800 + random.below(401)) / 1_000_000;
        Self(Cell::new(State { reading, from: time, rate, steps_back: 0 }))
    }

    /// Returns this clock without its drift, as a time server keeps it.
    pub fn corrected(self) -> Self {
        Self(Cell::new(State { rate: 1 << 32, ..self.0.get() }))
    }

    /// Returns the reading at a true time.
    pub fn read(&self, time: u64) -> u64 {
        let State { reading, from, rate, .. } = self.0.get();
        reading + (u128::from(time.saturating_sub(from)) * u128::from(rate) >> 32) as u64
    }

    /// Returns the true time at which the clock will read `reading`.
    pub fn time_of(&self, reading: u64, time: u64) -> u64 {
        let State { reading: then, from, rate, .. } = self.0.get();
        let run = u128::from(reading.saturating_sub(then)) << 32;
        time.max(from + (run / u128::from(rate)) as u64 + 2)
    }

    /// Returns how often the clock was set to an earlier time.
    pub fn steps_back(&self) -> u64 {
        self.0.get().steps_back
    }

    /// Sets the clock by hand, or by a time server that is wrong.
    pub fn set(&self, time: u64, to: u64) {
        let mut state = self.0.get();
        let to = if RANGE.contains(&to) { to } else { time };
        state.steps_back += u64::from(to < self.read(time));
        self.0.set(State { reading: to, from: time, ..state });
    }

    /// Suspends the machine for a while. Then the clock continues from where it was.
    pub fn stand(&self, time: u64, long: u64) {
        let state = self.0.get();
        self.0.set(State { reading: self.read(time), from: time.max(state.from) + long, ..state });
    }

    /// Lets a random event happen to the clock.
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
