//! The SQL functions of flake. An ID is kept as bigint; its 64 bits are read without sign.

use super::batch::{batch, place_in_tick};
use super::datum::{RawDatum, integer, row};
use super::error::ValueError;
use crate::copy_from;
use crate::error::OrRaise;
use crate::generator::{Generator, Identity, Issuer};
use crate::horizon;
use crate::timestamp::{Time, ends};
use flakeid_core::flake::{Epoch, Flake, Format, GENERATOR, Id, NAME, Origin, WORKER};
use flakeid_core::session::Issued;
use pgrx::datum::Range;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// The generator of flakes in this process.
static IDS: Generator<Flake> = Generator::new();

impl Issuer for Flake {
    const IDENTITY: Identity = Identity::GeneratorIds { max: GENERATOR.max() };
}

fn id(id: i64) -> Id {
    Id(id as u64)
}

/// Returns the epoch that a caller names for flakes. A time from which no server can count is an
/// error.
pub fn checked_epoch(time: Time) -> Epoch {
    let last = Epoch::MAX.micros();
    Epoch::from_micros(time.0).ok_or(ValueError::Epoch { time: time.0, last }).or_raise()
}

#[inline]
fn pack(issued: Issued, i: u32) -> i64 {
    let counter = issued.block.sequence + i;
    Id::pack(issued.block.stamp.tick::<Flake>(), issued.generator_id, counter.into()).0 as i64
}

copy_from::next_fns!(flake_next_wrapper flake_next_for_copy_wrapper: |_fcinfo|
    IDS.take_prefetched().map(|issued| pack(issued, 0).into()),
    pg_sys::Datum::from(pack(IDS.take(1), 0))
);

#[pg_extern(sql = false)]
fn flake_next_in(stream: &[u8]) -> i64 {
    pack(IDS.take_in(stream), 0)
}

#[pg_extern(sql = false)]
fn flake_next_batch(n: i32) -> SetOfIterator<'static, i64> {
    SetOfIterator::new(batch(&IDS, n, pack))
}

/// Returns the epoch of the server, for a caller that names no epoch. Whether it is an error
/// depends on the server alone, so that a function which calls this can be LEAKPROOF.
#[inline]
pub(super) fn server_epoch() -> Epoch {
    horizon::server_epoch().or_raise()
}

#[inline]
pub(super) fn server_origin() -> Origin {
    server_epoch().origin()
}

/// Returns the epoch that a caller names for reading, which can be any time.
fn origin(epoch: Time) -> Origin {
    Origin::at(epoch.0)
}

