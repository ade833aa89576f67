//! How a registry changes: each change is one transaction, with conditions that make it safe if its
//! answer is lost, if it comes late, or if it reaches another registry.
//!
//! | key | bound to a lease | value |
//! |---|---|---|
//! | [`Key::ClusterId`] | no | the uniqueid cluster, as the Java library keeps it: `0` |
//! | [`Key::Claim`] | the holder's | a claim, under the name that the Java library gives it |
//! | [`Key::HighWaterMark`] | no | the high-water mark |
//! | [`Key::Epoch`] | no | flake's epoch, which all servers of the namespace have in common |
//! | [`Key::Address`] | no | the address of this registry, and the others that it replaces: see [`trust`](super::trust) |
//! | [`Key::Id`] | no | the registry's [`Identity`] |
//! | [`Key::Retired`] | no | the registries that servers have retired for this one: see [`retired`] |
//! | [`Key::Grace`] | its own | while it exists, only its last holder can claim a generator ID; its end, for people |
//!
//! * A *claim* is made if nobody has claimed the generator IDs, and their high-water marks, the
//!   uniqueid cluster, epoch, address, grace period and ID of the registry are as they were listed.
//!   It also needs what this server wrote before the listing: see [`plan`](super::plan). The same
//!   transaction sets the high-water marks to the ceiling, before any ID is generated. The answer
//!   to an earlier call of the same turn may be lost. Then its claim is taken as it is, but its
//!   high-water marks are raised to the ceiling first.
//! * A *renewal* moves the high-water marks if all claims are still as this lease wrote them last.
//!   It is not enough that they are bound to the lease: a call that was given up may be done later,
//!   and must not lower a high-water mark.
//! * A *release* writes the exact high-water marks and deletes the claims, on the same condition.
//!
//! Revisions do not tell two etcds apart: two that are set up alike and used alike have the same
//! ones. So these conditions have a random number in them: the lease of the claims, or the ID of
//! the registry.

use super::identity::Identity;
use super::listing::{ClaimRevision, Listing};
use super::retired::{self, RetiredRegistry};
use crate::clock::UnixNanos;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A generator ID, and the high-water mark with which it was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasedId {
    pub id: u16,
    /// The tick of every ID that was generated with it before begins before this time.
    pub high_water_mark: UnixNanos,
    /// The revision in which the high-water mark, and the claim if there is one, were last written.
    pub revision: i64,
}

impl LeasedId {
    /// Returns this leased ID with its revision from `revisions`, if that has one.
    #[must_use]
    pub fn as_of(self, revisions: &[ClaimRevision]) -> Self {
        let new = revisions.iter().find(|(id, _)| *id == self.id);
        Self { revision: new.map_or(self.revision, |&(_, revision)| revision), ..self }
    }
}

/// A key of a registry, without the namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    ClusterId,
    Epoch,
    Address,
    Grace,
    Id,
    Retired,
    /// The claim of a generator ID in a uniqueid cluster.
    Claim {
        cluster: u16,
        id: u16,
    },
    /// The high-water mark of a generator ID.
    HighWaterMark(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// Flake's epoch.
    Epoch(UnixNanos),
    Time(UnixNanos),
    /// A claim, for people: when its lease was granted, and its high-water mark.
    Claim {
        since: UnixNanos,
        until: UnixNanos,
    },
}

/// A condition without which a transaction changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Absent(Key),
    /// The key was last written in this revision; 0 if it must not exist.
    Revision(Key, i64),
    Value(Key, String),
    /// The key is bound to this lease.
    Lease(Key, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Writes a value, bound to a lease if that is not 0.
    Put(Key, Value, i64),
    Delete(Key),
}

/// Writes all or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    pub conditions: Vec<Condition>,
    pub writes: Vec<Write>,
    /// The keys to read if a condition does not hold.
    pub reads: Vec<Key>,
}

/// The answer to a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The cluster ID of the etcd that answered.
    pub etcd: u64,
    /// The term of the leader that answered.
    pub term: u64,
    pub revision: i64,
    /// Whether the conditions held.
    pub is_done: bool,
    /// The keys that were read and exist: the lease to which each is bound, and its revision.
    pub read: Vec<(Key, i64, i64)>,
}

/// Generator IDs under a lease, and what their holder writes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The cluster ID of the etcd that granted the lease.
    pub etcd: u64,
    pub cluster: u16,
    pub lease: i64,
    /// When the lease was granted, for people.
    pub since: UnixNanos,
    pub held: Vec<LeasedId>,
}

/// The parts of a listing that conditions name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    id: Option<String>,
    cluster: i64,
    epoch: i64,
    address: i64,
    grace: i64,
    retired: i64,
}

