//! The keys in etcd, and how a change of the registry becomes one transaction of etcd.
//! [`flakeid_core::registry::transaction`] decides what a change depends on, and says why that is
//! safe.
//!
//! | key below the namespace | value |
//! |---|---|
//! | `cluster-id` | `0` |
//! | `pool/<cluster>:<id>` | a claim: a [`ClaimDocument`] |
//! | `until/<id>` | a high-water mark: `2026-11-21T12:34:56.123456789Z` |
//! | `epoch` | flake's epoch |
//! | `address` | `<etcd's cluster ID>/<namespace>[,<replaced>...]` |
//! | `registry-id` | `<ID>[,<followed>...]` |
//! | `left` | the retired registries: `<name>@<revision>[,...]` |
//! | `grace` | the end of a grace period |
//!
//! `registry/<cluster>:<id>`, where the Java library keeps owners by name, is respected.

use crate::clock::{now, since_boot};
use crate::error::timestamp;
use etcd_client::{
    Client, Compare, CompareOp, Error, EventType, GetOptions, GetResponse, LeaseGrantOptions,
    PutOptions, ResponseHeader, Txn, TxnOp, TxnOpResponse, TxnResponse, WatchFilterType,
    WatchOptions,
};
use flakeid_core::clock::UnixMicros;
use flakeid_core::lease::{LeaseLimits, RequestTime};
use flakeid_core::registry::action::{KeepAlive, Renewal};
use flakeid_core::registry::transaction::{
    Answer, Change, Condition, Holding, Key, Listed, Transaction, Value, Write,
};
use flakeid_formats::etcd::time_text;
use serde::Serialize;
use std::time::Duration;

/// A claim as people read it, with etcdctl.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimDocument {
    /// The system identifier, in quotes as it is too large for some readers' numbers.
    pub server: String,
    pub host: String,
    pub port: u16,
    /// The data directory's name.
    pub data: String,
    pub since: String,
    pub until: String,
    pub lease: String,
    pub version: &'static str,
}

/// One server's way into a namespace.
#[derive(Clone, Debug)]
pub struct Registry {
    pub namespace: String,
    /// This server, as its claims describe it.
    pub server: ClaimDocument,
}

pub(super) fn other_etcd() -> Error {
    Error::Internal("a different etcd cluster answered than before".into())
}

/// Returns the answers to a transaction's reads, in their order.
pub(super) fn gets(response: &TxnResponse) -> Vec<GetResponse> {
    let get = |response| match response {
        TxnOpResponse::Get(get) => Some(get),
        _ => None,
    };
    response.op_responses().into_iter().filter_map(get).collect()
}

impl Registry {
    pub(super) fn named(&self, name: &str) -> String {
        format!("{}{name}", self.namespace)
    }

    pub(super) fn key(&self, key: Key) -> String {
        self.named(&match key {
            Key::ClusterId => "cluster-id".into(),
            Key::Epoch => "epoch".into(),
            Key::Address => "address".into(),
            Key::Grace => "grace".into(),
            Key::Id => "registry-id".into(),
            Key::Retired => "left".into(),
            Key::Claim { cluster, id } => format!("pool/{cluster}:{id}"),
            Key::HighWaterMark(id) => format!("until/{id}"),
        })
    }

    fn condition(&self, condition: &Condition) -> Compare {
        let equal = CompareOp::Equal;
        match condition {
            Condition::Absent(key) => Compare::create_revision(self.key(*key), equal, 0),
            Condition::Revision(key, revision) => {
                Compare::mod_revision(self.key(*key), equal, *revision)
            }
            Condition::Value(key, value) => Compare::value(self.key(*key), equal, &**value),
            Condition::Lease(key, lease) => Compare::lease(self.key(*key), equal, *lease),
        }
    }

    fn write(&self, write: &Write) -> TxnOp {
        match write {
            Write::Put(key, value, lease) => {
                let options = (*lease != 0).then(|| PutOptions::new().with_lease(*lease));
                TxnOp::put(self.key(*key), self.text(value, *lease), options)
            }
            Write::Delete(key) => TxnOp::delete(self.key(*key), None),
        }
    }

    fn text(&self, value: &Value, lease: i64) -> String {
        match value {
            Value::Text(text) => text.clone(),
            Value::Time(moment) => time_text(*moment),
            Value::Epoch(epoch) => timestamp(UnixMicros((epoch.0 / 1000) as i64)).to_string(),
            Value::Claim { since, until } => {
                let (since, until) = (time_text(*since), time_text(*until));
                let lease = format!("{lease:x}");
                let claim = ClaimDocument { since, until, lease, ..self.server.clone() };
                serde_json::to_string(&claim).unwrap_or_default()
            }
        }
    }

