//! Converts timestamptz and tstzrange between PostgreSQL and Rust.

use crate::clock::{POSTGRES_EPOCH, unix_micros};
use flakeid_core::clock::UnixMicros;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Range, RangeBound};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A timestamptz. The infinities of PostgreSQL are the ends of the number range, and so are those
/// of the core.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub UnixMicros);

/// Returns a moment as a column of type timestamptz; NULL beyond PostgreSQL's calendar.
pub fn timestamptz(time: UnixMicros) -> Option<TimestampWithTimeZone> {
    TimestampWithTimeZone::try_from(time.0.saturating_sub(POSTGRES_EPOCH)).ok()
}

impl Time {
    /// Returns the time as PostgreSQL counts it. Times of IDs begin in 1970; those beyond the
    /// calendar are infinity.
    pub fn datum(self) -> pg_sys::Datum {
        match self.0.0 {
            micros @ (i64::MIN | i64::MAX) => pg_sys::Datum::from(micros),
            micros => pg_sys::Datum::from(micros - POSTGRES_EPOCH),
        }
    }
}

// SAFETY: a timestamptz is a number of 64 bits, passed by value.
unsafe impl<'fcx> ArgAbi<'fcx> for Time {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the SQL declaration says timestamptz, which has the representation of an int8.
        Self(unix_micros(unsafe { arg.unbox_arg_using_from_datum() }.unwrap_or_default()))
    }
}

// SAFETY: a timestamptz is a number of 64 bits, passed by value.
unsafe impl BoxRet for Time {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: the function is declared to return timestamptz, which is passed by value.
        unsafe { fcinfo.return_raw_datum(self.datum()) }
    }
}

pgrx::impl_sql_translatable!(Time, "timestamptz");

/// Returns the first and the last microsecond of a range. In a range that contains no microsecond
/// the first is after the last.
pub fn ends(range: Range<TimestampWithTimeZone>) -> (UnixMicros, UnixMicros) {
    const NONE: (UnixMicros, UnixMicros) = (UnixMicros(i64::MAX), UnixMicros(i64::MIN));
    let micros = |time: TimestampWithTimeZone| unix_micros(time.into_inner()).0;
    let Some((lower, upper)) = range.into_inner() else { return NONE };
    let from = match lower {
        RangeBound::Infinite => Some(i64::MIN),
        RangeBound::Inclusive(time) => Some(micros(time)),
        RangeBound::Exclusive(time) => micros(time).checked_add(1),
    };
    let to = match upper {
        RangeBound::Infinite => Some(i64::MAX),
        RangeBound::Inclusive(time) => Some(micros(time)),
        RangeBound::Exclusive(time) => micros(time).checked_sub(1),
    };
    match (from, to) {
        (Some(from), Some(to)) => (UnixMicros(from), UnixMicros(to)),
        // The range begins after infinity, or ends before minus infinity.
        _ => NONE,
    }
}
