//! The state file: what remains of a server when its shared memory is lost.
//!
//! [`flakeid_formats::state`] has the contents of `flakeid/state` below the data directory. The
//! file is never changed in place: a new one is written beside it, synced, and renamed over it, and
//! then the directory is synced. So there is a complete file at any time, the old one or the new
//! one. This does not depend on the setting `fsync`. The directory is created together with its
//! first file, by the same kind of rename: if the directory exists, a file is expected.
//!
//! Neither file may be a symbolic link, and only a regular file is read: see [`regular_file`]. The
//! directory may not be a link either, although the state would be safe there. `pg_basebackup` and
//! `pg_rewind` leave a link out, so the copy would have no state, and would begin at its clock.
//! `cp -a` copies the link, so that two servers would have one state. A directory on which another
//! disk is mounted is no link, and each of them copies it.

use crate::error::{Code, Report, os_reason};
use crate::regular_file::{self, Links, data_directory};
use crate::shmem::Start;
use flakeid_formats::state::Invalid;
pub use flakeid_formats::state::PersistedState;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The greatest length of a file that is read, in bytes, for all versions.
const LONGEST: usize = 64 * 1024;

impl From<&PersistedState> for Start {
    /// Returns the part with which shared memory begins.
    fn from(state: &PersistedState) -> Self {
        let &PersistedState { horizon, last_clock_reading, epochs, .. } = state;
        Self { horizon, last_clock_reading, epochs }
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

impl From<Invalid> for StateFileError {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Damaged(why) => Self::Damaged(why),
            Invalid::Newer { version } => Self::Newer { version },
        }
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
        Ok((bytes, _)) => Ok(Some(PersistedState::from_bytes(&bytes)?)),
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
    let bytes = state.bytes().map_err(|error| denied("write")(error.into()))?;
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
                let report = Self::new(
                    denied_code(&error),
                    format!("could not {action} state file \"{NAME}\": {}", os_reason(&error)),
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
