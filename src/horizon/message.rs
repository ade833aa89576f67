//! The horizon as a logical message in the WAL: how it is written, how it is recognized, and how it changes a state.
//! [`wal`](super::wal), which replays it, argues why.

use super::file::PersistedState;
use crate::id_types::ServerIdType;
use crate::shmem::Recovered;
use crate::wal_message;
use flakeid_core::flake::Flake;
use flakeid_core::gate::Horizon;
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

/// Returns whether what was recovered leaves a state as it is.
pub(super) fn covers(state: &PersistedState, recovered: &Recovered) -> bool {
    merged(*state, recovered) == *state
}

/// Merges a state with what was recovered. If the recovered horizon is past the state, it is the later one, and its
/// timeline is the one in use.
pub(super) fn merged(state: PersistedState, recovered: &Recovered) -> PersistedState {
    const FLAKE: usize = Flake::INDEX;
    let Some(message) = recovered.message() else { return state };
    let joined = state.horizon.joined(message.horizon);
    let mut epochs = state.epochs;
    epochs[FLAKE] = match (epochs[FLAKE], message.flake_epoch) {
        (Some(known), Some(told)) => Some(known.min(told)),
        (known, told) => known.or(told),
    };
    if joined == state.horizon {
        return PersistedState { epochs, ..state };
    }
    PersistedState {
        horizon: Horizon { toggle: message.horizon.toggle, ..joined },
        last_clock_reading: message.read_at,
        written_at: state.written_at.max(message.read_at),
        epochs,
        ..state
    }
}
