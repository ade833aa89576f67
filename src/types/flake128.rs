//! The type flake128 and its SQL functions: sixteen bytes, passed by reference.

use super::batch::{batch, place_in_tick};
use super::by_text;
use super::datum::{MacAddr, RawDatum, copy, integer, row, try_copy};
use super::error::{TypeInfo, ValueError};
use super::export;
use super::skeleton;
use super::time_predicate;
use super::value::Value;
use crate::copy_from;
use crate::error::OrRaise;
use crate::generator::{self, Generator, Identity, Issuer};
use crate::timestamp::Time;
use flakeid_core::Error;
use flakeid_core::base62::Text;
use flakeid_core::flake128::{Flake128 as Flake128Type, Id, LEN, NAME};
use flakeid_core::session::Issued;
use pgrx::datum::Uuid;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type flake128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Flake128(pub(super) Id);

skeleton::by_reference!(Flake128, Id, "flake128");

impl Value for Flake128 {
    const TYPE_INFO: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A flake128 is written as a number in base 62, with the digits 0-9, A-Z and a-z.",
    };
    type Bytes = [u8; LEN];
    type Text = Text;

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Id(bytes))
    }

    fn text(self) -> Self::Text {
        self.0.text(62)
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Id::from_text(text, 62).map(Self)
    }
}

skeleton::functions!(Flake128:
    flake128_in_wrapper flake128_out_wrapper flake128_recv_wrapper flake128_send_wrapper
    flake128_lt_wrapper flake128_le_wrapper flake128_eq_wrapper
    flake128_ge_wrapper flake128_gt_wrapper flake128_ne_wrapper flake128_cmp_wrapper
    flake128_sortsupport_wrapper flake128_skipsupport_wrapper flake128_minmax_multi_distance_wrapper
    flake128_hash_wrapper flake128_hash_extended_wrapper
    flake128_smaller_wrapper flake128_larger_wrapper
    flake128_to_bytea_wrapper flake128_from_bytea_wrapper
);

#[pg_extern(sql = false)]
fn flake128_to_uuid(value: Flake128) -> Uuid {
    Uuid::from_bytes(value.0.0)
}

#[pg_extern(sql = false)]
fn flake128_from_uuid(uuid: Uuid) -> Flake128 {
    Flake128(Id(*uuid.as_bytes()))
}

#[pg_extern(sql = false)]
fn flake128_to_numeric(value: Flake128) -> AnyNumeric {
    value.0.word().into()
}

#[pg_extern(sql = false)]
fn flake128_from_numeric(number: AnyNumeric) -> Flake128 {
    let text = number.to_string();
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => &text,
    };
    let word = whole.parse().map_err(|_| ValueError::NotFlake128 { number: text.clone() });
    Flake128(Id::from_word(word.or_raise()))
}

// Refuses an integer: see `sql/flake128.sql.in`.
export::guarded_fn!(flake128_from_integer_wrapper: |fcinfo| {
    // SAFETY: `fcinfo` belongs to this call. Without an expression these functions return an
    // invalid type.
    let (from, to) = unsafe {
        let call = (*fcinfo).flinfo;
        (pg_sys::get_fn_expr_argtype(call, 0), pg_sys::get_fn_expr_rettype(call))
    };
    by_text::cannot_cast(from, to)
        .detail("Each integer would be a flake128 of the first millisecond of 1970.")
        .hint("To convert the number, cast to numeric first.")
        .raise()
});

fn checked_base(base: i32) -> u32 {
    let known = u32::try_from(base).ok().filter(|base| (2..=62).contains(base));
    known.ok_or(ValueError::Base { base }).or_raise()
}

#[pg_extern(sql = false)]
fn flake128_to_text(value: Flake128, base: i32) -> String {
    value.0.text(checked_base(base)).as_str().into()
}

// Text comes as bytes. In a database that is not in UTF-8 it need not be a str.
#[pg_extern(sql = false)]
fn flake128_from_text(text: &[u8], base: i32) -> Flake128 {
    let read = Id::from_text(text, checked_base(base)).map_err(|error| ValueError::TextAs {
        id_type: NAME,
        text: text.into(),
        format: format!("base {base}"),
        error,
    });
    Flake128(read.or_raise())
}

/// The generator of flake128s in this process.
static IDS: Generator<Flake128Type> = Generator::new();

impl Issuer for Flake128Type {
    const IDENTITY: Identity = Identity::Node(generator::flake128_worker);
}

#[inline]
fn pack(issued: Issued, i: u32) -> Flake128 {
    let (tick, sequence) = (issued.block.stamp.tick::<Flake128Type>(), issued.block.sequence + i);
    Flake128(Id::pack(tick, issued.generator_id, sequence.into()))
}

copy_from::next_fns!(flake128_next_wrapper flake128_next_for_copy_wrapper: |_fcinfo|
    IDS.take_prefetched().and_then(|issued| try_copy(&pack(issued, 0).bytes())).map(Into::into),
    copy(&pack(IDS.take(1), 0).bytes()).into()
);

#[pg_extern(sql = false)]
fn flake128_next_in(stream: &[u8]) -> Flake128 {
    pack(IDS.take_in(stream), 0)
}

#[pg_extern(sql = false)]
fn flake128_next_batch(n: i32) -> SetOfIterator<'static, Flake128> {
    SetOfIterator::new(batch(&IDS, n, pack))
}

#[pg_extern(sql = false)]
fn flake128_decode(value: Flake128, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    let parts = value.0.parts();
    let fields =
        [Time(value.0.time()).datum(), MacAddr(parts.worker).datum(), integer(parts.sequence)];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn flake128_encode(time: Time, worker: MacAddr, sequence: i32) -> Flake128 {
    Flake128(Id::encode(time.0, worker.0 as i64, sequence.into()).or_raise())
}

#[pg_extern(sql = false)]
fn flake128_at(time: Time, number: i64) -> Flake128 {
    let place = place_in_tick::<Flake128Type>(number).or_raise();
    Flake128(Id::encode(time.0, place.generator_id as i64, place.sequence.into()).or_raise())
}

skeleton::time_bounds!(Flake128, Id:
    flake128_timestamp flake128_min flake128_max flake128_range_min flake128_range_max
);

time_predicate::by_bounds!(Flake128, Id, |_| true);

time_predicate::time_predicates!(Flake128:
    flake128_lt_time_wrapper flake128_le_time_wrapper flake128_eq_time_wrapper
    flake128_ge_time_wrapper flake128_gt_time_wrapper flake128_ne_time_wrapper flake128_in_times_wrapper
    time_lt_flake128_wrapper time_le_flake128_wrapper time_eq_flake128_wrapper
    time_ge_flake128_wrapper time_gt_flake128_wrapper time_ne_flake128_wrapper times_of_flake128_wrapper
);
