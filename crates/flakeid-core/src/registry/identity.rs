//! The ID of a registry: a random number that it gets when it is founded.
//!
//! etcd's cluster ID does not tell two etcds apart that were set up with the same peer URLs and
//! token. This ID does.

use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

/// The number of lost registries that are named and remembered at most.
const MOST_FOLLOWED: usize = 32;

/// The value of the key `registry-id`: `<ID>[,<followed>...]`, each in up to 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: u64,
    /// The IDs of the registries whose data this etcd has lost, newest first. Servers that
    /// remembered them have named them. This registry follows them: see [`trust`](super::trust).
    pub followed: Vec<u64>,
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|&number| is_number && number != 0)
}

/// Returns which of the named registries the one with this ID followed: each once, without itself,
/// and only the first ones if they are too many.
pub(super) fn followed_by(id: u64, named: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut followed = Vec::new();
    for named in named {
        if followed.len() < MOST_FOLLOWED && named != id && !followed.contains(&named) {
            followed.push(named);
        }
    }
    followed
}

impl Identity {
    /// Returns the identity of a new registry that follows these. `random` becomes its ID.
    pub fn new(random: u64, followed: impl IntoIterator<Item = u64>) -> Self {
        let id = random.max(1);
        Self { id, followed: followed_by(id, followed) }
    }

    /// Reads the value of the key. Returns `None` if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(number);
        let id = numbers.next()??;
        Some(Self { id, followed: numbers.collect::<Option<_>>()? })
    }

    /// Returns the identity of this registry if it also follows `lost`, and those that `lost`
    /// followed.
    #[must_use]
    pub fn follow(&self, lost: u64, earlier: &[u64]) -> Self {
        let named = self.followed.iter().chain(earlier).copied();
        Self { id: self.id, followed: followed_by(self.id, [lost].into_iter().chain(named)) }
    }
}

impl Display for Identity {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.id)?;
        self.followed.iter().try_for_each(|followed| write!(out, ",{followed:016x}"))
    }
}
