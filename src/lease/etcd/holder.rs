//! What the worker does, one turn after the other. What it holds is in shared memory ([`Kept`]); here is only
//! what it has in hand.

mod authority;
mod claiming;
mod memory;
mod standing;

use super::client::{Etcd, Patience, Trouble};
use super::note::{self, Repeated};
use super::process::{ENDED, may_go_on, renewed, whoami};
use super::registry::{Document, Holding, Mark, Registry, Renewal, written};
use crate::clock::boot;
use crate::guc;
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::transitions;
use crate::shmem::Shared;
use crate::shmem::{Authority, Kept, Marked, State};
use authority::Forgotten;
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::lease::Term;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long after trouble it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How long after a call was given up it may still be done, at the most.
const LATEST: Duration = Duration::from_secs(60);

/// How long after others were faster every time.
const SOON: Duration = Duration::from_millis(100);

/// How often a claim is tried that others are faster at, or a renewal whose answers do not agree, before
/// others have their turn.
const TRIES: usize = 5;

/// Nothing more can be done in this turn.
enum Halt {
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

pub struct Holder {
    shared: &'static Shared,
    etcd: Etcd,
    registry: Registry,
    /// What leases are asked for, where what is granted may be longer.
    ttl: Duration,
    /// Where to begin in the pool.
    start: u16,
    /// No call before this, by the clock since boot.
    not_before: Duration,
    /// The next try to lease what is missing of what is wanted.
    more_at: Duration,
    /// A session wants a renewal now.
    asked: bool,
    /// The last lease that was held and is not any more.
    revoked: i64,
    /// Until then there may be claims of the lease that are not used.
    strays_until: Duration,
    /// Leases that may still be there and are not wanted.
    leftover: Vec<i64>,
    /// Marks that were read for the last listing. From one listing to the next only those are kept that are none, so
    /// that they are not read again while they stay as they are. A good one is read again each time: revisions
    /// start over in an etcd that is set up again, and one mark must never be taken for another.
    marks: BTreeMap<u16, Mark>,
    /// The registry that was listed last, and the revision of its etcd.
    seen: (Authority, i64),
    /// The endpoint that a listing came from last.
    listed_at: String,
    /// The address that a grace period was begun for, and the registry of the last lease, which it replaces.
    replacing: Option<(String, String)>,
    /// What was held by what etcd has forgotten.
    forgotten: Option<Forgotten>,
    /// What the log was told: trouble, that the pool is empty, which generator ID is left alone.
    told: Repeated,
    told_waiting: bool,
    told_unreadable: Repeated,
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

    /// Does what is due. Gives how long nothing is.
    pub fn turn(&mut self, wanted: usize) -> Duration {
        self.asked |= self.shared.lease.was_asked();
        transitions::begin(self.shared, wanted);
        let now = boot();
        if now < self.not_before {
            return self.not_before - now;
        }
        match self.act(wanted) {
            Ok(pause) => {
                self.told.forget();
                pause
            }
            Err(Halt::Interrupted) => Duration::ZERO,
            Err(Halt::Because(reason)) => {
                transitions::trouble(self.shared, &reason);
                // Whether the pool is still empty nobody knows.
                transitions::wait(self.shared, false);
                if let Some(left_out) = self.told.due(&reason) {
                    note::cannot(&reason, left_out);
                }
                self.not_before = boot() + AGAIN;
                AGAIN
            }
        }
    }

    fn act(&mut self, wanted: usize) -> Result<Duration, Halt> {
        if let Some(refusal) = guc::refusal() {
            return Err(Halt::Because(format!(
                "\"{}\" is invalid: {}",
                refusal.setting, refusal.reason
            )));
        }
        let kept = self.shared.look_at_lease();
        if kept.state == State::Held {
            self.keep(&kept, wanted)?;
        }
        let kept = self.shared.look_at_lease();
        let missing = wanted.saturating_sub(kept.held().len());
        if missing > 0 && (kept.state != State::Held || boot() >= self.more_at) {
            self.claim(&kept, missing)?;
        }
        let kept = self.shared.look_at_lease();
        if kept.state != State::Held {
            return Ok(Duration::ZERO);
        }
        let renewal = kept.sent + Term(kept.ttl).renewal();
        let next = if kept.held().len() < wanted { renewal.min(self.more_at) } else { renewal };
        Ok(next.saturating_sub(boot()))
    }

