//! The ID of a registry: a random number that it gets when it is founded.
//!
//! etcd's cluster ID does not tell two etcds apart that were set up with the same peer URLs and token. This does.

use crate::identity::random;
use std::fmt::{self, Display, Formatter};

/// How many lost registries are named at most.
const MOST_FOLLOWED: usize = 32;

/// What the key `registry-id` says: `<ID>[,<followed>...]`, each in up to 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: u64,
    /// The registries whose data this etcd has lost, by the word of servers that leased from them. This one goes on in
    /// their place: see `holder/authority.rs`.
    pub followed: Vec<u64>,
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|&number| is_number && number != 0)
}

impl Identity {
    /// A new registry, which follows this one. `None` where no random number is to be had.
    pub fn random(followed: Option<u64>) -> Option<Self> {
        let mut bytes = [0; 8];
        let id = random(&mut bytes).then(|| u64::from_be_bytes(bytes).max(1))?;
        Some(Self { id, followed: followed.into_iter().collect() })
    }

    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(number);
        let id = numbers.next()??;
        Some(Self { id, followed: numbers.collect::<Option<_>>()? })
    }

    /// The same registry, which follows this one, too; `None` where it follows as many as can be named.
    pub fn follow(&self, lost: u64) -> Option<Self> {
        let followed = self.followed.iter().copied().chain([lost]).collect::<Vec<_>>();
        (followed.len() <= MOST_FOLLOWED).then_some(Self { id: self.id, followed })
    }
}

impl Display for Identity {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.id)?;
        self.followed.iter().try_for_each(|followed| write!(out, ",{followed:016x}"))
    }
}
