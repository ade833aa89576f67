#![cfg(not(loom))]
//! Properties of every ID, time and text, against oracles that read bits as strings of digits.

mod conversion;
mod flake;
mod flake128;
mod guid;
#[path = "../naive/mod.rs"]
mod naive;
mod numerals;
mod sno;
mod sort_key;
mod uniqueid;
mod uuidv7;

use flakeid_core::clock::UnixMicros;
use proptest::prelude::*;

/// Returns fields of the given widths as the bits of one number, from the highest to the lowest.
fn joined(fields: &[(u64, usize)]) -> u128 {
    let bits: String = fields.iter().map(|&(value, width)| format!("{value:0width$b}")).collect();
    assert_eq!(bits.len(), fields.iter().map(|field| field.1).sum());
    u128::from_str_radix(&bits, 2).unwrap()
}

/// Generates a time near the beginning of a tick: mostly near one that an ID of the test has, at
/// the ends of the layout, or anywhere. `unit` is microseconds to a tick.
fn moments(
    epoch: i64,
    unit: i64,
    own: u64,
    last: u64,
) -> impl Strategy<Value = UnixMicros> + Clone {
    let ends = [0, 1, last - 1, last, last + 1];
    let tick = prop_oneof![3 => Just(own), 1 => prop::sample::select(ends.to_vec()), 1 => 0..last];
    let near = (tick, -2..=2i64, -1..=1i64)
        .prop_map(move |(tick, by, ticks)| epoch.saturating_add((tick as i64 + ticks) * unit + by));
    let ends = vec![i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    prop_oneof![4 => near, 1 => prop::sample::select(ends), 1 => any::<i64>()].prop_map(UnixMicros)
}

/// Returns when a tick of this many nanoseconds begins, cut to the microsecond; infinity if that is
/// more than microseconds can count.
fn start(tick: u64, nanos: u64) -> UnixMicros {
    let micros = u128::from(tick) * u128::from(nanos) / 1000;
    UnixMicros(i64::try_from(micros).unwrap_or(i64::MAX))
}

/// Generates times for ticks of any length since 1970, to the end of what microseconds can count.
fn moments_of(nanos: u64, own: u64, last: u64) -> impl Strategy<Value = UnixMicros> + Clone {
    let ends = [0, 1, last - 1, last, i64::MAX as u64 / (nanos / 1000) / 1000 * 1000];
    let tick = prop_oneof![3 => Just(own), 1 => prop::sample::select(ends.to_vec()), 1 => 0..last];
    let near = (tick, -2..=2i64, -1..=1i64).prop_map(move |(tick, by, ticks)| {
        start(tick, nanos).0.saturating_add(by).saturating_add(ticks * (nanos / 1000) as i64)
    });
    let ends = vec![i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    prop_oneof![4 => near, 1 => prop::sample::select(ends), 1 => any::<i64>()].prop_map(UnixMicros)
}

/// Generates a field in its range or outside it.
fn wild_field(width: u32) -> impl Strategy<Value = i64> {
    let edges = vec![-1, 0, (1 << width) - 1, 1 << width, i64::MIN, i64::MAX];
    prop_oneof![6 => 0..1i64 << width, 1 => prop::sample::select(edges)]
}

fn in_range(value: i64, width: u32) -> bool {
    (0..1 << width).contains(&value)
}

/// Generates bytes that are often nearly a text of the alphabet.
fn texts(alphabet: &'static [u8], length: usize) -> impl Strategy<Value = Vec<u8>> {
    let digits = prop::collection::vec(prop::sample::select(alphabet), length);
    let spoilt = (digits.clone(), 0..length, any::<u8>()).prop_map(|(mut text, at, byte)| {
        text[at] = byte;
        text
    });
    let near = prop::collection::vec(prop::sample::select(alphabet), length - 1..=length + 1);
    prop_oneof![digits, spoilt, near, prop::collection::vec(any::<u8>(), 0..80)]
}

fn stripped(text: &str) -> &str {
    match text.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    }
}
