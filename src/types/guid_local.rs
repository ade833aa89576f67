//! The type guid_local: a guid without the node, eight bytes passed by value.

use super::datum::{Ready, Span, integer, row};
use super::error::TypeInfo;
use super::guid::IDS;
use super::guid::{clock, drift, format, parts, read_as};
use super::time::{Time, ends};
use super::value::{self, Value};
use crate::error::OrRaise;
use flakeid_core::Error;
use flakeid_core::clock::Tick;
use flakeid_core::guid::{Clock, Drift, Format, Guid as System, LOCAL_NAME as NAME, TEXT_LEN};
use flakeid_core::guid_local::Local;
use pgrx::datum::Range;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type guid_local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct GuidLocal(pub(super) Local);

value::by_value!(GuidLocal, Local, "guid_local");

impl Value for GuidLocal {
    const KIND: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A guid_local is written as 16 characters of a period, 0-9 and A-E.",
    };
    type Bytes = [u8; 8];
    type Text = [u8; TEXT_LEN];

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0.to_be_bytes()
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Local(u64::from_be_bytes(bytes)))
    }

    fn text(self) -> Self::Text {
        self.0.text()
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Local::from_text(text).map(Self)
    }
}

value::functions!(GuidLocal:
    guid_local_in_wrapper guid_local_out_wrapper guid_local_recv_wrapper guid_local_send_wrapper
    guid_local_lt_wrapper guid_local_le_wrapper guid_local_eq_wrapper
    guid_local_ge_wrapper guid_local_gt_wrapper guid_local_ne_wrapper guid_local_cmp_wrapper
    guid_local_sortsupport_wrapper guid_local_skipsupport_wrapper guid_local_minmax_multi_distance_wrapper
    guid_local_hash_wrapper guid_local_hash_extended_wrapper
    guid_local_smaller_wrapper guid_local_larger_wrapper
    guid_local_to_bytea_wrapper guid_local_from_bytea_wrapper
);

#[pg_extern(sql = false)]
fn guid_local_to_text(value: GuidLocal, name: &[u8]) -> String {
    match format(NAME, name) {
        Format::Base64 => String::from_utf8_lossy(&value.0.text()).into_owned(),
        Format::Base62 => value.0.base62().as_str().into(),
    }
}

// Texts come as bytes: in a database that is not in UTF-8 they need not be a str.
#[pg_extern(sql = false)]
fn guid_local_from_text(text: &[u8], name: &[u8]) -> GuidLocal {
    let format = format(NAME, name);
    let read = match format {
        Format::Base64 => Local::from_text(text),
        Format::Base62 => Local::from_base62(text),
    };
    GuidLocal(read_as(NAME, text, format, read))
}

#[pg_extern(sql = false)]
fn guid_local_diff(a: GuidLocal, b: GuidLocal) -> GuidLocal {
    GuidLocal(a.0.diff(b.0))
}

#[pg_extern(sql = false)]
fn guid_local_next(span: Span, inverse: bool) -> GuidLocal {
    let (drift, clock) = (drift(span), clock(inverse));
    GuidLocal(Local::pack(parts(IDS.take(1), 0, drift, clock)))
}

#[pg_extern(sql = false)]
fn guid_local_next_batch(n: i32, span: Span, inverse: bool) -> SetOfIterator<'static, GuidLocal> {
    let (drift, clock) = (drift(span), clock(inverse));
    let pack = move |run, i| GuidLocal(Local::pack(parts(run, i, drift, clock)));
    SetOfIterator::new(super::batch(&IDS, n, pack))
}

#[pg_extern(sql = false)]
fn guid_local_decode(value: GuidLocal, inverse: bool, fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    let parts = value.0.parts();
    let fields = [
        Time(parts.time(clock(inverse))).datum(),
        integer(parts.sequence),
        Span::of_seconds(parts.drift.seconds()),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn guid_local_timestamp(value: GuidLocal, inverse: bool) -> Time {
    Time(value.0.time(clock(inverse)))
}

#[pg_extern(sql = false)]
fn guid_local_encode(time: Time, sequence: i32, span: Span, inverse: bool) -> GuidLocal {
    let id = Local::encode(time.0, sequence.into(), drift(span), clock(inverse));
    GuidLocal(id.or_raise())
}

#[pg_extern(sql = false)]
fn guid_local_at(time: Time, number: i64, span: Span, inverse: bool) -> GuidLocal {
    // It has no node, and needs none.
    let place = super::place_among::<System>(&[0], number).or_raise();
    let clock = clock(inverse);
    let (_, sequence) = clock.turn(Tick(0), place.sequence.into());
    GuidLocal(Local::encode(time.0, sequence as i64, drift(span), clock).or_raise())
}

#[pg_extern(sql = false)]
fn guid_local_min(time: Time, span: Span) -> GuidLocal {
    GuidLocal(Local::min(time.0, drift(span)))
}

#[pg_extern(sql = false)]
fn guid_local_max(time: Time, span: Span) -> GuidLocal {
    GuidLocal(Local::max(time.0, drift(span)))
}

fn range(range: Range<TimestampWithTimeZone>, drift: Drift, clock: Clock) -> (Local, Local) {
    let (from, to) = ends(range);
    Local::range(from, to, drift, clock)
}

#[pg_extern(sql = false)]
fn guid_local_range_min(
    times: Range<TimestampWithTimeZone>,
    span: Span,
    inverse: bool,
) -> GuidLocal {
    GuidLocal(range(times, drift(span), clock(inverse)).0)
}

#[pg_extern(sql = false)]
fn guid_local_range_max(
    times: Range<TimestampWithTimeZone>,
    span: Span,
    inverse: bool,
) -> GuidLocal {
    GuidLocal(range(times, drift(span), clock(inverse)).1)
}

// The same by the drift's code: every one that an ID can have.

#[pg_extern(sql = false)]
fn guid_local_code_min(times: Range<TimestampWithTimeZone>, code: i32) -> GuidLocal {
    GuidLocal(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).0)
}

#[pg_extern(sql = false)]
fn guid_local_code_max(times: Range<TimestampWithTimeZone>, code: i32) -> GuidLocal {
    GuidLocal(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).1)
}
