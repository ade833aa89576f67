//! The times at which a table is cut into partitions: `flakeid_partition_times`. Each type's
//! `X_partition_bounds` puts IDs beside them.

use super::time::unix_micros;
use crate::error::Failure;
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call, direct_function_call_as_datum, pg_sys};

/// Names, and times from `from` on in steps, the last of which holds what is right before `to`. The n-th
/// begins n steps after the first and not one after the last, so that a month that begins on the 31st
/// doesn't stay with the 28th. Days and months are those of the session's time zone, as everywhere.
///
/// # Errors
/// Ends that are infinite, and a step that does not lead forward; a time beyond the calendar is
/// PostgreSQL's error.
#[pg_extern(sql = false)]
fn flakeid_partition_times(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Interval,
) -> TableIterator<
    'static,
    (
        name!(name, Option<String>),
        name!(starts, TimestampWithTimeZone),
        name!(ends, TimestampWithTimeZone),
    ),
> {
    if [from, to].iter().any(|time| time.is_infinity() || time.is_neg_infinity()) {
        Failure::EndlessPartitions.raise();
    }
    // The argument's own memory is the first call's.
    let step = Step { months: step.months(), days: step.days(), micros: step.micros() };
    let mut n = 0;
    let mut starts = from;
    TableIterator::new(std::iter::from_fn(move || {
        if starts >= to {
            return None;
        }
        n += 1;
        let ends = step.after(from, n);
        if ends <= starts {
            let (from, to) = (unix_micros(starts.into_inner()), unix_micros(ends.into_inner()));
            Failure::Step { from, to }.raise();
        }
        let starts = std::mem::replace(&mut starts, ends);
        Some((step.name(starts), starts, ends))
    }))
}

#[derive(Clone, Copy)]
struct Step {
    months: i32,
    days: i32,
    micros: i64,
}

impl Step {
    /// `from + n * step` as in SQL.
    fn after(self, from: TimestampWithTimeZone, n: u32) -> TimestampWithTimeZone {
        let mut step = pg_sys::Interval { time: self.micros, day: self.days, month: self.months };
        let step = Some(pg_sys::Datum::from(&raw mut step));
        // SAFETY: PostgreSQL's own functions, each with its two arguments; of values that are not NULL
        // they make none that is.
        let ends = unsafe {
            let n = f64::from(n).into_datum();
            let steps = direct_function_call_as_datum(pg_sys::interval_mul, &[step, n]);
            direct_function_call(pg_sys::timestamptz_pl_interval, &[from.into_datum(), steps])
        };
        match ends {
            Some(ends) => ends,
            None => error!("a time has become NULL"),
        }
    }

    /// For a partition's name: as much of its beginning as tells it from the others.
    fn name(self, starts: TimestampWithTimeZone) -> Option<String> {
        const MINUTE: i64 = 60_000_000;
        let format = match self {
            Self { days: 0, micros: 0, .. } => "YYYY_MM",
            Self { micros: 0, .. } => "YYYY_MM_DD",
            _ if self.micros % MINUTE == 0 => "YYYY_MM_DD_HH24MI",
            _ => "YYYY_MM_DD_HH24MISSUS",
        };
        // SAFETY: PostgreSQL's own function with its two arguments.
        unsafe {
            direct_function_call(
                pg_sys::timestamptz_to_char,
                &[starts.into_datum(), format.into_datum()],
            )
        }
    }
}