fn decode(fcinfo: pg_sys::FunctionCallInfo, id: Id, origin: Origin) -> RawDatum {
    let parts = id.parts();
    let fields = [
        Time(id.time(origin)).datum(),
        integer(parts.datacenter),
        integer(parts.worker),
        integer(parts.counter),
        integer(GENERATOR.get(id.0.into())),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn flake_decode(value: i64, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    decode(fcinfo, id(value), server_origin())
}

#[pg_extern(sql = false)]
fn flake_decode_epoch(value: i64, epoch: Time, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    decode(fcinfo, id(value), origin(epoch))
}

#[pg_extern(sql = false)]
fn flake_timestamp(value: i64) -> Time {
    Time(id(value).time(server_origin()))
}

#[pg_extern(sql = false)]
fn flake_timestamp_epoch(value: i64, epoch: Time) -> Time {
    Time(id(value).time(origin(epoch)))
}

fn encode(time: Time, datacenter: i32, worker: i32, counter: i32, epoch: Epoch) -> i64 {
    // A bigint has a sign: an ID of the second half of flake's times would sort before all others.
    let id = Id::encode_signed(time.0, datacenter.into(), worker.into(), counter.into(), epoch)
        .or_raise();
    id.0 as i64
}

#[pg_extern(sql = false)]
fn flake_encode(time: Time, datacenter: i32, worker: i32, counter: i32) -> i64 {
    encode(time, datacenter, worker, counter, server_epoch())
}

#[pg_extern(sql = false)]
fn flake_encode_epoch(time: Time, datacenter: i32, worker: i32, counter: i32, epoch: Time) -> i64 {
    encode(time, datacenter, worker, counter, checked_epoch(epoch))
}

/// Returns the ID at this server's place `number` of the tick of `time`: first all counters of the
/// first generator ID, then those of the next.
fn at(time: Time, number: i64, epoch: Epoch) -> i64 {
    let place = place_in_tick::<Flake>(number).or_raise();
    let (datacenter, worker) =
        (place.generator_id >> WORKER.width(), place.generator_id & WORKER.max());
    encode(time, datacenter as i32, worker as i32, place.sequence as i32, epoch)
}

#[pg_extern(sql = false)]
fn flake_at(time: Time, number: i64) -> i64 {
    at(time, number, server_epoch())
}

#[pg_extern(sql = false)]
fn flake_at_epoch(time: Time, number: i64, epoch: Time) -> i64 {
    at(time, number, checked_epoch(epoch))
}

#[pg_extern(sql = false)]
fn flake_min(time: Time) -> i64 {
    Id::min(time.0, server_origin()).0 as i64
}

#[pg_extern(sql = false)]
fn flake_min_epoch(time: Time, epoch: Time) -> i64 {
    Id::min(time.0, origin(epoch)).0 as i64
}

#[pg_extern(sql = false)]
fn flake_max(time: Time) -> i64 {
    Id::max(time.0, server_origin()).0 as i64
}

#[pg_extern(sql = false)]
fn flake_max_epoch(time: Time, epoch: Time) -> i64 {
    Id::max(time.0, origin(epoch)).0 as i64
}

fn range(range: Range<TimestampWithTimeZone>, origin: Origin) -> (Id, Id) {
    let (from, to) = ends(range);
    Id::range(from, to, origin)
}

#[pg_extern(sql = false)]
fn flake_range_min(times: Range<TimestampWithTimeZone>) -> i64 {
    range(times, server_origin()).0.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_min_epoch(times: Range<TimestampWithTimeZone>, epoch: Time) -> i64 {
    range(times, origin(epoch)).0.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_max(times: Range<TimestampWithTimeZone>) -> i64 {
    range(times, server_origin()).1.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_max_epoch(times: Range<TimestampWithTimeZone>, epoch: Time) -> i64 {
    range(times, origin(epoch)).1.0 as i64
}

// A predicate is a comparison of the bigints: the planner makes these comparisons of nearly all
// calls.

/// Returns `id >= min(from) AND id <= max(to)`, in SQL's logic: NULL if a comparison is unknown and
/// none is false.
fn between(id: Option<i64>, from: Option<Time>, to: Option<Time>, origin: Origin) -> Option<bool> {
    let from = id.zip(from).map(|(id, from)| id >= Id::min(from.0, origin).0 as i64);
    let to = id.zip(to).map(|(id, to)| id <= Id::max(to.0, origin).0 as i64);
    match (from, to) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[pg_extern(sql = false)]
fn flake_between(id: Option<i64>, from: Option<Time>, to: Option<Time>) -> Option<bool> {
    between(id, from, to, server_origin())
}

#[pg_extern(sql = false)]
fn flake_between_epoch(
    id: Option<i64>,
    from: Option<Time>,
    to: Option<Time>,
    epoch: Option<Time>,
) -> Option<bool> {
    between(id, from, to, origin(epoch?))
}

fn within(id: i64, times: Range<TimestampWithTimeZone>, origin: Origin) -> bool {
    let (first, last) = range(times, origin);
    first.0 as i64 <= id && id <= last.0 as i64
}

#[pg_extern(sql = false)]
fn flake_within(id: i64, times: Range<TimestampWithTimeZone>) -> bool {
    within(id, times, server_origin())
}

#[pg_extern(sql = false)]
fn flake_within_epoch(id: i64, times: Range<TimestampWithTimeZone>, epoch: Time) -> bool {
    within(id, times, origin(epoch))
}

#[pg_extern(sql = false)]
fn flake_before(id: i64, time: Time) -> bool {
    id >= 0 && id < flake_min(time)
}

#[pg_extern(sql = false)]
fn flake_before_epoch(id: i64, time: Time, epoch: Time) -> bool {
    id >= 0 && id < flake_min_epoch(time, epoch)
}

#[pg_extern(sql = false)]
fn flake_since(id: i64, time: Time) -> bool {
    id >= flake_min(time)
}

#[pg_extern(sql = false)]
fn flake_since_epoch(id: i64, time: Time, epoch: Time) -> bool {
    id >= flake_min_epoch(time, epoch)
}

#[pg_extern(sql = false)]
fn flake_after(id: i64, time: Time) -> bool {
    id > flake_max(time)
}

#[pg_extern(sql = false)]
fn flake_after_epoch(id: i64, time: Time, epoch: Time) -> bool {
    id > flake_max_epoch(time, epoch)
}

// Texts come as bytes. In a database that is not in UTF-8 they need not be a str.

fn format(name: &[u8]) -> Format {
    std::str::from_utf8(name)
        .ok()
        .and_then(Format::from_name)
        .ok_or_else(|| ValueError::Format {
            id_type: NAME,
            format: name.into(),
            formats: Format::ALL.map(Format::name).join(", "),
        })
        .or_raise()
}

#[pg_extern(sql = false)]
fn flake_to_text(value: i64, name: &[u8]) -> String {
    format(name).write(id(value), str::to_owned)
}

#[pg_extern(sql = false)]
fn flake_from_text(text: &[u8], name: &[u8]) -> i64 {
    let format = format(name);
    let read = format.read(text).map_err(|error| ValueError::TextAs {
        id_type: NAME,
        text: text.into(),
        format: format.name().into(),
        error,
    });
    read.or_raise().0 as i64
}
