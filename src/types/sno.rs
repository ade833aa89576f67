//! The type sno: ten bytes, passed by reference, in the order of PostgreSQL's `uuid.c`.

use super::datum::{Ready, copy, cstring, integer, null, row};
use super::time::{Time, ends};
use crate::error::{Failure, OrRaise};
use crate::generate::{self, Backend, Served};
use crate::guc;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::generator::Rules;
use flakeid_core::sno::{Id, LEN, META, NAME, PARTITION, SCALE, TickTock, UNIT};
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Range, Uuid};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

/// A value of type sno.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Sno(Id);

impl FromDatum for Sno {
    #[inline]
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _typoid: pg_sys::Oid,
    ) -> Option<Self> {
        // SAFETY: a sno that is not NULL is the address of its ten bytes.
        (!is_null).then(|| Self(Id(unsafe { *datum.cast_mut_ptr::<[u8; LEN]>() })))
    }
}

impl IntoDatum for Sno {
    #[inline]
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(copy(&self.0.0).into())
    }

    fn type_oid() -> pg_sys::Oid {
        pgrx::wrappers::regtypein("sno")
    }
}

// SAFETY: as FromDatum says; functions that take it are strict.
unsafe impl<'fcx> ArgAbi<'fcx> for Sno {
    #[inline]
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: as above.
        match unsafe { arg.unbox_arg_using_from_datum() } {
            Some(sno) => sno,
            None => pgrx::error!("a sno is NULL in a function that is declared STRICT"),
        }
    }
}

// SAFETY: the ten bytes are copied into the call's memory context.
unsafe impl BoxRet for Sno {
    #[inline]
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(copy(&self.0.0).into()) }
    }
}

pgrx::impl_sql_translatable!(Sno, "sno");

fn read(text: &[u8]) -> Result<Sno, Failure> {
    Id::from_text(text).map(Sno).map_err(|error| Failure::SnoText { text: text.into(), error })
}

fn from_bytes(bytes: &[u8]) -> Result<Sno, Failure> {
    <[u8; LEN]>::try_from(bytes)
        .map(|bytes| Sno(Id(bytes)))
        .map_err(|_| Failure::SnoLength { bytes: bytes.len() })
}

/// A value, or NULL with the error left where the caller wants it.
fn softly(fcinfo: pg_sys::FunctionCallInfo, read: Result<Sno, Failure>) -> Option<Sno> {
    match read {
        Ok(sno) => Some(sno),
        Err(failure) => {
            failure.raise_softly(fcinfo);
            let _ = null(fcinfo);
            None
        }
    }
}

#[pg_extern(sql = false)]
fn sno_in(text: &CStr, fcinfo: pg_sys::FunctionCallInfo) -> Option<Sno> {
    softly(fcinfo, read(text.to_bytes()))
}

#[pg_extern(sql = false)]
fn sno_out(value: Sno) -> Ready {
    cstring(value.0.text())
}

#[pg_extern(sql = false)]
fn sno_recv(fcinfo: pg_sys::FunctionCallInfo) -> Sno {
    // SAFETY: a receive function's argument is a StringInfo with the value's bytes from its cursor
    // on; they are all taken, as the caller checks.
    let bytes = unsafe {
        let message = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<pg_sys::StringInfoData>();
        let from = (*message).cursor as usize;
        (*message).cursor = (*message).len;
        std::slice::from_raw_parts(
            (*message).data.cast::<u8>().add(from),
            (*message).len as usize - from,
        )
    };
    from_bytes(bytes).or_raise()
}

#[pg_extern(sql = false)]
fn sno_send(value: Sno) -> Vec<u8> {
    value.0.0.to_vec()
}

#[pg_extern(sql = false)]
fn sno_lt(a: Sno, b: Sno) -> bool {
    a < b
}

#[pg_extern(sql = false)]
fn sno_le(a: Sno, b: Sno) -> bool {
    a <= b
}

#[pg_extern(sql = false)]
fn sno_eq(a: Sno, b: Sno) -> bool {
    a == b
}

#[pg_extern(sql = false)]
fn sno_ge(a: Sno, b: Sno) -> bool {
    a >= b
}

#[pg_extern(sql = false)]
fn sno_gt(a: Sno, b: Sno) -> bool {
    a > b
}

#[pg_extern(sql = false)]
fn sno_ne(a: Sno, b: Sno) -> bool {
    a != b
}

#[pg_extern(sql = false)]
fn sno_cmp(a: Sno, b: Sno) -> i32 {
    a.cmp(&b) as i32
}

