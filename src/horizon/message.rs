//! The horizon as a logical message in the WAL: how it is written, and how it is recognized.
//! [`wal`](super::wal), which replays it, argues why.

use crate::wal_message;
use flakeid_core::horizon_message::HorizonMessage;
use std::ffi::CStr;

/// The message's prefix.
const PREFIX: &CStr = c"flakeid";

/// Writes a message into the WAL. The server is not in recovery.
pub(super) fn write(message: &HorizonMessage) {
    wal_message::write(PREFIX, &message.encode());
}

/// Returns the message of a record that [`write()`] has made; `None` for records of others.
pub(super) fn message_of(record: &[u8]) -> Option<&[u8]> {
    wal_message::content_of(record, PREFIX)
}
