//! The SQL functions of uuidv7. An ID is a value of PostgreSQL's type uuid, which can also hold
//! other UUIDs.

use super::batch::batch;
use super::datum::{RawDatum, bigint, copy, integer, row, try_copy};
use super::error::ValueError;
use crate::copy_from;
use crate::error::{Code, OrRaise, Report};
use crate::generator::{Generator, Identity, Issuer};
use crate::random;
use crate::timestamp::{Time, ends};
use flakeid_core::session::Issued;
use flakeid_core::uuidv7::{Id, LANES, Uuidv7};
use pgrx::datum::{Range, Uuid};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// The generator of uuidv7 IDs in this process.
static IDS: Generator<Uuidv7> = Generator::new();

impl Issuer for Uuidv7 {
    const IDENTITY: Identity = Identity::Lanes(LANES);
}

fn id(uuid: Uuid) -> Id {
    Id(*uuid.as_bytes())
}

fn uuid(id: Id) -> Uuid {
    Uuid::from_bytes(id.0)
}

/// Returns random bits, or raises an error.
#[inline]
fn random_bits() -> u64 {
    let no_bits = || Report::new(Code::ERRCODE_INTERNAL_ERROR, "could not generate random values");
    random::next_or_seed().ok_or_else(no_bits).or_raise()
}

#[inline]
fn pack(issued: Issued, i: u32, random: u64) -> Id {
    let sequence = issued.block.sequence + i;
    let tick = issued.block.stamp.tick::<Uuidv7>();
    Id::pack(tick, issued.fraction, issued.generator_id, sequence.into(), random)
}

copy_from::next_fns!(uuidv7_next_wrapper uuidv7_next_for_copy_wrapper: |_fcinfo|
    random::next().and_then(|random| {
        let issued = IDS.take_prefetched()?;
        try_copy(&pack(issued, 0, random).0).map(Into::into)
    }),
    {
        let random = random_bits();
        copy(&pack(IDS.take(1), 0, random).0).into()
    }
);

#[pg_extern(sql = false)]
fn uuidv7_next_in(stream: &[u8]) -> Uuid {
    let random = random_bits();
    uuid(pack(IDS.take_in(stream), 0, random))
}

#[pg_extern(sql = false)]
fn uuidv7_next_batch(n: i32) -> SetOfIterator<'static, Uuid> {
    SetOfIterator::new(batch(&IDS, n, |issued, i| uuid(pack(issued, i, random_bits()))))
}

#[pg_extern(sql = false)]
fn uuidv7_valid(value: Uuid) -> bool {
    id(value).is_valid()
}

#[pg_extern(sql = false)]
fn uuidv7_decode(value: Uuid, fcinfo: pg_sys::FunctionCallInfo) -> Option<RawDatum> {
    let (time, parts) = (id(value).time()?, id(value).parts()?);
    let fields = [
        Time(time).datum(),
        integer(parts.fraction),
        integer(parts.lane),
        integer(parts.sequence),
        bigint(parts.random),
    ];
    Some(row(fcinfo, fields))
}

#[pg_extern(sql = false)]
fn uuidv7_timestamp(value: Uuid) -> Option<Time> {
    id(value).time().map(Time)
}

#[pg_extern(sql = false)]
fn uuidv7_encode(time: Time, fraction: i32, lane: i32, sequence: i32, random: i64) -> Uuid {
    let (fraction, lane, sequence) = (fraction.into(), lane.into(), sequence.into());
    uuid(Id::encode(time.0, fraction, lane, sequence, random).or_raise())
}

#[pg_extern(sql = false)]
fn uuidv7_at(time: Time, number: i64) -> Uuid {
    let number = u64::try_from(number)
        .map_err(|_| ValueError::Negative { what: "number within the tick", value: number })
        .or_raise();
    uuid(Id::at(time.0, number, random_bits()).or_raise())
}

#[pg_extern(sql = false)]
fn uuidv7_min(time: Time) -> Uuid {
    uuid(Id::min(time.0))
}

#[pg_extern(sql = false)]
fn uuidv7_max(time: Time) -> Uuid {
    uuid(Id::max(time.0))
}

fn range(times: Range<TimestampWithTimeZone>) -> (Id, Id) {
    let (from, to) = ends(times);
    Id::range(from, to)
}

#[pg_extern(sql = false)]
fn uuidv7_range_min(times: Range<TimestampWithTimeZone>) -> Uuid {
    uuid(range(times).0)
}

#[pg_extern(sql = false)]
fn uuidv7_range_max(times: Range<TimestampWithTimeZone>) -> Uuid {
    uuid(range(times).1)
}

// A predicate is a comparison of the UUIDs, and a check of the version: the planner makes these of
// nearly all calls.

/// Returns `valid(id) AND id >= min(from) AND id <= max(to)`, in SQL's logic: NULL if a comparison
/// is unknown and none is false.
#[pg_extern(sql = false)]
fn uuidv7_between(value: Option<Uuid>, from: Option<Time>, to: Option<Time>) -> Option<bool> {
    let id = id(value?);
    let conditions = [
        from.map(|from| id >= Id::min(from.0)),
        to.map(|to| id <= Id::max(to.0)),
        Some(id.is_valid()),
    ];
    match conditions {
        _ if conditions.contains(&Some(false)) => Some(false),
        _ if conditions.contains(&None) => None,
        _ => Some(true),
    }
}

#[pg_extern(sql = false)]
fn uuidv7_within(value: Uuid, times: Range<TimestampWithTimeZone>) -> bool {
    let (id, (first, last)) = (id(value), range(times));
    id.is_valid() && first <= id && id <= last
}

#[pg_extern(sql = false)]
fn uuidv7_before(value: Uuid, time: Time) -> bool {
    let id = id(value);
    id.is_valid() && id < Id::min(time.0)
}

#[pg_extern(sql = false)]
fn uuidv7_since(value: Uuid, time: Time) -> bool {
    let id = id(value);
    id.is_valid() && id >= Id::min(time.0)
}

#[pg_extern(sql = false)]
fn uuidv7_after(value: Uuid, time: Time) -> bool {
    let id = id(value);
    id.is_valid() && id > Id::max(time.0)
}
