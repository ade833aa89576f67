//! Ticks and epochs. Nothing here reads a clock: time is an argument.

/// A reading of the wall clock: nanoseconds since 1970-01-01 UTC, to the year 2554.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixNanos(pub u64);

/// A time as databases keep it: microseconds since 1970-01-01 UTC. `i64::MIN` and `i64::MAX` are
/// the infinities. Every bound treats them as before and after all times of an ID type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixMicros(pub i64);

impl UnixMicros {
    /// A time after all that these numbers count, and before infinity. PostgreSQL counts from 2000,
    /// so that its last 29 years are beyond 64 bits from 1970. A bound of such a time is exact: IDs
    /// of these years read as infinity. No value has such a time.
    pub const BEYOND: Self = Self(i64::MAX - 1);
}

/// The unit of time of an ID type, counted from its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(pub u64);

/// The position of a time relative to the ticks of an ID type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickPosition {
    Before,
    At(Tick),
    After,
}

/// The time scale of an ID type: `unit` nanoseconds to a tick, tick 0 at `epoch` units after
/// 1970-01-01 UTC, and `last` the largest tick of its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    unit: u64,
    epoch: u64,
    last: u64,
}

impl Scale {
    /// Creates a scale of `unit` nanoseconds whose epoch is a whole number of units after 1970. A
    /// layout may have ticks that no clock here reads: those that begin after the year 2554.
    pub const fn new(unit: u64, epoch: u64, last: Tick) -> Self {
        assert!(unit > 0 && epoch as u128 * unit as u128 <= u64::MAX as u128);
        Self { unit, epoch, last: last.0 }
    }

    /// Returns the last tick of the layout.
    pub const fn last(self) -> Tick {
        Tick(self.last)
    }

    /// Returns the length of a tick in nanoseconds.
    pub const fn unit(self) -> u64 {
        self.unit
    }

    /// Returns the tick that holds `now`, which may be past [`Self::last`]; `None` before the
    /// epoch.
    #[inline]
    pub const fn tick(self, now: UnixNanos) -> Option<Tick> {
        match (now.0 / self.unit).checked_sub(self.epoch) {
            Some(tick) => Some(Tick(tick)),
            None => None,
        }
    }

    /// Returns the tick of [`Self::tick`], if the unit is known at compile time. This is a
    /// multiplication. A division by a number that is not known costs half as much as reading the
    /// clock.
    #[inline]
    pub const fn tick_in<const UNIT: u64>(self, now: UnixNanos) -> Option<Tick> {
        debug_assert!(UNIT == self.unit);
        match (now.0 / UNIT).checked_sub(self.epoch) {
            Some(tick) => Some(Tick(tick)),
            None => None,
        }
    }

    /// Returns when `tick` begins on the wall clock. A clock must have read the tick, before the
    /// year 2554.
    #[inline]
    pub const fn nanos(self, tick: Tick) -> UnixNanos {
        UnixNanos((tick.0 + self.epoch) * self.unit)
    }

    /// Returns the last tick that begins before `moment`, or tick 0 if there is no such tick.
    pub const fn last_before(self, moment: UnixNanos) -> Tick {
        match self.tick(UnixNanos(moment.0.saturating_sub(1))) {
            Some(tick) => tick,
            None => Tick(0),
        }
    }

    /// Returns the time at which tick 0 begins.
    pub const fn epoch(self) -> UnixNanos {
        UnixNanos(self.epoch * self.unit)
    }

    /// Returns the scale with another epoch, cut to a whole number of units after 1970.
    pub const fn counted_from(self, epoch: UnixNanos) -> Self {
        Self::new(self.unit, epoch.0 / self.unit, Tick(self.last))
    }

    /// Returns when `tick` begins, cut to the microsecond; infinity if that is beyond the numbers
    /// of microseconds.
    pub const fn start(self, tick: Tick) -> UnixMicros {
        let micros = (tick.0 as u128 + self.epoch as u128) * self.unit as u128 / 1000;
        UnixMicros(if micros > i64::MAX as u128 { i64::MAX } else { micros as i64 })
    }

    /// Returns the first tick whose [`start`](Self::start) is not before `time`. Before the epoch
    /// it is tick 0, so the answer is never [`TickPosition::Before`].
    pub const fn first_from(self, time: UnixMicros) -> TickPosition {
        let ticks = (time.0 as i128 * 1000 + self.unit as i128 - 1).div_euclid(self.unit as i128)
            - self.epoch as i128;
        if ticks > self.last as i128 {
            TickPosition::After
        } else if ticks < 0 {
            TickPosition::At(Tick(0))
        } else {
            TickPosition::At(Tick(ticks as u64))
        }
    }

    /// Returns the last tick whose [`start`](Self::start) is not after `time`: the one before the
    /// first tick that starts a microsecond later. After the last tick it is the last tick, so the
    /// answer is never [`TickPosition::After`].
    pub const fn last_until(self, time: UnixMicros) -> TickPosition {
        if time.0 == i64::MAX {
            return TickPosition::At(Tick(self.last));
        }
        match self.first_from(UnixMicros(time.0.saturating_add(1))) {
            TickPosition::Before | TickPosition::At(Tick(0)) => TickPosition::Before,
            TickPosition::At(Tick(tick)) => TickPosition::At(Tick(tick - 1)),
            TickPosition::After => TickPosition::At(Tick(self.last)),
        }
    }

