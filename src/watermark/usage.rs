//! Whether a watermark may have been reported: by this server, or by the one whose data this is.
//!
//! Only then does the watermark limit the IDs that come after shared memory was initialized again:
//! all of them are above the greatest track of the horizon at that time ([`first_floor`]), since
//! watermarks may be up to that. Without a call clocks are handled as if there were no watermark.
//!
//! # The argument
//! 1. *It is on disk before the first watermark is reported* ([`begin_use`]): the file exists.
//! 2. *A standby learns it.* A message in the WAL follows the file. As for the horizon
//!    (`horizon::wal`), a server that replays what came after has replayed the message, or began
//!    with the file. It writes the file itself before it can begin behind the message
//!    ([`save_if_needed`]). That holds if it preloads the library, as for the horizon. For a
//!    standby that is told watermarks the horizon must be in the WAL, too, before the first of
//!    them. After a crash the message about its last move can be lost. So it is written again each
//!    time that shared memory was initialized (`horizon::log_horizon`).
//! 3. *It stays so.* Nothing takes the file away. A file that is damaged, or of another version,
//!    says the same. It is replaced when shared memory was initialized again ([`begin`]).
//!
//! # Beside other versions
//! 0.7.0 has a list of prepared transactions in its file, and in messages of format 1, one for each
//! that is prepared. This version writes neither, as each transaction has a [bound
//! lock](super::bound_lock). A 0.7.0 must not believe its list:
//! * *It gets the data of this version back.* The file has version 2, which it cannot read.
//! * *It is a standby, with a file of version 1.* A primary with this version writes a message of
//!   format 2 before its first ID, and so before each transaction that is prepared with IDs. 0.7.0
//!   does not know the format, and then trusts its list no more.
//!
//! In both cases 0.7.0 holds its watermark at 1970 until all transactions have ended that are
//! prepared then.

use super::file::{self, OnDisk};
use crate::error::Report;
use crate::horizon::{self, MessageKind};
use crate::lock::ExclusiveLock;
use crate::shmem::{self, Shared, Start, WatermarkSegment};
use crate::{server_log, wal_message};
use flakeid_core::clock::UnixNanos;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// The prefix of the messages in the WAL.
const PREFIX: &CStr = c"flakeid_prepared";

/// A message: the format alone. Messages of format 1 were longer, and say the same here.
const MESSAGE: [u8; 1] = [2];

/// The messages, as the startup process replays them.
pub const MESSAGES: MessageKind = MessageKind { prefix: PREFIX, replay };

/// Sets the floor to its beginning when shared memory was initialized, if a watermark may have been
/// reported. The horizon has been loaded, and the caller holds the lock.
///
/// # Errors
/// The file is missing or another one, and cannot be written.
pub fn begin(shared: &Shared, memory: &WatermarkSegment) -> Result<(), Report> {
    let on_disk = file::read();
    if on_disk == OnDisk::Missing && !memory.used.load(Ordering::Relaxed) {
        return Ok(());
    }
    save(shared, on_disk)?;
    memory.used.store(true, Ordering::Release);
    memory.floor.raise(first_floor(&shared.opened.start()));
    Ok(())
}

/// Remembers that the watermark is in use, before the first watermark of a server is reported.
///
/// # Errors
/// The file cannot be written.
pub fn begin_use(shared: &Shared, memory: &WatermarkSegment) -> Result<(), Report> {
    if memory.used.load(Ordering::Acquire) {
        return Ok(());
    }
    // The state file creates the directory. A watermark is no later than the horizon on disk, also
    // on a new server.
    horizon::make_durable(shared)?;
    let _lock = ExclusiveLock::take_interruptibly(memory.lock());
    if !memory.used.load(Ordering::Acquire) {
        save(shared, OnDisk::Missing)?;
        memory.used.store(true, Ordering::Release);
    }
    Ok(())
}

/// Writes the file if it is not there, and then the messages. The horizon has been loaded, and the
/// caller holds the lock.
fn save(shared: &Shared, on_disk: OnDisk) -> Result<(), Report> {
    if on_disk != OnDisk::Present {
        file::write()?;
    }
    horizon::log_horizon(shared);
    wal_message::write(PREFIX, &MESSAGE);
    Ok(())
}

/// Returns the floor when shared memory was initialized, if a watermark may have been reported
/// before. All later IDs are above the horizon of their track, and watermarks may be up to the
/// greatest.
fn first_floor(start: &Start) -> UnixNanos {
    start.horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}

/// Returns the floor, or what it will be when the first session sets it. This opens nothing and
/// writes nothing.
///
/// # Errors
/// The errors of [`shmem::watermark`].
pub fn peek_floor(start: &Start) -> Result<UnixNanos, Report> {
    let memory = shmem::watermark()?;
    // Acquire pairs with the Release in `prepared::load`.
    let has_begun = memory.loaded_at.load(Ordering::Acquire) != 0;
    let is_used = || memory.used.load(Ordering::Relaxed) || file::read() != OnDisk::Missing;
    match !has_begun && is_used() {
        true => Ok(memory.floor.get().max(first_floor(start))),
        false => Ok(memory.floor.get()),
    }
}

/// Replays a message, of any format.
fn replay(_message: &[u8]) {
    let Ok(memory) = shmem::watermark() else { return };
    if !memory.used.swap(true, Ordering::AcqRel) {
        let mut lock = ExclusiveLock::take(memory.lock());
        memory.locked(&mut lock).unsaved = true;
    }
}

/// Writes the file, if the startup process has replayed a message and the file may not be there.
pub fn save_if_needed() {
    let Ok(memory) = shmem::watermark() else { return };
    let mut lock = ExclusiveLock::take(memory.lock());
    if !memory.locked(&mut lock).unsaved {
        return;
    }
    let outcome = match file::read() {
        OnDisk::Present => Ok(()),
        OnDisk::Missing | OnDisk::Other => file::write(),
    };
    match outcome {
        Ok(()) => memory.locked(&mut lock).unsaved = false,
        Err(error) => server_log::usage_not_kept(error),
    }
}
