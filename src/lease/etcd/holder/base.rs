//! The state of the worker itself: its connection, its registry, and all that it has seen and logged.

use crate::clock::since_boot;
use crate::guc::etcd as settings;
use crate::lease::etcd::client::{CallError, Etcd, Patience};
use crate::lease::etcd::note::{GraceReason, Repeated};
use crate::lease::etcd::process::{may_go_on, whoami};
use crate::lease::etcd::registry::{Document, HighWaterMark, Registry, written};
use crate::shmem::{Authority, LeaseStatus, LeasedId, Shared};
use flakeid_core::clock::UnixNanos;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time after which the worker tries again after an error.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The longest time for which a call that was given up may still be done, and leave claims that no server uses.
const ORPHAN_WINDOW: Duration = Duration::from_secs(60);

/// The time after which the worker tries again if other servers were faster every time.
pub(super) const CONTENTION_BACKOFF: Duration = Duration::from_millis(100);

/// The number of tries of a claim at which other servers are faster, or of a renewal whose answers do not agree, in one
/// turn.
pub(super) const TRIES: usize = 5;

/// The reason why nothing more can be done in this turn.
pub(super) enum Halt {
    /// An error, for the view and the log.
    Because(String),
    Interrupted,
}

impl From<CallError> for Halt {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Interrupted => Self::Interrupted,
            CallError::Etcd(said) => Self::Because(said),
        }
    }
}

/// Generator IDs that this server held by a lease that etcd has forgotten, with their exact high-water marks.
#[derive(Debug)]
pub(super) struct Forgotten {
    pub(super) held: Vec<LeasedId>,
    /// The time since boot from which on they are like any other.
    pub(super) deadline: Duration,
}

pub struct Holder {
    pub(super) shared: &'static Shared,
    pub(super) etcd: Etcd,
    pub(super) registry: Registry,
    /// The duration that leases are requested for. etcd may grant a longer one.
    pub(super) ttl: Duration,
    /// The place in the pool at which to begin.
    pub(super) start: u16,
    /// The time since boot before which there is no call.
    pub(super) not_before: Duration,
    /// The time since boot of the next try to lease those that are missing.
    pub(super) more_at: Duration,
    /// Whether a session wants a renewal now.
    pub(super) asked: bool,
    /// The last lease that was held and is lost or given back.
    pub(super) revoked: i64,
    /// The time since boot until which etcd may still do a call that was given up, and leave claims of the lease that
    /// are not used. Renewals look for such claims, up to the first one after this time that finds none left. `None` if
    /// no such call was given up.
    pub(super) strays_until: Option<Duration>,
    /// Leases that may still exist and are not wanted.
    pub(super) leftover: Vec<i64>,
    /// The high-water marks that were read for the last listing. From one listing to the next only broken values stay,
    /// so that they are not read again unless they change. A valid one is read again each time: revisions
    /// start over in an etcd that is set up again, and one value must never be taken for another.
    pub(super) high_water_marks: BTreeMap<u16, HighWaterMark>,
    /// The registry that was listed last, and the latest revision of its etcd that this server knows.
    pub(super) seen: (Authority, i64),
    /// The endpoint of the last listing.
    pub(super) listed_at: String,
    /// The registry that a grace period was begun for, and the registry of the last lease, which it replaces.
    pub(super) replacing: Option<(String, String)>,
    /// The lease of a grace period that this server requested without getting an answer, and why.
    pub(super) unanswered_grace: Option<(i64, GraceReason)>,
    /// The generator IDs that were held by a lease that etcd has forgotten.
    pub(super) forgotten: Option<Forgotten>,
    /// The reasons that were logged: errors, the empty pool, a generator ID that is not leased.
    pub(super) told: Repeated,
    pub(super) told_waiting: bool,
    pub(super) told_unreadable: Repeated,
}

impl Holder {
    /// # Errors
    /// The operating system's, if there can be no runtime.
    pub fn new(shared: &'static Shared) -> std::io::Result<Self> {
        let ttl = settings::lease_ttl();
        let etcd = Etcd::new(settings::access(), longest(ttl), Patience::While(may_go_on))?;
        // The previous worker may have ended during a call.
        let is_found = shared.lease_snapshot().status == LeaseStatus::Held;
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
            strays_until: is_found.then(strays_from_now),
            leftover: Vec::new(),
            high_water_marks: BTreeMap::new(),
            seen: (Authority::default(), 0),
            listed_at: String::new(),
            replacing: None,
            unanswered_grace: None,
            forgotten: None,
            told: Repeated::default(),
            told_waiting: false,
            told_unreadable: Repeated::default(),
        })
    }

    /// Takes up the settings after a reload. The next turn takes up those of the lease itself.
    pub fn reloaded(&mut self) {
        self.etcd.set(settings::access(), longest(settings::lease_ttl()));
        self.not_before = Duration::ZERO;
        self.more_at = Duration::ZERO;
    }

    /// Lets the renewals look for claims of the lease that are not used.
    pub(super) fn expect_strays(&mut self) {
        self.strays_until = Some(strays_from_now());
    }

    pub(super) fn document(&self, state: UnixNanos, lease: i64) -> Document {
        Document { since: written(state), lease: format!("{lease:x}"), ..whoami() }
    }
}

/// Returns the time since boot until which a call that is given up now may leave claims.
fn strays_from_now() -> Duration {
    since_boot() + ORPHAN_WINDOW
}

/// Returns the longest time of a call at one endpoint: a tenth of the lease, so that several can be asked in time.
fn longest(ttl: Duration) -> Duration {
    (ttl / 10).clamp(Duration::from_millis(500), Duration::from_secs(2))
}