impl From<&Listing> for Listed {
    fn from(listing: &Listing) -> Self {
        Self {
            id: listing.id.value.clone(),
            cluster: listing.cluster.revision,
            epoch: listing.epoch.revision,
            address: listing.address.revision,
            grace: listing.grace.revision,
            retired: listing.retired.revision,
        }
    }
}

impl Listed {
    /// Returns the condition that this is the registry that was listed.
    fn is_this(&self) -> Condition {
        match &self.id {
            None => Condition::Absent(Key::Id),
            Some(id) => Condition::Value(Key::Id, id.clone()),
        }
    }

    /// Returns a transaction of the registry that was listed, on these conditions.
    fn only_if<const N: usize>(
        &self,
        conditions: [Condition; N],
        writes: Vec<Write>,
    ) -> Transaction {
        let conditions = conditions.into_iter().chain([self.is_this()]).collect();
        Transaction { conditions, writes, reads: Vec::new() }
    }
}

/// A key that must exist, and what makes it safe to create it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    pub key: Key,
    pub value: Value,
    /// Another key, which must be as it was listed. Otherwise a registry that was lost since could
    /// come back without a grace period.
    pub beside: Key,
}

/// A change of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Founds the registry, unless it has an address or epoch, with a grace period that is bound to
    /// `lease`. An existing ID stays.
    Found {
        lease: i64,
        until: UnixNanos,
        address: String,
        epoch: UnixNanos,
        identity: Identity,
    },
    /// Begins a grace period that is bound to `lease`, unless there is one.
    BeginGrace {
        lease: i64,
        until: UnixNanos,
    },
    /// Gives the registry this ID.
    Identify(Identity),
    /// Writes which registries were retired.
    Retire(Vec<RetiredRegistry>),
    Create(NewKey),
    /// Claims generator IDs, and sets their high-water marks to `ceiling`. `beside` is a claim of
    /// the same lease.
    Claim {
        holding: Holding,
        ceiling: UnixNanos,
        beside: Option<LeasedId>,
    },
    /// Raises the high-water marks of claims whose answer was lost.
    ConfirmClaim {
        holding: Holding,
        ceiling: UnixNanos,
    },
    /// Sets the high-water marks of claims to `ceiling`.
    Renew {
        holding: Holding,
        ceiling: UnixNanos,
    },
    /// Writes the exact high-water marks of claims, and deletes the claims.
    Release(Holding),
    /// Writes the exact high-water mark of a generator ID whose claim was taken away from this
    /// server, if no server has claimed it since.
    FinalizeMark {
        cluster: u16,
        leased: LeasedId,
    },
}

impl Change {
    /// Returns the cluster ID of the etcd that must answer, for a change that a copy of the
    /// registry would do, too.
    pub fn etcd(&self) -> Option<u64> {
        match self {
            Self::Claim { holding, .. } | Self::ConfirmClaim { holding, .. } => Some(holding.etcd),
            _ => None,
        }
    }

    /// Returns the transaction that makes this change in the registry that was listed.
    pub fn transaction(&self, listed: &Listed) -> Transaction {
        let put = |key, text| Write::Put(key, Value::Text(text), 0);
        match self {
            Self::Found { lease, until, address, epoch, identity } => {
                let mut writes = vec![
                    put(Key::Address, address.clone()),
                    Write::Put(Key::Epoch, Value::Epoch(*epoch), 0),
                    Write::Put(Key::Grace, Value::Time(*until), *lease),
                ];
                if listed.id.is_none() {
                    writes.push(put(Key::Id, identity.to_string()));
                }
                listed.only_if([Key::Address, Key::Epoch].map(Condition::Absent), writes)
            }
            Self::BeginGrace { lease, until } => Transaction {
                reads: vec![Key::Grace],
                ..listed.only_if(
                    [Condition::Absent(Key::Grace)],
                    vec![Write::Put(Key::Grace, Value::Time(*until), *lease)],
                )
            },
            Self::Identify(identity) => listed.only_if(
                [
                    Condition::Revision(Key::Address, listed.address),
                    Condition::Revision(Key::Epoch, listed.epoch),
                    Condition::Revision(Key::Grace, listed.grace),
                ],
                vec![put(Key::Id, identity.to_string())],
            ),
            Self::Retire(retired) => listed.only_if(
                [Condition::Revision(Key::Retired, listed.retired)],
                vec![put(Key::Retired, retired::value(retired))],
            ),
            Self::Create(NewKey { key, value, beside }) => {
                let revision = if *beside == Key::Address { listed.address } else { listed.epoch };
                listed.only_if(
                    [Condition::Absent(*key), Condition::Revision(*beside, revision)],
                    vec![Write::Put(*key, value.clone(), 0)],
                )
            }
            Self::Claim { holding, ceiling, beside } => holding.claim(listed, *ceiling, *beside),
            Self::ConfirmClaim { holding, ceiling } => Transaction {
                reads: Vec::new(),
                ..holding.only_if_unchanged(holding.puts(*ceiling))
            },
            Self::Renew { holding, ceiling } => holding.only_if_unchanged(holding.puts(*ceiling)),
            Self::Release(holding) => holding.release(),
            Self::FinalizeMark { cluster, leased } => {
                let (id, high_water_mark) = (leased.id, Key::HighWaterMark(leased.id));
                listed.only_if(
                    [
                        Condition::Absent(Key::Claim { cluster: *cluster, id }),
                        Condition::Revision(high_water_mark, leased.revision),
                    ],
                    vec![Write::Put(high_water_mark, Value::Time(leased.high_water_mark), 0)],
                )
            }
        }
    }
}

