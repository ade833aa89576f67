//! All that a claim depends on: which generator IDs are taken, and their high-water marks.
//!
//! Anyone may have written anything there, also more than one answer of etcd can hold. So a listing has keys alone, in
//! pages. High-water marks are read when they are needed, in parts that become smaller if they are too large for one
//! answer. So a broken value stops its own generator ID and no other. The listing and the high-water marks need not be
//! of one revision: a claim is only made if all that it depends on is still as it was read.

use super::keys::{ID, LEFT, Registry, another, gets, quoted, read};
use crate::shmem::Revision;
use etcd_client::{Client, Error, GetOptions, GetResponse, KeyValue, ResponseHeader, Txn, TxnOp};
use flakeid_core::clock::UnixNanos;
use std::collections::{BTreeMap, BTreeSet};

/// The longest part of a value that is read, in bytes. An address with those that it replaces is the longest value.
pub(super) const VALUE_LIMIT: usize = 1024;

/// The most keys that one answer has. Each has less than 200 bytes, so they are far below the client's 4 MiB.
const PAGE: i64 = 4096;

/// The beginning of a value, the revision of its last change, and the lease that it is bound to. Revision and lease are 0
/// if the key does not exist.
#[derive(Clone, Debug, Default)]
pub struct Versioned {
    pub value: Option<String>,
    pub revision: i64,
    pub lease: i64,
}

/// All that a claim depends on, without the values of the high-water marks.
#[derive(Debug, Default)]
pub struct Listing {
    /// The cluster ID of the etcd that answered.
    pub etcd: u64,
    pub cluster: Versioned,
    pub epoch: Versioned,
    pub address: Versioned,
    pub grace: Versioned,
    /// The registry's ID and those of the registries that it follows, as they are written: an
    /// [`Identity`](super::Identity).
    pub id: Versioned,
    /// The registries that servers have left for this one, as they are written: see `holder/left.rs`.
    pub left: Versioned,
    /// The endpoint that answered.
    pub endpoint: String,
    /// The claims: the lease, the generator ID and the revision of each.
    pub claims: Vec<(i64, Revision)>,
    /// The generator IDs that are claimed or registered, in any cluster.
    pub taken: BTreeSet<u16>,
    /// The revisions of the high-water marks that exist.
    pub mark_revisions: BTreeMap<u16, i64>,
    pub revision: i64,
}

/// A high-water mark as it was read.
#[derive(Clone, Debug)]
pub struct HighWaterMark {
    pub revision: i64,
    /// The time; or the value if that is not a time. Then no server leases this generator ID.
    pub moment: Result<UnixNanos, String>,
}

/// The result of reading several high-water marks.
#[derive(Debug)]
pub enum HighWaterMarks {
    /// Each with its generator ID; `None` if the key does not exist.
    Read(Vec<(u16, Option<HighWaterMark>)>),
    /// They are more than one answer holds. Read fewer.
    TooLarge,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(VALUE_LIMIT)]).into_owned()
}

/// Returns whether an answer was longer than the client takes. gRPC has no code of its own for that.
fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::GRpcStatus(status) if status.message().contains("message length too large"))
}

/// Returns the end of the range of all keys that begin with this prefix. The prefix ends in a slash.
fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// Returns the options for one page of keys.
fn page(prefix: &str, limit: i64) -> GetOptions {
    GetOptions::new().with_range(end_of(prefix)).with_keys_only().with_limit(limit)
}

/// The parts of a key that was listed: the generator ID at its end, its lease and its revision.
type Listed = (u16, i64, i64);

fn listed(kvs: &[KeyValue], prefix: &str) -> Vec<Listed> {
    let listed = |kv: &KeyValue| Some((id_of(kv.key(), prefix)?, kv.lease(), kv.mod_revision()));
    kvs.iter().filter_map(listed).collect()
}

fn incomplete() -> Error {
    Error::Internal("etcd sent an incomplete reply".into())
}

/// Returns the key at which the page after this one begins.
fn following(get: &GetResponse) -> Option<Vec<u8>> {
    let last = get.kvs().last().filter(|_| get.more())?;
    // The first key after it.
    Some([last.key(), &[0]].concat())
}

fn versioned(get: &GetResponse) -> Versioned {
    match get.kvs().first() {
        Some(kv) => Versioned {
            value: Some(text(kv.value())),
            revision: kv.mod_revision(),
            lease: kv.lease(),
        },
        None => Versioned::default(),
    }
}

/// Returns the generator ID at a key's end: `<cluster>:<id>`, or `<id>` alone.
fn id_of(key: &[u8], prefix: &str) -> Option<u16> {
    let key = std::str::from_utf8(key).ok()?.strip_prefix(prefix)?;
    key.rsplit(':').next()?.parse().ok()
}

/// The keys of single values that a listing has.
const VALUES: [&str; 6] = ["cluster-id", "epoch", "address", "grace", ID, LEFT];

impl Listing {
    /// Returns whether there is no registry yet: neither of the keys with which one begins.
    pub fn is_new(&self) -> bool {
        self.address.value.is_none() && self.epoch.value.is_none()
    }

    /// Returns the claims of this lease.
    pub fn claims_of(&self, lease: i64) -> Vec<Revision> {
        let claims = self.claims.iter().filter(|(of, _)| *of == lease);
        claims.map(|&(_, revision)| revision).collect()
    }

    fn set(&mut self, values: [&GetResponse; VALUES.len()], header: Option<&ResponseHeader>) {
        let [cluster, epoch, address, grace, id, left] = values.map(versioned);
        (self.cluster, self.epoch, self.address, self.grace) = (cluster, epoch, address, grace);
        (self.id, self.left) = (id, left);
        self.etcd = header.map_or(0, ResponseHeader::cluster_id);
        self.revision = header.map_or(0, ResponseHeader::revision);
    }
}

