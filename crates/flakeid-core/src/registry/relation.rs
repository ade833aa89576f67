//! How a listed registry relates to the remembered one. [`trust`](super::trust) has the argument.

use super::listing::{Listing, address, name};
use super::memory::Memory;
use super::refusal::Refusal;
use super::retired;

/// The relation of a listed registry to the one of the last lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryRelation {
    Same,
    /// An administrator has written that this registry replaces the last one.
    Replaces,
    /// A server that remembered the last registry has written that this one follows it.
    Follows,
    /// The last registry followed this one, whose data are there again.
    SetBack,
    /// The last registry is lost, and there is no other.
    Lost,
    /// The last registry is lost. A server that did not remember it has founded this one, and its
    /// grace period is not over.
    Successor,
    Other,
}

impl RegistryRelation {
    /// Returns the relation of a listed registry to the remembered one.
    ///
    /// # Errors
    /// [`Refusal::InvalidId`]; [`Refusal::Copy`].
    pub fn of(listing: &Listing, namespace: &str, last: &Memory) -> Result<Self, Refusal> {
        let identity = listing.identity()?;
        let replaced = listing.replaced(namespace)?;
        let address = address(listing.etcd, namespace);
        let is_here = last.address == address;
        let is_known = is_here && last.endpoints.contains(&listing.endpoint);
        let is_in_grace = listing.grace.value.is_some();
        let id = identity.as_ref().map(|identity| identity.id);
        Ok(match (last.id, identity) {
            (None, _) if is_here => Self::Same,
            (Some(last), Some(listed)) if is_here && listed.id == last => Self::Same,
            _ if is_replaced(listing, &name(&address, id), &address, replaced, last) => {
                Self::Replaces
            }
            (Some(id), Some(listed)) if is_here => {
                let is_named = listed.followed.contains(&id);
                // This also applies if each says that it followed the other: what the listed one
                // says is older than the memory.
                if last.followed.contains(&listed.id) && (is_known || is_named) {
                    Self::SetBack
                } else if is_named {
                    Self::Follows
                } else if is_known && is_in_grace {
                    Self::Successor
                } else {
                    Self::Other
                }
            }
            (Some(_), None) if is_known => Self::Lost,
            _ => Self::Other,
        })
    }
}

/// Returns whether the listed registry says that it replaces the remembered one. If their addresses
/// differ, the address alone is enough. An old entry does not count: see [`retired`].
fn is_replaced(
    listing: &Listing,
    listed: &str,
    address: &str,
    replaced: &str,
    last: &Memory,
) -> bool {
    if retired::is_old(&last.retired, listed, listing.address.revision) {
        return false;
    }
    let is_last = |named: &str| named == last.name() || named == last.address && named != address;
    replaced.split(',').any(|named| is_last(named) || is_last(named.trim()))
}
