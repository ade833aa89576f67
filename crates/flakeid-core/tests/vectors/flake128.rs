//! Vectors of flake128, from boundary/flake.

use super::{bytes_of, number, rows};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::flake128::{self, Id, Parts};
use serde::Deserialize;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Row {
    hex: String,
    time_ms: String,
    worker: u64,
    worker_mac: Option<String>,
    sequence: u64,
    base62: String,
    base2: Option<String>,
    base10: Option<String>,
    base16: Option<String>,
    base36: Option<String>,
    /// The text that the server returned, which was decoded.
    from_server_base62: Option<String>,
    /// The text that the server returned to the next call.
    from_server_base36_next: Option<String>,
    /// The sequence that the library got, of which it keeps the lower 16 bits.
    in_sequence: Option<i64>,
    #[serde(default)]
    wraps: bool,
    /// The program that made the row.
    src: String,
    label: String,
}

impl Row {
    fn id(&self) -> Id {
        Id(bytes_of(&self.hex).try_into().unwrap())
    }

    /// Returns the arguments of `gen_id`, if a label has them: time, worker and sequence.
    fn given(&self) -> Option<[i128; 3]> {
        let arguments = self.label.strip_prefix("gen_id(")?;
        let (arguments, rest) = arguments.split_once(')').unwrap();
        assert_eq!(rest, ": out of range argument is truncated to its field width");
        let arguments: Vec<i128> = arguments.split(", ").map(number).collect();
        Some(arguments.try_into().unwrap())
    }
}

/// The last microsecond that an ID can be given.
const LAST: UnixMicros = UnixMicros(UnixMicros::BEYOND.0 - 1);

#[derive(Default, Debug, PartialEq, Eq)]
struct Kinds {
    plain: usize,
    /// IDs with a time that microseconds cannot count.
    beyond_the_calendar: usize,
    /// IDs of a sequence with more than 16 bits, and of other arguments outside their fields.
    wrapped: usize,
    truncated: usize,
    of_bits: usize,
    of_the_server: usize,
    of_the_server_as_text: usize,
}

