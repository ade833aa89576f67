//! Vectors of guid, from fogfish/guid.

use super::{bytes_of, number, rows};
use flakeid_core::Error;
use flakeid_core::base64::sortable;
use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::guid::{self, Clock, Drift, Id, Parts, SCALE};
use flakeid_core::guid_local::Local;
use serde::Deserialize;

/// A row of the file. Each test takes out the fields that its kind of row has.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Row {
    kind: String,
    #[serde(default)]
    label: String,
    // The arguments of the library. Without a drift it uses its default.
    drift_ns: Option<String>,
    in_t: Option<String>,
    in_unix_ns: Option<String>,
    in_node: Option<i64>,
    in_seq: Option<i64>,
    // The results of the library.
    hex: Option<String>,
    hi: Option<String>,
    lo: Option<String>,
    text: Option<String>,
    base62: Option<String>,
    json: Option<String>,
    json_node: Option<i64>,
    drift_code: Option<u64>,
    /// The nanoseconds of the tick, as 64 bits without sign. The next two are the same number with
    /// a sign, and the time that an inverse clock means by it.
    time: Option<String>,
    epoch_t_ns: Option<String>,
    epoch_i_ns: Option<String>,
    node: Option<u64>,
    seq: Option<u64>,
    /// The ID without its node, or with one.
    to_l: Option<String>,
    from_l: Option<String>,
    from_l_node: Option<i64>,
    /// A duration in words.
    drift: Option<String>,
    // The fields of a row with two IDs.
    a: Option<String>,
    b: Option<String>,
    diff: Option<String>,
    after: Option<bool>,
    before: Option<bool>,
    equal: Option<bool>,
    seq_underflow: Option<bool>,
    time_underflow: Option<bool>,
    // The fields of a row whose bits are cut into chunks of `n`, and joined again.
    n: Option<usize>,
    bytes: Option<String>,
    fold_hi: Option<String>,
    fold_lo: Option<String>,
    fold_equal: Option<bool>,
}

fn every_row() -> Vec<Row> {
    rows(include_str!("guid.jsonl"))
}

fn of_kinds(kinds: &[&str]) -> Vec<Row> {
    every_row().into_iter().filter(|row| kinds.contains(&&*row.kind)).collect()
}

#[test]
fn the_rows_of_guid_are_of_these_kinds() {
    let mut count = std::collections::BTreeMap::<String, usize>::new();
    every_row().into_iter().for_each(|row| *count.entry(row.kind).or_default() += 1);
    let expected = [
        ("diff", 28),
        ("drift", 12),
        ("fromt", 25),
        ("g", 88),
        ("inverse_g", 18),
        ("inverse_l", 18),
        ("l", 53),
        ("split", 25),
        ("z", 3),
    ];
    assert!(count.iter().map(|(kind, &count)| (&**kind, count)).eq(expected), "{count:?}");
}

fn have<T: AsRef<str>>(field: &Option<T>) -> &str {
    field.as_ref().expect("a field that this kind has").as_ref()
}

pub(super) fn global(hex: &str) -> Id {
    Id(bytes_of(hex).try_into().expect("twelve bytes"))
}

pub(super) fn local(hex: &str) -> Local {
    Local(u64::from_be_bytes(bytes_of(hex).try_into().expect("eight bytes")))
}

/// Returns the drift with which a row's ID was made.
fn drift_of(row: &Row) -> Drift {
    match &row.drift_ns {
        Some(nanos) => Drift::covering(number(nanos)),
        None => Drift::DEFAULT,
    }
}

/// Returns the fields of an ID, read from its bits as a text: drift, time, node, sequence.
fn by_hand(hex: &str) -> (u64, u64, u64, u64) {
    let bits: String = bytes_of(hex).iter().map(|byte| format!("{byte:08b}")).collect();
    let read = |bits: &str| u64::from_str_radix(bits, 2).unwrap();
    let drift = read(&bits[..3]);
    let coarse = 47 - 18 - drift as usize;
    let (time, rest) = bits[3..].split_at(coarse);
    let (node, rest) = if hex.len() == 24 { rest.split_at(32) } else { ("0", rest) };
    let (fine, sequence) = rest.split_at(47 - coarse);
    assert_eq!(sequence.len(), 14);
    (drift, read(&(time.to_owned() + fine)), read(node), read(sequence))
}

