//! How a registry that was listed stands to the one of the last lease. The argument is in `authority.rs`.

use super::memory::Memory;
use crate::lease::etcd::registry::Identity;

/// It is another one, unless it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Same,
    /// An administrator says that this one replaces it.
    Replaces,
    /// A server that remembered it says that this one goes on in its place.
    Follows,
    /// The last one followed this one, whose data are back.
    SetBack,
    /// It is lost, and this is what is left.
    Lost,
    /// It is lost, and a server that did not remember it has founded this one, whose grace period is not over.
    Successor,
    Other,
}

/// The registry that was listed.
#[derive(Clone, Copy, Debug)]
pub struct This<'a> {
    pub address: &'a str,
    pub identity: Option<&'a Identity>,
    /// Which others it replaces, by an administrator's word: see [`replaced`].
    pub replaced: &'a str,
    /// Where it answered.
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
                // Also where each says that it followed the other: this one's word is older than the memory.
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

/// Which registries this one replaces, by the value of its key `address`: what is after the first comma. `None` where
/// the value is not of this address.
pub fn replaced<'a>(value: &'a str, address: &str) -> Option<&'a str> {
    let rest = value.trim_end_matches('\n').strip_prefix(address)?;
    match rest.chars().next() {
        None => Some(""),
        Some(',') => Some(&rest[1..]),
        // Its ID, as a message has it.
        Some('#') => Some(rest.split_once(',').map_or("", |(_, replaced)| replaced)),
        Some(_) => None,
    }
}

/// Whether a registry says that it replaces the one that is remembered. The address alone is enough for one of another
/// address.
fn is_replaced(this: &This<'_>, last: &Memory) -> bool {
    let is_last =
        |named: &str| named == last.name() || named == last.address && named != this.address;
    this.replaced.split(',').any(|named| is_last(named) || is_last(named.trim()))
}
