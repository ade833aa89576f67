//! Vectors of bad input, from fogfish/guid. It reads a character outside its alphabet as a zero and
//! cuts a digit that is too large.

use super::guid::{global, local};
use super::{bytes_of, number, rows};
use flakeid_core::Error;
use flakeid_core::guid::{Id, Parts};
use flakeid_core::guid_local::Local;
use serde::Deserialize;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The function of the library.
    api: String,
    label: String,
    /// The bytes, and the string of these bytes if they are printable.
    input_hex: Option<String>,
    input: Option<String>,
    /// Whether the library accepted the input.
    ok: bool,
    err: Option<String>,
    panic: Option<String>,
    /// The ID that the library made. Without a high half it is a local ID, for every function.
    hex: Option<String>,
    hi: Option<String>,
    lo: Option<String>,
    text: Option<String>,
    // The fields of an ID made by hand.
    base62: Option<String>,
    json: Option<String>,
    json_node: Option<i64>,
    json_roundtrip: Option<bool>,
    node: Option<u64>,
    seq: Option<u64>,
    time: Option<String>,
}

impl Row {
    fn word(&self) -> u128 {
        let [high, low] =
            [&self.hi, &self.lo].map(|half| number::<u128>(half.as_ref().expect("a value")));
        high << 64 | low
    }

    fn bytes(&self) -> Vec<u8> {
        let bytes = bytes_of(self.input_hex.as_ref().expect("an input"));
        assert!(self.input.as_ref().is_none_or(|input| input.as_bytes() == bytes), "{self:?}");
        bytes
    }
}

/// Returns the number of a text with digits below `limit`, or the position of the first byte that
/// is no digit, by the alphabet.
fn by_hand(text: &[u8], limit: usize) -> Result<u128, Error> {
    const DIGITS: &[u8; 64] = b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    if text.len() != 16 {
        return Err(Error::TextLength { expected: 16, found: text.len() });
    }
    text.iter().enumerate().try_fold(0, |word, (position, byte)| {
        let digit = DIGITS[..limit].iter().position(|digit| digit == byte);
        let digit = digit.ok_or(Error::TextCharacter { position })?;
        Ok(word * limit as u128 + digit as u128)
    })
}

#[derive(Default, Debug, PartialEq, Eq)]
struct Kinds {
    /// The texts of a global ID: accepted, and refused.
    global: [usize; 2],
    local: [usize; 2],
    /// The texts in base62: local, global, and refused.
    base62: [usize; 3],
    bytes: usize,
    /// The texts in JSON: accepted, refused, and no string.
    json: [usize; 3],
    /// The IDs made by hand: local, global, and of more bits than there are.
    by_hand: [usize; 3],
}

