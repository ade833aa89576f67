//! The state file: what remains of a server when its shared memory is lost.
//!
//! `flakeid/state` below the data directory is a JSON document for people and, on its last line,
//! the CRC-32 of all bytes before that line. The file is never changed in place: a new one is
//! written beside it, synced, and renamed over it, and then the directory is synced. So there is a
//! complete file at any time, the old one or the new one. This does not depend on the setting
//! `fsync`. The directory is created together with its first file, by the same kind of rename: if
//! the directory exists, a file is expected.
//!
//! Neither file may be a symbolic link, and only a regular file is read: see [`regular_file`]. The
//! directory may not be a link either, although the state would be safe there. `pg_basebackup` and
//! `pg_rewind` leave a link out, so the copy would have no state, and would begin at its clock.
//! `cp -a` copies the link, so that two servers would have one state. A directory on which another
//! disk is mounted is no link, and each of them copies it.
//!
//! The file always has the same length: a backup that reads the size of one file and then copies
//! the next would cut it. Empty lines fill the document up for that.

use crate::document::{self, Moment, Unsealed};
use crate::error::{Code, Report};
use crate::id_types::{ID_TYPES, ServerIdType};
use crate::identity::{Names, mac_address};
use crate::regular_file::{self, Links, data_directory};
use crate::shmem::{Epochs, Start};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::gate::Horizon;
use flakeid_core::opening::Extent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The version of the document. A change that adds or alters a field raises it.
const VERSION: u64 = 2;

/// The first version of the document, which had no names.
const NAMELESS: u64 = 1;

/// The length of the document, filled up. No document has been longer.
const LENGTH: usize = 1280;

/// The greatest length of a file that is read, in bytes, for all versions.
const LONGEST: usize = 64 * 1024;

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
    /// The earliest epoch of each ID type in [`ID_TYPES`] with which IDs were issued.
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
            flake_epoch: self.epochs[Flake::INDEX],
            last_clock_reading: self.last_clock_reading,
            written_at: self.written_at,
        }
    }

    /// Replaces that part.
    #[must_use]
    pub fn with_extent(mut self, extent: Extent) -> Self {
        self.epochs[Flake::INDEX] = extent.flake_epoch;
        let Extent { horizon, last_clock_reading, written_at, .. } = extent;
        Self { horizon, last_clock_reading, written_at, ..self }
    }

    /// Returns the part with which shared memory begins.
    pub fn start(&self) -> Start {
        let Self { horizon, last_clock_reading, epochs, .. } = *self;
        Start { horizon, last_clock_reading, epochs }
    }
}

