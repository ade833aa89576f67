//! An etcd as far as the protocol needs it: keys with revisions, leases, and transactions.

use crate::given::EPOCH;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::RequestTime;
use flakeid_core::registry::action::KeepAlive;
use flakeid_core::registry::listing::{HighWaterMark, Listing, Versioned};
use flakeid_core::registry::transaction::{Answer, Condition, Key, Transaction, Value, Write};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Stored {
    pub value: Value,
    pub lease: i64,
    pub revision: i64,
}

#[derive(Clone, Debug)]
pub struct Etcd {
    /// Its cluster ID.
    pub id: u64,
    pub term: u64,
    pub revision: i64,
    pub keys: BTreeMap<Key, Stored>,
    /// When each lease ends, in seconds since this server was booted.
    pub leases: BTreeMap<i64, u64>,
    /// How many of the next keep-alives a leader answers that is replaced right afterwards.
    pub leader_changes: u8,
    /// Whether it answers as if a keep-alive was not answered.
    pub is_mute: bool,
}

impl Etcd {
    pub fn new(id: u64) -> Self {
        let (keys, leases) = Default::default();
        Self { id, term: 1, revision: 1, keys, leases, leader_changes: 0, is_mute: false }
    }

    /// Returns an etcd that has a registry with this value of the key `registry-id`.
    pub fn with_registry(id: u64, address: &str, registry: &str) -> Self {
        let mut etcd = Self::new(id);
        etcd.put(Key::Address, Value::Text(address.into()), 0);
        etcd.put(Key::Epoch, Value::Epoch(EPOCH), 0);
        etcd.put(Key::ClusterId, Value::Text("0".into()), 0);
        etcd.put(Key::Id, Value::Text(registry.into()), 0);
        etcd
    }

    /// Writes one key.
    pub fn put(&mut self, key: Key, value: Value, lease: i64) {
        self.revision += 1;
        self.keys.insert(key, Stored { value, lease, revision: self.revision });
    }

    pub fn delete(&mut self, key: Key) {
        self.revision += 1;
        self.keys.remove(&key);
    }

    pub fn claim(&mut self, id: u16, lease: i64) {
        let (since, until) = (UnixNanos(0), UnixNanos(0));
        self.put(Key::Claim { cluster: 0, id }, Value::Claim { since, until }, lease);
    }

    pub fn high_water_mark(&mut self, id: u16, until: UnixNanos) {
        self.put(Key::HighWaterMark(id), Value::Time(until), 0);
    }

    pub fn revoke(&mut self, lease: i64) {
        self.revision += 1;
        self.leases.remove(&lease);
        self.keys.retain(|_, stored| stored.lease != lease);
    }

    /// Ends the leases whose time is over.
    pub fn expire(&mut self, now: u64) {
        for (lease, end) in self.leases.clone() {
            if end <= now {
                self.revoke(lease);
            }
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        let stored = |key: &Key| self.keys.get(key);
        match condition {
            Condition::Absent(key) => stored(key).is_none(),
            Condition::Revision(key, revision) => {
                stored(key).map_or(0, |stored| stored.revision) == *revision
            }
            Condition::Value(key, value) => {
                stored(key).is_some_and(|stored| stored.value == Value::Text(value.clone()))
            }
            Condition::Lease(key, lease) => {
                stored(key).is_some_and(|stored| stored.lease == *lease)
            }
        }
    }

    /// Does a transaction. Fails if it binds a key to a lease that does not exist.
    pub fn transact(&mut self, transaction: &Transaction) -> Result<Answer, String> {
        let is_done = transaction.conditions.iter().all(|condition| self.holds(condition));
        if is_done {
            let binds_to = |write: &Write| match write {
                Write::Put(_, _, lease) => *lease,
                Write::Delete(_) => 0,
            };
            let leases = transaction.writes.iter().map(binds_to);
            if leases.filter(|&lease| lease != 0).any(|lease| !self.leases.contains_key(&lease)) {
                return Err("requested lease not found".into());
            }
            self.revision += 1;
            for write in &transaction.writes {
                match write.clone() {
                    Write::Put(key, value, lease) => {
                        self.keys.insert(key, Stored { value, lease, revision: self.revision });
                    }
                    Write::Delete(key) => drop(self.keys.remove(&key)),
                }
            }
        }
        let reads = transaction.reads.iter().filter(|_| !is_done);
        let read = reads.filter_map(|key| {
            let stored = self.keys.get(key)?;
            Some((*key, stored.lease, stored.revision))
        });
        Ok(Answer {
            etcd: self.id,
            term: self.term,
            revision: self.revision,
            is_done,
            read: read.collect(),
        })
    }

    pub fn keep_alive(&mut self, lease: i64, ttl: Duration, sent: RequestTime) -> KeepAlive {
        if self.is_mute {
            return KeepAlive::NoAnswer;
        }
        let Some(end) = self.leases.get_mut(&lease) else { return KeepAlive::Gone };
        *end = sent.boot.as_secs() + ttl.as_secs();
        let term = self.term;
        if self.leader_changes > 0 {
            (self.leader_changes, self.term) = (self.leader_changes - 1, term + 1);
        }
        KeepAlive::Alive { etcd: self.id, term, ttl, sent }
    }

    fn versioned(&self, key: Key) -> Versioned {
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            _ => "a time".into(),
        };
        self.keys.get(&key).map_or_else(Versioned::default, |stored| Versioned {
            value: Some(text(&stored.value)),
            revision: stored.revision,
            lease: stored.lease,
        })
    }

    pub fn list(&self, endpoint: &str) -> Listing {
        let mut listing = Listing {
            endpoint: endpoint.into(),
            etcd: self.id,
            revision: self.revision,
            cluster: self.versioned(Key::ClusterId),
            epoch: self.versioned(Key::Epoch),
            epoch_time: None,
            address: self.versioned(Key::Address),
            grace: self.versioned(Key::Grace),
            id: self.versioned(Key::Id),
            retired: self.versioned(Key::Retired),
            ..Listing::default()
        };
        for (key, stored) in &self.keys {
            match (key, &stored.value) {
                (Key::Epoch, Value::Epoch(epoch)) => listing.epoch_time = Some(*epoch),
                (Key::Claim { id, .. }, _) => {
                    listing.claims.push((stored.lease, (*id, stored.revision)));
                    listing.taken.insert(*id);
                }
                (Key::HighWaterMark(id), _) => {
                    listing.mark_revisions.extend([(*id, stored.revision)])
                }
                _ => {}
            }
        }
        listing
    }

    /// Reads high-water marks. A text is a value that is not a time.
    pub fn read(&self, ids: &[u16]) -> Vec<(u16, Option<HighWaterMark>)> {
        let high_water_mark = |stored: &Stored| HighWaterMark {
            revision: stored.revision,
            moment: match &stored.value {
                Value::Time(time) => Ok(*time),
                other => Err(format!("{other:?}")),
            },
        };
        ids.iter()
            .map(|&id| (id, self.keys.get(&Key::HighWaterMark(id)).map(high_water_mark)))
            .collect()
    }
}
