//! Computes the times at which a table is cut into partitions: `flakeid_partition_times`. The
//! function `X_partition_bounds` of each ID type puts IDs beside them.

use crate::clock::unix_micros;
use crate::error::{Code, OrRaise, Report, moment, quoted};
use crate::timestamp::Time;
use crate::types::{SQL_ID_TYPES, checked_epoch};
use flakeid_core::clock::{Scale, Tick, UnixMicros};
use flakeid_core::flake;
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call, direct_function_call_as_datum, pg_sys};

/// The reason why a table cannot be cut into such partitions.
#[derive(Debug)]
enum PartitionError {
    /// The times begin or end at infinity.
    Endless,
    /// The step does not lead from one partition to a later one.
    Step { from: UnixMicros, to: UnixMicros },
    /// A partition contains the time of no ID of a type.
    Empty { id_type: &'static str, scale: Scale, from: UnixMicros, to: UnixMicros },
}

impl PartitionError {
    fn raise(self) -> ! {
        Report::from(self).raise()
    }
}

impl From<PartitionError> for Report {
    fn from(error: PartitionError) -> Self {
        match error {
            PartitionError::Endless => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "partitions cannot begin or end at infinity",
            )
            .hint(
                "For all other rows, attach a partition FROM (MINVALUE), TO (MAXVALUE), or \
                   DEFAULT.",
            ),
            PartitionError::Step { from, to } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "partition step does not lead to a later time",
            )
            .detail(format!("The step leads from {} to {}.", moment(from), moment(to))),
            PartitionError::Empty { id_type, scale, from, to } => Self::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!(
                    "no {id_type} ID can be in a partition from {} to {}",
                    moment(from),
                    moment(to)
                ),
            )
            .detail(format!(
                "A {id_type} has times from {} to {} in ticks of {} ms.",
                moment(scale.start(Tick(0))),
                moment(scale.start(scale.last())),
                scale.unit() as f64 / 1e6
            )),
        }
    }
}

/// Returns names and times of partitions: from `from` on, in steps, until one contains the moment
/// before `to`.
///
/// The n-th partition begins n steps after the first, not one step after the one before. So months
/// that begin on the 31st return to the 31st after a February. Days and months are those of the
/// session's time zone.
///
/// # Errors
/// [`PartitionError::Endless`] and [`PartitionError::Step`]. PostgreSQL raises an error for a time
/// beyond its calendar.
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
    TableIterator::new(partitions(from, to, Step::of(&step)).map(TablePartition::row))
}

/// Returns the partitions of [`flakeid_partition_times`] for an ID type. flake counts from the
/// server's epoch.
///
/// # Errors
/// Like [`flakeid_partition_times`], and [`PartitionError::Empty`].
#[pg_extern(sql = false)]
fn flakeid_partition_times_system(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Interval,
    id_type: &[u8],
) -> TableIterator<
    'static,
    (
        name!(name, Option<String>),
        name!(starts, TimestampWithTimeZone),
        name!(ends, TimestampWithTimeZone),
    ),
> {
    let Some(entry) = SQL_ID_TYPES.iter().find(|entry| entry.name.as_bytes() == id_type) else {
        error!("flakeid's library does not know the ID type \"{}\"", quoted(id_type))
    };
    let (id_type, scale) = (entry.name, (entry.scale)().or_raise());
    let partitions = partitions(from, to, Step::of(&step));
    TableIterator::new(partitions.map(move |partition| partition.within(id_type, scale).row()))
}

/// Returns the partitions of [`flakeid_partition_times`] for flakes that count from `epoch`.
///
/// # Errors
/// Like [`flakeid_partition_times`], [`PartitionError::Empty`], and an error for a time that is no
/// epoch.
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
    let scale = checked_epoch(epoch).signed_scale();
    let partitions = partitions(from, to, Step::of(&step));
    TableIterator::new(partitions.map(move |partition| partition.within(flake::NAME, scale).row()))
}

