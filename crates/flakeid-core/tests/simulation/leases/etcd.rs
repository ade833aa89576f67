//! The registry that all nodes reach: claims bound to leases, and marks that outlive them.

use super::events::{Event, Events};
use crate::random::Random;
use flakeid_core::clock::UnixNanos;
use std::collections::BTreeMap;

/// A mark, and the revision that wrote it last; 0 for one that was never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub until: u64,
    pub revision: u64,
}

/// One generator ID of a transaction: the revision that its mark must have, and what it becomes.
pub type Change = (u16, u64, UnixNanos);

/// Whatever revision it is: what no node may ask for.
pub const ANY: u64 = u64::MAX;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    List,
    Grant,
    /// There is no registry yet: it begins, with a grace period.
    Found,
    /// A grace period begins, unless there is one.
    Grace,
    /// Nobody has these, and their marks are as seen: they are the lease's. In a grace period it must be a claim of who
    /// held them, and else of anybody.
    Claim(u64, Vec<Change>, Claimant),
    /// The marks are these or later ones, where nobody has the IDs.
    Settle(Vec<Change>),
    KeepAlive(u64),
    /// They are still the lease's, and so are the marks.
    Renew(u64, Vec<Change>),
    /// The same; and then they are nobody's.
    Release(u64, Vec<Change>),
    Revoke(u64),
    /// The marks are written whatever is there: what no node may do.
    Overwrite(Vec<Change>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claimant {
    Anybody,
    /// Who held them until just now.
    Holder,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    Listing(Listing),
    Granted(u64),
    /// At this revision.
    Done(u64),
    Refused,
}

/// Whose each generator ID is, and the marks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    pub pool: BTreeMap<u16, u64>,
    pub marks: BTreeMap<u16, Mark>,
    pub is_founded: bool,
    /// Whether there is a grace period.
    pub is_grace: bool,
}

impl Listing {
    pub fn mark(&self, id: u16) -> Mark {
        self.marks.get(&id).copied().unwrap_or_default()
    }
}

/// When a lease ends, and whether it was told to have been renewed and was not.
struct Lease {
    end: u64,
    betrayed: bool,
}

pub struct Etcd {
    all: Listing,
    leases: BTreeMap<u64, Lease>,
    revision: u64,
    /// The number of the last lease. Nodes choose them at random, so they do not begin again.
    last_lease: u64,
    /// A grace period ends then.
    grace: u64,
    has_grace: bool,
    /// In true nanoseconds.
    ttl: u64,
    /// Nobody reaches it until then.
    pub down: u64,
    /// A member that is the leader no more answers for it until then.
    pub stale: u64,
}

impl Etcd {
    pub fn new(ttl: u64, has_grace: bool) -> Self {
        let all = Listing { is_founded: true, ..Listing::default() };
        let (revision, last_lease, grace, down, stale) = Default::default();
        let leases = BTreeMap::new();
        Self { all, leases, revision, last_lease, grace, has_grace, ttl, down, stale }
    }

    /// All that was written is lost.
    pub fn forget(&mut self) {
        self.all = Listing::default();
        self.leases.clear();
        (self.revision, self.grace) = (0, 0);
    }

    pub fn mark(&self, id: u16) -> u64 {
        self.all.mark(id).until
    }

    /// The lease that a generator ID is claimed for.
    pub fn holder(&self, now: u64, id: u16) -> Option<u64> {
        let holder = self.all.pool.get(&id).copied();
        holder.filter(|lease| self.leases.get(lease).is_some_and(|lease| now < lease.end))
    }

    pub fn marks(&self) -> impl Iterator<Item = u64> {
        self.all.marks.values().map(|mark| mark.until)
    }

    /// Another member leads: to it all leases are new.
    pub fn elect(&mut self, now: u64) {
        self.leases.values_mut().for_each(|lease| lease.end = lease.end.max(now + self.ttl));
    }

