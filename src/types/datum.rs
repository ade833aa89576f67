//! Builds datums by hand: values of a few bytes, rows, and the memory that holds them.

use crate::error::Report;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::{FromDatum, pg_sys};
use std::ffi::c_void;

/// A finished datum of the type that the SQL declaration names, in the caller's memory context.
pub struct RawDatum(pg_sys::Datum);

impl RawDatum {
    /// Returns an address as a value of type internal.
    pub fn pointer(address: *mut c_void) -> Self {
        Self(address.into())
    }
}

impl From<RawDatum> for pg_sys::Datum {
    fn from(ready: RawDatum) -> Self {
        ready.0
    }
}

// SAFETY: a RawDatum holds a datum of the function's declared type, allocated in the memory context
// of the call.
unsafe impl BoxRet for RawDatum {
    #[inline]
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: the datum has the type that the function is declared to return.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

pgrx::impl_sql_translatable!(RawDatum, "internal");

/// Copies `bytes` into the current memory context; returns `None` if memory is exhausted.
#[inline]
pub fn try_copy(bytes: &[u8]) -> Option<*mut u8> {
    // pgrx guards every call against errors by a sigsetjmp, a third of the cost of an ID. With
    // MCXT_ALLOC_NO_OOM this function raises no error: it returns null if memory is exhausted.
    unsafe extern "C-unwind" {
        fn palloc_extended(size: usize, flags: std::ffi::c_int) -> *mut c_void;
    }
    // SAFETY: the size is valid, no error can be raised (see the comment above), and
    // CurrentMemoryContext is set in every call. The result is null or has room for the bytes.
    unsafe {
        let room = palloc_extended(bytes.len(), pg_sys::MCXT_ALLOC_NO_OOM as std::ffi::c_int);
        if room.is_null() {
            return None;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), bytes.len());
        Some(room.cast())
    }
}

/// Copies `bytes` into the current memory context; raises an error if memory is exhausted.
#[inline]
pub fn copy(bytes: &[u8]) -> *mut u8 {
    match try_copy(bytes) {
        Some(copy) => copy,
        None => Report::out_of_memory().raise(),
    }
}

/// The length of the longest text of an ID, in bytes.
const MAX_TEXT_LEN: usize = 31;

/// Returns a text as the result of an output function. It has at most [`MAX_TEXT_LEN`] bytes and no
/// NUL.
#[inline]
pub fn cstring(text: &[u8]) -> RawDatum {
    let mut with_nul = [0; MAX_TEXT_LEN + 1];
    with_nul[..text.len()].copy_from_slice(text);
    RawDatum(copy(&with_nul[..=text.len()]).into())
}

/// Returns NULL, for a function that has left its error with the caller.
pub fn null(fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    // SAFETY: `fcinfo` belongs to this call, which may write its result there.
    unsafe { (*fcinfo).isnull = true };
    RawDatum(pg_sys::Datum::null())
}

/// Returns one row of the type that the function is declared to return; no column is NULL. Later
/// versions add columns only at the end. The SQL of an earlier version has fewer columns and gets
/// the first values.
pub fn row<const N: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    values: [pg_sys::Datum; N],
) -> RawDatum {
    typed_row(fcinfo, |_| values)
}

