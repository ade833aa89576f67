//! The file `flakeid/watermark`: it says that a watermark may have been reported on this server, or
//! on the one whose data this is.
//!
//! It is a [`document`](flakeid_formats::document), and is written as the state file is: see
//! [`regular_file::replace`]. All that it says is that it exists, so no damage can take anything
//! away. Its length is the same on each server and never changes.
//!
//! # Versions
//! 0.7.0 wrote version 1, with the list of prepared transactions, and trusted that list at the next
//! start. 1.0.0 writes version 2, and writes no list. So 0.7.0 must not find its own file again
//! after a life with 1.0.0: that life replaces the file ([`super::usage`]). 0.7.0 cannot read
//! version 2. It then assumes no knowledge of prepared transactions, and each of them holds its
//! watermark at 1970.

use crate::error::{Report, os_reason};
use crate::horizon;
use crate::regular_file::{self, Links};
use flakeid_formats::watermark::{self, LENGTH};
use std::io::ErrorKind;

/// The name of the file in its directory, and from the data directory.
const FILE: &str = "watermark";
const NAME: &str = "flakeid/watermark";

/// The state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// No watermark was reported.
    Missing,
    /// The file that [`write()`] writes.
    Present,
    /// Another file: of another version or another cluster, damaged, or one that cannot be read.
    Other,
}

fn bytes() -> Option<Vec<u8>> {
    watermark::bytes(horizon::system_identifier()).ok()
}

/// Reads the file.
pub fn read() -> OnDisk {
    match regular_file::read(&horizon::directory().join(FILE), LENGTH, Links::Refused) {
        Ok((found, _)) if bytes().is_some_and(|ours| ours == found) => OnDisk::Present,
        Err(error) if error.kind() == ErrorKind::NotFound => OnDisk::Missing,
        _ => OnDisk::Other,
    }
}

/// Writes the file durably. The caller holds the lock.
///
/// # Errors
/// The operating system refused it; then the file is the old one or the new one.
pub fn write() -> Result<(), Report> {
    let Some(bytes) = bytes() else { return Err(Report::out_of_memory()) };
    regular_file::replace(&horizon::directory(), FILE, &bytes).map_err(|(action, error)| {
        Report::new(
            horizon::denied_code(&error),
            format!("could not {action} file \"{NAME}\": {}", os_reason(&error)),
        )
    })
}