#[test]
fn what_the_reference_guid_takes_wrongly_or_refuses_is_refused_and_all_else_agrees() {
    let mut kinds = Kinds::default();
    let rows = rows::<Row>(include_str!("guid_invalid.jsonl"));
    for row in &rows {
        let failed = row.panic.is_some() || row.err.as_ref().is_some_and(|error| error != "<nil>");
        assert_eq!((row.ok, row.hex.is_some()), (!failed, !failed), "{row:?}");
        match &*row.api {
            "FromStringG" => {
                let (text, read) = (row.bytes(), Id::from_text(&row.bytes()));
                assert_eq!(read.map(Id::word), by_hand(&text, 64), "{row:?}");
                kinds.global[usize::from(read.is_err())] += 1;
                match read {
                    Ok(id) => {
                        assert_eq!((id.word(), &id.text()[..]), (row.word(), &text[..]), "{row:?}");
                    }
                    Err(error) => assert_eq!(error, refusal(row), "{row:?}"),
                }
            }
            "FromStringL" => {
                let (text, read) = (row.bytes(), Local::from_text(&row.bytes()));
                assert_eq!(read.map(|id| u128::from(id.0)), by_hand(&text, 16), "{row:?}");
                kinds.local[usize::from(read.is_err())] += 1;
                match read {
                    Ok(id) => {
                        assert_eq!(u128::from(id.0), row.word(), "{row:?}");
                        assert_eq!(id.text()[..], text, "{row:?}");
                        assert_eq!(row.text.as_ref().unwrap().as_bytes(), text, "{row:?}");
                    }
                    // The library keeps the lower bits of a digit above 15.
                    Err(Error::TextCharacter { position }) => {
                        let taken = shown(row);
                        assert!(row.ok && taken != text, "{row:?}");
                        let agree = text.iter().zip(taken).take_while(|(a, b)| a == b);
                        assert_eq!(agree.count(), position, "{row:?}");
                    }
                    Err(error) => assert_eq!(error, refusal(row), "{row:?}"),
                }
            }
            "FromBase62" => kinds.base62[assert_base62(row)] += 1,
            // Bytes have a type here, and its length.
            "FromBytes" => {
                kinds.bytes += 1;
                let bytes = row.bytes();
                match <[u8; 8]>::try_from(&*bytes) {
                    Ok(bytes) => {
                        let id = Local(u64::from_be_bytes(bytes));
                        assert_eq!(id, local(row.hex.as_ref().unwrap()), "{row:?}");
                        assert_eq!(id.text(), row.text.as_ref().unwrap().as_bytes(), "{row:?}");
                    }
                    Err(_) => assert!(!row.ok && <[u8; 12]>::try_from(&*bytes).is_err(), "{row:?}"),
                }
            }
            "UnmarshalJSON" | "json.Unmarshal" => kinds.json[assert_json(row)] += 1,
            "encode" => kinds.by_hand[assert_made_by_hand(row)] += 1,
            _ => panic!("a row of no known kind: {row:?}"),
        }
    }
    let expected = Kinds {
        global: [9, 5],
        local: [3, 11],
        base62: [2, 2, 6],
        bytes: 3,
        json: [3, 7, 4],
        by_hand: [2, 2, 2],
    };
    assert_eq!(kinds, expected);
    assert_eq!(rows.len(), 61);
}

/// Returns the error of a refused text, according to its row.
fn refusal(row: &Row) -> Error {
    match &*row.label {
        "empty" => Error::TextLength { expected: 16, found: 0 },
        "'-' is outside the alphabet: decodes as 0 ('.')" | "space" | "NUL" => {
            Error::TextCharacter { position: 14 }
        }
        "all outside" | "8 two-byte chars = 16 bytes" => Error::TextCharacter { position: 0 },
        _ => panic!("a label of no known kind: {row:?}"),
    }
}

/// The library distinguishes the types by the number of bytes, and takes no number that does not
/// have eight or twelve. Here the caller names a type, and a small number is valid, too.
fn assert_base62(row: &Row) -> usize {
    let text = row.bytes();
    let (as_global, as_local) = (Id::from_base62(&text), Local::from_base62(&text));
    let overflow = Err(Error::TextOverflow { bits: 64 });
    match &*row.label {
        "valid local" | "2^64-1" => {
            let id = local(row.hex.as_ref().unwrap());
            assert_eq!((as_local, as_global.map(Id::word)), (Ok(id), Ok(id.0.into())), "{row:?}");
            assert_eq!((id.text().as_slice(), u128::from(id.0)), (shown(row), row.word()));
            assert_eq!(id.base62().as_str().as_bytes(), text, "{row:?}");
            0
        }
        "62^16-1 fits 96 bits" | "17 digits that fit 96 bits" => {
            let id = global(row.hex.as_ref().unwrap());
            assert_eq!((as_local, as_global), (overflow, Ok(id)), "{row:?}");
            assert_eq!((id.text().as_slice(), id.word()), (shown(row), row.word()), "{row:?}");
            assert_eq!(id.base62().as_str().as_bytes(), text, "{row:?}");
            1
        }
        "62^11-1 exceeds 64 bits" => {
            assert!(!row.ok);
            assert_eq!((as_local, as_global.map(Id::word)), (overflow, Ok(62u128.pow(11) - 1)));
            2
        }
        "2^64" => {
            assert!(!row.ok);
            assert_eq!((as_local, as_global.map(Id::word)), (overflow, Ok(1 << 64)));
            2
        }
        "one" => {
            assert!(!row.ok);
            assert_eq!((as_local, as_global.map(Id::word)), (Ok(Local(1)), Ok(1)));
            2
        }
        "dash" | "space" | "non ascii" => {
            assert!(!row.ok);
            assert_eq!(as_global, Err(Error::TextCharacter { position: 15 }), "{row:?}");
            // A local ID is full before that.
            assert_eq!(as_local, overflow, "{row:?}");
            2
        }
        _ => panic!("a label of no known kind: {row:?}"),
    }
}