/// Returns one row like [`row`], of values that depend on the type of a column.
pub fn typed_row<const N: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    values: impl FnOnce(pg_sys::TupleDesc) -> [pg_sys::Datum; N],
) -> RawDatum {
    let desc = result_descriptor(fcinfo, N);
    let mut nulls = [false; N];
    let mut values = values(desc);
    // SAFETY: the descriptor is that of the function's result, and has no more columns than there
    // are values.
    unsafe {
        let tuple = pg_sys::heap_form_tuple(desc, values.as_mut_ptr(), nulls.as_mut_ptr());
        RawDatum(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}

/// Returns the descriptor of the rows that a function returns; they have at most `max_columns`.
///
/// The catalogs have it. To read them takes several times as long as to build a row, so the first
/// call of a query keeps the descriptor in `fn_extra`, until PostgreSQL frees `fn_mcxt`. It stays
/// right for that long: `fn_extra` belongs to one OID, and PostgreSQL refuses to replace a function
/// by one with other columns.
fn result_descriptor(fcinfo: pg_sys::FunctionCallInfo, max_columns: usize) -> pg_sys::TupleDesc {
    // SAFETY: `fcinfo` belongs to this call, and the function has no other use for `fn_extra`. The
    // copy lives as long as `fn_extra`, whose context is `fn_mcxt`.
    unsafe {
        let function = (*fcinfo).flinfo;
        let kept: pg_sys::TupleDesc = (*function).fn_extra.cast();
        if !kept.is_null() {
            return kept;
        }
        let mut desc: pg_sys::TupleDesc = std::ptr::null_mut();
        let class = pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut desc);
        if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE
            || (*desc).natts as usize > max_columns
        {
            pgrx::error!("flakeid's library and its SQL declarations do not match");
        }
        let desc = pg_sys::BlessTupleDesc(desc);
        let of_call = pg_sys::MemoryContextSwitchTo((*function).fn_mcxt);
        let copy = pg_sys::CreateTupleDescCopy(desc);
        pg_sys::MemoryContextSwitchTo(of_call);
        (*function).fn_extra = copy.cast();
        copy
    }
}

/// Returns a small number as a column of type integer.
pub fn integer(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value as i32)
}

/// Returns a number as a column of type bigint.
pub fn bigint(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value as i64)
}

/// A MAC address of 48 bits: PostgreSQL's macaddr.
#[derive(Clone, Copy, Debug)]
pub struct MacAddr(pub u64);

impl MacAddr {
    pub fn datum(self) -> pg_sys::Datum {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        copy(&bytes).into()
    }
}

// SAFETY: the datum of a macaddr is the address of six bytes. Functions that take one are STRICT,
// so it is not NULL.
unsafe impl<'fcx> ArgAbi<'fcx> for MacAddr {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: Address takes any datum as it is, and does not read what it points to.
        let address = unsafe { arg.unbox_arg_using_from_datum::<Address>() };
        let bytes = match address {
            // SAFETY: the SQL declaration says macaddr, so the datum is the address of six bytes.
            Some(Address(address)) => unsafe { *address.cast_mut_ptr::<[u8; 6]>() },
            None => pgrx::error!("a macaddr is NULL in a function that is declared STRICT"),
        };
        Self(bytes.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte)))
    }
}

pgrx::impl_sql_translatable!(MacAddr, "macaddr");

/// PostgreSQL's interval, in microseconds. A month has 30 days.
#[derive(Clone, Copy, Debug)]
pub struct Span(pub i128);

/// Returns an interval of whole seconds.
pub fn interval_of_seconds(seconds: u64) -> pg_sys::Datum {
    Span::of_seconds(seconds)
}

impl Span {
    pub fn of(interval: &pg_sys::Interval) -> Self {
        let days = i128::from(interval.month) * 30 + i128::from(interval.day);
        Self(days * 86_400_000_000 + i128::from(interval.time))
    }

    pub fn of_seconds(seconds: u64) -> pg_sys::Datum {
        let interval = pg_sys::Interval { time: seconds as i64 * 1_000_000, day: 0, month: 0 };
        // SAFETY: Interval is a plain struct of 16 bytes without padding.
        let bytes: [u8; 16] = unsafe { std::mem::transmute(interval) };
        copy(&bytes).into()
    }
}

// SAFETY: the datum of an interval is the address of one. Functions that take one are STRICT, so it
// is not NULL.
unsafe impl<'fcx> ArgAbi<'fcx> for Span {
    #[inline]
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: Address takes any datum as it is, and does not read what it points to.
        let address = unsafe { arg.unbox_arg_using_from_datum::<Address>() };
        match address {
            Some(Address(address)) => {
                // SAFETY: the SQL declaration says interval, so the datum is the address of an
                // Interval.
                Self::of(unsafe { &*address.cast_mut_ptr::<pg_sys::Interval>() })
            }
            None => pgrx::error!("an interval is NULL in a function that is declared STRICT"),
        }
    }
}

pgrx::impl_sql_translatable!(Span, "interval");

/// A datum as PostgreSQL passes it.
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
