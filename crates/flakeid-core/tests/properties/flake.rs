//! Properties of flake.

use super::{in_range, joined, moments, naive, stripped, texts, wild_field};
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::flake::{self, Epoch, Format, Origin};
use flakeid_core::{Error, base64};
use proptest::prelude::*;

const FORMATS: [Format; 5] =
    [Format::Decimal, Format::Hex, Format::Binary, Format::Base62, Format::Base64];

/// Generates time, datacenter, worker and counter; the time within `bits`.
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

/// Generates a time from which a reader counts: an epoch, near an end of what microseconds count,
/// or anywhere.
fn origin_micros() -> impl Strategy<Value = i64> {
    let ends = [0, 1, 999, 1000, 1001, 1 << 42, 1 << 52];
    let ends = prop::sample::select(ends.to_vec());
    prop_oneof![
        3 => epoch().prop_map(|epoch| epoch.micros().0),
        1 => ends.clone().prop_map(|from| i64::MIN + from),
        1 => ends.prop_map(|from| i64::MAX - from),
        1 => any::<i64>(),
    ]
}

/// Returns when a tick begins that is counted from a time, by numbers that do not overflow.
fn start(origin: i64, tick: u64) -> UnixMicros {
    let origin = match origin {
        i64::MIN => return UnixMicros(i64::MIN),
        micros if micros >= UnixMicros::BEYOND.0 => return UnixMicros(i64::MAX),
        origin => i128::from(origin).div_euclid(1000) * 1000,
    };
    if origin < i128::from(i64::MIN) {
        return UnixMicros(i64::MIN);
    }
    UnixMicros(i64::try_from(origin + i128::from(tick) * 1000).unwrap_or(i64::MAX))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

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
            prop_assert_eq!(id.unwrap().time(epoch.origin()).0, time.0 - time.0.rem_euclid(1000));
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    #[test]
    fn a_signed_flake_is_encoded_in_the_positive_half_alone(
        (epoch, time) in epoch().prop_flat_map(|epoch| {
            (Just(epoch), moments(epoch.micros().0, 1000, 1 << 40, (1 << 41) - 1))
        }),
        datacenter in wild_field(5), worker in wild_field(5), counter in wild_field(12),
    ) {
        let units = (i128::from(time.0) - i128::from(epoch.micros().0)).div_euclid(1000);
        let id = flake::Id::encode_signed(time, datacenter, worker, counter, epoch);
        if (0..1 << 41).contains(&units) {
            prop_assert_eq!(id, flake::Id::encode(time, datacenter, worker, counter, epoch));
            prop_assert!(id.is_err() || id.unwrap().0 as i64 >= 0);
        } else {
            let first = epoch.micros();
            let last = flakeid_core::clock::UnixMicros(first.0 + ((1 << 41) - 1) * 1000);
            prop_assert_eq!(id, Err(Error::TimeOutOfRange { id_type: "flake", time, first, last }));
        }
    }

    /// Flakes sort as the signed numbers that a bigint column holds.
    #[test]
    fn flakes_of_the_positive_half_sort_as_their_fields(
        a in flake_fields(41), b in flake_fields(41)
    ) {
        let [x, y] = [a, b].map(|fields| flake_of(fields).0 as i64);
        prop_assert!(x >= 0 && y >= 0);
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }

    #[test]
    fn a_flake_has_a_time_from_every_origin(fields in flake_fields(42), origin in origin_micros()) {
        let time = flake_of(fields).time(Origin::at(UnixMicros(origin)));
        prop_assert_eq!(time, start(origin, fields.0));
    }

    /// Past the ends the bounds stop at the last positive flake and the first.
    #[test]
    fn the_bounds_of_a_time_part_positive_flakes_exactly_from_every_origin(
        (id, origin, time) in (flake_fields(41), origin_micros()).prop_flat_map(|(fields, origin)| {
            let time = moments(origin, 1000, fields.0, (1 << 41) - 1);
            (Just(flake_of(fields)), Just(Origin::at(UnixMicros(origin))), time)
        }),
    ) {
        let (min, max) = (flake::Id::min(time, origin), flake::Id::max(time, origin));
        let (zeros, ones) = (flake::Id(0), flake::Id(i64::MAX as u64));
        for id in [id, zeros, ones, min, max] {
            prop_assert!(id <= ones);
            let after = id.time(origin) >= time || id == ones;
            let before = id.time(origin) <= time || id == zeros;
            prop_assert_eq!(id >= min, after, "{:?}", id);
            prop_assert_eq!(id <= max, before, "{:?}", id);
        }
    }

    #[test]
    fn a_range_of_time_holds_the_positive_flakes_of_that_time_and_no_other_from_every_origin(
        (id, origin, from, to) in (flake_fields(41), origin_micros()).prop_flat_map(|(fields, origin)| {
            let time = moments(origin, 1000, fields.0, (1 << 41) - 1);
            (Just(flake_of(fields)), Just(Origin::at(UnixMicros(origin))), time.clone(), time)
        }),
    ) {
        let (first, last) = flake::Id::range(from, to, origin);
        for id in [id, first, last, flake::Id(0), flake::Id(i64::MAX as u64)] {
            let inside = from <= id.time(origin) && id.time(origin) <= to;
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
