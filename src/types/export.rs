//! Functions that PostgreSQL calls without pgrx's guard.
//!
//! `pg_extern` runs a function in a guard that turns Rust's panics into PostgreSQL's errors. It costs some
//! 3 ns: a tenth of an ID, and more than a comparison, of which an index scan makes one for each entry. What
//! is exported here needs none: it neither panics nor raises an error, or says when to go through the guard.

/// Exports `$body`, a datum made of `$fcinfo`, as the function `$name` of SQL. It must not panic and must
/// not raise an error.
macro_rules! bare {
    ($name:ident: |$fcinfo:ident| $body:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name), "_wrapper"))]
            extern "C" fn finfo() -> &'static ::pgrx::pg_sys::Pg_finfo_record {
                const V1: ::pgrx::pg_sys::Pg_finfo_record =
                    ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            /// # Safety
            /// Called by PostgreSQL, as its SQL declares it.
            #[unsafe(export_name = concat!(stringify!($name), "_wrapper"))]
            unsafe extern "C-unwind" fn wrapper(
                $fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> ::pgrx::pg_sys::Datum {
                $body
            }
        };
    };
}

/// The same, where `$quick` is tried first, an optional datum; where it has none, `$otherwise` makes one
/// within the guard.
macro_rules! quick {
    ($name:ident: |$fcinfo:ident| $quick:expr, $otherwise:expr) => {
        $crate::types::export::bare!($name: |$fcinfo| {
            if let Some(datum) = $quick {
                return datum;
            }
            let otherwise = || $otherwise;
            // SAFETY: the frame above is this one, which has nothing to drop.
            unsafe { ::pgrx::pg_sys::panic::pgrx_extern_c_guard(otherwise) }
        });
    };
}

pub(super) use {bare, quick};
