//! Vectors of sno, from muyo/sno.

use super::{bytes_of, number, rows};
use flakeid_core::Error;
use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{Block, Rules, Stamp};
use flakeid_core::sno::{self, TickTock};
use serde::Deserialize;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct SnoRow {
    hex: String,
    text: String,
    /// The time at which the ID's 4 ms began.
    unix_ms: i64,
    tick: u64,
    meta: u64,
    partition: u64,
    sequence: u64,
    /// The text as a JSON string; `null` for the ID that is all zeros.
    json: String,
    /// The program that made the row.
    src: String,
    /// The time of which the ID was made, if one was given.
    in_ns: Option<String>,
    #[expect(dead_code, reason = "names the row where an assertion shows it")]
    label: String,
}

#[derive(Default, Debug, PartialEq, Eq)]
struct SnoKinds {
    of_bytes: usize,
    of_a_time: usize,
    /// IDs of a generator that had found its clock stepped back this often.
    after_drifts: [usize; 6],
}

#[test]
fn every_sno_of_the_reference_agrees_in_bytes_text_parts_and_time() {
    let mut kinds = SnoKinds::default();
    for row in rows::<SnoRow>(include_str!("sno.jsonl")) {
        let SnoRow { tick, meta, partition, sequence, .. } = row;
        let id = sno::Id(bytes_of(&row.hex).try_into().unwrap());
        assert_eq!(id.text(), *row.text.as_bytes(), "{row:?}");
        assert_eq!(sno::Id::from_text(row.text.as_bytes()), Ok(id), "{row:?}");
        match u128::from_str_radix(&row.hex, 16).unwrap() {
            0 => assert_eq!(row.json, "null"),
            _ => assert_eq!(row.json, format!("\"{}\"", row.text)),
        }

        // 2010-01-01 00:00 UTC is 1262304000 s.
        let at = Tick((row.unix_ms - 1_262_304_000_000) as u64 / 4);
        let parts = sno::Parts { time: at, tick, meta, partition, sequence };
        assert_eq!(id.parts(), parts, "{row:?}");
        let stamp = Stamp::new::<TickTock>(at, tick == 1);
        assert_eq!(sno::Id::pack(stamp, meta, partition, sequence), id, "{row:?}");

        let began = UnixMicros(row.unix_ms * 1000);
        assert_eq!(id.time(), began, "{row:?}");
        let encode = |time| {
            let [tick, meta, partition, sequence] =
                [tick, meta, partition, sequence].map(|field| field as i64);
            sno::Id::encode(time, tick, meta, partition, sequence)
        };
        assert_eq!(encode(began), Ok(id), "{row:?}");
        assert_eq!(encode(UnixMicros(began.0 + 3999)), Ok(id), "{row:?}");
        match (&*row.src, &row.in_ns) {
            ("FromBinaryBytes", None) => kinds.of_bytes += 1,
            ("NewWithTime", Some(nanos)) => {
                kinds.of_a_time += 1;
                let nanos: u64 = number(nanos);
                let tick_in = sno::SCALE.tick_in::<{ sno::UNIT }>(UnixNanos(nanos));
                assert_eq!((tick_in, sno::SCALE.tick(UnixNanos(nanos))), (Some(at), Some(at)));
                assert_eq!(encode(UnixMicros((nanos / 1000) as i64)), Ok(id), "{row:?}");
            }
            (src, None) => {
                let drifts = src.strip_prefix("New(drifts=").and_then(|s| s.strip_suffix(')'));
                let drifts: usize = number(drifts.expect(src));
                kinds.after_drifts[drifts] += 1;
                assert_eq!(tick as usize, drifts % 2, "{row:?}");
            }
            _ => panic!("a row of no known kind: {row:?}"),
        }
    }
    let expected = SnoKinds { of_bytes: 112, of_a_time: 114, after_drifts: [1, 1, 2, 2, 2, 2] };
    assert_eq!(kinds, expected);
}

