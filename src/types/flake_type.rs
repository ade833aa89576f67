//! The type flake: a bigint with another name, and with operators that compare it with a time.
//!
//! For all that this file lacks, PostgreSQL takes a flake for a bigint: `sql/flake_type.sql.in`
//! says how.

use super::by_text;
use super::datum::RawDatum;
use super::error::ValueError;
use super::export::guarded_fn;
use super::flake::{server_epoch, server_origin};
use super::flake128::Flake128;
use super::time_predicate::{Place, Timed, time_predicates};
use crate::error::{Code, OrRaise, Report};
use flakeid_core::clock::UnixMicros;
use flakeid_core::flake::Id;
use flakeid_core::{conversion, uuidv7};
use pgrx::datum::Uuid;
use pgrx::pg_sys::{self, Node, NodeTag};
use pgrx::prelude::*;

// A flake is written and read as a bigint is. The arguments that PostgreSQL passes on are those of
// the function of bigint; an input function also passes on the caller that handles soft errors.

guarded_fn!(flake_in_wrapper: |fcinfo| {
    by_text::check_flake(fcinfo);
    // SAFETY: the argument is a C string.
    unsafe { pg_sys::int8in(fcinfo) }
});

guarded_fn!(flake_out_wrapper: |fcinfo| {
    by_text::check_flake(fcinfo);
    // SAFETY: the argument is a flake, which has the bits of a bigint.
    unsafe { pg_sys::int8out(fcinfo) }
});

guarded_fn!(flake_recv_wrapper: |fcinfo| {
    // SAFETY: the argument is a message to read.
    unsafe { pg_sys::int8recv(fcinfo) }
});

guarded_fn!(flake_send_wrapper: |fcinfo| {
    // SAFETY: the argument is a flake, which has the bits of a bigint.
    unsafe { pg_sys::int8send(fcinfo) }
});

#[pg_extern(sql = false)]
fn flake_from_integer(number: i32) -> i64 {
    number.into()
}

#[pg_extern(sql = false)]
fn flake_from_smallint(number: i16) -> i64 {
    number.into()
}

guarded_fn!(flake_from_numeric_wrapper: |fcinfo| {
    // SAFETY: the argument is a numeric.
    unsafe { pg_sys::numeric_int8(fcinfo) }
});

/// A negative flake has no place: it is later than all others, and sorts before them.
impl Timed for i64 {
    fn place(self, time: UnixMicros) -> Place {
        let origin = server_origin();
        let bound = |id: Id| id.0 as i64;
        match self {
            ..0 => Place::Nowhere,
            id => Place::among(id, bound(Id::min(time, origin)), bound(Id::max(time, origin))),
        }
    }

    fn lies_within(self, from: UnixMicros, to: UnixMicros) -> bool {
        let (first, last) = Id::range(from, to, server_origin());
        first.0 as i64 <= self && self <= last.0 as i64
    }
}

time_predicates!(i64:
    flake_lt_time_wrapper flake_le_time_wrapper flake_eq_time_wrapper
    flake_ge_time_wrapper flake_gt_time_wrapper flake_ne_time_wrapper flake_in_times_wrapper
    time_lt_flake_wrapper time_le_flake_wrapper time_eq_flake_wrapper
    time_ge_flake_wrapper time_gt_flake_wrapper time_ne_flake_wrapper times_of_flake_wrapper
);

#[pg_extern(sql = false)]
fn flake_to_flake128(value: i64) -> Flake128 {
    Flake128(conversion::flake_to_flake128(Id(value as u64), server_epoch()))
}

#[pg_extern(sql = false)]
fn flake_from_flake128(value: Flake128) -> i64 {
    conversion::flake_from_flake128(value.0, server_epoch()).or_raise().0 as i64
}

#[pg_extern(sql = false)]
fn flake_to_uuidv7(value: i64) -> Uuid {
    Uuid::from_bytes(conversion::flake_to_uuidv7(Id(value as u64), server_epoch()).0)
}

#[pg_extern(sql = false)]
fn flake_from_uuidv7(value: Uuid) -> i64 {
    let uuid = uuidv7::Id(*value.as_bytes());
    match conversion::flake_from_uuidv7(uuid, server_epoch()) {
        Some(id) => id.or_raise().0 as i64,
        None => ValueError::NotOfFlake { uuid: value.to_string() }.raise(),
    }
}

/// Raises the error for an operator that computes with a flake.
fn no_arithmetic() -> ! {
    Report::new(Code::ERRCODE_UNDEFINED_FUNCTION, "cannot compute with a flake")
        .detail("A flake is an ID, not a number.")
        .hint(
            "For its time cast it to timestamptz, for its other fields call flake_decode(id). To \
               compute with the number, cast it to bigint.",
        )
        .raise()
}

guarded_fn!(flakeid_no_arithmetic_wrapper: |_fcinfo| no_arithmetic());

/// Raises the error when a query is planned, so that it is there without rows, too. An expression
/// of extended statistics must not keep the queries of its table from being planned. PostgreSQL
/// simplifies it without planner state, and from 19 on with that of a query whose own expressions
/// it has simplified: then the array of relations exists.
#[pg_extern(sql = false)]
fn flakeid_no_arithmetic_support(fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is
    // read.
    let is_of_query = unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        (*node).type_ == NodeTag::T_SupportRequestSimplify && {
            let root = (*node.cast::<pg_sys::SupportRequestSimplify>()).root;
            !root.is_null() && (*root).simple_rel_array.is_null()
        }
    };
    match is_of_query {
        true => no_arithmetic(),
        false => RawDatum::pointer(std::ptr::null_mut()),
    }
}
