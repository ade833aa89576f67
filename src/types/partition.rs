//! The times at which a table is cut into partitions: `flakeid_partition_times`. Each type's
//! `X_partition_bounds` puts IDs beside them.

use super::error::ValueError;
use super::time::Time;
use crate::clock::unix_micros;
use crate::error::OrRaise;
use crate::guc;
use flakeid_core::clock::Scale;
use flakeid_core::flake::Epoch;
use flakeid_core::{flake, flake128, guid, sno, uniqueid};
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
    TableIterator::new(partitions(from, to, Step::of(&step)).map(Partition::row))
}

/// The times of [`flakeid_partition_times`] for IDs of a system; flake counts from the setting's epoch.
///
/// # Errors
/// Those of [`flakeid_partition_times`], and a partition that no ID of the system can be in.
#[pg_extern(sql = false)]
fn flakeid_partition_times_system(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Interval,
    system: &str,
) -> TableIterator<
    'static,
    (
        name!(name, Option<String>),
        name!(starts, TimestampWithTimeZone),
        name!(ends, TimestampWithTimeZone),
    ),
> {
    let (system, scale) = match system {
        flake::NAME => (flake::NAME, guc::server_epoch().or_raise().signed_scale()),
        sno::NAME => (sno::NAME, sno::SCALE),
        flake128::NAME => (flake128::NAME, flake128::SCALE),
        guid::NAME => (guid::NAME, guid::SCALE),
        guid::LOCAL_NAME => (guid::LOCAL_NAME, guid::SCALE),
        uniqueid::NAME => (uniqueid::NAME, uniqueid::SCALE),
        _ => error!("flakeid's library does not know the ID type \"{system}\""),
    };
    let partitions = partitions(from, to, Step::of(&step));
    TableIterator::new(partitions.map(move |partition| partition.within(system, scale).row()))
}

/// The times of [`flakeid_partition_times`] for flake IDs that count from `epoch`.
///
/// # Errors
/// Those of [`flakeid_partition_times`], a partition that no flake can be in, and an epoch out of range.
#[pg_extern(sql = false)]
fn flakeid_partition_times_epoch(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Interval,
    epoch: Time,
) -> TableIterator<
    'static,
    (
        name!(name, Option<String>),
        name!(starts, TimestampWithTimeZone),
        name!(ends, TimestampWithTimeZone),
    ),
> {
    let last = Epoch::MAX.micros();
    let epoch =
        Epoch::from_micros(epoch.0).ok_or(ValueError::Epoch { time: epoch.0, last }).or_raise();
    let scale = epoch.signed_scale();
    let partitions = partitions(from, to, Step::of(&step));
    TableIterator::new(partitions.map(move |partition| partition.within(flake::NAME, scale).row()))
}

struct Partition {
    name: Option<String>,
    starts: TimestampWithTimeZone,
    ends: TimestampWithTimeZone,
}

impl Partition {
    fn row(self) -> (Option<String>, TimestampWithTimeZone, TimestampWithTimeZone) {
        (self.name, self.starts, self.ends)
    }

    /// The partition itself, if an ID of this scale begins in it; else its bounds are one ID, and
    /// PostgreSQL would refuse the range without saying why.
    fn within(self, system: &'static str, scale: Scale) -> Self {
        let from = unix_micros(self.starts.into_inner());
        let to = unix_micros(self.ends.into_inner());
        if scale.first_from(from) == scale.first_from(to) {
            ValueError::EmptyPartition { system, scale, from, to }.raise();
        }
        self
    }
}

fn partitions(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Step,
) -> impl Iterator<Item = Partition> {
    if [from, to].iter().any(|time| time.is_infinity() || time.is_neg_infinity()) {
        ValueError::EndlessPartitions.raise();
    }
    let mut n = 0;
    let mut starts = from;
    std::iter::from_fn(move || {
        if starts >= to {
            return None;
        }
        n += 1;
        let ends = step.after(from, n);
        if ends <= starts {
            let (from, to) = (unix_micros(starts.into_inner()), unix_micros(ends.into_inner()));
            ValueError::Step { from, to }.raise();
        }
        let starts = std::mem::replace(&mut starts, ends);
        Some(Partition { name: step.name(starts), starts, ends })
    })
}

#[derive(Clone, Copy)]
struct Step {
    months: i32,
    days: i32,
    micros: i64,
}

impl Step {
    /// The step that an argument says; the argument's own memory is the first call's.
    fn of(step: &Interval) -> Self {
        Self { months: step.months(), days: step.days(), micros: step.micros() }
    }

    /// Whether it is below a day, by PostgreSQL's months of 30 days.
    fn is_below_a_day(self) -> bool {
        const DAY: i128 = 86_400_000_000;
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * DAY + i128::from(self.micros) < DAY
    }

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
    ///
    /// Steps below a day are told apart by UTC, and say so by a `z`: where a clock is set back, its
    /// hour comes twice. Names sort as the partitions do, and no session's time zone changes them.
    fn name(self, starts: TimestampWithTimeZone) -> Option<String> {
        const MINUTE: i64 = 60_000_000;
        let whole_minutes = self.micros % MINUTE == 0;
        let format = match self {
            Self { days: 0, micros: 0, .. } => "YYYY_MM",
            Self { micros: 0, .. } => "YYYY_MM_DD",
            _ if whole_minutes => "YYYY_MM_DD_HH24MI",
            _ => "YYYY_MM_DD_HH24MISSUS",
        };
        // A timestamptz is kept in UTC; read as a timestamp, it is shown so.
        let (to_char, zone): (unsafe fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum, _) =
            match self.is_below_a_day() && self.micros != 0 {
                true => (pg_sys::timestamp_to_char, "z"),
                false => (pg_sys::timestamptz_to_char, ""),
            };
        // SAFETY: PostgreSQL's own function with its two arguments; a timestamp and a timestamptz are
        // each the same 64 bits.
        let name: Option<String> =
            unsafe { direct_function_call(to_char, &[starts.into_datum(), format.into_datum()]) };
        name.map(|name| name + zone)
    }
}
