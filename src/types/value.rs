//! What every type of ID has, written once: a value's way in and out of a datum, and the functions of
//! PostgreSQL's `uuid.c` in their order. A type's file names them by [`functions`], and by [`time_bounds`] those that
//! have to do with time where IDs sort by it.

use super::datum::{cstring, null};
use crate::error::{Failure, Kind, OrRaise};
use flakeid_core::Error;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::ffi::CStr;

/// A type whose values are a few bytes, which sort as the values do.
pub trait Value: Copy + Ord {
    const KIND: Kind;
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
/// [`Failure::Text`].
pub fn read<V: Value>(text: &[u8]) -> Result<V, Failure> {
    V::of_text(text).map_err(|error| Failure::Text { kind: V::KIND, text: text.into(), error })
}

fn from_bytes<V: Value>(bytes: &[u8]) -> Result<V, Failure> {
    let expected = size_of::<V::Bytes>();
    <V::Bytes>::try_from(bytes).map(V::of_bytes).map_err(|_| Failure::Length {
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

/// A value passed by reference: the address of its bytes.
macro_rules! by_reference {
    ($Type:ident, $Id:ident, $sql:literal) => {
        impl ::pgrx::FromDatum for $Type {
            #[inline]
            unsafe fn from_polymorphic_datum(
                datum: ::pgrx::pg_sys::Datum,
                is_null: bool,
                _typoid: ::pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                // SAFETY: a value that is not NULL is the address of its bytes.
                (!is_null).then(|| Self($Id(unsafe { *datum.cast_mut_ptr() })))
            }
        }

        impl ::pgrx::IntoDatum for $Type {
            #[inline]
            fn into_datum(self) -> Option<::pgrx::pg_sys::Datum> {
                Some($crate::types::datum::copy(&self.0.0).into())
            }

            fn type_oid() -> ::pgrx::pg_sys::Oid {
                ::pgrx::wrappers::regtypein($sql)
            }
        }

        impl $crate::types::sort::SortKey for $Type {
            #[inline]
            fn sort_key(self, reference: Self) -> u64 {
                self.0.sort_key(reference.0)
            }
        }

        impl $Type {
            fn sort_support(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) {
                $crate::types::sort::by_reference::<Self>(fcinfo);
            }
        }

        $crate::types::value::passed!($Type, $sql);
    };
}

/// A value passed as a number of 64 bits.
macro_rules! by_value {
    ($Type:ident, $Id:ident, $sql:literal) => {
        impl ::pgrx::FromDatum for $Type {
            #[inline]
            unsafe fn from_polymorphic_datum(
                datum: ::pgrx::pg_sys::Datum,
                is_null: bool,
                _typoid: ::pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                (!is_null).then(|| Self($Id(datum.value() as u64)))
            }
        }

        impl ::pgrx::IntoDatum for $Type {
            #[inline]
            fn into_datum(self) -> Option<::pgrx::pg_sys::Datum> {
                Some(::pgrx::pg_sys::Datum::from(self.0.0))
            }

            fn type_oid() -> ::pgrx::pg_sys::Oid {
                ::pgrx::wrappers::regtypein($sql)
            }
        }

        impl $Type {
            fn sort_support(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) {
                $crate::types::sort::by_value(fcinfo);
            }
        }

        $crate::types::value::passed!($Type, $sql);
    };
}

/// As an argument and as a result of a function that is declared STRICT.
macro_rules! passed {
    ($Type:ident, $sql:literal) => {
        // SAFETY: as FromDatum says; functions that take it are strict.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $Type {
            #[inline]
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: as above.
                match unsafe { arg.unbox_arg_using_from_datum() } {
                    Some(value) => value,
                    None => {
                        ::pgrx::error!("an ID is NULL in a function that is declared STRICT")
                    }
                }
            }
        }

        // SAFETY: by value, or copied into the call's memory context.
        unsafe impl ::pgrx::callconv::BoxRet for $Type {
            #[inline]
            unsafe fn box_into<'fcx>(
                self,
                fcinfo: &mut ::pgrx::callconv::FcInfo<'fcx>,
            ) -> ::pgrx::datum::Datum<'fcx> {
                match ::pgrx::IntoDatum::into_datum(self) {
                    // SAFETY: as above.
                    Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
                    None => ::pgrx::error!("an ID has become NULL"),
                }
            }
        }

        ::pgrx::impl_sql_translatable!($Type, $sql);
    };
}