    /// Gives back what is not wanted any more, and renews what is held when that is due.
    fn keep(&mut self, kept: &Kept, wanted: usize) -> Result<(), Halt> {
        let pool = settings::pool();
        let changed = kept.namespace.get() != settings::namespace()
            || self.ttl != settings::lease_ttl()
            || kept.epoch != Flake::scale().epoch();
        if changed {
            self.give_back(None, None);
            return Ok(());
        }
        let (inside, outside): (Vec<u16>, Vec<u16>) =
            kept.held().iter().map(|held| held.id).partition(|id| pool.contains(id));
        let surplus: Vec<u16> = inside.into_iter().skip(wanted).chain(outside).collect();
        if !surplus.is_empty() {
            self.give_back(Some(&surplus), None);
            return Ok(());
        }
        if self.asked || boot() >= kept.sent + Term(kept.ttl).renewal() {
            self.asked = false;
            self.renew(kept)?;
            if boot() < self.strays_until {
                self.let_go_of_strays(&self.shared.look_at_lease())?;
            }
        }
        Ok(())
    }

    fn document(&self, kept: UnixNanos, lease: i64) -> Document {
        Document { since: written(kept), lease: format!("{lease:x}"), ..whoami() }
    }

    fn renew(&mut self, kept: &Kept) -> Result<(), Halt> {
        let document = self.document(kept.since, kept.lease);
        let (mut held, claim) = (kept.held().to_vec(), kept.claim);
        for _ in 0..TRIES {
            let Kept { authority: Authority { etcd, .. }, cluster, lease, .. } = *kept;
            let registry = &self.registry;
            let holding = Holding { etcd, cluster, lease, held: &held, document: &document };
            let renewal =
                self.etcd.call(async |client| registry.renew(client, &holding, claim).await)?;
            let ours = match renewal {
                Renewal::Done(sent, claim, revisions) => {
                    if transitions::renew(self.shared, lease, claim, sent, &revisions) {
                        transitions::endpoint(self.shared, self.etcd.endpoint());
                        renewed();
                    }
                    // So that the endpoint is remembered. What is wrong there, the next listing says.
                    if self.listed_at != self.etcd.endpoint() {
                        let _ = self.list_once();
                    }
                    return Ok(());
                }
                Renewal::Unsure => continue,
                Renewal::Only(ours) => Some(ours),
                Renewal::Gone | Renewal::Elsewhere => None,
            };
            let forgotten = self.has_forgotten(kept.authority, &held)?;
            let is_gone = ours.is_none();
            let ours = ours.unwrap_or_default();
            let is_ours = |held: &Marked| ours.iter().any(|(id, _)| *id == held.id);
            let lost: Vec<u16> =
                held.iter().filter(|held| !is_ours(held)).map(|held| held.id).collect();
            if !lost.is_empty() {
                let why = match (forgotten, is_gone) {
                    (true, _) => "etcd has forgotten the lease.",
                    (false, true) => "The lease has expired or was revoked.",
                    (false, false) if ours.is_empty() => "All claims were deleted in etcd.",
                    (false, false) => "Claims were deleted in etcd.",
                };
                self.lose(kept, Some(&lost), why, forgotten);
                self.more_at = Duration::ZERO;
            }
            if ours.is_empty() {
                return Ok(());
            }
            held.retain(is_ours);
            held = held.into_iter().map(|held| held.as_of(&ours)).collect();
        }
        Err(Halt::Because("etcd is changing its leader".into()))
    }

