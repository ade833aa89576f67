//! The contents of the file `flakeid/location`: which server wrote the state, and which WAL the
//! state covers.
//!
//! It is a JSON document for people. It has no checksum: the state does not depend on it, and a
//! server treats a damaged one as missing. A reader ignores fields that it does not know, as for
//! [the state file](crate::state), and takes another number for a damaged file.

use crate::wal_point::Point;
use flakeid_core::opening::{self, Place};
use serde::{Deserialize, Serialize};

/// The version of the document, which 0.7.0 wrote first.
const VERSION: u64 = 1;

/// The length in bytes from which on a file is not read: two names of at most 4,096 bytes each,
/// escaped.
pub const MAX_LENGTH: usize = 65_536;

/// The contents of the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Location {
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
    wal_timeline: Option<u32>,
    /// The point up to which recovery has replayed the WAL, and put its horizons into the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<Point>,
}

impl Location {
    /// The contents for a state of which no server is known.
    pub const UNKNOWN: Self = Self {
        flakeid_location: VERSION,
        host: None,
        data_directory: None,
        wal_timeline: None,
        replayed: None,
    };

    /// Constructs the contents for a state that a server writes: its host and its data directory,
    /// and the WAL timeline on which it is.
    pub fn of_server(
        host: Option<String>,
        data_directory: String,
        wal_timeline: Option<u32>,
    ) -> Self {
        let data_directory = Some(data_directory);
        Self { host, data_directory, wal_timeline, ..Self::UNKNOWN }
    }

    /// Returns these contents with what recovery has replayed.
    pub fn with_replayed(self, point: Point) -> Self {
        Self { replayed: Some(point), ..self }
    }

    /// Returns what the core decides about.
    pub fn facts(&self) -> opening::Location<'_> {
        let place = self
            .data_directory
            .as_ref()
            .map(|data_directory| Place { host: self.host.as_deref(), data_directory });
        opening::Location {
            place,
            timeline: self.wal_timeline,
            replayed: self.replayed.map(Into::into),
        }
    }

    /// Reads the contents of the file. Returns `None` for any other contents.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let location: Self = serde_json::from_slice(bytes).ok()?;
        (location.flakeid_location == VERSION).then_some(location)
    }

    /// Returns the contents of the file.
    ///
    /// # Errors
    /// The JSON library could not write the document, which does not happen.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }
}