/// Checks that the fields of an ID are those of its row and of its bits, and mean the time of the
/// row.
fn assert_parts(row: &Row, hex: &str, parts: Parts) {
    let Parts { drift, time, node, sequence } = parts;
    assert_eq!((drift.code(), time.0, node, sequence), by_hand(hex), "{row:?}");
    assert_eq!((Some(node), Some(sequence)), (row.node, row.seq), "{row:?}");
    if let Some(code) = row.drift_code {
        assert_eq!(drift.code(), code, "{row:?}");
    }
    let nanos: u64 = number(have(&row.time));
    assert_eq!(time.0 << 17, nanos, "{row:?}");
    assert_eq!(parts.time(Clock::Unix), UnixMicros((nanos / 1000) as i64), "{row:?}");
    if let Some(signed) = &row.epoch_t_ns {
        assert_eq!(number::<i64>(signed) as u64, nanos, "{row:?}");
    }
    if let Some(inverse) = &row.epoch_i_ns {
        // The library counts nanoseconds down and then cuts, so the result is the last nanosecond
        // of the tick that was meant. Here a time is that where its tick begins.
        let last = number::<i64>(inverse) as u64;
        assert_eq!(u64::MAX - (time.0 << 17), last, "{row:?}");
        assert_eq!(last % (1 << 17), (1 << 17) - 1, "{row:?}");
        let began = (last - ((1 << 17) - 1)) / 1000;
        assert_eq!(parts.time(Clock::Inverse), UnixMicros(began as i64), "{row:?}");
    }
}

/// Returns the first and the last microsecond of the tick which holds `nanos`: from the one in
/// which it begins to before the one in which the next tick begins. A tick of 131.072 us seldom
/// begins with a microsecond. After the last tick there is no next one.
fn micros_of_tick(nanos: u64) -> (UnixMicros, UnixMicros) {
    let begins = |tick: u64| ((u128::from(tick) << 17) / 1000) as i64;
    let tick = nanos >> 17;
    let end = match tick == u64::MAX >> 17 {
        true => (u64::MAX / 1000) as i64,
        false => begins(tick + 1) - 1,
    };
    (UnixMicros(begins(tick)), UnixMicros(end))
}

/// Encodes a row's fields at every kind of time within the tick that holds `nanos`.
fn assert_encoded<T: Copy + PartialEq + std::fmt::Debug>(
    row: &Row,
    nanos: u64,
    id: T,
    encode: impl Fn(UnixMicros) -> Result<T, Error>,
) {
    let (first, last) = micros_of_tick(nanos);
    for micros in [first.0, first.0 + 1, (first.0 + last.0) / 2, last.0] {
        assert_eq!(encode(UnixMicros(micros)), Ok(id), "{row:?}");
    }
    assert_ne!(encode(UnixMicros(first.0 - 1)), Ok(id), "{row:?}");
    assert_ne!(encode(UnixMicros(last.0 + 1)), Ok(id), "{row:?}");
    let tick = Some(Tick(nanos >> 17));
    assert_eq!(SCALE.tick(UnixNanos(nanos)), tick, "{row:?}");
    assert_eq!(SCALE.tick_in::<{ guid::UNIT }>(UnixNanos(nanos)), tick, "{row:?}");
}

