//! Texts and bytes of all ID types. An input has the bytes of two IDs and a time, and then a text.

use super::Input;
use flakeid_core::clock::UnixMicros;
use flakeid_core::conversion::{
    flake_from_flake128, flake_from_uuidv7, flake_to_flake128, flake_to_uuidv7,
};
use flakeid_core::flake::{self, Epoch, Format, LAST_SIGNED};
use flakeid_core::guid::{Clock, Drift};
use flakeid_core::{flake128, guid, guid_local, sno, uniqueid, uuidv7};
use std::fmt::Debug;

/// Checks that the text of an ID is read as that ID, and that no other ID has it.
fn same<I: Debug + PartialEq, E: Debug>(read: Result<I, E>, id: I) {
    assert_eq!(read.expect("a text of an ID is read"), id);
}

/// Returns the text without zeros at the beginning, which numbers may have.
fn trimmed(text: &[u8]) -> &[u8] {
    let zeros = text.iter().take_while(|&&byte| byte == b'0').count();
    &text[zeros.min(text.len() - 1)..]
}

pub fn flake(data: &[u8]) {
    let mut input = Input(data);
    let (id, time) = (flake::Id(input.u64()), UnixMicros(input.u64() as i64));
    let epoch = Epoch::from_millis((input.u64() % (1 << 42)) as i64).expect("42 bits");
    let parts = id.parts();
    let generator = parts.datacenter << flake::WORKER.width() | parts.worker;
    assert_eq!(flake::Id::pack(parts.tick, generator, parts.counter), id);
    for format in Format::ALL {
        format.write(id, |text| same(format.read(text.as_bytes()), id));
        let Ok(read) = format.read(input.0) else { continue };
        format.write(read, |text| {
            let is_same = match format {
                Format::Base64 => text.as_bytes() == input.0,
                Format::Hex => text.as_bytes().eq_ignore_ascii_case(trimmed(input.0)),
                _ => text.as_bytes() == trimmed(input.0),
            };
            assert!(is_same, "another text of {read:?}");
        });
    }
    let origin = epoch.origin();
    if parts.tick <= LAST_SIGNED {
        let own = id.time(origin);
        assert!(flake::Id::min(own, origin) <= id && id <= flake::Id::max(own, origin));
        same(flake_from_flake128(flake_to_flake128(id, epoch), epoch), id);
        same(flake_from_uuidv7(flake_to_uuidv7(id, epoch), epoch).expect("of a flake"), id);
    }
    let (first, last) = flake::Id::range(time, time, origin);
    assert!(first > last || first.time(origin) == time && last.time(origin) == time);
}

pub fn sno(data: &[u8]) {
    let mut input = Input(data);
    let [id, other, third] = [input.bytes(), input.bytes(), input.bytes()].map(sno::Id);
    let time = UnixMicros(input.u64() as i64);
    same(sno::Id::from_text(&id.text()), id);
    assert_eq!(id.text().cmp(&other.text()), id.cmp(&other), "texts sort otherwise");
    if id.sort_key(third) < other.sort_key(third) {
        assert!(id < other);
    }
    let parts = id.parts();
    let fields = [parts.tick, parts.meta, parts.partition, parts.sequence].map(|it| it as i64);
    let [tick, meta, partition, sequence] = fields;
    same(sno::Id::encode(id.time(), tick, meta, partition, sequence), id);
    assert!(sno::Id::min(id.time()) <= id && id <= sno::Id::max(id.time()));
    let (first, last) = sno::Id::range(time, time);
    assert!(first > last || first.time() == time && last.time() == time);
    if let Ok(read) = sno::Id::from_text(input.0) {
        assert_eq!(read.text(), input.0, "another text");
    }
}

pub fn flake128(data: &[u8]) {
    let mut input = Input(data);
    let [id, other, third] = [input.bytes(), input.bytes(), input.bytes()].map(flake128::Id);
    let base = 2 + u32::from(input.u8()) % 61;
    same(flake128::Id::from_text(id.text(base).as_ref(), base), id);
    if id.sort_key(third) < other.sort_key(third) {
        assert!(id < other);
    }
    let parts = id.parts();
    assert_eq!(flake128::Id::pack(parts.time, parts.worker, parts.sequence), id);
    assert_eq!(flake128::Id::from_word(id.word()), id);
    if id.time() < UnixMicros::BEYOND {
        let (worker, sequence) = (parts.worker as i64, parts.sequence as i64);
        same(flake128::Id::encode(id.time(), worker, sequence), id);
        assert!(flake128::Id::min(id.time()) <= id && id <= flake128::Id::max(id.time()));
    }
    for base in [base, 62, 16] {
        let Ok(read) = flake128::Id::from_text(input.0, base) else { continue };
        let (text, read) = (read.text(base), trimmed(input.0));
        let is_same = match base <= 36 {
            true => text.as_ref().eq_ignore_ascii_case(read),
            false => text.as_ref() == read,
        };
        assert!(is_same, "another text in base {base}");
    }
}

