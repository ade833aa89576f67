//! Implements `flakeid_recheck(condition)`, which returns the condition, and tells the planner how often it is true.
//!
//! A predicate such as `id <@ times` is a range of the index and a condition for each row of the range. The planner
//! would estimate that the condition is true for every third row. The support function says that it is true for
//! nearly all rows, as the range has already selected them. Several conditions on one ID get one common estimate.
//!
//! # One condition
//! For some ID types the position of an ID in an index does not tell its time exactly. There a predicate is a range of
//! the index and a condition that is evaluated for each row of the range.
//!
//! The range contains many more rows only if the times are short. The index of a guid is exact to some minutes, since
//! the node is between the parts of the time. The part of those minutes that the condition selects is computed from
//! the condition, `guid_timestamp(id) <@ times`, and from the drift of the column's IDs.
//!
//! # Several conditions
//! `id >= t1 AND id <= t2` is two predicates, each with a range that is open at one end. The planner treats them as
//! independent, and multiplies its estimates of the two ranges. Of a month of IDs it would expect a quarter for any two
//! times in the middle, even if they are near to each other. So the first condition in the list answers for all of
//! them. Its answer is the part of the rows in the common range of times, divided by the product that the planner
//! computes. The others answer "all".

use super::column::{Column, Comparison, Side, Statistics};
use super::estimate::MIN_SELECTIVITY;
use super::id_type::Guid;
use super::{clause, clauses_with, constant, is, nodes};
use crate::clock::unix_micros;
use crate::types::{RawDatum, ends};
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

/// Answers the planner's question about a call. The result for "no answer" is a null pointer, which is not NULL.
#[pg_extern(sql = false)]
fn flakeid_recheck_support(fcinfo: FunctionCallInfo) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is read.
    unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        if !is(node, NodeTag::T_SupportRequestSelectivity) {
            return RawDatum::pointer(std::ptr::null_mut());
        }
        let request = node.cast::<SupportRequestSelectivity>();
        (*request).selectivity = share(request).unwrap_or(1.0);
        RawDatum::pointer(node.cast())
    }
}

/// Estimates which part of a range of guids or guid_locals has the times in the condition. Returns `None` for a
/// condition of another form.
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
        // Most values have the drift of the median, as the highest bits of a guid are its drift. A user who may not
        // read the column learns nothing about its values.
        let median = if column.is_visible() { column.first_byte_of_median() } else { None };
        let drift = median.map_or(Drift::DEFAULT, Drift::of_first_byte);

        let all = own.with_others(&column, request);
        let [first, others @ ..] = all.as_slice() else { return None };
        // A guid_local has no node between the parts of its time, so its index is exact.
        let share = |from, to| match guid {
            Guid::Global => drift.share(from, to),
            Guid::Local => 1.0,
        };
        if others.is_empty() {
            return Some(share(own.from, own.to));
        }
        if first.condition != condition {
            return Some(1.0);
        }
        let from = all.iter().map(|times| times.from).max()?;
        let to = all.iter().map(|times| times.to).min()?;
        if from > to {
            return Some(MIN_SELECTIVITY);
        }
        let expected: Option<f64> =
            all.iter().map(|times| times.part(&mut column, guid, drift)).product();
        let common = Times { from, to, ..own }.part(&mut column, guid, drift)?;
        Some((common / expected? * share(from, to)).clamp(MIN_SELECTIVITY, 1.0))
    }
}

/// The times that a condition allows for a guid.
#[derive(Clone, Copy)]
struct Times {
    condition: *mut Node,
    id: *mut Node,
    /// Whether the condition is known to be about the clock that counts up.
    counts_up: bool,
    from: UnixMicros,
    to: UnixMicros,
}

impl Times {
    /// Returns the times of a condition: a comparison with a time, `<@` with a range of times, or two comparisons.
    ///
    /// # Safety
    /// `condition` is an expression of the query.
    unsafe fn of(root: *mut pg_sys::PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: the tag decides as which struct a node is read.
        unsafe {
            // From PostgreSQL 17 on the planner rewrites a range as two comparisons.
            let both = is(condition, NodeTag::T_BoolExpr)
                && (*condition.cast::<pg_sys::BoolExpr>()).boolop == pg_sys::BoolExprType::AND_EXPR;
            let conditions = match both {
                true => nodes((*condition.cast::<pg_sys::BoolExpr>()).args).collect(),
                false => vec![condition],
            };
            let mut all: Option<Self> = None;
            for part in conditions {
                let part = Self::of_comparison(root, part)?;
                let sofar = all.unwrap_or(part);
                let (from, to) = (sofar.from.max(part.from), sofar.to.min(part.to));
                all = Some(Self { condition, from, to, ..part });
            }
            all
        }
    }

