//! Messages in the write-ahead log.

use super::Input;
use flakeid_core::horizon_message::{self, HorizonMessage};
use flakeid_core::watermark_message::{self, WatermarkMessage};
use flakeid_formats::wal_record::{self, Layout};
use std::fmt::Debug;

/// The layout of PostgreSQL 15 to 19 on machines of 64 bits.
const LAYOUT: Layout =
    Layout { prefix: 24, database: 0, transactional: 4, prefix_size: 8, message_size: 16 };

pub fn wal_messages(data: &[u8]) {
    let mut input = Input(data);
    match input.u8() % 3 {
        0 => read(input.0, horizon_message::LENGTH, HorizonMessage::decode, |message| {
            // The second byte is a flag.
            let mut bytes = message.encode();
            if message.horizon.toggle {
                bytes[1] = input.0[1];
            }
            bytes.to_vec()
        }),
        1 => read(input.0, watermark_message::LENGTH, WatermarkMessage::decode, |message| {
            message.encode().to_vec()
        }),
        _ => record(input.0),
    }
}

/// Checks that a message is written as it was read, that more bytes and a later format change
/// nothing, and that fewer bytes are no message.
fn read<M: Copy + Debug + PartialEq>(
    bytes: &[u8],
    length: usize,
    decode: fn(&[u8]) -> Option<M>,
    encode: impl Fn(M) -> Vec<u8>,
) {
    let Some(message) = decode(bytes) else {
        assert!(bytes.len() < length || bytes[0] == 0, "a message was not read");
        return;
    };
    let written = encode(message);
    assert_eq!(written[1..], bytes[1..length], "other fields");
    assert_eq!(decode(&written), Some(message));
    assert_eq!(decode(&bytes[..length]), Some(message));
    assert_eq!(decode(&[&[2], &bytes[1..], b"later"].concat()), Some(message));
    assert_eq!(decode(&bytes[..length - 1]), None);
}

fn record(bytes: &[u8]) {
    let prefixes = [c"flakeid", c"flakeid_watermark", c""];
    for prefix in prefixes {
        let record = wal_record::record(prefix, bytes, &LAYOUT);
        for other in prefixes {
            let content = wal_record::content_of(&record, other, &LAYOUT);
            assert_eq!(content, (other == prefix).then_some(bytes));
        }
        // Any bytes as a record.
        if let Some(content) = wal_record::content_of(bytes, prefix, &LAYOUT) {
            let length = LAYOUT.prefix + prefix.to_bytes_with_nul().len();
            assert_eq!(content, &bytes[length..]);
            let again = wal_record::record(prefix, content, &LAYOUT);
            assert_eq!(wal_record::content_of(&again, prefix, &LAYOUT), Some(content));
        }
    }
}
