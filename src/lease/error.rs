//! Errors of generator IDs that are leased.

use crate::clock::{now, since_boot};
use crate::error::{Report, instant, span};
use crate::shmem::{LeaseState, LeaseStatus};
use flakeid_core::clock::UnixNanos;
use std::time::Duration;

/// The reason why a session has no leased generator IDs.
#[derive(Debug)]
pub enum LeaseError {
    /// This server holds no generator IDs.
    NotLeased(Report),
    /// The setting has changed from leased generator IDs to fixed ones, or back, and the server has
    /// not yet.
    StillLeased,
    Other(Report),
}

impl From<Report> for LeaseError {
    fn from(report: Report) -> Self {
        Self::Other(report)
    }
}

impl From<LeaseError> for Report {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::NotLeased(report) | LeaseError::Other(report) => report,
            LeaseError::StillLeased => still_leased(),
        }
    }
}

/// The hint if etcd may be the cause.
const ETCD_HINT: &str = "See the last error in pg_stat_flakeid_lease. If it has no error, check \
                         that etcd answers at \"flakeid.etcd_endpoints\". IDs are generated as \
                         soon as generator IDs are leased.";

/// Returns the error that says why this server holds no generator IDs.
pub fn not_leased(state: &LeaseState) -> LeaseError {
    let (message, hint) = match state.status_at(since_boot()) {
        LeaseStatus::Lost => (
            format!("the lease of this server's generator IDs was lost {} ago", span(lost(state))),
            ETCD_HINT,
        ),
        LeaseStatus::Waiting => (
            "all generator IDs of the pool in etcd are leased by other servers".into(),
            "IDs are generated as soon as a generator ID becomes free. Enlarge \
             \"flakeid.etcd_pool\", or lease fewer with \"flakeid.generator_ids\".",
        ),
        LeaseStatus::Held => (
            "the clock is past the high-water mark of the generator ID lease".into(),
            "Check the server's clock, and check that etcd answers. IDs are generated again as \
             soon as the lease is renewed.",
        ),
        // A statement uses the settings with which it began.
        LeaseStatus::Off => return LeaseError::StillLeased,
        LeaseStatus::Starting => ("no generator IDs are leased from etcd yet".into(), ETCD_HINT),
    };
    let report = Report::wrong_state(message).hint(hint);
    let lease = state.lease_text().map(|lease| format!("The last lease was {lease}."));
    let last = state.last_error.get();
    let error = (!last.is_empty()).then(|| format!("The last error was: {last}."));
    LeaseError::NotLeased(
        match [lease, error].into_iter().flatten().collect::<Vec<_>>().join(" ") {
            detail if detail.is_empty() => report,
            detail => report.confidential(detail),
        },
    )
}

/// Returns how long ago the lease was lost. A session may notice the deadline before the worker
/// does.
fn lost(state: &LeaseState) -> Duration {
    match state.status {
        LeaseStatus::Held => since_boot().saturating_sub(state.limits.deadline),
        _ => Duration::from_nanos(now().0.saturating_sub(state.lost.0)),
    }
}

fn still_leased() -> Report {
    Report::wrong_state(
        "this server's generator IDs are being replaced after a change of \
                         \"flakeid.generator_ids\"",
    )
    .detail("Generator IDs are being released or leased.")
    .hint("Try again.")
}

/// Returns the error of a server that has no place for another worker.
#[cfg(feature = "etcd")]
pub fn no_worker() -> Report {
    Report::wrong_state("could not start the worker that leases generator IDs from etcd")
        .hint("You may need to increase \"max_worker_processes\".")
}

/// Returns the error of a server whose epoch is not that of the servers which share its namespace.
pub fn other_epoch(epoch: UnixNanos, theirs: UnixNanos) -> Report {
    Report::wrong_state(format!("cannot generate flake IDs with the epoch {}", instant(epoch)))
        .detail(format!(
            "All servers that lease from this namespace of etcd use the epoch {}.",
            instant(theirs)
        ))
        .hint("Set \"flakeid.epoch\" to that time, or choose another \"flakeid.etcd_namespace\".")
}