    /// Returns the times of one comparison of `guid_timestamp(id)` with a time or a range of times.
    ///
    /// # Safety
    /// `condition` is an expression of the query.
    unsafe fn of_comparison(root: *mut pg_sys::PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: the tag decides as which struct a node is read, and the type of a Const how its value is read.
        unsafe {
            if !is(condition, NodeTag::T_OpExpr) {
                return None;
            }
            let operation = condition.cast::<pg_sys::OpExpr>();
            let sides: Vec<_> = nodes((*operation).args).collect();
            let &[time, than] = sides.as_slice() else { return None };
            if !is(time, NodeTag::T_FuncExpr) {
                return None;
            }
            let arguments: Vec<_> = nodes((*time.cast::<pg_sys::FuncExpr>()).args).collect();
            let id = *arguments.first()?;
            // The argument `inverse` of guid_timestamp.
            let counts_up = match arguments.get(1) {
                Some(&inverse) => constant(root, inverse).is_some_and(|inverse| {
                    !(*inverse).constisnull && (*inverse).constvalue.value() as u8 == 0
                }),
                None => true,
            };
            let value = constant(root, than).filter(|&value| !(*value).constisnull)?;
            let (times, value) = ((*value).consttype, (*value).constvalue);
            if times == pg_sys::TSTZRANGEOID {
                let (from, to) = ends(Range::<TimestampWithTimeZone>::from_datum(value, false)?);
                return Some(Self { condition, id, counts_up, from, to });
            }
            if times != pg_sys::TIMESTAMPTZOID {
                return None;
            }
            let time = unix_micros(value.value() as i64);
            let (first, last) = (UnixMicros(i64::MIN), UnixMicros(i64::MAX));
            // A microsecond more or less does not matter here. The function is looked up, as the planner has not done
            // that yet for operators that it added itself.
            let (from, to) = match u32::from(pg_sys::get_opcode((*operation).opno)) {
                pg_sys::F_TIMESTAMPTZ_LT | pg_sys::F_TIMESTAMPTZ_LE => (first, time),
                pg_sys::F_TIMESTAMPTZ_GE | pg_sys::F_TIMESTAMPTZ_GT => (time, last),
                pg_sys::F_TIMESTAMPTZ_EQ => (time, time),
                _ => return None,
            };
            Some(Self { condition, id, counts_up, from, to })
        }
    }

    /// Collects the conditions on the same ID that must hold together with this one, in the order of the planner,
    /// including this one. A condition about the inverse clock is alone.
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
            let relation = column.statistics.relation().filter(|_| self.counts_up);
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
                    (other.counts_up && is_same).then_some(other)
                })
                .collect()
        }
    }

    /// Estimates the part of all rows that is in the range of the index for these times. The range consists of whole
    /// windows of the drift.
    fn part(&self, column: &mut Column, guid: Guid, drift: Drift) -> Option<f64> {
        let at_least = Comparison::of_btree(column.id_type, Side::Above, true)?;
        let at_most = Comparison::of_btree(column.id_type, Side::Below, true)?;
        let (mut first, mut last) = Id::range(self.from, self.to, drift, Clock::Unix);
        let (lowest, highest) = match guid {
            Guid::Global => (Datum::from(first.0.as_mut_ptr()), Datum::from(last.0.as_mut_ptr())),
            Guid::Local => {
                let (first, last) = Local::range(self.from, self.to, drift, Clock::Unix);
                (Datum::from(first.0), Datum::from(last.0))
            }
        };
        // SAFETY: the datum of a guid is the address of its bytes, which outlive the calls. That of a guid_local is its
        // word. `guid` says which of them the column has.
        let (above, below) =
            unsafe { (column.part(at_least, lowest)?, column.part(at_most, highest)?) };
        Some((above + below - (1.0 - column.nulls)).max(MIN_SELECTIVITY))
    }
}
