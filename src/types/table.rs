//! The ID types as SQL has them: one entry for each.
//!
//! Code that treats all ID types in SQL reads [`SQL_ID_TYPES`]: the planner, the bounds of partitions, and the view
//! `flakeid_readiness`. What a server needs to generate IDs is in [`id_types`](crate::id_types). guid and guid_local are two
//! types here, and one there.

use crate::error::Report;
use crate::generator::{Readiness, readiness};
use crate::{guc, horizon};
use flakeid_core::clock::Scale;
use flakeid_core::{flake, flake128, guid, guid_local, sno, uniqueid, uuidv7};
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
    /// Whether this server can generate IDs now; `None` for a type that has the cells of the one before it.
    pub readiness: Option<fn() -> Readiness>,
    pub next: NextFns,
}

/// The type of an ID in SQL.
#[derive(Clone, Copy)]
pub enum ValueType {
    /// bigint, and the type flake, which PostgreSQL takes for a bigint. This is the code of its input function.
    Bigint { input: Code },
    /// PostgreSQL's uuid.
    Uuid,
    /// A type of this extension: the code of its input function, its size, and whether its datum is the value.
    Own { input: Code, bytes: usize, by_value: bool },
}

/// The code of a function `X_next`, and that of `X_next_for_copy` ([`copy_from`](crate::copy_from)) with its name.
#[derive(Clone, Copy)]
pub struct NextFns {
    pub next: Code,
    pub for_copy: Code,
    pub for_copy_name: &'static CStr,
}

unsafe extern "C-unwind" {
    fn flake_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn sno_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn sno_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn sno_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake128_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake128_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake128_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_local_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_local_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_local_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uniqueid_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uniqueid_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uniqueid_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uuidv7_next_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uuidv7_next_for_copy_wrapper(fcinfo: FunctionCallInfo) -> Datum;
}

const _: () = assert!(SQL_ID_TYPES.len() == guc::ID_TYPE_STREAMS.len());

/// All ID types, in the order in which pages list them.
pub const SQL_ID_TYPES: [SqlIdTypeEntry; 7] = [
    SqlIdTypeEntry {
        name: flake::NAME,
        value: ValueType::Bigint { input: flake_in_wrapper },
        scale: || Ok(horizon::server_epoch()?.signed_scale()),
        readiness: Some(readiness::<flake::Flake>),
        next: NextFns {
            next: flake_next_wrapper,
            for_copy: flake_next_for_copy_wrapper,
            for_copy_name: c"flake_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: sno::NAME,
        value: ValueType::Own { input: sno_in_wrapper, bytes: sno::LEN, by_value: false },
        scale: || Ok(sno::SCALE),
        readiness: Some(readiness::<sno::TickTock>),
        next: NextFns {
            next: sno_next_wrapper,
            for_copy: sno_next_for_copy_wrapper,
            for_copy_name: c"sno_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: flake128::NAME,
        value: ValueType::Own { input: flake128_in_wrapper, bytes: flake128::LEN, by_value: false },
        scale: || Ok(flake128::SCALE),
        readiness: Some(readiness::<flake128::Flake128>),
        next: NextFns {
            next: flake128_next_wrapper,
            for_copy: flake128_next_for_copy_wrapper,
            for_copy_name: c"flake128_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: guid::NAME,
        value: ValueType::Own { input: guid_in_wrapper, bytes: guid::LEN, by_value: false },
        scale: || Ok(guid::SCALE),
        readiness: Some(readiness::<guid::Guid>),
        next: NextFns {
            next: guid_next_wrapper,
            for_copy: guid_next_for_copy_wrapper,
            for_copy_name: c"guid_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: guid::LOCAL_NAME,
        value: ValueType::Own {
            input: guid_local_in_wrapper,
            bytes: size_of::<guid_local::Local>(),
            by_value: true,
        },
        scale: || Ok(guid::SCALE),
        readiness: None,
        next: NextFns {
            next: guid_local_next_wrapper,
            for_copy: guid_local_next_for_copy_wrapper,
            for_copy_name: c"guid_local_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: uniqueid::NAME,
        value: ValueType::Own {
            input: uniqueid_in_wrapper,
            bytes: size_of::<uniqueid::Id>(),
            by_value: true,
        },
        scale: || Ok(uniqueid::SCALE),
        readiness: Some(readiness::<uniqueid::UniqueId>),
        next: NextFns {
            next: uniqueid_next_wrapper,
            for_copy: uniqueid_next_for_copy_wrapper,
            for_copy_name: c"uniqueid_next_for_copy",
        },
    },
    SqlIdTypeEntry {
        name: uuidv7::NAME,
        value: ValueType::Uuid,
        scale: || Ok(uuidv7::SCALE),
        readiness: Some(readiness::<uuidv7::Uuidv7>),
        next: NextFns {
            next: uuidv7_next_wrapper,
            for_copy: uuidv7_next_for_copy_wrapper,
            for_copy_name: c"uuidv7_next_for_copy",
        },
    },
];
