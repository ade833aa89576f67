//! What every type of ID has, written once: a value's way in and out of a datum, and the functions of
//! PostgreSQL's `uuid.c` in their order. A type's file names them by [`functions`].

use super::datum::{Ready, cstring, null};
use super::error::{TypeInfo, ValueError};
use crate::error::OrRaise;
use flakeid_core::Error;
use pgrx::{FromDatum, pg_sys};
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

/// An input function: a value, or NULL with the error left where the caller wants it.
pub fn input<V: Value>(text: &CStr, fcinfo: pg_sys::FunctionCallInfo) -> Option<V> {
    match read(text.to_bytes()) {
        Ok(value) => Some(value),
        Err(failure) => {
            failure.raise_softly(fcinfo);
            let _ = null(fcinfo);
            None
        }
    }
}

pub fn output<V: Value>(value: V) -> Ready {
    cstring(value.text().as_ref())
}

pub fn receive<V: Value>(fcinfo: pg_sys::FunctionCallInfo) -> V {
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

pub fn of_bytea<V: Value>(bytes: &[u8]) -> V {
    from_bytes(bytes).or_raise()
}

pub fn to_bytea<V: Value>(value: V) -> Vec<u8> {
    value.bytes().as_ref().to_vec()
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

/// The functions that every type has, under their names in SQL.
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
        #[pg_extern(sql = false)]
        fn $in(text: &::std::ffi::CStr, fcinfo: ::pgrx::pg_sys::FunctionCallInfo) -> Option<$Type> {
            $crate::types::value::input(text, fcinfo)
        }

        #[pg_extern(sql = false)]
        fn $out(value: $Type) -> $crate::types::datum::Ready {
            $crate::types::value::output(value)
        }

        #[pg_extern(sql = false)]
        fn $recv(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) -> $Type {
            $crate::types::value::receive(fcinfo)
        }

        #[pg_extern(sql = false)]
        fn $send(value: $Type) -> Vec<u8> {
            $crate::types::value::to_bytea(value)
        }

        // Of IDs that are not NULL, as all of these are STRICT: nothing that can fail.
        $crate::types::export::bare!($lt: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a < b)
        });
        $crate::types::export::bare!($le: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a <= b)
        });
        $crate::types::export::bare!($eq: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a == b)
        });
        $crate::types::export::bare!($ge: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a >= b)
        });
        $crate::types::export::bare!($gt: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a > b)
        });
        $crate::types::export::bare!($ne: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a != b)
        });
        $crate::types::export::bare!($cmp: |fcinfo| {
            let (a, b) = $crate::types::value::two::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::from(a.cmp(&b) as i32)
        });

        #[pg_extern(sql = false)]
        fn $sortsupport(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) {
            $Type::sort_support(fcinfo);
        }

        #[pg_extern(sql = false)]
        fn $skipsupport(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) {
            $crate::types::sort::skip::<$Type>(fcinfo);
        }

        #[pg_extern(sql = false)]
        fn $distance(fcinfo: ::pgrx::pg_sys::FunctionCallInfo) -> f64 {
            $crate::types::sort::distance::<$Type>(fcinfo)
        }

        $crate::types::export::bare!($hash: |fcinfo| {
            $crate::types::value::hash::<$Type>(fcinfo).into()
        });

        $crate::types::export::bare!($hash_extended: |fcinfo| {
            $crate::types::value::hash_extended::<$Type>(fcinfo).into()
        });

        #[pg_extern(sql = false)]
        fn $smaller(a: $Type, b: $Type) -> $Type {
            a.min(b)
        }

        #[pg_extern(sql = false)]
        fn $larger(a: $Type, b: $Type) -> $Type {
            a.max(b)
        }

        #[pg_extern(sql = false)]
        fn $to_bytea(value: $Type) -> Vec<u8> {
            $crate::types::value::to_bytea(value)
        }

        #[pg_extern(sql = false)]
        fn $from_bytea(bytes: &[u8]) -> $Type {
            $crate::types::value::of_bytea(bytes)
        }
    };
}

pub(super) use {by_reference, by_value, functions, passed};
