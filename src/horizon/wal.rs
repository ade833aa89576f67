//! The horizon in the write-ahead log (WAL), and how a server that replays it learns its primary's.
//!
//! A primary writes each move of its horizon into the WAL as a logical message, before the IDs that
//! the move lets through. The startup process of a standby, or of a restored backup, reads these
//! messages as it replays them. It keeps the greatest horizon in shared memory and writes it to the
//! state file before PostgreSQL can discard the WAL that contains it. So a promoted server begins
//! above all IDs that its WAL can know of.
//!
//! # Which process writes what
//! * A primary writes each move of its horizon as a message ([`super::message::write`]), in the
//!   form of [`wal_message`].
//! * Only the startup process replays. If the library is preloaded, it calls the functions of this
//!   file, which [`register`] has put around PostgreSQL's own in its table of resource managers.
//!   They keep the greatest horizon by track in shared memory ([`crate::shmem::Recovered`]), and
//!   write the state file where the argument needs it. At the end, and when the WAL timeline
//!   changes, they also write how far they have replayed ([`lineage`]). They pass the messages of
//!   another part of the library on to its [`ReplayHandler`], and let it write its own file at the
//!   same moments.
//!
//! A worker that reads the WAL beside the startup process would not suffice: restart points remove
//! segments that it has not read yet, it does not start before consistency is reached, and
//! `max_worker_processes` may be too small for it. A resource manager of our own would see each
//! record, too, but a server without this library could not replay the WAL.
//!
//! # The argument
//! 1. *The message comes before the IDs.* The session that moves the horizon writes the state file,
//!    then the message, and then opens the gate, all under the server's lock. So an ID is issued
//!    after a message that covers it was inserted. All that is in the WAL of that ID (its row, the
//!    commit of its transaction) comes after the message. No session waits for the message to be
//!    flushed: WAL is flushed and sent in its order, so that a server that has the row has the
//!    message, with `synchronous_commit = off`, too. IDs without a row are not part of this
//!    argument. But the WAL writer flushes the message soon ([`wal_message`]), so that a standby
//!    that keeps up mostly has it before the clock has passed the horizon of the message before,
//!    and then knows all IDs. If the message cannot be inserted, PostgreSQL raises an error or
//!    restarts the server; the gate has not moved then, and a state file that is ahead of it is
//!    safe.
//! 2. *A server that replays the row has replayed the message, or begins behind it.* Recovery
//!    begins at a redo point. Either the message is after that: then the startup process meets it,
//!    on each WAL timeline, from an archive, a primary or a standby, before consistency is reached,
//!    with `hot_standby = off`, and without a worker. Or it is before: then the state file with
//!    which recovery began covers it, by 3 and 4.
//! 3. *A backup's state file covers what is before its redo point.* The redo point is chosen first,
//!    and the files are copied afterwards; the state file was written before each message that is
//!    before it. This holds for `pg_basebackup`, `pg_rewind` and snapshots, and by 4 for backups of
//!    a standby.
//! 4. *A standby's state file covers what is before its restart point.* A restart point comes from
//!    a checkpoint record that was replayed, and its redo point is before that record. Before the
//!    startup process replays such a record, it writes down what it has recovered
//!    ([`save_if_needed`]). It does so once more at the end of recovery, before PostgreSQL makes
//!    the checkpoint that ends it, after which nothing would be replayed again.
//! 5. *No process opens the state too early.* Sessions and workers open it when recovery is over,
//!    and PostgreSQL says so after the last record was replayed. What was recovered until then is
//!    in shared memory. The first process that opens the state begins above it, be it a session or
//!    the worker. If it is lost with the memory, it is on disk by 4, or is replayed again.
//! 6. *The horizon is a maximum, by track.* A primary's clock may have been ahead for a while: the
//!    greatest message counts, not the last. The last one gives the timeline in use and the clock,
//!    which are preferences.
//! 7. *The file of a primary that crashes is ahead.* It was written before each message that its
//!    recovery replays. So nothing changes there, unless an administrator has restored an older
//!    file or removed the state. Then the messages since the last checkpoint count, as they should.
//!
//! # Which changes have a message
//! [`super::write`] writes a message each time: when the gate moves, when a type issues its first
//! IDs with an epoch, when the state begins at what was recovered, and when a superuser accepts the
//! clock. No message is written when the horizon only comes down to what was issued. That is so at
//! a clean stop, when the WAL is closed already, and when the last session leaves a server that
//! does not preload the library. None is due when shared memory is initialized at the file's
//! horizon: nothing is issued before the gate moves. A standby writes none, as it has no WAL of its
//! own.
//!
//! # What does not hold
//! * Some IDs are in no WAL, or in none that arrived: those that a client got before the WAL
//!   reached the standby, the tail that `pg_rewind` discards, and what the primary issued after the
//!   target of a recovery to a point in time. They are safe if the clock is not behind the last of
//!   them.
//! * A standby that does not preload the library (since PostgreSQL 17 it need not) has the latest
//!   times alone. If it is promoted and restarted, it has nothing, and notices that: see
//!   [`lineage`].
//! * A standby that cannot write its state file logs that, and tries again at the next checkpoint
//!   record. If it is restarted before that succeeds, it has lost the messages before its restart
//!   point.
//!
//! # What it costs
//! A record of 100 bytes, which takes 104, for each move of the horizon: once in three quarters of
//! `flakeid.horizon_lead` in which IDs are generated. During recovery: a comparison for each record
//! of the resource manager XLOG, and a write of the state file for a checkpoint record if the
//! horizon has moved since the last. At the end of a recovery from an archive, and when the WAL
//! timeline changes, two writes.

