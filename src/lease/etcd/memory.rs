//! The file `flakeid/etcd` below the data directory: what this server remembers of the registry
//! that it leased from last.
//!
//! [`flakeid_formats::registry_memory`] has its contents. It is written as the state file is: see
//! [`regular_file::replace`].

use crate::horizon;
use crate::regular_file::{self, Links};
use crate::shmem::shared;
use flakeid_core::registry::memory::Memory;
use flakeid_formats::registry_memory::{LENGTH, contents, later_version, parse};
use std::io::ErrorKind;

const FILE: &str = "etcd";

/// Returns what this server remembers; `None` if it has never leased.
///
/// # Errors
/// The reason why the file cannot be read, or what is wrong with it.
pub fn read() -> Result<Option<Memory>, String> {
    let invalid = |bytes: &[u8]| match later_version(bytes) {
        Some(version) => {
            format!("file \"flakeid/etcd\" has version {version}, which this flakeid cannot read")
        }
        None => "file \"flakeid/etcd\" is damaged".into(),
    };
    match regular_file::read(&horizon::directory().join(FILE), LENGTH, Links::Refused) {
        Ok((bytes, _)) => parse(&bytes).map(Some).ok_or_else(|| invalid(&bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("could not read file \"flakeid/etcd\": {error}")),
    }
}

/// Writes the file, so that it is durable.
///
/// # Errors
/// The reason why it could not be written.
pub fn write(memory: &Memory) -> Result<(), String> {
    let could_not = |error: &str| format!("could not write file \"flakeid/etcd\": {error}");
    // The directory is created with the state file.
    let durable = shared().and_then(horizon::make_durable);
    durable.map_err(|failure| failure.line().0)?;
    let bytes =
        contents(memory).ok_or_else(|| could_not(&format!("it is larger than {LENGTH} bytes")))?;
    regular_file::replace(&horizon::directory(), FILE, &bytes)
        .map_err(|(_, error)| could_not(&error.to_string()))
}
