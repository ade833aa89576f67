//! An etcd: keys with revisions, leases that end by its own clock, and transactions.
//!
//! It knows nothing of the protocol. A listing is what a server reads of its keys, and a change is
//! a transaction of the shipped protocol, which it evaluates like any other.

use super::events::{Event, Events};
use crate::random::Random;
use flakeid_core::registry::listing::{HighWaterMark, Listing, Versioned};
use flakeid_core::registry::transaction::{Answer, Condition, Key, Transaction, Value, Write};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug)]
pub enum Request {
    List,
    /// Reads these high-water marks, of the registry with this ID.
    HighWaterMarks(Vec<u16>, Option<String>),
    /// Requests a lease of this number, for so many nanoseconds.
    Grant(i64, u64),
    Revoke(i64),
    KeepAlive(i64),
    Change(Transaction),
}

#[derive(Debug)]
pub enum Reply {
    Listing(Box<Listing>),
    /// The high-water marks of the etcd with this cluster ID.
    HighWaterMarks(u64, Vec<(u16, Option<HighWaterMark>)>),
    Granted(Duration),
    Revoked,
    /// The lease of a keep-alive does not exist.
    Gone,
    /// The lease lives for this long, by the etcd with this cluster ID in this term.
    Alive {
        etcd: u64,
        term: u64,
        ttl: Duration,
    },
    Answer(Answer),
    Error,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    revision: i64,
    lease: i64,
}

/// A lease, in true time, and whether a keep-alive was answered that had no effect.
#[derive(Clone, Debug)]
struct Lease {
    end: u64,
    ttl: u64,
    is_betrayed: bool,
}

/// All that an etcd has on its disks.
#[derive(Clone, Debug, Default)]
pub struct Data {
    pub revision: i64,
    keys: BTreeMap<Key, Entry>,
    leases: BTreeMap<i64, Lease>,
}

pub struct Etcd {
    /// The cluster ID.
    pub id: u64,
    data: Data,
    term: u64,
    /// The true time until which it does not answer.
    pub down: u64,
    /// The true time until which a member that is no longer the leader answers keep-alives.
    stale: u64,
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Epoch(time) | Value::Time(time) => time.0.to_string(),
        Value::Claim { since, until } => format!("{} {}", since.0, until.0),
    }
}

impl Data {
    /// Lets all leases begin again, as they do in an etcd that starts.
    pub fn begin_leases(&mut self, now: u64) {
        self.leases.values_mut().for_each(|lease| lease.end = now + lease.ttl);
    }

    fn revision_of(&self, key: Key) -> i64 {
        self.keys.get(&key).map_or(0, |entry| entry.revision)
    }

    fn versioned(&self, key: Key) -> Versioned {
        let Some(entry) = self.keys.get(&key) else { return Versioned::default() };
        let value = Some(text(&entry.value));
        Versioned { value, revision: entry.revision, lease: entry.lease }
    }

    pub fn value(&self, key: Key) -> Option<String> {
        self.keys.get(&key).map(|entry| text(&entry.value))
    }

    fn read_high_water_mark(&self, id: u16) -> Option<HighWaterMark> {
        let entry = self.keys.get(&Key::HighWaterMark(id))?;
        let moment = match &entry.value {
            Value::Time(time) => Ok(*time),
            other => Err(text(other)),
        };
        Some(HighWaterMark { revision: entry.revision, moment })
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Absent(key) => !self.keys.contains_key(key),
            Condition::Revision(key, revision) => self.revision_of(*key) == *revision,
            Condition::Value(key, value) => self.value(*key).as_ref() == Some(value),
            Condition::Lease(key, lease) => {
                self.keys.get(key).is_some_and(|entry| entry.lease == *lease)
            }
        }
    }

    /// Deletes all keys that are bound to a lease, and the lease.
    fn end(&mut self, lease: i64) {
        if self.leases.remove(&lease).is_none() {
            return;
        }
        let before = self.keys.len();
        self.keys.retain(|_, entry| entry.lease != lease);
        if self.keys.len() < before {
            self.revision += 1;
        }
    }

    /// Makes the writes of a transaction in one revision. Returns false if a lease does not exist.
    pub fn write(&mut self, writes: &[Write]) -> bool {
        let is_bound = |write: &Write| match write {
            Write::Put(_, _, lease) => *lease == 0 || self.leases.contains_key(lease),
            Write::Delete(_) => true,
        };
        if !writes.iter().all(is_bound) {
            return false;
        }
        if !writes.is_empty() {
            self.revision += 1;
        }
        for write in writes {
            match write {
                Write::Put(key, value, lease) => {
                    let (value, revision, lease) = (value.clone(), self.revision, *lease);
                    self.keys.insert(*key, Entry { value, revision, lease });
                }
                Write::Delete(key) => _ = self.keys.remove(key),
            }
        }
        true
    }
}

