//! The keys in etcd, and how they change.
//!
//! | key below the namespace | lease | value |
//! |---|---|---|
//! | `cluster-id` | no | uniqueid's cluster ID, as the Java library keeps it: `0` |
//! | `pool/<cluster>:<id>` | the holder's | a claim, under the name that library gives it; a [`Document`] |
//! | `until/<id>` | no | the high-water mark: `2026-11-21T12:34:56.123456789Z` |
//! | `epoch` | no | flake's epoch, which all servers of the namespace have in common |
//! | `address` | no | the address of this registry, and the others that it replaces: see `holder/authority.rs` |
//! | `registry-id` | no | the ID of this registry: a random number; and the lost ones that it follows: `<ID>[,<followed>...]` |
//! | `left` | no | the registries that servers have left for this one: see `holder/left.rs` |
//! | `grace` | its own | while it exists, a generator ID can be claimed only by its holder; its end, for people |
//!
//! `registry/<cluster>:<id>`, where that library keeps owners by name, is respected.
//!
//! # Each change is one transaction
//! * A *claim* is made if no key of its pool exists, and the high-water marks, cluster, epoch, address, grace period
//!   and ID of the registry are as they were listed. It also needs what was written before the listing: see
//!   `holder/claiming.rs`. The same transaction sets the high-water marks to the ceiling, before any ID is generated.
//!   The answer to an earlier call of the same turn may be lost. Then its claim is taken as it is, but its
//!   high-water marks are raised to the ceiling first.
//! * A *renewal* moves the high-water marks if all claims are still as this lease wrote them last. It is not enough
//!   that they are bound to the lease: a call that was given up may be done later, and must not lower a
//!   high-water mark. A keep-alive alone proves nothing. A leader that has been replaced and does not know it yet
//!   answers "ok", and the lease ends nevertheless ([etcd#15247](https://github.com/etcd-io/etcd/issues/15247)). So the
//!   renewal counts only if the transaction that follows on the same connection was committed in the term in which the
//!   keep-alive was answered. Then a majority was in that term, so there was no later leader.
//! * A *release* writes the exact high-water marks and deletes the claims, on the same condition.
//!
//! Revisions do not tell two etcds apart: two that are set up alike and used alike have the same ones. So these
//! conditions have a random number in them: the lease of the claims, or the ID of the registry.

mod founding;
mod id;
mod keys;
mod listing;

pub use founding::Grace;
pub use id::{Identity, followed_by};
pub use keys::{Document, Registry, written};
pub use listing::{HighWaterMark, HighWaterMarks, Listing};

use crate::clock::{now, since_boot};
use crate::id_types::ServerIdType;
use crate::shmem::{LeasedId, Revision};
use etcd_client::{
    Client, Compare, CompareOp, Error, EventType, GetOptions, LeaseGrantOptions, PutOptions,
    ResponseHeader, Txn, TxnOp, TxnResponse, WatchFilterType, WatchOptions,
};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime};
use flakeid_core::uniqueid;
use keys::{ID, another, gets, is_absent, quoted, read};
use std::time::Duration;

/// The number of generator IDs that one transaction claims at most: etcd takes 128 operations.
pub const MAX_CLAIMS_PER_TXN: usize = 32;

/// The result of a renewal.
#[derive(Debug)]
pub enum Renewal {
    /// The lease is renewed from this request on. The high-water marks are at its ceiling, as of these revisions.
    Done(RequestTime, LeaseLimits, Vec<Revision>),
    /// Only these claims are still this lease's, as of these revisions. Nothing was renewed.
    Only(Vec<Revision>),
    /// The etcd that answered is not the one that granted the lease.
    Elsewhere,
    /// The lease does not exist any more.
    Gone,
    /// The lease may have been renewed or not; ask again.
    Unsure,
}

/// Generator IDs under a lease, and the values that their holder writes with its claims.
#[derive(Clone, Debug)]
pub struct Holding<'a> {
    /// The cluster ID of the etcd that granted the lease.
    pub etcd: u64,
    pub cluster: u16,
    pub lease: i64,
    pub held: &'a [LeasedId],
    pub document: &'a Document,
}

