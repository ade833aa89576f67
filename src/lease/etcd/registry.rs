//! What is in etcd, and how it changes.
//!
//! | key below the namespace | lease | value |
//! |---|---|---|
//! | `cluster-id` | none | uniqueid's cluster, as the Java library keeps it: `0` |
//! | `pool/<cluster>:<id>` | the holder's | a claim, under the name that library gives it; a [`Document`] |
//! | `until/<id>` | none | the mark: `2026-11-21T12:34:56.123456789Z` |
//! | `epoch` | none | what flake counts from, which all servers here have in common |
//! | `address` | none | where this registry is, and which others it replaces: see `holder/authority.rs` |
//! | `registry-id` | none | which registry this is: a random number; and which lost ones it follows: `<ID>[,<followed>...]` |
//! | `grace` | its own | while it is there, only who held a generator ID may claim it; until when, for people |
//!
//! `registry/<cluster>:<id>`, where that library keeps owners by name, is respected.
//!
//! # Each change is one transaction
//! * A claim is made if no key of its pool is there, and the marks, cluster, epoch, address, grace period and ID of the
//!   registry are those that were listed. With it the marks become the ceiling: before any ID is made. A claim that an earlier call of the
//!   same turn made, whose answer was lost, is taken as it is, but for its marks: they are raised to the ceiling first.
//! * A renewal moves the marks if all claims are still as this lease wrote them last. That they are bound to
//!   it is not enough: a call that was given up may be done later, and must not lower a mark. A keep-alive alone proves
//!   nothing: a leader that has been replaced and does not know it yet answers "ok", and the lease runs out
//!   nevertheless ([etcd#15247](https://github.com/etcd-io/etcd/issues/15247)). So the renewal counts
//!   only where the transaction that follows, over the same connection, was committed in the term that
//!   the keep-alive was answered in: a majority was in that term then, so no later leader was there.
//! * A release writes the exact marks and takes the claims away, on the same condition.
//!
//! Revisions are not enough to tell one etcd from another: two that are set up alike and used alike count alike. So
//! these conditions have a random number in them: the lease of what is claimed, or the ID of the registry.

mod id;
mod keys;
mod listing;

pub use id::{Identity, followed_by};
pub use keys::{Document, Registry, written};
pub use listing::{Listing, Mark, Marks};

use crate::clock::{boot, now};
use crate::id_types::ServerIdType;
use crate::shmem::{Marked, Revision};
use etcd_client::{
    Client, Compare, CompareOp, Error, EventType, GetOptions, LeaseGrantOptions, PutOptions,
    ResponseHeader, Txn, TxnOp, TxnResponse, WatchFilterType, WatchOptions,
};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::lease::{Claim, Sent, Term};
use flakeid_core::uniqueid;
use keys::{ID, another, gets, quoted, read};
use std::time::Duration;

/// The most generator IDs that one transaction claims: etcd takes 128 operations.
pub const MOST: usize = 32;

/// What a renewal came to.
#[derive(Debug)]
pub enum Renewal {
    /// The lease, from this request on; the marks are at its ceiling, as of these revisions.
    Done(Sent, Claim, Vec<Revision>),
    /// These claims alone are still this lease's, as of these revisions. Nothing was renewed.
    Only(Vec<Revision>),
    /// This is not the etcd that granted the lease.
    Elsewhere,
    /// There is no such lease any more.
    Gone,
    /// It may or may not have been; ask again.
    Unsure,
}

/// What a grace period is made of: a lease of its length, and its end as people read it.
#[derive(Clone, Copy, Debug)]
pub struct Grace<'a> {
    pub lease: i64,
    pub until: &'a str,
}

/// What a holder writes with its claims.
#[derive(Clone, Debug)]
pub struct Holding<'a> {
    /// The cluster ID of the etcd that granted the lease.
    pub etcd: u64,
    pub cluster: u16,
    pub lease: i64,
    pub held: &'a [Marked],
    pub document: &'a Document,
}

