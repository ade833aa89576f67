#![cfg(not(loom))]
//! The settings of a server's generator IDs and of sno's sequence, against a naive parser that
//! allocates.

use flakeid_core::generator_ids::GeneratorIdSource;
use flakeid_core::sno::parse_slice;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Reads a number of digits alone, with any number of leading zeros; `None` above the largest ID.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let significant = text.trim_start_matches('0');
    let number = || format!("0{significant}").parse().ok().filter(|&number| number <= 65535);
    if digits && significant.len() <= 5 { number() } else { None }
}

/// The IDs, ascending, or the number of leased ones, or neither.
#[derive(Debug, PartialEq)]
enum Naive {
    Ids(Vec<u64>),
    Leased(u64),
    Unassigned,
}

/// Reads a setting; `None` if it is refused.
fn naive(setting: &str, host: &str) -> Option<Naive> {
    if setting.split_whitespace().eq(["none"]) {
        return Some(Naive::Unassigned);
    }
    if let [source, count @ ..] = &setting.split(':').collect::<Vec<_>>()[..]
        && !count.is_empty()
    {
        let count = number(&count.join(":")).filter(|count| (1..=64).contains(count))?;
        if source.trim() == "etcd" {
            return Some(Naive::Leased(count));
        }
        let name: Vec<char> = host.chars().take_while(|&c| c != '.').collect();
        let ends = name.iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let ordinal: String = name[name.len() - ends..].iter().collect();
        let first = number(&ordinal)? * count;
        let ids = (first..first + count).collect();
        let fits = first + count <= 65536;
        return (source.trim() == "hostname" && fits).then_some(Naive::Ids(ids));
    }
    let mut ids = Vec::new();
    for item in setting.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        ids.extend(first..=last);
    }
    let sorted: BTreeSet<u64> = ids.iter().copied().collect();
    let fits = sorted.len() == ids.len() && ids.len() <= 64;
    fits.then(|| Naive::Ids(sorted.into_iter().collect()))
}

/// Generates settings from their parts, in any order and mostly in a valid one.
fn settings() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        8 => (0..90u32).prop_map(|n| n.to_string()),
        2 => (65500..65540u32).prop_map(|n| n.to_string()),
        1 => "0{0,9}[0-9]{0,6}",
    ];
    let range = (0..65600u32, -1..66i64)
        .prop_map(|(first, more)| format!("{first}-{}", i64::from(first) + more));
    let item = prop_oneof![3 => number.clone(), 2 => range, 1 => "[0-9 +.-]{0,6}"];
    let list = prop::collection::vec(item, 1..6).prop_map(|items| items.join(","));
    let count =
        prop_oneof![number, prop::sample::select(vec!["1", "8", "64"]).prop_map(str::to_owned)];
    let host = (prop::sample::select(vec!["hostname", "etcd", " etcd "]), count)
        .prop_map(|(source, count)| format!("{source}:{count}"));
    let pieces = prop::sample::select(vec![
        "hostname", "etcd", "none", ":", "-", ",", "0", "17", "65535", " ",
    ]);
    let jumble = prop::collection::vec(pieces, 0..9).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => list, 2 => host, 2 => jumble, 1 => any::<String>()]
}

/// Generates host names that end in a number, sometimes in one whose IDs are the last possible.
fn hosts() -> impl Strategy<Value = String> {
    let edges = vec!["n1023", "n1024", "n-8191.db", "n-8192.db", "65535", "65536"];
    let edge = prop::sample::select(edges).prop_map(str::to_owned);
    prop_oneof![edge, "[a-z]{0,3}-?[0-9]{0,6}(\\.[a-z0-9]{1,4}){0,2}", any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn a_setting_gives_the_ids_that_the_naive_parser_gives_or_is_refused_by_both(
        setting in settings(), host in hosts()
    ) {
        let owned = GeneratorIdSource::parse(&setting, || &host).ok().map(|owned| match owned {
            GeneratorIdSource::Fixed(ids) => Naive::Ids(ids.as_slice().iter().map(|&id| id.into()).collect()),
            GeneratorIdSource::Leased(count) => Naive::Leased(count as u64),
            GeneratorIdSource::Unassigned => Naive::Unassigned,
        });
        prop_assert_eq!(owned, naive(&setting, &host));
    }

    #[test]
    fn a_slice_is_what_the_naive_parser_gives_or_refused_by_both(setting in settings()) {
        let numbers: Vec<Option<u64>> = setting.splitn(2, '-').map(number).collect();
        let naive = match numbers[..] {
            [Some(first), Some(last)] if last >= first + 3 => Some((first as u32, last as u32)),
            _ => None,
        };
        prop_assert_eq!(parse_slice(&setting).ok(), naive);
    }
}