/// Fails if the answer is from another etcd than the one that was listed. A copy of a registry meets all conditions
/// that the registry itself meets.
fn is_from(header: Option<&ResponseHeader>, etcd: u64) -> Result<(), Error> {
    match header.map(ResponseHeader::cluster_id) {
        Some(id) if id == etcd => Ok(()),
        _ => Err(another()),
    }
}

impl Registry {
    /// Returns the condition that this is the registry that was listed.
    pub(super) fn is_listed(&self) -> Compare {
        let key = self.key(ID);
        match &*self.id {
            "" => is_absent(&key),
            id => Compare::value(key, CompareOp::Equal, id),
        }
    }

    /// Returns the ID of a registry that was listed, if it has one.
    ///
    /// # Errors
    /// Its key has another value.
    pub fn identity(&self, listing: &Listing) -> Result<Option<Identity>, String> {
        let Some(value) = &listing.id.value else { return Ok(None) };
        let identity = Identity::read(value).filter(|_| value.len() < listing::VALUE_LIMIT);
        identity.map(Some).ok_or_else(|| {
            let (key, value) = (self.key(ID), quoted(value.as_bytes()));
            format!("etcd's key \"{key}\" is \"{value}\", not the ID of a registry")
        })
    }

    /// Returns uniqueid's cluster ID by a listing.
    ///
    /// # Errors
    /// The reason why this server can't lease by that listing.
    pub fn cluster_of(&self, listing: &Listing) -> Result<u16, String> {
        let value = listing.cluster.value.as_deref().unwrap_or_default();
        // The Java library takes several, each with a pool of its own; the first is ours.
        let first = value.split(',').next().unwrap_or_default().trim();
        let last = uniqueid::CLUSTER.max();
        let cluster = first.parse().ok().filter(|&id| u64::from(id) <= last);
        let cluster = cluster.ok_or_else(|| {
            let key = self.key("cluster-id");
            let value = quoted(value.as_bytes());
            format!("etcd key \"{key}\" has \"{value}\", which is not a number from 0 to {last}")
        })?;
        let theirs = listing.epoch.value.as_deref().unwrap_or_default();
        let ours = Flake::scale();
        if read(theirs) != Some(ours.epoch()) {
            let (key, ours) = (self.key("epoch"), crate::error::timestamp(ours.start(Tick(0))));
            let theirs = quoted(theirs.as_bytes());
            return Err(format!(
                "etcd's key \"{key}\" is \"{theirs}\", where \"flakeid.epoch\" is {ours}"
            ));
        }
        Ok(cluster)
    }

    /// Requests a lease with an ID that the caller chose, so that two requests make one lease. Returns its duration.
    pub async fn grant(
        &self,
        client: &mut Client,
        lease: i64,
        ttl: Duration,
    ) -> Result<Duration, Error> {
        let options = LeaseGrantOptions::new().with_id(lease);
        match client.lease_grant(ttl.as_secs() as i64, Some(options)).await {
            Ok(granted) => Ok(Duration::from_secs(granted.ttl().max(0) as u64)),
            Err(Error::GRpcStatus(status)) if status.message().contains("lease already exists") => {
                Ok(ttl)
            }
            Err(error) => Err(error),
        }
    }

    /// Revokes a lease. Afterwards neither it nor any of its claims exists.
    pub async fn revoke(&self, client: &mut Client, lease: i64) -> Result<(), Error> {
        match client.lease_revoke(lease).await {
            Err(Error::GRpcStatus(status)) if status.message().contains("lease not found") => {
                Ok(())
            }
            done => done.map(drop),
        }
    }

    /// Returns the writes for one generator ID: its claim, and its high-water mark. That is the ceiling, or the one
    /// with which it was claimed if that is later.
    fn puts(&self, holding: &Holding<'_>, leased: LeasedId, ceiling: UnixNanos) -> [TxnOp; 2] {
        let until = written(ceiling.max(leased.high_water_mark));
        let document = Document { until: until.clone(), ..holding.document.clone() };
        let document = serde_json::to_string(&document).unwrap_or_default();
        let options = PutOptions::new().with_lease(holding.lease);
        [
            TxnOp::put(self.pool(holding.cluster, leased.id), document, Some(options)),
            TxnOp::put(self.until(leased.id), until, None),
        ]
    }

