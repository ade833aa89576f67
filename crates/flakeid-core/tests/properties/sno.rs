//! Properties of sno.

use super::{in_range, joined, moments, texts, wild_field};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::generator::Stamp;
use flakeid_core::sno::{self, TickTock};
use proptest::prelude::*;

const BASE32: &[u8; 32] = b"23456789abcdefghijklmnopqrstuvwx";

/// 2010-01-01 00:00 UTC, in seconds since 1970.
const SNO_EPOCH_MICROS: i64 = 1_262_304_000_000_000;

fn sno_id(word: u128) -> sno::Id {
    sno::Id(word.to_be_bytes()[6..].try_into().unwrap())
}

/// Generates time, tick, meta, partition and sequence. Often two values differ in one field only,
/// for tests of the order.
type SnoFields = (u64, u64, u64, u64, u64);

fn sno_fields() -> impl Strategy<Value = SnoFields> {
    let few = (0..3u64, 0..=1u64, 0..2u64, 0..2u64, 0..2u64);
    prop_oneof![few, (0..1u64 << 39, 0..=1u64, 0..1u64 << 8, 0..1u64 << 16, 0..1u64 << 16)]
}

fn sno_of((time, tick, meta, partition, sequence): SnoFields) -> sno::Id {
    let stamp = Stamp::new::<TickTock>(Tick(time), tick == 1);
    sno::Id::pack(stamp, meta, partition, sequence)
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
    fn a_sno_with_another_meta_has_all_else_as_it_was(
        (time, tick, meta, partition, sequence) in sno_fields(), other in wild_field(8),
    ) {
        let changed = sno_of((time, tick, meta, partition, sequence)).with_meta(other);
        match u8::try_from(other) {
            Ok(other) => prop_assert_eq!(
                changed,
                Ok(sno_of((time, tick, other.into(), partition, sequence)))
            ),
            Err(_) => prop_assert_eq!(
                changed,
                Err(Error::FieldOutOfRange { field: "meta", value: other, max: 255 })
            ),
        }
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
    /// its time is not. After the beginning of the last tick `min` is all ones, and before the
    /// first tick `max` is all zeros.
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

    /// A range has no such exception, and is empty if it has no tick.
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
}
