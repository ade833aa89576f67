//! Messages of this library in the write-ahead log (WAL).
//!
//! They are PostgreSQL's own records of non-transactional logical messages, which a server without
//! this library replays as well. A message belongs to no database, so no output plugin sees it, and
//! `pg_logical_emit_message` cannot forge it: that writes the number of its session's database. It
//! needs no transaction, assigns no transaction ID, works in a read-only transaction, during a
//! parallel query and at each `wal_level`, and is marked as unimportant, so that it alone makes no
//! checkpoint or archived segment due.
//!
//! A transaction that only generates IDs commits nothing, so that nobody flushes its WAL. So the
//! WAL writer is asked to, as after an asynchronous commit: it does so within three times
//! `wal_writer_delay`, and then standbys get the message.

use flakeid_formats::wal_record::{self, Layout};
use pgrx::pg_sys;
use std::ffi::CStr;
use std::mem::offset_of;

/// The layout of PostgreSQL's record on this machine.
const LAYOUT: Layout = Layout {
    prefix: offset_of!(pg_sys::xl_logical_message, message),
    database: offset_of!(pg_sys::xl_logical_message, dbId),
    transactional: offset_of!(pg_sys::xl_logical_message, transactional),
    prefix_size: offset_of!(pg_sys::xl_logical_message, prefix_size),
    message_size: offset_of!(pg_sys::xl_logical_message, message_size),
};

/// Writes a message into the WAL. The server is not in recovery. It returns before the message is
/// flushed, which the WAL writer does soon.
pub fn write(prefix: &CStr, content: &[u8]) {
    let mut record = wal_record::record(prefix, content, &LAYOUT);
    // SAFETY: SQL functions and workers run outside of critical sections, and while no other record
    // is being made. The bytes live until they have been inserted. An error unwinds from here, and
    // PostgreSQL forgets the record that was begun when it aborts the transaction, or this process
    // ends.
    unsafe {
        pg_sys::XLogBeginInsert();
        pg_sys::XLogSetRecordFlags(pg_sys::XLOG_MARK_UNIMPORTANT as u8);
        pg_sys::XLogRegisterData(record.as_mut_ptr().cast(), record.len() as _);
        let end = pg_sys::XLogInsert(
            pg_sys::RmgrIds::RM_LOGICALMSG_ID as u8,
            pg_sys::XLOG_LOGICAL_MESSAGE as u8,
        );
        pg_sys::XLogSetAsyncXactLSN(end);
    }
}

/// Returns the content of a record that [`write()`] has made with this prefix; `None` for all other
/// records.
pub fn content_of<'a>(record: &'a [u8], prefix: &CStr) -> Option<&'a [u8]> {
    wal_record::content_of(record, prefix, &LAYOUT)
}
