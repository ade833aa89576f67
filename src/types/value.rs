//! The functions of PostgreSQL's `uuid.c`, in their order, for every ID type: input and output,
//! comparison, hash.
//!
//! The file of a type exports them with [`super::skeleton::functions`]. If its IDs sort by their
//! time, it exports the functions about time with [`super::skeleton::time_bounds`].

use super::by_text;
use super::datum::{cstring, null};
use super::error::{TypeInfo, ValueError};
use crate::error::OrRaise;
use flakeid_core::Error;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::ffi::CStr;

/// An ID type whose values are a few bytes, which sort as the values do.
pub trait Value: Copy + Ord {
    const TYPE_INFO: TypeInfo;
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    type Text: AsRef<[u8]>;
    fn bytes(self) -> Self::Bytes;
    fn of_bytes(bytes: Self::Bytes) -> Self;
    /// Returns the text that the output function prints, in ASCII.
    fn text(self) -> Self::Text;
    /// Reads a text.
    ///
    /// # Errors
    /// The errors of the core, for a text that is no ID of this type.
    fn of_text(text: &[u8]) -> Result<Self, Error>;
}

/// Reads a text as a value.
///
/// # Errors
/// [`ValueError::Text`].
pub fn read<V: Value>(text: &[u8]) -> Result<V, ValueError> {
    V::of_text(text).map_err(|error| ValueError::Text {
        type_info: V::TYPE_INFO,
        text: text.into(),
        error,
    })
}

fn from_bytes<V: Value>(bytes: &[u8]) -> Result<V, ValueError> {
    let expected = size_of::<V::Bytes>();
    <V::Bytes>::try_from(bytes).map(V::of_bytes).map_err(|_| ValueError::Length {
        type_info: V::TYPE_INFO,
        expected,
        bytes: bytes.len(),
    })
}

/// Returns a value of an ID type as a datum.
pub fn datum<V: IntoDatum>(value: V) -> pg_sys::Datum {
    match value.into_datum() {
        Some(datum) => datum,
        None => pgrx::error!("an ID has become NULL"),
    }
}

/// Reads the argument of an input function. Returns a value, or NULL if it has left the error with
/// the caller.
pub fn input<V: Value + IntoDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    by_text::check(fcinfo);
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
    by_text::check(fcinfo);
    cstring(first_argument::<V>(fcinfo).text().as_ref()).into()
}

pub fn receive<V: Value + IntoDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the argument of a receive function is a StringInfo with the bytes of the value, from
    // its cursor on. The cursor moves past all of them, which the caller checks.
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
    // SAFETY: the only argument is a bytea, and not NULL, as the function is STRICT.
    let bytes = unsafe { <&[u8]>::from_datum((*(*fcinfo).args.as_ptr()).value, false) };
    datum(from_bytes::<V>(bytes.unwrap_or_default()).or_raise())
}

/// Returns the bytes of a value as a bytea. A send function returns the same.
pub fn to_bytea<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    datum(first_argument::<V>(fcinfo).bytes().as_ref())
}

/// Returns the first argument of a STRICT function, a value of the type.
#[inline(always)]
fn first_argument<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> V {
    // SAFETY: the SQL declaration says that the argument has this type, and STRICT that it is not
    // NULL.
    unsafe { V::from_datum((*(*fcinfo).args.as_ptr()).value, false).unwrap_unchecked() }
}

/// Returns the two arguments of a comparison.
#[inline(always)]
pub fn two_arguments<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> (V, V) {
    // SAFETY: a comparison has two arguments of this type, as its SQL declares.
    let second = unsafe { V::from_datum((*fcinfo).args.as_slice(2)[1].value, false) };
    // SAFETY: a comparison is STRICT, so that its second argument is not NULL.
    (first_argument(fcinfo), unsafe { second.unwrap_unchecked() })
}

// PostgreSQL's hash of bytes. It raises no error.
unsafe extern "C-unwind" {
    fn hash_bytes(bytes: *const u8, len: std::ffi::c_int) -> u32;
    fn hash_bytes_extended(bytes: *const u8, len: std::ffi::c_int, seed: u64) -> u64;
}

pub fn hash<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> i32 {
    let bytes = first_argument::<V>(fcinfo).bytes();
    let bytes = bytes.as_ref();
    // SAFETY: `hash_bytes` reads as many bytes as the slice has.
    unsafe { hash_bytes(bytes.as_ptr(), bytes.len() as std::ffi::c_int) as i32 }
}

/// Computes the hash of a value with a seed. It must not read whether the seed is NULL, as
/// PostgreSQL's `hash_record_extended` does not set that.
pub fn hash_extended<V: Value + FromDatum>(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    let bytes = first_argument::<V>(fcinfo).bytes();
    let bytes = bytes.as_ref();
    let len = bytes.len() as std::ffi::c_int;
    // SAFETY: the function has two arguments, and `hash_bytes_extended` reads as many bytes as the
    // slice has.
    unsafe {
        let seed = (*fcinfo).args.as_slice(2)[1].value.value() as u64;
        hash_bytes_extended(bytes.as_ptr(), len, seed) as i64
    }
}
