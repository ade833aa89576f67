//! The file `flakeid/watermark`: the prepared transactions that have generated IDs.
//!
//! It is a [`document`], and is written as the state file is: see [`regular_file::replace`]. It exists if a watermark may
//! have been reported on this server, or on the one whose data this is.

use crate::document;
use crate::document::Moment;
use crate::error::Report;
use crate::horizon;
use crate::regular_file::{self, Links};
use crate::shmem::Prepared;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind};

/// The name of the file in its directory, and from the data directory.
const FILE: &str = "watermark";
const NAME: &str = "flakeid/watermark";

/// The version of the document. A change of its fields raises it.
const VERSION: u32 = 1;

/// The document is filled up to a multiple of this length.
const PAGE: usize = 8192;

/// The greatest length of a file that is read.
const LONGEST: usize = 256 << 20;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    flakeid_watermark: u32,
    /// Text, since many readers of JSON lose numbers of this size.
    system_identifier: String,
    /// Whether the list may lack transactions.
    lost: bool,
    prepared: Vec<Entry>,
}

/// The contents of the file.
#[derive(Debug)]
pub struct OnDisk {
    pub prepared: Vec<Prepared>,
    /// Whether the list may lack transactions.
    pub is_lost: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The transaction's ID with its epoch, as `xid8`.
    transaction: u64,
    /// No ID of the transaction has an earlier time.
    bound: Moment,
    first_id_at: Moment,
}

fn bytes(list: &[Prepared], is_lost: bool) -> Option<Vec<u8>> {
    let entry = |prepared: &Prepared| Entry {
        transaction: prepared.transaction,
        bound: prepared.bound.into(),
        first_id_at: prepared.first_id_at.into(),
    };
    let mut document = serde_json::to_vec_pretty(&Document {
        flakeid_watermark: VERSION,
        system_identifier: horizon::system_identifier().to_string(),
        lost: is_lost,
        prepared: list.iter().map(entry).collect(),
    })
    .ok()?;
    let length = (document.len() + document::LAST_LINE + 1).next_multiple_of(PAGE);
    document.resize(length - document::LAST_LINE, b'\n');
    Some(document::seal(document))
}

fn parse(bytes: &[u8]) -> Result<OnDisk, String> {
    let damaged = || format!("file \"{NAME}\" is damaged");
    let document = document::unseal(bytes).map_err(|_| damaged())?;
    let value: serde_json::Value = serde_json::from_slice(document).map_err(|_| damaged())?;
    match value["flakeid_watermark"].as_u64() {
        Some(version) if version > VERSION.into() => {
            return Err(format!(
                "file \"{NAME}\" has version {version}, which this flakeid cannot read"
            ));
        }
        _ => {}
    }
    let document: Document = serde_json::from_value(value).map_err(|_| damaged())?;
    if document.system_identifier != horizon::system_identifier().to_string() {
        return Err(format!("file \"{NAME}\" is from a different cluster"));
    }
    let prepared = |entry: &Entry| {
        Some(Prepared {
            transaction: entry.transaction,
            bound: entry.bound.unix_nanos()?,
            first_id_at: entry.first_id_at.unix_nanos()?,
        })
    };
    let is_lost = document.lost;
    let prepared = document.prepared.iter().map(prepared).collect::<Option<_>>();
    Ok(OnDisk { prepared: prepared.ok_or_else(damaged)?, is_lost })
}

/// Reads the list that was written last; `None` if there never was a list.
///
/// # Errors
/// The reason for the log: the file cannot be read, is damaged, or is from a later version or another cluster.
pub fn read() -> Result<Option<OnDisk>, String> {
    match regular_file::read(&horizon::directory().join(FILE), LONGEST, Links::Refused) {
        Ok((bytes, _)) => parse(&bytes).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(denied("read", &error)),
    }
}

/// Makes a list durable. The caller holds the lock.
///
/// # Errors
/// The operating system refused it; then the file has the old list or the new one.
pub fn write(list: &[Prepared], is_lost: bool) -> Result<(), Report> {
    let Some(bytes) = bytes(list, is_lost) else { return Err(Report::out_of_memory()) };
    regular_file::replace(&horizon::directory(), FILE, &bytes).map_err(|(action, error)| {
        Report::new(horizon::denied_code(&error), denied(action, &error))
    })
}

fn denied(action: &str, error: &Error) -> String {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    format!("could not {action} file \"{NAME}\": {reason}")
}