#[test]
fn every_global_guid_agrees_in_bytes_parts_and_texts_and_is_encoded_alike() {
    let (mut read_only, mut masked, mut encoded) = (0, 0, [0; 2]);
    for row in of_kinds(&["g", "inverse_g"]) {
        let hex = have(&row.hex);
        let id = global(hex);
        assert_parts(&row, hex, id.parts());
        assert_eq!(Id::pack(id.parts()), id, "{row:?}");
        let [high, low] = [&row.hi, &row.lo].map(|half| number::<u128>(have(half)));
        assert_eq!(id.word(), high << 64 | low, "{row:?}");

        let text = have(&row.text).as_bytes();
        assert_eq!((&id.text()[..], Id::from_text(text)), (text, Ok(id)), "{row:?}");
        let text = have(&row.base62);
        assert_eq!(id.base62().as_str(), text, "{row:?}");
        assert_eq!(Id::from_base62(text.as_bytes()), Ok(id), "{row:?}");
        assert_eq!(have(&row.json), format!("\"{}\"", have(&row.text)), "{row:?}");
        assert_eq!(id.local(), local(have(&row.to_l)), "{row:?}");
        assert_eq!(id.local().global(row.node.unwrap() as i64), Ok(id), "{row:?}");

        // The texts of the library's own tests have no fields that were given.
        let (Some(node), Some(sequence)) = (row.in_node, row.in_seq) else {
            read_only += 1;
            assert_eq!((&*row.kind, &*row.label), ("g", "string from guid_test.go"));
            continue;
        };
        let drift = drift_of(&row);
        assert_eq!(Some(drift.code()), row.drift_code, "{row:?}");
        let (clock, nanos) = moment(&row);
        let encode = |time| Id::encode(time, node, sequence, drift, clock);
        let too_much = match (node > u32::MAX.into(), sequence > 0x3fff) {
            (false, false) => {
                encoded[usize::from(clock == Clock::Inverse)] += 1;
                assert_encoded(&row, nanos, id, encode);
                continue;
            }
            (true, _) => ("node", node, u32::MAX.into()),
            (_, true) => ("sequence", sequence, 0x3fff),
        };
        // The library cuts the node. It lets the rest of the sequence into the time's bits, where
        // these two rows have a one already.
        masked += 1;
        assert_eq!(Some(node as u64 & 0xffff_ffff), row.node);
        assert_eq!(Some(sequence as u64 & 0x3fff), row.seq);
        let (field, value, max) = too_much;
        let error = Error::FieldOutOfRange { field, value, max };
        assert_eq!(encode(micros_of_tick(nanos).0), Err(error), "{row:?}");
    }
    assert_eq!((read_only, masked, encoded), (4, 3, [81, 18]));
}

#[test]
fn every_local_guid_agrees_in_bytes_parts_and_texts_and_is_encoded_alike() {
    let mut encoded = [0; 2];
    for row in of_kinds(&["l", "inverse_l"]) {
        let hex = have(&row.hex);
        let id = local(hex);
        assert_parts(&row, hex, id.parts());
        assert_eq!(Local::pack(id.parts()), id, "{row:?}");
        assert_eq!(id.0, number::<u64>(have(&row.lo)), "{row:?}");

        let text = have(&row.text).as_bytes();
        assert_eq!((&id.text()[..], Local::from_text(text)), (text, Ok(id)), "{row:?}");
        let text = have(&row.base62);
        assert_eq!(id.base62().as_str(), text, "{row:?}");
        assert_eq!(Local::from_base62(text.as_bytes()), Ok(id), "{row:?}");

        let with_node = id.global(row.from_l_node.unwrap()).unwrap();
        assert_eq!(with_node, global(have(&row.from_l)), "{row:?}");
        assert_eq!(with_node.local(), id, "{row:?}");
        // In JSON the library writes the ID with its current node, and with a star.
        let with_node = id.global(row.json_node.unwrap()).unwrap();
        let text = String::from_utf8(with_node.text().to_vec()).unwrap();
        assert_eq!(have(&row.json), format!("\"*{text}\""), "{row:?}");

        let drift = drift_of(&row);
        assert_eq!(Some(drift.code()), row.drift_code, "{row:?}");
        let (clock, nanos) = moment(&row);
        encoded[usize::from(clock == Clock::Inverse)] += 1;
        let encode = |time| Local::encode(time, row.in_seq.unwrap(), drift, clock);
        assert_encoded(&row, nanos, id, encode);
    }
    assert_eq!(encoded, [53, 18]);
}

/// Returns the clock of a row, and the nanoseconds since 1970 that the clock showed.
fn moment(row: &Row) -> (Clock, u64) {
    let counted: u64 = number(have(&row.in_t));
    match &row.in_unix_ns {
        Some(nanos) => {
            assert_eq!(counted, u64::MAX - number::<u64>(nanos), "{row:?}");
            (Clock::Inverse, number(nanos))
        }
        None => (Clock::Unix, counted),
    }
}

/// Z is the first ID there is. The bounds stop at it.
#[test]
fn the_zero_of_every_drift_is_the_smallest_id_for_any_time_before_1970() {
    for row in of_kinds(&["z"]) {
        let (zero, drift) = (global(have(&row.hex)), drift_of(&row));
        assert_parts(&row, have(&row.hex), zero.parts());
        assert_eq!(Id::from_text(have(&row.text).as_bytes()), Ok(zero));
        assert_eq!(zero.text(), have(&row.text).as_bytes());
        assert_eq!(Id::encode(UnixMicros(0), 0, 0, drift, Clock::Unix), Ok(zero));
        assert_eq!(zero.local(), local(have(&row.to_l)));
        for time in [i64::MIN, -1, 0].map(UnixMicros) {
            assert_eq!(Id::min(time, drift), zero);
            assert_eq!(Local::min(time, drift), zero.local());
        }
        assert_eq!(Id::max(UnixMicros(-1), drift), zero);
    }
}