    /// Makes a change of the registry that was listed.
    ///
    /// # Errors
    /// The error of etcd or of the connection, as for all calls to etcd; another etcd answered than
    /// the change needs.
    pub async fn change(
        &self,
        client: &mut Client,
        change: &Change,
        listed: &Listed,
    ) -> Result<Answer, Error> {
        let answer = self.transact(client, &change.transaction(listed)).await?;
        match change.etcd() {
            Some(etcd) if etcd != answer.etcd => Err(other_etcd()),
            _ => Ok(answer),
        }
    }

    async fn transact(
        &self,
        client: &mut Client,
        transaction: &Transaction,
    ) -> Result<Answer, Error> {
        let Transaction { conditions, writes, reads } = transaction;
        let conditions: Vec<_> =
            conditions.iter().map(|condition| self.condition(condition)).collect();
        let writes: Vec<_> = writes.iter().map(|write| self.write(write)).collect();
        let options = || Some(GetOptions::new().with_keys_only());
        let gets_of: Vec<_> =
            reads.iter().map(|&key| TxnOp::get(self.key(key), options())).collect();
        let txn = Txn::new().when(conditions).and_then(writes).or_else(gets_of);
        let response = client.txn(txn).await?;
        let header = response.header();
        let answers = gets(&response);
        let read = reads.iter().zip(&answers).filter_map(|(&key, get)| {
            let kv = get.kvs().first()?;
            Some((key, kv.lease(), kv.mod_revision()))
        });
        Ok(Answer {
            etcd: header.map_or(0, ResponseHeader::cluster_id),
            term: header.map_or(0, ResponseHeader::raft_term),
            revision: header.map_or(0, ResponseHeader::revision),
            is_done: response.succeeded(),
            read: read.collect(),
        })
    }

    /// Keeps a lease alive, and moves the high-water marks of its claims.
    ///
    /// # Errors
    /// The errors of all calls to etcd.
    pub async fn renew(
        &self,
        client: &mut Client,
        holding: &Holding,
        before: LeaseLimits,
    ) -> Result<Renewal, Error> {
        let kept = keep_alive(client, holding.lease).await?;
        let limits = match kept.limits(holding.etcd, before) {
            Ok(limits) => limits,
            Err(renewal) => return Ok(renewal),
        };
        let change = Change::Renew { holding: holding.clone(), ceiling: limits.ceiling };
        let answer = self.transact(client, &change.transaction(&Listed::default())).await?;
        Ok(Renewal::of(kept, limits, holding, &answer))
    }

    /// Waits until a claim has been deleted since the revision, but not longer than `longest`.
    ///
    /// # Errors
    /// The errors of all calls to etcd.
    pub async fn await_release(
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
        let mut stream = client.watch(self.named("pool/"), Some(options)).await?;
        while let Some(message) = stream.message().await? {
            let is_delete = |event: &etcd_client::Event| event.event_type() == EventType::Delete;
            if message.canceled() || message.events().iter().any(is_delete) {
                break;
            }
        }
        Ok(())
    }
}

/// Keeps a lease alive for another of its durations.
async fn keep_alive(client: &mut Client, lease: i64) -> Result<KeepAlive, Error> {
    let (mut keeper, mut answers) = match client.lease_keep_alive(lease).await {
        Err(Error::LeaseKeepAliveError(_)) => return Ok(KeepAlive::Gone),
        done => done?,
    };
    // The client does not show the header of the first answer, so the second one counts.
    let sent = RequestTime { now: now(), boot: since_boot() };
    keeper.keep_alive().await?;
    let Some(answer) = answers.message().await? else { return Ok(KeepAlive::NoAnswer) };
    Ok(KeepAlive::Alive {
        etcd: answer.header().map_or(0, ResponseHeader::cluster_id),
        term: answer.header().map_or(0, ResponseHeader::raft_term),
        ttl: Duration::from_secs(answer.ttl().max(0) as u64),
        sent,
    })
}

/// Requests a lease with an ID that the caller chose, so that two requests make one lease. Returns
/// its duration.
///
/// # Errors
/// The errors of all calls to etcd.
pub async fn grant(client: &mut Client, lease: i64, ttl: Duration) -> Result<Duration, Error> {
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
///
/// # Errors
/// The errors of all calls to etcd.
pub async fn revoke(client: &mut Client, lease: i64) -> Result<(), Error> {
    match client.lease_revoke(lease).await {
        Err(Error::GRpcStatus(status)) if status.message().contains("lease not found") => Ok(()),
        done => done.map(drop),
    }
}
