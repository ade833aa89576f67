//! The function `flakeid_watermark`, the procedure `flakeid_wait`, and the view of the transactions that hold the watermark back.

use super::micros;
use crate::error::{Code, OrRaise, Report};
use crate::types::{Time, timestamptz};
use crate::watermark;
use flakeid_core::clock::UnixMicros;
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::time::Duration;

#[pg_extern(sql = false)]
fn flakeid_watermark() -> Time {
    Time(watermark::watermark_of_statement(Stream::ALL).or_raise())
}

#[pg_extern(sql = false)]
fn flakeid_watermark_of_stream(stream: &str) -> Time {
    let watermark = watermark::of_name(stream).and_then(watermark::watermark_of_statement);
    Time(watermark.or_raise())
}

/// Waits until the watermark has passed a time. PostgreSQL passes NULLs to a procedure.
///
/// # Errors
/// The time is NULL, or the timeout is negative; the errors of [`watermark::wait`].
#[pg_extern(sql = false)]
fn flakeid_wait(
    until: Option<Time>,
    timeout: Option<pgrx::datum::Interval>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let Some(Time(until)) = until else {
        let null = Code::ERRCODE_NULL_VALUE_NOT_ALLOWED;
        Report::new(null, "the time to wait for must not be NULL").raise()
    };
    let timeout = timeout.and_then(|timeout| match u64::try_from(timeout.as_micros()) {
        Ok(micros) => Some(Duration::from_micros(micros)),
        Err(_) if timeout.as_micros() > 0 => None,
        Err(_) => {
            let negative = Code::ERRCODE_INVALID_PARAMETER_VALUE;
            Report::new(negative, "the timeout must not be negative").raise()
        }
    });
    // SAFETY: CALL passes its context, a node that says whether the transaction may end within the call.
    let is_atomic = unsafe {
        let context = (*fcinfo).context.cast::<pg_sys::CallContext>();
        context
            .as_ref()
            .is_none_or(|context| context.type_ != pg_sys::NodeTag::T_CallContext || context.atomic)
    };
    watermark::wait(until, timeout, is_atomic).or_raise();
}

/// Returns the rows of `pg_stat_flakeid_watermark`, without what PostgreSQL's own views add.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn pg_stat_get_flakeid_watermark() -> TableIterator<
    'static,
    (
        name!(pid, Option<i32>),
        name!(xid, Option<pg_sys::TransactionId>),
        name!(database_oid, Option<pg_sys::Oid>),
        name!(first_id_at, Option<TimestampWithTimeZone>),
        name!(watermark, Option<TimestampWithTimeZone>),
        name!(streams, Option<Vec<String>>),
    ),
> {
    TableIterator::new(watermark::blocking_transactions().into_iter().map(|blocking| {
        (
            blocking.pid,
            Some(blocking.transaction_id).filter(|&id| id != 0).map(Into::into),
            Some(blocking.database).filter(|&oid| oid != 0).map(pg_sys::Oid::from),
            blocking.first_id_at.and_then(|time| timestamptz(micros(time))),
            // A watermark is a whole number of milliseconds.
            timestamptz(UnixMicros((blocking.bound.0 / 1_000_000 * 1000) as i64)),
            blocking.streams.map(watermark::names_of),
        )
    }))
}