impl Registry {
    /// Lists the registry.
    ///
    /// # Errors
    /// The error of etcd or of the connection, as for all calls to etcd.
    pub async fn list(&self, client: &mut Client) -> Result<Listing, Error> {
        let prefixes = ["pool/", "registry/", "until/"].map(|name| self.key(name));
        let keys = prefixes.iter().map(|prefix| TxnOp::get(&**prefix, Some(page(prefix, PAGE))));
        let values = VALUES.map(|name| TxnOp::get(self.key(name), None));
        let txn = Txn::new().and_then(values.into_iter().chain(keys).collect::<Vec<_>>());
        let mut listing = Listing::default();
        let mut lists = [const { Vec::new() }; 3];
        // The key from which on each range is still to be listed.
        let mut next = prefixes.each_ref().map(|prefix| Some(prefix.as_bytes().to_vec()));
        match client.txn(txn).await {
            Ok(response) => {
                let answers = gets(&response);
                let Some((values, pages)) = answers.split_first_chunk() else {
                    return Err(incomplete());
                };
                if pages.len() != lists.len() {
                    return Err(incomplete());
                }
                listing.set(values.each_ref(), response.header());
                for (place, get) in pages.iter().enumerate().take(lists.len()) {
                    lists[place] = listed(get.kvs(), &prefixes[place]);
                    next[place] = following(get);
                }
            }
            // Long keys, or values: one after the other there is room for them.
            Err(error) if is_too_large(&error) => {
                let mut values = Vec::new();
                for name in VALUES {
                    values.push(client.get(self.key(name), None).await?);
                }
                if let Some(all) = values.first_chunk() {
                    listing.set(all.each_ref(), all[0].header());
                }
            }
            Err(error) => return Err(error),
        }
        for ((prefix, list), next) in prefixes.iter().zip(&mut lists).zip(next) {
            self.list_from(client, prefix, next, list).await?;
        }
        let [claimed, registered, high_water_marks] = lists;
        listing.taken = claimed.iter().chain(&registered).map(|&(id, ..)| id).collect();
        listing.claims =
            claimed.into_iter().map(|(id, lease, revision)| (lease, (id, revision))).collect();
        listing.mark_revisions =
            high_water_marks.into_iter().map(|(id, _, revision)| (id, revision)).collect();
        Ok(listing)
    }

    /// Lists the rest of a range, page by page.
    async fn list_from(
        &self,
        client: &mut Client,
        prefix: &str,
        mut next: Option<Vec<u8>>,
        list: &mut Vec<Listed>,
    ) -> Result<(), Error> {
        let mut limit = PAGE;
        while let Some(from) = &next {
            match client.get(from.clone(), Some(page(prefix, limit))).await {
                Ok(get) => {
                    // Each page must lead further, or the listing would have no end.
                    let begins = get.kvs().first().is_none_or(|first| first.key() >= &from[..]);
                    let leads = get.kvs().last().is_none_or(|last| last.key() >= &from[..]);
                    if !begins || !leads {
                        return Err(Error::Internal(
                            "etcd sent keys outside the requested range".into(),
                        ));
                    }
                    list.extend(listed(get.kvs(), prefix));
                    next = following(&get);
                }
                Err(error) if is_too_large(&error) && limit > 1 => limit /= 8,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the high-water marks of these generator IDs, at most [`MAX_CLAIMS_PER_TXN`](super::MAX_CLAIMS_PER_TXN), of
    /// the registry that was listed.
    pub async fn high_water_marks(
        &self,
        client: &mut Client,
        ids: &[u16],
    ) -> Result<HighWaterMarks, Error> {
        let high_water_marks = ids.iter().map(|&id| TxnOp::get(self.until(id), None));
        let ops = high_water_marks.chain([TxnOp::get(self.key(ID), None)]);
        let response = match client.txn(Txn::new().and_then(ops.collect::<Vec<_>>())).await {
            Err(error) if is_too_large(&error) => match ids {
                &[id] => return self.too_large(client, id).await,
                _ => return Ok(HighWaterMarks::TooLarge),
            },
            done => done?,
        };
        let high_water_mark = |get: &GetResponse| {
            get.kvs().first().map(|kv| {
                let value = text(kv.value());
                let moment = match read(&value) {
                    Some(moment) if kv.value().len() < VALUE_LIMIT => Ok(moment),
                    _ => Err(quoted(kv.value())),
                };
                HighWaterMark { revision: kv.mod_revision(), moment }
            })
        };
        let mut answers = gets(&response);
        let id = answers.pop();
        if answers.len() != ids.len() {
            return Err(incomplete());
        }
        if id.and_then(|id| versioned(&id).value).unwrap_or_default() != self.id {
            return Err(another());
        }
        Ok(HighWaterMarks::Read(
            ids.iter().zip(&answers).map(|(&id, get)| (id, high_water_mark(get))).collect(),
        ))
    }

    /// Reads the revision of a high-water mark whose value is longer than an answer.
    async fn too_large(&self, client: &mut Client, id: u16) -> Result<HighWaterMarks, Error> {
        let options = GetOptions::new().with_keys_only();
        let get = client.get(self.until(id), Some(options)).await?;
        let high_water_mark = |kv: &KeyValue| HighWaterMark {
            revision: kv.mod_revision(),
            moment: Err("...".into()),
        };
        Ok(HighWaterMarks::Read(vec![(id, get.kvs().first().map(high_water_mark))]))
    }
}
