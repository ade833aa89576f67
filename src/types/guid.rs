//! The type guid: twelve bytes, passed by reference; and what it shares with [`guid_local`](super::guid_local).
//!
//! Both types' IDs come from the same cell: so a guid that is cast to a guid_local is none that
//! `guid_local_next()` gives, and the other way round with the node.

use super::datum::{Ready, Span, bigint, integer, row};
use super::error::{TypeInfo, ValueError};
use super::guid_local::GuidLocal;
use super::time::{Time, ends};
use super::value::{self, Value};
use crate::error::OrRaise;
use crate::generator::{self, Generator, Identity, Issuer};
use flakeid_core::Error;
use flakeid_core::clock::Tick;
use flakeid_core::guid::{Clock, Drift, Format, Guid as System, Id, LEN, NAME, Parts, TEXT_LEN};
use pgrx::datum::Range;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type guid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Guid(Id);

value::by_reference!(Guid, Id, "guid");

impl Value for Guid {
    const KIND: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A guid is written as 16 characters of a period, 0-9, A-Z, an underscore and a-z.",
    };
    type Bytes = [u8; LEN];
    type Text = [u8; TEXT_LEN];

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Id(bytes))
    }

    fn text(self) -> Self::Text {
        self.0.text()
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Id::from_text(text).map(Self)
    }
}

value::functions!(Guid:
    guid_in_wrapper guid_out_wrapper guid_recv_wrapper guid_send_wrapper
    guid_lt_wrapper guid_le_wrapper guid_eq_wrapper
    guid_ge_wrapper guid_gt_wrapper guid_ne_wrapper guid_cmp_wrapper
    guid_sortsupport_wrapper guid_skipsupport_wrapper guid_minmax_multi_distance_wrapper
    guid_hash_wrapper guid_hash_extended_wrapper
    guid_smaller_wrapper guid_larger_wrapper
    guid_to_bytea_wrapper guid_from_bytea_wrapper
);

/// A drift that a caller names, in whole nanoseconds.
#[inline]
pub(super) fn drift(span: Span) -> Drift {
    Drift::named(span.0.saturating_mul(1000))
}

#[inline]
pub(super) fn clock(inverse: bool) -> Clock {
    if inverse { Clock::Inverse } else { Clock::Unix }
}

/// The format of this name.
pub(super) fn format(system: &'static str, name: &[u8]) -> Format {
    let known = std::str::from_utf8(name).ok().and_then(Format::from_name);
    let formats = || Format::ALL.map(Format::name).join(", ");
    known
        .ok_or_else(|| ValueError::Format { system, format: name.into(), formats: formats() })
        .or_raise()
}

/// What a text says in a format that was named.
pub(super) fn read_as<T>(
    system: &'static str,
    text: &[u8],
    format: Format,
    read: Result<T, Error>,
) -> T {
    let format = format.name().into();
    read.map_err(|error| ValueError::TextAs { system, text: text.into(), format, error }).or_raise()
}

#[pg_extern(sql = false)]
fn guid_to_text(value: Guid, name: &[u8]) -> String {
    match format(NAME, name) {
        Format::Base64 => String::from_utf8_lossy(&value.0.text()).into_owned(),
        Format::Base62 => value.0.base62().as_str().into(),
    }
}

// Texts come as bytes: in a database that is not in UTF-8 they need not be a str.
#[pg_extern(sql = false)]
fn guid_from_text(text: &[u8], name: &[u8]) -> Guid {
    let format = format(NAME, name);
    let read = match format {
        Format::Base64 => Id::from_text(text),
        Format::Base62 => Id::from_base62(text),
    };
    Guid(read_as(NAME, text, format, read))
}

#[pg_extern(sql = false)]
fn guid_to_local(value: Guid) -> GuidLocal {
    GuidLocal(value.0.local())
}

#[pg_extern(sql = false)]
fn guid_global(value: GuidLocal, node: i64) -> Guid {
    Guid(value.0.global(node).or_raise())
}

