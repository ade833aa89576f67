//! Keys and values of the registry in etcd. Each line of an input is one value. The library of
//! etcd's protocol reads the messages themselves.

use super::Input;
use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::listing::{Listing, VALUE_LIMIT, Versioned, address};
use flakeid_core::registry::retired::{self, RetiredRegistry};
use flakeid_core::uniqueid;
use flakeid_formats::etcd::{end_of, id_of, mark_id_of, parse_mark, parse_time, text, time_text};

/// The longest value of retired registries that a server writes.
const RETIRED_LIMIT: usize = 1000;

fn versioned(value: &[u8], revision: u64) -> Versioned {
    Versioned { value: Some(text(value)), revision: revision as i64, lease: 0 }
}

pub fn etcd_values(data: &[u8]) {
    let mut input = Input(data);
    let (etcd, number) = (input.u64(), input.u64());
    let lines: [&[u8]; 6] = std::array::from_fn(|_| input.line());
    for line in lines {
        times(line);
        keys(line);
        identity(&text(line));
    }
    written_time(number);
    retired_registries(&text(lines[0]), &text(lines[1]));
    listing(etcd, number, lines);
}

fn times(value: &[u8]) {
    let time = parse_time(&text(value));
    if let Some(time) = time {
        assert_eq!(parse_time(&time_text(time)), Some(time));
    }
    assert_eq!(parse_mark(value), time.filter(|_| value.len() < VALUE_LIMIT));
}

fn written_time(nanos: u64) {
    let text = time_text(UnixNanos(nanos));
    assert_eq!(parse_time(&text), Some(UnixNanos(nanos)), "{text}");
    assert_eq!(parse_mark(text.as_bytes()), Some(UnixNanos(nanos)), "{text}");
}

fn keys(key: &[u8]) {
    for prefix in ["pool/", "until/", "flakeid/pool/"] {
        let end = end_of(prefix);
        let is_within = prefix.as_bytes() <= key && key < &end[..];
        assert_eq!(is_within, key.starts_with(prefix.as_bytes()), "a range of other keys");
        if let Some(id) = id_of(key, prefix) {
            assert!(is_within && key.ends_with(id.to_string().as_bytes()));
        }
        let own = mark_id_of(key, prefix).map(|id| format!("{prefix}{id}").into_bytes());
        assert!(own.is_none_or(|own| own == key), "the high-water mark of another key");
    }
    // What servers write is read.
    let id = key.iter().fold(0u16, |all, &byte| all.wrapping_mul(31) ^ u16::from(byte));
    assert_eq!(id_of(format!("pool/0:{id}").as_bytes(), "pool/"), Some(id));
    assert_eq!(mark_id_of(format!("until/{id}").as_bytes(), "until/"), Some(id));
}

fn identity(value: &str) {
    let Some(identity) = Identity::parse(value) else { return };
    assert!(identity.id != 0 && !identity.followed.contains(&0));
    assert_eq!(Identity::parse(&identity.to_string()), Some(identity.clone()));
    let next = Identity::new(identity.id ^ 1, [identity.id]);
    let followed = next.follow(identity.id, &identity.followed);
    assert_eq!(followed.id, next.id);
    assert!(!followed.followed.contains(&next.id), "a registry follows itself");
    // A server writes what all servers can read.
    let written = followed.to_string();
    assert!(written.len() < VALUE_LIMIT, "{} bytes", written.len());
    assert_eq!(Identity::parse(&written), Some(followed));
}

fn retired_registries(existing: &str, new: &str) {
    let (existing, new) = (retired::parse(existing), retired::parse(new));
    assert_eq!(retired::parse(&retired::value(&existing)), existing);
    let merged = retired::merged(&existing, new.clone());
    let written = retired::value(&merged);
    assert_eq!(retired::parse(&written), merged, "{written}");
    assert_eq!(retired::merged(&merged, new.clone()), merged, "merged again");
    let names = |all: &[RetiredRegistry]| all.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert!(names(&merged).starts_with(&names(&existing)), "an existing name is gone");
    for registry in existing.iter().chain(&new) {
        // No entry counts again, unless there was no room for it.
        let is_named = merged.iter().any(|merged| merged.name == registry.name);
        let is_old = retired::is_old(&merged, &registry.name, registry.revision);
        assert_eq!(is_old, is_named, "{registry}");
    }
    // A list that a server begins can always be read as a whole.
    let own = retired::merged(&[], new.clone());
    let later = |revision| new.iter().map(move |it| RetiredRegistry { revision, ..it.clone() });
    let own = retired::merged(&own, later(i64::MAX));
    let written = retired::value(&own);
    assert!(written.len() <= RETIRED_LIMIT, "{} bytes: {written}", written.len());
}

fn listing(etcd: u64, revision: u64, lines: [&[u8]; 6]) {
    let [cluster, epoch, stated, id, retired, namespace] = lines;
    let (namespace, epoch_time) = (text(namespace), parse_time(&text(epoch)));
    let listing = Listing {
        etcd,
        cluster: versioned(cluster, revision),
        epoch: versioned(epoch, revision),
        epoch_time,
        address: versioned(stated, revision),
        id: versioned(id, revision),
        retired: versioned(retired, revision),
        ..Listing::default()
    };
    let identity = listing.identity().ok().flatten();
    assert_eq!(listing.authority().registry, identity.as_ref().map_or(0, |it| it.id));
    assert_eq!(listing.name(&namespace).is_ok(), listing.identity().is_ok());
    if let Ok(replaced) = listing.replaced(&namespace) {
        let stated = text(stated);
        assert!(stated.starts_with(&address(etcd, &namespace)) && stated.contains(replaced));
    }
    if let Ok(cluster) = listing.uniqueid_cluster(epoch_time.unwrap_or(UnixNanos(0))) {
        assert!(u64::from(cluster) <= uniqueid::CLUSTER.max() && epoch_time.is_some());
    }
}
