//! Vectors of uuidv7: the example of RFC 9562, and the crate `uuid`.

use flakeid_core::clock::{Tick, UnixMicros, UnixNanos};
use flakeid_core::uuidv7::{Id, Parts, SCALE, UNIT, tick_with_fraction};
use uuid::{NoContext, Timestamp, Uuid, Variant, Version};

/// The example of version 7 in RFC 9562, appendix A.6.
const EXAMPLE: &str = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
/// Its time, Tuesday, February 22, 2022 2:22:22.00 PM GMT-05:00, in milliseconds.
const TIME: u64 = 0x017F_22E2_79B0;

#[test]
fn the_example_of_the_rfc_is_taken_apart_and_put_together() {
    let id = Id(*Uuid::parse_str(EXAMPLE).unwrap().as_bytes());
    let parts = id.parts().unwrap();
    // rand_a is CC3. rand_b is 18C4DC0C0C07398F: two bits of lane, eight of sequence, and 52 random
    // ones.
    let rand_b = 0x18C4_DC0C_0C07_398F_u64;
    let (lane, sequence, random) = (rand_b >> 60, rand_b >> 52 & 0xFF, rand_b & (1 << 52) - 1);
    assert_eq!(parts, Parts { time: Tick(TIME), fraction: 0xCC3, lane, sequence, random });
    assert_eq!(id.time(), Some(UnixMicros(TIME as i64 * 1000)));
    assert_eq!(id.time(), Some(UnixMicros(1_645_557_742_000_000)));
    assert_eq!(Id::pack(Tick(TIME), 0xCC3, lane, sequence, random), id);
}

/// PostgreSQL 18 computes the fraction in this way (`generate_uuidv7`).
#[test]
fn the_crate_uuid_reads_version_variant_and_time_of_every_id() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..100_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let nanos = random >> 1;
        let reading = tick_with_fraction(UnixNanos(nanos)).0;
        let (tick, fraction) = (Tick(reading >> 12), reading & 4095);
        assert_eq!(SCALE.tick(UnixNanos(nanos)), Some(tick));
        let id = Id::pack(tick, fraction, random & 3, random >> 4 & 0xFF, random);
        let read = Uuid::from_bytes(id.0);
        assert_eq!(read.get_version(), Some(Version::SortRand));
        assert_eq!(read.get_variant(), Variant::RFC4122);
        let (seconds, subsecond) = read.get_timestamp().unwrap().to_unix();
        assert_eq!(seconds * 1000 + u64::from(subsecond) / 1_000_000, nanos / UNIT);
        let fraction = nanos % UNIT * 4096 / UNIT;
        assert_eq!(id.parts().unwrap().fraction, fraction);
    }
}

#[test]
fn an_id_of_the_crate_uuid_has_the_time_that_it_was_given() {
    for millis in [0, 1, TIME, (1 << 48) - 1] {
        let given = Timestamp::from_unix(NoContext, millis / 1000, (millis % 1000 * UNIT) as u32);
        let id = Id(*Uuid::new_v7(given).as_bytes());
        assert_eq!(id.time(), Some(UnixMicros(millis as i64 * 1000)));
        assert!(Id::min(id.time().unwrap()) <= id && id <= Id::max(id.time().unwrap()));
    }
    assert_eq!(Id(*Uuid::new_v4().as_bytes()).time(), None);
    assert_eq!(Id(*Uuid::nil().as_bytes()).parts(), None);
    assert_eq!(Id(*Uuid::max().as_bytes()).parts(), None);
}
