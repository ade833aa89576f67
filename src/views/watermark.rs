//! The view `pg_stat_flakeid_watermark`: the transactions that hold the watermark back.

use super::micros;
use crate::timestamp::timestamptz;
use crate::watermark;
use flakeid_core::clock::UnixMicros;
use pgrx::pg_sys;
use pgrx::prelude::*;

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
