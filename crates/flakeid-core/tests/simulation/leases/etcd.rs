//! The registry that all servers reach: claims bound to leases, and high-water marks that outlive them.

use super::events::{Event, Events};
use crate::random::Random;
use flakeid_core::clock::UnixNanos;
use std::collections::BTreeMap;

/// A high-water mark, and the revision that wrote it last; 0 if nothing has written it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HighWaterMark {
    pub until: u64,
    pub revision: u64,
}

/// One generator ID of a transaction: the revision that its high-water mark must have, and its new high-water mark.
pub type Change = (u16, u64, UnixNanos);

/// Any revision, which no server may request.
pub const ANY: u64 = u64::MAX;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    List,
    Grant,
    /// Founds the registry, if there is no registry yet, with a grace period.
    Found,
    /// Begins a grace period, unless there is one.
    Grace,
    /// Claims these IDs for the lease, if no server has them and their high-water marks are those of the listing. In
    /// a grace period the claim must be that of the last holder, and otherwise that of any server.
    Claim(u64, Vec<Change>, Claimant),
    /// Raises the high-water marks to these, if no server has the IDs.
    Settle(Vec<Change>),
    KeepAlive(u64),
    /// Writes the high-water marks, if the IDs and the high-water marks are still those of the lease.
    Renew(u64, Vec<Change>),
    /// Writes the high-water marks under the condition of `Renew`, and ends the claims.
    Release(u64, Vec<Change>),
    Revoke(u64),
    /// Writes the high-water marks without a condition, which no server may do.
    Overwrite(Vec<Change>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claimant {
    Anybody,
    /// The server that held the IDs until just now.
    Holder,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    Listing(Listing),
    Granted(u64),
    /// The transaction succeeded at this revision.
    Done(u64),
    ParseError,
}

/// The lease of each generator ID, and the high-water marks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    pub pool: BTreeMap<u16, u64>,
    pub high_water_marks: BTreeMap<u16, HighWaterMark>,
    pub is_founded: bool,
    /// Whether there is a grace period.
    pub is_grace: bool,
}

impl Listing {
    pub fn high_water_mark(&self, id: u16) -> HighWaterMark {
        self.high_water_marks.get(&id).copied().unwrap_or_default()
    }
}

/// The end of a lease, and whether a renewal was reported that did not happen.
struct Lease {
    end: u64,
    betrayed: bool,
}

pub struct Etcd {
    all: Listing,
    leases: BTreeMap<u64, Lease>,
    revision: u64,
    /// The number of the last lease. Servers choose them at random, so they do not begin again.
    last_lease: u64,
    /// The time at which a grace period ends.
    grace: u64,
    has_grace: bool,
    /// The true time, in nanoseconds.
    ttl: u64,
    /// The time until which no server reaches the registry.
    pub down: u64,
    /// The time until which a member that is no longer the leader answers for the registry.
    pub stale: u64,
}

impl Etcd {
    pub fn new(ttl: u64, has_grace: bool) -> Self {
        let all = Listing { is_founded: true, ..Listing::default() };
        let (revision, last_lease, grace, down, stale) = Default::default();
        let leases = BTreeMap::new();
        Self { all, leases, revision, last_lease, grace, has_grace, ttl, down, stale }
    }

    /// Loses all that was written.
    pub fn forget(&mut self) {
        self.all = Listing::default();
        self.leases.clear();
        (self.revision, self.grace) = (0, 0);
    }

    pub fn high_water_mark(&self, id: u16) -> u64 {
        self.all.high_water_mark(id).until
    }

    /// Returns the lease for which a generator ID is claimed.
    pub fn holder(&self, now: u64, id: u16) -> Option<u64> {
        let holder = self.all.pool.get(&id).copied();
        holder.filter(|lease| self.leases.get(lease).is_some_and(|lease| now < lease.end))
    }

    pub fn high_water_marks(&self) -> impl Iterator<Item = u64> {
        self.all.high_water_marks.values().map(|high_water_mark| high_water_mark.until)
    }

    /// Lets another member lead. For it all leases are new.
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
                    let is_seen = seen == ANY || self.all.high_water_mark(id).revision == seen;
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
        if done { Reply::Done(revision) } else { Reply::ParseError }
    }

    fn begin_grace(&mut self, now: u64) {
        if self.has_grace {
            self.grace = now + self.ttl;
        }
    }

    fn holds(&self, lease: u64, changes: &[Change]) -> bool {
        changes.iter().all(|&(id, seen, _)| {
            let is_seen = seen == ANY || self.all.high_water_mark(id).revision == seen;
            is_seen && self.all.pool.get(&id) == Some(&lease)
        })
    }

    fn raise(&mut self, revision: u64, changes: &[Change]) {
        for &(id, _, UnixNanos(until)) in changes {
            let until = until.max(self.all.high_water_mark(id).until);
            self.all.high_water_marks.insert(id, HighWaterMark { until, revision });
        }
    }

    fn write(&mut self, revision: u64, changes: &[Change]) {
        for &(id, _, UnixNanos(until)) in changes {
            self.all.high_water_marks.insert(id, HighWaterMark { until, revision });
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
