//! The watermark as a server writes it into its write-ahead log (WAL), for readers on standbys.
//!
//! All numbers are little-endian.
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 1 | the format's number: 1 |
//! | 1 | 8 | the watermark, in nanoseconds since 1970-01-01 UTC |
//! | 9 | 8 | the number that the next transaction got, read after the scan |
//!
//! A later format begins with the same fields, and has its own after them.
//!
//! # Why it holds on a standby
//! Take a row with an ID before the watermark. The watermark holds for every snapshot that sees all
//! transactions which had left before the scan
//! ([`Scan::settled`](crate::watermark::Scan::settled)). So the row's transaction T had left by
//! then, or shows the row to nobody. PostgreSQL writes the commit of T into the WAL before T ends,
//! and T has ended when it leaves. So the commit of T precedes the message in the WAL. Whether T
//! has waited for the commit to be flushed (`synchronous_commit`) makes no difference, since the
//! WAL is replayed in its order. A prepared transaction commits by a record of its own, and ends
//! after that. A subtransaction ends with its transaction.
//!
//! A standby that has replayed the message has replayed the commit of T. A snapshot that it takes
//! from then on sees T.
//!
//! An older snapshot of the standby may not see T. Two things show that a snapshot S sees all
//! commits before a message:
//! 1. *S is equal to a snapshot that is taken now*, after the message was replayed. Equal snapshots
//!    see the same.
//! 2. *S covers the position in the message*, as on the primary ([`Position`]). If the position is
//!    at or below `xmin`, S sees all smaller numbers. If it is below `xmax`, a transaction had
//!    ended in the standby's replay, when S was taken, whose number was assigned after the scan.
//!    Its end follows the commits before the scan in the WAL.
//!
//! The first serves a standby on which no transaction ends, and the second one on which many do.
//! The standby keeps some earlier messages for the second ([`History`](crate::watermark::History)).
//! If no message is known to hold for S, there is no watermark for it.

use crate::clock::UnixNanos;
use crate::watermark::Position;

/// The format that this version writes.
const FORMAT: u8 = 1;

/// The length of the fields that every format begins with.
pub const LENGTH: usize = 1 + 8 + 8;

/// A watermark of the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkMessage {
    pub watermark: UnixNanos,
    /// The number that the next transaction got, read after the scan.
    pub position: Position,
}

impl WatermarkMessage {
    /// Returns the message as bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = FORMAT;
        bytes[1..9].copy_from_slice(&self.watermark.0.to_le_bytes());
        bytes[9..].copy_from_slice(&self.position.0.to_le_bytes());
        bytes
    }

    /// Reads a message of this format or a later one; `None` for bytes that are neither.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&format, fields) = bytes.get(..LENGTH)?.split_first()?;
        let (watermark, position) = fields.split_first_chunk::<8>()?;
        let position = position.try_into().ok()?;
        (format >= FORMAT).then_some(Self {
            watermark: UnixNanos(u64::from_le_bytes(*watermark)),
            position: Position(u64::from_le_bytes(position)),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    const MESSAGE: WatermarkMessage =
        WatermarkMessage { watermark: UnixNanos(0x0102_0304_0506_0708), position: Position(9) };

    #[test]
    fn the_bytes_are_those_that_servers_have_in_their_wal() {
        let bytes = MESSAGE.encode();
        assert_eq!(bytes, [1, 8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(WatermarkMessage::decode(&bytes), Some(MESSAGE));
    }

    #[test]
    fn a_later_format_is_read_and_other_bytes_are_no_message() {
        let mut later = Vec::from(MESSAGE.encode());
        later[0] = 2;
        later.push(7);
        assert_eq!(WatermarkMessage::decode(&later), Some(MESSAGE));
        later[0] = 0;
        assert_eq!(WatermarkMessage::decode(&later), None);
        for length in 0..LENGTH {
            assert_eq!(WatermarkMessage::decode(&MESSAGE.encode()[..length]), None);
        }
    }
}
