//! Functions that PostgreSQL calls, exported under the symbol that SQL names (`AS 'MODULE_PATHNAME', 'flake_next_wrapper'`).
//!
//! The macros here take the whole symbol, so that a search for it finds the place. `pg_extern` makes it of a function's
//! name: the symbol `flake_min_wrapper` is `fn flake_min`.
//!
//! `pg_extern` also runs a function in a guard that turns Rust's panics into PostgreSQL's errors. The guard costs some
//! 3 ns: a tenth of an ID, and more than a comparison, of which an index scan makes one for each entry. So `bare` and
//! `quick` do without it, for what neither panics nor raises an error.

/// Exports `$body`, a datum made of `$fcinfo`, under the symbol `$symbol`. It must not panic and must not raise an
/// error.
macro_rules! bare {
    ($symbol:ident: |$fcinfo:ident| $body:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($symbol)))]
            extern "C" fn finfo() -> &'static ::pgrx::pg_sys::Pg_finfo_record {
                const V1: ::pgrx::pg_sys::Pg_finfo_record =
                    ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            /// # Safety
            /// Called by PostgreSQL, as its SQL declares it.
            #[unsafe(export_name = stringify!($symbol))]
            unsafe extern "C-unwind" fn wrapper(
                $fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> ::pgrx::pg_sys::Datum {
                $body
            }
        };
    };
}

/// Exports `$body`, a datum made of `$fcinfo`, under the symbol `$symbol`, within the guard.
macro_rules! guarded {
    ($symbol:ident: |$fcinfo:ident| $body:expr) => {
        $crate::types::export::bare!($symbol: |$fcinfo| {
            let body = || $body;
            // SAFETY: the frame above is this one, which has nothing to drop.
            unsafe { ::pgrx::pg_sys::panic::pgrx_extern_c_guard(body) }
        });
    };
}

/// Exports two ways to make a datum of `$fcinfo` under the symbol `$symbol`: `$quick`, an optional datum, is tried
/// first, without the guard; where it is `None`, `$otherwise` makes the datum within the guard.
macro_rules! quick {
    ($symbol:ident: |$fcinfo:ident| $quick:expr, $otherwise:expr) => {
        $crate::types::export::bare!($symbol: |$fcinfo| {
            if let Some(datum) = $quick {
                return datum;
            }
            let otherwise = || $otherwise;
            // SAFETY: the frame above is this one, which has nothing to drop.
            unsafe { ::pgrx::pg_sys::panic::pgrx_extern_c_guard(otherwise) }
        });
    };
}

pub(super) use {bare, guarded, quick};