use super::file::{self, PersistedState};
use super::lineage;
use super::location;
use super::message::message_of;
use super::opening::{check_cluster, has_recovered, merge_replayed};
use crate::error::Report;
use crate::lock::ExclusiveLock;
use crate::server_log;
use crate::shmem::{Shared, shared};
use crate::wal_message;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_formats::wal_point::{Point, Position};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

type Redo = Option<unsafe extern "C-unwind" fn(*mut pg_sys::XLogReaderState)>;
type Cleanup = Option<unsafe extern "C-unwind" fn()>;

static mut MESSAGE_REDO: Redo = None;
static mut XLOG_REDO: Redo = None;
static mut MESSAGE_CLEANUP: Cleanup = None;

/// A part of the library that has messages of its own in the WAL.
#[derive(Clone, Copy, Debug)]
pub struct ReplayHandler {
    /// The kinds of its messages.
    pub messages: &'static [MessageKind],
    /// The startup process calls this before the next recovery can begin behind what it has
    /// replayed.
    pub save_if_needed: fn(),
}

/// A kind of messages.
#[derive(Clone, Copy, Debug)]
pub struct MessageKind {
    /// The prefix of the messages.
    pub prefix: &'static CStr,
    /// The startup process calls this with the content of each message that it replays.
    pub replay: fn(&[u8]),
}

/// The other part of the library, if there is one.
static mut HANDLER: Option<ReplayHandler> = None;

/// Lets another part of the library replay its messages. It is called once, while libraries are
/// preloaded.
pub fn replay_with(handler: ReplayHandler) {
    // SAFETY: this is a plain variable of a process that has one thread.
    unsafe { HANDLER = Some(handler) };
}

/// Whether this process has recovered a horizon that the state file may not have.
static UNSAVED: AtomicBool = AtomicBool::new(false);
/// The WAL timeline of the last record before which this process has saved what was recovered.
static WAL_TIMELINE: AtomicU32 = AtomicU32::new(0);
/// Whether the log says already that the state file could not be written.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Puts this file's functions around PostgreSQL's own. The postmaster calls this while it preloads
/// libraries; its children inherit the table.
pub(super) fn register() {
    let table = (&raw mut pg_sys::RmgrTable).cast::<pg_sys::RmgrData>();
    // SAFETY: the table has an entry for each number of PostgreSQL's own. It may be changed while
    // libraries are preloaded, as extensions do that have a resource manager; the process has one
    // thread.
    unsafe {
        let message = table.add(pg_sys::RmgrIds::RM_LOGICALMSG_ID as usize);
        MESSAGE_REDO = (*message).rm_redo;
        MESSAGE_CLEANUP = (*message).rm_cleanup;
        (*message).rm_redo = Some(redo_message);
        (*message).rm_cleanup = Some(end_redo);
        let xlog = table.add(pg_sys::RmgrIds::RM_XLOG_ID as usize);
        XLOG_REDO = (*xlog).rm_redo;
        (*xlog).rm_redo = Some(redo_xlog);
    }
}

/// Returns the kind and the own bytes of a record.
///
/// # Safety
/// `reader` must have read a record, which lives as long as the bytes are used.
unsafe fn contents<'a>(reader: *mut pg_sys::XLogReaderState) -> (u8, &'a [u8]) {
    // SAFETY: PostgreSQL has decoded the record, and the caller keeps it.
    unsafe {
        let record = (*reader).record;
        let kind = (*record).header.xl_info & !(pg_sys::XLR_INFO_MASK as u8);
        match (*record).main_data_len as usize {
            0 => (kind, &[]),
            length => (kind, std::slice::from_raw_parts((*record).main_data.cast(), length)),
        }
    }
}

/// Replays a logical message.
unsafe extern "C-unwind" fn redo_message(reader: *mut pg_sys::XLogReaderState) {
    // SAFETY: the startup process calls this with the record that it replays, and this calls
    // PostgreSQL's own function as the startup process would.
    let (kind, record, handler) = unsafe {
        if let Some(redo) = MESSAGE_REDO {
            redo(reader);
        }
        let (kind, record) = contents(reader);
        (kind, record, HANDLER)
    };
    if u32::from(kind) != pg_sys::XLOG_LOGICAL_MESSAGE {
        return;
    }
    if let Some(message) = message_of(record) {
        // SAFETY: the bytes are those of the record.
        unsafe { recover(message.as_ptr(), message.len()) };
        return;
    }
    for kind in handler.map_or(&[][..], |handler| handler.messages) {
        if let Some(message) = wal_message::content_of(record, kind.prefix) {
            // SAFETY: the bytes are those of the record.
            unsafe { pass_on(kind, message.as_ptr(), message.len()) };
            return;
        }
    }
}

