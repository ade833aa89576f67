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
const LOOK: &str = "Check that the etcd of \"flakeid.etcd_endpoints\" answers, and see \
                    pg_stat_flakeid_lease. IDs are made again as soon as generator IDs are leased.";

/// Says why no generator IDs are held.
pub fn not_leased(kept: &Kept) -> LeaseError {
    let (message, hint) = match kept.state_at(boot()) {
        State::Lost => (
            format!("the lease of this server's generator IDs was lost {} ago", span(lost(kept))),
            LOOK,
        ),
        State::Waiting => (
            "all generator IDs of etcd's pool are leased by others".into(),
            "IDs are made as soon as one comes free. \"flakeid.etcd_pool\" says which may be leased, \
             \"flakeid.generator_ids\" how many each server wants.",
        ),
        State::Held => (
            "the clock is ahead of what etcd has the lease of this server's generator IDs for"
                .into(),
            "Check the server's clock, and that etcd answers: IDs are made again as soon as the lease is \
             renewed by this clock.",
        ),
        // A statement goes by the settings that it began with.
        State::Off => return LeaseError::StillLeased,
        State::Starting => ("no generator IDs are leased from etcd yet".into(), LOOK),
    };
    let report = Report::wrong_state(message).hint(hint);
    let lease = kept.lease_text().map(|lease| format!("The last lease was {lease}."));
    let last = kept.trouble.get();
    let trouble = (!last.is_empty()).then(|| format!("The last trouble was: {last}."));
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
    Report::wrong_state("this server's generator IDs are changing with \"flakeid.generator_ids\"")
        .detail("Those that were leased from etcd are being given up, or others are being leased.")
        .hint("Try again.")
}

#[cfg(feature = "etcd")]
pub fn no_worker() -> Report {
    Report::wrong_state("could not start the worker that leases generator IDs from etcd")
        .hint("You may need to increase \"max_worker_processes\".")
}

/// The error of a server that counts from another epoch than the servers that share its namespace.
pub fn other_epoch(epoch: UnixNanos, theirs: UnixNanos) -> Report {
    Report::wrong_state(format!("flake IDs cannot count from {} here", instant(epoch)))
        .detail(format!(
            "The servers that lease generator IDs from one namespace of etcd hand them on to each other, and \
             count from {}.",
            instant(theirs)
        ))
        .hint("Set \"flakeid.epoch\" to that, or \"flakeid.etcd_namespace\" to another.")
}
