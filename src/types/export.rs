//! Exports functions that PostgreSQL calls, under the symbol that SQL names (`AS 'MODULE_PATHNAME',
//! 'flake_next_wrapper'`).
//!
//! The macros here take the whole symbol, so that a search for it finds the function. `pg_extern`
//! appends `_wrapper` to a function's name: the symbol `flake_min_wrapper` is `fn flake_min`.
//!
//! `pg_extern` also runs a function in a guard that turns Rust's panics into PostgreSQL's errors.
//! The guard costs some 3 ns. That is a tenth of an ID, and more than a comparison, of which an
//! index scan makes one for each entry. So `unguarded_fn` and `fast_path_fn` run code without it.
//! Such code neither panics nor raises an error.

/// Exports `$body` under the symbol `$symbol`, without the guard. `$body` computes a datum from
/// `$fcinfo`; it must not panic and must not raise an error.
macro_rules! unguarded_fn {
    ($symbol:ident: |$fcinfo:ident| $body:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($symbol)))]
            extern "C" fn finfo() -> &'static ::pgrx::pg_sys::Pg_finfo_record {
                const V1: ::pgrx::pg_sys::Pg_finfo_record =
                    ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            /// # Safety
            /// The caller is PostgreSQL, with the arguments that the SQL declaration names.
            #[unsafe(export_name = stringify!($symbol))]
            unsafe extern "C-unwind" fn wrapper(
                $fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> ::pgrx::pg_sys::Datum {
                $body
            }
        };
    };
}

/// Exports `$body` under the symbol `$symbol`, within the guard. `$body` computes a datum from
/// `$fcinfo`.
macro_rules! guarded_fn {
    ($symbol:ident: |$fcinfo:ident| $body:expr) => {
        $crate::types::export::unguarded_fn!($symbol: |$fcinfo| {
            let body = || $body;
            // SAFETY: an error passes only this frame, which has nothing to drop.
            unsafe { ::pgrx::pg_sys::panic::pgrx_extern_c_guard(body) }
        });
    };
}

/// Exports two ways to compute a datum from `$fcinfo` under the symbol `$symbol`. `$fast_path`
/// comes first, without the guard. If it is `None`, `$otherwise` computes the datum within the
/// guard.
macro_rules! fast_path_fn {
    ($symbol:ident: |$fcinfo:ident| $fast_path:expr, $otherwise:expr) => {
        $crate::types::export::unguarded_fn!($symbol: |$fcinfo| {
            if let Some(datum) = $fast_path {
                return datum;
            }
            let otherwise = || $otherwise;
            // SAFETY: an error passes only this frame, which has nothing to drop.
            unsafe { ::pgrx::pg_sys::panic::pgrx_extern_c_guard(otherwise) }
        });
    };
}

pub(super) use {fast_path_fn, guarded_fn, unguarded_fn};