impl Etcd {
    pub fn new(id: u64) -> Self {
        Self { id, data: Data::default(), term: 2, down: 0, stale: 0 }
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Starts with these data, under this cluster ID.
    pub fn restore(&mut self, now: u64, id: u64, data: Data) {
        (self.id, self.data) = (id, data);
        self.data.begin_leases(now);
        self.term += 1;
        self.stale = 0;
    }

    /// Writes as a person does, in one revision for each write.
    pub fn write_by_hand(&mut self, writes: &[Write]) {
        writes.iter().for_each(|write| _ = self.data.write(std::slice::from_ref(write)));
    }

    /// Deletes all keys as a person does.
    pub fn delete_all(&mut self) {
        self.data.keys.clear();
        self.data.revision += 1;
    }

    /// Revokes a lease as a person does.
    pub fn revoke_by_hand(&mut self, lease: i64) {
        self.data.end(lease);
    }

    /// Returns the high-water mark of a generator ID, or 0.
    pub fn high_water_mark(&self, id: u16) -> u64 {
        self.data
            .read_high_water_mark(id)
            .and_then(|read| read.moment.ok())
            .map_or(0, |moment| moment.0)
    }

    pub fn high_water_marks(&self) -> impl Iterator<Item = u64> {
        self.data.keys.values().filter_map(|entry| match entry.value {
            Value::Time(time) => Some(time.0),
            _ => None,
        })
    }

    /// Returns the claims that exist: each with its lease.
    pub fn claims(&self) -> impl Iterator<Item = (Key, u16, i64)> {
        self.data.keys.iter().filter_map(|(&key, entry)| match key {
            Key::Claim { id, .. } => Some((key, id, entry.lease)),
            _ => None,
        })
    }

    /// Returns the lease for which a generator ID is claimed.
    pub fn holder(&self, now: u64, id: u16) -> Option<i64> {
        let claim = self.claims().find(|&(_, of, _)| of == id);
        let holds = |lease: &i64| self.data.leases.get(lease).is_some_and(|lease| now < lease.end);
        claim.map(|(_, _, lease)| lease).filter(holds)
    }

    pub fn has_leases(&self, now: u64) -> bool {
        self.data.leases.values().any(|lease| now < lease.end)
    }

    pub fn is_in_grace(&self, now: u64) -> bool {
        let grace = self.data.keys.get(&Key::Grace);
        let lease = grace.and_then(|grace| self.data.leases.get(&grace.lease));
        lease.is_some_and(|lease| now < lease.end)
    }

    /// Lets another member lead, in another term. For it all leases are new.
    pub fn elect(&mut self, now: u64) {
        self.term += 1;
        let leases = self.data.leases.values_mut();
        leases.for_each(|lease| lease.end = lease.end.max(now + lease.ttl));
    }

    /// Lets another member lead. Until then, the one that led before still answers keep-alives.
    pub fn divide(&mut self, now: u64, until: u64) {
        self.elect(now);
        self.stale = until;
    }

    pub fn is_well(&mut self) {
        (self.down, self.stale) = (0, 0);
    }

    pub fn apply(
        &mut self,
        now: u64,
        request: &Request,
        random: &Random,
        events: &Events,
    ) -> Reply {
        self.expire(now, events);
        match request {
            Request::List => Reply::Listing(Box::new(self.list())),
            Request::HighWaterMarks(_, registry) if self.data.value(Key::Id) != *registry => {
                Reply::Error
            }
            Request::HighWaterMarks(ids, _) => Reply::HighWaterMarks(
                self.id,
                ids.iter().map(|&id| (id, self.data.read_high_water_mark(id))).collect(),
            ),
            &Request::Grant(lease, ttl) => {
                let new = Lease { end: now + ttl, ttl, is_betrayed: false };
                self.data.leases.entry(lease).or_insert(new);
                Reply::Granted(Duration::from_nanos(ttl))
            }
            Request::Revoke(lease) => {
                self.data.end(*lease);
                Reply::Revoked
            }
            Request::KeepAlive(number) => {
                let is_stale = now < self.stale && random.one_in(2);
                let Some(lease) = self.data.leases.get_mut(number) else { return Reply::Gone };
                lease.is_betrayed = is_stale;
                lease.end = if is_stale { lease.end } else { now + lease.ttl };
                let (etcd, term) = (self.id, self.term - u64::from(is_stale));
                Reply::Alive { etcd, term, ttl: Duration::from_nanos(lease.ttl) }
            }
            Request::Change(transaction) => self.transact(transaction),
        }
    }

    fn list(&self) -> Listing {
        let data = &self.data;
        let mut listing = Listing {
            etcd: self.id,
            revision: data.revision,
            cluster: data.versioned(Key::ClusterId),
            epoch: data.versioned(Key::Epoch),
            address: data.versioned(Key::Address),
            grace: data.versioned(Key::Grace),
            id: data.versioned(Key::Id),
            retired: data.versioned(Key::Retired),
            ..Listing::default()
        };
        for (key, entry) in &data.keys {
            match (key, &entry.value) {
                (Key::Epoch, Value::Epoch(epoch)) => listing.epoch_time = Some(*epoch),
                (Key::Claim { id, .. }, _) => {
                    listing.claims.push((entry.lease, (*id, entry.revision)));
                    listing.taken.insert(*id);
                }
                (Key::HighWaterMark(id), _) => {
                    _ = listing.mark_revisions.insert(*id, entry.revision)
                }
                _ => {}
            }
        }
        listing
    }

    fn transact(&mut self, transaction: &Transaction) -> Reply {
        let Transaction { conditions, writes, reads } = transaction;
        let is_done = conditions.iter().all(|condition| self.data.holds(condition));
        if is_done && !self.data.write(writes) {
            return Reply::Error;
        }
        let read = |key: &Key| {
            let entry = self.data.keys.get(key).filter(|_| !is_done)?;
            Some((*key, entry.lease, entry.revision))
        };
        let read = reads.iter().filter_map(read).collect();
        let (etcd, term, revision) = (self.id, self.term, self.data.revision);
        Reply::Answer(Answer { etcd, term, revision, is_done, read })
    }

    fn expire(&mut self, now: u64, events: &Events) {
        let leases = &self.data.leases;
        let ended: Vec<i64> =
            leases.iter().filter(|(_, lease)| lease.end <= now).map(|(&id, _)| id).collect();
        for number in ended {
            let is_bound = self.data.keys.values().any(|entry| entry.lease == number);
            if self.data.leases[&number].is_betrayed && is_bound {
                events.saw(Event::EarlyEnd);
            }
            self.data.end(number);
        }
    }
}
