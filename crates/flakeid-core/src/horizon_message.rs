//! The horizon as a server writes it into its write-ahead log (WAL), for standbys and for recovery
//! from a backup.
//!
//! All numbers are little-endian; times are nanoseconds since 1970-01-01 UTC.
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 1 | the format's number: 1 |
//! | 1 | 1 | the tick-tock bit in use |
//! | 2 | 3 × 8 | the horizon of each track |
//! | 26 | 8 | the reading of the clock when the horizon moved |
//! | 34 | 8 | the earliest epoch of this server's flakes; 2^64 - 1 if there is no flake |
//!
//! A later format begins with the same fields, and has its own after them. So each version reads
//! the horizon of all later ones.

use crate::clock::UnixNanos;
use crate::gate::{Horizon, TRACKS};

/// The format that this version writes.
const FORMAT: u8 = 1;

/// The length of the fields that every format begins with.
pub const LENGTH: usize = 2 + 8 * (TRACKS + 2);

/// The value for no epoch.
const NONE: u64 = u64::MAX;

/// The state of a primary that its standbys have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HorizonMessage {
    /// The primary's horizon.
    pub horizon: Horizon,
    /// The reading of the clock at which the horizon moved.
    pub read_at: UnixNanos,
    /// The earliest epoch by which the server issued flakes; `None` if it has issued no flake.
    pub flake_epoch: Option<UnixNanos>,
}

impl HorizonMessage {
    /// Returns the message as bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = FORMAT;
        bytes[1] = self.horizon.toggle.into();
        let [single, tick, tock] = self.horizon.until;
        let epoch = self.flake_epoch.unwrap_or(UnixNanos(NONE));
        let moments = [single, tick, tock, self.read_at, epoch];
        for (field, moment) in bytes[2..].chunks_exact_mut(8).zip(moments) {
            field.copy_from_slice(&moment.0.to_le_bytes());
        }
        bytes
    }

    /// Reads a message of this format or a later one; `None` for bytes that are neither.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let &[format, toggle, ..] = bytes.get(..LENGTH)? else { return None };
        if format < FORMAT {
            return None;
        }
        let mut fields = bytes[2..LENGTH].chunks_exact(8);
        let mut moment = || {
            let field = fields.next()?.try_into().ok()?;
            Some(UnixNanos(u64::from_le_bytes(field)))
        };
        let until = [moment()?, moment()?, moment()?];
        Some(Self {
            horizon: Horizon { until, toggle: toggle != 0 },
            read_at: moment()?,
            flake_epoch: moment().filter(|epoch| epoch.0 != NONE),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    const MESSAGE: HorizonMessage = HorizonMessage {
        horizon: Horizon { until: [UnixNanos(1), UnixNanos(1 << 40), UnixNanos(3)], toggle: true },
        read_at: UnixNanos(4),
        flake_epoch: Some(UnixNanos(0)),
    };

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for flake_epoch in [None, Some(UnixNanos(0)), Some(UnixNanos(1_262_304_000_000_000_000))] {
            for toggle in [false, true] {
                let horizon = Horizon { toggle, ..MESSAGE.horizon };
                let message = HorizonMessage { horizon, flake_epoch, ..MESSAGE };
                assert_eq!(HorizonMessage::decode(&message.encode()), Some(message));
            }
        }
    }

    #[test]
    fn the_bytes_are_those_that_servers_have_in_their_wal() {
        let bytes = MESSAGE.encode();
        assert_eq!(bytes[..2], [1, 1]);
        assert_eq!(bytes[2..10], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[10..18], [0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(bytes[26..34], [4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), 42);
    }

    #[test]
    fn the_horizon_of_a_later_format_is_read() {
        let mut later = Vec::from(MESSAGE.encode());
        later[0] = 2;
        later.extend([7; 20]);
        assert_eq!(HorizonMessage::decode(&later), Some(MESSAGE));
    }

    #[test]
    fn bytes_of_no_format_are_no_message() {
        let bytes = MESSAGE.encode();
        for length in 0..LENGTH {
            assert_eq!(HorizonMessage::decode(&bytes[..length]), None);
        }
        let mut none = bytes;
        none[0] = 0;
        assert_eq!(HorizonMessage::decode(&none), None);
    }
}
