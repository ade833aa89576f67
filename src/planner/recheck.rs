//! Implements `flakeid_recheck(condition)`, which returns the condition, and tells the planner how
//! often it is true.
//!
//! A predicate such as `id <@ times` is a range of the index and a condition for each row of the
//! range. The planner would estimate that the condition is true for every third row. The support
//! function says that it is true for nearly all rows, as the range has already selected them.
//! Several conditions on one ID get one common estimate.
//!
//! # What is estimated
//! For some ID types the position of an ID in an index does not tell its time exactly. There a
//! predicate is one or more ranges of the index, and a condition that is evaluated for each row of
//! them. The planner multiplies the estimate of the ranges by that of the condition. So the
//! condition's estimate is the part of the rows that fulfills it, divided by the part that is in
//! the ranges. [`Distribution`] has the first one, and [`Times::in_ranges`] computes the second as
//! the planner does.
//!
//! The ranges of a guid contain many more rows only if the times are short: its index is exact to
//! some minutes, since the node is between the parts of the time.
//!
//! # Several conditions
//! `id >= t1 AND id <= t2` is two predicates, each with ranges that are open at one end. The
//! planner takes them as independent, and multiplies its estimates of both. So the first condition
//! in the list answers for all of them. Its answer is the part of the rows with a common time,
//! divided by the product that the planner computes. The others answer "all".

use super::column::{Column, Comparison, Side, Statistics};
use super::distribution::Distribution;
use super::estimate::MIN_SELECTIVITY;
use super::id_type::Guid;
use super::{clause, clauses_with, constant, uuid};
use crate::clock::unix_micros;
use crate::nodes::{is, nodes};
use crate::timestamp::ends;
use crate::types::{RawDatum, drift_of_interval};
use flakeid_core::clock::UnixMicros;
use flakeid_core::guid::{Clock, Drift, Id};
use flakeid_core::guid_local::Local;
use pgrx::datum::Range;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Node, NodeTag, Oid, SupportRequestSelectivity};
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn flakeid_recheck(condition: bool) -> bool {
    condition
}

/// Answers the planner's question about a call. The result for "no answer" is a null pointer, which
/// is not NULL.
#[pg_extern(sql = false)]
fn flakeid_recheck_support(fcinfo: FunctionCallInfo) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is
    // read.
    unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        if !is(node, NodeTag::T_SupportRequestSelectivity) {
            return RawDatum::pointer(std::ptr::null_mut());
        }
        let request = node.cast::<SupportRequestSelectivity>();
        let share = uuid::share(request).or_else(|| share(request));
        (*request).selectivity = share.unwrap_or(1.0);
        RawDatum::pointer(node.cast())
    }
}

/// Estimates which part of the ranges of guids or guid_locals fulfills the condition. Returns
/// `None` for a condition of another form, and without statistics.
///
/// # Safety
/// `request` is the planner's question about a call of [`flakeid_recheck`].
unsafe fn share(request: *const SupportRequestSelectivity) -> Option<f64> {
    pg_sys::check_for_interrupts!();
    // SAFETY: the arguments in a question, and the expressions in them, belong to the query.
    unsafe {
        let root = (*request).root;
        let condition = nodes((*request).args).next()?;
        let own = Times::of(root, condition)?;
        let statistics = Statistics::of(root, own.id, (*request).varRelid);
        let mut column = Column::of(root, statistics, Oid::INVALID)?;
        let guid = column.id_type.guid()?;

        let all = own.with_others(&column, request);
        if all.first().is_some_and(|first| first.condition != condition) {
            return Some(1.0);
        }
        let from = all.iter().map(|times| times.from).max()?;
        let to = all.iter().map(|times| times.to).min()?;
        if from > to {
            return Some(MIN_SELECTIVITY);
        }
        let mut distribution = Distribution::of(&column, guid, own.clock, own.drift)?;
        if distribution.ends_before(from) || distribution.ends_before(to) {
            // The index knows IDs that were generated after the last ANALYZE.
            let last = column.last();
            last.into_iter().for_each(|last| distribution.extend_to(guid, last, own.clock));
        }
        let in_ranges: Option<f64> =
            all.iter().map(|times| times.in_ranges(&mut column, guid)).product();
        Some((distribution.part(from, to) / in_ranges?).clamp(MIN_SELECTIVITY, 1.0))
    }
}

/// The times that a condition allows for a guid.
#[derive(Clone, Copy)]
struct Times {
    condition: *mut Node,
    id: *mut Node,
    /// The clock by which the times are read.
    clock: Clock,
    /// The drift that the IDs have; `None` for IDs of every drift.
    drift: Option<Drift>,
    from: UnixMicros,
    to: UnixMicros,
}

impl Times {
    /// Returns the times of a condition: `guid_timestamp(id, false)` compared with a time,
    /// `guid_recheck(id, times)`, or `guid_recheck(id, times, drift, inverse)`.
    ///
    /// # Safety
    /// `condition` is an expression of the query.
    unsafe fn of(root: *mut pg_sys::PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: the tag decides as which struct a node is read.
        unsafe {
            if is(condition, NodeTag::T_OpExpr) {
                let operation = condition.cast::<pg_sys::OpExpr>();
                let sides: Vec<_> = nodes((*operation).args).collect();
                let &[own, than] = sides.as_slice() else { return None };
                if !is(own, NodeTag::T_FuncExpr) {
                    return None;
                }
                let id = nodes((*own.cast::<pg_sys::FuncExpr>()).args).next()?;
                let (from, to) = Self::compared(root, (*operation).opno, than)?;
                return Some(Self { condition, id, clock: Clock::Unix, drift: None, from, to });
            }
            if !is(condition, NodeTag::T_FuncExpr) {
                return None;
            }
            let arguments: Vec<_> = nodes((*condition.cast::<pg_sys::FuncExpr>()).args).collect();
            let &[id, times, ref more @ ..] = arguments.as_slice() else { return None };
            let times = known(root, times, pg_sys::TSTZRANGEOID)?;
            let (from, to) = ends(Range::<TimestampWithTimeZone>::from_datum(times, false)?);
            let (drift, clock) = match *more {
                [drift, inverse] => {
                    let drift = known(root, drift, pg_sys::INTERVALOID)?;
                    let is_inverse = known(root, inverse, pg_sys::BOOLOID)?.value() as u8 != 0;
                    let clock = if is_inverse { Clock::Inverse } else { Clock::Unix };
                    (Some(drift_of_interval(drift)), clock)
                }
                _ => (None, Clock::Unix),
            };
            Some(Self { condition, id, clock, drift, from, to })
        }
    }

