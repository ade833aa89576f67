//! The keys of the public form, in this process.
//!
//! `flakeid.public_keys_file` names a file with a key on each line: the character of its version,
//! and 64 hexadecimal digits. The first key encrypts, and all of them decrypt. A line `1 retired`
//! says that version 1 had a key: no other key may get this version, with which old texts would be
//! read as other IDs. Empty lines and lines that begin with `#` do not count.
//!
//! # When the file is read
//! Each process reads it when it gets the setting: the postmaster at the start, and then all
//! processes at each reload, since PostgreSQL assigns every setting of the configuration files
//! then, also one with the same value. It does not assign one of the command line again, so that
//! such a file is read at the start alone. A new process begins with the keys of the postmaster. If
//! the library is not preloaded, a session reads the file when it loads the library.
//!
//! A file that is not valid as a whole is refused, and the process keeps the keys that it has. The
//! postmaster logs the reason. A file that is cut off at the end of a line cannot be recognized, so
//! documentation says to replace the file by a rename.
//!
//! # What can outlive a key
//! - *A process that has not reloaded yet.* It continues with the former keys until its next
//!   command, and reads the file as it is then. So a new key is added at the end of the file first,
//!   and encrypts only after all processes of all servers know it.
//! - *A statement.* A session reloads between commands. A parallel worker has the keys of the
//!   postmaster, which may have reloaded already; it ignores the setting that the leader passes on.
//!   A cursor has those of each FETCH. So a statement can return texts of two keys, all of which
//!   can be read.
//! - *Memory.* Keys are overwritten when they are replaced or dropped, in each process. So are the
//!   memory into which the file was read, and the stack on which keys were made. A core dump of a
//!   process contains its present keys.
//!
//! A key is nowhere else: not in the setting, an error, a line of the log, a view, shared memory or
//! the WAL.

use crate::error::{self, Report};
use crate::regular_file::{self, Links};
use aes::Aes256Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use flakeid_core::ff1::BlockCipher;
use flakeid_core::public_form::Version;
use flakeid_formats::keys::{self, KEY_LEN};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::fs::{self, Metadata};
use std::hint::black_box;
use std::io;
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// The largest size of the file, in bytes.
const FILE_LIMIT: usize = 32_768;

/// A key, as the round keys of AES. They are overwritten when it is dropped.
pub struct Key {
    pub version: Version,
    cipher: Aes256Enc,
}

impl BlockCipher for Key {
    #[inline]
    fn encrypt(&self, block: &mut [u8; 16]) {
        self.cipher.encrypt_block(block.into());
    }
}

/// The keys of a process.
struct Keys {
    /// The keys, in the order of the file.
    keys: Vec<Key>,
    /// The versions whose keys are retired.
    retired: Vec<Version>,
    /// The reason why the file was refused when it was read last.
    refusal: Option<String>,
}

struct OfProcess(RefCell<Keys>);

// SAFETY: a process of the server runs this library's code on its main thread alone.
unsafe impl Sync for OfProcess {}

impl Keys {
    const NONE: Self = Self { keys: Vec::new(), retired: Vec::new(), refusal: None };
}

static OF_PROCESS: OfProcess = OfProcess(RefCell::new(Keys::NONE));

/// Reads the keys of a file, or forgets all keys if the path is empty. A relative path counts from
/// the data directory, the working directory of every process of the server.
pub fn set_file(path: &str) {
    let mut own = OF_PROCESS.0.borrow_mut();
    if path.is_empty() {
        *own = Keys::NONE;
        overwrite();
        return;
    }
    let read = read(Path::new(path));
    overwrite();
    match read {
        Ok(keys) => *own = keys,
        Err(reason) => {
            // SAFETY: reads a plain variable of PostgreSQL's.
            if !unsafe { pg_sys::IsUnderPostmaster } {
                let kept = match own.keys.is_empty() {
                    true => "There are no keys for the public form of IDs.",
                    false => "The former keys stay.",
                };
                error::log(format!("refused \"flakeid.public_keys_file\": {reason}"), kept.into());
            }
            own.refusal = Some(reason);
        }
    }
}

/// Calls a function with all keys, in the order of the file: the first one encrypts.
///
/// # Errors
/// There are no keys.
pub fn with_keys<T>(function: impl FnOnce(&[Key]) -> T) -> Result<T, Report> {
    let own = OF_PROCESS.0.borrow();
    match own.keys.as_slice() {
        [] => Err(no_keys(own.refusal.as_deref())),
        keys => Ok(function(keys)),
    }
}

/// Returns the versions of all keys, in the order of the file.
pub fn versions() -> Vec<Version> {
    OF_PROCESS.0.borrow().keys.iter().map(|key| key.version).collect()
}

/// Returns the versions whose keys are retired.
pub fn retired() -> Vec<Version> {
    OF_PROCESS.0.borrow().retired.clone()
}

/// Returns the reason why the file was refused when this process read it last.
pub fn refusal() -> Option<String> {
    OF_PROCESS.0.borrow().refusal.clone()
}

fn no_keys(refusal: Option<&str>) -> Report {
    let report = Report::wrong_state("there is no key for the public form of IDs");
    match refusal {
        Some(reason) => report
            .confidential(format!("The file was refused: {reason}."))
            .hint("Correct the file and reload the configuration."),
        None => report.confidential("\"flakeid.public_keys_file\" is empty.").hint(
            "As the server's user run (umask 077; set -C; psql -XAtc 'SELECT \
             flakeid_new_public_key()' >/path/of/the/file). Then run ALTER SYSTEM SET \
             flakeid.public_keys_file = '/path/of/the/file', and SELECT pg_reload_conf().",
        ),
    }
}

/// Overwrites where functions that have returned had keys. The round keys are made in registers,
/// which are saved to the stack later, and on the stack, from which they are moved.
#[inline(never)]
fn overwrite() {
    drop(black_box(Aes256Enc::new(&[0; KEY_LEN].into())));
    let mut former = [0u8; 16_384];
    former.zeroize();
}

fn ensure_private(path: &Path, metadata: &Metadata) -> Result<(), String> {
    regular_file::ensure_private(metadata)
        .map_err(|reason| format!("\"{}\" {reason}", path.display()))
}

/// Reads a file of keys. An error is a reason without anything of the file's content.
#[inline(never)]
fn read(path: &Path) -> Result<Keys, String> {
    let unreadable = |error: io::Error| {
        format!("could not read \"{}\": {}", path.display(), error::os_reason(&error))
    };
    // The keys of a file that others can read do not come into memory. The file that is read may be
    // another one already.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_file() {
        ensure_private(path, &metadata)?;
    }
    let (content, metadata) =
        regular_file::read(path, FILE_LIMIT, Links::Followed).map_err(unreadable)?;
    let content = Zeroizing::new(content);
    ensure_private(path, &metadata)?;
    let lines =
        keys::parse(&content).map_err(|reason| format!("\"{}\" {reason}", path.display()))?;
    let mut read = Keys { keys: Vec::with_capacity(lines.len()), ..Keys::NONE };
    for line in &lines {
        let version = line.version;
        match &line.key {
            Some(key) => read.keys.push(Key { version, cipher: Aes256Enc::new((&**key).into()) }),
            None => read.retired.push(version),
        }
    }
    Ok(read)
}