/// Passes a message of another part of the library on.
///
/// # Safety
/// `message` must point to `length` bytes.
#[pg_guard]
unsafe extern "C-unwind" fn pass_on(kind: &MessageKind, message: *const u8, length: usize) {
    // SAFETY: the caller guarantees these bytes.
    (kind.replay)(unsafe { std::slice::from_raw_parts(message, length) });
}

/// Adds a message of the primary to what was recovered.
///
/// # Safety
/// `message` must point to `length` bytes.
#[pg_guard]
unsafe extern "C-unwind" fn recover(message: *const u8, length: usize) {
    // SAFETY: the caller guarantees these bytes.
    let bytes = unsafe { std::slice::from_raw_parts(message, length) };
    let Ok(shared) = shared() else { return };
    match HorizonMessage::decode(bytes) {
        Some(message) => {
            shared.recovered.take(&message);
            UNSAVED.store(true, Ordering::Relaxed);
        }
        None => server_log::unknown_message(&shared.rate_limits, length),
    }
}

/// Replays a record of the resource manager XLOG. The next recovery may begin at a checkpoint.
unsafe extern "C-unwind" fn redo_xlog(reader: *mut pg_sys::XLogReaderState) {
    // SAFETY: the startup process calls this with the record that it replays, and this calls
    // PostgreSQL's own function as the startup process would.
    unsafe {
        let (kind, record) = contents(reader);
        let kind = u32::from(kind);
        if kind == pg_sys::XLOG_CHECKPOINT_ONLINE || kind == pg_sys::XLOG_CHECKPOINT_SHUTDOWN {
            // All before the record has been replayed.
            let position = Position((*reader).ReadRecPtr);
            save_recovered(Point { timeline: timeline_of_checkpoint(record), position }, false);
        }
        if let Some(redo) = XLOG_REDO {
            redo(reader);
        }
    }
}

/// Ends the replay. The checkpoint that ends recovery comes afterwards.
unsafe extern "C-unwind" fn end_redo() {
    // SAFETY: the startup process calls this once, and this calls PostgreSQL's own function, if it
    // has one, as the startup process would.
    unsafe {
        let mut timeline = 0;
        let position = Position(pg_sys::GetXLogReplayRecPtr(&raw mut timeline));
        save_recovered(Point { timeline, position }, true);
        if let Some(cleanup) = MESSAGE_CLEANUP {
            cleanup();
        }
    }
}

/// Returns the WAL timeline in the record of a checkpoint; 0 for no such record.
fn timeline_of_checkpoint(record: &[u8]) -> u32 {
    let timeline = record.get(offset_of!(pg_sys::CheckPoint, ThisTimeLineID)..);
    let bytes = timeline.and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// Saves what was recovered up to a point, if the files may not have it.
#[pg_guard]
unsafe extern "C-unwind" fn save_recovered(point: Point, is_end: bool) {
    // SAFETY: reads a plain variable, which this process has set before it replays.
    let is_archive = unsafe { pg_sys::ArchiveRecoveryRequested };
    let changes = is_archive && (is_end || WAL_TIMELINE.load(Ordering::Relaxed) != point.timeline);
    if changes || UNSAVED.load(Ordering::Relaxed) {
        match shared().and_then(|shared| save_if_needed(shared, point, is_archive, is_end)) {
            Ok(()) => {
                WAL_TIMELINE.store(point.timeline, Ordering::Relaxed);
                UNSAVED.store(false, Ordering::Relaxed);
                REPORTED.store(false, Ordering::Relaxed);
            }
            Err(failure) if !REPORTED.swap(true, Ordering::Relaxed) => {
                server_log::not_kept(failure);
            }
            Err(_) => {}
        }
    }
    // The state file has created the directory.
    // SAFETY: the variable is set before the startup process begins.
    if let Some(handler) = unsafe { HANDLER } {
        (handler.save_if_needed)();
    }
}

/// Makes what was recovered durable, unless the files have it: first the state, then what it
/// covers.
fn save_if_needed(
    shared: &Shared,
    point: Point,
    is_archive: bool,
    is_end: bool,
) -> Result<(), Report> {
    let _lock = ExclusiveLock::take(shared.lock());
    let on_disk = check_cluster(file::read()?)?;
    let has_state = on_disk.is_some();
    let location = is_archive.then(|| lineage::after_replay(has_state, point, is_end)).flatten();
    let is_kept = on_disk.is_some_and(|state| has_recovered(shared, &state));
    if location.is_some() || !is_kept && shared.recovered.message().is_some() {
        let state = PersistedState { stopped: false, ..merge_replayed(shared, on_disk)? };
        file::write(&state, |new| location::begin(&lineage::of_new_state(shared), new))?;
    }
    location.map_or(Ok(()), |location| location::write(&location))
}
