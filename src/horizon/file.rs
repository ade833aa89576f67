//! The state file: what is left of a server when all else is lost.
//!
//! `flakeid/state` below the data directory is a JSON document for people and, on its last line, the
//! CRC-32 of all bytes before that line. It is never changed: a new one is written beside it, synced,
//! and renamed over it, and then the directory is synced. So there is a whole file at any time, the
//! old one or the new one. That holds whatever the setting `fsync` says. The directory comes into
//! being together with its first file, by the same kind of rename: where it is, a file is expected.
//!
//! Neither file may be a symbolic link, and what is no regular file is not read: see [`regular_file`]. The
//! directory may be a link, as an administrator may have put it on another disk; `pg_basebackup` does not
//! follow it.
//!
//! The file always has the same length: a backup that looks at the size of one and then copies the next
//! would cut it. The document is filled up with empty lines for that.

use crate::error::{Code, Report};
use crate::id_types::ID_TYPES;
use crate::identity::{Names, mac_address};
use crate::regular_file::{self, Links};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use jiff::Timestamp;
use pgrx::pg_sys;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The version of the document. Whoever adds or changes a field raises it.
const VERSION: u64 = 2;

/// The first, which had no names.
const NAMELESS: u64 = 1;

/// Of a document, which is longer than any has been.
const LENGTH: usize = 1280;

/// The longest file that is read, in bytes, for all versions.
const LONGEST: usize = 64 * 1024;

/// Of one that fills it up.
const LINE: usize = 72;

/// Before the checksum on the last line.
const CHECKSUM: &str = "crc32 ";

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Which cluster's it is: PostgreSQL's number for it.
    pub system_identifier: u64,
    pub horizon: Horizon,
    /// `None` where an earlier version wrote the file: they are chosen then.
    pub names: Option<Names>,
    /// By the ID types' places in their table: the earliest epoch that IDs were made by.
    pub epochs: [Option<UnixNanos>; ID_TYPES.len()],
    /// The last reading of the clock that is known in the timeline in use: see
    /// [`flakeid_core::gate::Start`].
    pub since: UnixNanos,
    /// When it was written.
    pub written: UnixNanos,
    /// Whether the server had stopped, so that the horizon is exact.
    pub stopped: bool,
}

/// Why there is no state to be had.
#[derive(Debug)]
pub enum StateFileError {
    /// The directory is there and the file is not.
    Missing,
    /// It is not what was written.
    Damaged(&'static str),
    /// A later version of this extension wrote it.
    Newer { version: u64 },
    /// It is another cluster's.
    Foreign { theirs: u64, ours: u64 },
    /// The operating system says no.
    Denied { action: &'static str, error: io::Error },
}

fn denied(action: &'static str) -> impl Fn(io::Error) -> StateFileError {
    move |error| StateFileError::Denied { action, error }
}

fn data_directory() -> PathBuf {
    // SAFETY: set by every process of the server before this library is loaded; a string.
    let path = unsafe { CStr::from_ptr(pg_sys::DataDir) };
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

/// The directory that all of flakeid's files are in.
pub fn directory() -> PathBuf {
    data_directory().join("flakeid")
}

fn path() -> PathBuf {
    directory().join("state")
}

/// The file as errors name it: from the data directory, which PostgreSQL does not show to everyone, and as
/// PostgreSQL itself names the files there.
pub const NAME: &str = "flakeid/state";

/// The file's contents as people and serde read them. Moments are in UTC.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    flakeid_state: u64,
    /// As text, since many readers of JSON lose numbers of its size.
    system_identifier: String,
    /// Every ID there is has a time before this one.
    until: Moment,
    /// For the systems with a tick-tock bit, by its value.
    tick_tock_until: [Moment; 2],
    /// The tick-tock bit in use.
    tick_tock: u8,
    epochs: BTreeMap<String, Moment>,
    guid_node: Option<u32>,
    /// flake128's, where the host has no network interface; as its 12 digits.
    worker: Option<String>,
    /// A clock that is behind this one has stepped back.
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

/// A moment as RFC 3339 writes it, to the nanosecond.
#[derive(Deserialize)]
#[serde(transparent)]
struct Moment(Timestamp);

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.strftime("%Y-%m-%dT%H:%M:%S%.9fZ"))
    }
}

fn timestamp(moment: UnixNanos) -> Moment {
    // The year 2554, where the nanoseconds end, is within the calendar.
    Moment(Timestamp::from_nanosecond(moment.0.into()).unwrap_or(Timestamp::MAX))
}

fn moment(Moment(timestamp): Moment) -> Option<UnixNanos> {
    u64::try_from(timestamp.as_nanosecond()).ok().map(UnixNanos)
}

fn digits(worker: u64) -> String {
    format!("{worker:012x}")
}

/// A worker as [`digits`] writes one that was chosen.
fn kept_worker(text: &str) -> Option<u64> {
    let worker = u64::from_str_radix(text, 16).ok()?;
    (mac_address::local(worker) == worker && digits(worker) == text).then_some(worker)
}

