//! The ID types as SQL has them: one entry for each.
//!
//! Code that treats all ID types in SQL reads [`SQL_ID_TYPES`]: the planner, the bounds of
//! partitions, and the view `flakeid_readiness`. What a server needs to generate IDs is in
//! [`id_types`](crate::id_types). guid and guid_local are two types here, and one there.

use super::flake128::Flake128;
use super::guid::Guid;
use super::guid_local::GuidLocal;
use super::public_form::ensure_public_form;
use super::sno::Sno;
use super::uniqueid::UniqueId;
use crate::error::Report;
use crate::generator::{Readiness, readiness};
use crate::horizon;
use crate::id_types::is_same;
use flakeid_core::clock::Scale;
use flakeid_core::{ID_TYPE_NAMES, flake, flake128, guid, guid_local, sno, uniqueid, uuidv7};
use pgrx::datum::Uuid;
use pgrx::pg_sys::{Datum, FunctionCallInfo};
use std::ffi::CStr;

/// The code of a function that SQL calls.
pub type Code = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// An ID type as SQL has it.
pub struct SqlIdTypeEntry {
    /// The name with which the names of the type's functions begin.
    pub name: &'static str,
    pub value: ValueType,
    /// How IDs count time, for the bounds of partitions.
    pub scale: fn() -> Result<Scale, Report>,
    /// Whether this server can generate IDs now; `None` for a type that has the cells of the one
    /// before it.
    pub readiness: Option<fn() -> Readiness>,
    pub next: NextFns,
}

/// The type of an ID in SQL.
#[derive(Clone, Copy)]
pub enum ValueType {
    /// bigint, and the type flake, which PostgreSQL takes for a bigint. This is the code of its
    /// input function.
    Bigint { input: Code },
    /// PostgreSQL's uuid.
    Uuid,
    /// A type of this extension: the code of its input function, its size, and whether its datum is
    /// the value.
    Own { input: Code, bytes: usize, by_value: bool },
}

/// The code of a function `X_next`, and that of `X_next_for_copy` ([`copy_from`](crate::copy_from))
/// with its name.
#[derive(Clone, Copy)]
pub struct NextFns {
    pub next: Code,
    pub for_copy: Code,
    pub for_copy_name: &'static CStr,
}

/// Makes the table of an entry for each ID type. `$Type` is the Rust type of a value, which has a
/// public form. Each symbol is one that SQL names, too.
macro_rules! sql_id_types {
    ($($name:expr, $Type:ty {
        symbols: $($symbol:ident)*,
        next: $next:ident, $for_copy:ident, $for_copy_name:literal,
        value: $value:expr,
        scale: $scale:expr,
        readiness: $readiness:expr,
    })*) => {
        unsafe extern "C-unwind" {
            $(
                fn $next(fcinfo: FunctionCallInfo) -> Datum;
                fn $for_copy(fcinfo: FunctionCallInfo) -> Datum;
                $(fn $symbol(fcinfo: FunctionCallInfo) -> Datum;)*
            )*
        }

        /// All ID types, in the order of [`ID_TYPE_NAMES`].
        pub const SQL_ID_TYPES: [SqlIdTypeEntry; ID_TYPE_NAMES.len()] = [$(
            SqlIdTypeEntry {
                name: $name,
                value: $value,
                scale: $scale,
                readiness: $readiness,
                next: NextFns { next: $next, for_copy: $for_copy, for_copy_name: $for_copy_name },
            },
        )*];

        const _: () = { $(ensure_public_form::<$Type>();)* };
    };
}

const _: () = {
    let mut i = 0;
    while i < ID_TYPE_NAMES.len() {
        assert!(is_same(SQL_ID_TYPES[i].name, ID_TYPE_NAMES[i]));
        i += 1;
    }
};

sql_id_types! {
    flake::NAME, i64 {
        symbols: flake_in_wrapper,
        next: flake_next_wrapper, flake_next_for_copy_wrapper, c"flake_next_for_copy",
        value: ValueType::Bigint { input: flake_in_wrapper },
        scale: || Ok(horizon::server_epoch()?.signed_scale()),
        readiness: Some(readiness::<flake::Flake>),
    }
    sno::NAME, Sno {
        symbols: sno_in_wrapper,
        next: sno_next_wrapper, sno_next_for_copy_wrapper, c"sno_next_for_copy",
        value: ValueType::Own { input: sno_in_wrapper, bytes: sno::LEN, by_value: false },
        scale: || Ok(sno::SCALE),
        readiness: Some(readiness::<sno::TickTock>),
    }
    flake128::NAME, Flake128 {
        symbols: flake128_in_wrapper,
        next: flake128_next_wrapper, flake128_next_for_copy_wrapper, c"flake128_next_for_copy",
        value: ValueType::Own { input: flake128_in_wrapper, bytes: flake128::LEN, by_value: false },
        scale: || Ok(flake128::SCALE),
        readiness: Some(readiness::<flake128::Flake128>),
    }
    guid::NAME, Guid {
        symbols: guid_in_wrapper,
        next: guid_next_wrapper, guid_next_for_copy_wrapper, c"guid_next_for_copy",
        value: ValueType::Own { input: guid_in_wrapper, bytes: guid::LEN, by_value: false },
        scale: || Ok(guid::SCALE),
        readiness: Some(readiness::<guid::Guid>),
    }
    guid::LOCAL_NAME, GuidLocal {
        symbols: guid_local_in_wrapper,
        next: guid_local_next_wrapper, guid_local_next_for_copy_wrapper, c"guid_local_next_for_copy",
        value: ValueType::Own { input: guid_local_in_wrapper, bytes: size_of::<guid_local::Local>(), by_value: true },
        scale: || Ok(guid::SCALE),
        readiness: None,
    }
    uniqueid::NAME, UniqueId {
        symbols: uniqueid_in_wrapper,
        next: uniqueid_next_wrapper, uniqueid_next_for_copy_wrapper, c"uniqueid_next_for_copy",
        value: ValueType::Own { input: uniqueid_in_wrapper, bytes: size_of::<uniqueid::Id>(), by_value: true },
        scale: || Ok(uniqueid::SCALE),
        readiness: Some(readiness::<uniqueid::UniqueId>),
    }
    uuidv7::NAME, Uuid {
        symbols:,
        next: uuidv7_next_wrapper, uuidv7_next_for_copy_wrapper, c"uuidv7_next_for_copy",
        value: ValueType::Uuid,
        scale: || Ok(uuidv7::SCALE),
        readiness: Some(readiness::<uuidv7::Uuidv7>),
    }
}
