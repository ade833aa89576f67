//! How a server remembers the registry that it leases from, and the registries that it has left.

use super::base::{Halt, Holder};
use super::left::{self, Left};
use super::memory::{self, Memory};
use crate::lease::etcd::registry::{Identity, Listing, followed_by};
use crate::shmem::Authority;

impl Holder {
    /// Leases from the registry that was listed from now on, instead of the one of the last lease.
    pub(super) fn move_to(&mut self, listing: &Listing) -> Result<Option<Listing>, Halt> {
        self.remember(listing)?;
        (self.seen, self.replacing) = ((Authority::default(), 0), None);
        Ok(None)
    }

    /// Writes down the registry that was listed, and the endpoint at which it has answered, so that they are durable.
    pub(super) fn remember(&self, listing: &Listing) -> Result<(), Halt> {
        let address = self.registry.address(listing.etcd);
        let identity = self.identity(listing)?;
        let id = identity.as_ref().map(|identity| identity.id);
        let last = memory::read()?;
        let same = last.as_ref().filter(|last| last.address == address && last.id == id);
        let this = identity.as_ref();
        let followed = this.map_or(Vec::new(), |this| followed(this, &address, last.as_ref()));
        let mut endpoints = same.map_or(Vec::new(), |last| last.endpoints.clone());
        endpoints.retain(|endpoint| self.etcd.has(endpoint));
        if !endpoints.contains(&listing.endpoint) {
            endpoints.insert(0, listing.endpoint.clone());
        }
        let there = left::read(listing.left.value.as_deref().unwrap_or_default());
        let before = last.iter().flat_map(|last| last.left.iter().cloned());
        let name = memory::name(&address, id);
        let before = before.filter(|left| left.name != name);
        let left = left::merged(&there, before.chain(self.leaves(&address, this, last.as_ref())));
        let word = listing.address.revision;
        let memory = Memory { address, id, followed, endpoints, word, left };
        if last.as_ref() == Some(&memory) { Ok(()) } else { memory::write(&memory) }
    }

    /// Returns the last registry, if this server leaves it for the one with this address and ID. A registry that was
    /// lost is not left.
    fn leaves(
        &self,
        address: &str,
        this: Option<&Identity>,
        last: Option<&Memory>,
    ) -> Option<Left> {
        let (last, this) = (last?, this?);
        let lost = last.id?;
        let is_here = last.address == address;
        if is_here
            && (this.id == lost
                || this.followed.contains(&lost)
                || last.followed.contains(&this.id))
        {
            return None;
        }
        let (Authority { etcd, registry }, revision) = self.seen;
        let is_seen = last.id == Some(registry) && last.address.starts_with(&format!("{etcd:x}/"));
        let revision = if is_seen { revision.max(last.word) } else { last.word };
        Some(Left { name: last.name(), revision })
    }

    /// Adds the registries that were left to those that the listed one names. Returns false if there is nothing to add.
    pub(super) fn write_left(&mut self, listing: &Listing, last: &Memory) -> Result<bool, Halt> {
        let there = left::read(listing.left.value.as_deref().unwrap_or_default());
        let name = self.name(listing)?;
        let others = last.left.iter().filter(|left| left.name != name);
        let all = left::merged(&there, others.cloned());
        if all == there {
            return Ok(false);
        }
        let (registry, value) = (&self.registry, left::written(&all));
        let write = async |client: &mut _| registry.write_left(client, &value, listing).await;
        self.etcd.call_at(&listing.endpoint, write)?;
        Ok(true)
    }
}

/// Returns the registries that this one followed, by its own word and by the memory, newest first.
fn followed(this: &Identity, address: &str, last: Option<&Memory>) -> Vec<u64> {
    let named = this.followed.iter().copied();
    let Some(last) = last.filter(|last| last.address == address) else {
        return followed_by(this.id, named);
    };
    let is_back = last.followed.contains(&this.id);
    if is_back {
        // The registry that the memory names was there before this one came back.
        followed_by(this.id, last.chain().chain(named))
    } else if last.id.is_some_and(|id| id == this.id || this.followed.contains(&id)) {
        followed_by(this.id, named.chain(last.chain()))
    } else {
        followed_by(this.id, named)
    }
}
