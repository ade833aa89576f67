#![cfg(not(loom))]
//! What holds for every ID, time and text, against oracles that read bits as strings of digits.

mod naive;

use flakeid_core::base62::{self, Case};
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::flake::{self, Epoch, Format};
use flakeid_core::generator::Stamp;
use flakeid_core::sno::{self, TickTock};
use flakeid_core::{Error, base64};
use proptest::prelude::*;

const BASE32: &[u8; 32] = b"23456789abcdefghijklmnopqrstuvwx";
const FORMATS: [Format; 5] =
    [Format::Decimal, Format::Hex, Format::Binary, Format::Base62, Format::Base64];

/// 2010-01-01 00:00 UTC.
const SNO_EPOCH_MICROS: i64 = 1_262_304_000_000_000;

/// Fields of the widths given, as the bits of one number from the highest to the lowest.
fn joined(fields: &[(u64, usize)]) -> u128 {
    let bits: String = fields.iter().map(|&(value, width)| format!("{value:0width$b}")).collect();
    assert_eq!(bits.len(), fields.iter().map(|field| field.1).sum());
    u128::from_str_radix(&bits, 2).unwrap()
}

fn sno_id(word: u128) -> sno::Id {
    sno::Id(word.to_be_bytes()[6..].try_into().unwrap())
}

/// time, tick, meta, partition, sequence. Often two values that differ in one field, which is what
/// an order is tested on.
type SnoFields = (u64, u64, u64, u64, u64);

fn sno_fields() -> impl Strategy<Value = SnoFields> {
    let few = (0..3u64, 0..=1u64, 0..2u64, 0..2u64, 0..2u64);
    prop_oneof![few, (0..1u64 << 39, 0..=1u64, 0..1u64 << 8, 0..1u64 << 16, 0..1u64 << 16)]
}

fn sno_of((time, tick, meta, partition, sequence): SnoFields) -> sno::Id {
    let stamp = Stamp::new::<TickTock>(Tick(time), tick == 1);
    sno::Id::pack(stamp, meta, partition, sequence)
}

/// time, datacenter, worker, counter; the time within `bits`.
fn flake_fields(bits: u32) -> impl Strategy<Value = (u64, u64, u64, u64)> {
    let few = (0..3u64, 0..2u64, 0..2u64, 0..2u64);
    prop_oneof![few, (0..1u64 << bits, 0..32u64, 0..32u64, 0..4096u64)]
}

fn flake_of((time, datacenter, worker, counter): (u64, u64, u64, u64)) -> flake::Id {
    flake::Id::pack(Tick(time), datacenter * 32 + worker, counter)
}

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![Just(0), Just((1i64 << 42) - 1), 0..1i64 << 42]
        .prop_map(|millis| Epoch::from_millis(millis).unwrap())
}

