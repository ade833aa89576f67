//! Vectors of flake, from T-PWK/go-flakeid.

use super::{naive, number, rows};
use flakeid_core::Error;
use flakeid_core::base64;
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::flake::{self, Epoch, Format, Origin};
use serde::Deserialize;

/// A row of the file. Numbers that may pass 2^53 are strings.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct FlakeRow {
    dec: String,
    signed: String,
    hex: String,
    /// The reading of the clock that the library got.
    unix_ms: String,
    /// The milliseconds, 64 bits without sign. The library allows a time before 1970.
    epoch: String,
    ts_field: u64,
    datacenter: u64,
    worker: u64,
    counter: u64,
    /// The value that the library got, of which it keeps the lower five bits.
    in_datacenter: String,
    in_worker: String,
    base64_le: String,
    base64_be: String,
    /// Whether the time lies outside the 42 bits, of which the library keeps the lower ones.
    #[serde(default)]
    wraps: bool,
    src: String,
    label: String,
}

#[derive(Default, Debug, PartialEq, Eq)]
struct FlakeKinds {
    plain: usize,
    masked: usize,
    wrapped: usize,
    epoch_before_1970: usize,
}

#[test]
fn every_flake_of_the_reference_is_encoded_alike_and_its_silent_masks_and_wraps_are_errors() {
    let mut kinds = FlakeKinds::default();
    for row in rows::<FlakeRow>(include_str!("flakeid.jsonl")) {
        let id = flake::Id(u64::from_str_radix(&row.hex, 16).unwrap());
        let given = |text: &str| number::<u64>(text) as i64;
        let (datacenter, worker) = (given(&row.in_datacenter), given(&row.in_worker));
        assert!(matches!(&*row.src, "mockclock" | "real"), "{row:?}");

        let wrapped = UnixMicros((given(&row.epoch) + row.ts_field as i64) * 1000);
        let origin = Origin::at(UnixMicros(given(&row.epoch) * 1000));
        assert_eq!(id.time(origin), wrapped, "{row:?}");
        let Some(epoch) = Epoch::from_millis(given(&row.epoch)) else {
            assert!(given(&row.epoch) < 0 && row.wraps, "{row:?}");
            kinds.epoch_before_1970 += 1;
            continue;
        };
        let time = UnixMicros(number::<i64>(&row.unix_ms) * 1000);
        let encode = |time: UnixMicros| {
            flake::Id::encode(time, datacenter, worker, row.counter as i64, epoch)
        };
        assert_eq!(epoch.origin(), origin, "{row:?}");
        if row.wraps {
            kinds.wrapped += 1;
            assert_ne!(wrapped, time, "{row:?}");
            let first = UnixMicros(number::<i64>(&row.epoch) * 1000);
            let last = UnixMicros(first.0 + ((1 << 42) - 1) * 1000);
            let error = Error::TimeOutOfRange { id_type: "flake", time, first, last };
            assert_eq!(encode(time), Err(error), "{row:?}");
        } else if (datacenter, worker) != (row.datacenter as i64, row.worker as i64) {
            kinds.masked += 1;
            let (field, value) = match datacenter == row.datacenter as i64 {
                true => ("worker", worker),
                false => ("datacenter", datacenter),
            };
            let error = Error::FieldOutOfRange { field, value, max: 31 };
            assert_eq!(encode(time), Err(error), "{row:?}");
        } else {
            kinds.plain += 1;
            assert_eq!(wrapped, time, "{row:?}");
            assert_eq!(encode(time), Ok(id), "{row:?}");
            assert_eq!(encode(UnixMicros(time.0 + 999)), Ok(id), "{row:?}");
        }
    }
    assert_eq!(kinds, FlakeKinds { plain: 144, masked: 4, wrapped: 3, epoch_before_1970: 1 });
}

#[test]
fn every_flake_of_the_reference_reads_alike_in_parts_and_in_every_text() {
    let rows = rows::<FlakeRow>(include_str!("flakeid.jsonl"));
    assert_eq!(rows.len(), 152);
    for row in rows {
        let FlakeRow { ts_field, datacenter, worker, counter, .. } = row;
        let word = number::<u64>(&row.dec);
        let id = flake::Id(word);
        let parts = flake::Parts { tick: Tick(ts_field), datacenter, worker, counter };
        assert_eq!(id.parts(), parts, "{}", row.label);
        assert_eq!(flake::Id::pack(Tick(ts_field), datacenter * 32 + worker, counter), id);
        assert_eq!((word as i64).to_string(), row.signed, "{}", row.label);
        assert_eq!(format!("{word:016x}"), row.hex, "{}", row.label);

        for (format, text) in [
            (Format::Decimal, row.dec),
            (Format::Hex, format!("{word:x}")),
            (Format::Binary, format!("{word:b}")),
            (Format::Base62, naive::in_base(u128::from(word), 62)),
            (Format::Base64, row.base64_le),
        ] {
            assert_eq!(format.write(id, str::to_owned), text, "{format:?}: {}", row.label);
            assert_eq!(format.read(text.as_bytes()), Ok(id), "{format:?}: {text}");
        }
        assert_eq!(Format::Hex.read(row.hex.as_bytes()), Ok(id));
        assert_eq!(Format::Hex.read(row.hex.to_uppercase().as_bytes()), Ok(id));
        assert_eq!(base64::encode(word.to_be_bytes()), *row.base64_be.as_bytes());
        assert_eq!(base64::decode(row.base64_be.as_bytes()), Ok(word.to_be_bytes()));
    }
}
