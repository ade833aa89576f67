//! A listing: all that one endpoint shows of a registry.

use super::identity::Identity;
use super::refusal::Refusal;
use crate::clock::UnixNanos;
use crate::uniqueid;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The longest part of a value that is read, in bytes. An address with those that it replaces is
/// the longest value.
pub const VALUE_LIMIT: usize = 1024;

/// A generator ID, and the revision in which its claim was last written.
pub type ClaimRevision = (u16, i64);

/// The etcd and the registry that granted a lease. Two etcds can have one cluster ID, and a
/// registry can be copied into another etcd, so both count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    /// The cluster ID of the etcd.
    pub etcd: u64,
    /// The ID of the registry; 0 for no registry.
    pub registry: u64,
}

/// The beginning of a value, the revision of its last change, and the lease that it is bound to.
/// Revision and lease are 0 if the key does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned {
    pub value: Option<String>,
    pub revision: i64,
    pub lease: i64,
}

/// All that a claim depends on, without the values of the high-water marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The endpoint that answered.
    pub endpoint: String,
    /// The cluster ID of the etcd that answered.
    pub etcd: u64,
    /// The revision of etcd at the listing.
    pub revision: i64,
    pub cluster: Versioned,
    pub epoch: Versioned,
    /// The epoch as a time; `None` if its value is not one.
    pub epoch_time: Option<UnixNanos>,
    pub address: Versioned,
    pub grace: Versioned,
    /// The registry's ID and those of the registries that it follows: an [`Identity`].
    pub id: Versioned,
    /// The registries that servers have retired for this one: see [`retired`](super::retired).
    pub retired: Versioned,
    /// The claims: the lease, the generator ID and the revision of each.
    pub claims: Vec<(i64, ClaimRevision)>,
    /// The generator IDs that are claimed or registered, in any uniqueid cluster.
    pub taken: BTreeSet<u16>,
    /// The revisions of the high-water marks that exist.
    pub mark_revisions: BTreeMap<u16, i64>,
}

/// A high-water mark as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighWaterMark {
    pub revision: i64,
    /// The time; or the value if that is not a time. Then no server leases this generator ID.
    pub moment: Result<UnixNanos, String>,
}

/// Returns the address of the registry in this namespace of the etcd with this cluster ID.
pub fn address(etcd: u64, namespace: &str) -> String {
    format!("{etcd:x}/{namespace}")
}

/// Returns the name of a registry: its address, and its ID if it has one.
pub fn name(address: &str, id: Option<u64>) -> String {
    id.map_or_else(|| address.into(), |id| format!("{address}#{id:016x}"))
}

impl Listing {
    /// Returns whether there is no registry yet: neither of the keys with which one begins.
    pub fn is_new(&self) -> bool {
        self.address.value.is_none() && self.epoch.value.is_none()
    }

    /// Returns the claims of this lease.
    pub fn claims_of(&self, lease: i64) -> Vec<ClaimRevision> {
        let claims = self.claims.iter().filter(|(of, _)| *of == lease);
        claims.map(|&(_, revision)| revision).collect()
    }

    /// Returns the registry's ID, and those that it follows, if it has one.
    ///
    /// # Errors
    /// [`Refusal::InvalidId`]: the key has another value.
    pub fn identity(&self) -> Result<Option<Identity>, Refusal> {
        let Some(value) = &self.id.value else { return Ok(None) };
        let identity = Identity::parse(value).filter(|_| value.len() < VALUE_LIMIT);
        identity.map(Some).ok_or_else(|| Refusal::InvalidId(value.clone()))
    }

    /// Returns the etcd and the ID of the registry. An ID that cannot be read counts as no
    /// registry.
    pub fn authority(&self) -> Authority {
        let identity = self.identity().ok().flatten();
        Authority { etcd: self.etcd, registry: identity.map_or(0, |identity| identity.id) }
    }

    /// Returns the name of the registry.
    ///
    /// # Errors
    /// [`Refusal::InvalidId`].
    pub fn name(&self, namespace: &str) -> Result<String, Refusal> {
        let id = self.identity()?.map(|identity| identity.id);
        Ok(name(&address(self.etcd, namespace), id))
    }

    /// Returns the registries that this one replaces, as an administrator has written beside the
    /// address.
    ///
    /// # Errors
    /// [`Refusal::Copy`]: the key has the address of another registry.
    pub fn replaced(&self, namespace: &str) -> Result<&str, Refusal> {
        let address = address(self.etcd, namespace);
        let Some(stated) = self.address.value.as_deref() else { return Ok("") };
        replaced(stated, &address)
            .ok_or_else(|| Refusal::Copy { stated: stated.to_string(), address })
    }

    /// Returns the uniqueid cluster of this namespace.
    ///
    /// # Errors
    /// [`Refusal::InvalidCluster`]; [`Refusal::OtherEpoch`].
    pub fn uniqueid_cluster(&self, epoch: UnixNanos) -> Result<u16, Refusal> {
        let value = self.cluster.value.as_deref().unwrap_or_default();
        // The Java library takes several, each with a pool of its own. The first one is flakeid's.
        let first = value.split(',').next().unwrap_or_default().trim();
        let cluster =
            first.parse().ok().filter(|&id: &u16| u64::from(id) <= uniqueid::CLUSTER.max());
        let cluster = cluster.ok_or_else(|| Refusal::InvalidCluster(value.into()))?;
        if self.epoch_time != Some(epoch) {
            let stated = self.epoch.value.clone().unwrap_or_default();
            return Err(Refusal::OtherEpoch(stated));
        }
        Ok(cluster)
    }
}

/// Returns the registries that this one replaces, by the value of its key `address`: the part after
/// the first comma. Returns `None` if the value is of another address.
fn replaced<'a>(value: &'a str, address: &str) -> Option<&'a str> {
    let rest = value.trim_end_matches('\n').strip_prefix(address)?;
    match rest.chars().next() {
        None => Some(""),
        Some(',') => Some(&rest[1..]),
        // The ID, as messages name it.
        Some('#') => Some(rest.split_once(',').map_or("", |(_, replaced)| replaced)),
        Some(_) => None,
    }
}
