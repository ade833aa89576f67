//! Safe reading and creation of files in places where a link, a pipe or a device may be.
//!
//! Only regular files are read: a device may never end, a pipe may never begin. Nothing here waits
//! for another process, and nothing reads more than the caller allows. A file that the
//! administrator did not name, such as the state file, is not reached through a link either,
//! neither to read it nor to write it.
//!
//! Files and directories get the permissions of those that PostgreSQL creates: with `initdb -g` the
//! group of the server's user can read them. They do not depend on the umask of the process, which
//! a procedural language can change.

use flakeid_formats::secret_file::{self, NotPrivate};
use pgrx::pg_sys;
use std::ffi::{CStr, OsStr, c_int};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroize;

unsafe extern "C" {
    /// The permissions of directories and files below the data directory, by those of the data
    /// directory.
    static pg_dir_create_mode: c_int;
    static pg_file_create_mode: c_int;
}

/// Returns the data directory.
pub fn data_directory() -> PathBuf {
    // SAFETY: every process of the server sets this variable to a string before it loads this
    // library.
    let path = unsafe { CStr::from_ptr(pg_sys::DataDir) };
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

/// Whether the last part of a path may be a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "etcd"), allow(dead_code))]
pub enum Links {
    /// It may be a link: an administrator named the file, and Kubernetes, for one, shows secrets as
    /// links.
    Followed,
    /// It may not be a link: the file is the server's own.
    Refused,
}

/// More room than the limit, so that reading to the end never needs more.
const SPARE: usize = 64;

/// Reads a regular file of at most `limit` bytes. Returns its contents, and the metadata of the
/// file that was read.
///
/// # Errors
/// The errors of the operating system; and an error that says so if the file is not regular, or is
/// longer.
pub fn read(path: &Path, limit: usize, links: Links) -> io::Result<(Vec<u8>, Metadata)> {
    let no_follow = if links == Links::Refused { libc::O_NOFOLLOW } else { 0 };
    let opened = OpenOptions::new()
        .read(true)
        // Without O_NONBLOCK the call waits until a process opens a pipe to write to it.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC | no_follow)
        .open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) if links == Links::Refused => io::Error::other("it is a symbolic link"),
        // The file is a socket.
        Some(libc::ENXIO) => io::Error::other("it is not a regular file"),
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // With room for all, a secret is never moved, and no copy of it is left in freed memory.
    let mut content = Vec::with_capacity(limit + SPARE);
    // One byte more shows that the file is longer, also if it grows now.
    let read = file.take(limit as u64 + 1).read_to_end(&mut content);
    if read.is_err() || content.len() > limit {
        content.zeroize();
    }
    match read? {
        length if length > limit => {
            Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")))
        }
        _ => Ok((content, metadata)),
    }
}

/// Checks that a file with a secret is private, as PostgreSQL requires of the key of a server.
///
/// # Errors
/// It is not.
pub fn ensure_private(metadata: &Metadata) -> Result<(), NotPrivate> {
    // SAFETY: the call has no arguments and always succeeds.
    let user = unsafe { libc::geteuid() };
    secret_file::ensure_private(metadata.uid(), user, metadata.mode())
}

/// Creates a file. If something has its name already, such as a file that was left half written or
/// a link, that is removed first. The target of a link stays as it is.
///
/// # Errors
/// The errors of the operating system.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // SAFETY: the postmaster sets this variable before it loads libraries.
    let mode = unsafe { pg_file_create_mode };
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode as u32)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}

/// Creates a directory.
///
/// # Errors
/// The errors of the operating system.
pub fn create_directory(path: &Path) -> io::Result<()> {
    // SAFETY: the postmaster sets this variable before it loads libraries.
    let mode = unsafe { pg_dir_create_mode };
    DirBuilder::new().mode(mode as u32).create(path)
}

/// Makes the entries of a directory durable, if its file system can do that. Some file systems,
/// such as those of a network or in user space, answer that they cannot sync a directory.
/// PostgreSQL goes on then, for directories alone, and so does this: the server's own files are as
/// durable there.
///
/// PostgreSQL also goes on if it may not open a directory (EACCES, EISDIR), as Windows never allows
/// it. Linux does. Without read permission the directory could be synced and is not, so that is an
/// error here.
///
/// # Errors
/// The other errors of the operating system.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match directory.sync_all() {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::EINVAL)) => Ok(()),
        outcome => outcome,
    }
}

/// Puts a file into a directory durably, in place of another one of its name. The new file is
/// written beside the old one as `<name>.new`, synced, and renamed over it, and then the directory
/// is synced. So there is a complete file at any time, the old one or the new one.
///
/// # Errors
/// The errors of the operating system, with the action that failed.
pub fn replace(
    directory: &Path,
    name: &str,
    content: &[u8],
) -> Result<(), (&'static str, io::Error)> {
    let (new, file) = (directory.join(format!("{name}.new")), directory.join(name));
    let failed = |action| move |error| (action, error);
    let written = (|| {
        let mut out = create(&new).map_err(failed("create"))?;
        out.write_all(content).map_err(failed("write"))?;
        out.sync_all().map_err(failed("sync"))
    })();
    if written.is_err() {
        // A full disk gets its space back. If the file remains, the next call removes it.
        let _ = fs::remove_file(&new);
        return written;
    }
    fs::rename(&new, &file).map_err(failed("rename"))?;
    sync_directory(directory).map_err(failed("sync the directory of"))
}
