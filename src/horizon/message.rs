//! The horizon as a logical message in the WAL: how it is written, how it is known again, and what a state becomes by
//! it. Why is argued in [`wal`](super::wal), which replays it.

use super::file::State;
use crate::id_types::ServerIdType;
use crate::shmem::Recovered;
use flakeid_core::flake::Flake;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::{self, HorizonMessage};
use pgrx::pg_sys;
use std::mem::offset_of;

/// The message's prefix, as PostgreSQL keeps it: with its zero.
const PREFIX: &[u8] = b"flakeid\0";

/// Where a record's prefix begins.
const HEADER: usize = offset_of!(pg_sys::xl_logical_message, message);

/// The whole contents of a record.
const RECORD: usize = HEADER + PREFIX.len() + horizon_message::LENGTH;

/// Writes a message into the WAL. The server is not in recovery.
pub(super) fn write(message: &HorizonMessage) {
    let mut record = [0u8; RECORD];
    let mut put = |at: usize, bytes: &[u8]| record[at..][..bytes.len()].copy_from_slice(bytes);
    // The database is 0 and the message is not transactional.
    put(offset_of!(pg_sys::xl_logical_message, prefix_size), &PREFIX.len().to_ne_bytes());
    let length = horizon_message::LENGTH.to_ne_bytes();
    put(offset_of!(pg_sys::xl_logical_message, message_size), &length);
    put(HEADER, PREFIX);
    put(HEADER + PREFIX.len(), &message.encode());
    // SAFETY: SQL functions and workers run outside of critical sections and of the making of any other record; the
    // bytes live until they have been inserted. An error unwinds from here, and PostgreSQL forgets the record
    // that was begun when it aborts the transaction, or this process ends.
    unsafe {
        pg_sys::XLogBeginInsert();
        pg_sys::XLogSetRecordFlags(pg_sys::XLOG_MARK_UNIMPORTANT as u8);
        pg_sys::XLogRegisterData(record.as_mut_ptr().cast(), RECORD as _);
        pg_sys::XLogInsert(
            pg_sys::RmgrIds::RM_LOGICALMSG_ID as u8,
            pg_sys::XLOG_LOGICAL_MESSAGE as u8,
        );
    }
}

/// Returns the message of a record that [`write()`] has made; `None` for those of others.
pub(super) fn message_of(record: &[u8]) -> Option<&[u8]> {
    let (header, rest) = record.split_at_checked(HEADER)?;
    let number = |at: usize| {
        let bytes = header.get(at..at + size_of::<usize>())?;
        Some(usize::from_ne_bytes(bytes.try_into().ok()?))
    };
    let database = header.get(..size_of::<pg_sys::Oid>())?;
    let transactional = header.get(offset_of!(pg_sys::xl_logical_message, transactional))?;
    let prefix_size = number(offset_of!(pg_sys::xl_logical_message, prefix_size))?;
    let size = number(offset_of!(pg_sys::xl_logical_message, message_size))?;
    let ours = database.iter().all(|&byte| byte == 0)
        && *transactional == 0
        && prefix_size == PREFIX.len();
    rest.strip_prefix(PREFIX).filter(|message| ours && message.len() == size)
}

/// Whether a state would not change by what was recovered.
pub(super) fn covers(state: &State, recovered: &Recovered) -> bool {
    merged(*state, recovered) == *state
}

/// A state and what was recovered. Where that is beyond the state, it is the later one, and knows which timeline
/// is in use.
pub(super) fn merged(state: State, recovered: &Recovered) -> State {
    const FLAKE: usize = Flake::PLACE;
    let Some(message) = recovered.message() else { return state };
    let joined = state.horizon.joined(message.horizon);
    let mut epochs = state.epochs;
    epochs[FLAKE] = match (epochs[FLAKE], message.flake_epoch) {
        (Some(known), Some(told)) => Some(known.min(told)),
        (known, told) => known.or(told),
    };
    if joined == state.horizon {
        return State { epochs, ..state };
    }
    State {
        horizon: Horizon { toggle: message.horizon.toggle, ..joined },
        since: message.read_at,
        written: state.written.max(message.read_at),
        epochs,
        ..state
    }
}
