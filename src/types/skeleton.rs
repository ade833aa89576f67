//! Writes once what all ID types have: how a value passes between PostgreSQL and Rust, and the
//! functions whose SQL is in `sql/id_type.sql.in` and `sql/time_bounds.sql.in`.

/// Implements the conversions of a value that is passed by reference: its datum is the address of
/// its bytes.
macro_rules! by_reference {
    ($Type:ident, $Id:ident, $sql:literal) => {
        impl ::pgrx::FromDatum for $Type {
            #[inline]
            unsafe fn from_polymorphic_datum(
                datum: ::pgrx::pg_sys::Datum,
                is_null: bool,
                _typoid: ::pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                // SAFETY: a datum that is not NULL is the address of the value's bytes.
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

        $crate::types::skeleton::impl_datum!($Type, $sql);
    };
}

/// Implements the conversions of a value that is passed by value: its datum is a number of 64 bits.
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

        $crate::types::skeleton::impl_datum!($Type, $sql);
    };
}

/// Makes a type usable as an argument and as a result of a function that is declared STRICT.
macro_rules! impl_datum {
    ($Type:ident, $sql:literal) => {
        // SAFETY: FromDatum reads the datum. Functions that take this type are STRICT, so it is not
        // NULL.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $Type {
            #[inline]
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: the argument has this type, and is not NULL, as functions that take it
                // are STRICT.
                match unsafe { arg.unbox_arg_using_from_datum() } {
                    Some(value) => value,
                    None => {
                        ::pgrx::error!("an ID is NULL in a function that is declared STRICT")
                    }
                }
            }
        }

        // SAFETY: IntoDatum returns the value itself, or the address of a copy in the memory
        // context of the call.
        unsafe impl ::pgrx::callconv::BoxRet for $Type {
            #[inline]
            unsafe fn box_into<'fcx>(
                self,
                fcinfo: &mut ::pgrx::callconv::FcInfo<'fcx>,
            ) -> ::pgrx::datum::Datum<'fcx> {
                match ::pgrx::IntoDatum::into_datum(self) {
                    // SAFETY: the datum has the type that the function is declared to return.
                    Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
                    None => ::pgrx::error!("an ID has become NULL"),
                }
            }
        }

        ::pgrx::impl_sql_translatable!($Type, $sql);
    };
}

/// Exports the functions that every ID type has (`sql/id_type.sql.in`), under the symbols that SQL
/// names.
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
        $crate::types::export::guarded_fn!($in: |fcinfo| $crate::types::value::input::<$Type>(fcinfo));
        $crate::types::export::guarded_fn!($out: |fcinfo| $crate::types::value::output::<$Type>(fcinfo));
        $crate::types::export::guarded_fn!($recv: |fcinfo| $crate::types::value::receive::<$Type>(fcinfo));
        $crate::types::export::guarded_fn!($send: |fcinfo| $crate::types::value::to_bytea::<$Type>(fcinfo));

        // All of these functions are STRICT, so that their arguments are IDs. Nothing can fail.
        $crate::types::export::unguarded_fn!($lt: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a < b).into()
        });
        $crate::types::export::unguarded_fn!($le: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a <= b).into()
        });
        $crate::types::export::unguarded_fn!($eq: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a == b).into()
        });
        $crate::types::export::unguarded_fn!($ge: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a >= b).into()
        });
        $crate::types::export::unguarded_fn!($gt: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a > b).into()
        });
        $crate::types::export::unguarded_fn!($ne: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a != b).into()
        });
        $crate::types::export::unguarded_fn!($cmp: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            (a.cmp(&b) as i32).into()
        });

        $crate::types::export::guarded_fn!($sortsupport: |fcinfo| {
            $Type::sort_support(fcinfo);
            ::pgrx::pg_sys::Datum::null()
        });
        $crate::types::export::guarded_fn!($skipsupport: |fcinfo| {
            $crate::types::sort::skip::<$Type>(fcinfo);
            ::pgrx::pg_sys::Datum::null()
        });
        $crate::types::export::guarded_fn!($distance: |fcinfo| {
            $crate::types::sort::distance::<$Type>(fcinfo).to_bits().into()
        });

        $crate::types::export::unguarded_fn!($hash: |fcinfo| {
            $crate::types::value::hash::<$Type>(fcinfo).into()
        });
        $crate::types::export::unguarded_fn!($hash_extended: |fcinfo| {
            $crate::types::value::hash_extended::<$Type>(fcinfo).into()
        });

        $crate::types::export::guarded_fn!($smaller: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            $crate::types::value::datum(a.min(b))
        });
        $crate::types::export::guarded_fn!($larger: |fcinfo| {
            let (a, b) = $crate::types::value::two_arguments::<$Type>(fcinfo);
            $crate::types::value::datum(a.max(b))
        });

        $crate::types::export::guarded_fn!($to_bytea: |fcinfo| $crate::types::value::to_bytea::<$Type>(fcinfo));
        $crate::types::export::guarded_fn!($from_bytea: |fcinfo| $crate::types::value::of_bytea::<$Type>(fcinfo));
    };
}

/// Exports the time of an ID and the bounds of a time (`sql/time_bounds.sql.in`). It is for ID
/// types that have one order of IDs for all times.
macro_rules! time_bounds {
    (
        $Type:ident, $Id:ident:
        $timestamp:ident $min:ident $max:ident $range_min:ident $range_max:ident
    ) => {
        const _: () = {
            use pgrx::datum::Range;
            use pgrx::prelude::*;
            use $crate::timestamp::{Time, ends};

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

pub(super) use {by_reference, by_value, functions, impl_datum, time_bounds};
