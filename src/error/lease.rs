//! What goes wrong with generator IDs that are leased.

use super::wording::{instant, span};
use super::{Code, Words};
use crate::identity::lease::State;
use flakeid_core::clock::UnixNanos;
use std::time::Duration;

const STATE: Code = Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;

/// What to look at, where etcd is not what it should be.
const LOOK: &str = "Check that the etcd of \"flakeid.etcd_endpoints\" answers, and see \
                    pg_stat_flakeid_lease. IDs are made again as soon as generator IDs are leased.";

pub(super) fn not_leased(
    state: State,
    lease: Option<String>,
    lost: Duration,
    trouble: Option<String>,
) -> Words {
    let (message, hint) = match state {
        State::Lost => {
            (format!("the lease of this server's generator IDs was lost {} ago", span(lost)), LOOK)
        }
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
        State::Off => return still_leased(),
        State::Starting => ("no generator IDs are leased from etcd yet".into(), LOOK),
    };
    let words = Words::new(STATE, message).hint(hint);
    let lease = lease.map(|lease| format!("The last lease was {lease}."));
    let trouble = trouble.map(|trouble| format!("The last trouble was: {trouble}."));
    match [lease, trouble].into_iter().flatten().collect::<Vec<_>>().join(" ") {
        detail if detail.is_empty() => words,
        detail => words.confidential(detail),
    }
}

pub(super) fn still_leased() -> Words {
    Words::new(STATE, "this server's generator IDs are changing with \"flakeid.generator_ids\"")
        .detail("Those that were leased from etcd are being given up, or others are being leased.")
        .hint("Try again.")
}

#[cfg(feature = "etcd")]
pub(super) fn no_worker() -> Words {
    Words::new(STATE, "could not start the worker that leases generator IDs from etcd")
        .hint("You may need to increase \"max_worker_processes\".")
}

pub(super) fn other_epoch(epoch: UnixNanos, theirs: UnixNanos) -> Words {
    Words::new(
        STATE,
        format!("flake IDs cannot count from {} here", instant(epoch)),
    )
    .detail(format!(
        "The servers that lease generator IDs from one namespace of etcd hand them on to each other, and \
         count from {}.",
        instant(theirs)
    ))
    .hint("Set \"flakeid.epoch\" to that, or \"flakeid.etcd_namespace\" to another.")
}
