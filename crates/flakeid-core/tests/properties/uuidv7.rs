//! Properties of uuidv7.

use super::{in_range, joined, moments_of, start, wild_field};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::uuidv7::{END, Id, Parts, SCALE, UNIT, tick_with_fraction};
use proptest::prelude::*;

/// The last millisecond of the layout.
const LAST: u64 = (1 << 48) - 1;

/// Milliseconds, fraction, lane, sequence and random bits.
type Fields = (u64, u64, u64, u64, u64);

/// Generates fields, often two that differ in one of them.
fn fields() -> impl Strategy<Value = Fields> {
    let few = (0..3u64, 0..2u64, 0..2u64, 0..2u64, 0..2u64);
    let time = prop_oneof![0..1u64 << 42, LAST - 2..=LAST, 0..=LAST];
    prop_oneof![few, (time, 0..1u64 << 12, 0..4u64, 0..256u64, 0..1u64 << 52)]
}

fn of((time, fraction, lane, sequence, random): Fields) -> Id {
    Id::pack(Tick(time), fraction, lane, sequence, random)
}

/// Generates UUIDs: uuidv7s, some with another version or variant, and any bytes.
fn uuids() -> impl Strategy<Value = Id> {
    let near = (fields(), 0..16u8, 0..4u8).prop_map(|(fields, version, variant)| {
        let Id(mut bytes) = of(fields);
        bytes[6] = bytes[6] & 0x0f | version << 4;
        bytes[8] = bytes[8] & 0x3f | variant << 6;
        Id(bytes)
    });
    let ends = prop::sample::select(vec![Id([0; 16]), Id([0xff; 16])]);
    prop_oneof![4 => fields().prop_map(of), 2 => near, 1 => any::<[u8; 16]>().prop_map(Id), 1 => ends]
}

