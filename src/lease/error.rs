//! What goes wrong with generator IDs that are leased.

use crate::clock::{boot, now};
use crate::error::{Report, instant, span};
use crate::shmem::{Kept, State};
use flakeid_core::clock::UnixNanos;
use std::time::Duration;

/// Why a session has no leased generator IDs.
#[derive(Debug)]
pub enum LeaseError {
    /// None are held.
    NotLeased(Report),
    /// The setting has changed from leased generator IDs to others, or back, and the server not yet.
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

/// What to look at, where etcd is not what it should be.
const LOOK: &str = "Check that etcd answers at \"flakeid.etcd_endpoints\", and see pg_stat_flakeid_lease. IDs \
                    are generated as soon as generator IDs are leased.";

/// Says why no generator IDs are held.
pub fn not_leased(kept: &Kept) -> LeaseError {
    let (message, hint) = match kept.state_at(boot()) {
        State::Lost => (
            format!("the lease of this server's generator IDs was lost {} ago", span(lost(kept))),
            LOOK,
        ),
        State::Waiting => (
            "all generator IDs of the pool in etcd are leased by other servers".into(),
            "IDs are generated as soon as a generator ID becomes free. Enlarge \"flakeid.etcd_pool\", or lease \
             fewer with \"flakeid.generator_ids\".",
        ),
        State::Held => (
            "the clock is past the high-water mark of the generator ID lease".into(),
            "Check the server's clock, and check that etcd answers. IDs are generated again as soon as the lease \
             is renewed.",
        ),
        // A statement goes by the settings that it began with.
        State::Off => return LeaseError::StillLeased,
        State::Starting => ("no generator IDs are leased from etcd yet".into(), LOOK),
    };
    let report = Report::wrong_state(message).hint(hint);
    let lease = kept.lease_text().map(|lease| format!("The last lease was {lease}."));
    let last = kept.trouble.get();
    let trouble = (!last.is_empty()).then(|| format!("The last error was: {last}."));
    LeaseError::NotLeased(
        match [lease, trouble].into_iter().flatten().collect::<Vec<_>>().join(" ") {
            detail if detail.is_empty() => report,
            detail => report.confidential(detail),
        },
    )
}

/// How long ago the lease was lost. A backend may see that it is over before the worker does.
fn lost(kept: &Kept) -> Duration {
    match kept.state {
        State::Held => boot().saturating_sub(kept.claim.deadline),
        _ => Duration::from_nanos(now().0.saturating_sub(kept.lost.0)),
    }
}

fn still_leased() -> Report {
    Report::wrong_state("this server's generator IDs are being replaced after a change of \"flakeid.generator_ids\"")
        .detail("Generator IDs are being released or leased.")
        .hint("Try again.")
}

#[cfg(feature = "etcd")]
pub fn no_worker() -> Report {
    Report::wrong_state("could not start the worker that leases generator IDs from etcd")
        .hint("You may need to increase \"max_worker_processes\".")
}

/// The error of a server that counts from another epoch than the servers that share its namespace.
pub fn other_epoch(epoch: UnixNanos, theirs: UnixNanos) -> Report {
    Report::wrong_state(format!("cannot generate flake IDs with the epoch {}", instant(epoch)))
        .detail(format!(
            "All servers that lease from this namespace of etcd use the epoch {}.",
            instant(theirs)
        ))
        .hint("Set \"flakeid.epoch\" to that time, or choose another \"flakeid.etcd_namespace\".")
}
