//! How a listing is read from etcd.
//!
//! Anyone may have written anything there, also more than one answer of etcd can hold. So a listing
//! has keys alone, in pages. High-water marks are read when they are needed, in parts that become
//! smaller if they are too large for one answer. So a broken value stops its own generator ID and
//! no other. The listing and the high-water marks need not be of one revision: a claim is only made
//! if all that it depends on is still as it was read.

use super::registry::{Registry, gets, other_etcd};
use crate::error::excerpt;
use etcd_client::{Client, Error, GetOptions, GetResponse, KeyValue, ResponseHeader, Txn, TxnOp};
use flakeid_core::registry::listing::{HighWaterMark, Listing, Versioned};
use flakeid_core::registry::transaction::Key;
use flakeid_formats::etcd::{end_of, id_of, mark_id_of, parse_mark, parse_time, text};

/// The longest part of a value that is kept as the reason why it is not a time, in bytes.
const EXCERPT: usize = 64;

/// The most keys that one answer has. Each has less than 200 bytes, so they are far below the
/// client's 4 MiB.
const PAGE: i64 = 4096;

/// The result of reading several high-water marks.
#[derive(Debug)]
pub enum HighWaterMarks {
    /// Each with its generator ID; `None` if the key does not exist.
    Read(Vec<(u16, Option<HighWaterMark>)>),
    /// They are more than one answer holds. Read fewer.
    TooLarge,
}

/// Returns whether an answer was longer than the client takes. gRPC has no code of its own for
/// that.
fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::GRpcStatus(status) if status.message().contains("message length too large"))
}

/// Returns the options for one page of keys.
fn page(prefix: &str, limit: i64) -> GetOptions {
    GetOptions::new().with_range(end_of(prefix)).with_keys_only().with_limit(limit)
}

/// The parts of a key that was listed: the generator ID at its end, its lease and its revision.
type Listed = (u16, i64, i64);

/// A prefix of keys, and the function that reads the generator ID at their end.
type Range<'a> = (&'a str, fn(&[u8], &str) -> Option<u16>);

fn listed(kvs: &[KeyValue], (prefix, id_of): Range) -> Vec<Listed> {
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

/// The keys of single values that a listing has.
const VALUES: [Key; 6] =
    [Key::ClusterId, Key::Epoch, Key::Address, Key::Grace, Key::Id, Key::Retired];

fn set(
    listing: &mut Listing,
    values: [&GetResponse; VALUES.len()],
    header: Option<&ResponseHeader>,
) {
    let [cluster, epoch, address, grace, id, retired] = values.map(versioned);
    listing.epoch_time = epoch.value.as_deref().and_then(parse_time);
    (listing.cluster, listing.epoch, listing.address) = (cluster, epoch, address);
    (listing.grace, listing.id, listing.retired) = (grace, id, retired);
    listing.etcd = header.map_or(0, ResponseHeader::cluster_id);
    listing.revision = header.map_or(0, ResponseHeader::revision);
}

impl Registry {
    /// Lists the registry.
    ///
    /// # Errors
    /// The error of etcd or of the connection, as for all calls to etcd.
    pub async fn list(&self, client: &mut Client) -> Result<Listing, Error> {
        let prefixes = ["pool/", "registry/", "until/"].map(|name| self.named(name));
        let [pool, registry, until] = prefixes.each_ref().map(String::as_str);
        let ranges: [Range; 3] = [(pool, id_of), (registry, id_of), (until, mark_id_of)];
        let keys = prefixes.iter().map(|prefix| TxnOp::get(&**prefix, Some(page(prefix, PAGE))));
        let values = VALUES.map(|key| TxnOp::get(self.key(key), None));
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
                set(&mut listing, values.each_ref(), response.header());
                for (place, get) in pages.iter().enumerate().take(lists.len()) {
                    lists[place] = listed(get.kvs(), ranges[place]);
                    next[place] = following(get);
                }
            }
            // Long keys, or values: one after the other there is room for them.
            Err(error) if is_too_large(&error) => {
                let mut values = Vec::new();
                for key in VALUES {
                    values.push(client.get(self.key(key), None).await?);
                }
                if let Some(all) = values.first_chunk() {
                    set(&mut listing, all.each_ref(), all[0].header());
                }
            }
            Err(error) => return Err(error),
        }
        for ((range, list), next) in ranges.into_iter().zip(&mut lists).zip(next) {
            self.list_from(client, range, next, list).await?;
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
        range: Range<'_>,
        mut next: Option<Vec<u8>>,
        list: &mut Vec<Listed>,
    ) -> Result<(), Error> {
        let mut limit = PAGE;
        while let Some(from) = &next {
            match client.get(from.clone(), Some(page(range.0, limit))).await {
                Ok(get) => {
                    // Each page must lead further, or the listing would have no end.
                    let begins = get.kvs().first().is_none_or(|first| first.key() >= &from[..]);
                    let leads = get.kvs().last().is_none_or(|last| last.key() >= &from[..]);
                    if !begins || !leads {
                        return Err(Error::Internal(
                            "etcd sent keys outside the requested range".into(),
                        ));
                    }
                    list.extend(listed(get.kvs(), range));
                    next = following(&get);
                }
                Err(error) if is_too_large(&error) && limit > 1 => limit /= 8,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the high-water marks of these generator IDs, of the registry with this ID in the etcd
    /// with this cluster ID.
    pub async fn high_water_marks(
        &self,
        client: &mut Client,
        ids: &[u16],
        (etcd, registry): (u64, Option<&str>),
    ) -> Result<HighWaterMarks, Error> {
        let high_water_marks =
            ids.iter().map(|&id| TxnOp::get(self.key(Key::HighWaterMark(id)), None));
        let ops = high_water_marks.chain([TxnOp::get(self.key(Key::Id), None)]);
        let response = match client.txn(Txn::new().and_then(ops.collect::<Vec<_>>())).await {
            Err(error) if is_too_large(&error) => match ids {
                &[id] => return self.too_large(client, id).await,
                _ => return Ok(HighWaterMarks::TooLarge),
            },
            done => done?,
        };
        let high_water_mark = |get: &GetResponse| {
            get.kvs().first().map(|kv| {
                let moment = parse_mark(kv.value());
                let moment = moment.ok_or_else(|| excerpt(kv.value(), EXCERPT));
                HighWaterMark { revision: kv.mod_revision(), moment }
            })
        };
        let mut answers = gets(&response);
        let id = answers.pop();
        if answers.len() != ids.len() {
            return Err(incomplete());
        }
        if id.and_then(|id| versioned(&id).value).as_deref() != registry
            || response.header().map(ResponseHeader::cluster_id) != Some(etcd)
        {
            return Err(other_etcd());
        }
        Ok(HighWaterMarks::Read(
            ids.iter().zip(&answers).map(|(&id, get)| (id, high_water_mark(get))).collect(),
        ))
    }

    /// Reads the revision of a high-water mark whose value is longer than an answer.
    async fn too_large(&self, client: &mut Client, id: u16) -> Result<HighWaterMarks, Error> {
        let options = GetOptions::new().with_keys_only();
        let get = client.get(self.key(Key::HighWaterMark(id)), Some(options)).await?;
        let high_water_mark = |kv: &KeyValue| HighWaterMark {
            revision: kv.mod_revision(),
            moment: Err("...".into()),
        };
        Ok(HighWaterMarks::Read(vec![(id, get.kvs().first().map(high_water_mark))]))
    }
}