/// One partition of a table: the suffix of its name, and its bounds.
struct TablePartition {
    name: Option<String>,
    starts: TimestampWithTimeZone,
    ends: TimestampWithTimeZone,
}

impl TablePartition {
    fn row(self) -> (Option<String>, TimestampWithTimeZone, TimestampWithTimeZone) {
        (self.name, self.starts, self.ends)
    }

    /// Returns the partition if an ID of this scale begins in it, and raises an error otherwise.
    /// Without this check both bounds would be one ID, and PostgreSQL would refuse the range
    /// without the reason.
    fn within(self, id_type: &'static str, scale: Scale) -> Self {
        let from = unix_micros(self.starts.into_inner());
        let to = unix_micros(self.ends.into_inner());
        if scale.first_from(from) == scale.first_from(to) {
            PartitionError::Empty { id_type, scale, from, to }.raise();
        }
        self
    }
}

fn partitions(
    from: TimestampWithTimeZone,
    to: TimestampWithTimeZone,
    step: Step,
) -> impl Iterator<Item = TablePartition> {
    if [from, to].iter().any(|time| time.is_infinity() || time.is_neg_infinity()) {
        PartitionError::Endless.raise();
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
            PartitionError::Step { from, to }.raise();
        }
        let starts = std::mem::replace(&mut starts, ends);
        Some(TablePartition { name: step.name(starts), starts, ends })
    })
}

/// An interval from the beginning of one partition to the next.
#[derive(Clone, Copy)]
struct Step {
    months: i32,
    days: i32,
    micros: i64,
}

impl Step {
    /// Copies an argument. The memory of the argument itself lives only for the first call.
    fn of(step: &Interval) -> Self {
        Self { months: step.months(), days: step.days(), micros: step.micros() }
    }

    /// Returns whether the step is shorter than a day. A month has 30 days here, as in PostgreSQL.
    fn is_below_a_day(self) -> bool {
        const DAY: i128 = 86_400_000_000;
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * DAY + i128::from(self.micros) < DAY
    }

    /// Returns `from + n * step` as SQL computes it.
    fn after(self, from: TimestampWithTimeZone, n: u32) -> TimestampWithTimeZone {
        let mut step = pg_sys::Interval { time: self.micros, day: self.days, month: self.months };
        let step = Some(pg_sys::Datum::from(&raw mut step));
        // SAFETY: these are PostgreSQL's functions, each with its two arguments. They do not return
        // NULL for arguments that are not NULL.
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

    /// Returns the suffix of a partition's name: as much of its beginning as distinguishes it from
    /// the others.
    ///
    /// Steps shorter than a day use UTC, and their names end with a `z`. At the end of daylight
    /// saving time a local hour repeats, and would give two partitions one name. Names sort as the
    /// partitions do, and the session's time zone does not change them.
    fn name(self, starts: TimestampWithTimeZone) -> Option<String> {
        const MINUTE: i64 = 60_000_000;
        let whole_minutes = self.micros % MINUTE == 0;
        let format = match self {
            Self { days: 0, micros: 0, .. } => "YYYY_MM",
            Self { micros: 0, .. } => "YYYY_MM_DD",
            _ if whole_minutes => "YYYY_MM_DD_HH24MI",
            _ => "YYYY_MM_DD_HH24MISSUS",
        };
        // A timestamptz is stored in UTC. Formatted as a timestamp, it shows UTC.
        let (to_char, zone): (unsafe fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum, _) =
            match self.is_below_a_day() && self.micros != 0 {
                true => (pg_sys::timestamp_to_char, "z"),
                false => (pg_sys::timestamptz_to_char, ""),
            };
        // SAFETY: this is a function of PostgreSQL with its two arguments. A timestamp and a
        // timestamptz have the same representation of 64 bits.
        let name: Option<String> =
            unsafe { direct_function_call(to_char, &[starts.into_datum(), format.into_datum()]) };
        name.map(|name| name + zone)
    }
}
