//! The memory of the registry that this server leased from last: the file `flakeid/etcd` below the data directory.
//!
//! It is a JSON document for people and, on its last line, the CRC-32 of all bytes before that line, as the state file
//! is. It is written as that is, too: see [`regular_file::replace`]. Earlier builds wrote a document without the
//! registries that this one followed, or the registry's address alone, filled up with empty lines.

use super::base::Halt;
use super::left::Left;
use crate::document;
use crate::horizon;
use crate::regular_file::{self, Links};
use crate::shmem::shared;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

const FILE: &str = "etcd";

/// The version of the document. A change of its fields raises it.
const VERSION: u32 = 4;

/// The oldest version that is a document. It has no `followed`; and the one after it has no `left`.
const OLDEST: u32 = 2;

/// The length of every file, in bytes. With other lengths, a backup that reads the size of one file and then copies the
/// next would cut it. The document is filled up with empty lines.
const LENGTH: usize = 4096;

/// The longest file of an address alone.
const ADDRESS_LENGTH: usize = 256;

/// The registry of the last lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub address: String,
    /// Its ID; `None` if an earlier build wrote the file.
    pub id: Option<u64>,
    /// The IDs of the registries that were in this etcd before it lost their data, newest first.
    pub followed: Vec<u64>,
    /// The endpoints at which the registry has answered, of those that the settings named last.
    pub endpoints: Vec<String>,
    /// The revision in which its key `address` was written, which may say that it replaces others. 0 if an earlier
    /// build wrote the file.
    pub word: i64,
    /// The registries that servers have left: see [`left`](super::left).
    pub left: Vec<Left>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    flakeid_etcd: u32,
    address: String,
    registry_id: String,
    #[serde(default)]
    followed: Vec<String>,
    endpoints: Vec<String>,
    #[serde(default)]
    address_revision: i64,
    #[serde(default)]
    left: Vec<String>,
}

/// Returns the name of a registry: its address, and its ID if it has one.
pub fn name(address: &str, id: Option<u64>) -> String {
    id.map_or_else(|| address.into(), |id| format!("{address}#{id:016x}"))
}

fn damaged() -> Halt {
    Halt::Because("file \"flakeid/etcd\" is damaged".into())
}

fn newer(version: u64) -> Halt {
    Halt::Because(format!(
        "file \"flakeid/etcd\" has version {version}, which this flakeid cannot read"
    ))
}

impl Memory {
    pub fn name(&self) -> String {
        name(&self.address, self.id)
    }

    /// Returns its ID and those that it followed, newest first. A registry that follows this one names them.
    pub fn chain(&self) -> impl Iterator<Item = u64> {
        self.id.into_iter().chain(self.followed.iter().copied())
    }

    /// Returns the version of a document if it is later than those that this library reads.
    fn newer(bytes: &[u8]) -> Option<u64> {
        let document: serde_json::Value =
            serde_json::from_slice(document::unseal(bytes).ok()?).ok()?;
        document["flakeid_etcd"].as_u64().filter(|&version| version > VERSION.into())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() <= ADDRESS_LENGTH && !bytes.starts_with(b"{") {
            let address = str::from_utf8(bytes).ok()?.trim_end_matches('\n');
            let memory = Self { address: address.into(), ..Self::default() };
            return (!address.is_empty()).then_some(memory);
        }
        let document = document::unseal(bytes).ok()?;
        let document: Document = serde_json::from_slice(document).ok()?;
        if !(OLDEST..=VERSION).contains(&document.flakeid_etcd) {
            return None;
        }
        let number = |text: &String| u64::from_str_radix(text, 16).ok();
        let id = number(&document.registry_id)?;
        let followed = document.followed.iter().map(number).collect::<Option<_>>()?;
        let left = document.left.iter().map(|text| Left::read(text)).collect::<Option<_>>()?;
        let Document { address, endpoints, address_revision: word, .. } = document;
        Some(Self { address, id: Some(id), followed, endpoints, word, left })
    }

    /// Returns the content of the file, with as many endpoints as it has room for.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut contents = Document {
            flakeid_etcd: VERSION,
            address: self.address.clone(),
            registry_id: format!("{:016x}", self.id?),
            followed: self.followed.iter().map(|id| format!("{id:016x}")).collect(),
            endpoints: self.endpoints.clone(),
            address_revision: self.word,
            left: self.left.iter().map(ToString::to_string).collect(),
        };
        loop {
            let mut bytes = serde_json::to_vec_pretty(&contents).ok()?;
            if bytes.len() < LENGTH - document::LAST_LINE {
                bytes.resize(LENGTH - document::LAST_LINE, b'\n');
                return Some(document::seal(bytes));
            }
            contents.endpoints.pop()?;
        }
    }
}

/// Returns what this server remembers; `None` if it has never leased.
pub fn read() -> Result<Option<Memory>, Halt> {
    match regular_file::read(&horizon::directory().join(FILE), LENGTH, Links::Refused) {
        Ok((bytes, _)) => Memory::from_bytes(&bytes)
            .map(Some)
            .ok_or_else(|| Memory::newer(&bytes).map_or_else(damaged, newer)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Halt::Because(format!("could not read file \"flakeid/etcd\": {error}"))),
    }
}

/// Writes the file, so that it is durable.
pub fn write(memory: &Memory) -> Result<(), Halt> {
    let could_not =
        |error: &str| Halt::Because(format!("could not write file \"flakeid/etcd\": {error}"));
    // The directory is created with the state file.
    let durable = shared().and_then(horizon::make_durable);
    durable.map_err(|failure| Halt::Because(failure.line().0))?;
    let bytes =
        memory.to_bytes().ok_or_else(|| could_not(&format!("it is larger than {LENGTH} bytes")))?;
    regular_file::replace(&horizon::directory(), FILE, &bytes)
        .map_err(|(_, error)| could_not(&error.to_string()))
}
