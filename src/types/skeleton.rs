//! What all ID types have, written once: how a value passes between PostgreSQL and Rust, and the functions whose SQL is
//! in `sql/id_type.sql.in` and `sql/time_bounds.sql.in`.

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

        $crate::types::skeleton::passed!($Type, $sql);
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

        $crate::types::skeleton::passed!($Type, $sql);
    };
}

/// As an argument and as a result of a function that is declared STRICT.
macro_rules! passed {
    ($Type:ident, $sql:literal) => {
        // SAFETY: as FromDatum says; functions that take it are strict.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $Type {
            #[inline]
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: the argument is of this type, and is not NULL, as functions that take it are strict.
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
                    // SAFETY: the datum is of the type that the function is declared to return.
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