/// A copy of a registry meets all conditions that the registry itself meets: an answer of another etcd than the one that
/// was listed does not count.
fn is_from(header: Option<&ResponseHeader>, etcd: u64) -> Result<(), Error> {
    match header.map(ResponseHeader::cluster_id) {
        Some(id) if id == etcd => Ok(()),
        _ => Err(another()),
    }
}

fn is_absent(key: &str) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, 0)
}

impl Registry {
    /// The condition that this is the registry that was listed.
    fn is_listed(&self) -> Compare {
        let key = self.key(ID);
        match &*self.id {
            "" => is_absent(&key),
            id => Compare::value(key, CompareOp::Equal, id),
        }
    }

    /// The ID of a registry that was listed, if it has one.
    ///
    /// # Errors
    /// Its key says something else.
    pub fn identity(&self, listing: &Listing) -> Result<Option<Identity>, String> {
        let Some(value) = &listing.id.value else { return Ok(None) };
        let identity = Identity::read(value).filter(|_| value.len() < listing::VALUE_LIMIT);
        identity.map(Some).ok_or_else(|| {
            let (key, value) = (self.key(ID), quoted(value.as_bytes()));
            format!("etcd's key \"{key}\" is \"{value}\", not the ID of a registry")
        })
    }

    /// The cluster of a listing, if this server can lease by it.
    ///
    /// # Errors
    /// Why it can't.
    pub fn cluster_of(&self, listing: &Listing) -> Result<u16, String> {
        let value = listing.cluster.value.as_deref().unwrap_or_default();
        // The Java library takes several, each a pool of its own; the first is ours.
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

    /// Founds the registry where it has neither address nor epoch: with a grace period, bound to this lease. An ID that
    /// is there stays. False where another server was faster.
    pub async fn found(
        &self,
        client: &mut Client,
        address: &str,
        epoch: &str,
        id: &Identity,
        grace: Grace<'_>,
    ) -> Result<bool, Error> {
        let [address_key, epoch_key] = ["address", "epoch"].map(|name| self.key(name));
        let mut puts = vec![
            TxnOp::put(&*address_key, address, None),
            TxnOp::put(&*epoch_key, epoch, None),
            self.put_grace(grace),
        ];
        if self.id.is_empty() {
            puts.push(TxnOp::put(self.key(ID), id.to_string(), None));
        }
        let conditions = [is_absent(&address_key), is_absent(&epoch_key), self.is_listed()];
        Ok(client.txn(Txn::new().when(conditions).and_then(puts)).await?.succeeded())
    }

    /// Gives the registry that was listed this ID, if it is still as it was listed. Nothing happens where it has changed
    /// since.
    pub async fn identify(
        &self,
        client: &mut Client,
        id: &Identity,
        listing: &Listing,
    ) -> Result<(), Error> {
        let is_as_of =
            |name, revision| Compare::mod_revision(self.key(name), CompareOp::Equal, revision);
        let conditions = [
            self.is_listed(),
            is_as_of("address", listing.address.revision),
            is_as_of("epoch", listing.epoch.revision),
            is_as_of("grace", listing.grace.revision),
        ];
        let put = TxnOp::put(self.key(ID), id.to_string(), None);
        client.txn(Txn::new().when(conditions).and_then([put])).await.map(drop)
    }

    fn put_grace(&self, grace: Grace<'_>) -> TxnOp {
        let options = PutOptions::new().with_lease(grace.lease);
        TxnOp::put(self.key("grace"), grace.until, Some(options))
    }

    /// Begins a grace period of the registry that was listed, bound to this lease. False where there is one already.
    pub async fn begin_grace(&self, client: &mut Client, grace: Grace<'_>) -> Result<bool, Error> {
        let key = self.key("grace");
        let txn = Txn::new()
            .when([is_absent(&key), self.is_listed()])
            .and_then([self.put_grace(grace)])
            .or_else([TxnOp::get(key, None)]);
        let response = client.txn(txn).await?;
        match response.succeeded() {
            true => Ok(true),
            false if gets(&response).iter().any(|get| !get.kvs().is_empty()) => Ok(false),
            false => Err(another()),
        }
    }

    /// Writes a value where there is none yet, and the key beside it is as of this revision.
    pub async fn create(
        &self,
        client: &mut Client,
        name: &str,
        value: &str,
        (beside, revision): (&str, i64),
    ) -> Result<(), Error> {
        let key = self.key(name);
        let txn = Txn::new()
            .when([
                is_absent(&key),
                Compare::mod_revision(self.key(beside), CompareOp::Equal, revision),
                self.is_listed(),
            ])
            .and_then([TxnOp::put(&*key, value, None)]);
        client.txn(txn).await.map(drop)
    }

    /// A new lease with an ID of our choosing, so that asking twice makes one. Gives how long it lasts.
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

    /// There is no such lease afterwards, and none of its claims.
    pub async fn revoke(&self, client: &mut Client, lease: i64) -> Result<(), Error> {
        match client.lease_revoke(lease).await {
            Err(Error::GRpcStatus(status)) if status.message().contains("lease not found") => {
                Ok(())
            }
            done => done.map(drop),
        }
    }

    /// What a holder writes for one generator ID: its claim, and the mark, which is the ceiling or what
    /// it was claimed with if that is later.
    fn puts(&self, holding: &Holding<'_>, marked: Marked, ceiling: UnixNanos) -> [TxnOp; 2] {
        let until = written(ceiling.max(marked.mark));
        let document = Document { until: until.clone(), ..holding.document.clone() };
        let document = serde_json::to_string(&document).unwrap_or_default();
        let options = PutOptions::new().with_lease(holding.lease);
        [
            TxnOp::put(self.pool(holding.cluster, marked.id), document, Some(options)),
            TxnOp::put(self.until(marked.id), until, None),
        ]
    }

    /// Questions whose claims these are.
    fn claims(&self, holding: &Holding<'_>) -> Vec<TxnOp> {
        let get = |marked: &Marked| {
            let options = GetOptions::new().with_keys_only();
            TxnOp::get(self.pool(holding.cluster, marked.id), Some(options))
        };
        holding.held.iter().map(get).collect()
    }

    /// Which of these claims are the lease's, by the answers to the questions.
    fn ours(&self, holding: &Holding<'_>, response: &TxnResponse) -> Vec<Revision> {
        let answers = gets(response);
        let ours = holding.held.iter().zip(&answers).filter_map(|(marked, get)| {
            let ours = get.kvs().first().filter(|kv| kv.lease() == holding.lease);
            ours.map(|kv| (marked.id, kv.mod_revision()))
        });
        ours.collect()
    }

    /// All of these as of the revision that a transaction has made.
    fn written(&self, holding: &Holding<'_>, response: &TxnResponse) -> Vec<Revision> {
        let revision = response.header().map_or(0, |header| header.revision());
        holding.held.iter().map(|marked| (marked.id, revision)).collect()
    }

    /// Conditions that these claims are as the lease wrote them last. The lease's number is random, so that it is known
    /// in one etcd alone; for one of the claims is enough.
    fn unchanged(&self, holding: &Holding<'_>) -> Vec<Compare> {
        let unchanged = |marked: &Marked| {
            let key = self.pool(holding.cluster, marked.id);
            Compare::mod_revision(key, CompareOp::Equal, marked.revision)
        };
        let is_ours = |marked: &Marked| {
            Compare::lease(self.pool(holding.cluster, marked.id), CompareOp::Equal, holding.lease)
        };
        holding.held.iter().map(unchanged).chain(holding.held.first().map(is_ours)).collect()
    }

    /// Claims all of these, or none.
    pub async fn claim(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
        listing: &Listing,
        ceiling: UnixNanos,
    ) -> Result<Option<Vec<Revision>>, Error> {
        let equal = CompareOp::Equal;
        let mut conditions = vec![
            Compare::mod_revision(self.key("cluster-id"), equal, listing.cluster.revision),
            Compare::mod_revision(self.key("epoch"), equal, listing.epoch.revision),
            Compare::mod_revision(self.key("address"), equal, listing.address.revision),
            Compare::mod_revision(self.key("grace"), equal, listing.grace.revision),
            self.is_listed(),
        ];
        for &Marked { id, .. } in holding.held {
            let seen = listing.marked.get(&id).copied().unwrap_or(0);
            conditions.push(is_absent(&self.pool(holding.cluster, id)));
            conditions.push(Compare::mod_revision(self.until(id), equal, seen));
        }
        let puts: Vec<TxnOp> =
            holding.held.iter().flat_map(|&marked| self.puts(holding, marked, ceiling)).collect();
        let txn = Txn::new().when(conditions).and_then(puts.clone()).or_else(self.claims(holding));
        let response = client.txn(txn).await?;
        is_from(response.header(), holding.etcd)?;
        if response.succeeded() {
            return Ok(Some(self.written(holding, &response)));
        }
        // Or the conditions are not met as it was done by a call whose answer we have not seen. The lease may have
        // been renewed since, and the marks of that call lie below what its ceiling is now.
        let ours = self.ours(holding, &response);
        if ours.len() != holding.held.len() {
            return Ok(None);
        }
        let held: Vec<Marked> = holding.held.iter().map(|held| held.as_of(&ours)).collect();
        let holding = Holding { held: &held, ..holding.clone() };
        let txn = Txn::new().when(self.unchanged(&holding)).and_then(puts);
        let response = client.txn(txn).await?;
        is_from(response.header(), holding.etcd)?;
        Ok(response.succeeded().then(|| self.written(&holding, &response)))
    }

    /// Renews a lease and moves its marks.
    pub async fn renew(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
        before: Claim,
    ) -> Result<Renewal, Error> {
        let (mut keeper, mut answers) = match client.lease_keep_alive(holding.lease).await {
            Err(Error::LeaseKeepAliveError(_)) => return Ok(Renewal::Gone),
            done => done?,
        };
        // The client keeps the header of the first answer for itself, so this one counts.
        let sent = Sent { now: now(), boot: boot() };
        keeper.keep_alive().await?;
        let Some(answer) = answers.message().await? else { return Ok(Renewal::Unsure) };
        // A copy of the registry may have the lease and the claims, too.
        if answer.header().map(|header| header.cluster_id()) != Some(holding.etcd) {
            return Ok(Renewal::Elsewhere);
        }
        if answer.ttl() <= 0 {
            return Ok(Renewal::Gone);
        }
        let claim = before.renewed(sent, Term(Duration::from_secs(answer.ttl() as u64)));
        let puts: Vec<TxnOp> = holding
            .held
            .iter()
            .flat_map(|&marked| self.puts(holding, marked, claim.ceiling))
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

    /// Writes the exact marks of these and takes the claims away. Where one of them is not as it was,
    /// nothing; then it gives those that are still the lease's.
    pub async fn release(
        &self,
        client: &mut Client,
        holding: &Holding<'_>,
    ) -> Result<Vec<Revision>, Error> {
        let ops = |marked: &Marked| {
            [
                TxnOp::put(self.until(marked.id), written(marked.mark), None),
                TxnOp::delete(self.pool(holding.cluster, marked.id), None),
            ]
        };
        let txn = Txn::new()
            .when(self.unchanged(holding))
            .and_then(holding.held.iter().flat_map(ops).collect::<Vec<_>>())
            .or_else(self.claims(holding));
        let response = client.txn(txn).await?;
        Ok(if response.succeeded() { Vec::new() } else { self.ours(holding, &response) })
    }

    /// Writes the exact mark of an ID whose claim was taken away from us, if nobody has claimed it since, the mark
    /// that is there is as of the revision that is given, or 0 where none is there, and the registry is the one that was
    /// listed.
    pub async fn settle(
        &self,
        client: &mut Client,
        cluster: u16,
        marked: Marked,
    ) -> Result<(), Error> {
        let until = self.until(marked.id);
        let txn = Txn::new()
            .when([
                is_absent(&self.pool(cluster, marked.id)),
                Compare::mod_revision(&*until, CompareOp::Equal, marked.revision),
                self.is_listed(),
            ])
            .and_then([TxnOp::put(&*until, written(marked.mark), None)]);
        client.txn(txn).await.map(drop)
    }

    /// Returns when a claim has been taken away since the listing, or after a while.
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
