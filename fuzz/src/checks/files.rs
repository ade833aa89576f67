//! The files `flakeid/state`, `flakeid/etcd`, `flakeid/watermark` and `flakeid/location`, and
//! PostgreSQL's files with the history of a timeline. For the first two the first byte of an input
//! says how the rest is used: as a file, as a document without its checksum, or as numbers.

use super::Input;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::registry::memory::Memory;
use flakeid_formats::document::{self, LAST_LINE};
use flakeid_formats::location::Location;
use flakeid_formats::state::{ID_TYPES, Invalid, Names, PersistedState};
use flakeid_formats::wal_point::{Point, Position, last_of_history};
use flakeid_formats::{mac_address, registry_memory as memory_file, watermark};

/// Returns the file of an input, and where it is damaged.
fn file(data: &[u8]) -> (Vec<u8>, usize) {
    let mut input = Input(data);
    let (kind, damaged) = (input.u8(), input.u64() as usize);
    match kind % 2 {
        0 => (input.0.to_vec(), damaged),
        _ => (document::seal(input.0.to_vec()), damaged),
    }
}

/// Calls a function with damaged copies of a file: with another byte, cut off at the end, and
/// with more at the end.
fn damaged(file: &[u8], at: usize, mut check: impl FnMut(&[u8])) {
    let mut other = file.to_vec();
    other[at % file.len()] ^= 1 + (at / file.len() % 255) as u8;
    check(&other);
    check(&file[..file.len() - 1 - at % (LAST_LINE - 1)]);
    check(&[file, b"\n"].concat());
}

pub fn state_file(data: &[u8]) {
    if data.first().is_some_and(|kind| kind % 3 == 2) {
        return any_state(&data[1..]);
    }
    let (file, at) = file(data);
    let Ok(state) = PersistedState::from_bytes(&file) else { return };
    damaged(&file, at, |other| {
        let read = PersistedState::from_bytes(other);
        assert!(matches!(read, Err(Invalid::Damaged(_))), "a damaged file was read: {read:?}");
    });
    // An earlier version wrote no names. They are chosen, and all else stays.
    let names = Names { guid_node: 7, mac_address: mac_address::locally_administered(9) };
    written_and_read(PersistedState { names: state.names.or(Some(names)), ..state });
}

fn any_state(data: &[u8]) {
    let mut input = Input(data);
    let kind = input.u8();
    let mut epochs = [None; ID_TYPES.len()];
    for (bit, epoch) in epochs.iter_mut().enumerate() {
        *epoch = (kind >> bit & 1 == 1).then(|| UnixNanos(input.u64()));
    }
    let names = Names {
        guid_node: input.u32(),
        mac_address: mac_address::locally_administered(input.u64()),
    };
    written_and_read(PersistedState {
        system_identifier: input.u64(),
        horizon: Horizon {
            until: [input.u64(), input.u64(), input.u64()].map(UnixNanos),
            toggle: kind >> 6 & 1 == 1,
        },
        names: Some(names),
        epochs,
        last_clock_reading: UnixNanos(input.u64()),
        written_at: UnixNanos(input.u64()),
        stopped: kind >> 7 == 1,
    });
}

fn written_and_read(state: PersistedState) {
    let bytes = state.bytes().expect("a state can be written");
    assert_eq!(bytes.len(), 1280 + LAST_LINE, "each file has the same length");
    assert_eq!(PersistedState::from_bytes(&bytes).expect("what was written is read"), state);
}

pub fn registry_memory(data: &[u8]) {
    let (file, at) = file(data);
    let later = memory_file::later_version(&file);
    let Some(memory) = memory_file::parse(&file) else { return };
    assert_eq!(later, None, "a later version was read");
    let Some(bytes) = memory_file::contents(&memory) else {
        // An address alone has no ID. Otherwise the names are too long for a file.
        assert!(memory.id.is_none() || file.len() > memory_file::LENGTH / 8);
        return;
    };
    // A file of an address alone has no checksum.
    damaged(&file, at, |other| assert_eq!(memory_file::parse(other), None, "damaged"));
    assert_eq!(bytes.len(), memory_file::LENGTH, "each file has the same length");
    let read = memory_file::parse(&bytes).expect("what was written is read");
    assert!(memory.endpoints.starts_with(&read.endpoints), "other endpoints");
    assert_eq!(read, Memory { endpoints: read.endpoints.clone(), ..memory });
}

pub fn watermark_file(data: &[u8]) {
    let mut input = Input(data);
    let (cluster, other, at) = (input.u64(), input.u64(), input.u64() as usize);
    let file = watermark::bytes(cluster).expect("the file can be written");
    assert_eq!(file.len(), watermark::LENGTH, "each file has the same length");
    assert!(document::unseal(&file).is_ok());
    damaged(&file, at, |other| assert!(document::unseal(other).is_err(), "damaged"));
    let is_same = watermark::bytes(other).ok() == Some(file);
    assert_eq!(is_same, other == cluster, "two clusters have one file");
    // Documents of any content.
    let sealed = document::seal(input.0.to_vec());
    assert_eq!(document::unseal(&sealed), Ok(input.0));
    if let Ok(document) = document::unseal(input.0) {
        assert_eq!(document::seal(document.to_vec()), input.0);
    }
}

pub fn location_file(data: &[u8]) {
    let mut input = Input(data);
    let point = Point { timeline: input.u32(), position: Position(input.u64()) };
    if let Some(location) = Location::from_bytes(input.0) {
        read_again(&location);
        read_again(&location.with_replayed(point));
    }
    let text = String::from_utf8_lossy(input.0);
    let directory = text.chars().rev().collect();
    let location = Location::of_server(Some(text.clone().into()), directory, Some(point.timeline));
    read_again(&location.with_replayed(point));
    history(&text, point);
}

fn read_again(location: &Location) {
    let bytes = location.bytes().expect("it can be written");
    assert_eq!(Location::from_bytes(&bytes).as_ref(), Some(location));
    assert_eq!(Location::from_bytes(&bytes[..bytes.len() - 1]), None, "a file that was cut");
}

/// Checks that what follows the last entry counts, if it is an entry.
fn history(text: &str, point: Point) {
    let last = last_of_history(text);
    assert_eq!(last_of_history(&format!("{text}\n# a comment\n\n")), last);
    let Point { timeline, position } = point;
    let entry = format!("{timeline}\t{}\tno reason", String::from(position));
    assert_eq!(last_of_history(&format!("{text}\n{entry}\n")), Some(point));
}
