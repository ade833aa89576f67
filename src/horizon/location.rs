//! The place where the state was last written: a host and a data directory.
//!
//! A copy of a data directory has the state of its origin. If both servers run, they generate the same IDs, and
//! neither can see it. So a server writes its place beside the state, in the file `flakeid/location`. A server that
//! finds another place there was copied, moved or promoted: it says so in its log, with both places. With
//! `flakeid.moved_state = 'error'` it generates no IDs until an operator has looked.
//!
//! # What the file decides
//! It decides nothing about the horizon, so no ID depends on it. A file that is missing, damaged or unreadable names
//! no place, and a failed write is one line in the log.
//!
//! # What outlives what
//! * The file is written with the first write of the state after shared memory was set up, under the server's lock.
//!   The line in the log comes before that write. A server that writes no state leaves the place of its origin there,
//!   and says so at each start.
//! * A backup, a clone and a standby have the file of their origin. `pg_rewind` takes that of its source.
//! * A container with a new host name for each start is another place each time. That is a line in the log, and a
//!   reason not to choose `'error'`.

use super::file::directory;
use crate::error::Report;
use crate::identity::host_name;
use crate::regular_file::{self, Links};
use crate::shmem::HorizonRecord;
use crate::{guc, server_log};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// The file's name in the directory of flakeid's files.
const NAME: &str = "location";

/// The length in bytes from which on a file is not read: two names of at most 4,096 bytes each, escaped.
const MAX_LENGTH: usize = 65_536;

/// The version of the file's contents.
const VERSION: u64 = 1;

/// A place at which a server writes its state, as the file has it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Location {
    flakeid_location: u64,
    host: String,
    data_directory: String,
}

impl Location {
    /// Returns this server's place; `None` if the host has no name.
    fn here() -> Option<Self> {
        let data_directory = directory().parent()?.to_path_buf();
        let data_directory = data_directory.canonicalize().unwrap_or(data_directory);
        Some(Self {
            flakeid_location: VERSION,
            host: host_name()?.to_owned(),
            data_directory: data_directory.to_string_lossy().into_owned(),
        })
    }

    /// Returns the place that the file names, if it names one.
    fn on_disk() -> Option<Self> {
        let path = directory().join(NAME);
        let (bytes, _) = regular_file::read(&path, MAX_LENGTH, Links::Refused).ok()?;
        serde_json::from_slice(&bytes)
            .ok()
            .filter(|location: &Self| location.flakeid_location == VERSION)
    }
}

/// The place of the file and this server's, if they differ: a sentence for the log and for operators.
fn moved() -> Option<String> {
    let (there, here) = (Location::on_disk()?, Location::here()?);
    (there != here).then(|| {
        format!(
            "It was last written on host \"{}\" in \"{}\". This is host \"{}\" and \"{}\".",
            there.host, there.data_directory, here.host, here.data_directory
        )
    })
}

/// Writes a line to the log if the state was last written in another place.
pub(super) fn log_move() {
    if let Some(places) = moved() {
        server_log::moved(places);
    }
}

/// Checks that this server may go on with a state that was last written in another place.
///
/// # Errors
/// The state was written in another place, and `flakeid.moved_state` is `error`.
pub(super) fn ensure_not_moved() -> Result<(), Report> {
    match moved().filter(|_| guc::refuses_moved_state()) {
        None => Ok(()),
        Some(places) => Err(Report::wrong_state(
            "the state file was written on another host or in another data directory",
        )
            .confidential(places)
            .hint(
                "Make sure that the server in that place is stopped, or that this one has other generator IDs. \
                 Then set \"flakeid.moved_state\" to \"log\" and reload the configuration.",
            )),
    }
}

/// Writes down this server's place, once for each life of the shared memory. The caller holds the server's lock and has
/// written the state.
pub(super) fn keep(record: &HorizonRecord) {
    if record.located.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(here) = Location::here().filter(|here| Location::on_disk().as_ref() != Some(here))
    else {
        return;
    };
    let written = serde_json::to_vec_pretty(&here)
        .map_err(|error| ("write", error.into()))
        .and_then(|bytes| regular_file::replace(&directory(), NAME, &bytes));
    if let Err((action, error)) = written {
        server_log::location_not_written(action, &error);
    }
}
