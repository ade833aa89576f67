//! `flakeid_recheck(condition)`: the condition itself. The planner learns from its support function that the
//! condition is true of nearly all rows that it is asked about.
//!
//! Where an ID's position in an index does not tell its time exactly, a predicate is a range of the index and
//! a condition that is evaluated for each row of the range. The planner knows nothing of such a condition and
//! would take it to be true of every third row. But the range has already chosen the rows.
//!
//! Only for a short time does the range hold many more: a guid's index is exact to some minutes, since the
//! node stands between the parts of the time. The part of those minutes that the condition leaves is computed
//! from the condition, `guid_timestamp(id) <@ times`, and the drift that the column's IDs have.
//!
//! # Several conditions
//! `id >= t1 AND id <= t2` is two predicates, each with a range of its own, open at one end. The planner takes
//! them to be independent and multiplies what it expects of the two ranges: of a month of IDs it would expect
//! a quarter for any two times in the middle, however near to each other. So the first condition in the list
//! answers for all of them: the part of the rows that the common range of times holds, divided by the product
//! that the planner computes. The others answer "all".

use super::column::{Column, Comparison, Side, Statistics};
use super::estimate::LEAST;
use super::id_type::Guid;
use super::{clause, clauses_with, constant, is, nodes};
use crate::clock::unix_micros;
use crate::types::{Ready, ends};
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

/// Answers the planner's question. A null pointer, which is not NULL, says that there is no answer.
#[pg_extern(sql = false)]
fn flakeid_recheck_support(fcinfo: FunctionCallInfo) -> Ready {
    // SAFETY: a support function has one argument, a node, which begins with its tag; the tag says
    // which.
    unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        if !is(node, NodeTag::T_SupportRequestSelectivity) {
            return Ready::pointer(std::ptr::null_mut());
        }
        let request = node.cast::<SupportRequestSelectivity>();
        (*request).selectivity = share(request).unwrap_or(1.0);
        Ready::pointer(node.cast())
    }
}

/// Estimates the part of a range of guids, or of local ones, that is of the times in the condition; `None` for a condition of
/// another form.
///
/// # Safety
/// The planner's question about a call of [`flakeid_recheck`].
unsafe fn share(request: *const SupportRequestSelectivity) -> Option<f64> {
    pg_sys::check_for_interrupts!();
    // SAFETY: what a question holds is of the query: its arguments, and the expressions in them.
    unsafe {
        let root = (*request).root;
        let condition = nodes((*request).args).next()?;
        let own = Times::of(root, condition)?;
        let statistics = Statistics::of(root, own.id, (*request).varRelid);
        let mut column = Column::of(root, statistics, Oid::INVALID)?;
        let guid = column.id_type.guid()?;
        // Most values have the drift of the median, as a guid's highest bits are its drift. A user who may
        // not read the column learns nothing about its values.
        let median = if column.is_visible() { column.first_byte_of_median() } else { None };
        let drift = median.map_or(Drift::DEFAULT, Drift::of_first_byte);

        let all = own.with_others(&column, request);
        let [first, others @ ..] = all.as_slice() else { return None };
        // A guid_local has no node between the parts of its time, so that its index is exact.
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
            return Some(LEAST);
        }
        let expected: Option<f64> =
            all.iter().map(|times| times.part(&mut column, guid, drift)).product();
        let common = Times { from, to, ..own }.part(&mut column, guid, drift)?;
        Some((common / expected? * share(from, to)).clamp(LEAST, 1.0))
    }
}

/// The times that a condition allows the time of a guid.
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
    /// # Safety
    /// An expression of the query.
    unsafe fn of(root: *mut pg_sys::PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: each node is looked at as what its tag says.
        unsafe {
            // From PostgreSQL 17 on the planner writes a range out as two comparisons.
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

    /// # Safety
    /// An expression of the query.
    unsafe fn of_comparison(root: *mut pg_sys::PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: each node is looked at as what its tag says; a Const's value as its type says.
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
            // A microsecond more or less does not matter here. PostgreSQL has not looked up yet which
            // function an operator is that it put there itself.
            let (from, to) = match u32::from(pg_sys::get_opcode((*operation).opno)) {
                pg_sys::F_TIMESTAMPTZ_LT | pg_sys::F_TIMESTAMPTZ_LE => (first, time),
                pg_sys::F_TIMESTAMPTZ_GE | pg_sys::F_TIMESTAMPTZ_GT => (time, last),
                pg_sys::F_TIMESTAMPTZ_EQ => (time, time),
                _ => return None,
            };
            Some(Self { condition, id, counts_up, from, to })
        }
    }

    /// Collects the conditions on the same ID that must hold together with this one, itself included, in
    /// the order in which the planner has them. A condition about the inverse clock is alone.
    ///
    /// # Safety
    /// The question in which the condition stands.
    unsafe fn with_others(
        self,
        column: &Column,
        request: *const SupportRequestSelectivity,
    ) -> Vec<Self> {
        // SAFETY: each node is looked at as what its tag says.
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

    /// Estimates the part of the rows in the range of the index that belongs to these times. It holds whole
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
        // SAFETY: a guid is passed by the address of its bytes, which outlive the calls, and a guid_local by
        // its word; `guid` says which of them the column has.
        let (above, below) =
            unsafe { (column.part(at_least, lowest)?, column.part(at_most, highest)?) };
        Some((above + below - (1.0 - column.nulls)).max(LEAST))
    }
}