    /// Returns the first and the last tick that start from `from` until `to`, both included; `None`
    /// if no tick does.
    pub const fn between(self, from: UnixMicros, to: UnixMicros) -> Option<(Tick, Tick)> {
        match (self.first_from(from), self.last_until(to)) {
            (TickPosition::At(first), TickPosition::At(last)) if first.0 <= last.0 => {
                Some((first, last))
            }
            _ => None,
        }
    }

    /// Returns the tick that holds `time`, or the side on which `time` lies outside the layout. If
    /// two ticks share a microsecond, it is the one that [starts](Self::start) there, unless the
    /// first is the last tick of all.
    pub const fn locate(self, time: UnixMicros) -> TickPosition {
        let begin = time.0 as i128 * 1000;
        let (unit, epoch, last) = (self.unit as i128, self.epoch as i128, self.last as i128);
        let ticks = (begin + 999).div_euclid(unit) - epoch;
        if ticks < 0 {
            TickPosition::Before
        } else if begin.div_euclid(unit) - epoch > last {
            TickPosition::After
        } else if ticks > last {
            TickPosition::At(Tick(self.last))
        } else {
            TickPosition::At(Tick(ticks as u64))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scale of 4 ms from 1970-01-01 00:00:01, eleven ticks.
    const SCALE: Scale = Scale::new(4_000_000, 250, Tick(10));

    /// Asserts that a scale finds the first tick from each of these microseconds on, and the last
    /// one up to it.
    fn assert_bounds(scale: Scale, micros: std::ops::Range<i64>) {
        let ticks = || (0..=scale.last).map(Tick);
        for time in micros.map(UnixMicros) {
            let first = ticks().find(|&tick| scale.start(tick) >= time);
            let last = ticks().rev().find(|&tick| scale.start(tick) <= time);
            let (first_from, last_until) = (scale.first_from(time), scale.last_until(time));
            assert_eq!(first_from, first.map_or(TickPosition::After, TickPosition::At));
            assert_eq!(last_until, last.map_or(TickPosition::Before, TickPosition::At));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it tries 60,000 times")]
    fn bounds_are_exact_at_every_microsecond_around_the_format() {
        assert_bounds(SCALE, 990_000..1_050_000);
    }

    #[test]
    fn bounds_are_exact_where_a_tick_is_no_whole_number_of_microseconds() {
        let scale = Scale::new(131_072, 0, Tick(50));
        assert_bounds(scale, -10..7_000);
        for tick in (0..=50).map(Tick) {
            assert_eq!(scale.locate(scale.start(tick)), TickPosition::At(tick));
            assert_eq!(scale.locate(UnixMicros(scale.start(tick).0 + 130)), TickPosition::At(tick));
        }
        assert_eq!(scale.locate(UnixMicros(-1)), TickPosition::Before);
        // The last tick ends at 6,684,672 ns.
        assert_eq!(scale.locate(UnixMicros(6684)), TickPosition::At(Tick(50)));
        assert_eq!(scale.locate(UnixMicros(6685)), TickPosition::After);
    }

    #[test]
    fn the_infinities_lie_outside() {
        let (first, last) = (UnixMicros(i64::MIN), UnixMicros(i64::MAX));
        assert_eq!(SCALE.first_from(first), TickPosition::At(Tick(0)));
        assert_eq!(SCALE.last_until(first), TickPosition::Before);
        assert_eq!(SCALE.locate(first), TickPosition::Before);
        assert_eq!(SCALE.first_from(last), TickPosition::After);
        assert_eq!(SCALE.last_until(last), TickPosition::At(Tick(10)));
        assert_eq!(SCALE.locate(last), TickPosition::After);
    }

    #[test]
    fn ticks_beyond_the_calendar_start_at_infinity() {
        let scale = Scale::new(1_000_000, 0, Tick(u64::MAX));
        let end = i64::MAX as u64 / 1000;
        assert_eq!(scale.start(Tick(end)), UnixMicros(end as i64 * 1000));
        for tick in [end + 1, u64::MAX] {
            assert_eq!(scale.start(Tick(tick)), UnixMicros(i64::MAX));
        }
        assert_eq!(scale.first_from(UnixMicros(i64::MAX)), TickPosition::At(Tick(end + 1)));
        assert_eq!(scale.last_until(UnixMicros(i64::MAX)), TickPosition::At(Tick(u64::MAX)));
        assert_eq!(scale.last_until(UnixMicros(i64::MAX - 1)), TickPosition::At(Tick(end)));
    }

    #[test]
    fn a_clock_before_the_epoch_has_no_tick() {
        assert_eq!(SCALE.tick(UnixNanos(999_999_999)), None);
        assert_eq!(SCALE.tick(UnixNanos(1_000_000_000)), Some(Tick(0)));
        assert_eq!(SCALE.tick(UnixNanos(1_007_999_999)), Some(Tick(1)));
        assert_eq!(SCALE.tick_in::<4_000_000>(UnixNanos(999_999_999)), None);
        assert_eq!(SCALE.tick_in::<4_000_000>(UnixNanos(1_007_999_999)), Some(Tick(1)));
    }
}
