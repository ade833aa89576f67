//! The reasons for which a server leases nothing.

use alloc::string::String;
use core::time::Duration;

/// The reason why a server leases nothing by what the endpoints show. Values are as the endpoints
/// have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A call failed, a file could not be read or written, or a setting is wrong: the reason.
    Failed(String),
    /// The key `address` names another registry, so this one is a copy.
    Copy { stated: String, address: String },
    /// The key `registry-id` is not the ID of a registry.
    InvalidId(String),
    /// The key `cluster-id` is not a number of a uniqueid cluster.
    InvalidCluster(String),
    /// The key `epoch` is not the epoch of this server.
    OtherEpoch(String),
    /// The last lease was of another registry, which this one neither replaces nor follows. Both by
    /// name.
    OtherRegistry { last: String, listed: String },
    /// Two endpoints show different registries: the name and the endpoint of each.
    DifferentRegistries { first: (String, String), other: (String, String) },
    /// An endpoint that did not answer may still have the registry: the error.
    EndpointSilent(String),
    /// There is a grace period until about this time, and this server may claim nothing in it.
    GracePeriod(String),
    /// Another etcd answered than the one that was listed.
    OtherEtcd,
    /// etcd lost a key that was just written.
    WrittenKeyLost,
    /// etcd granted a lease of this length, which is too short.
    ShortLease(Duration),
    /// A renewal was not confirmed by one leader, in several tries.
    LeaderChanges,
    /// The answer to a claim came after the end of its lease.
    Late,
}
