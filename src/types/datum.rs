//! Datums made by hand: values of a few bytes, rows, and the memory they lie in.

use crate::error::Report;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::{FromDatum, pg_sys};
use std::ffi::c_void;

/// A finished datum of whatever type the SQL declaration says, in the caller's memory context.
pub struct Ready(pg_sys::Datum);

impl Ready {
    /// An address as a value of type internal.
    pub fn pointer(address: *mut c_void) -> Self {
        Self(address.into())
    }
}

impl From<Ready> for pg_sys::Datum {
    fn from(ready: Ready) -> Self {
        ready.0
    }
}

// SAFETY: the datum is made by this module, in the memory context of the call.
unsafe impl BoxRet for Ready {
    #[inline]
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

pgrx::impl_sql_translatable!(Ready, "internal");

/// A copy of `bytes` in the current memory context; nothing where there is no memory.
#[inline]
pub fn try_copy(bytes: &[u8]) -> Option<*mut u8> {
    // pgrx guards every call against errors by a sigsetjmp, a third of an ID's price. With
    // MCXT_ALLOC_NO_OOM this one raises none: where there is no memory it returns null.
    unsafe extern "C-unwind" {
        fn palloc_extended(size: usize, flags: std::ffi::c_int) -> *mut c_void;
    }
    // SAFETY: a valid size; no error can be raised, as said; CurrentMemoryContext is set in every
    // call. What comes back is null or room for the bytes.
    unsafe {
        let room = palloc_extended(bytes.len(), pg_sys::MCXT_ALLOC_NO_OOM as std::ffi::c_int);
        if room.is_null() {
            return None;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), bytes.len());
        Some(room.cast())
    }
}

/// A copy of `bytes` in the current memory context.
#[inline]
pub fn copy(bytes: &[u8]) -> *mut u8 {
    match try_copy(bytes) {
        Some(copy) => copy,
        None => Report::out_of_memory().raise(),
    }
}

/// The longest text of an ID.
const LONGEST: usize = 31;

/// A type's text as its output function gives it: of at most [`LONGEST`] bytes, none of them NUL.
#[inline]
pub fn cstring(text: &[u8]) -> Ready {
    let mut with_nul = [0; LONGEST + 1];
    with_nul[..text.len()].copy_from_slice(text);
    Ready(copy(&with_nul[..=text.len()]).into())
}

/// NULL, for a function that has left its error with the caller.
pub fn null(fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    // SAFETY: the call's own.
    unsafe { (*fcinfo).isnull = true };
    Ready(pg_sys::Datum::null())
}

/// One row of the type that the function was declared to return; no column is NULL.
pub fn row<const N: usize>(fcinfo: pg_sys::FunctionCallInfo, values: [pg_sys::Datum; N]) -> Ready {
    typed_row(fcinfo, |_| values)
}

/// The same, for values that depend on a column's type.
pub fn typed_row<const N: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    values: impl FnOnce(pg_sys::TupleDesc) -> [pg_sys::Datum; N],
) -> Ready {
    let mut nulls = [false; N];
    let mut desc: pg_sys::TupleDesc = std::ptr::null_mut();
    // SAFETY: fcinfo is the call's own; the descriptor is checked before it is used, and has as many
    // columns as there are values.
    unsafe {
        let class = pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut desc);
        if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE || (*desc).natts as usize != N {
            pgrx::error!("flakeid's library and its SQL declarations do not match");
        }
        let desc = pg_sys::BlessTupleDesc(desc);
        let mut values = values(desc);
        let tuple = pg_sys::heap_form_tuple(desc, values.as_mut_ptr(), nulls.as_mut_ptr());
        Ready(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}

/// A small number as a column of type integer.
pub fn integer(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value as i32)
}

/// A number as a column of type bigint.
pub fn bigint(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value as i64)
}

/// A hardware address, 48 bits: PostgreSQL's macaddr.
#[derive(Clone, Copy, Debug)]
pub struct MacAddr(pub u64);

impl MacAddr {
    pub fn datum(self) -> pg_sys::Datum {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        copy(&bytes).into()
    }
}

// SAFETY: a macaddr is the address of six bytes; functions that take one are strict.
unsafe impl<'fcx> ArgAbi<'fcx> for MacAddr {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: as above; the datum is read as it is.
        let address = unsafe { arg.unbox_arg_using_from_datum::<Address>() };
        let bytes = match address {
            // SAFETY: as above.
            Some(Address(address)) => unsafe { *address.cast_mut_ptr::<[u8; 6]>() },
            None => pgrx::error!("a macaddr is NULL in a function that is declared STRICT"),
        };
        Self(bytes.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte)))
    }
}

pgrx::impl_sql_translatable!(MacAddr, "macaddr");

/// PostgreSQL's interval, in microseconds: a month has 30 days.
#[derive(Clone, Copy, Debug)]
pub struct Span(pub i128);

impl Span {
    pub fn of_seconds(seconds: u64) -> pg_sys::Datum {
        let interval = pg_sys::Interval { time: seconds as i64 * 1_000_000, day: 0, month: 0 };
        // SAFETY: a plain struct of 16 bytes without padding.
        let bytes: [u8; 16] = unsafe { std::mem::transmute(interval) };
        copy(&bytes).into()
    }
}

// SAFETY: an interval is the address of one; functions that take one are strict.
unsafe impl<'fcx> ArgAbi<'fcx> for Span {
    #[inline]
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: as above.
        let address = unsafe { arg.unbox_arg_using_from_datum::<Address>() };
        match address {
            Some(Address(address)) => {
                // SAFETY: as above.
                let interval = unsafe { &*address.cast_mut_ptr::<pg_sys::Interval>() };
                let days = i128::from(interval.month) * 30 + i128::from(interval.day);
                Self(days * 86_400_000_000 + i128::from(interval.time))
            }
            None => pgrx::error!("an interval is NULL in a function that is declared STRICT"),
        }
    }
}

pgrx::impl_sql_translatable!(Span, "interval");

/// A datum as it is.
struct Address(pg_sys::Datum);

impl FromDatum for Address {
    #[inline]
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _typoid: pg_sys::Oid,
    ) -> Option<Self> {
        (!is_null).then_some(Self(datum))
    }
}