// PostgreSQL's own hash of bytes; it raises no error.
unsafe extern "C-unwind" {
    fn hash_bytes(bytes: *const u8, len: std::ffi::c_int) -> u32;
    fn hash_bytes_extended(bytes: *const u8, len: std::ffi::c_int, seed: u64) -> u64;
}

#[pg_extern(sql = false)]
fn sno_hash(value: Sno) -> i32 {
    // SAFETY: reads as many bytes as are there.
    unsafe { hash_bytes(value.0.0.as_ptr(), LEN as std::ffi::c_int) as i32 }
}

#[pg_extern(sql = false)]
fn sno_hash_extended(value: Sno, seed: i64) -> i64 {
    // SAFETY: as above.
    unsafe { hash_bytes_extended(value.0.0.as_ptr(), LEN as std::ffi::c_int, seed as u64) as i64 }
}

#[pg_extern(sql = false)]
fn sno_smaller(a: Sno, b: Sno) -> Sno {
    a.min(b)
}

#[pg_extern(sql = false)]
fn sno_larger(a: Sno, b: Sno) -> Sno {
    a.max(b)
}

#[pg_extern(sql = false)]
fn sno_to_bytea(value: Sno) -> Vec<u8> {
    value.0.0.to_vec()
}

#[pg_extern(sql = false)]
fn sno_from_bytea(bytes: &[u8]) -> Sno {
    from_bytes(bytes).or_raise()
}

#[pg_extern(sql = false)]
fn sno_to_uuid(value: Sno) -> Uuid {
    Uuid::from_bytes(value.0.text())
}

#[pg_extern(sql = false)]
fn sno_from_uuid(uuid: Uuid) -> Sno {
    read(uuid.as_bytes()).or_raise()
}

impl Served for TickTock {
    const NAME: &'static str = NAME;
    const NEXT: &'static str = "sno_next";
    const MAX_GENERATOR: u64 = PARTITION.max();
    fn scale() -> Scale {
        SCALE
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<UNIT>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: guc::sno_sequence(), end: SCALE.last() }
    }
    #[inline]
    fn source() -> &'static Backend<Self> {
        static SOURCE: Backend<TickTock> = Backend::new();
        &SOURCE
    }
}

#[inline]
fn checked_meta(meta: i32) -> u64 {
    META.check(meta.into()).or_raise()
}

#[inline]
fn pack(run: generate::Run, meta: u64, i: u32) -> Sno {
    let sequence = run.block.sequence + i;
    Sno(Id::pack(run.block.stamp, meta, run.generator, sequence.into()))
}

#[pg_extern(sql = false)]
fn sno_next(meta: i32) -> Sno {
    let meta = checked_meta(meta);
    pack(generate::take::<TickTock>(1), meta, 0)
}

#[pg_extern(sql = false)]
fn sno_next_batch(n: i32, meta: i32) -> SetOfIterator<'static, Sno> {
    let meta = checked_meta(meta);
    SetOfIterator::new(super::batch::<TickTock, _>(n, move |run, i| pack(run, meta, i)))
}

#[pg_extern(sql = false)]
fn sno_decode(value: Sno, fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    let parts = value.0.parts();
    let fields = [
        Time(value.0.time()).datum(),
        integer(parts.tick),
        integer(parts.meta),
        integer(parts.partition),
        integer(parts.sequence),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn sno_timestamp(value: Sno) -> Time {
    Time(value.0.time())
}

#[pg_extern(sql = false)]
fn sno_encode(time: Time, tick: i32, meta: i32, partition: i32, sequence: i32) -> Sno {
    let id = Id::encode(time.0, tick.into(), meta.into(), partition.into(), sequence.into());
    Sno(id.or_raise())
}

#[pg_extern(sql = false)]
fn sno_at(time: Time, meta: i32, number: i64) -> Sno {
    let place = super::place_at(number, guc::sno_sequence()).or_raise();
    let id = Id::encode(time.0, 0, meta.into(), place.generator as i64, place.sequence.into());
    Sno(id.or_raise())
}

#[pg_extern(sql = false)]
fn sno_min(time: Time) -> Sno {
    Sno(Id::min(time.0))
}

#[pg_extern(sql = false)]
fn sno_max(time: Time) -> Sno {
    Sno(Id::max(time.0))
}

#[pg_extern(sql = false)]
fn sno_range_min(times: Range<TimestampWithTimeZone>) -> Sno {
    let (from, to) = ends(times);
    Sno(Id::range(from, to).0)
}

#[pg_extern(sql = false)]
fn sno_range_max(times: Range<TimestampWithTimeZone>) -> Sno {
    let (from, to) = ends(times);
    Sno(Id::range(from, to).1)
}
