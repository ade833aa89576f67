//! The names of a registry's keys, the format of their values, and the parts of etcd's answers.

use crate::error::excerpt;
use etcd_client::{Compare, CompareOp, Error, GetResponse, TxnOpResponse, TxnResponse};
use flakeid_core::clock::UnixNanos;
use serde::Serialize;

/// A claim as people read it, with etcdctl.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
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

/// The longest part of a value that a message repeats, in bytes.
const EXCERPT: usize = 64;

/// The name of the key that has the ID of a registry.
pub(super) const ID: &str = "registry-id";

/// The name of the key with the registries that were left.
pub(super) const LEFT: &str = "left";

/// One server's view of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    pub namespace: String,
    /// The value of the key with its ID, as it was last listed; empty if it did not exist.
    pub id: String,
}

/// Returns the text of a time: with all nine digits, in UTC.
pub fn written(moment: UnixNanos) -> String {
    match jiff::Timestamp::from_nanosecond(moment.0.into()) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_string(),
        Err(_) => jiff::Timestamp::MAX.to_string(),
    }
}

pub(super) fn read(moment: &str) -> Option<UnixNanos> {
    let moment: jiff::Timestamp = moment.trim().parse().ok()?;
    u64::try_from(moment.as_nanosecond()).ok().map(UnixNanos)
}

pub(super) fn quoted(value: &[u8]) -> String {
    excerpt(value, EXCERPT)
}

pub(super) fn another() -> Error {
    Error::Internal("a different etcd cluster answered than before".into())
}

/// Returns the condition that a key does not exist.
pub(super) fn is_absent(key: &str) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, 0)
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
    pub fn key(&self, name: &str) -> String {
        format!("{}{name}", self.namespace)
    }

    pub(super) fn pool(&self, cluster: u16, id: u16) -> String {
        self.key(&format!("pool/{cluster}:{id}"))
    }

    pub(super) fn until(&self, id: u16) -> String {
        self.key(&format!("until/{id}"))
    }

    /// Returns the address of this namespace's registry in the etcd with this cluster ID.
    pub fn address(&self, etcd: u64) -> String {
        format!("{etcd:x}/{}", self.namespace)
    }
}