    /// Returns the times that a comparison with a time allows.
    ///
    /// # Safety
    /// `than` is an expression of the query.
    unsafe fn compared(
        root: *mut pg_sys::PlannerInfo,
        operator: Oid,
        than: *mut Node,
    ) -> Option<(UnixMicros, UnixMicros)> {
        // SAFETY: the caller guarantees the expression; `get_opcode` reads the catalog.
        let (time, function) =
            unsafe { (known(root, than, pg_sys::TIMESTAMPTZOID)?, pg_sys::get_opcode(operator)) };
        let time = unix_micros(time.value() as i64);
        let (first, last) = (UnixMicros(i64::MIN), UnixMicros(i64::MAX));
        // A microsecond more or less does not matter here.
        match u32::from(function) {
            pg_sys::F_TIMESTAMPTZ_LT | pg_sys::F_TIMESTAMPTZ_LE => Some((first, time)),
            pg_sys::F_TIMESTAMPTZ_GE | pg_sys::F_TIMESTAMPTZ_GT => Some((time, last)),
            pg_sys::F_TIMESTAMPTZ_EQ => Some((time, time)),
            _ => None,
        }
    }

    /// Collects the conditions on the same ID, clock and drift that must hold together with this
    /// one, in the order of the planner, including this one.
    ///
    /// # Safety
    /// `request` is the question that contains the condition.
    unsafe fn with_others(
        self,
        column: &Column,
        request: *const SupportRequestSelectivity,
    ) -> Vec<Self> {
        // SAFETY: the tag decides as which struct a node is read.
        unsafe {
            let relation = column.statistics.relation();
            let Some(list) = relation.and_then(|relation| clauses_with(relation, (*request).args))
            else {
                return vec![self];
            };
            nodes(list)
                .filter_map(|node| {
                    let node = clause(node);
                    if !is(node, NodeTag::T_FuncExpr) {
                        return None;
                    }
                    let call = node.cast::<pg_sys::FuncExpr>();
                    if (*call).funcid != (*request).funcid {
                        return None;
                    }
                    let other = Self::of(column.root, nodes((*call).args).next()?)?;
                    let is_same = pg_sys::equal(other.id.cast(), self.id.cast());
                    let is_alike = other.clock == self.clock && other.drift == self.drift;
                    (is_alike && is_same).then_some(other)
                })
                .collect()
        }
    }

    /// Estimates the part of all rows that is in the ranges of the index for these times, which
    /// consist of whole windows of the drift. If the condition is for every drift, these are a
    /// range of the default drift, and all IDs of the others.
    fn in_ranges(&self, column: &mut Column, guid: Guid) -> Option<f64> {
        let at_least = Comparison::of_btree(column.id_type, Side::Above, true)?;
        let at_most = Comparison::of_btree(column.id_type, Side::Below, true)?;
        let drift = self.drift.unwrap_or(Drift::DEFAULT);
        let (mut first, mut last) = Id::range(self.from, self.to, drift, self.clock);
        let (lowest, highest) = match guid {
            Guid::Global => (Datum::from(first.0.as_mut_ptr()), Datum::from(last.0.as_mut_ptr())),
            Guid::Local => {
                let (first, last) = Local::range(self.from, self.to, drift, self.clock);
                (Datum::from(first.0), Datum::from(last.0))
            }
        };
        // SAFETY: the datum of a guid is the address of its bytes, which outlive the calls. That of
        // a guid_local is its word. `guid` says which of them the column has.
        let (above, below) =
            unsafe { (column.part(at_least, lowest)?, column.part(at_most, highest)?) };
        let of_drift = (above + below - (1.0 - column.nulls)).max(MIN_SELECTIVITY);
        if self.drift.is_some() {
            return Some(of_drift);
        }
        let [first, last] = drift.first_bytes();
        let low = Comparison::of_btree(column.id_type, Side::Below, false)?;
        let high = Comparison::of_btree(column.id_type, Side::Above, false)?;
        // SAFETY: both bounds are values of the column's ID type.
        let others = unsafe {
            column.part_of_values(low, column.id_type.datum(first, 0)).unwrap_or(0.0)
                + column.part_of_values(high, column.id_type.datum(last, u8::MAX)).unwrap_or(0.0)
        };
        Some(of_drift + others - of_drift * others)
    }
}

/// Returns the value of an expression, if the planner knows it, and it has this type and is not
/// NULL.
///
/// # Safety
/// `root` is the planner's state, and `expression` an expression of the same query.
unsafe fn known(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut Node,
    type_oid: Oid,
) -> Option<Datum> {
    // SAFETY: the caller guarantees the arguments. `constant` returns a valid Const.
    unsafe {
        let value = constant(root, expression)?;
        ((*value).consttype == type_oid && !(*value).constisnull).then_some((*value).constvalue)
    }
}
