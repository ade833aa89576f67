//! The view `pg_stat_flakeid_horizon`: how the horizon is written.

use super::{NANOS_PER_SECOND, count, micros};
use crate::error::os_reason;
use crate::shmem;
use crate::timestamp::timestamptz;
use pgrx::prelude::*;
use std::io::Error;
use std::sync::atomic::Ordering;

/// Returns the operating system's text for the error of this number; `None` for 0.
fn error(number: i32) -> Option<String> {
    (number != 0).then(|| os_reason(&Error::from_raw_os_error(number)))
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn pg_stat_get_flakeid_horizon() -> TableIterator<
    'static,
    (
        name!(writes, i64),
        name!(written_at, Option<TimestampWithTimeZone>),
        name!(write_seconds, Option<f64>),
        name!(failures, i64),
        name!(failed_at, Option<TimestampWithTimeZone>),
        name!(last_failure, Option<String>),
        name!(stats_reset, Option<TimestampWithTimeZone>),
    ),
> {
    let Ok(shared) = shmem::shared() else { return TableIterator::new(std::iter::empty()) };
    let (written, writes) = (shared.writes.last(), shared.writes.counts());
    let reset = flakeid_core::clock::UnixNanos(shared.counted_since.load(Ordering::Relaxed));
    TableIterator::once((
        count(writes.writes),
        written.and_then(|written| timestamptz(micros(written.at))),
        written.map(|written| written.took.as_nanos() as f64 / NANOS_PER_SECOND),
        count(writes.failures),
        writes.last_failure_at.and_then(|failed| timestamptz(micros(failed))),
        error(writes.last_failure_errno),
        timestamptz(micros(reset)),
    ))
}
