//! The contents of the file `flakeid/state`: a JSON document for people and, on its last line, the
//! CRC-32 of all bytes before that line ([`document`]).
//!
//! The file always has the same length: a backup that reads the size of one file and then copies
//! the next would cut it. Empty lines fill the document up for that.
//!
//! # Beside other versions
//! A server can go back to the library that it had before. So a library reads the file of a later
//! one with the same number, and ignores fields and ID types that it does not know. It leaves them
//! out when it writes the file. A later version therefore adds only what is safe to lose: if the
//! field is missing, that version does what it does with the file of an earlier one. The horizon
//! covers the IDs of all ID types, including those that the reader does not know. So no ID repeats
//! after either step.
//!
//! A change that a reader must not ignore raises the number. A reader refuses a number above its
//! own. This happens in a new major version only. 0.7.0 ignores nothing: it refuses a file with
//! the epoch of uuidv7.

use crate::document::{self, Moment, Unsealed};
use crate::mac_address;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::opening::Extent;
use flakeid_core::{flake, flake128, guid, sno, uniqueid, uuidv7};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The names of the ID types that have epochs in the file, in the order of [`Epochs`]. guid_local
/// has the epoch of guid.
pub const ID_TYPES: [&str; 6] =
    [flake::NAME, sno::NAME, flake128::NAME, guid::NAME, uniqueid::NAME, uuidv7::NAME];

/// The place of flake in [`ID_TYPES`].
const FLAKE: usize = 0;

/// The earliest epoch of each ID type in [`ID_TYPES`] with which IDs were issued.
pub type Epochs = [Option<UnixNanos>; ID_TYPES.len()];

/// The server's names in ID types for which no setting gives one. They are chosen at random when
/// the state begins, and kept in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    pub guid_node: u32,
    /// The worker of flake128s, for a host without a real network interface.
    pub mac_address: u64,
}

/// The version of the document. A change that an earlier version must not ignore raises it.
const VERSION: u64 = 2;

/// The first version of the document, which had no names.
const NAMELESS: u64 = 1;

/// The length of the document, filled up. No document has been longer.
const LENGTH: usize = 1280;

/// The length of a line that fills the document up.
const LINE: usize = 72;

/// The contents of the state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistedState {
    /// PostgreSQL's identifier of the cluster that wrote the file.
    pub system_identifier: u64,
    /// The horizon: the persisted high-water mark of time.
    pub horizon: Horizon,
    /// The random names of the server; `None` if an earlier version wrote the file. They are chosen
    /// then.
    pub names: Option<Names>,
    pub epochs: Epochs,
    /// The last reading of the clock that is known in the timeline in use: see
    /// [`flakeid_core::gate::CellInit`].
    pub last_clock_reading: UnixNanos,
    /// The time of the write.
    pub written_at: UnixNanos,
    /// Whether the server had stopped, so that the horizon is exact.
    pub stopped: bool,
}

impl PersistedState {
    /// Returns the part that tells where IDs begin.
    pub fn extent(&self) -> Extent {
        Extent {
            horizon: self.horizon,
            flake_epoch: self.epochs[FLAKE],
            last_clock_reading: self.last_clock_reading,
            written_at: self.written_at,
        }
    }

    /// Replaces that part.
    #[must_use]
    pub fn with_extent(mut self, extent: Extent) -> Self {
        self.epochs[FLAKE] = extent.flake_epoch;
        let Extent { horizon, last_clock_reading, written_at, .. } = extent;
        Self { horizon, last_clock_reading, written_at, ..self }
    }
}

/// A reason why bytes are not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The contents differ from what was written: a sentence.
    Damaged(&'static str),
    /// A later version of this extension wrote the file.
    Newer { version: u64 },
}

