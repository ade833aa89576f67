//! Vectors of uniqueid, from LableOrg/java-uniqueid.

use super::{bytes_of, number, rows};
use flakeid_core::Error;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::Rules;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use flakeid_core::uniqueid::{self, Id, Mode, Parts, SCALE, UniqueId};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum RowMode {
    Spread,
    TimeSequential,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Row {
    hex: String,
    timestamp_ms: u64,
    sequence: u64,
    generator: u64,
    cluster: u64,
    mode: RowMode,
    /// The program that made the row.
    src: String,
    #[expect(dead_code, reason = "names the row where an assertion shows it")]
    label: String,
}

/// Builds the ID bit for bit by the library's description: `TTTTTTTT` five times, `TTSSSSSS`,
/// `GGGMGGGG`, `GGGGCCCC`.
fn by_hand(row: &Row) -> String {
    let time = format!("{:042b}", row.timestamp_ms);
    let generator = format!("{:011b}", row.generator);
    let (time, mode) = match row.mode {
        RowMode::Spread => (time.chars().rev().collect(), '0'),
        RowMode::TimeSequential => (time, '1'),
    };
    let (high, low) = generator.split_at(3);
    format!("{time}{:06b}{high}{mode}{low}{:04b}", row.sequence, row.cluster)
}

#[test]
fn every_uniqueid_of_the_reference_agrees_in_number_text_parts_and_time() {
    let mut kinds = BTreeMap::new();
    for row in rows::<Row>(include_str!("uniqueid.jsonl")) {
        let id = Id(u64::from_str_radix(&row.hex, 16).unwrap());
        *kinds.entry((row.src.clone(), row.mode == RowMode::Spread)).or_insert(0) += 1;
        assert_eq!(format!("{:064b}", id.0), by_hand(&row), "{row:?}");
        assert_eq!(id.text(), *row.hex.as_bytes(), "{row:?}");
        assert_eq!(Id::from_text(row.hex.as_bytes()), Ok(id), "{row:?}");
        assert_eq!(Id::from_text(row.hex.to_uppercase().as_bytes()), Ok(id), "{row:?}");

        let mode = match row.mode {
            RowMode::Spread => Mode::Spread,
            RowMode::TimeSequential => Mode::TimeSequential,
        };
        let Row { timestamp_ms, sequence, generator, cluster, .. } = row;
        let parts = Parts { time: Tick(timestamp_ms), sequence, generator, cluster, mode };
        assert_eq!((id.parts(), id.mode()), (parts, mode), "{row:?}");
        assert_eq!(Id::pack(parts), id, "{row:?}");

        let began = UnixMicros(timestamp_ms as i64 * 1000);
        assert_eq!(id.time(), began, "{row:?}");
        let encode = |time| {
            let [sequence, generator, cluster] = [sequence, generator, cluster].map(|n| n as i64);
            Id::encode(time, sequence, generator, cluster, mode)
        };
        for within in [0, 1, 999] {
            assert_eq!(encode(UnixMicros(began.0 + within)), Ok(id), "{row:?}");
        }
        assert_ne!(encode(UnixMicros(began.0 + 1000)), Ok(id), "{row:?}");
        let now = UnixNanos(timestamp_ms * 1_000_000 + 999_999);
        let ticks = (SCALE.tick(now), SCALE.tick_in::<{ uniqueid::UNIT }>(now));
        assert_eq!(ticks, (Some(parts.time), Some(parts.time)), "{row:?}");
    }
    let mut count = |src: &str, spread| kinds.remove(&(src.to_owned(), spread)).unwrap_or(0);
    let counts = ["build", "generate", "parse"].map(|src| [true, false].map(|s| count(src, s)));
    assert_eq!(counts, [[83, 82], [5, 7], [13, 17]]);
    assert!(kinds.is_empty(), "{kinds:?}");
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct InvalidRow {
    /// The function of the library.
    api: String,
    input: String,
    /// Whether the library accepted the input.
    ok: bool,
    /// The result of the library.
    result: Option<String>,
    err: Option<String>,
    err_type: Option<String>,
}

/// Returns the value of each `name=value`.
fn fields(input: &str) -> BTreeMap<&str, i64> {
    input
        .split(' ')
        .map(|field| field.split_once('=').expect(input))
        .map(|(name, value)| (name, number(value)))
        .collect()
}

fn out_of_time(time: UnixMicros) -> Result<Id, Error> {
    let last = UnixMicros(((1 << 42) - 1) * 1000);
    Err(Error::TimeOutOfRange { id_type: "uniqueid", time, first: UnixMicros(0), last })
}

/// Calls that a Java program can make and a Rust program cannot: no value, a negative count or
/// mask, and a generator that was closed.
const CANNOT_BE_SAID: [(&str, &str, bool); 5] = [
    ("new Blueprint+build", "mode=null", true),
    ("parse", "null", false),
    ("Mode.fromModeMask", "-1", true),
    ("generate", "after close()", false),
    ("batch", "size -1", true),
];

#[test]
fn what_the_reference_uniqueid_refuses_is_refused_and_where_it_gives_up_there_is_a_wait() {
    let rows = rows::<InvalidRow>(include_str!("uniqueid_invalid.jsonl"));
    let mut unsaid = 0;
    for row in &rows {
        let failed = row.err.is_some() && row.err_type.is_some();
        assert_eq!((row.ok, row.result.is_some()), (!failed, !failed), "{row:?}");
        if CANNOT_BE_SAID.contains(&(&row.api, &row.input, row.ok)) {
            unsaid += 1;
            continue;
        }
        match (&*row.api, &*row.input) {
            ("new Blueprint+build" | "LocalUniqueIDGeneratorFactory.generatorFor", input) => {
                assert_fields(row, &fields(input));
            }
            ("parse" | "parseTimestamp", input) => {
                let bytes: usize = number(input.strip_suffix(" bytes").expect(input));
                let found = 2 * bytes;
                let error = Error::TextLength { expected: 16, found };
                assert!(!row.ok && bytes != 8, "{row:?}");
                assert_eq!(Id::from_text("0".repeat(found).as_bytes()), Err(error), "{row:?}");
            }
            ("generate", "clock = 2^42") => {
                let time = UnixMicros((1 << 42) * 1000);
                assert_eq!(Id::encode(time, 0, 0, 0, Mode::Spread), out_of_time(time));
                let end = Rules { sequence: (0, 63), end: SCALE.last() };
                assert_eq!(exhaust(Tick(1 << 42), end), (0, Stall::Ended));
            }
            ("generate", "clock frozen, 65th id of the millisecond") => {
                let rules = Rules { sequence: (0, 63), end: SCALE.last() };
                let stall = Stall::Wait { until: Tick(6), now: Tick(5) };
                assert_eq!(exhaust(Tick(5), rules), (64, stall));
            }
            ("generate", "clock frozen, 65th id, thread interrupted") => {
                let error = Error::FieldOutOfRange { field: "sequence", value: 64, max: 63 };
                assert_eq!(Id::encode(UnixMicros(0), 64, 0, 0, Mode::Spread), Err(error));
            }
            _ => panic!("a row of no known kind: {row:?}"),
        }
    }
    assert_eq!((rows.len(), unsaid), (22, CANNOT_BE_SAID.len()));
    // Without a mode the library takes SPREAD, which this ID then has.
    let id = Id::from_text(b"8000000000010011").unwrap();
    let parts = Parts { time: Tick(1), sequence: 1, generator: 1, cluster: 1, mode: Mode::Spread };
    assert_eq!((id.parts(), bytes_of("8000000000010011")), (parts, id.0.to_be_bytes().to_vec()));
}

fn assert_fields(row: &InvalidRow, fields: &BTreeMap<&str, i64>) {
    assert!(
        fields.keys().all(|name| ["timestamp", "sequence", "generator", "cluster"].contains(name))
    );
    let field = |name| fields.get(name).copied().unwrap_or(0);
    let time = UnixMicros(field("timestamp").saturating_mul(1000));
    let (sequence, generator, cluster) = (field("sequence"), field("generator"), field("cluster"));
    let expected = if !(0..1 << 42).contains(&field("timestamp")) {
        out_of_time(time)
    } else if generator < 0 {
        Err(Error::FieldOutOfRange { field: "generator ID", value: generator, max: 2047 })
    } else if !(0..16).contains(&cluster) {
        Err(Error::FieldOutOfRange { field: "cluster ID", value: cluster, max: 15 })
    } else {
        Id::from_text(row.result.as_ref().unwrap().as_bytes())
    };
    assert_eq!(expected.is_ok(), row.ok, "{row:?}");
    assert_eq!(Id::encode(time, sequence, generator, cluster, Mode::Spread), expected, "{row:?}");
}

/// Takes all IDs that one generator ID has while the clock stands. Returns their number and the
/// stall.
fn exhaust(now: Tick, rules: Rules) -> (usize, Stall) {
    let cell = Cell::after::<UniqueId>(Tick(4));
    let (mut session, mut given) = (Session::new(0, 1), 0);
    let cells: Vec<_> = IssuingCell::numbered([&cell]).collect();
    loop {
        let clock = &mut || Some(now);
        let gate = Gate::open();
        let limits = Limits::new(&rules, &gate, SCALE);
        match session.next::<UniqueId>(&cells, 1, limits, clock) {
            Ok(_) => given += 1,
            Err(stall) => return (given, stall),
        }
    }
}
