//! The distribution of a guid column's times, from PostgreSQL's statistics.
//!
//! The histogram of a column has some hundred of its values, with about as many rows between two
//! neighbors. guids sort by their drift, the coarse part of the time, the node and the fine part.
//! So their order is not that of their times. But each value has its time. Sorted, the times are a
//! histogram of the times: with as many rows between two neighbors, if they are a sample of all
//! times. They are, since the values of the histogram are one of each n rows in the order of the
//! IDs.
//!
//! PostgreSQL lets an estimate use the values of a column that the user may not read if the
//! operator is LEAKPROOF, since such an operator tells nothing else than its result.
//! `guid_timestamp` is.

use super::column::Column;
use super::id_type::Guid;
use flakeid_core::clock::UnixMicros;
use flakeid_core::guid::{Clock, Drift, Id, LEN};
use flakeid_core::guid_local::Local;

/// The greatest number of values of the histogram that are read.
const MAX_VALUES: usize = 200;

/// The times of a column's IDs.
pub struct Distribution {
    /// The times of the histogram's values, in their order.
    times: Vec<i64>,
    /// The times of the most common values, with the part of the rows that has each.
    common: Vec<(i64, f64)>,
    /// The part of the rows that is neither NULL nor a most common value.
    rest: f64,
}

/// Returns the time of a guid or a guid_local, from the number as which it sorts.
fn time(guid: Guid, id: u128, clock: Clock) -> i64 {
    let time = match guid {
        Guid::Global => {
            let bytes = id.to_be_bytes();
            Id(*bytes.last_chunk::<LEN>().unwrap_or(&[0; LEN])).time(clock)
        }
        Guid::Local => Local(id as u64).time(clock),
    };
    time.0
}

impl Distribution {
    /// Returns the distribution of a column's times by a clock, for IDs of one drift or of all.
    /// Returns `None` without statistics.
    pub fn of(column: &Column, guid: Guid, clock: Clock, drift: Option<Drift>) -> Option<Self> {
        let step = column.id_type.step_of_drifts();
        let counts = |id: &u128| drift.is_none_or(|drift| id / step == drift.code().into());
        // SAFETY: the values of a column's statistics have the column's type.
        let number = |id| unsafe { column.id_type.number(id) };
        let common = column.statistics.most_common(|id, part| (number(id), part));
        let common = common.unwrap_or_default();
        let rest = 1.0 - column.nulls - common.iter().map(|&(_, part)| part).sum::<f64>();
        // Some hundred values tell enough, and each condition of a query takes them.
        let (mut times, part) = column.statistics.histogram(|ids| {
            let step = ids.len().div_ceil(MAX_VALUES).max(1);
            let ids: Vec<_> = ids.iter().rev().step_by(step).map(|&id| number(id)).collect();
            let times = ids.iter().filter(|id| counts(id)).map(|&id| time(guid, id, clock));
            let times: Vec<_> = times.collect();
            let part = times.len() as f64 / ids.len() as f64;
            (times, part)
        })?;
        let common = common.into_iter().filter(|(id, _)| counts(id));
        let common = common.map(|(id, part)| (time(guid, id, clock), part)).collect();
        times.sort_unstable();
        Some(Self { times, common, rest: rest.max(0.0) * part })
    }

    /// Returns whether a time is after all times of the histogram.
    pub fn ends_before(&self, time: UnixMicros) -> bool {
        self.times.last().is_some_and(|&last| last < time.0)
    }

    /// Moves the end of the histogram to the time of an ID, given as the number as which it sorts.
    pub fn extend_to(&mut self, guid: Guid, id: u128, clock: Clock) {
        let time = time(guid, id, clock);
        if let Some(last) = self.times.last_mut() {
            *last = time.max(*last);
        }
    }

    /// Returns the part of the rows that has a time from one time to another, both included.
    pub fn part(&self, from: UnixMicros, to: UnixMicros) -> f64 {
        let is_within = |time: i64| from.0 <= time && time <= to.0;
        let common = self.common.iter().filter(|&&(time, _)| is_within(time));
        let of_histogram = self.before(to) - self.before(from);
        common.map(|&(_, part)| part).sum::<f64>() + self.rest * of_histogram.max(0.0)
    }

    /// Returns the part of the histogram that is before a time.
    fn before(&self, time: UnixMicros) -> f64 {
        let [first, .., last] = self.times.as_slice() else {
            let known = self.times.first().is_some_and(|&only| only < time.0);
            return if known { 1.0 } else { 0.0 };
        };
        if time.0 <= *first {
            return 0.0;
        }
        if time.0 > *last {
            return 1.0;
        }
        // The time is above the value before this position, and at most the value at it.
        let above = self.times.partition_point(|&value| value < time.0);
        let (low, high) = (self.times[above - 1], self.times[above]);
        let in_bin = (time.0 as f64 - low as f64) / (high as f64 - low as f64);
        ((above - 1) as f64 + in_bin) / (self.times.len() - 1) as f64
    }
}