/// A reason why the state is not available.
#[derive(Debug)]
pub enum StateFileError {
    /// The directory exists and the file does not.
    Missing,
    /// The contents differ from what was written.
    Damaged(&'static str),
    /// A later version of this extension wrote the file.
    Newer { version: u64 },
    /// Another cluster wrote the file.
    Foreign { theirs: u64, ours: u64 },
    /// The directory is a symbolic link.
    Linked,
    /// The operating system refused an action.
    Denied { action: &'static str, error: io::Error },
}

impl StateFileError {
    /// Constructs the error of the last write, from what [`counted`] returned for it.
    pub fn last_write(number: i32) -> Self {
        let error = match number {
            0 => ErrorKind::Other.into(),
            number => io::Error::from_raw_os_error(number),
        };
        denied("write")(error)
    }
}

fn denied(action: &'static str) -> impl Fn(io::Error) -> StateFileError {
    move |error| StateFileError::Denied { action, error }
}

/// Returns the directory of all files of flakeid.
pub fn directory() -> PathBuf {
    data_directory().join("flakeid")
}

fn path() -> PathBuf {
    directory().join("state")
}

/// The file's name in errors: from the data directory, whose path PostgreSQL does not show to
/// everyone. PostgreSQL itself names the files there in this way.
pub const NAME: &str = "flakeid/state";

/// The document in the form that people and serde read.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
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
        let epochs = ID_TYPES.iter().zip(self.epochs);
        let epochs =
            epochs.filter_map(|(id_type, epoch)| Some((id_type.name.into(), Moment::from(epoch?))));
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
            let index = ID_TYPES.iter().position(|id_type| id_type.name == name)?;
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

    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_string_pretty(&self.document())?;
        text.push('\n');
        while text.len() < LENGTH {
            let line = (LENGTH - text.len()).min(LINE) - 1;
            text.extend(std::iter::repeat_n(' ', line));
            text.push('\n');
        }
        Ok(document::seal(text.into_bytes()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StateFileError> {
        let document = document::unseal(bytes).map_err(|unsealed| {
            StateFileError::Damaged(match unsealed {
                Unsealed::TooShort => "The file is too short.",
                Unsealed::WrongChecksum => "The checksum does not match.",
            })
        })?;
        // A process has written these contents on purpose: this version of the library, or another
        // one.
        let unknown = || StateFileError::Damaged("The contents are not those of a state file.");
        let value: serde_json::Value = serde_json::from_slice(document).map_err(|_| unknown())?;
        match value["flakeid_state"].as_u64().ok_or_else(unknown)? {
            NAMELESS | VERSION => {}
            version if version > VERSION => return Err(StateFileError::Newer { version }),
            _ => return Err(unknown()),
        }
        let document = serde_json::from_value(value).map_err(|_| unknown())?;
        Self::from_document(document).ok_or_else(unknown)
    }
}

/// Checks that the directory of flakeid's files is not a link.
fn ensure_not_linked() -> Result<(), StateFileError> {
    match fs::symlink_metadata(directory()) {
        Ok(metadata) if metadata.is_symlink() => Err(StateFileError::Linked),
        _ => Ok(()),
    }
}

/// Reads the state that was written last, of any cluster; `None` if there never was a state.
///
/// # Errors
/// Any [`StateFileError`] but `Foreign`.
pub fn read() -> Result<Option<PersistedState>, StateFileError> {
    ensure_not_linked()?;
    match regular_file::read(&path(), LONGEST, Links::Refused) {
        Ok((bytes, _)) => PersistedState::from_bytes(&bytes).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match fs::symlink_metadata(directory()) {
                Ok(_) => Err(StateFileError::Missing),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(denied("look for")(error)),
            }
        }
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            Err(StateFileError::Damaged("The file is too long."))
        }
        Err(error) => Err(denied("read")(error)),
    }
}

/// Makes the state durable. The caller holds the server's lock, or is the only process. If the
/// directory does not exist, `beside` puts other files into the new one, before that gets its name.
///
/// # Errors
/// `Denied`; then the file is the old one or the new one, and it is unknown which. Or `Linked`.
pub fn write(
    state: &PersistedState,
    beside: impl FnOnce(&Path) -> Result<(), StateFileError>,
) -> Result<(), StateFileError> {
    ensure_not_linked()?;
    let directory = directory();
    if directory.exists() {
        return replace(&directory, state);
    }
    let parent = data_directory();
    let new = parent.join("flakeid.new");
    match regular_file::create_directory(&new) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(denied("create the directory of")(error));
        }
        _ => {}
    }
    // A link leads to a place where the state does not belong.
    if !fs::symlink_metadata(&new).is_ok_and(|new| new.is_dir()) {
        return Err(denied("create")(io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    replace(&new, state)?;
    beside(&new)?;
    fs::rename(&new, &directory).map_err(denied("rename the directory of"))?;
    sync(&parent)
}

fn replace(directory: &Path, state: &PersistedState) -> Result<(), StateFileError> {
    let bytes = state.bytes().map_err(denied("write"))?;
    regular_file::replace(directory, "state", &bytes)
        .map_err(|(action, error)| StateFileError::Denied { action, error })
}

fn sync(directory: &Path) -> Result<(), StateFileError> {
    regular_file::sync_directory(directory).map_err(denied("sync the directory of"))
}

/// The hint for an operator who knows that the clock is right.
pub const ACCEPT: &str = "Check the server's clock. If it is right and past all IDs generated \
                          here, call flakeid_accept_clock() as a superuser: new IDs then begin at \
                          the current time.";

impl From<StateFileError> for Report {
    fn from(error: StateFileError) -> Self {
        match error {
            StateFileError::Missing => {
                Self::new(Code::ERRCODE_UNDEFINED_FILE, format!("state file \"{NAME}\" is missing"))
                    .detail("Without the state file, new IDs could be the same as earlier ones.")
                    .hint(format!("Restore the file. {ACCEPT}"))
            }
            StateFileError::Damaged(why) => {
                Self::new(Code::ERRCODE_DATA_CORRUPTED, format!("state file \"{NAME}\" is damaged"))
                    .detail(format!(
                        "{why} Without the state file, new IDs could be the same as earlier ones."
                    ))
                    .hint(format!("Restore an intact copy. {ACCEPT}"))
            }
            StateFileError::Newer { version } => Self::wrong_state(format!(
                "state file \"{NAME}\" has version {version}, which this flakeid cannot read"
            ))
            .hint("Install the version of flakeid that wrote it, or a later one."),
            StateFileError::Foreign { theirs, ours } => {
                Self::wrong_state(format!("state file \"{NAME}\" is from a different cluster"))
                    .detail(format!(
                        "The file has the system identifier {theirs}, and this server has {ours}."
                    ))
                    .hint(ACCEPT)
            }
            StateFileError::Linked => Self::wrong_state(
                "the directory \"flakeid\" in the data directory is a symbolic \
                                   link",
            )
            .detail(
                "pg_basebackup and pg_rewind leave a link out. A server without the state \
                         file could generate IDs that are in its tables.",
            )
            .hint(
                "Stop the server, remove the link, move the directory that it leads to \
                         into its place, and start the server.",
            ),
            StateFileError::Denied { action, error } => {
                let reason = error.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default();
                let report = Self::new(
                    denied_code(&error),
                    format!("could not {action} state file \"{NAME}\": {reason}"),
                );
                match error.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => report.hint(
                        "Free space on the file system of the data directory. IDs are generated \
                         again as soon as the file can be written.",
                    ),
                    _ => report,
                }
            }
        }
    }
}

/// Returns the SQLSTATE that PostgreSQL uses for an error of the operating system with a file.
pub fn denied_code(error: &io::Error) -> Code {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Code::ERRCODE_INSUFFICIENT_PRIVILEGE
        }
        ErrorKind::NotFound => Code::ERRCODE_UNDEFINED_FILE,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::ERRCODE_DISK_FULL,
        _ => Code::ERRCODE_IO_ERROR,
    }
}

/// Returns the outcome of a write for [`StateWrites::count`](crate::shmem::StateWrites::count): for
/// an error, the operating system's number, or 0 if it has no number.
pub fn counted(outcome: &Result<(), StateFileError>) -> Result<(), i32> {
    match outcome {
        Ok(()) => Ok(()),
        Err(StateFileError::Denied { error, .. }) => Err(error.raw_os_error().unwrap_or(0)),
        Err(_) => Err(0),
    }
}