#[test]
fn every_flake128_of_the_reference_is_encoded_alike_and_what_it_truncates_is_an_error() {
    let mut kinds = Kinds::default();
    for row in rows::<Row>(include_str!("flake128.jsonl")) {
        let id = row.id();
        let (time, worker, sequence) = (number::<u64>(&row.time_ms), row.worker, row.sequence);
        assert_eq!(Id::pack(Tick(time), worker, sequence), id, "{row:?}");
        let out_of_time = |time| {
            let (id_type, first) = ("flake128", UnixMicros(0));
            Err(Error::TimeOutOfRange { id_type, time, first, last: LAST })
        };
        let too_much = |field, value, max| Err(Error::FieldOutOfRange { field, value, max });

        // The fields that the library got are those of the ID, unless the row says otherwise.
        let micros = i128::from(time) * 1000;
        if micros + 999 <= i128::from(LAST.0) {
            let micros = micros as i64;
            for within in [0, 1, 500, 999] {
                let time = UnixMicros(micros + within);
                let encoded = Id::encode(time, worker as i64, sequence as i64);
                assert_eq!(encoded, Ok(id), "{row:?}");
            }
            assert_ne!(Id::encode(UnixMicros(micros + 1000), worker as i64, 0), Ok(id));
            assert_eq!(id.time(), UnixMicros(micros), "{row:?}");
            if let Some(nanos) = time.checked_mul(1_000_000) {
                let now = UnixNanos(nanos);
                assert_eq!(flake128::SCALE.tick(now), Some(Tick(time)));
                assert_eq!(flake128::SCALE.tick_in::<{ flake128::UNIT }>(now), Some(Tick(time)));
            }
        } else {
            kinds.beyond_the_calendar += 1;
            let infinity = UnixMicros(i64::MAX);
            assert_eq!(id.time(), infinity, "{row:?}");
            assert_eq!(Id::encode(infinity, worker as i64, 0), out_of_time(infinity));
        }

        match (&*row.src, row.given(), row.in_sequence) {
            ("gen_id", None, None) => kinds.plain += 1,
            ("gen_id", None, Some(given)) => {
                kinds.wrapped += 1;
                assert!(row.wraps && given & 0xffff == sequence as i64, "{row:?}");
                let encoded = Id::encode(id.time(), worker as i64, given);
                assert_eq!(encoded, too_much("sequence", given, 0xffff), "{row:?}");
            }
            ("gen_id", Some([given, given_worker, 7]), None) => {
                kinds.truncated += 1;
                let given = given * 1000;
                let encode = |time| Id::encode(time, given_worker as i64, 7);
                if given > i128::from(i64::MAX) {
                    // No time is as late as that; the nearest is infinity.
                    assert_eq!(encode(UnixMicros(i64::MAX)), out_of_time(UnixMicros(i64::MAX)));
                } else if given < 0 {
                    let given = UnixMicros(given as i64);
                    assert_eq!(encode(given), out_of_time(given), "{row:?}");
                } else {
                    let max = (1 << 48) - 1;
                    assert_eq!(encode(UnixMicros(given as i64)), too_much("worker", -1, max));
                }
            }
            ("bits", None, None) => kinds.of_bits += 1,
            ("flake_server:id/0", None, None) => kinds.of_the_server += 1,
            ("flake_server:id/1", None, None) => kinds.of_the_server_as_text += 1,
            _ => panic!("a row of no known kind: {row:?}"),
        }
        assert_eq!(row.wraps, row.in_sequence.is_some(), "{row:?}");
    }
    let expected = Kinds {
        plain: 121,
        beyond_the_calendar: 30,
        wrapped: 1,
        truncated: 3,
        of_bits: 25,
        of_the_server: 6,
        of_the_server_as_text: 3,
    };
    assert_eq!(kinds, expected);
}

#[test]
fn every_flake128_of_the_reference_reads_alike_in_parts_and_in_every_text() {
    let mut texts = [0; 5];
    for row in rows::<Row>(include_str!("flake128.jsonl")) {
        let id = row.id();
        let word = u128::from_str_radix(&row.hex, 16).unwrap();
        assert_eq!((id.word(), Id::from_word(word)), (word, id), "{row:?}");
        let Row { worker, sequence, .. } = row;
        let parts = Parts { time: Tick(number(&row.time_ms)), worker, sequence };
        assert_eq!(id.parts(), parts, "{row:?}");
        if let Some(mac) = &row.worker_mac {
            assert_eq!(bytes_of(&mac.replace(':', "")), id.0[8..14], "{row:?}");
        }

        let bases = [
            (62, Some(&row.base62)),
            (2, row.base2.as_ref()),
            (10, row.base10.as_ref()),
            (16, row.base16.as_ref()),
            (36, row.base36.as_ref()),
        ];
        for ((base, text), count) in bases.into_iter().zip(&mut texts) {
            let Some(text) = text else { continue };
            *count += 1;
            assert_eq!(id.text(base).as_str(), text, "{row:?}");
            assert_eq!(Id::from_text(text.as_bytes(), base), Ok(id), "{row:?}");
            let lower = Id::from_text(text.to_lowercase().as_bytes(), base);
            // Above base 36 they are other digits.
            assert!(lower == Ok(id) || base == 62 && text.to_lowercase() != *text, "{row:?}");
        }
        if let Some(said) = &row.from_server_base62 {
            assert_eq!(Id::from_text(said.as_bytes(), 62), Ok(id), "{row:?}");
        }
        if let Some(next) = &row.from_server_base36_next {
            assert_eq!(Id::from_word(word + 1).text(36).as_str(), next, "{row:?}");
            assert_eq!(Id::from_text(next.as_bytes(), 36), Ok(Id::from_word(word + 1)));
        }
    }
    assert_eq!(texts, [159, 57, 57, 57, 69]);
}