fn shown(row: &Row) -> &[u8] {
    row.text.as_ref().expect("a text").as_bytes()
}

/// JSON is read by a JSON library. fogfish/guid writes a local ID as a global one with a star
/// before it, and takes two stars for one and a digit.
fn assert_json(row: &Row) -> usize {
    let input = row.input.as_ref().unwrap();
    let Ok(Some(content)) = serde_json::from_str::<Option<String>>(input) else {
        assert!(!row.ok && matches!(&**input, "null" | "100"), "{row:?}");
        return 2;
    };
    let read = match content.strip_prefix('*') {
        Some(text) => Id::from_text(text.as_bytes()).map(|id| u128::from(id.local().0)),
        None => Id::from_text(content.as_bytes()).map(Id::word),
    };
    match read {
        Ok(word) => {
            assert_eq!(word, row.word(), "{row:?}");
            0
        }
        Err(error) => {
            let expected = match &**input {
                "\"**iiTRfl2BaVI1B.0\"" => Error::TextCharacter { position: 0 },
                _ => Error::TextLength {
                    expected: 16,
                    found: content.strip_prefix('*').unwrap_or(&content).len(),
                },
            };
            assert_eq!(error, expected, "{row:?}");
            assert_eq!(row.ok, row.label == "star star", "{row:?}");
            1
        }
    }
}

/// IDs that no generator of the library makes: of drift 0, or of more than 96 bits. The library
/// takes an ID without a high half for a local ID.
fn assert_made_by_hand(row: &Row) -> usize {
    assert!(row.input_hex.is_none() && row.err.as_deref() == Some("<nil>"), "{row:?}");
    let [high, low] = [&row.hi, &row.lo].map(|half| number::<u64>(half.as_ref().unwrap()));
    let (hex, base62) = (row.hex.as_ref().unwrap(), row.base62.as_ref().unwrap());
    let time = number::<u64>(row.time.as_ref().unwrap()) >> 17;
    let assert_parts = |parts: Parts| {
        let Parts { drift, time: at, node, sequence } = parts;
        let expected = (0, time, row.node.unwrap(), row.seq.unwrap());
        assert_eq!((drift.code(), at.0, node, sequence), expected, "{row:?}");
    };
    let json = |id: Id, star| format!("\"{star}{}\"", String::from_utf8_lossy(&id.text()));
    match high {
        0 => {
            let id = local(hex);
            assert_eq!((id.0, &id.text()[..], id.base62().as_str()), (low, shown(row), &**base62));
            assert_parts(id.parts());
            // With a node it may have no high half either, and the library then writes it as a
            // local ID.
            let global = id.global(row.json_node.unwrap()).unwrap();
            let written = *row.json.as_ref().unwrap() == json(global, "*");
            assert_eq!(written, global.word() >> 64 != 0, "{row:?}");
            assert_eq!(row.json_roundtrip, Some(written), "{row:?}");
            0
        }
        _ if high <= u32::MAX.into() => {
            let id = global(hex);
            assert_eq!(id.word(), u128::from(high) << 64 | u128::from(low), "{row:?}");
            assert_eq!((&id.text()[..], id.base62().as_str()), (shown(row), &**base62), "{row:?}");
            assert_parts(id.parts());
            assert_eq!(*row.json.as_ref().unwrap(), json(id, ""), "{row:?}");
            assert_eq!(row.json_roundtrip, Some(true), "{row:?}");
            1
        }
        // Twelve bytes have no room for it. The library shows it without the upper bits.
        _ => {
            let id = global(hex);
            let cut = u128::from(high as u32) << 64 | u128::from(low);
            assert_eq!((id.word(), &id.text()[..]), (cut, shown(row)), "{row:?}");
            assert_eq!(row.json_roundtrip, Some(false), "{row:?}");
            2
        }
    }
}
