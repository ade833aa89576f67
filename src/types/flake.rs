//! flake, kept as bigint: the 64 bits of an ID are read without sign.

use super::batch::{batch, place_at};
use super::datum::{Ready, integer, row};
use super::error::ValueError;
use super::export;
use super::time::{Time, ends};
use crate::error::OrRaise;
use crate::generator::{self, Generator, Identity, Issuer};
use crate::guc;
use flakeid_core::flake::{Epoch, Flake, Format, GENERATOR, Id, NAME, WORKER};
use pgrx::datum::Range;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// This process's.
static IDS: Generator<Flake> = Generator::new();

impl Issuer for Flake {
    const IDENTITY: Identity = Identity::GeneratorIds { max: GENERATOR.max() };
}

fn id(id: i64) -> Id {
    Id(id as u64)
}

/// The epoch that a caller names.
fn epoch(time: Time) -> Epoch {
    let last = Epoch::MAX.micros();
    Epoch::from_micros(time.0).ok_or(ValueError::Epoch { time: time.0, last }).or_raise()
}

#[inline]
fn pack(run: generator::Run, i: u32) -> i64 {
    let counter = run.block.sequence + i;
    Id::pack(run.block.stamp.tick::<Flake>(), run.generator, counter.into()).0 as i64
}

export::quick!(flake_next_wrapper: |_fcinfo|
    IDS.take_prefetched().map(|run| pack(run, 0).into()),
    pg_sys::Datum::from(pack(IDS.take(1), 0))
);

#[pg_extern(sql = false)]
fn flake_next_batch(n: i32) -> SetOfIterator<'static, i64> {
    SetOfIterator::new(batch(&IDS, n, pack))
}

/// The epoch where a caller names none.
fn server_epoch() -> Epoch {
    guc::server_epoch().or_raise()
}

fn decode(fcinfo: pg_sys::FunctionCallInfo, id: Id, epoch: Epoch) -> Ready {
    let parts = id.parts();
    let fields = [
        Time(id.time(epoch)).datum(),
        integer(parts.datacenter),
        integer(parts.worker),
        integer(parts.counter),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn flake_decode(value: i64, fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    decode(fcinfo, id(value), server_epoch())
}

#[pg_extern(sql = false)]
fn flake_decode_epoch(value: i64, since: Time, fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    decode(fcinfo, id(value), epoch(since))
}

#[pg_extern(sql = false)]
fn flake_timestamp(value: i64) -> Time {
    Time(id(value).time(server_epoch()))
}

#[pg_extern(sql = false)]
fn flake_timestamp_epoch(value: i64, since: Time) -> Time {
    Time(id(value).time(epoch(since)))
}

fn encode(time: Time, datacenter: i32, worker: i32, counter: i32, epoch: Epoch) -> i64 {
    // A bigint has a sign: an ID of the format's second half would sort before all others.
    let id = Id::encode_signed(time.0, datacenter.into(), worker.into(), counter.into(), epoch)
        .or_raise();
    id.0 as i64
}

#[pg_extern(sql = false)]
fn flake_encode(time: Time, datacenter: i32, worker: i32, counter: i32) -> i64 {
    encode(time, datacenter, worker, counter, server_epoch())
}

#[pg_extern(sql = false)]
fn flake_encode_epoch(time: Time, datacenter: i32, worker: i32, counter: i32, since: Time) -> i64 {
    encode(time, datacenter, worker, counter, epoch(since))
}

/// The ID of the node's `number`-th place at `time`: the counter runs first, then the generator IDs.
fn at(time: Time, number: i64, epoch: Epoch) -> i64 {
    let place = place_at::<Flake>(number).or_raise();
    let (datacenter, worker) = (place.generator >> WORKER.width(), place.generator & WORKER.max());
    encode(time, datacenter as i32, worker as i32, place.sequence as i32, epoch)
}

#[pg_extern(sql = false)]
fn flake_at(time: Time, number: i64) -> i64 {
    at(time, number, server_epoch())
}

#[pg_extern(sql = false)]
fn flake_at_epoch(time: Time, number: i64, since: Time) -> i64 {
    at(time, number, epoch(since))
}

#[pg_extern(sql = false)]
fn flake_min(time: Time) -> i64 {
    Id::min(time.0, server_epoch()).0 as i64
}

#[pg_extern(sql = false)]
fn flake_min_epoch(time: Time, since: Time) -> i64 {
    Id::min(time.0, epoch(since)).0 as i64
}

#[pg_extern(sql = false)]
fn flake_max(time: Time) -> i64 {
    Id::max(time.0, server_epoch()).0 as i64
}

#[pg_extern(sql = false)]
fn flake_max_epoch(time: Time, since: Time) -> i64 {
    Id::max(time.0, epoch(since)).0 as i64
}

fn range(range: Range<TimestampWithTimeZone>, epoch: Epoch) -> (Id, Id) {
    let (from, to) = ends(range);
    Id::range(from, to, epoch)
}

#[pg_extern(sql = false)]
fn flake_range_min(times: Range<TimestampWithTimeZone>) -> i64 {
    range(times, server_epoch()).0.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_min_epoch(times: Range<TimestampWithTimeZone>, since: Time) -> i64 {
    range(times, epoch(since)).0.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_max(times: Range<TimestampWithTimeZone>) -> i64 {
    range(times, server_epoch()).1.0 as i64
}

#[pg_extern(sql = false)]
fn flake_range_max_epoch(times: Range<TimestampWithTimeZone>, since: Time) -> i64 {
    range(times, epoch(since)).1.0 as i64
}

// Texts come as bytes: in a database that is not in UTF-8 they need not be a str.

fn format(name: &[u8]) -> Format {
    std::str::from_utf8(name)
        .ok()
        .and_then(Format::from_name)
        .ok_or_else(|| ValueError::Format {
            system: NAME,
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
        system: NAME,
        text: text.into(),
        format: format.name().into(),
        error,
    });
    read.or_raise().0 as i64
}
