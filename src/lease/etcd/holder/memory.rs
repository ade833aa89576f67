//! What a server remembers of the registry that it leased from last: the file `flakeid/etcd` below the data directory.
//!
//! It is a JSON document for people and, on its last line, the CRC-32 of all bytes before that line, as the state file
//! is. It is written as that is, too: see [`regular_file::replace`]. Earlier builds wrote a document without the
//! registries that this one followed, or the registry's address alone, filled up with empty lines.

use super::base::Halt;
use crate::horizon;
use crate::regular_file::{self, Links};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

const FILE: &str = "etcd";

/// The version of the document. A change of its fields raises it.
const VERSION: u32 = 3;

/// The version that has no `followed`.
const UNFOLLOWED: u32 = 2;

/// How long the file always is, in bytes: a backup that looks at the size of one and then copies the next would cut
/// it. The document is filled up with empty lines.
const LENGTH: usize = 4096;

/// The last line: what is before the checksum, and how long it is.
const CHECKSUM: &str = "crc32 ";
const LAST_LINE: usize = CHECKSUM.len() + "01234567\n".len();

/// The longest file of an address alone.
const ADDRESS_LENGTH: usize = 256;

/// The registry of the last lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub address: String,
    /// Its ID; `None` where an earlier build wrote the file.
    pub id: Option<u64>,
    /// The IDs of the registries that were in this etcd before, newest first. It has lost their data.
    pub followed: Vec<u64>,
    /// Where the registry has answered, of the endpoints that the settings named last.
    pub endpoints: Vec<String>,
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
}

/// How a registry is named: by its address, and by its ID if it has one.
pub fn name(address: &str, id: Option<u64>) -> String {
    id.map_or_else(|| address.into(), |id| format!("{address}#{id:016x}"))
}

fn damaged() -> Halt {
    Halt::Because("file \"flakeid/etcd\" is damaged".into())
}

impl Memory {
    pub fn name(&self) -> String {
        name(&self.address, self.id)
    }

    /// Its ID and those that it followed, newest first: what a registry names that goes on in its place.
    pub fn chain(&self) -> impl Iterator<Item = u64> {
        self.id.into_iter().chain(self.followed.iter().copied())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() <= ADDRESS_LENGTH && !bytes.starts_with(b"{") {
            let address = str::from_utf8(bytes).ok()?.trim_end_matches('\n');
            let (followed, endpoints) = (Vec::new(), Vec::new());
            let memory = Self { address: address.into(), id: None, followed, endpoints };
            return (!address.is_empty()).then_some(memory);
        }
        let (document, checksum) = bytes.split_at(bytes.len().checked_sub(LAST_LINE)?);
        if checksum != last_line(document).as_bytes() {
            return None;
        }
        let document: Document = serde_json::from_slice(document).ok()?;
        let Document { flakeid_etcd: UNFOLLOWED | VERSION, address, endpoints, .. } = document
        else {
            return None;
        };
        let number = |text: &String| u64::from_str_radix(text, 16).ok();
        let id = number(&document.registry_id)?;
        let followed = document.followed.iter().map(number).collect::<Option<_>>()?;
        Some(Self { address, id: Some(id), followed, endpoints })
    }

    /// The file, with as many endpoints as it has room for.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut document = Document {
            flakeid_etcd: VERSION,
            address: self.address.clone(),
            registry_id: format!("{:016x}", self.id?),
            followed: self.followed.iter().map(|id| format!("{id:016x}")).collect(),
            endpoints: self.endpoints.clone(),
        };
        loop {
            let mut bytes = serde_json::to_vec_pretty(&document).ok()?;
            if bytes.len() < LENGTH - LAST_LINE {
                bytes.resize(LENGTH - LAST_LINE, b'\n');
                let last_line = last_line(&bytes);
                bytes.extend(last_line.as_bytes());
                return Some(bytes);
            }
            document.endpoints.pop()?;
        }
    }
}

fn last_line(document: &[u8]) -> String {
    format!("{CHECKSUM}{:08x}\n", crc32fast::hash(document))
}

/// What is remembered; `None` where nothing was leased yet.
pub fn read() -> Result<Option<Memory>, Halt> {
    match regular_file::read(&horizon::directory().join(FILE), LENGTH, Links::Refused) {
        Ok((bytes, _)) => Memory::from_bytes(&bytes).map(Some).ok_or_else(damaged),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Halt::Because(format!("could not read file \"flakeid/etcd\": {error}"))),
    }
}

/// Remembers this, so that it is durable.
pub fn write(memory: &Memory) -> Result<(), Halt> {
    let could_not =
        |error: &str| Halt::Because(format!("could not write file \"flakeid/etcd\": {error}"));
    // The directory comes into being with the state.
    horizon::make_durable().map_err(|failure| Halt::Because(failure.line().0))?;
    let bytes =
        memory.to_bytes().ok_or_else(|| could_not(&format!("it is larger than {LENGTH} bytes")))?;
    regular_file::replace(&horizon::directory(), FILE, &bytes)
        .map_err(|(_, error)| could_not(&error.to_string()))
}
