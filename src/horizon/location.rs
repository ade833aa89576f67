//! The file `flakeid/location`, beside the state: which server wrote the state, and which WAL it
//! covers.
//!
//! A state says nothing of its server. A copy of a data directory has the state of its origin; a
//! standby has none until its primary's first ID, and then writes one from the WAL; a promoted
//! server continues with it. So a server that generates IDs writes its *place* beside the state:
//! its host, its data directory, and its WAL timeline. What a recovery has replayed is there as
//! well: [`super::lineage`] decides about that. This file is about the place.
//! [`flakeid_formats::location`] has the format.
//!
//! # What a place is for
//! If a copy runs beside its origin, both generate the same IDs, and neither can see it. A server
//! whose place is not that of the file says so in its log. With `flakeid.moved_state = 'error'` it
//! generates no IDs until an operator has looked.
//!
//! # The rule
//! [`flakeid_core::opening`] says when a state counts as moved. A primary that became a standby,
//! without `pg_rewind`, has its own place in the file, and another WAL timeline. The WAL timeline
//! also tells servers apart that all have one name and one path, as containers often do. Recovery
//! writes a state without a place, so that a standby which was made before its primary's first ID
//! counts as moved, too.
//!
//! A place is not lost in a crash: a new directory gets its files before it gets its name.
//! Elsewhere the state is written first, as the file says of it that it covers the WAL timeline. If
//! a crash comes between the two, `'error'` asks again.
//!
//! A server without a state has nothing that moved. That is a new server; and a copy of a server
//! that had never generated an ID, unless it replays one. If such a copy was promoted while the
//! library was preloaded, it has a state without a place.
//!
//! # Files of earlier versions
//! 0.7 wrote the file without a WAL timeline: then host and data directory decide, so that no
//! healthy server is refused after an update. 0.7 also reads the file of this version, as it skips
//! what it does not know; one without a place names no place for it. 0.6 wrote no file. An updated
//! server whose last ID was generated with 0.6 counts as moved: no server had the setting then, and
//! the first ID names the place.
//!
//! # What outlives what
//! * The place is written with the first write of the state after shared memory was set up, under
//!   the server's lock. The line in the log comes before that write. A server that writes no state
//!   leaves the place of its origin there, and says so at each start.
//! * A backup, a clone and a standby have the file of their origin. `pg_rewind` takes that of its
//!   source.
//! * A container with a new host name for each start is another place each time. That is a line in
//!   the log, and a reason not to choose `'error'`.

use super::file::{StateFileError, denied_code, directory};
use crate::error::{Report, os_reason};
use crate::identity::host_name;
use crate::regular_file::{self, Links, data_directory};
use crate::server_log;
use crate::shmem::Shared;
use crate::wal_timeline;
use flakeid_core::opening::{self, Evidence, Location as Facts, Move, Place};
use flakeid_formats::location::{Location, MAX_LENGTH};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The file's name in the directory of flakeid's files.
const NAME: &str = "location";

/// Returns this server's place.
pub(super) fn here() -> Location {
    let path = data_directory();
    let path = path.canonicalize().unwrap_or(path);
    let data_directory = path.to_string_lossy().into_owned();
    Location::of_server(host_name().map(Into::into), data_directory, wal_timeline::current())
}

/// Returns what the file has; `None` if it is missing or damaged.
pub(super) fn on_disk() -> Option<Location> {
    let path = directory().join(NAME);
    let (bytes, _) = regular_file::read(&path, MAX_LENGTH, Links::Refused).ok()?;
    Location::from_bytes(&bytes)
}

/// Puts the file into a directory of flakeid's files.
fn put(location: &Location, directory: &Path) -> Result<(), (&'static str, io::Error)> {
    let bytes = location.bytes().map_err(|error| ("write", error.into()))?;
    regular_file::replace(directory, NAME, &bytes)
}

/// Puts the file into a new directory.
pub(super) fn begin(location: &Location, directory: &Path) -> Result<(), StateFileError> {
    put(location, directory).map_err(|(action, error)| StateFileError::Denied { action, error })
}

/// Writes the file beside a state that exists.
///
/// # Errors
/// The operating system refuses it.
pub(super) fn write(location: &Location) -> Result<(), Report> {
    put(location, &directory()).map_err(|(action, error)| {
        Report::new(
            denied_code(&error),
            format!("could not {action} file \"flakeid/location\": {}", os_reason(&error)),
        )
    })
}

/// Returns a sentence about the place of a state that moved, and one about the consequence.
fn sentences(moved: Move, there: Option<&Facts>, here: &Facts) -> (String, &'static str) {
    let place = |facts: &Facts| {
        let place = facts.place.unwrap_or(Place { host: None, data_directory: "" });
        (place.host.unwrap_or_default().to_owned(), place.data_directory.to_owned())
    };
    match moved {
        Move::Unknown => (
            "It does not name the host and the data directory of its server: recovery wrote it, or \
             the file \"flakeid/location\" was lost."
                .into(),
            "If that server still runs, both generate the same IDs.",
        ),
        Move::Elsewhere => {
            let (host, directory) = there.map(place).unwrap_or_default();
            let (our_host, our_directory) = place(here);
            (
                format!(
                    "It was last written on host \"{host}\" in \"{directory}\". This is host \
                     \"{our_host}\" and \"{our_directory}\"."
                ),
                "If the server in that place still runs, both generate the same IDs.",
            )
        }
        Move::Timeline { then, now } => (
            format!(
                "It was last written here on WAL timeline {then}. The server was promoted or \
                 recovered since, and is on WAL timeline {now}."
            ),
            "If another server went on from there and still runs, both generate the same IDs.",
        ),
    }
}

/// Writes a line to the log if an existing state was last written in another place.
pub(super) fn log_move(has_state: bool) {
    let (there, here) = (on_disk(), here());
    let (there, here) = (there.as_ref().map(Location::facts), here.facts());
    if let Some(moved) = opening::moved(has_state, there.as_ref(), &here) {
        let (place, consequence) = sentences(moved, there.as_ref(), &here);
        server_log::moved(format!("{place} {consequence}"));
    }
}

/// Returns the error for a state that moved.
pub(super) fn refusal(moved: Move, evidence: &Evidence) -> Report {
    let (place, _) = sentences(moved, evidence.location.as_ref(), &evidence.here);
    Report::wrong_state("the state file may be of another server").confidential(place).hint(
        "Make sure that the server in that place is stopped, or that this one has other \
             generator IDs. Then set \"flakeid.moved_state\" to \"log\" and reload the \
             configuration.",
    )
}

/// Writes down this server's place, once since shared memory was initialized. The caller holds the
/// server's lock and has written the state.
pub(super) fn write_place(shared: &Shared) {
    if shared.writes.located.swap(true, Ordering::Relaxed) {
        return;
    }
    let here = here();
    if on_disk().as_ref() == Some(&here) {
        return;
    }
    if let Err((action, error)) = put(&here, &directory()) {
        server_log::location_not_written(action, &error);
    }
}