    /// Returns the reads that show whose claims these are.
    fn claims(&self, holding: &Holding<'_>) -> Vec<TxnOp> {
        let get = |leased: &LeasedId| {
            let options = GetOptions::new().with_keys_only();
            TxnOp::get(self.pool(holding.cluster, leased.id), Some(options))
        };
        holding.held.iter().map(get).collect()
    }

    /// Returns which of these claims are the lease's, by the answers to these reads.
    fn ours(&self, holding: &Holding<'_>, response: &TxnResponse) -> Vec<Revision> {
        let answers = gets(response);
        let ours = holding.held.iter().zip(&answers).filter_map(|(leased, get)| {
            let ours = get.kvs().first().filter(|kv| kv.lease() == holding.lease);
            ours.map(|kv| (leased.id, kv.mod_revision()))
        });
        ours.collect()
    }

    /// Returns all of these as of the revision that a transaction has made.
    fn written(&self, holding: &Holding<'_>, response: &TxnResponse) -> Vec<Revision> {
        let revision = response.header().map_or(0, |header| header.revision());
        holding.held.iter().map(|leased| (leased.id, revision)).collect()
    }

    /// Returns the conditions that these claims are as the lease wrote them last. The lease's number is random, so it
    /// exists in one etcd alone. It is enough to compare it for one claim.
    fn unchanged(&self, holding: &Holding<'_>) -> Vec<Compare> {
        let unchanged = |leased: &LeasedId| {
            let key = self.pool(holding.cluster, leased.id);
            Compare::mod_revision(key, CompareOp::Equal, leased.revision)
        };
        let is_ours = |leased: &LeasedId| {
            Compare::lease(self.pool(holding.cluster, leased.id), CompareOp::Equal, holding.lease)
        };
        holding.held.iter().map(unchanged).chain(holding.held.first().map(is_ours)).collect()
    }

    /// Claims all of these generator IDs, or nothing. If the lease has other claims, `beside` is one of them, which
    /// must be as it was written last. Returns `None` if the conditions are not met.
    pub async fn claim(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
        listing: &Listing,
        ceiling: UnixNanos,
        beside: Option<&LeasedId>,
    ) -> Result<Option<Vec<Revision>>, Error> {
        let equal = CompareOp::Equal;
        let mut conditions = vec![
            Compare::mod_revision(self.key("cluster-id"), equal, listing.cluster.revision),
            Compare::mod_revision(self.key("epoch"), equal, listing.epoch.revision),
            Compare::mod_revision(self.key("address"), equal, listing.address.revision),
            Compare::mod_revision(self.key("grace"), equal, listing.grace.revision),
            self.is_listed(),
        ];
        if let Some(&held) = beside {
            conditions.extend(self.unchanged(&Holding { held: &[held], ..holding.clone() }));
        }
        for &LeasedId { id, .. } in holding.held {
            let seen = listing.mark_revisions.get(&id).copied().unwrap_or(0);
            conditions.push(is_absent(&self.pool(holding.cluster, id)));
            conditions.push(Compare::mod_revision(self.until(id), equal, seen));
        }
        let puts: Vec<TxnOp> =
            holding.held.iter().flat_map(|&leased| self.puts(holding, leased, ceiling)).collect();
        let txn = Txn::new().when(conditions).and_then(puts.clone()).or_else(self.claims(holding));
        let response = client.txn(txn).await?;
        is_from(response.header(), holding.etcd)?;
        if response.succeeded() {
            return Ok(Some(self.written(holding, &response)));
        }
        // The conditions are also not met if an earlier call did it whose answer was lost. The lease may have been
        // renewed since, and the high-water marks of that call are before its ceiling now.
        let ours = self.ours(holding, &response);
        if ours.len() != holding.held.len() {
            return Ok(None);
        }
        let held: Vec<LeasedId> = holding.held.iter().map(|held| held.as_of(&ours)).collect();
        let holding = Holding { held: &held, ..holding.clone() };
        let txn = Txn::new().when(self.unchanged(&holding)).and_then(puts);
        let response = client.txn(txn).await?;
        is_from(response.header(), holding.etcd)?;
        Ok(response.succeeded().then(|| self.written(&holding, &response)))
    }

