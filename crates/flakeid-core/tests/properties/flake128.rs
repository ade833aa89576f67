//! Properties of flake128.

use super::{in_range, joined, moments_of, naive, start, stripped, texts, wild_field};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::flake128::{END, Id, Parts, SCALE, UNIT};
use proptest::prelude::*;

/// Time, worker and sequence.
type Fields = (u64, u64, u64);

/// Generates fields, often two that differ in one of them, and times at the end of the calendar and
/// beyond it.
fn fields() -> impl Strategy<Value = Fields> {
    let few = (0..3u64, 0..2u64, 0..2u64);
    let calendar = i64::MAX as u64 / 1000;
    let time = prop_oneof![
        0..1u64 << 43,
        calendar - 2..calendar + 3,
        u64::MAX - 2..=u64::MAX,
        any::<u64>()
    ];
    prop_oneof![few, (time, 0..1u64 << 48, 0..1u64 << 16)]
}

fn of((time, worker, sequence): Fields) -> Id {
    Id::pack(Tick(time), worker, sequence)
}

/// Generates an ID and times near its own.
fn with_moments() -> impl Strategy<Value = (Id, UnixMicros, UnixMicros)> {
    fields().prop_flat_map(|fields| {
        let time = moments_of(UNIT, fields.0, u64::MAX);
        (Just(of(fields)), time.clone(), time)
    })
}

const ZEROS: Id = Id([0; 16]);
const ONES: Id = Id([0xff; 16]);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_flake128_is_its_fields_in_a_row((time, worker, sequence) in fields()) {
        let id = of((time, worker, sequence));
        let word = joined(&[(time, 64), (worker, 48), (sequence, 16)]);
        prop_assert_eq!((id.word(), id.0), (word, word.to_be_bytes()));
        prop_assert_eq!(Id::from_word(word), id);
        prop_assert_eq!(id.parts(), Parts { time: Tick(time), worker, sequence });
        prop_assert_eq!(id.time(), start(time, UNIT));
    }

    #[test]
    fn a_flake128_is_encoded_whenever_all_of_it_fits(
        time in moments_of(UNIT, 1 << 41, u64::MAX), worker in wild_field(48),
        sequence in wild_field(16),
    ) {
        let fields = [(worker, 48), (sequence, 16)];
        let id = Id::encode(time, worker, sequence);
        if time.0 < 0 || time >= UnixMicros::BEYOND {
            let (first, last) = (UnixMicros(0), UnixMicros(i64::MAX - 2));
            let error = Error::TimeOutOfRange { id_type: "flake128", time, first, last };
            prop_assert_eq!(id, Err(error));
        } else if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let id = id.unwrap();
            prop_assert_eq!(id, of((time.0 as u64 / 1000, worker as u64, sequence as u64)));
            prop_assert_eq!(id.time().0, time.0 - time.0 % 1000);
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
    }

    #[test]
    fn bytes_of_flake128s_sort_as_their_fields_and_so_do_texts_of_one_length(
        a in fields(), b in fields(), base in 2..=62u32,
    ) {
        let (x, y) = (of(a), of(b));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x.0.cmp(&y.0), a.cmp(&b));
        let (text, other) = (x.text(base), y.text(base));
        let (text, other) = (text.as_str(), other.as_str());
        prop_assert_eq!((text.len(), text).cmp(&(other.len(), other)), a.cmp(&b));
    }

    /// Texts have 18 digits from 1975-01-29 to 2284-10-19, the milliseconds whose numbers all lie
    /// from 62^17 to 62^18.
    #[test]
    fn a_flake128_of_these_years_has_eighteen_digits(
        millis in 160_228_216_645..9_934_149_431_942u64, worker in 0..1u64 << 48,
        sequence in 0..1u64 << 16,
    ) {
        prop_assert_eq!(of((millis, worker, sequence)).text(62).as_str().len(), 18);
        let (before, after) = (of((160_228_216_643, 0, 0)), of((9_934_149_431_943, 0, 0)));
        prop_assert_eq!(before.text(62).as_str().len(), 17);
        prop_assert_eq!(after.text(62).as_str().len(), 19);
    }

    #[test]
    fn every_text_of_a_flake128_is_its_number_in_that_base_and_reads_back(
        fields in fields(), base in 2..=62u32, zeros in 0..5usize,
    ) {
        let id = of(fields);
        let text = naive::in_base(id.word(), base as usize);
        prop_assert_eq!(id.text(base).as_str().to_owned(), &*text);
        let text = "0".repeat(zeros) + &text;
        prop_assert_eq!(Id::from_text(text.as_bytes(), base), Ok(id));
        if base <= 36 {
            prop_assert_eq!(Id::from_text(text.to_lowercase().as_bytes(), base), Ok(id));
        }
    }

    #[test]
    fn a_text_that_is_read_as_a_flake128_is_the_one_it_is_written_as(
        text in prop_oneof![
            texts(b"01", 128), texts(b"0123456789", 38), texts(b"0123456789abcdefABCDEF", 32),
            texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 22),
        ],
        base in prop_oneof![
            Just(2u32), Just(10), Just(16), Just(36), Just(37), Just(62), 2..=62u32
        ],
    ) {
        let upper: Vec<u8> = match base <= 36 {
            true => text.to_ascii_uppercase(),
            false => text.clone(),
        };
        let fits = naive::bits(&upper, base).is_some_and(|bits| bits.len() <= 128);
        match Id::from_text(&text, base) {
            Ok(id) => {
                let digits = String::from_utf8(upper).unwrap();
                prop_assert_eq!(id.text(base).as_str().to_owned(), stripped(&digits));
            }
            Err(Error::TextEmpty) => prop_assert!(text.is_empty()),
            Err(Error::TextCharacter { position }) => {
                prop_assert_eq!(naive::bits(&upper[position..=position], base), None);
                prop_assert!(naive::bits(&upper[..position], base).is_some());
            }
            Err(error) => {
                prop_assert!(!fits);
                prop_assert_eq!(error, Error::TextOverflow { bits: 128 });
            }
        }
    }

    /// All times to the end are in the ID type, so there is an exception only before 1970: the
    /// first ID is inside although its time is not.
    #[test]
    fn the_bounds_of_a_time_part_flake128s_exactly((id, time, _) in with_moments()) {
        let (min, max) = (Id::min(time), Id::max(time));
        for id in [id, ZEROS, ONES, min, max] {
            let before = id.time() <= time || id == ZEROS;
            prop_assert_eq!(id >= min, id.time() >= time, "{:?}", id);
            prop_assert_eq!(id <= max, before, "{:?}", id);
        }
    }

    #[test]
    fn a_range_of_time_holds_the_flake128s_of_that_time_and_no_other(
        (id, from, to) in with_moments(),
    ) {
        let (first, last) = Id::range(from, to);
        for id in [id, first, last, ZEROS, ONES] {
            let inside = from <= id.time() && id.time() <= to;
            prop_assert_eq!(first <= id && id <= last, inside, "{:?}", id);
        }
    }
}