impl Holding {
    /// Returns this holding with these generator IDs instead.
    #[must_use]
    pub fn with(&self, held: Vec<LeasedId>) -> Self {
        Self { held, ..self.clone() }
    }

    fn key(&self, leased: &LeasedId) -> Key {
        Key::Claim { cluster: self.cluster, id: leased.id }
    }

    fn keys(&self) -> Vec<Key> {
        self.held.iter().map(|leased| self.key(leased)).collect()
    }

    /// Returns the transaction that claims these generator IDs of the registry that was listed.
    fn claim(&self, listed: &Listed, ceiling: UnixNanos, beside: Option<LeasedId>) -> Transaction {
        let mut conditions = vec![
            Condition::Revision(Key::ClusterId, listed.cluster),
            Condition::Revision(Key::Epoch, listed.epoch),
            Condition::Revision(Key::Address, listed.address),
            Condition::Revision(Key::Grace, listed.grace),
            listed.is_this(),
        ];
        if let Some(beside) = beside {
            conditions.extend(self.with(vec![beside]).unchanged());
        }
        for leased in &self.held {
            conditions.push(Condition::Absent(self.key(leased)));
            conditions.push(Condition::Revision(Key::HighWaterMark(leased.id), leased.revision));
        }
        Transaction { conditions, writes: self.puts(ceiling), reads: self.keys() }
    }

    /// Returns the transaction that writes the exact high-water marks of these claims, and deletes
    /// the claims.
    fn release(&self) -> Transaction {
        let writes = |leased: &LeasedId| {
            let until = Value::Time(leased.high_water_mark);
            [Write::Put(Key::HighWaterMark(leased.id), until, 0), Write::Delete(self.key(leased))]
        };
        self.only_if_unchanged(self.held.iter().flat_map(writes).collect())
    }

    /// Returns a transaction on the condition that these claims are as the lease wrote them last.
    fn only_if_unchanged(&self, writes: Vec<Write>) -> Transaction {
        Transaction { conditions: self.unchanged(), writes, reads: self.keys() }
    }

    /// Returns the conditions that these claims are as the lease wrote them last. The lease's
    /// number is random, so it exists in one etcd alone. It is enough to compare it for one claim.
    fn unchanged(&self) -> Vec<Condition> {
        let unchanged = |leased: &LeasedId| Condition::Revision(self.key(leased), leased.revision);
        let is_ours = |leased: &LeasedId| Condition::Lease(self.key(leased), self.lease);
        self.held.iter().map(unchanged).chain(self.held.first().map(is_ours)).collect()
    }

    /// Returns the writes of the claims and their high-water marks: the ceiling, or the one with
    /// which a generator ID was claimed if that is later.
    fn puts(&self, ceiling: UnixNanos) -> Vec<Write> {
        let puts = |leased: &LeasedId| {
            let until = ceiling.max(leased.high_water_mark);
            let claim = Value::Claim { since: self.since, until };
            [
                Write::Put(self.key(leased), claim, self.lease),
                Write::Put(Key::HighWaterMark(leased.id), Value::Time(until), 0),
            ]
        };
        self.held.iter().flat_map(puts).collect()
    }

    /// Returns which of these claims are bound to the lease, by an answer that read them.
    pub fn ours(&self, answer: &Answer) -> Vec<ClaimRevision> {
        let ours = answer.read.iter().filter(|(_, lease, _)| *lease == self.lease);
        ours.filter_map(|&(key, _, revision)| match key {
            Key::Claim { id, .. } => Some((id, revision)),
            _ => None,
        })
        .collect()
    }

    /// Returns all of these as of the revision that a transaction has made.
    pub fn written(&self, answer: &Answer) -> Vec<ClaimRevision> {
        self.held.iter().map(|leased| (leased.id, answer.revision)).collect()
    }
}
