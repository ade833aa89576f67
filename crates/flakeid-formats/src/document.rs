//! Files that are a JSON document for people and, on their last line, the CRC-32 of all bytes
//! before that line.
//!
//! The end of a document is filled up with empty lines to a length that seldom changes. With other
//! lengths, a backup that reads the size of one file and then copies the next would cut it.

use flakeid_core::clock::UnixNanos;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The text before the checksum on the last line.
const CHECKSUM: &str = "crc32 ";

/// The length of the last line.
pub const LAST_LINE: usize = CHECKSUM.len() + "01234567\n".len();

/// Why bytes are not a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealed {
    TooShort,
    WrongChecksum,
}

/// Appends the last line to a document.
pub fn seal(mut document: Vec<u8>) -> Vec<u8> {
    let last_line = last_line(&document);
    document.extend(last_line.as_bytes());
    document
}

/// Returns the document of a file, without the last line.
///
/// # Errors
/// [`Unsealed`], if the last line does not match.
pub fn unseal(bytes: &[u8]) -> Result<&[u8], Unsealed> {
    let middle = bytes.len().checked_sub(LAST_LINE).ok_or(Unsealed::TooShort)?;
    let (document, checksum) = bytes.split_at(middle);
    // The comparison is of texts: a digit in upper case is not what was written.
    match checksum == last_line(document).as_bytes() {
        true => Ok(document),
        false => Err(Unsealed::WrongChecksum),
    }
}

/// Returns whether the last line has the form of a checksum, right or wrong.
pub fn has_checksum(bytes: &[u8]) -> bool {
    let start = bytes.len().checked_sub(LAST_LINE);
    start.is_some_and(|start| bytes[start..].starts_with(CHECKSUM.as_bytes()))
}

fn last_line(document: &[u8]) -> String {
    format!("{CHECKSUM}{:08x}\n", crc32fast::hash(document))
}

/// A time as RFC 3339 writes it, in UTC, to the nanosecond.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Moment(Timestamp);

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.strftime("%Y-%m-%dT%H:%M:%S%.9fZ"))
    }
}

impl From<UnixNanos> for Moment {
    fn from(moment: UnixNanos) -> Self {
        // The year 2554, in which the nanoseconds end, is within the calendar.
        Self(Timestamp::from_nanosecond(moment.0.into()).unwrap_or(Timestamp::MAX))
    }
}

impl Moment {
    /// Returns the time; `None` if it is before 1970 or after the year 2554.
    pub fn unix_nanos(&self) -> Option<UnixNanos> {
        u64::try_from(self.0.as_nanosecond()).ok().map(UnixNanos)
    }
}
