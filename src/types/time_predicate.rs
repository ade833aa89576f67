//! Evaluates a comparison of an ID with a time: the functions of the operators `id < time`,
//! `id <@ times` and so on.
//!
//! The planner replaces nearly all of these calls by conditions about the ID itself
//! ([`crate::planner`]), which can use an index. The functions here decide what such a condition
//! means. They are called for each row if the planner leaves the call as it is: if the user's
//! expression for the time is volatile.

use crate::timestamp::ends;
use flakeid_core::clock::UnixMicros;
use pgrx::datum::Range;
use pgrx::prelude::*;
use pgrx::{FromDatum, pg_sys};

/// Where an ID is relative to a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Before,
    At,
    After,
    /// The ID's position says nothing about its time, so that all comparisons with a time are
    /// false.
    Nowhere,
}

impl Place {
    /// Returns the place of an ID among the bounds of a time: the least ID whose time is not before
    /// it, and the greatest one whose time is not after it.
    pub fn among<T: Ord>(id: T, min: T, max: T) -> Self {
        match () {
            () if id < min => Self::Before,
            () if id > max => Self::After,
            () => Self::At,
        }
    }
}

/// An ID type whose values are compared with times.
pub trait Timed: FromDatum {
    fn place(self, time: UnixMicros) -> Place;
    /// Returns whether the time of the ID is from one time to another, both included.
    fn lies_within(self, from: UnixMicros, to: UnixMicros) -> bool;
}

/// Reads the argument with this number, from 0, of a STRICT function.
#[inline]
fn argument<T: FromDatum>(fcinfo: pg_sys::FunctionCallInfo, number: usize) -> T {
    // SAFETY: a predicate has two arguments, as its SQL declares, and this one has the type `T`.
    let value = unsafe { T::from_datum((*fcinfo).args.as_slice(2)[number].value, false) };
    match value {
        Some(value) => value,
        None => pgrx::error!("an argument is NULL in a function that is declared STRICT"),
    }
}

/// Returns the place of the ID in the argument with this number relative to the time in the other
/// argument.
#[inline]
pub fn place<T: Timed>(fcinfo: pg_sys::FunctionCallInfo, id: usize) -> Place {
    let time: TimestampWithTimeZone = argument(fcinfo, 1 - id);
    argument::<T>(fcinfo, id).place(crate::clock::unix_micros(time.into_inner()))
}

/// Returns whether the ID in the argument with this number is within the times in the other
/// argument.
pub fn is_within<T: Timed>(fcinfo: pg_sys::FunctionCallInfo, id: usize) -> bool {
    let (from, to) = ends(argument::<Range<TimestampWithTimeZone>>(fcinfo, 1 - id));
    argument::<T>(fcinfo, id).lies_within(from, to)
}

/// Exports the functions of the operators that compare an ID with a time, and a time with an ID
/// (`sql/id_type.sql.in`).
macro_rules! time_predicates {
    (
        $Type:ident:
        $lt:ident $le:ident $eq:ident $ge:ident $gt:ident $ne:ident $within:ident
        $time_lt:ident $time_le:ident $time_eq:ident $time_ge:ident $time_gt:ident $time_ne:ident $contains:ident
    ) => {
        const _: () = {
            use $crate::types::export::guarded_fn;
            use $crate::types::time_predicate::{Place, is_within, place};

            guarded_fn!($lt: |fcinfo| (place::<$Type>(fcinfo, 0) == Place::Before).into());
            guarded_fn!($le: |fcinfo| matches!(place::<$Type>(fcinfo, 0), Place::Before | Place::At).into());
            guarded_fn!($eq: |fcinfo| (place::<$Type>(fcinfo, 0) == Place::At).into());
            guarded_fn!($ge: |fcinfo| matches!(place::<$Type>(fcinfo, 0), Place::After | Place::At).into());
            guarded_fn!($gt: |fcinfo| (place::<$Type>(fcinfo, 0) == Place::After).into());
            guarded_fn!($ne: |fcinfo| matches!(place::<$Type>(fcinfo, 0), Place::Before | Place::After).into());
            guarded_fn!($within: |fcinfo| is_within::<$Type>(fcinfo, 0).into());

            guarded_fn!($time_lt: |fcinfo| (place::<$Type>(fcinfo, 1) == Place::After).into());
            guarded_fn!($time_le: |fcinfo| matches!(place::<$Type>(fcinfo, 1), Place::After | Place::At).into());
            guarded_fn!($time_eq: |fcinfo| (place::<$Type>(fcinfo, 1) == Place::At).into());
            guarded_fn!($time_ge: |fcinfo| matches!(place::<$Type>(fcinfo, 1), Place::Before | Place::At).into());
            guarded_fn!($time_gt: |fcinfo| (place::<$Type>(fcinfo, 1) == Place::Before).into());
            guarded_fn!($time_ne: |fcinfo| matches!(place::<$Type>(fcinfo, 1), Place::Before | Place::After).into());
            guarded_fn!($contains: |fcinfo| is_within::<$Type>(fcinfo, 1).into());
        };
    };
}

/// Compares the IDs of a type with times by the bounds of a time, for a type that has one order of
/// IDs for all times. Only the IDs for which `$counts` is true have a place.
macro_rules! by_bounds {
    ($Type:ident, $Id:ident, $counts:expr) => {
        impl $crate::types::time_predicate::Timed for $Type {
            fn place(
                self,
                time: ::flakeid_core::clock::UnixMicros,
            ) -> $crate::types::time_predicate::Place {
                use $crate::types::time_predicate::Place;
                let counts: fn($Type) -> bool = $counts;
                match counts(self) {
                    true => Place::among(self.0, $Id::min(time), $Id::max(time)),
                    false => Place::Nowhere,
                }
            }

            fn lies_within(
                self,
                from: ::flakeid_core::clock::UnixMicros,
                to: ::flakeid_core::clock::UnixMicros,
            ) -> bool {
                let counts: fn($Type) -> bool = $counts;
                let (first, last) = $Id::range(from, to);
                counts(self) && first <= self.0 && self.0 <= last
            }
        }
    };
}

pub(super) use {by_bounds, time_predicates};