/// Generates a UUID and times near that of a uuidv7 that may be its neighbor.
fn with_moments() -> impl Strategy<Value = (Id, UnixMicros, UnixMicros)> {
    (uuids(), fields()).prop_flat_map(|(uuid, fields)| {
        let own = uuid.parts().map_or(fields.0, |parts| parts.time.0);
        let time = moments_of(UNIT, own, LAST);
        (Just(uuid), time.clone(), time)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_uuidv7_is_its_fields_in_a_row_with_version_and_variant_between_them(fields in fields()) {
        let (time, fraction, lane, sequence, random) = fields;
        let word = joined(&[
            (time, 48), (7, 4), (fraction, 12), (2, 2), (lane, 2), (sequence, 8), (random, 52),
        ]);
        let id = of(fields);
        prop_assert_eq!(id.0, word.to_be_bytes());
        prop_assert_eq!(id.parts(), Some(Parts { time: Tick(time), fraction, lane, sequence, random }));
        prop_assert_eq!(id.time(), Some(start(time, UNIT)));
    }

    #[test]
    fn random_bits_beyond_the_field_do_not_count((time, fraction, lane, sequence, random) in fields(), more in 0..1u64 << 10) {
        let id = Id::pack(Tick(time), fraction, lane, sequence, random);
        prop_assert_eq!(Id::pack(Tick(time), fraction, lane, sequence, random | more << 52), id);
    }

    #[test]
    fn a_uuidv7_is_encoded_whenever_all_of_it_fits(
        time in moments_of(UNIT, 1 << 41, LAST), fraction in wild_field(12),
        lane in wild_field(2), sequence in wild_field(8), random in wild_field(52),
    ) {
        let fields = [(fraction, 12), (lane, 2), (sequence, 8), (random, 52)];
        let id = Id::encode(time, fraction, lane, sequence, random);
        if time.0 < 0 || time.0 as u64 / 1000 > LAST {
            let (first, last) = (UnixMicros(0), UnixMicros(LAST as i64 * 1000));
            let error = Error::TimeOutOfRange { id_type: "uuidv7", time, first, last };
            prop_assert_eq!(id, Err(error));
        } else if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let millis = time.0 as u64 / 1000;
            let [fraction, lane, sequence, random] = [fraction, lane, sequence, random].map(|field| field as u64);
            prop_assert_eq!(id, Ok(of((millis, fraction, lane, sequence, random))));
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    /// A clock of whole microseconds gives the same millisecond, and a fraction from which the
    /// microsecond is read back.
    #[test]
    fn a_uuidv7_at_a_time_has_its_microsecond_and_sorts_by_time_and_number(
        micros in 0..LAST as i64 * 1000 + 1000, later in 0..3i64, number in 0..1100u64, other in 0..1100u64,
        random in any::<u64>(),
    ) {
        let later = (micros + later).min(LAST as i64 * 1000 + 999);
        let id = Id::at(UnixMicros(micros), number, random).unwrap();
        let parts = id.parts().unwrap();
        prop_assert_eq!(parts.time, Tick(micros as u64 / 1000));
        prop_assert_eq!(parts.fraction * 1000 / 4096, micros as u64 % 1000);
        prop_assert_eq!((parts.lane << 8 | parts.sequence, parts.random), (number % 1024, random % (1 << 52)));
        let next = Id::at(UnixMicros(later), other, random).unwrap();
        let order = (micros, number % 1024).cmp(&(later, other % 1024));
        prop_assert_eq!(id.cmp(&next), order);
    }

    #[test]
    fn bytes_of_uuidv7s_sort_as_their_fields(a in fields(), b in fields()) {
        prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
    }

    #[test]
    fn only_version_7_of_the_rfc_has_a_time(uuid in uuids()) {
        let is_valid = uuid.0[6] >> 4 == 7 && uuid.0[8] >> 6 == 2;
        prop_assert_eq!(uuid.is_valid(), is_valid);
        prop_assert_eq!((uuid.time().is_some(), uuid.parts().is_some()), (is_valid, is_valid));
    }

    #[test]
    fn the_bounds_of_a_time_part_uuidv7s_exactly((uuid, time, _) in with_moments()) {
        let (min, max) = (Id::min(time), Id::max(time));
        for id in [uuid, min, max, of((0, 0, 0, 0, 0)), of((LAST, 4095, 3, 255, (1 << 52) - 1))] {
            let Some(own) = id.time() else { continue };
            prop_assert_eq!(id >= min, own >= time, "{:?}", id);
            prop_assert_eq!(id <= max, own <= time, "{:?}", id);
        }
    }

    #[test]
    fn a_range_of_time_holds_the_uuidv7s_of_that_time_and_no_other((uuid, from, to) in with_moments()) {
        let (first, last) = Id::range(from, to);
        for id in [uuid, first, last] {
            let Some(own) = id.time() else { continue };
            let inside = from <= own && own <= to;
            prop_assert_eq!(first <= id && id <= last, inside, "{:?}", id);
        }
    }

    /// The order of all uuidv7s is that of the clock, to a fraction.
    #[test]
    fn a_later_nanosecond_never_has_an_earlier_fraction(nanos in 0..u64::MAX - 1000, later in 0..1000u64) {
        let [now, next] = [nanos, nanos + later].map(|nanos| tick_with_fraction(UnixNanos(nanos)).0);
        prop_assert!(now <= next && next - now <= later * 4096 / UNIT + 1);
        prop_assert_eq!((now >> 12, now & 4095), (nanos / UNIT, nanos % UNIT * 4096 / UNIT));
    }
}

/// The generator's last tick is the last one that a clock of 64 bits of nanoseconds reads to its
/// end.
#[test]
fn the_last_tick_of_a_uuidv7_ends_before_the_clock_does() {
    assert!(SCALE.nanos(END).0.checked_add(UNIT).is_some());
    assert!((END.0 + 2).checked_mul(UNIT).is_none());
    assert!(tick_with_fraction(UnixNanos(u64::MAX)).0 >> 12 > END.0);
}
