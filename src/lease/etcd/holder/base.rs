//! What the worker has in hand, for all that it does: connection, registry, and what it has seen and said.

use crate::guc::etcd as settings;
use crate::lease::etcd::client::{Etcd, Patience, Trouble};
use crate::lease::etcd::note::Repeated;
use crate::lease::etcd::process::{may_go_on, whoami};
use crate::lease::etcd::registry::{Document, Mark, Registry, written};
use crate::shmem::{Authority, Marked, Shared};
use flakeid_core::clock::UnixNanos;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long after trouble it is tried again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// How long after a call was given up it may still be done, at the most.
pub(super) const LATEST: Duration = Duration::from_secs(60);

/// How long after others were faster every time.
pub(super) const SOON: Duration = Duration::from_millis(100);

/// How often a claim is tried that others are faster at, or a renewal whose answers do not agree, before
/// others have their turn.
pub(super) const TRIES: usize = 5;

/// Nothing more can be done in this turn.
pub(super) enum Halt {
    /// For this reason, which people should know.
    Because(String),
    Interrupted,
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Interrupted => Self::Interrupted,
            Trouble::Etcd(said) => Self::Because(said),
        }
    }
}

/// Generator IDs that this server held by what etcd has forgotten, with their exact marks.
#[derive(Debug)]
pub(super) struct Forgotten {
    pub(super) held: Vec<Marked>,
    /// From then on, by the clock since boot, they may be claimed as any other.
    pub(super) deadline: Duration,
}

pub struct Holder {
    pub(super) shared: &'static Shared,
    pub(super) etcd: Etcd,
    pub(super) registry: Registry,
    /// What leases are asked for, where what is granted may be longer.
    pub(super) ttl: Duration,
    /// Where to begin in the pool.
    pub(super) start: u16,
    /// No call before this, by the clock since boot.
    pub(super) not_before: Duration,
    /// The next try to lease what is missing of what is wanted.
    pub(super) more_at: Duration,
    /// A session wants a renewal now.
    pub(super) asked: bool,
    /// The last lease that was held and is not any more.
    pub(super) revoked: i64,
    /// Until then there may be claims of the lease that are not used.
    pub(super) strays_until: Duration,
    /// Leases that may still be there and are not wanted.
    pub(super) leftover: Vec<i64>,
    /// Marks that were read for the last listing. From one listing to the next only those are kept that are none, so
    /// that they are not read again while they stay as they are. A good one is read again each time: revisions
    /// start over in an etcd that is set up again, and one mark must never be taken for another.
    pub(super) marks: BTreeMap<u16, Mark>,
    /// The registry that was listed last, and the revision of its etcd.
    pub(super) seen: (Authority, i64),
    /// The endpoint that a listing came from last.
    pub(super) listed_at: String,
    /// The address that a grace period was begun for, and the registry of the last lease, which it replaces.
    pub(super) replacing: Option<(String, String)>,
    /// What was held by what etcd has forgotten.
    pub(super) forgotten: Option<Forgotten>,
    /// What the log was told: trouble, that the pool is empty, which generator ID is left alone.
    pub(super) told: Repeated,
    pub(super) told_waiting: bool,
    pub(super) told_unreadable: Repeated,
}

impl Holder {
    /// # Errors
    /// As [`Etcd::new`].
    pub fn new(shared: &'static Shared) -> std::io::Result<Self> {
        let ttl = settings::lease_ttl();
        let etcd = Etcd::new(settings::access(), longest(ttl), Patience::While(may_go_on))?;
        Ok(Self {
            shared,
            etcd,
            registry: Registry { namespace: settings::namespace(), ..Registry::default() },
            ttl,
            start: 0,
            not_before: Duration::ZERO,
            more_at: Duration::ZERO,
            asked: false,
            revoked: 0,
            strays_until: Duration::ZERO,
            leftover: Vec::new(),
            marks: BTreeMap::new(),
            seen: (Authority::default(), 0),
            listed_at: String::new(),
            replacing: None,
            forgotten: None,
            told: Repeated::default(),
            told_waiting: false,
            told_unreadable: Repeated::default(),
        })
    }

    /// The settings may have changed. Those of the lease itself are looked at with the next turn.
    pub fn reloaded(&mut self) {
        self.etcd.set(settings::access(), longest(settings::lease_ttl()));
        self.not_before = Duration::ZERO;
        self.more_at = Duration::ZERO;
    }

    pub(super) fn document(&self, kept: UnixNanos, lease: i64) -> Document {
        Document { since: written(kept), lease: format!("{lease:x}"), ..whoami() }
    }
}

/// How long a call takes at one endpoint: a tenth of the lease, so that several can be asked in time.
fn longest(ttl: Duration) -> Duration {
    (ttl / 10).clamp(Duration::from_millis(500), Duration::from_secs(2))
}
