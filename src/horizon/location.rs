//! The file `flakeid/location`, beside the state: which server wrote the state, and which WAL it
//! covers.
//!
//! A state says nothing of its server. A copy of a data directory has the state of its origin; a
//! standby has none until its primary's first ID, and then writes one from the WAL; a promoted
//! server continues with it. So a server that generates IDs writes its *place* beside the state:
//! its host, its data directory, and its WAL timeline. What a recovery has replayed is there as
//! well: [`super::lineage`] decides about that. This file is about the place.
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
use crate::error::Report;
use crate::identity::host_name;
use crate::regular_file::{self, Links, data_directory};
use crate::server_log;
use crate::shmem::Shared;
use crate::wal_timeline::{self, Point};
use flakeid_core::opening::{self, Evidence, Location as Facts, Move, Place};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The file's name in the directory of flakeid's files.
const NAME: &str = "location";

/// The length in bytes from which on a file is not read: two names of at most 4,096 bytes each,
/// escaped.
const MAX_LENGTH: usize = 65_536;

/// The version of the file's contents.
const VERSION: u64 = 1;

/// The contents of the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Location {
    flakeid_location: u64,
    /// The host of the server that wrote the state; `None` if it has no name, or if there is no
    /// such server.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Its data directory; `None` if only recovery wrote the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_directory: Option<String>,
    /// The WAL timeline on which it wrote the state; `None` in a file of 0.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wal_timeline: Option<u32>,
    /// The point up to which recovery has replayed the WAL, and put its horizons into the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replayed: Option<Point>,
}

impl Location {
    /// The contents for a state of which no server is known.
    pub(super) const UNKNOWN: Self = Self {
        flakeid_location: VERSION,
        host: None,
        data_directory: None,
        wal_timeline: None,
        replayed: None,
    };

    /// Returns this server's place.
    pub(super) fn here() -> Self {
        let path = data_directory();
        let path = path.canonicalize().unwrap_or(path);
        Self {
            host: host_name().map(Into::into),
            data_directory: Some(path.to_string_lossy().into_owned()),
            wal_timeline: wal_timeline::current(),
            ..Self::UNKNOWN
        }
    }

    /// Returns these contents with what recovery has replayed.
    pub(super) fn with_replayed(self, point: Point) -> Self {
        Self { replayed: Some(point), ..self }
    }

    /// Returns what the file has; `None` if it is missing or damaged.
    pub(super) fn on_disk() -> Option<Self> {
        let path = directory().join(NAME);
        let (bytes, _) = regular_file::read(&path, MAX_LENGTH, Links::Refused).ok()?;
        serde_json::from_slice(&bytes)
            .ok()
            .filter(|location: &Self| location.flakeid_location == VERSION)
    }

    /// Returns what the core decides about.
    pub(super) fn facts(&self) -> Facts<'_> {
        let place = self
            .data_directory
            .as_ref()
            .map(|data_directory| Place { host: self.host.as_deref(), data_directory });
        Facts { place, timeline: self.wal_timeline, replayed: self.replayed.map(Into::into) }
    }

    /// Puts the file into a directory of flakeid's files.
    pub(super) fn put(&self, directory: &Path) -> Result<(), (&'static str, io::Error)> {
        serde_json::to_vec_pretty(self)
            .map_err(|error| ("write", error.into()))
            .and_then(|bytes| regular_file::replace(directory, NAME, &bytes))
    }

    /// Puts the file into a new directory.
    pub(super) fn begin(&self, directory: &Path) -> Result<(), StateFileError> {
        self.put(directory).map_err(|(action, error)| StateFileError::Denied { action, error })
    }

    /// Writes the file beside a state that exists.
    ///
    /// # Errors
    /// The operating system refuses it.
    pub(super) fn write(&self) -> Result<(), Report> {
        self.put(&directory()).map_err(|(action, error)| {
            let reason = error.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default();
            Report::new(
                denied_code(&error),
                format!("could not {action} file \"flakeid/location\": {reason}"),
            )
        })
    }
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
    let (there, here) = (Location::on_disk(), Location::here());
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
    let here = Location::here();
    if Location::on_disk().as_ref() == Some(&here) {
        return;
    }
    if let Err((action, error)) = here.put(&directory()) {
        server_log::location_not_written(action, &error);
    }
}
