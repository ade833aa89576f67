//! The ID of a registry: a random number that it gets when it is founded.
//!
//! etcd's cluster ID does not tell two etcds apart that were set up with the same peer URLs and token. This does.

use crate::random;
use std::fmt::{self, Display, Formatter};

/// The number of lost registries that are named and remembered at most.
const MOST_FOLLOWED: usize = 32;

/// The value of the key `registry-id`: `<ID>[,<followed>...]`, each in up to 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: u64,
    /// The registries whose data this etcd has lost, by the word of servers that remembered them, newest first. This
    /// one follows them: see `holder/authority.rs`.
    pub followed: Vec<u64>,
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|&number| is_number && number != 0)
}

/// Returns which of these a registry with this ID followed: each once, without itself, and only the first ones if they
/// are too many.
pub fn followed_by(id: u64, named: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut followed = Vec::new();
    for named in named {
        if followed.len() < MOST_FOLLOWED && named != id && !followed.contains(&named) {
            followed.push(named);
        }
    }
    followed
}

impl Identity {
    /// Returns the ID of a new registry, which follows these. `None` if no random number is available.
    pub fn random(followed: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut bytes = [0; 8];
        let id = random::fill(&mut bytes).then(|| u64::from_be_bytes(bytes).max(1))?;
        Some(Self { id, followed: followed_by(id, followed) })
    }

    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(number);
        let id = numbers.next()??;
        Some(Self { id, followed: numbers.collect::<Option<_>>()? })
    }

    /// Returns the ID of this registry if it also follows `lost`, and those that `lost` followed. It names only the
    /// first ones if they are too many.
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
