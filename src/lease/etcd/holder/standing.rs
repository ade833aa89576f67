//! The relation of a registry that was listed to the one of the last lease. [`authority`](super::authority) has the
//! argument.

use super::left;
use super::memory::{self, Memory};
use crate::lease::etcd::registry::Identity;

/// How the registry that was listed stands to the one of the last lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Same,
    /// An administrator says that this one replaces it.
    Replaces,
    /// A server that remembered the last one says that this one follows it.
    Follows,
    /// The last one followed this one, whose data are there again.
    SetBack,
    /// The last one is lost, and there is no other.
    Lost,
    /// The last one is lost. A server that did not remember it has founded this one, and its grace period is not over.
    Successor,
    Other,
}

/// The registry that was listed.
#[derive(Clone, Copy, Debug)]
pub struct This<'a> {
    pub address: &'a str,
    pub identity: Option<&'a Identity>,
    /// The registries that it replaces, by an administrator's word: see [`replaced`].
    pub replaced: &'a str,
    /// The revision in which that word was written.
    pub word: i64,
    /// The endpoint that answered.
    pub endpoint: &'a String,
    pub is_in_grace: bool,
}

impl Standing {
    pub fn of(this: &This<'_>, last: &Memory) -> Self {
        let is_here = last.address == this.address;
        let is_known = is_here && last.endpoints.contains(this.endpoint);
        let is_in_grace = this.is_in_grace;
        match (last.id, this.identity) {
            (None, _) if is_here => Self::Same,
            (Some(last), Some(id)) if is_here && id.id == last => Self::Same,
            _ if is_replaced(this, last) => Self::Replaces,
            (Some(id), Some(this)) if is_here => {
                let is_named = this.followed.contains(&id);
                // This also applies if each says that it followed the other: this one's word is older than the memory.
                if last.followed.contains(&this.id) && (is_known || is_named) {
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
        }
    }
}

/// Returns the registries that this one replaces, by the value of its key `address`: the part after the first comma.
/// `None` if the value is of another address.
pub fn replaced<'a>(value: &'a str, address: &str) -> Option<&'a str> {
    let rest = value.trim_end_matches('\n').strip_prefix(address)?;
    match rest.chars().next() {
        None => Some(""),
        Some(',') => Some(&rest[1..]),
        // The ID, as messages name it.
        Some('#') => Some(rest.split_once(',').map_or("", |(_, replaced)| replaced)),
        Some(_) => None,
    }
}

/// Returns whether a registry says that it replaces the remembered one. If their addresses differ, the address alone
/// is enough. An old word does not count: see [`left`].
fn is_replaced(this: &This<'_>, last: &Memory) -> bool {
    let name = memory::name(this.address, this.identity.map(|identity| identity.id));
    if left::is_old(&last.left, &name, this.word) {
        return false;
    }
    let is_last =
        |named: &str| named == last.name() || named == last.address && named != this.address;
    this.replaced.split(',').any(|named| is_last(named) || is_last(named.trim()))
}
