//! Datums made by hand: values of a few bytes, rows, and the memory they lie in.

use crate::error::Failure;
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::pg_sys;
use std::ffi::c_void;

/// A finished datum of whatever type the SQL declaration says, in the caller's memory context.
pub struct Ready(pg_sys::Datum);

// SAFETY: the datum is made by this module, in the memory context of the call.
unsafe impl BoxRet for Ready {
    #[inline]
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

pgrx::impl_sql_translatable!(Ready, "internal");

/// A copy of `bytes` in the current memory context.
#[inline]
pub fn copy(bytes: &[u8]) -> *mut u8 {
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
            Failure::OutOfMemory.raise();
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), bytes.len());
        room.cast()
    }
}

/// A type's text as its output function gives it. `text` must hold no NUL.
#[inline]
pub fn cstring<const LEN: usize>(text: [u8; LEN]) -> Ready {
    const { assert!(LEN < 64) };
    let mut with_nul = [0; 64];
    with_nul[..LEN].copy_from_slice(&text);
    Ready(copy(&with_nul[..=LEN]).into())
}

/// NULL, for a function that has left its error with the caller.
pub fn null(fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    // SAFETY: the call's own.
    unsafe { (*fcinfo).isnull = true };
    Ready(pg_sys::Datum::null())
}

/// One row of the type that the function was declared to return; no column is NULL.
pub fn row<const N: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    mut values: [pg_sys::Datum; N],
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
        let tuple = pg_sys::heap_form_tuple(desc, values.as_mut_ptr(), nulls.as_mut_ptr());
        Ready(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}

/// A small number as a column of type integer.
pub fn integer(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value as i32)
}