/// The functions of the library that got an invalid input.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    FromEncodedString,
    FromEncodedBytes,
    #[serde(rename = "Scan(string)")]
    ScanString,
    #[serde(rename = "Scan([]byte)")]
    ScanBytes,
    #[serde(rename = "Scan(other)")]
    ScanOther,
    FromBinaryBytes,
    #[serde(rename = "UnmarshalJSON")]
    UnmarshalJson,
    NewWithTime,
    NewGenerator,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct InvalidSnoRow {
    api: Api,
    /// The bytes; empty if the input is not bytes.
    input_hex: String,
    /// The string of these bytes; empty if they are not printable.
    input: String,
    /// Whether the library accepted the input.
    ok: bool,
    err: Option<String>,
    err_type: Option<String>,
    #[serde(default)]
    label: String,
    /// The results of the library, here and on other processors.
    hex: Option<String>,
    text: Option<String>,
    hex_amd64_scalar: Option<String>,
    text_amd64_scalar: Option<String>,
    hex_purego: Option<String>,
    text_purego: Option<String>,
    #[serde(default)]
    platform_dependent: bool,
}

/// Returns the error of a refused text, according to its row.
fn refusal(label: &str) -> Error {
    let length = |found| Error::TextLength { expected: 16, found };
    match label {
        "empty" => length(0),
        "leading space" | "trailing space" => length(17),
        "space inside" => Error::TextCharacter { position: 8 },
        "upper-case"
        | "first char upper-case"
        | "spaces"
        | "dashes"
        | "NULs"
        | "0xff"
        | "8 two-byte UTF-8 chars = 16 bytes" => Error::TextCharacter { position: 0 },
        _ => match label.split(' ').collect::<Vec<_>>()[..] {
            ["length", n] => length(number(n)),
            [_, "is", "outside", "the", "alphabet"] => Error::TextCharacter { position: 0 },
            ["char", _, "at", "position", n] => Error::TextCharacter { position: number(n) },
            _ => panic!("a label of no known kind: {label}"),
        },
    }
}

#[test]
fn what_the_reference_sno_takes_wrongly_or_refuses_is_refused() {
    let rows = rows::<InvalidSnoRow>(include_str!("sno_invalid.jsonl"));
    for row in &rows {
        let input = bytes_of(&row.input_hex);
        assert_eq!(row.ok, row.err.is_none() && row.err_type.is_none(), "{row:?}");
        match row.api {
            Api::FromEncodedString | Api::FromEncodedBytes | Api::ScanString => {
                assert_eq!(sno::Id::from_text(&input), Err(refusal(&row.label)), "{row:?}");
                // The library's results are those of no ID, since it checks lengths only.
                assert_eq!(row.ok, input.len() == 16, "{row:?}");
                let read = [&row.hex, &row.hex_amd64_scalar, &row.hex_purego];
                let shown = [&row.text, &row.text_amd64_scalar, &row.text_purego];
                for (hex, text) in read.into_iter().zip(shown) {
                    assert_eq!(hex.is_some(), text.is_some());
                    let Some(hex) = hex else { continue };
                    let id = sno::Id(bytes_of(hex).try_into().unwrap());
                    assert_ne!(id.text()[..], input, "{row:?}");
                    assert_eq!(id.text(), *text.as_ref().unwrap().as_bytes(), "{row:?}");
                }
                // The results of other processors are given if they differ.
                assert_eq!(row.platform_dependent, row.hex_purego.is_some(), "{row:?}");
            }
            Api::FromBinaryBytes | Api::ScanBytes => {
                assert!(!row.ok && <[u8; sno::LEN]>::try_from(&*input).is_err(), "{row:?}");
                assert!(sno::Id::from_text(&input).is_err(), "{row:?}");
            }
            // Null, an integer and a time are types that hold neither a text nor ten bytes.
            Api::ScanOther => {
                assert!(row.input_hex.is_empty() && row.input.is_empty(), "{row:?}");
                let kind = row.label.strip_suffix("; receiver was 0102..0a").unwrap();
                assert_eq!(row.ok, kind == "nil", "{row:?}");
                assert!(matches!(kind, "nil" | "int" | "time.Time"), "{row:?}");
            }
            Api::UnmarshalJson => assert_json(row),
            Api::NewWithTime => {
                // The number is the seconds from 1970 to the time in the row.
                let seconds = match &*row.input {
                    "2100-01-01T00:00:00Z" => 4_102_444_800,
                    "2300-01-01T00:00:00Z" => 10_413_792_000,
                    _ => panic!("{row:?}"),
                };
                let time = UnixMicros(seconds * 1_000_000);
                let [first, last] =
                    [1_262_304_000_000, 3_461_327_255_548].map(|ms| UnixMicros(ms * 1000));
                let error = Error::TimeOutOfRange { id_type: "sno", time, first, last };
                assert_eq!(sno::Id::encode(time, 0, 7, 1, 5), Err(error), "{row:?}");
            }
            Api::NewGenerator => assert_slice(row),
        }
    }
    let count = |api| rows.iter().filter(|row| row.api == api).count();
    assert_eq!([Api::FromEncodedString, Api::FromEncodedBytes].map(count), [80, 15]);
    assert_eq!([Api::ScanString, Api::ScanBytes, Api::ScanOther].map(count), [9, 3, 3]);
    assert_eq!([Api::FromBinaryBytes, Api::UnmarshalJson].map(count), [1, 7]);
    assert_eq!([Api::NewWithTime, Api::NewGenerator].map(count), [2, 10]);
    assert_eq!(rows.len(), 130);
}