#[test]
fn a_guid_of_a_time_alone_is_the_first_of_its_tick_and_before_1970_there_is_none() {
    let mut before_1970 = 0;
    for row in of_kinds(&["fromt"]) {
        let (id, drift) = (local(have(&row.hex)), drift_of(&row));
        assert_eq!(Some(drift.code()), row.drift_code);
        let row = Row { node: Some(0), ..row };
        assert_parts(&row, have(&row.hex), id.parts());
        let text = have(&row.text).as_bytes();
        assert_eq!((&id.text()[..], Local::from_text(text)), (text, Ok(id)), "{row:?}");
        let text = have(&row.base62);
        assert_eq!(id.base62().as_str(), text, "{row:?}");
        assert_eq!(Local::from_base62(text.as_bytes()), Ok(id), "{row:?}");
        assert_eq!(Local::min(id.time(Clock::Unix), drift), id, "{row:?}");

        let nanos: i64 = number(have(&row.in_unix_ns));
        let encode = |time| Local::encode(time, 0, drift, Clock::Unix);
        if nanos >= 0 {
            assert_encoded(&row, nanos as u64, id, encode);
            continue;
        }
        before_1970 += 1;
        let time = UnixMicros(nanos / 1000);
        let (first, last) = (UnixMicros(0), SCALE.start(Tick((1 << 47) - 1)));
        let error = Error::TimeOutOfRange { id_type: "guid_local", time, first, last };
        assert_eq!(encode(time), Err(error), "{row:?}");
        let zero = Local::encode(first, 0, drift, Clock::Unix);
        assert_eq!(Ok(Local::min(time, drift)), zero, "{row:?}");
    }
    assert_eq!(before_1970, 1);
}

#[test]
fn a_drift_is_the_least_that_covers_the_clocks() {
    for row in of_kinds(&["drift"]) {
        let code = row.drift_code.unwrap();
        let drift = Drift::covering(number(have(&row.drift_ns)));
        assert_eq!(drift.code(), code, "{row:?}");
        assert_eq!(Drift::from_code(code as i64), Ok(drift), "{row:?}");
        assert!(have(&row.drift).ends_with('s'), "{row:?}");
    }
}

/// The library subtracts the sequences and the times from each other, and a negative difference of
/// the sequences borrows more than there is. Here time and sequence are one number. If it is
/// negative, the time wraps around, as it does in the library.
#[test]
fn the_difference_of_guids_is_that_of_time_and_sequence_as_one_number() {
    let (mut right, mut wrong, mut mixed, mut gone_round) = (0, 0, 0, 0);
    for row in of_kinds(&["diff"]) {
        let (a, b, said) = (have(&row.a), have(&row.b), have(&row.diff));
        let ((drift, time, node, sequence), (_, other_time, _, other_sequence)) =
            (by_hand(a), by_hand(b));
        let moment = |time: u64, sequence: u64| u128::from(time) << 14 | u128::from(sequence);
        let (x, y) = (moment(time, sequence), moment(other_time, other_sequence));
        let order = (row.after.unwrap(), row.before.unwrap(), row.equal.unwrap());
        assert_eq!(order, (x > y, x < y, x == y), "{row:?}");
        assert_eq!(row.time_underflow.unwrap(), time < other_time, "{row:?}");
        assert_eq!(row.seq_underflow.unwrap(), sequence < other_sequence, "{row:?}");

        let apart = (x + (1 << 61) - y) % (1 << 61);
        let expected = (drift, (apart >> 14) as u64, node, (apart & 0x3fff) as u64);
        let (shown, parts) = match (a.len(), b.len()) {
            (24, 24) => {
                let id = global(a).diff(global(b));
                (format!("{:024x}", id.word()), id.parts())
            }
            (16, 16) => {
                let id = local(a).diff(local(b));
                (format!("{:016x}", id.0), id.parts())
            }
            // These are IDs of two types, which cannot be subtracted here. Without the node they
            // are one type.
            (24, 16) => {
                mixed += 1;
                let id = global(a).local().diff(local(b));
                assert_eq!(id.parts().time.0, (apart >> 14) as u64, "{row:?}");
                assert_eq!(id.parts().sequence, (apart & 0x3fff) as u64, "{row:?}");
                assert_eq!(global(a).diff(local(b).global(0).unwrap()).local(), id, "{row:?}");
                assert_ne!(format!("{:016x}", id.0), said, "{row:?}");
                continue;
            }
            _ => panic!("a row of no known kind: {row:?}"),
        };
        assert_eq!(by_hand(&shown), expected, "{row:?}");
        let Parts { drift, time, node, sequence } = parts;
        assert_eq!((drift.code(), time.0, node, sequence), expected, "{row:?}");
        gone_round += usize::from(x < y);
        // The sequence is the one field that a borrow does not spoil.
        assert_eq!(Some(sequence), row.seq, "{row:?}");
        if row.seq_underflow.unwrap() {
            wrong += 1;
            assert_ne!(shown, said, "{row:?}");
        } else {
            right += 1;
            assert_eq!(shown, said, "{row:?}");
            assert_eq!((time.0 << 17, Some(node)), (number(have(&row.time)), row.node), "{row:?}");
        }
    }
    assert_eq!((right, wrong, mixed, gone_round), (25, 2, 1, 2));
}

