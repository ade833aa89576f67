//! The watermark on a standby: the last one that the primary has written into the WAL, as far as it
//! is replayed.
//!
//! [`flakeid_core::watermark_message`] has the message, and argues for which snapshots of the
//! standby it holds.
//!
//! # Which process writes what
//! * The primary's worker writes the messages ([`super::publisher`]), with [`write()`].
//! * The startup process of a standby keeps them in shared memory ([`replay`]). It does so only if
//!   the library is preloaded.
//! * Sessions on the standby read them, under the lock.
//!
//! # What outlives what
//! * *The standby restarts.* What was replayed is lost. Until the next message there is no
//!   watermark, and a call is an error. Messages that are replayed a second time are earlier ones,
//!   and hold as they did.
//! * *The standby is promoted.* All IDs of the new primary are above the horizon. A horizon in the
//!   WAL covers each message, and precedes it (`horizon::log_horizon`). A snapshot from before the
//!   promotion gets an error.
//! * *The standby follows another primary.* Its messages are later ones, since its IDs are above
//!   the horizon.
//! * *A cascaded standby* replays the same records.

use super::reader::Snapshot;
use crate::error::Report;
use crate::horizon::MessageKind;
use crate::lock::ExclusiveLock;
use crate::shmem::{self, WatermarkSegment};
use crate::wal_message;
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark_message::WatermarkMessage;
use std::ffi::CStr;

/// The prefix of the messages in the WAL.
const PREFIX: &CStr = c"flakeid_watermark";

/// The messages, as the startup process replays them.
pub const MESSAGES: MessageKind = MessageKind { prefix: PREFIX, replay };

/// Writes a message into the WAL. The server is not in recovery.
pub fn write(message: WatermarkMessage) {
    wal_message::write(PREFIX, &message.encode());
}

/// Replays a message.
fn replay(message: &[u8]) {
    let (Some(message), Ok(memory)) = (WatermarkMessage::decode(message), shmem::watermark())
    else {
        return;
    };
    let mut lock = ExclusiveLock::take(memory.lock());
    memory.locked(&mut lock).replayed.record(message.position, message.watermark);
}

/// Returns the watermark of every snapshot that this standby takes from now on.
///
/// # Errors
/// No message was replayed since the server started.
pub fn present(memory: &WatermarkSegment) -> Result<UnixNanos, Report> {
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    memory.locked(&mut lock).replayed.latest().ok_or_else(none)
}

/// Returns the watermark of a snapshot of this standby. It is 1970 if no message is known to hold
/// for the snapshot.
///
/// # Errors
/// No message was replayed since the server started.
pub fn watermark(memory: &WatermarkSegment, snapshot: &Snapshot) -> Result<UnixNanos, Report> {
    // The message is read before the other snapshot is taken: that one sees all commits before the
    // message.
    let latest = present(memory)?;
    if snapshot.equals_present() {
        return Ok(latest);
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let (xmin, xmax) = snapshot.ends();
    let earlier = memory.locked(&mut lock).replayed.watermark(xmin, xmax);
    Ok(earlier.unwrap_or(UnixNanos(0)))
}

fn none() -> Report {
    Report::wrong_state("this standby has replayed no watermark of its primary").hint(
        "Set \"flakeid.standby_watermark_interval\" on the primary, and preload flakeid on \
               both servers.",
    )
}
