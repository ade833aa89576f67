//! The contents of the file `flakeid/etcd`: what a server remembers of the registry that it leased
//! from last.
//!
//! It is a JSON document for people and, on its last line, the CRC-32 of all bytes before that line
//! ([`document`]). Version 0.6.1 wrote the registry's address alone, filled up with empty lines.
//!
//! A reader ignores fields that it does not know, as for [the state file](crate::state), and
//! refuses a number above its own. A later version may add only what is safe to lose.

use crate::document;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::retired::RetiredRegistry;
use serde::{Deserialize, Serialize};

/// The version of the document, which 0.7.0 wrote first. A change that an earlier version must not
/// ignore raises it.
const VERSION: u32 = 4;

/// The oldest version that a release may have written. It has neither retired registries nor the
/// revision of the address.
const OLDEST: u32 = 3;

/// The length of every file, in bytes. With other lengths, a backup that reads the size of one file
/// and then copies the next would cut it. The document is filled up with empty lines.
pub const LENGTH: usize = 4096;

/// The longest file of an address alone.
const ADDRESS_LENGTH: usize = 256;

#[derive(Serialize, Deserialize)]
struct Document {
    flakeid_etcd: u32,
    address: String,
    registry_id: String,
    followed: Vec<String>,
    endpoints: Vec<String>,
    #[serde(default)]
    address_revision: i64,
    #[serde(default)]
    left: Vec<String>,
}

/// Returns the version of a document if it is later than the one that this library reads.
pub fn later_version(bytes: &[u8]) -> Option<u64> {
    let document: serde_json::Value = serde_json::from_slice(document::unseal(bytes).ok()?).ok()?;
    document["flakeid_etcd"].as_u64().filter(|&version| version > VERSION.into())
}

/// Reads the contents of the file: a document, or the address alone that version 0.6.1 wrote.
/// Returns `None` for any other contents.
pub fn parse(bytes: &[u8]) -> Option<Memory> {
    let is_document = bytes.trim_ascii_start().starts_with(b"{") || document::has_checksum(bytes);
    if bytes.len() <= ADDRESS_LENGTH && !is_document {
        let address = str::from_utf8(bytes).ok()?.trim_end_matches('\n');
        let memory = Memory { address: address.into(), ..Memory::default() };
        return (!address.is_empty()).then_some(memory);
    }
    let document = document::unseal(bytes).ok()?;
    let document: Document = serde_json::from_slice(document).ok()?;
    if !(OLDEST..=VERSION).contains(&document.flakeid_etcd) {
        return None;
    }
    let number = |text: &String| u64::from_str_radix(text, 16).ok();
    let retired = document.left.iter().map(|text| RetiredRegistry::parse(text));
    Some(Memory {
        id: Some(number(&document.registry_id)?),
        followed: document.followed.iter().map(number).collect::<Option<_>>()?,
        retired: retired.collect::<Option<_>>()?,
        address: document.address,
        endpoints: document.endpoints,
        address_revision: document.address_revision,
    })
}

/// Returns the contents of the file, with as many endpoints as it has room for; `None` if the rest
/// has no room, or if the memory has no ID.
pub fn contents(memory: &Memory) -> Option<Vec<u8>> {
    let mut contents = Document {
        flakeid_etcd: VERSION,
        address: memory.address.clone(),
        registry_id: format!("{:016x}", memory.id?),
        followed: memory.followed.iter().map(|id| format!("{id:016x}")).collect(),
        endpoints: memory.endpoints.clone(),
        address_revision: memory.address_revision,
        left: memory.retired.iter().map(ToString::to_string).collect(),
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