/// Exports the functions that every ID type has (`sql/id_type.sql.in`), under the symbols that SQL names.
macro_rules! functions {
    (
        $Type:ident:
        $in:ident $out:ident $recv:ident $send:ident
        $lt:ident $le:ident $eq:ident $ge:ident $gt:ident $ne:ident $cmp:ident
        $sortsupport:ident $skipsupport:ident $distance:ident
        $hash:ident $hash_extended:ident
        $smaller:ident $larger:ident
        $to_bytea:ident $from_bytea:ident
    ) => {
        $crate::types::export::guarded!($in: |fcinfo| $crate::types::value::input::<$Type>(fcinfo));
        $crate::types::export::guarded!($out: |fcinfo| $crate::types::value::output::<$Type>(fcinfo));
        $crate::types::export::guarded!($recv: |fcinfo| $crate::types::value::receive::<$Type>(fcinfo));
        $crate::types::export::guarded!($send: |fcinfo| $crate::types::value::to_bytea::<$Type>(fcinfo));

        // Of IDs that are not NULL, as all of these are STRICT: nothing that can fail.
        $crate::types::export::bare!($lt: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a < b).into()
        });
        $crate::types::export::bare!($le: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a <= b).into()
        });
        $crate::types::export::bare!($eq: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a == b).into()
        });
        $crate::types::export::bare!($ge: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a >= b).into()
        });
        $crate::types::export::bare!($gt: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a > b).into()
        });
        $crate::types::export::bare!($ne: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a != b).into()
        });
        $crate::types::export::bare!($cmp: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            (a.cmp(&b) as i32).into()
        });

        $crate::types::export::guarded!($sortsupport: |fcinfo| {
            $Type::sort_support(fcinfo);
            ::pgrx::pg_sys::Datum::null()
        });
        $crate::types::export::guarded!($skipsupport: |fcinfo| {
            $crate::types::sort::skip::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::null()
        });
        $crate::types::export::guarded!($distance: |fcinfo| {
            $crate::types::sort::distance::<$Type>(fcinfo).to_bits().into()
        });

        $crate::types::export::bare!($hash: |fcinfo| {
            $crate::types::value::hash::<$Type>(fcinfo).into()
        });
        $crate::types::export::bare!($hash_extended: |fcinfo| {
            $crate::types::value::hash_extended::<$Type>(fcinfo).into()
        });

        $crate::types::export::guarded!($smaller: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            $crate::types::value::datum(a.min(b))
        });
        $crate::types::export::guarded!($larger: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            $crate::types::value::datum(a.max(b))
        });

        $crate::types::export::guarded!($to_bytea: |fcinfo| $crate::types::value::to_bytea::<$Type>(fcinfo));
        $crate::types::export::guarded!($from_bytea: |fcinfo| $crate::types::value::of_bytea::<$Type>(fcinfo));
    };
}

/// The time of an ID and the bounds of a time, for an ID type that has one order of IDs for all times
/// (`sql/time_bounds.sql.in`).
macro_rules! time_bounds {
    (
        $Type:ident, $Id:ident:
        $timestamp:ident $min:ident $max:ident $range_min:ident $range_max:ident
    ) => {
        const _: () = {
            use pgrx::datum::Range;
            use pgrx::prelude::*;
            use $crate::types::time::{Time, ends};

            #[pg_extern(sql = false)]
            fn $timestamp(id: $Type) -> Time {
                Time(id.0.time())
            }

            #[pg_extern(sql = false)]
            fn $min(time: Time) -> $Type {
                $Type($Id::min(time.0))
            }

            #[pg_extern(sql = false)]
            fn $max(time: Time) -> $Type {
                $Type($Id::max(time.0))
            }

            #[pg_extern(sql = false)]
            fn $range_min(times: Range<TimestampWithTimeZone>) -> $Type {
                let (from, to) = ends(times);
                $Type($Id::range(from, to).0)
            }

            #[pg_extern(sql = false)]
            fn $range_max(times: Range<TimestampWithTimeZone>) -> $Type {
                let (from, to) = ends(times);
                $Type($Id::range(from, to).1)
            }
        };
    };
}

pub(super) use {by_reference, by_value, functions, passed, time_bounds};