impl State {
    fn document(&self) -> Document {
        let Horizon { until: [until, tick, tock], toggle } = self.horizon;
        let epochs = ID_TYPES.iter().zip(self.epochs);
        let epochs =
            epochs.filter_map(|(system, epoch)| Some((system.name.into(), timestamp(epoch?))));
        Document {
            flakeid_state: VERSION,
            system_identifier: self.system_identifier.to_string(),
            until: timestamp(until),
            tick_tock_until: [timestamp(tick), timestamp(tock)],
            tick_tock: toggle.into(),
            epochs: epochs.collect(),
            guid_node: self.names.map(|names| names.guid_node),
            worker: self.names.map(|names| digits(names.worker)),
            since: timestamp(self.since),
            written: timestamp(self.written),
            server: if self.stopped { Server::Stopped } else { Server::Running },
        }
    }

    fn from_document(document: Document) -> Option<Self> {
        let [tick, tock] = document.tick_tock_until;
        let mut epochs = [None; ID_TYPES.len()];
        for (name, epoch) in document.epochs {
            let place = ID_TYPES.iter().position(|system| system.name == name)?;
            epochs[place] = Some(moment(epoch)?);
        }
        let names = match (document.flakeid_state, document.guid_node, document.worker) {
            (NAMELESS, None, None) => None,
            (VERSION, Some(guid_node), Some(worker)) => {
                Some(Names { guid_node, worker: kept_worker(&worker)? })
            }
            _ => return None,
        };
        Some(Self {
            names,
            system_identifier: document.system_identifier.parse().ok()?,
            horizon: Horizon {
                until: [moment(document.until)?, moment(tick)?, moment(tock)?],
                toggle: match document.tick_tock {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            },
            epochs,
            since: moment(document.since)?,
            written: moment(document.written)?,
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
        let checksum = crc32fast::hash(text.as_bytes());
        text.push_str(&format!("{CHECKSUM}{checksum:08x}\n"));
        Ok(text.into_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StateFileError> {
        let line = CHECKSUM.len() + "01234567\n".len();
        let Some((document, checksum)) =
            bytes.len().checked_sub(line).map(|middle| bytes.split_at(middle))
        else {
            return Err(StateFileError::Damaged("The file is too short."));
        };
        // Compared as text: a digit in upper case is not what was written.
        let expected = format!("{CHECKSUM}{:08x}\n", crc32fast::hash(document));
        if checksum != expected.as_bytes() {
            return Err(StateFileError::Damaged("The checksum does not match."));
        }
        // What follows was written so by someone: this version of this library, or another.
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

/// The state as it was last written, of whichever cluster; `None` where there never was one.
///
/// # Errors
/// [`StateFileError`], but never `Foreign`.
pub fn read() -> Result<Option<State>, StateFileError> {
    match regular_file::read(&path(), LONGEST, Links::Refused) {
        Ok((bytes, _)) => State::from_bytes(&bytes).map(Some),
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

/// Makes the state durable. The caller holds the node's lock, or is alone.
///
/// # Errors
/// `Denied`; then the file is the old one or the new one, and which of them is open.
pub fn write(state: &State) -> Result<(), StateFileError> {
    let directory = directory();
    if directory.exists() {
        return replace(&directory, state);
    }
    let parent = data_directory();
    let new = parent.join("flakeid.new");
    match fs::create_dir(&new) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(denied("create the directory of")(error));
        }
        _ => {}
    }
    // A link leads to where the state does not belong.
    if !fs::symlink_metadata(&new).is_ok_and(|new| new.is_dir()) {
        return Err(denied("create")(io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    replace(&new, state)?;
    fs::rename(&new, &directory).map_err(denied("rename the directory of"))?;
    sync(&parent)
}

fn replace(directory: &Path, state: &State) -> Result<(), StateFileError> {
    let bytes = state.bytes().map_err(denied("write"))?;
    regular_file::replace(directory, "state", &bytes)
        .map_err(|(action, error)| StateFileError::Denied { action, error })
}

fn sync(directory: &Path) -> Result<(), StateFileError> {
    regular_file::sync_directory(directory).map_err(denied("sync the directory of"))
}

/// What an operator can do who knows better.
pub const ACCEPT: &str = "Check the server's clock. If it is right and past all IDs generated here, call \
                          flakeid_accept_clock() as a superuser: new IDs then begin at the current time.";

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
            StateFileError::Denied { action, error } => {
                let reason = error.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default();
                Self::new(
                    denied_code(&error),
                    format!("could not {action} state file \"{NAME}\": {reason}"),
                )
            }
        }
    }
}

/// The SQLSTATE of an error of the operating system, as PostgreSQL gives it for a file.
fn denied_code(error: &io::Error) -> Code {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Code::ERRCODE_INSUFFICIENT_PRIVILEGE
        }
        ErrorKind::NotFound => Code::ERRCODE_UNDEFINED_FILE,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::ERRCODE_DISK_FULL,
        _ => Code::ERRCODE_IO_ERROR,
    }
}

/// The outcome of a write as it is counted: with the operating system's number for an error, 0 for none.
pub fn counted(outcome: &Result<(), StateFileError>) -> Result<(), i32> {
    match outcome {
        Ok(()) => Ok(()),
        Err(StateFileError::Denied { error, .. }) => Err(error.raw_os_error().unwrap_or(0)),
        Err(_) => Err(0),
    }
}
