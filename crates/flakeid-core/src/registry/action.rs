//! Actions: the things that a worker does, one at a time, and the results of a renewal.
//!
//! # A renewal that is answered
//! A keep-alive alone proves nothing. A leader that has been replaced and does not know it yet
//! answers "ok", and the lease ends nevertheless
//! ([etcd#15247](https://github.com/etcd-io/etcd/issues/15247)). So the renewal counts only if the
//! transaction that follows on the same connection was committed in the term in which the
//! keep-alive was answered. Then a majority was in that term, so there was no later leader.

use super::listing::{Authority, ClaimRevision};
use super::memory::Memory;
use super::transaction::{Answer, Change, Holding, LeasedId, Listed};
use super::trust::GraceReason;
use crate::clock::UnixNanos;
use crate::lease::{LeaseDuration, LeaseLimits, RequestTime};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// A lease that this server holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub lease: i64,
    pub namespace: String,
    pub authority: Authority,
    pub cluster: u16,
    pub ttl: Duration,
    pub epoch: UnixNanos,
    pub limits: LeaseLimits,
    /// When the request was sent that renewed the lease last.
    pub sent: RequestTime,
    /// When the lease was granted.
    pub since: UnixNanos,
    pub held: Vec<LeasedId>,
}

impl Lease {
    /// Returns the time since boot from which on the lease must be renewed.
    pub fn renewal(&self) -> Duration {
        self.sent.boot + LeaseDuration(self.ttl).renewal()
    }

    pub(super) fn holding(&self, held: Vec<LeasedId>) -> Holding {
        Holding {
            etcd: self.authority.etcd,
            cluster: self.cluster,
            lease: self.lease,
            since: self.since,
            held,
        }
    }

    pub(super) fn ids(&self) -> Vec<u16> {
        self.held.iter().map(|held| held.id).collect()
    }
}

/// A lease that etcd has granted, and under which nothing is claimed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewLease {
    pub lease: i64,
    pub ttl: Duration,
    /// The time before it was requested.
    pub sent: RequestTime,
    pub limits: LeaseLimits,
}

/// The reason for which generator IDs are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// etcd has forgotten the lease.
    Forgotten,
    /// The lease has expired or was revoked.
    Ended,
    /// All claims were deleted in etcd.
    AllDeleted,
    /// Claims were deleted in etcd.
    SomeDeleted,
}

/// Why a grace period begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraceBegins {
    /// This server founds the registry with this name.
    Founded(String),
    Forgotten(GraceReason),
}

/// A line for the server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    GraceBegan(GraceBegins),
    Leased(Vec<LeasedId>),
    Lost {
        lease: i64,
        gone: Vec<LeasedId>,
        loss: Loss,
    },
    Released(Vec<LeasedId>),
    NotReleased(Vec<LeasedId>),
    /// Other servers lease all generator IDs of the pool.
    PoolEmpty,
}

/// One thing that a worker does. Those that name an endpoint (`at`) are done there and nowhere
/// else. The others begin with the endpoint that answered last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    List {
        at: Option<String>,
    },
    /// Lets the next call begin with this endpoint.
    Prefer(String),
    /// Reads these high-water marks of the registry with this ID, in the etcd with this cluster ID.
    /// The revisions of a copy must not be taken for those of the registry.
    ReadMarks {
        ids: Vec<u16>,
        etcd: u64,
        registry: Option<String>,
    },
    /// Waits until a claim has been deleted since the revision, but not longer than `longest`.
    AwaitRelease {
        revision: i64,
        longest: Duration,
    },
    Grant {
        lease: i64,
        ttl: Duration,
        at: Option<String>,
    },
    Revoke(i64),
    /// Keeps the lease alive, and moves the high-water marks of its claims on the same connection.
    Renew {
        holding: Holding,
        limits: LeaseLimits,
    },
    Change {
        at: Option<String>,
        listed: Listed,
        change: Change,
    },
    /// Makes the memory durable.
    Remember {
        memory: Memory,
        purpose: MemoryPurpose,
    },
    /// Seals the cells of these generator IDs, and gives them up. `is_lost` if they are not given
    /// up on purpose.
    GiveUp {
        ids: Vec<u16>,
        is_lost: bool,
    },
    /// Lets sessions use these generator IDs.
    Publish {
        lease: Lease,
    },
    /// Lets sessions use the generator IDs of the lease up to these limits.
    Extend {
        lease: i64,
        limits: LeaseLimits,
        sent: RequestTime,
        revisions: Vec<ClaimRevision>,
    },
    Report(Report),
}

/// Why a server remembers a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPurpose {
    /// The server claims something there next.
    Claim,
    /// The server leases from it instead of the last one. The names of both, if a grace period has
    /// begun for that.
    Switch(Option<(String, String)>),
    /// The memory gets more exact. The server continues if that fails.
    Note,
}

/// How a keep-alive was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// The lease does not exist any more.
    Gone,
    NoAnswer,
    /// By this etcd, in this term of its leader, for this long from the time at which the request
    /// was sent.
    Alive {
        etcd: u64,
        term: u64,
        ttl: Duration,
        sent: RequestTime,
    },
}

/// The result of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The lease is renewed from this request on. The high-water marks are at its ceiling, as of
    /// these revisions.
    Done { sent: RequestTime, limits: LeaseLimits, revisions: Vec<ClaimRevision> },
    /// Only these claims are still this lease's, as of these revisions. Nothing was renewed.
    Only(Vec<ClaimRevision>),
    /// The etcd that answered is not the one that granted the lease.
    Elsewhere,
    /// The lease does not exist any more.
    Gone,
    /// The lease may have been renewed or not: renew it again.
    Unsure,
}

impl KeepAlive {
    /// Returns the limits that the lease gets if the transaction is done that has to follow.
    ///
    /// # Errors
    /// The result of the renewal, if no transaction has to follow.
    pub fn limits(self, etcd: u64, before: LeaseLimits) -> Result<LeaseLimits, Renewal> {
        match self {
            Self::Gone => Err(Renewal::Gone),
            Self::NoAnswer => Err(Renewal::Unsure),
            // A copy of the registry may have the lease and the claims, too.
            Self::Alive { etcd: answered, .. } if answered != etcd => Err(Renewal::Elsewhere),
            Self::Alive { ttl: Duration::ZERO, .. } => Err(Renewal::Gone),
            Self::Alive { ttl, sent, .. } => Ok(before.renewed(sent, LeaseDuration(ttl))),
        }
    }
}

impl Renewal {
    /// Returns the result of a renewal, by the answers to its keep-alive and to its transaction.
    pub fn of(kept: KeepAlive, limits: LeaseLimits, holding: &Holding, answer: &Answer) -> Self {
        match kept {
            _ if answer.etcd != holding.etcd => Self::Elsewhere,
            _ if !answer.is_done => Self::Only(holding.ours(answer)),
            KeepAlive::Alive { term, sent, .. } if term == answer.term => {
                Self::Done { sent, limits, revisions: holding.written(answer) }
            }
            _ => Self::Unsure,
        }
    }
}
