//! The streams by their names: those of ID types, and those in the setting `flakeid.streams`.
//!
//! [`flakeid_core::watermark`] argues about streams. Here a name becomes a place in the slots:
//! * *The IDs of an ID type* are a stream whose place and name are fixed. guid and guid_local write
//!   the same IDs in two ways, from one cell, so they have one stream with two names.
//! * *A named stream* gets its place at its first use (`StreamNames` of [`crate::shmem`]), by a
//!   writer or by a reader. A name that leaves the setting keeps its place: transactions may have
//!   entered it. A call with that name is an error, as it is with any name that is not listed.
//! * *A restart* forgets the places. No transaction outlives it but prepared ones, which count for
//!   all streams.

use crate::error::{Code, Report, quoted};
use crate::guc;
use crate::id_types::{ID_TYPES, index_of_sql_name};
use crate::lock::ExclusiveLock;
use crate::shmem::{self, stream_of_id_type};
use flakeid_core::watermark::{Stream, Streams};
use std::cell::RefCell;

/// The stream of a name that this process has looked up, and the version of the settings then.
struct Known {
    name: String,
    stream: Stream,
    version: u32,
}

thread_local! {
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// Returns the stream with a name, for a call that generates an ID in it. The name has the bytes of
/// the database's encoding.
///
/// # Errors
/// The setting does not list the name, or is not valid; or too many names were used since the
/// start.
pub fn named(name: &[u8]) -> Result<Stream, Report> {
    let version = guc::version();
    let known = KNOWN.with_borrow(|known| {
        let is_it = |known: &&Known| known.name.as_bytes() == name && known.version == version;
        known.iter().find(is_it).map(|known| known.stream)
    });
    known.map_or_else(|| look_up(name, version), Ok)
}

/// Returns the stream with a name, for a reader: it can be that of an ID type.
///
/// # Errors
/// The errors of [`named`], for a name that is not that of an ID type.
pub fn of_name(name: &[u8]) -> Result<Stream, Report> {
    of_id_type(name).map_or_else(|| named(name), Ok)
}

/// Returns the stream of the IDs of the type with this name in SQL.
fn of_id_type(name: &[u8]) -> Option<Stream> {
    index_of_sql_name(str::from_utf8(name).ok()?).map(stream_of_id_type)
}

#[cold]
fn look_up(name: &[u8], version: u32) -> Result<Stream, Report> {
    // A session that generates IDs has checked the generator IDs before.
    guc::ensure_usable(false)?;
    // The setting has names of ASCII alone.
    let listed = str::from_utf8(name).ok().filter(|name| guc::lists_stream(name));
    let name = listed.ok_or_else(|| not_listed(name))?;
    let memory = shmem::watermark()?;
    let stream = match memory.streams.find(name) {
        Some(stream) => stream,
        None => {
            let lock = ExclusiveLock::take_interruptibly(memory.lock());
            memory.streams.add(&lock, name).ok_or_else(too_many)?
        }
    };
    KNOWN.with_borrow_mut(|known| {
        known.retain(|known| known.name != name);
        known.push(Known { name: name.into(), stream, version });
    });
    Ok(stream)
}

/// Returns the names of streams, without that of all IDs.
pub fn names_of(streams: Streams) -> Vec<String> {
    let name = |stream: Stream| {
        let id_type = ID_TYPES.iter().enumerate().find(|&(i, _)| stream_of_id_type(i) == stream);
        let of_id_type = id_type.map(|(_, id_type)| String::from(id_type.name));
        of_id_type.or_else(|| shmem::attached_watermark()?.streams.name(stream))
    };
    streams.iter().filter_map(name).collect()
}

fn not_listed(name: &[u8]) -> Report {
    let report = Report::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("stream \"{}\" is not in \"flakeid.streams\"", quoted(name)),
    );
    match of_id_type(name) {
        Some(_) => {
            report.hint("This is the stream of an ID type: call a function without a stream.")
        }
        None => {
            report.hint("Correct the name, or add it to the setting and reload the configuration.")
        }
    }
}

fn too_many() -> Report {
    Report::new(Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "too many streams since the server started")
        .detail(format!("The limit is {} named streams.", guc::MAX_STREAMS))
        .hint("Restart the server.")
}
