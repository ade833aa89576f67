//! Properties of uniqueid.

use super::{in_range, joined, moments_of, start, texts, wild_field};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::uniqueid::{Id, Mode, Parts, UNIT};
use proptest::prelude::*;

const LAST: u64 = (1 << 42) - 1;

/// Time, sequence, generator ID and uniqueid cluster: the order of the mode TIME_SEQUENTIAL.
type Fields = (u64, u64, u64, u64);

/// Generates fields, often two that differ in one of them. Generator IDs are often on either side
/// of the place where their bits are cut.
fn fields() -> impl Strategy<Value = Fields> {
    let generator = prop_oneof![0..3u64, 254..258u64, 2046..2048u64];
    let few = (0..3u64, 0..2u64, generator, 0..2u64);
    prop_oneof![few, (0..=LAST, 0..64u64, 0..2048u64, 0..16u64)]
}

fn of((time, sequence, generator, cluster): Fields, mode: Mode) -> Id {
    Id::pack(Parts { time: Tick(time), sequence, generator, cluster, mode })
}

fn modes() -> impl Strategy<Value = Mode> {
    prop::sample::select(&Mode::ALL[..])
}

fn sequential(fields: Fields) -> Id {
    of(fields, Mode::TimeSequential)
}

/// Generates an ID of the mode TIME_SEQUENTIAL and times near its own.
fn with_moments() -> impl Strategy<Value = (Id, UnixMicros, UnixMicros)> {
    fields().prop_flat_map(|fields| {
        let time = moments_of(UNIT, fields.0, LAST);
        (Just(sequential(fields)), time.clone(), time)
    })
}

/// Returns the smallest and the largest ID of the mode TIME_SEQUENTIAL.
fn ends() -> (Id, Id) {
    (sequential((0, 0, 0, 0)), sequential((LAST, 63, 2047, 15)))
}

fn turned(time: u64) -> u64 {
    let bits: String = format!("{time:042b}").chars().rev().collect();
    u64::from_str_radix(&bits, 2).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_uniqueid_is_its_fields_in_a_row_but_for_the_generator(
        fields in fields(), mode in modes()
    ) {
        let (time, sequence, generator, cluster) = fields;
        let id = of(fields, mode);
        let (stored, bit) = match mode {
            Mode::Spread => (turned(time), 0),
            Mode::TimeSequential => (time, 1),
        };
        let word = joined(&[
            (stored, 42), (sequence, 6), (generator / 256, 3), (bit, 1), (generator % 256, 8),
            (cluster, 4),
        ]);
        prop_assert_eq!(u128::from(id.0), word);
        let parts = Parts { time: Tick(time), sequence, generator, cluster, mode };
        prop_assert_eq!((id.parts(), id.mode()), (parts, mode));
        prop_assert_eq!(id.time(), start(time, UNIT));
    }

    /// Every number is an ID.
    #[test]
    fn a_uniqueid_of_any_bits_is_that_of_its_parts(word in any::<u64>()) {
        prop_assert_eq!(Id::pack(Id(word).parts()), Id(word));
    }

    #[test]
    fn a_uniqueid_is_encoded_whenever_all_of_it_fits(
        time in moments_of(UNIT, 1 << 41, LAST), sequence in wild_field(6),
        generator in wild_field(11), cluster in wild_field(4), mode in modes(),
    ) {
        let fields = [(sequence, 6), (generator, 11), (cluster, 4)];
        let id = Id::encode(time, sequence, generator, cluster, mode);
        if !(0..(1 << 42) * 1000).contains(&time.0) {
            let (first, last) = (UnixMicros(0), UnixMicros(LAST as i64 * 1000));
            let error = Error::TimeOutOfRange { id_type: "uniqueid", time, first, last };
            prop_assert_eq!(id, Err(error));
        } else if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let [sequence, generator, cluster] = fields.map(|field| field.0 as u64);
            let fields = (time.0 as u64 / 1000, sequence, generator, cluster);
            prop_assert_eq!(id, Ok(of(fields, mode)));
            prop_assert_eq!(id.unwrap().time().0, time.0 - time.0 % 1000);
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    #[test]
    fn uniqueids_and_their_texts_sort_as_their_fields_as_the_mode_stores_the_time(
        a in fields(), b in fields()
    ) {
        let (x, y) = (sequential(a), sequential(b));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x.0.to_be_bytes().cmp(&y.0.to_be_bytes()), a.cmp(&b));
        prop_assert_eq!(x.text().cmp(&y.text()), a.cmp(&b));
        let (x, y) = (of(a, Mode::Spread), of(b, Mode::Spread));
        let stored = |(time, sequence, generator, cluster)| {
            (turned(time), sequence, generator, cluster)
        };
        prop_assert_eq!(x.cmp(&y), stored(a).cmp(&stored(b)));
        prop_assert_eq!(x.text().cmp(&y.text()), stored(a).cmp(&stored(b)));
    }

    #[test]
    fn a_uniqueid_text_is_its_number_in_sixteen_digits_and_reads_back(word in any::<u64>()) {
        let text = format!("{word:016x}");
        prop_assert_eq!(&Id(word).text()[..], text.as_bytes());
        prop_assert_eq!(Id::from_text(text.as_bytes()), Ok(Id(word)));
        prop_assert_eq!(Id::from_text(text.to_uppercase().as_bytes()), Ok(Id(word)));
    }

    #[test]
    fn a_uniqueid_is_read_from_sixteen_hexadecimal_digits_alone(
        text in texts(b"0123456789abcdefABCDEF", 16)
    ) {
        match Id::from_text(&text) {
            Ok(id) => prop_assert_eq!(&id.text()[..], text.to_ascii_lowercase()),
            Err(Error::TextLength { expected: 16, found }) => {
                prop_assert!(found == text.len() && found != 16);
            }
            Err(Error::TextCharacter { position }) => {
                let first = text.iter().position(|byte| !byte.is_ascii_hexdigit());
                prop_assert_eq!(Some(position), first);
                prop_assert_eq!(text.len(), 16);
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Past the ends the bounds stop at the last and the first ID of the mode.
    #[test]
    fn the_bounds_of_a_time_part_uniqueids_exactly((id, time, _) in with_moments()) {
        let (min, max, (zero, ones)) = (Id::min(time), Id::max(time), ends());
        for id in [id, zero, ones, min, max] {
            prop_assert_eq!(id.mode(), Mode::TimeSequential);
            let after = id.time() >= time || id == ones;
            let before = id.time() <= time || id == zero;
            prop_assert_eq!(id >= min, after, "{:?}", id);
            prop_assert_eq!(id <= max, before, "{:?}", id);
        }
    }

    #[test]
    fn a_range_of_time_holds_the_uniqueids_of_that_time_and_no_other(
        (id, from, to) in with_moments(),
    ) {
        let ((first, last), (zero, ones)) = (Id::range(from, to), ends());
        for id in [id, first, last, zero, ones] {
            prop_assert_eq!(id.mode(), Mode::TimeSequential);
            let inside = from <= id.time() && id.time() <= to;
            prop_assert_eq!(first <= id && id <= last, inside, "{:?}", id);
        }
    }
}

#[test]
fn the_modes_have_names() {
    assert_eq!(Mode::ALL.map(Mode::name), ["spread", "time_sequential"]);
}