#[test]
fn what_lies_beyond_the_calendar_has_the_time_infinity() {
    let last = i64::MAX as u64 / 1000;
    let infinity = UnixMicros(i64::MAX);
    assert_eq!(of((last, 0, 0)).time(), UnixMicros(last as i64 * 1000));
    assert_eq!(of((last + 1, 0, 0)).time(), infinity);
    assert_eq!(ONES.time(), infinity);
    assert_eq!(Id::min(infinity), of((last + 1, 0, 0)));
    assert_eq!(Id::max(UnixMicros(i64::MAX - 1)), of((last, (1 << 48) - 1, 0xffff)));
    assert_eq!(Id::max(infinity), ONES);
    assert_eq!(Id::range(infinity, infinity), (of((last + 1, 0, 0)), ONES));
    assert!(Id::encode(UnixMicros(i64::MAX - 2), 0, 0).is_ok());
    // The bounds of a time beyond these numbers part the IDs that read as infinity from all others.
    let beyond = UnixMicros::BEYOND;
    assert_eq!(Id::min(beyond), of((last + 1, 0, 0)));
    assert_eq!(Id::max(beyond), of((last, (1 << 48) - 1, 0xffff)));
    assert!(Id::encode(beyond, 0, 0).is_err());
}

/// The generator's last tick is the last one that a clock of 64 bits of nanoseconds reads to its
/// end.
#[test]
fn the_last_tick_of_a_flake128_ends_before_the_clock_does() {
    assert!(SCALE.nanos(END).0.checked_add(UNIT).is_some());
    assert!((END.0 + 2).checked_mul(UNIT).is_none());
}