    pub fn apply(
        &mut self,
        now: u64,
        request: &Request,
        random: &Random,
        events: &Events,
    ) -> Reply {
        self.expire(now, events);
        self.all.is_grace = now < self.grace;
        let revision = self.revision + 1;
        let done = match request {
            Request::List => return Reply::Listing(self.all.clone()),
            Request::Grant => {
                self.last_lease += 1;
                let lease = Lease { end: now + self.ttl, betrayed: false };
                self.leases.insert(self.last_lease, lease);
                self.revision = revision;
                return Reply::Granted(self.last_lease);
            }
            Request::Found => {
                let is_new = !self.all.is_founded;
                if is_new {
                    self.all.is_founded = true;
                    self.begin_grace(now);
                }
                is_new
            }
            Request::Grace => {
                if !self.all.is_grace {
                    self.begin_grace(now);
                }
                true
            }
            Request::Settle(changes) => {
                let is_free = |(id, ..): &Change| !self.all.pool.contains_key(id);
                let free: Vec<Change> = changes.iter().copied().filter(is_free).collect();
                self.raise(revision, &free);
                true
            }
            Request::Claim(lease, changes, claimant) => {
                let is_free = |&(id, seen, _): &Change| {
                    let is_seen = seen == ANY || self.all.mark(id).revision == seen;
                    is_seen && !self.all.pool.contains_key(&id)
                };
                let may_claim =
                    self.all.is_founded && self.all.is_grace == (*claimant == Claimant::Holder);
                let granted =
                    may_claim && self.leases.contains_key(lease) && changes.iter().all(is_free);
                if granted {
                    self.all.pool.extend(changes.iter().map(|&(id, ..)| (id, *lease)));
                    self.raise(revision, changes);
                }
                granted
            }
            Request::KeepAlive(lease) => {
                let is_stale = now < self.stale && random.one_in(2);
                let end = now + self.ttl;
                let lease = self.leases.get_mut(lease);
                lease.is_some_and(|lease| {
                    lease.betrayed = is_stale;
                    lease.end = if is_stale { lease.end } else { end };
                    true
                })
            }
            Request::Renew(lease, changes) => {
                let is_held = self.holds(*lease, changes);
                if is_held {
                    self.write(revision, changes);
                }
                is_held
            }
            Request::Release(lease, changes) => {
                let is_held = self.holds(*lease, changes);
                if is_held {
                    self.write(revision, changes);
                    changes.iter().for_each(|(id, ..)| _ = self.all.pool.remove(id));
                }
                is_held
            }
            Request::Revoke(lease) => {
                self.end(*lease);
                true
            }
            Request::Overwrite(changes) => {
                self.write(revision, changes);
                true
            }
        };
        if done {
            self.revision = revision;
        }
        if done { Reply::Done(revision) } else { Reply::Refused }
    }

    fn begin_grace(&mut self, now: u64) {
        if self.has_grace {
            self.grace = now + self.ttl;
        }
    }

    fn holds(&self, lease: u64, changes: &[Change]) -> bool {
        changes.iter().all(|&(id, seen, _)| {
            let is_seen = seen == ANY || self.all.mark(id).revision == seen;
            is_seen && self.all.pool.get(&id) == Some(&lease)
        })
    }

    fn raise(&mut self, revision: u64, changes: &[Change]) {
        for &(id, _, UnixNanos(until)) in changes {
            let until = until.max(self.all.mark(id).until);
            self.all.marks.insert(id, Mark { until, revision });
        }
    }

    fn write(&mut self, revision: u64, changes: &[Change]) {
        for &(id, _, UnixNanos(until)) in changes {
            self.all.marks.insert(id, Mark { until, revision });
        }
    }

    fn expire(&mut self, now: u64, events: &Events) {
        let ended: Vec<u64> =
            self.leases.iter().filter(|(_, lease)| lease.end <= now).map(|(&id, _)| id).collect();
        for id in ended {
            if self.leases[&id].betrayed && self.all.pool.values().any(|&lease| lease == id) {
                events.saw(Event::EarlyEnd);
            }
            self.end(id);
        }
    }

    fn end(&mut self, lease: u64) {
        self.leases.remove(&lease);
        self.all.pool.retain(|_, &mut holder| holder != lease);
    }
}
