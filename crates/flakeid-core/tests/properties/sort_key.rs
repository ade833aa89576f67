//! Properties of sort keys: they never contradict the order of the IDs, and they distinguish the
//! IDs of one table.

use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::generator::Stamp;
use flakeid_core::guid::{self, Drift, Parts};
use flakeid_core::sno::{self, TickTock};
use flakeid_core::{flake128, sort_key};
use proptest::prelude::*;
use std::fmt::Debug;

/// Generates a number of so many bits, and two others that differ from it in any number of bits or
/// are not related to it.
fn words(bits: u32) -> impl Strategy<Value = (u128, u128, u128)> {
    let mask = u128::MAX >> (128 - bits);
    let edges = prop::sample::select(vec![0, 1, mask / 2, mask / 2 + 1, mask]);
    let any_word = prop_oneof![3 => any::<u128>(), 1 => edges].prop_map(move |word| word & mask);
    let step = (0..=bits, any::<u128>(), any::<bool>()).prop_map(|(bits, digits, down)| {
        let far = digits.checked_shr(128 - bits).unwrap_or(0);
        if down { far.wrapping_neg() } else { far }
    });
    let other = prop_oneof![
        4 => step.prop_map(Ok),
        1 => (0..bits).prop_map(|bit| Ok(1 << bit)),
        1 => any_word.clone().prop_map(Err),
    ];
    (any_word, other.clone(), other).prop_map(move |(word, a, b)| {
        let from = |start: u128, other| match other {
            Ok(step) => start.wrapping_add(step) & mask,
            Err(word) => word,
        };
        // The second differs from the first as often as from the reference, since those two are
        // compared.
        let near = from(word, a);
        (word, near, from(if a.is_ok() { near } else { word }, b))
    })
}

fn in_order<T: Ord + Copy + Debug>(key: impl Fn(T, T) -> u64, reference: T, a: T, b: T) {
    let (low, high) = (a.min(b), a.max(b));
    let keys = (key(low, reference), key(high, reference));
    assert!(keys.0 <= keys.1, "{low:?} before {high:?}, but {keys:?} as seen from {reference:?}");
}

/// Returns how many different keys the IDs have, as seen from some of them.
fn fewest_keys<T: Copy>(ids: &[T], key: impl Fn(T, T) -> u64, references: &[usize]) -> usize {
    let count = |&reference: &usize| {
        let mut keys: Vec<u64> = ids.iter().map(|&id| key(id, ids[reference])).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    references.iter().map(count).min().unwrap()
}

fn sno_id(word: u128) -> sno::Id {
    sno::Id(word.to_be_bytes()[6..].try_into().unwrap())
}

fn guid_id(word: u128) -> guid::Id {
    guid::Id(word.to_be_bytes()[4..].try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 20_000, ..Default::default() })]

    #[test]
    fn a_key_of_any_number_never_contradicts_the_order((reference, a, b) in words(128)) {
        in_order(sort_key::near, reference, a, b);
    }

    #[test]
    fn numbers_close_to_the_reference_have_keys_of_their_own(
        (reference, a, _) in words(128), step in 1..1u64 << 40
    ) {
        let b = a.saturating_add(step.into());
        if a.abs_diff(reference) < 1 << 57 && b.abs_diff(reference) < 1 << 57 && a != b {
            prop_assert!(sort_key::near(a, reference) < sort_key::near(b, reference));
        }
    }

    #[test]
    fn a_snos_key_never_contradicts_the_order((reference, a, b) in words(80)) {
        in_order(sno::Id::sort_key, sno_id(reference), sno_id(a), sno_id(b));
    }

    #[test]
    fn a_flake128s_key_never_contradicts_the_order((reference, a, b) in words(128)) {
        let id = flake128::Id::from_word;
        in_order(flake128::Id::sort_key, id(reference), id(a), id(b));
    }

    /// Numbers that differ anywhere have every drift, node and order of the two.
    #[test]
    fn a_guids_key_never_contradicts_the_order((reference, a, b) in words(96)) {
        in_order(guid::Id::sort_key, guid_id(reference), guid_id(a), guid_id(b));
    }
}

/// The time 2026-11-21.
const NOW: i64 = 1_795_219_200_000_000;
const SECOND: i64 = 1_000_000;

#[test]
fn snos_of_a_second_have_keys_of_their_own() {
    let tick = |i: u64| Tick((NOW as u64 / 4000) - 1_262_304_000_000 / 4 + i);
    let ids: Vec<_> = (0..250)
        .flat_map(|i| (0..8u64).flat_map(move |p| (0..500u64).map(move |s| (i, p, s))))
        .map(|(i, p, s)| sno::Id::pack(Stamp::new::<TickTock>(tick(i), false), 1, p, s))
        .collect();
    assert_eq!(fewest_keys(&ids, sno::Id::sort_key, &[0, 500_000, ids.len() - 1]), ids.len());
}

#[test]
fn flake128s_of_one_worker_have_keys_of_their_own_within_a_year() {
    let id = |i: i64| {
        let time = UnixMicros(NOW + i / 1000 * 31_536 * SECOND);
        flake128::Id::encode(time, 0x0242_ac11_0002, i % 1000).unwrap()
    };
    let ids: Vec<_> = (0..1_000_000).map(id).collect();
    assert_eq!(fewest_keys(&ids, flake128::Id::sort_key, &[0, 500_000, 999_999]), ids.len());
}

#[test]
fn guids_of_one_node_have_keys_of_their_own_within_a_month() {
    let scale = guid::SCALE.locate(UnixMicros(NOW));
    let flakeid_core::clock::TickPosition::At(now) = scale else { panic!("{scale:?}") };
    for drift in 0..8 {
        let drift = Drift::from_code(drift).unwrap();
        let id = |i: u64| {
            let time = Tick(now.0 + i / 1000 * 19_775_391);
            guid::Id::pack(Parts { drift, time, node: 0xdead_beef, sequence: i % 1000 })
        };
        let ids: Vec<_> = (0..1_000_000).map(id).collect();
        assert_eq!(fewest_keys(&ids, guid::Id::sort_key, &[0, 999_999]), ids.len(), "{drift:?}");
    }
}
