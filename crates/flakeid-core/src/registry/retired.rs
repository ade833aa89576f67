//! Registries that servers have retired, so that an old entry in one of them does not count again.
//!
//! An administrator writes into the key `address` of a registry that it replaces another one:
//! `<address>,<replaced>`. That entry stays. A fleet that moves from A to B by the entry in B, and
//! later back to A by an entry in A, leaves B with its entry: B still says that it replaces A. A
//! server that is led to B then would lease there what others lease from A.
//!
//! So a server that goes from one registry to the next by an administrator's entry retires the
//! first one: it writes down its name, with the latest revision that it has seen there. An entry
//! that was written in that revision or before it is old, and does not count. An administrator who
//! writes the entry again, even the same one, gives it a later revision.
//!
//! * The server keeps the retired registries on disk ([`memory`](super::memory)), with the revision
//!   of the entry of its present registry.
//! * It writes them into the key `left` of the registry that it leases from, before it claims
//!   anything there. All others that lease there read that key and remember it, too. So a server
//!   that never leased from B learns that B was retired.
//! * Only a server that has not leased from A since B was retired does not learn it.
//!
//! A registry that was lost is not retired: those that followed it name it
//! ([`trust`](super::trust)).
//!
//! # An entry that is lost with the data
//! If B loses its data, its entry is lost, too. A server whose last lease was of B founds it again,
//! or goes on there, by the rules for a loss. A server that still remembers A finds a registry that
//! does not say that it replaces A. It leases nothing there, and says so, until an administrator
//! writes the entry again. So what is lost makes a server refuse, and never lease. The key `left`
//! can be lost in the same way. Each server that leased there has its names on disk, and writes
//! them again with its next listing, before any further claim of its own. An entry is a key in B,
//! and `left` a key in A: a loss of `left` makes an old entry count again for those servers alone
//! that have no memory of A's `left`.
//!
//! # How many
//! A value has at most 1,000 bytes, which is room for more than ten names. Existing names
//! stay, so all servers write the same value.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

/// The longest value, in bytes. A listing reads a little more.
const LENGTH: usize = 1000;

/// The longest text of a revision, in bytes.
const LONGEST_REVISION: usize = "-9223372036854775808".len();

/// A registry that servers do not lease from any more: `<name>@<revision>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetiredRegistry {
    pub name: String,
    /// An entry in it that was written in this revision or before does not count.
    pub revision: i64,
}

impl RetiredRegistry {
    /// Reads one name with its revision. Returns `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, revision) = text.trim().rsplit_once('@')?;
        let revision = revision.parse().ok()?;
        (!name.is_empty()).then(|| Self { name: name.into(), revision })
    }
}

impl Display for RetiredRegistry {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.name, self.revision)
    }
}

/// Reads the value of the key `left`. Skips parts that are not names with a revision.
pub fn parse(value: &str) -> Vec<RetiredRegistry> {
    value.split(',').filter_map(RetiredRegistry::parse).collect()
}

/// Returns the value of the key `left`.
pub fn value(retired: &[RetiredRegistry]) -> String {
    retired.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the length of the value if each entry gets the longest revision.
fn greatest_length(retired: &[RetiredRegistry]) -> usize {
    let lengths = retired.iter().map(|retired| retired.name.len() + 1 + LONGEST_REVISION);
    lengths.sum::<usize>() + retired.len().saturating_sub(1)
}

/// Returns the entries that exist, and as many of the new ones as there is room for. Each has its
/// latest revision. An entry needs room for the longest revision, as its revision rises when the
/// registry is retired again.
#[must_use]
pub fn merged(
    existing: &[RetiredRegistry],
    new: impl IntoIterator<Item = RetiredRegistry>,
) -> Vec<RetiredRegistry> {
    let mut all = existing.to_vec();
    for new in new {
        match all.iter_mut().find(|retired| retired.name == new.name) {
            Some(retired) => retired.revision = retired.revision.max(new.revision),
            None => {
                all.push(new);
                if greatest_length(&all) > LENGTH {
                    all.pop();
                }
            }
        }
    }
    all
}

/// Returns whether the registry of this name was retired after an entry in it was written in this
/// revision.
pub fn is_old(retired: &[RetiredRegistry], name: &str, address_revision: i64) -> bool {
    retired.iter().any(|retired| retired.name == name && address_revision <= retired.revision)
}
