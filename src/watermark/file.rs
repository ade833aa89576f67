//! The file `flakeid/watermark`: it says that a watermark may have been reported on this server, or
//! on the one whose data this is.
//!
//! It is a [`document`], and is written as the state file is: see [`regular_file::replace`]. All
//! that it says is that it exists, so no damage can take anything away. Its length is the same on
//! each server and never changes.
//!
//! # Versions
//! 0.7.0 wrote version 1, with the list of prepared transactions, and trusted that list at the next
//! start. 0.8.0 writes version 2, and writes no list. So 0.7.0 must not find its own file again
//! after a life with 0.8.0: that life replaces the file ([`super::usage`]). 0.7.0 cannot read
//! version 2. It then assumes no knowledge of prepared transactions, and each of them holds its
//! watermark at 1970.

use crate::document;
use crate::error::Report;
use crate::horizon;
use crate::regular_file::{self, Links};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

/// The name of the file in its directory, and from the data directory.
const FILE: &str = "watermark";
const NAME: &str = "flakeid/watermark";

/// The version of the document. A change of its fields raises it.
const VERSION: u32 = 2;

/// The document is filled up to this length.
const LENGTH: usize = 512;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    flakeid_watermark: u32,
    /// Text, since many readers of JSON lose numbers of this size.
    system_identifier: String,
}

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
    let system_identifier = horizon::system_identifier().to_string();
    let document = Document { flakeid_watermark: VERSION, system_identifier };
    let mut document = serde_json::to_vec_pretty(&document).ok()?;
    document.resize(LENGTH - document::LAST_LINE, b'\n');
    Some(document::seal(document))
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
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        Report::new(
            horizon::denied_code(&error),
            format!("could not {action} file \"{NAME}\": {reason}"),
        )
    })
}