/// The document in the form that people and serde read.
#[derive(Deserialize, Serialize)]
struct Document {
    flakeid_state: u64,
    /// Text, since many readers of JSON lose numbers of this size.
    system_identifier: String,
    /// Every existing ID has a time before this one.
    until: Moment,
    /// This limit for ID types with a tick-tock bit, by the value of the bit.
    tick_tock_until: [Moment; 2],
    /// The tick-tock bit in use.
    tick_tock: u8,
    epochs: BTreeMap<String, Moment>,
    guid_node: Option<u32>,
    /// The worker of flake128 for a host without a network interface, as its 12 digits.
    worker: Option<String>,
    /// A clock that is behind this time has stepped back.
    since: Moment,
    written: Moment,
    server: Server,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Server {
    Running,
    Stopped,
}

fn digits(worker: u64) -> String {
    format!("{worker:012x}")
}

/// Reads a chosen worker in the form that [`digits`] writes.
fn parse_worker(text: &str) -> Option<u64> {
    let worker = u64::from_str_radix(text, 16).ok()?;
    (mac_address::locally_administered(worker) == worker && digits(worker) == text)
        .then_some(worker)
}

impl PersistedState {
    fn document(&self) -> Document {
        let Horizon { until: [until, tick, tock], toggle } = self.horizon;
        let epochs = ID_TYPES.into_iter().zip(self.epochs);
        let epochs =
            epochs.filter_map(|(id_type, epoch)| Some((id_type.into(), Moment::from(epoch?))));
        Document {
            flakeid_state: VERSION,
            system_identifier: self.system_identifier.to_string(),
            until: Moment::from(until),
            tick_tock_until: [Moment::from(tick), Moment::from(tock)],
            tick_tock: toggle.into(),
            epochs: epochs.collect(),
            guid_node: self.names.map(|names| names.guid_node),
            worker: self.names.map(|names| digits(names.mac_address)),
            since: Moment::from(self.last_clock_reading),
            written: Moment::from(self.written_at),
            server: if self.stopped { Server::Stopped } else { Server::Running },
        }
    }

    fn from_document(document: Document) -> Option<Self> {
        let [tick, tock] = document.tick_tock_until;
        let mut epochs = [None; ID_TYPES.len()];
        for (name, epoch) in document.epochs {
            let Some(index) = ID_TYPES.iter().position(|&id_type| id_type == name) else {
                continue;
            };
            epochs[index] = Some(epoch.unix_nanos()?);
        }
        let names = match (document.flakeid_state, document.guid_node, document.worker) {
            (NAMELESS, None, None) => None,
            (VERSION, Some(guid_node), Some(worker)) => {
                Some(Names { guid_node, mac_address: parse_worker(&worker)? })
            }
            _ => return None,
        };
        Some(Self {
            names,
            system_identifier: document.system_identifier.parse().ok()?,
            horizon: Horizon {
                until: [document.until.unix_nanos()?, tick.unix_nanos()?, tock.unix_nanos()?],
                toggle: match document.tick_tock {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            },
            epochs,
            last_clock_reading: document.since.unix_nanos()?,
            written_at: document.written.unix_nanos()?,
            stopped: document.server == Server::Stopped,
        })
    }

    /// Returns the contents of the file.
    ///
    /// # Errors
    /// The JSON library could not write the document, which does not happen.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_string_pretty(&self.document())?;
        text.push('\n');
        while text.len() < LENGTH {
            let line = (LENGTH - text.len()).min(LINE) - 1;
            text.extend(std::iter::repeat_n(' ', line));
            text.push('\n');
        }
        Ok(document::seal(text.into_bytes()))
    }

    /// Reads the contents of a file, of this version or an earlier one, or of a later one with the
    /// same number.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Invalid> {
        let document = document::unseal(bytes).map_err(|unsealed| {
            Invalid::Damaged(match unsealed {
                Unsealed::TooShort => "The file is too short.",
                Unsealed::WrongChecksum => "The checksum does not match.",
            })
        })?;
        // A process has written these contents on purpose: this version of the library, or another
        // one.
        let unknown = || Invalid::Damaged("The contents are not those of a state file.");
        let value: serde_json::Value = serde_json::from_slice(document).map_err(|_| unknown())?;
        match value["flakeid_state"].as_u64().ok_or_else(unknown)? {
            NAMELESS | VERSION => {}
            version if version > VERSION => return Err(Invalid::Newer { version }),
            _ => return Err(unknown()),
        }
        let document = serde_json::from_value(value).map_err(|_| unknown())?;
        Self::from_document(document).ok_or_else(unknown)
    }
}
