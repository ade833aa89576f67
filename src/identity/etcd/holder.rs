//! What the worker does, one turn after the other. What it holds is in shared memory ([`Kept`]); here is only
//! what it has in hand.

use super::client::{Etcd, Patience, Trouble};
use super::note::Repeated;
use super::registry::{Document, Holding, Listing, MOST, Mark, Marks, Registry, Renewal, written};
use super::{ENDED, anywhere, began, may_go_on, may_wait, new_lease, note, renewed, whoami};
use crate::clock::{boot, now};
use crate::generate::Served;
use crate::guc;
use crate::guc::etcd as settings;
use crate::identity::lease::{self, Kept, Marked, State, hold};
use crate::shmem::Shared;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::lease::{Claim, Sent, Term, choose};
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
            registry: Registry { namespace: settings::namespace() },
            ttl,
            start: 0,
            not_before: Duration::ZERO,
            more_at: Duration::ZERO,
            asked: false,
            revoked: 0,
            strays_until: Duration::ZERO,
            leftover: Vec::new(),
            marks: BTreeMap::new(),
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
        hold::begin(self.shared, wanted);
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
                hold::trouble(self.shared, &reason);
                // Whether the pool is still empty nobody knows.
                hold::wait(self.shared, false);
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
        let kept = lease::look(self.shared);
        if kept.state == State::Held {
            self.keep(&kept, wanted)?;
        }
        let kept = lease::look(self.shared);
        let missing = wanted.saturating_sub(kept.held().len());
        if missing > 0 && (kept.state != State::Held || boot() >= self.more_at) {
            self.claim(&kept, missing)?;
        }
        let kept = lease::look(self.shared);
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
                self.let_go_of_strays(&lease::look(self.shared))?;
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
            let (cluster, lease, registry) = (kept.cluster, kept.lease, &self.registry);
            let holding = Holding { cluster, lease, held: &held, document: &document };
            let renewal =
                self.etcd.call(async |client| registry.renew(client, &holding, claim).await)?;
            match renewal {
                Renewal::Done(sent, claim, revisions) => {
                    if hold::renew(self.shared, lease, claim, sent, &revisions) {
                        hold::endpoint(self.shared, self.etcd.endpoint());
                        renewed();
                    }
                    return Ok(());
                }
                Renewal::Only(ours) if !ours.is_empty() => {
                    let is_ours = |held: &Marked| ours.iter().any(|(id, _)| *id == held.id);
                    let lost: Vec<u16> =
                        held.iter().filter(|held| !is_ours(held)).map(|held| held.id).collect();
                    if !lost.is_empty() {
                        self.lose(kept, Some(&lost), "Claims were taken away in etcd.");
                        self.more_at = Duration::ZERO;
                    }
                    held.retain(is_ours);
                    held = held.into_iter().map(|held| held.as_of(&ours)).collect();
                }
                Renewal::Only(_) => {
                    self.lose(kept, None, "All claims were taken away in etcd.");
                    return Ok(());
                }
                Renewal::Gone => {
                    self.lose(kept, None, "It has expired or was revoked.");
                    return Ok(());
                }
                Renewal::Unsure => {}
            }
        }
        Err(Halt::Because("etcd is changing its leader".into()))
    }

    /// What etcd says is not ours any more. Marks that are still as we wrote them become exact.
    fn lose(&mut self, kept: &Kept, ids: Option<&[u16]>, why: &str) {
        let gone = hold::give_up(self.shared, ids, true);
        if gone.is_empty() {
            return;
        }
        note::lost(&kept.only(&gone), why);
        for marked in gone {
            let (registry, cluster) = (&self.registry, kept.cluster);
            let done =
                self.etcd.call(async |client| registry.settle(client, cluster, marked).await);
            if done.is_err() {
                break;
            }
        }
    }

    /// Leases what is missing, or says that there is none, and then waits for one.
    fn claim(&mut self, kept: &Kept, missing: usize) -> Result<(), Halt> {
        let holds = kept.state == State::Held;
        if !holds {
            let namespace = settings::namespace();
            if self.registry.namespace != namespace {
                self.marks.clear();
            }
            self.registry = Registry { namespace };
            self.ttl = settings::lease_ttl();
            // One that was lost may live on in etcd for a while.
            if kept.lease != self.revoked {
                self.revoked = kept.lease;
                self.leftover.push(kept.lease);
            }
        }
        let mut lease = None;
        for _ in 0..TRIES {
            let mut listing = self.list()?;
            let cluster = self.registry.cluster_of(&listing).map_err(Halt::Because)?;
            if holds && cluster != kept.cluster {
                self.give_back(None, None);
                return Ok(());
            }
            // What somebody took away looks free here, and must not be claimed beside what is held.
            let is_ours = |held: &Marked| {
                listing.claims.iter().any(|&(lease, (id, _))| lease == kept.lease && id == held.id)
            };
            let lost: Vec<u16> = kept
                .held()
                .iter()
                .filter(|held| holds && !is_ours(held))
                .map(|held| held.id)
                .collect();
            if !lost.is_empty() {
                self.lose(kept, Some(&lost), "Claims were taken away in etcd.");
                self.more_at = Duration::ZERO;
                return Ok(());
            }
            let chosen = self.choose(&mut listing, missing.min(MOST));
            self.tell_unreadable();
            let chosen = match chosen {
                Err(halt) => {
                    self.give_back_unused(lease);
                    return Err(halt);
                }
                Ok(chosen) => chosen,
            };
            let Some(chosen) = chosen else {
                self.give_back_unused(lease);
                self.more_at = boot() + self.ttl / 3;
                return if holds { Ok(()) } else { self.wait(&listing) };
            };
            // What is added to a lease goes by it.
            let (id, ttl, sent, claim) = match (holds, lease) {
                (true, _) => {
                    let sent = Sent { now: kept.renewed, boot: kept.sent };
                    (kept.lease, kept.ttl, sent, kept.claim)
                }
                (false, Some(granted)) => granted,
                (false, None) => *lease.insert(self.grant()?),
            };
            let document = self.document(if holds { kept.since } else { sent.now }, id);
            let registry = &self.registry;
            let holding = Holding { cluster, lease: id, held: &chosen, document: &document };
            let claimed = self.etcd.call(async |client| {
                registry.claim(client, &holding, &listing, claim.ceiling).await
            });
            match claimed {
                Ok(Some(revisions)) => {
                    let chosen: Vec<_> =
                        chosen.into_iter().map(|marked| marked.as_of(&revisions)).collect();
                    let granted = hold::Granted {
                        lease: id,
                        namespace: &self.registry.namespace,
                        ttl,
                        cluster,
                        epoch: Flake::scale().epoch(),
                        claim,
                        sent: sent.boot,
                        sent_at: sent.now,
                    };
                    if hold::take(self.shared, granted, &chosen) {
                        hold::endpoint(self.shared, self.etcd.endpoint());
                        if !holds {
                            began();
                        }
                        note::leased(&chosen);
                        self.told_waiting = false;
                        self.start = 0;
                    } else if !holds {
                        self.leftover.push(id);
                    }
                    return Ok(());
                }
                // Others were faster: begin elsewhere than they do.
                Ok(None) => self.start = anywhere(),
                Err(trouble) => {
                    match holds {
                        true => self.strays_until = boot() + LATEST,
                        false => self.leftover.push(id),
                    }
                    return Err(trouble.into());
                }
            }
        }
        self.give_back_unused(lease);
        self.more_at = boot() + SOON;
        Ok(())
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
            let holding = Holding { cluster: kept.cluster, lease, held, document: &document };
            self.etcd.call(async |client| registry.release(client, &holding).await)?;
        }
        Ok(())
    }

    /// All that a claim depends on, with what must be there.
    fn list(&mut self) -> Result<Listing, Halt> {
        let registry = &self.registry;
        while let Some(&lease) = self.leftover.last() {
            self.etcd.call(async |client| registry.revoke(client, lease).await)?;
            self.leftover.pop();
        }
        let listing = self.etcd.call(async |client| registry.list(client).await)?;
        let epoch = crate::error::timestamp(Flake::scale().start(Tick(0))).to_string();
        let mut missing = Vec::new();
        if listing.cluster.value.is_none() {
            missing.push(("cluster-id", "0"));
        }
        if listing.epoch.value.is_none() {
            missing.push(("epoch", &*epoch));
        }
        if missing.is_empty() {
            return Ok(listing);
        }
        for (name, value) in missing {
            self.etcd.call(async |client| registry.create(client, name, value).await)?;
        }
        Ok(self.etcd.call(async |client| registry.list(client).await)?)
    }

    /// Says which generator ID is left alone because nobody knows what was made with it.
    fn tell_unreadable(&mut self) {
        let pool = settings::pool();
        let unreadable =
            self.marks.range(pool).find_map(|(id, mark)| Some((id, mark.moment.as_ref().err()?)));
        let Some((id, value)) = unreadable else { return };
        let key = format!("{}until/{id}", self.registry.namespace);
        let reason = format!("etcd's key \"{key}\" is \"{value}\", not a moment");
        hold::trouble(self.shared, &reason);
        if let Some(left_out) = self.told_unreadable.due(&reason) {
            note::left_alone(&reason, *id, left_out);
        }
    }

    /// Chooses generator IDs that nobody has, and reads the marks of those alone.
    fn choose(&mut self, listing: &mut Listing, want: usize) -> Result<Option<Vec<Marked>>, Halt> {
        self.marks.retain(|id, mark| {
            mark.moment.is_err() && listing.marked.get(id) == Some(&mark.revision)
        });
        loop {
            let (now, marks) = (now(), &self.marks);
            let is_readable = |id: u16| marks.get(&id).is_none_or(|mark| mark.moment.is_ok());
            let mark = |id: u16| match marks.get(&id) {
                Some(Mark { moment: Ok(mark), .. }) => *mark,
                _ => UnixNanos(0),
            };
            let is_free = |id: u16| !listing.taken.contains(&id) && is_readable(id);
            let is_past = |id: u16| mark(id) <= now;
            let best = |number| choose(settings::pool(), self.start, number, is_free, is_past);
            let Some(chosen) = best(want) else { return Ok(None) };
            let is_unread = |id: &u16| listing.marked.contains_key(id) && !marks.contains_key(id);
            let chosen = chosen.as_slice();
            if !chosen.iter().any(is_unread) {
                let marked = |&id: &u16| Marked { id, mark: mark(id), revision: 0 };
                return Ok(Some(chosen.iter().map(marked).collect()));
            }
            // More than are wanted, so that a long run of marks that are ahead is read in few calls.
            let candidates = best(MOST);
            let candidates = candidates.as_ref().map_or(chosen, |candidates| candidates.as_slice());
            let unread: Vec<u16> = candidates.iter().copied().filter(is_unread).collect();
            // Many marks that are none take long to read. What is held comes first; what was read is kept.
            let kept = lease::look(self.shared);
            let renewal = kept.sent + Term(kept.ttl).renewal();
            if kept.state == State::Held && (boot() >= renewal || self.shared.lease.is_asked()) {
                return Err(Halt::Interrupted);
            }
            self.read_marks(listing, &unread)?;
        }
    }

    /// Reads these marks, fewer at a time where they are too large for one answer. What was read stays read
    /// where a later part fails.
    fn read_marks(&mut self, listing: &mut Listing, ids: &[u16]) -> Result<(), Halt> {
        let mut parts = vec![ids];
        while let Some(part) = parts.pop() {
            let registry = &self.registry;
            match self.etcd.call(async |client| registry.marks(client, part).await)? {
                Marks::TooLarge => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Marks::Read(read) => {
                    for (id, mark) in read {
                        match mark {
                            Some(mark) => {
                                listing.marked.insert(id, mark.revision);
                                self.marks.insert(id, mark);
                            }
                            None => {
                                listing.marked.remove(&id);
                                self.marks.remove(&id);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn grant(&mut self) -> Result<(i64, Duration, Sent, Claim), Halt> {
        let lease =
            new_lease().ok_or_else(|| Halt::Because("no random numbers are to be had".into()))?;
        let (registry, ttl) = (&self.registry, self.ttl);
        let sent = Sent { now: now(), boot: boot() };
        let granted = self.etcd.call(async |client| registry.grant(client, lease, ttl).await);
        match granted {
            Ok(Duration::ZERO) => {
                self.leftover.push(lease);
                Err(Halt::Because("etcd granted a lease of 0 s".into()))
            }
            Ok(ttl) => Ok((lease, ttl, sent, Claim::asked(sent, Term(ttl)))),
            Err(trouble) => {
                self.leftover.push(lease);
                Err(trouble.into())
            }
        }
    }

    fn give_back_unused(&mut self, granted: Option<(i64, Duration, Sent, Claim)>) {
        self.leftover.extend(granted.map(|(lease, ..)| lease));
    }

    /// Until a claim is taken away, or for a while.
    fn wait(&mut self, listing: &Listing) -> Result<(), Halt> {
        hold::wait(self.shared, true);
        if !self.told_waiting {
            self.told_waiting = true;
            note::waits(&settings::pool());
        }
        let (registry, revision) = (&self.registry, listing.revision);
        let longest = (self.ttl / 3).max(AGAIN);
        self.etcd.patience = Patience::While(may_wait);
        let freed = self.etcd.call_for(longest + AGAIN, async |client| {
            registry.freed(client, revision, longest).await
        });
        self.etcd.patience = Patience::While(may_go_on);
        Ok(freed?)
    }

    /// Gives up these generator IDs, or all: sealed, with their exact marks, and free for others at once if
    /// etcd answers, until then where this process ends.
    pub fn give_back(&mut self, ids: Option<&[u16]>, until: Option<Duration>) {
        let kept = lease::look(self.shared);
        let gone = hold::give_up(self.shared, ids, false);
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
        let registry = Registry { namespace: kept.namespace.get().into() };
        let document = self.document(kept.since, kept.lease);
        let (cluster, lease) = (kept.cluster, kept.lease);
        let mut rest = gone.to_vec();
        for _ in 0..TRIES {
            let holding = Holding { cluster, lease, held: &rest, document: &document };
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
