//! Files between versions: what this version reads of a later one, and what 0.7.0 reads of this
//! one. A server can go back to the library that it had before.

use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::registry::memory::Memory;
use flakeid_formats::document::{seal, unseal};
use flakeid_formats::mac_address::locally_administered;
use flakeid_formats::state::{ID_TYPES, Invalid, Names, PersistedState};
use flakeid_formats::{registry_memory, watermark};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const UUIDV7: usize = 5;

/// A state in which every field has a value of its own.
fn state() -> PersistedState {
    let mut epochs = ID_TYPES.map(|_| None);
    for (nr, epoch) in (1..).zip(&mut epochs) {
        *epoch = Some(UnixNanos(nr * 1_000_000));
    }
    epochs[UUIDV7] = None;
    PersistedState {
        system_identifier: 7_000_000_000_000_000_001,
        horizon: Horizon { until: [11, 12, 13].map(UnixNanos), toggle: true },
        names: Some(Names { guid_node: 14, mac_address: locally_administered(15) }),
        epochs,
        last_clock_reading: UnixNanos(16),
        written_at: UnixNanos(17),
        stopped: true,
    }
}

fn memory() -> Memory {
    Memory {
        id: Some(21),
        followed: vec![22, 23],
        address: "etcd://a:1/flakeid/".into(),
        endpoints: vec!["http://a:1".into()],
        address_revision: 24,
        ..Memory::default()
    }
}

/// Returns the document of a file.
fn document(file: &[u8]) -> Value {
    serde_json::from_slice(unseal(file).unwrap()).unwrap()
}

/// Returns a file with a document that a closure has changed.
fn changed(file: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut document = document(file);
    change(&mut document);
    seal(format!("{document:#}\n").into_bytes())
}

#[test]
fn a_state_file_with_more_fields_and_id_types_is_read_without_them() {
    let later = changed(&state().bytes().unwrap(), |document| {
        document["tracks"] = json!([{ "name": "orders", "until": "2026-11-27T00:00:00Z" }]);
        document["epochs"]["flake96"] = json!("2030-01-01T00:00:00.000000000Z");
    });
    let read = PersistedState::from_bytes(&later).unwrap();
    assert_eq!(read, state());
    // It is written in the form of this version.
    assert_eq!(read.bytes().unwrap(), state().bytes().unwrap());
}

#[test]
fn a_state_file_of_a_later_number_is_refused() {
    let later = changed(&state().bytes().unwrap(), |document| document["flakeid_state"] = json!(3));
    assert_eq!(PersistedState::from_bytes(&later), Err(Invalid::Newer { version: 3 }));
}

#[test]
fn the_memory_of_a_registry_with_more_fields_is_read_without_them() {
    let file = registry_memory::contents(&memory()).unwrap();
    let later = changed(&file, |document| document["leases"] = json!({ "a": 1 }));
    assert_eq!(registry_memory::parse(&later), Some(memory()));
    let later = changed(&file, |document| document["flakeid_etcd"] = json!(5));
    assert_eq!(registry_memory::later_version(&later), Some(5));
    assert_eq!(registry_memory::parse(&later), None);
}

/// The state file as 0.7.0 reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "0.7.0 reads these fields")]
struct StateOf070 {
    flakeid_state: u64,
    system_identifier: String,
    until: String,
    tick_tock_until: [String; 2],
    tick_tock: u8,
    epochs: BTreeMap<String, String>,
    guid_node: Option<u32>,
    worker: Option<String>,
    since: String,
    written: String,
    server: String,
}

/// The memory of a registry as 0.7.0 reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "0.7.0 reads these fields")]
struct MemoryOf070 {
    flakeid_etcd: u32,
    address: String,
    registry_id: String,
    followed: Vec<String>,
    endpoints: Vec<String>,
    address_revision: i64,
    left: Vec<String>,
}

#[test]
fn version_0_7_0_reads_the_files_of_this_version() {
    let read: StateOf070 =
        serde_json::from_value(document(&state().bytes().unwrap())).expect("0.7.0 reads the state");
    assert_eq!(read.flakeid_state, 2);
    let known = ["flake", "flake128", "guid", "sno", "uniqueid"].map(String::from);
    assert_eq!(read.epochs.into_keys().collect::<BTreeSet<_>>(), BTreeSet::from(known));
    assert_eq!(read.server, "stopped");

    let file = registry_memory::contents(&memory()).unwrap();
    let read: MemoryOf070 =
        serde_json::from_value(document(&file)).expect("0.7.0 reads the memory of a registry");
    assert_eq!(read.flakeid_etcd, 4);
}

/// 0.7.0 must not take the file for one of its own, and trust the list of prepared transactions in
/// it. It refuses a number above 1.
#[test]
fn version_0_7_0_refuses_the_file_of_the_watermark() {
    let file = watermark::bytes(7).unwrap();
    assert!(document(&file)["flakeid_watermark"].as_u64() > Some(1));
}

/// The checksum covers the whole file, with the lines that fill it up.
#[test]
fn a_state_file_that_is_cut_off_or_has_another_bit_anywhere_is_damaged() {
    let file = state().bytes().unwrap();
    let is_damaged =
        |other: &[u8]| matches!(PersistedState::from_bytes(other), Err(Invalid::Damaged(_)));
    for at in 0..file.len() {
        assert!(is_damaged(&file[..at]), "cut off at byte {at}");
        for bit in 0..8 {
            let mut other = file.clone();
            other[at] ^= 1 << bit;
            assert!(is_damaged(&other), "another bit {bit} in byte {at}");
        }
    }
}

/// 0.6.1 wrote the address alone, filled up with empty lines.
#[test]
fn an_address_that_0_6_1_wrote_alone_is_read() {
    let mut file = b"cdf818194e3a8c32/flakeid/".to_vec();
    file.resize(256, b'\n');
    let address = "cdf818194e3a8c32/flakeid/".into();
    assert_eq!(registry_memory::parse(&file), Some(Memory { address, ..Memory::default() }));
}

/// The last builds of 0.6.1 wrote version 3.
#[test]
fn the_memory_of_a_registry_of_version_3_is_read() {
    let file = changed(&registry_memory::contents(&memory()).unwrap(), |document| {
        document["flakeid_etcd"] = json!(3);
        let fields = document.as_object_mut().unwrap();
        fields.remove("address_revision");
        fields.remove("left");
    });
    let expected = Memory { address_revision: 0, ..memory() };
    assert_eq!(registry_memory::parse(&file), Some(expected));
}
