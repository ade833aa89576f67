//! The memory of a server: the registry that it leased from last.
//!
//! The memory is durable before the server claims anything ([`plan`](super::plan)). The worker
//! keeps it in the file `flakeid/etcd`. What can outlive what:
//! * A restart and a crash leave the memory as it is.
//! * A copy of the server has a copy of the memory. It leases from the same registry, and from no
//!   other.
//! * Without a memory the server leases from the registry that its settings name.
//! * A memory that cannot be read stops the server from leasing.

use super::identity::{Identity, followed_by};
use super::listing::{Authority, Listing, address, name};
use super::refusal::Refusal;
use super::retired::{self, RetiredRegistry};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The registry of the last lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub address: String,
    /// Its ID; `None` if version 0.6.1 wrote the memory.
    pub id: Option<u64>,
    /// The IDs of the registries that were in this etcd before it lost their data, newest first.
    pub followed: Vec<u64>,
    /// The endpoints at which the registry has answered, of those that the settings named last.
    pub endpoints: Vec<String>,
    /// The revision in which its key `address` was written, which may say that it replaces others.
    /// 0 if version 0.6.1 wrote the memory.
    pub address_revision: i64,
    /// The registries that servers have retired: see [`retired`].
    pub retired: Vec<RetiredRegistry>,
}

/// The latest state of a registry that a server knows: the registry, and the revision of its etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub authority: Authority,
    pub revision: i64,
}

impl Memory {
    pub fn name(&self) -> String {
        name(&self.address, self.id)
    }

    /// Returns its ID and those that it followed, newest first. A registry that follows this one
    /// names them.
    pub fn chain(&self) -> impl Iterator<Item = u64> {
        self.id.into_iter().chain(self.followed.iter().copied())
    }

    /// Returns what a server remembers from now on, if it remembered `last` and leases from the
    /// listed registry. `configured` are the endpoints of the settings.
    ///
    /// # Errors
    /// [`Refusal::InvalidId`].
    pub fn after(
        last: Option<&Self>,
        listing: &Listing,
        namespace: &str,
        configured: &[String],
        seen: Seen,
    ) -> Result<Self, Refusal> {
        let address = address(listing.etcd, namespace);
        let identity = listing.identity()?;
        let id = identity.as_ref().map(|identity| identity.id);
        let same = last.filter(|last| last.address == address && last.id == id);
        let mut endpoints = same.map_or(Vec::new(), |last| last.endpoints.clone());
        endpoints.retain(|endpoint| configured.contains(endpoint));
        if !endpoints.contains(&listing.endpoint) {
            endpoints.insert(0, listing.endpoint.clone());
        }
        let listed = retired::parse(listing.retired.value.as_deref().unwrap_or_default());
        let name = name(&address, id);
        let remembered = last.iter().flat_map(|last| last.retired.iter().cloned());
        let remembered = remembered.filter(|retired| retired.name != name);
        let new = last
            .zip(identity.as_ref())
            .and_then(|(last, identity)| last.retired_for(&address, identity, seen));
        Ok(Self {
            id,
            followed: identity.map_or(Vec::new(), |identity| followed(&identity, &address, last)),
            endpoints,
            address_revision: listing.address.revision,
            retired: retired::merged(&listed, remembered.chain(new)),
            address,
        })
    }

    /// Returns the remembered registry as a retired one, if the server goes from it to the registry
    /// with this address and identity. Returns `None` if it is the same one, or was lost.
    fn retired_for(&self, address: &str, next: &Identity, seen: Seen) -> Option<RetiredRegistry> {
        let id = self.id?;
        let is_lost = next.followed.contains(&id) || self.followed.contains(&next.id);
        if self.address == address && (next.id == id || is_lost) {
            return None;
        }
        let Authority { etcd, registry } = seen.authority;
        let is_seen = id == registry && self.address.starts_with(&format!("{etcd:x}/"));
        let seen = if is_seen { seen.revision } else { 0 };
        Some(RetiredRegistry { name: self.name(), revision: seen.max(self.address_revision) })
    }

    /// Returns the registries that the listed one must name as retired, if it does not name them
    /// all yet.
    ///
    /// # Errors
    /// [`Refusal::InvalidId`].
    pub fn missing_retired(
        &self,
        listing: &Listing,
        namespace: &str,
    ) -> Result<Option<Vec<RetiredRegistry>>, Refusal> {
        let listed = retired::parse(listing.retired.value.as_deref().unwrap_or_default());
        let name = listing.name(namespace)?;
        let others = self.retired.iter().filter(|retired| retired.name != name);
        let all = retired::merged(&listed, others.cloned());
        Ok((all != listed).then_some(all))
    }
}

/// Returns the registries that the one with this identity followed, by its own value and by the
/// memory, newest first.
fn followed(identity: &Identity, address: &str, last: Option<&Memory>) -> Vec<u64> {
    let named = identity.followed.iter().copied();
    let Some(last) = last.filter(|last| last.address == address) else {
        return followed_by(identity.id, named);
    };
    let is_back = last.followed.contains(&identity.id);
    if is_back {
        // The registry that the memory names was there before this one came back.
        followed_by(identity.id, last.chain().chain(named))
    } else if last.id.is_some_and(|id| id == identity.id || identity.followed.contains(&id)) {
        followed_by(identity.id, named.chain(last.chain()))
    } else {
        followed_by(identity.id, named)
    }
}