    /// What etcd says is not ours any more. Marks that are still as we wrote them become exact.
    fn lose(&mut self, kept: &Kept, ids: Option<&[u16]>, why: &str, forgotten: bool) {
        let gone = transitions::give_up(self.shared, ids, true);
        if gone.is_empty() {
            return;
        }
        note::lost(&kept.only(&gone), why);
        if forgotten {
            return self.keep_forgotten(kept, &gone);
        }
        for marked in gone {
            let (registry, cluster) = (&self.registry, kept.cluster);
            let done =
                self.etcd.call(async |client| registry.settle(client, cluster, marked).await);
            if done.is_err() {
                break;
            }
        }
    }

    /// Claims of this lease that are not used: a call that made them, or did not take them away, had no
    /// answer. They would be kept as long as the lease is.
    fn let_go_of_strays(&mut self, kept: &Kept) -> Result<(), Halt> {
        let mut listing = self.list()?;
        let is_held = |id: u16| kept.held().iter().any(|held| held.id == id);
        let strays: Vec<_> = listing
            .claims
            .iter()
            .copied()
            .filter(|&(lease, (id, _))| lease == kept.lease && !is_held(id))
            .collect();
        for (lease, (id, revision)) in strays {
            self.read_marks(&mut listing, &[id])?;
            let mark = self.marks.get(&id).filter(|_| listing.marked.contains_key(&id));
            let Some(&Mark { moment: Ok(mark), .. }) = mark else { continue };
            let (registry, document) = (&self.registry, self.document(kept.since, lease));
            let held = &[Marked { id, mark, revision }];
            let Kept { authority: Authority { etcd, .. }, cluster, .. } = *kept;
            let holding = Holding { etcd, cluster, lease, held, document: &document };
            self.etcd.call(async |client| registry.release(client, &holding).await)?;
        }
        Ok(())
    }

    /// Gives up these generator IDs, or all: sealed, with their exact marks, and free for others at once if
    /// etcd answers, until then where this process ends.
    pub fn give_back(&mut self, ids: Option<&[u16]>, until: Option<Duration>) {
        let kept = self.shared.look_at_lease();
        self.see(&kept);
        let gone = transitions::give_up(self.shared, ids, false);
        if gone.is_empty() {
            return;
        }
        let ending = ENDED.load(Ordering::Relaxed);
        if let Some(until) = until {
            self.etcd.patience = Patience::Until(until);
        }
        let all = gone.len() == kept.held().len();
        let done = self.release(&kept, &gone, all);
        self.etcd.patience = Patience::While(may_go_on);
        match done {
            Ok(()) => note::released(&gone),
            Err(_) if ending => note::not_released(&gone),
            Err(_) => {
                note::not_released(&gone);
                match all {
                    true => self.leftover.push(kept.lease),
                    false => self.strays_until = boot() + LATEST,
                }
            }
        }
    }

    fn release(&mut self, kept: &Kept, gone: &[Marked], all: bool) -> Result<(), Trouble> {
        let namespace = kept.namespace.get().into();
        let registry = Registry { namespace, ..Registry::default() };
        let document = self.document(kept.since, kept.lease);
        let Kept { authority: Authority { etcd, .. }, cluster, lease, .. } = *kept;
        let mut rest = gone.to_vec();
        for _ in 0..TRIES {
            let holding = Holding { etcd, cluster, lease, held: &rest, document: &document };
            let ours = self.etcd.call(async |client| registry.release(client, &holding).await)?;
            rest.retain(|gone| ours.iter().any(|(id, _)| *id == gone.id));
            rest = rest.into_iter().map(|gone| gone.as_of(&ours)).collect();
            if rest.is_empty() {
                break;
            }
        }
        if all {
            self.etcd.call(async |client| registry.revoke(client, lease).await)?;
        }
        Ok(())
    }
}

/// How long a call takes at one endpoint: a tenth of the lease, so that several can be asked in time.
fn longest(ttl: Duration) -> Duration {
    (ttl / 10).clamp(Duration::from_millis(500), Duration::from_secs(2))
}