pub fn guid(data: &[u8]) {
    let mut input = Input(data);
    let [id, other, third] = [input.bytes(), input.bytes(), input.bytes()].map(guid::Id);
    let [local, other_local] = [input.u64(), input.u64()].map(guid_local::Local);
    let drift = i128::from(input.u64() as i64);
    same(guid::Id::from_text(&id.text()), id);
    same(guid::Id::from_base62(id.base62().as_ref()), id);
    same(guid_local::Local::from_text(&local.text()), local);
    same(guid_local::Local::from_base62(local.base62().as_ref()), local);
    assert_eq!(id.text().cmp(&other.text()), id.cmp(&other), "texts sort otherwise");
    assert_eq!(local.text().cmp(&other_local.text()), local.cmp(&other_local));
    if id.sort_key(third) < other.sort_key(third) {
        assert!(id < other);
    }
    let parts = id.parts();
    assert_eq!(guid::Id::pack(parts), id);
    assert_eq!(guid_local::Local::pack(local.parts()), local);
    same(id.local().global(parts.node as i64), id);
    for clock in [Clock::Unix, Clock::Inverse] {
        let (node, sequence) = (parts.node as i64, parts.sequence as i64);
        let encoded = guid::Id::encode(id.time(clock), node, sequence, parts.drift, clock);
        // A tick has no whole microseconds, so its beginning can be in the tick before.
        let apart = encoded.expect("a time of an ID").parts().time.0.abs_diff(parts.time.0);
        assert!(apart <= 1, "{apart} ticks");
    }
    assert_eq!(Drift::of_first_byte(id.0[0]), parts.drift);
    let [least, greatest] = parts.drift.first_bytes();
    assert!((least..=greatest).contains(&id.0[0]));
    assert!(Drift::named(drift).code() <= 7);
    if let Ok(read) = guid::Id::from_text(input.0) {
        assert_eq!(read.text(), input.0, "another text");
    }
    if let Ok(read) = guid_local::Local::from_text(input.0) {
        assert_eq!(read.text(), input.0, "another text");
    }
    if let Ok(read) = guid::Id::from_base62(input.0) {
        assert_eq!(read.base62().as_ref(), trimmed(input.0), "another text");
    }
    if let Ok(read) = guid_local::Local::from_base62(input.0) {
        assert_eq!(read.base62().as_ref(), trimmed(input.0), "another text");
    }
}

pub fn uniqueid(data: &[u8]) {
    let mut input = Input(data);
    let [id, other] = [input.u64(), input.u64()].map(uniqueid::Id);
    let time = UnixMicros(input.u64() as i64);
    same(uniqueid::Id::from_text(&id.text()), id);
    assert_eq!(id.text().cmp(&other.text()), id.cmp(&other), "texts sort otherwise");
    let parts = id.parts();
    assert_eq!(uniqueid::Id::pack(parts), id);
    let fields = [parts.sequence, parts.generator, parts.cluster].map(|field| field as i64);
    let [sequence, generator, cluster] = fields;
    same(uniqueid::Id::encode(id.time(), sequence, generator, cluster, parts.mode), id);
    if parts.mode == uniqueid::Mode::TimeSequential {
        assert!(uniqueid::Id::min(id.time()) <= id && id <= uniqueid::Id::max(id.time()));
    }
    let (first, last) = uniqueid::Id::range(time, time);
    assert!(first > last || first.time() == time && last.time() == time);
    if let Ok(read) = uniqueid::Id::from_text(input.0) {
        assert!(read.text().eq_ignore_ascii_case(input.0), "another text");
    }
}

pub fn uuidv7(data: &[u8]) {
    let mut input = Input(data);
    let (id, time) = (uuidv7::Id(input.bytes()), UnixMicros(input.u64() as i64));
    let (number, random) = (input.u64(), input.u64());
    assert_eq!(id.is_valid(), id.parts().is_some());
    assert_eq!(id.is_valid(), id.time().is_some());
    if let (Some(parts), Some(time)) = (id.parts(), id.time()) {
        let uuidv7::Parts { time: tick, fraction, lane, sequence, random } = parts;
        assert_eq!(uuidv7::Id::pack(tick, fraction, lane, sequence, random), id);
        assert!(uuidv7::Id::min(time) <= id && id <= uuidv7::Id::max(time));
    }
    if let Ok(made) = uuidv7::Id::at(time, number, random) {
        let parts = made.parts().expect("a valid UUID");
        let millis = made.time().expect("a valid UUID").0;
        // The microsecond is in the fraction of the millisecond.
        let micros = (parts.fraction * 1000 >> uuidv7::FRACTION.width()) as i64;
        assert_eq!(millis + micros, time.0, "another microsecond");
        assert!(uuidv7::Id::min(UnixMicros(millis)) <= made);
    }
    let (first, last) = uuidv7::Id::range(time, time);
    assert!(first > last || first.time() == Some(time) && last.time() == Some(time));
}
