//! Registries that servers have left, so that an old word is not believed again.
//!
//! An administrator's word that a registry replaces another one (`<address>,<replaced>`) stays in its key `address`. A
//! fleet that moves from A to B by the word in B, and later back to A by a word in A, leaves B with its word: B still
//! says that it replaces A. A server that is led to B then would lease there what others lease from A.
//!
//! So a server that goes from one registry to the next by an administrator's word writes down the one that it leaves,
//! with the latest revision that it has seen there. A word that was written in that revision or before it is old, and
//! counts for nothing. An administrator who writes the word again, even the same one, gives it a later revision.
//!
//! * The server keeps them on disk ([`memory`](super::memory)), with the revision of the word of its present registry.
//! * It writes them into the key `left` of the registry that it leases from, before it claims anything there. All
//!   others that lease there read it and remember it, too. So a server that never leased from B knows that B was left.
//! * Only a server that has not leased from A since B was left does not know it.
//!
//! A registry that was lost is not left: those that followed it name it ([`authority`](super::authority)).
//!
//! # A word that is lost with the data
//! If B loses its data, its word is lost, too. A server whose last lease was of B founds it again, or goes on there, by
//! the rules for a loss. A server that still remembers A finds a registry that does not say that it replaces A. It
//! leases nothing there, and says so, until an administrator writes the word again. So what is lost makes a server
//! refuse, and never lease. The key `left` can be lost in the same way. Each server that leased there has its names on
//! disk, and writes them again with its next listing, before any further claim of its own. A word is a key in B, and
//! `left` a key in A: a loss of `left` makes an old word count again for those servers alone that have no memory of A's
//! `left`.
//!
//! # How many
//! A value has at most [`LENGTH`] bytes, which is room for more than ten names. Existing names stay, so all servers
//! write the same value.

use std::fmt::{self, Display, Formatter};

/// The longest value, in bytes. A listing reads a little more.
const LENGTH: usize = 1000;

/// A registry that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub name: String,
    /// A word in it that was written in this revision or before counts for nothing.
    pub revision: i64,
}

impl Left {
    pub fn read(text: &str) -> Option<Self> {
        let (name, revision) = text.trim().rsplit_once('@')?;
        let revision = revision.parse().ok()?;
        (!name.is_empty()).then(|| Self { name: name.into(), revision })
    }
}

impl Display for Left {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.name, self.revision)
    }
}

/// Reads the value of the key `left`. Skips parts that are not names with a revision.
pub fn read(value: &str) -> Vec<Left> {
    value.split(',').filter_map(Left::read).collect()
}

/// Returns the value of the key `left`.
pub fn written(left: &[Left]) -> String {
    left.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the entries that exist, and as many of the new ones as there is room for. Each has its latest revision.
#[must_use]
pub fn merged(there: &[Left], new: impl IntoIterator<Item = Left>) -> Vec<Left> {
    let mut all = there.to_vec();
    for new in new {
        match all.iter_mut().find(|left| left.name == new.name) {
            Some(left) => left.revision = left.revision.max(new.revision),
            None => {
                let length = written(&all).len() + 1 + new.to_string().len();
                if length <= LENGTH {
                    all.push(new);
                }
            }
        }
    }
    all
}

/// Returns whether a registry of this name was left after a word in it was written in this revision.
pub fn is_old(left: &[Left], name: &str, word: i64) -> bool {
    left.iter().any(|left| left.name == name && word <= left.revision)
}
