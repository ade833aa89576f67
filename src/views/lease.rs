//! The view `pg_stat_flakeid_lease`: the lease of generator IDs from etcd.

use super::micros;
use crate::clock::since_boot;
use crate::shmem::{self, LeaseStatus, Shared};
use crate::timestamp::timestamptz;
use flakeid_core::clock::UnixNanos;
use pgrx::prelude::*;

/// Returns a moment as a column; NULL for "never".
fn moment(moment: UnixNanos) -> Option<TimestampWithTimeZone> {
    (moment.0 != 0).then(|| timestamptz(micros(moment))).flatten()
}

/// Returns a text as a column; NULL for an empty one.
fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.into())
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn pg_stat_get_flakeid_lease() -> TableIterator<
    'static,
    (
        name!(state, &'static str),
        name!(generator_ids_wanted, i32),
        name!(generator_ids, Vec<i32>),
        name!(cluster_id, Option<i32>),
        name!(lease_id, Option<String>),
        name!(leased_at, Option<TimestampWithTimeZone>),
        name!(renewed_at, Option<TimestampWithTimeZone>),
        name!(high_water_mark, Option<TimestampWithTimeZone>),
        name!(remaining_seconds, Option<f64>),
        name!(losses, i64),
        name!(lost_at, Option<TimestampWithTimeZone>),
        name!(endpoint, Option<String>),
        name!(last_error, Option<String>),
        name!(last_error_at, Option<TimestampWithTimeZone>),
        name!(worker_pid, Option<i32>),
    ),
> {
    let shared = shmem::shared().ok().filter(|shared| shared.lease.is_active());
    let lease = shared.map(Shared::lease_snapshot).filter(|lease| lease.status != LeaseStatus::Off);
    TableIterator::new(lease.into_iter().map(|lease| {
        let boot_time = since_boot();
        let status = lease.status_at(boot_time);
        let held = status == LeaseStatus::Held;
        let left = lease.limits.deadline.saturating_sub(boot_time).as_secs_f64();
        (
            status.name(),
            lease.wanted as i32,
            lease.held().iter().map(|held| held.id.into()).collect(),
            held.then(|| lease.cluster.into()),
            lease.lease_text(),
            moment(lease.leased_at),
            moment(lease.renewed),
            moment(lease.limits.ceiling),
            held.then_some(left),
            lease.losses as i64,
            moment(lease.lost),
            text(lease.endpoint.get()),
            text(lease.last_error.get()),
            moment(lease.last_error_at),
            (lease.worker_pid != 0).then_some(lease.worker_pid),
        )
    }))
}
