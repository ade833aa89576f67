//! What every type of ID has, written once: a value's way in and out of a datum, and the functions of
//! PostgreSQL's `uuid.c` in their order. A type's file names them by [`super::skeleton::functions`], and by
//! [`super::skeleton::time_bounds`] those that have to do with time where IDs sort by it.

use super::datum::{cstring, null};
use super::error::{TypeInfo, ValueError};
use crate::error::OrRaise;
use flakeid_core::Error;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::ffi::CStr;

/// A type whose values are a few bytes, which sort as the values do.
pub trait Value: Copy + Ord {
    const KIND: TypeInfo;
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    type Text: AsRef<[u8]>;
    fn bytes(self) -> Self::Bytes;
    fn of_bytes(bytes: Self::Bytes) -> Self;
    /// What its output function prints: ASCII.
    fn text(self) -> Self::Text;
    /// # Errors
    /// As the core has them.
    fn of_text(text: &[u8]) -> Result<Self, Error>;
}

/// # Errors
/// [`ValueError::Text`].
pub fn read<V: Value>(text: &[u8]) -> Result<V, ValueError> {
    V::of_text(text).map_err(|error| ValueError::Text { kind: V::KIND, text: text.into(), error })
}

fn from_bytes<V: Value>(bytes: &[u8]) -> Result<V, ValueError> {
    let expected = size_of::<V::Bytes>();
    <V::Bytes>::try_from(bytes).map(V::of_bytes).map_err(|_| ValueError::Length {
        kind: V::KIND,
        expected,
        bytes: bytes.len(),
    })
}

/// A value of an ID type as a datum.
pub fn datum<V: IntoDatum>(value: V) -> pg_sys::Datum {
    match value.into_datum() {
        Some(datum) => datum,
        None => pgrx::error!("an ID has become NULL"),
    }
}

/// An input function: a value, or NULL with the error left where the caller wants it.
pub fn input<V: Value + IntoDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the first argument of an input function is a C string; the function is STRICT.
    let text = unsafe { CStr::from_ptr((*(*fcinfo).args.as_ptr()).value.cast_mut_ptr()) };
    match read::<V>(text.to_bytes()) {
        Ok(value) => datum(value),
        Err(failure) => {
            failure.raise_softly(fcinfo);
            null(fcinfo).into()
        }
    }
}

pub fn output<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    cstring(first::<V>(fcinfo).text().as_ref()).into()
}

pub fn receive<V: Value + IntoDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
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
    datum(from_bytes::<V>(bytes).or_raise())
}

pub fn of_bytea<V: Value + IntoDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the only argument is a bytea; the function is STRICT.
    let bytes = unsafe { <&[u8]>::from_datum((*(*fcinfo).args.as_ptr()).value, false) };
    datum(from_bytes::<V>(bytes.unwrap_or_default()).or_raise())
}

/// The bytes of a value as a bytea, which is also what a send function gives.
pub fn to_bytea<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    datum(first::<V>(fcinfo).bytes().as_ref())
}

/// The first argument of a function of values, which is STRICT.
#[inline(always)]
fn first<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> V {
    // SAFETY: a value of the type, as its SQL declares, and not NULL.
    unsafe { V::from_datum((*(*fcinfo).args.as_ptr()).value, false).unwrap_unchecked() }
}

/// The two arguments of a comparison.
#[inline(always)]
pub fn two<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> (V, V) {
    // SAFETY: as above.
    let second = unsafe { V::from_datum((*fcinfo).args.as_slice(2)[1].value, false) };
    // SAFETY: as above.
    (first(fcinfo), unsafe { second.unwrap_unchecked() })
}

// PostgreSQL's own hash of bytes; it raises no error.
unsafe extern "C-unwind" {
    fn hash_bytes(bytes: *const u8, len: std::ffi::c_int) -> u32;
    fn hash_bytes_extended(bytes: *const u8, len: std::ffi::c_int, seed: u64) -> u64;
}

pub fn hash<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> i32 {
    let bytes = first::<V>(fcinfo).bytes();
    let bytes = bytes.as_ref();
    // SAFETY: reads as many bytes as are there.
    unsafe { hash_bytes(bytes.as_ptr(), bytes.len() as std::ffi::c_int) as i32 }
}

/// Of a value and a seed. Whether the seed is NULL must not be asked: PostgreSQL's
/// `hash_record_extended` leaves it open.
pub fn hash_extended<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    let bytes = first::<V>(fcinfo).bytes();
    let bytes = bytes.as_ref();
    let len = bytes.len() as std::ffi::c_int;
    // SAFETY: there are two arguments; and as above.
    unsafe {
        let seed = (*fcinfo).args.as_slice(2)[1].value.value() as u64;
        hash_bytes_extended(bytes.as_ptr(), len, seed) as i64
    }
}
