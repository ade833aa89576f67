//! The function `flakeid_watermark`, and the view of the transactions that hold the watermark back.

use super::micros;
use crate::error::OrRaise;
use crate::types::{Time, timestamptz};
use crate::watermark;
use flakeid_core::clock::UnixMicros;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn flakeid_watermark() -> Time {
    Time(watermark::watermark_of_statement().or_raise())
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
    ),
> {
    TableIterator::new(watermark::holders().into_iter().map(|holder| {
        (
            holder.pid,
            Some(holder.transaction_id).filter(|&id| id != 0).map(Into::into),
            Some(holder.database).filter(|&oid| oid != 0).map(pg_sys::Oid::from),
            holder.first_id_at.and_then(|time| timestamptz(micros(time))),
            // A watermark is a whole number of milliseconds.
            timestamptz(UnixMicros((holder.bound.0 / 1_000_000 * 1000) as i64)),
        )
    }))
}
