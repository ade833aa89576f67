//! The lease of generator IDs.

use super::micros;
use crate::clock::boot;
use crate::shmem::{self, Shared, State};
use crate::types::timestamptz;
use flakeid_core::clock::UnixNanos;
use pgrx::prelude::*;

/// A moment; NULL for never.
fn moment(moment: UnixNanos) -> Option<TimestampWithTimeZone> {
    (moment.0 != 0).then(|| timestamptz(micros(moment))).flatten()
}

/// A text; NULL where there is none.
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
    let kept = shared.map(Shared::look_at_lease).filter(|kept| kept.state != State::Off);
    TableIterator::new(kept.into_iter().map(|kept| {
        let (boot, state) = (boot(), kept.state_at(boot()));
        let held = state == State::Held;
        let left = kept.claim.deadline.saturating_sub(boot).as_secs_f64();
        (
            state.name(),
            kept.wanted as i32,
            kept.held().iter().map(|held| held.id.into()).collect(),
            held.then(|| kept.cluster.into()),
            kept.lease_text(),
            moment(kept.since),
            moment(kept.renewed),
            moment(kept.claim.ceiling),
            held.then_some(left),
            kept.losses as i64,
            moment(kept.lost),
            text(kept.endpoint.get()),
            text(kept.trouble.get()),
            moment(kept.troubled),
            (kept.worker != 0).then_some(kept.worker),
        )
    }))
}