/// The library's `Split` cuts an ID's bits into chunks of `n` from the top on, without the rest,
/// and `Fold` joins them again.
#[test]
fn the_chunks_of_a_guid_are_its_digits_and_its_bytes() {
    const DIGITS: &[u8; 64] = b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    let mut count = [0; 4];
    for row in of_kinds(&["split"]) {
        let (hex, n, chunks) = (have(&row.hex), row.n.unwrap(), bytes_of(have(&row.bytes)));
        let bits: String = bytes_of(hex).iter().map(|byte| format!("{byte:08b}")).collect();
        let whole = bits.len() / n * n;
        let naive = (0..whole).step_by(n).map(|i| u8::from_str_radix(&bits[i..i + n], 2).unwrap());
        assert!(naive.eq(chunks.iter().copied()), "{row:?}");

        let word = u128::from_str_radix(hex, 16).unwrap();
        let left_over = bits.len() - whole;
        let fold = number::<u128>(have(&row.fold_hi)) << 64 | number::<u128>(have(&row.fold_lo));
        assert_eq!(fold, word >> left_over << left_over, "{row:?}");
        assert_eq!(row.fold_equal.unwrap(), fold == word, "{row:?}");

        // As many bytes as have a digit each are a text.
        let text: Vec<u8> =
            chunks.iter().filter_map(|&chunk| DIGITS.get(usize::from(chunk)).copied()).collect();
        let digits = text.iter().map(|digit| DIGITS.iter().position(|d| d == digit).unwrap() as u8);
        match (n, bits.len()) {
            (6, 96) => {
                count[0] += 1;
                assert_eq!(sortable::encode::<6>(word)[..], text, "{row:?}");
                assert_eq!(sortable::decode::<6>(&text), Ok(word), "{row:?}");
                assert_eq!(Id::from_text(&text), Ok(global(hex)), "{row:?}");
                assert!(digits.eq(chunks), "{row:?}");
            }
            (4, 64) => {
                count[1] += 1;
                assert_eq!(sortable::encode::<4>(word)[..], text, "{row:?}");
                assert_eq!(sortable::decode::<4>(&text), Ok(word), "{row:?}");
                assert_eq!(Local::from_text(&text), Ok(local(hex)), "{row:?}");
                assert!(digits.eq(chunks), "{row:?}");
            }
            (8, 96) => {
                count[2] += 1;
                assert_eq!(global(hex).0[..], chunks, "{row:?}");
                assert_eq!(global(hex).word(), word, "{row:?}");
            }
            (8, 64) => {
                count[2] += 1;
                assert_eq!(local(hex).0.to_be_bytes()[..], chunks, "{row:?}");
            }
            // There is no text and no bytes of an ID, so the bits are compared.
            _ => {
                count[3] += 1;
                let parts = match bits.len() {
                    96 => global(hex).parts(),
                    64 => local(hex).parts(),
                    _ => panic!("a row of no known kind: {row:?}"),
                };
                let Parts { drift, time, node, sequence } = parts;
                assert_eq!((drift.code(), time.0, node, sequence), by_hand(hex), "{row:?}");
            }
        }
    }
    assert_eq!(count, [3, 1, 2, 19]);
}