/// JSON is read by a JSON library. The content of a string is a text like any other, and other JSON
/// has no text. muyo/sno cuts off the first and the last byte without a check.
fn assert_json(row: &InvalidSnoRow) {
    let content: Result<Option<String>, _> = serde_json::from_str(&row.input);
    match content {
        Ok(Some(text)) => {
            let id = sno::Id(bytes_of(row.hex.as_ref().unwrap()).try_into().unwrap());
            assert!(row.ok && sno::Id::from_text(text.as_bytes()) == Ok(id), "{row:?}");
        }
        Ok(None) => assert!(row.ok && row.input == "null", "{row:?}"),
        Err(_) => assert_eq!(row.ok, row.input == "xbrpk4q72xwf2m63ly", "{row:?}"),
    }
    // Without its quotes it is a valid text, and with anything else around it is not.
    let bare = sno::Id::from_text(row.input.as_bytes());
    assert_eq!(bare.is_ok(), row.input == "brpk4q72xwf2m63l", "{row:?}");
}

/// Checks the bounds of a slice of the sequence. Here they are taken as they are, and a slice with
/// bounds in the wrong order is empty. The library swaps those, reads two zeros as all numbers, and
/// refuses fewer than six numbers.
fn assert_slice(row: &InvalidSnoRow) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Snapshot {
        sequence_min: u32,
        sequence_max: u32,
    }
    let Snapshot { sequence_min: first, sequence_max: last } =
        serde_json::from_str(&row.input).unwrap();
    assert_eq!(row.ok, row.label.starts_with("accepted: "), "{row:?}");

    let rules = Rules { sequence: (first, last), end: Tick(100) };
    let cell = Cell::after::<TickTock>(Tick(4));
    let issue = || {
        let ask = IssueRequest {
            floor: Stamp::default(),
            later: false,
            within: Tick(u64::MAX),
            want: u32::MAX,
            generation: 0,
            ..IssueRequest::any(u32::MAX)
        };
        let mut clock = || Some(Tick(5));
        cell.issue::<TickTock>(ask, Limits::new(&rules, &Gate::open(), sno::SCALE), &mut clock)
    };
    if first <= last {
        let Ok(Some(Block { sequence, count, .. })) = issue() else { panic!("{row:?}") };
        assert_eq!((sequence, count), (first, last - first + 1), "{row:?}");
    }
    assert_eq!(issue(), Err(Stall::Wait { until: Tick(6), now: Tick(5) }), "{row:?}");
}