/// A moment near the beginning of a tick, most often near one that an ID in hand has, at the ends
/// of the format, or anywhere. `unit` is microseconds to a tick.
fn moments(
    epoch: i64,
    unit: i64,
    own: u64,
    last: u64,
) -> impl Strategy<Value = UnixMicros> + Clone {
    let ends = [0, 1, last - 1, last, last + 1];
    let tick = prop_oneof![3 => Just(own), 1 => prop::sample::select(ends.to_vec()), 1 => 0..last];
    let near = (tick, -2..=2i64, -1..=1i64)
        .prop_map(move |(tick, by, ticks)| epoch + (tick as i64 + ticks) * unit + by);
    let ends = vec![i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    prop_oneof![4 => near, 1 => prop::sample::select(ends), 1 => any::<i64>()].prop_map(UnixMicros)
}

/// A field in its range or out of it.
fn wild_field(width: u32) -> impl Strategy<Value = i64> {
    let edges = vec![-1, 0, (1 << width) - 1, 1 << width, i64::MIN, i64::MAX];
    prop_oneof![6 => 0..1i64 << width, 1 => prop::sample::select(edges)]
}

fn in_range(value: i64, width: u32) -> bool {
    (0..1 << width).contains(&value)
}

/// Bytes that are often nearly a text of the alphabet.
fn texts(alphabet: &'static [u8], length: usize) -> impl Strategy<Value = Vec<u8>> {
    let digits = prop::collection::vec(prop::sample::select(alphabet), length);
    let spoilt = (digits.clone(), 0..length, any::<u8>()).prop_map(|(mut text, at, byte)| {
        text[at] = byte;
        text
    });
    let near = prop::collection::vec(prop::sample::select(alphabet), length - 1..=length + 1);
    prop_oneof![digits, spoilt, near, prop::collection::vec(any::<u8>(), 0..80)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_sno_is_its_fields_in_a_row((time, tick, meta, partition, sequence) in sno_fields()) {
        let id = sno_of((time, tick, meta, partition, sequence));
        let word =
            joined(&[(time, 39), (tick, 1), (meta, 8), (partition, 16), (sequence, 16)]);
        prop_assert_eq!(id, sno_id(word));
        prop_assert_eq!(id.word(), word);
        prop_assert_eq!(
            id.parts(),
            sno::Parts { time: Tick(time), tick, meta, partition, sequence }
        );
        prop_assert_eq!(id.time(), UnixMicros(SNO_EPOCH_MICROS + time as i64 * 4000));
    }

    #[test]
    fn a_sno_is_encoded_whenever_all_of_it_fits(
        time in moments(SNO_EPOCH_MICROS, 4000, 1 << 38, (1 << 39) - 1),
        tick in wild_field(1), meta in wild_field(8),
        partition in wild_field(16), sequence in wild_field(16),
    ) {
        let units = (i128::from(time.0) - i128::from(SNO_EPOCH_MICROS)).div_euclid(4000);
        let fields = [(tick, 1), (meta, 8), (partition, 16), (sequence, 16)];
        let id = sno::Id::encode(time, tick, meta, partition, sequence);
        if !(0..1 << 39).contains(&units) {
            let timely = matches!(id, Err(Error::TimeOutOfRange { time: said, .. }) if said == time);
            prop_assert!(timely, "{:?}", id);
        } else if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let [a, b, c, d] = fields.map(|(value, width)| (value as u64, width as usize));
            prop_assert_eq!(id, Ok(sno_id(joined(&[(units as u64, 39), a, b, c, d]))));
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    #[test]
    fn bytes_and_texts_of_snos_sort_as_their_fields(a in sno_fields(), b in sno_fields()) {
        let (x, y) = (sno_of(a), sno_of(b));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x.0.cmp(&y.0), a.cmp(&b));
        prop_assert_eq!(x.text().cmp(&y.text()), a.cmp(&b));
    }

    #[test]
    fn a_sno_text_is_its_bits_five_by_five_and_reads_back(bytes in any::<[u8; 10]>()) {
        let id = sno::Id(bytes);
        let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
        let digit = |i: usize| u8::from_str_radix(&bits[5 * i..5 * i + 5], 2).unwrap();
        let text: [u8; 16] = std::array::from_fn(|i| BASE32[digit(i) as usize]);
        prop_assert_eq!(id.text(), text);
        prop_assert_eq!(sno::Id::from_text(&text), Ok(id));
    }

    #[test]
    fn a_sno_is_read_from_sixteen_of_the_alphabet_alone(text in texts(BASE32, 16)) {
        match sno::Id::from_text(&text) {
            Ok(id) => prop_assert_eq!(&id.text()[..], &text[..]),
            Err(Error::TextLength { expected: 16, found }) => {
                prop_assert!(found == text.len() && found != 16);
            }
            Err(Error::TextCharacter { position }) => {
                let first = text.iter().position(|byte| !BASE32.contains(byte));
                prop_assert_eq!(Some(position), first);
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Past the ends the bounds stop at the last and the first ID, so that one is inside although
    /// its time is not: after the last tick's beginning `min` is all ones, before the first `max`
    /// is all zeros.
    #[test]
    fn the_bounds_of_a_time_part_snos_exactly(
        (id, time) in sno_fields().prop_flat_map(|fields| {
            let time = moments(SNO_EPOCH_MICROS, 4000, fields.0, (1 << 39) - 1);
            (Just(sno_of(fields)), time)
        }),
    ) {
        let (zeros, ones) = (sno_id(0), sno_id(u128::MAX >> 48));
        for id in [id, zeros, ones, sno::Id::min(time), sno::Id::max(time)] {
            let after = id.time() >= time || id == ones;
            let before = id.time() <= time || id == zeros;
            prop_assert_eq!(id >= sno::Id::min(time), after, "{:?}", id);
            prop_assert_eq!(id <= sno::Id::max(time), before, "{:?}", id);
        }
    }

    /// A range has no such exception, and is empty where it has no tick.
    #[test]
    fn a_range_of_time_holds_the_snos_of_that_time_and_no_other(
        (id, from, to) in sno_fields().prop_flat_map(|fields| {
            let time = moments(SNO_EPOCH_MICROS, 4000, fields.0, (1 << 39) - 1);
            (Just(sno_of(fields)), time.clone(), time)
        }),
    ) {
        let (first, last) = sno::Id::range(from, to);
        for id in [id, first, last, sno_id(0), sno_id(u128::MAX >> 48)] {
            let inside = from <= id.time() && id.time() <= to;
            prop_assert_eq!(first <= id && id <= last, inside, "{:?}", id);
        }
    }

    #[test]
    fn a_flake_is_its_fields_in_a_row((time, datacenter, worker, counter) in flake_fields(42)) {
        let id = flake_of((time, datacenter, worker, counter));
        let word = joined(&[(time, 42), (datacenter, 5), (worker, 5), (counter, 12)]);
        prop_assert_eq!(u128::from(id.0), word);
        let parts = flake::Parts { tick: Tick(time), datacenter, worker, counter };
        prop_assert_eq!(id.parts(), parts);
    }

    #[test]
    fn a_flake_is_encoded_whenever_all_of_it_fits(
        (epoch, time) in epoch().prop_flat_map(|epoch| {
            (Just(epoch), moments(epoch.micros().0, 1000, 1 << 41, (1 << 42) - 1))
        }),
        datacenter in wild_field(5), worker in wild_field(5), counter in wild_field(12),
    ) {
        let units = (i128::from(time.0) - i128::from(epoch.micros().0)).div_euclid(1000);
        let fields = [(datacenter, 5), (worker, 5), (counter, 12)];
        let id = flake::Id::encode(time, datacenter, worker, counter, epoch);
        if !(0..1 << 42).contains(&units) {
            let timely = matches!(id, Err(Error::TimeOutOfRange { time: said, .. }) if said == time);
            prop_assert!(timely, "{:?}", id);
        } else if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let [a, b, c] = fields.map(|(value, width)| (value as u64, width as usize));
            let word = joined(&[(units as u64, 42), a, b, c]);
            prop_assert_eq!(id, Ok(flake::Id(word as u64)));
            prop_assert_eq!(id.unwrap().time(epoch).0, time.0 - time.0.rem_euclid(1000));
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    /// As the signed numbers that a bigint column holds.
    #[test]
    fn flakes_of_the_positive_half_sort_as_their_fields(
        a in flake_fields(41), b in flake_fields(41)
    ) {
        let [x, y] = [a, b].map(|fields| flake_of(fields).0 as i64);
        prop_assert!(x >= 0 && y >= 0);
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }

    /// As for sno, with the last positive flake in place of the last of all.
    #[test]
    fn the_bounds_of_a_time_part_positive_flakes_exactly(
        (id, epoch, time) in (flake_fields(41), epoch()).prop_flat_map(|(fields, epoch)| {
            let time = moments(epoch.micros().0, 1000, fields.0, (1 << 41) - 1);
            (Just(flake_of(fields)), Just(epoch), time)
        }),
    ) {
        let (min, max) = (flake::Id::min(time, epoch), flake::Id::max(time, epoch));
        let (zeros, ones) = (flake::Id(0), flake::Id(i64::MAX as u64));
        for id in [id, zeros, ones, min, max] {
            prop_assert!(id <= ones);
            let after = id.time(epoch) >= time || id == ones;
            let before = id.time(epoch) <= time || id == zeros;
            prop_assert_eq!(id >= min, after, "{:?}", id);
            prop_assert_eq!(id <= max, before, "{:?}", id);
        }
    }

    #[test]
    fn a_range_of_time_holds_the_positive_flakes_of_that_time_and_no_other(
        (id, epoch, from, to) in (flake_fields(41), epoch()).prop_flat_map(|(fields, epoch)| {
            let time = moments(epoch.micros().0, 1000, fields.0, (1 << 41) - 1);
            (Just(flake_of(fields)), Just(epoch), time.clone(), time)
        }),
    ) {
        let (first, last) = flake::Id::range(from, to, epoch);
        for id in [id, first, last, flake::Id(0), flake::Id(i64::MAX as u64)] {
            let inside = from <= id.time(epoch) && id.time(epoch) <= to;
            prop_assert_eq!(first <= id && id <= last, inside, "{:?}", id);
        }
    }

    #[test]
    fn every_text_of_a_flake_is_its_number_in_that_base_and_reads_back(
        word in prop_oneof![any::<u64>(), 0..300u64, Just(u64::MAX)]
    ) {
        let texts = [
            word.to_string(), format!("{word:x}"), format!("{word:b}"),
            naive::in_base(u128::from(word), 62), naive::base64(&word.to_le_bytes()),
        ];
        for (format, text) in FORMATS.into_iter().zip(texts) {
            prop_assert_eq!(&format.write(flake::Id(word), str::to_owned), &text);
            prop_assert_eq!(format.read(text.as_bytes()), Ok(flake::Id(word)));
        }
        let upper = format!("000{word:X}");
        prop_assert_eq!(Format::Hex.read(upper.as_bytes()), Ok(flake::Id(word)));
        let bytes = word.to_be_bytes();
        let text = naive::base64(&bytes);
        prop_assert_eq!(text.as_bytes(), base64::encode(bytes));
        prop_assert_eq!(base64::decode(text.as_bytes()), Ok(bytes));
    }

    #[test]
    fn a_text_that_is_read_as_a_flake_is_the_one_it_is_written_as(
        text in prop_oneof![
            texts(b"01", 64), texts(b"0123456789", 20), texts(b"0123456789abcdefABCDEF", 16),
            texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11),
            texts(b"AEIMQUYcgkosw048AEIMQUYcgkosw048Bb+/=", 12),
            any::<u64>().prop_map(|word| naive::base64(&word.to_le_bytes()).into_bytes()),
        ]
    ) {
        for format in FORMATS {
            let Ok(id) = format.read(&text) else { continue };
            let text = String::from_utf8(text.clone()).unwrap();
            let text = match format {
                Format::Base64 => text,
                Format::Hex => stripped(&text).to_lowercase(),
                _ => stripped(&text).to_owned(),
            };
            prop_assert_eq!(format.write(id, str::to_owned), text, "{:?}", format);
        }
    }

    #[test]
    fn a_number_is_written_in_every_base_as_by_hand_and_reads_back(
        number in prop_oneof![any::<u128>(), any::<u64>().prop_map(u128::from), Just(u128::MAX)],
        base in 2..=62u32,
    ) {
        let text = base62::encode(number, base);
        prop_assert_eq!(text.as_str(), naive::in_base(number, base as usize));
        let read = |text: &[u8], case| base62::decode(text, base, case, 128);
        prop_assert_eq!(read(text.as_str().as_bytes(), Case::Sensitive), Ok(number));
        if base <= 36 {
            let mut lower = text;
            lower.make_ascii_lowercase();
            prop_assert_eq!(lower.as_str(), text.as_str().to_lowercase());
            prop_assert_eq!(read(lower.as_str().as_bytes(), Case::Either), Ok(number));
        }
    }

    #[test]
    fn digits_of_every_base_are_read_as_by_hand_or_refused_for_what_is_wrong(
        text in prop_oneof![texts(b"01aZ", 9), texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 20)],
        zeros in 0..150usize, base in 2..=62u32, bits in 1..=128u32, either in any::<bool>(),
    ) {
        let text = ["0".repeat(zeros).into_bytes(), text].concat();
        let case = if either && base <= 36 { Case::Either } else { Case::Sensitive };
        let upper = |byte: u8| if case == Case::Either { byte.to_ascii_uppercase() } else { byte };
        let text_in_case: Vec<u8> = text.iter().copied().map(upper).collect();
        let spoilt = (0..text.len()).find(|&i| naive::bits(&text_in_case[..=i], base).is_none());
        let good = &text_in_case[..spoilt.unwrap_or(text.len())];
        let fits = naive::bits(good, base).unwrap().len() <= bits as usize;
        match base62::decode(&text, base, case, bits) {
            Ok(number) => {
                prop_assert!(spoilt.is_none() && fits && !text.is_empty());
                let read: Vec<bool> = (0..128).map(|i| number >> i & 1 == 1).collect();
                let expected = naive::bits(good, base).unwrap();
                let (low, high) = read.split_at(expected.len());
                prop_assert!(low == expected && !high.contains(&true));
            }
            Err(Error::TextEmpty) => prop_assert!(text.is_empty()),
            Err(Error::TextCharacter { position }) => {
                prop_assert!(fits && spoilt == Some(position));
            }
            Err(error) => {
                prop_assert_eq!(error, Error::TextOverflow { bits });
                prop_assert!(!fits);
            }
        }
    }
}

/// Eleven digits of six bits are two bits more than an ID has.
#[test]
fn a_base64_text_with_bits_past_the_last_is_refused() {
    let text = |last| format!("AAAAAAAAAA{last}=");
    let read = |last: &char| Format::Base64.read(text(*last).as_bytes()).is_ok();
    let digits = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']);
    let good: String = digits.filter(read).collect();
    assert_eq!(good, "AEIMQUYcgkosw048");
    assert_eq!(Format::Base64.read(text('B').as_bytes()), Err(Error::TextTrailingBits));
}

fn stripped(text: &str) -> &str {
    match text.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    }
}