    /// Renews a lease and moves its high-water marks.
    pub async fn renew(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
        before: LeaseLimits,
    ) -> Result<Renewal, Error> {
        let (mut keeper, mut answers) = match client.lease_keep_alive(holding.lease).await {
            Err(Error::LeaseKeepAliveError(_)) => return Ok(Renewal::Gone),
            done => done?,
        };
        // The client does not show the header of the first answer, so the second one counts.
        let sent = RequestTime { now: now(), boot: since_boot() };
        keeper.keep_alive().await?;
        let Some(answer) = answers.message().await? else { return Ok(Renewal::Unsure) };
        // A copy of the registry may have the lease and the claims, too.
        if answer.header().map(|header| header.cluster_id()) != Some(holding.etcd) {
            return Ok(Renewal::Elsewhere);
        }
        if answer.ttl() <= 0 {
            return Ok(Renewal::Gone);
        }
        let claim = before.renewed(sent, LeaseDuration(Duration::from_secs(answer.ttl() as u64)));
        let puts: Vec<TxnOp> = holding
            .held
            .iter()
            .flat_map(|&leased| self.puts(holding, leased, claim.ceiling))
            .collect();
        let txn =
            Txn::new().when(self.unchanged(holding)).and_then(puts).or_else(self.claims(holding));
        let response = client.txn(txn).await?;
        if response.header().map(|header| header.cluster_id()) != Some(holding.etcd) {
            return Ok(Renewal::Elsewhere);
        }
        if !response.succeeded() {
            return Ok(Renewal::Only(self.ours(holding, &response)));
        }
        let term = |header: Option<&ResponseHeader>| header.map(|header| header.raft_term());
        match term(answer.header()) == term(response.header()) {
            true => Ok(Renewal::Done(sent, claim, self.written(holding, &response))),
            false => Ok(Renewal::Unsure),
        }
    }

    /// Writes the exact high-water marks and deletes the claims. If one claim is not as this lease wrote it, does
    /// nothing, and returns those that are still the lease's.
    pub async fn release(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
    ) -> Result<Vec<Revision>, Error> {
        let ops = |leased: &LeasedId| {
            [
                TxnOp::put(self.until(leased.id), written(leased.high_water_mark), None),
                TxnOp::delete(self.pool(holding.cluster, leased.id), None),
            ]
        };
        let txn = Txn::new()
            .when(self.unchanged(holding))
            .and_then(holding.held.iter().flat_map(ops).collect::<Vec<_>>())
            .or_else(self.claims(holding));
        let response = client.txn(txn).await?;
        Ok(if response.succeeded() { Vec::new() } else { self.ours(holding, &response) })
    }

    /// Writes the exact high-water mark of a generator ID whose claim was taken away from this server. Does so only if
    /// no server has claimed it since, the high-water mark is as of the given revision (0 if the key does not exist),
    /// and the registry is the one that was listed.
    pub async fn finalize_mark(
        &self,
        client: &mut Client,
        cluster: u16,
        leased: LeasedId,
    ) -> Result<(), Error> {
        let until = self.until(leased.id);
        let txn = Txn::new()
            .when([
                is_absent(&self.pool(cluster, leased.id)),
                Compare::mod_revision(&*until, CompareOp::Equal, leased.revision),
                self.is_listed(),
            ])
            .and_then([TxnOp::put(&*until, written(leased.high_water_mark), None)]);
        client.txn(txn).await.map(drop)
    }

    /// Waits until a claim has been deleted since the listing, but not longer than `longest`.
    pub async fn freed(
        &self,
        client: &mut Client,
        revision: i64,
        longest: Duration,
    ) -> Result<(), Error> {
        let freed = tokio::time::timeout(longest, self.watch(client, revision)).await;
        freed.unwrap_or(Ok(()))
    }

    async fn watch(&self, client: &mut Client, revision: i64) -> Result<(), Error> {
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(revision + 1)
            .with_filters([WatchFilterType::NoPut]);
        let mut stream = client.watch(self.key("pool/"), Some(options)).await?;
        while let Some(message) = stream.message().await? {
            let is_delete = |event: &etcd_client::Event| event.event_type() == EventType::Delete;
            if message.canceled() || message.events().iter().any(is_delete) {
                break;
            }
        }
        Ok(())
    }
}