#[pg_extern(sql = false)]
fn guid_diff(a: Guid, b: Guid) -> Guid {
    Guid(a.0.diff(b.0))
}

/// This process's.
pub(super) static IDS: Generator<System> = Generator::new();

impl Issuer for System {
    const IDENTITY: Identity = Identity::Node(generator::guid_node);
}

/// The parts of a run's `i`-th ID, as the clock that was asked for has them.
#[inline]
pub(super) fn parts(run: generator::Run, i: u32, drift: Drift, clock: Clock) -> Parts {
    let sequence = run.block.sequence + i;
    let (time, sequence) = clock.turn(run.block.stamp.tick::<System>(), sequence.into());
    Parts { drift, time, node: run.generator, sequence }
}

#[pg_extern(sql = false)]
fn guid_next(span: Span, inverse: bool) -> Guid {
    let (drift, clock) = (drift(span), clock(inverse));
    Guid(Id::pack(parts(IDS.take(1), 0, drift, clock)))
}

#[pg_extern(sql = false)]
fn guid_next_batch(n: i32, span: Span, inverse: bool) -> SetOfIterator<'static, Guid> {
    let (drift, clock) = (drift(span), clock(inverse));
    let pack = move |run, i| Guid(Id::pack(parts(run, i, drift, clock)));
    SetOfIterator::new(super::batch(&IDS, n, pack))
}

#[pg_extern(sql = false)]
fn guid_decode(value: Guid, inverse: bool, fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    let parts = value.0.parts();
    let fields = [
        Time(parts.time(clock(inverse))).datum(),
        bigint(parts.node),
        integer(parts.sequence),
        Span::of_seconds(parts.drift.seconds()),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn guid_timestamp(value: Guid, inverse: bool) -> Time {
    Time(value.0.time(clock(inverse)))
}

#[pg_extern(sql = false)]
fn guid_encode(time: Time, node: i64, sequence: i32, span: Span, inverse: bool) -> Guid {
    let id = Id::encode(time.0, node, sequence.into(), drift(span), clock(inverse));
    Guid(id.or_raise())
}

#[pg_extern(sql = false)]
fn guid_at(time: Time, number: i64, span: Span, inverse: bool) -> Guid {
    let place = super::place_at::<System>(number).or_raise();
    let clock = clock(inverse);
    let (_, sequence) = clock.turn(Tick(0), place.sequence.into());
    let id = Id::encode(time.0, place.generator as i64, sequence as i64, drift(span), clock);
    Guid(id.or_raise())
}

#[pg_extern(sql = false)]
fn guid_min(time: Time, span: Span) -> Guid {
    Guid(Id::min(time.0, drift(span)))
}

#[pg_extern(sql = false)]
fn guid_max(time: Time, span: Span) -> Guid {
    Guid(Id::max(time.0, drift(span)))
}

fn range(range: Range<TimestampWithTimeZone>, drift: Drift, clock: Clock) -> (Id, Id) {
    let (from, to) = ends(range);
    Id::range(from, to, drift, clock)
}

#[pg_extern(sql = false)]
fn guid_range_min(times: Range<TimestampWithTimeZone>, span: Span, inverse: bool) -> Guid {
    Guid(range(times, drift(span), clock(inverse)).0)
}

#[pg_extern(sql = false)]
fn guid_range_max(times: Range<TimestampWithTimeZone>, span: Span, inverse: bool) -> Guid {
    Guid(range(times, drift(span), clock(inverse)).1)
}

// The same by the drift's code: every one that an ID can have.

#[pg_extern(sql = false)]
fn guid_code_min(times: Range<TimestampWithTimeZone>, code: i32) -> Guid {
    Guid(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).0)
}

#[pg_extern(sql = false)]
fn guid_code_max(times: Range<TimestampWithTimeZone>, code: i32) -> Guid {
    Guid(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).1)
}
