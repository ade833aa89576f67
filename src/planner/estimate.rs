//! Estimates for how many rows a comparison of IDs is true: the RESTRICT and JOIN functions of `<`,
//! `<=`, `>=` and `>`.
//!
//! PostgreSQL's estimators do not find the position of an ID in a bin of the histogram. They do not
//! recognize `id >= a AND id <= b` as one range, either. These estimators do both. Of the two
//! bounds of a range, the lower one gets the rows above it. The upper one gets the part *of those*
//! that is below it. For an operator of foreign types the answer is "unknown".
//!
//! # The gap in PostgreSQL
//! PostgreSQL estimates a range of a column by two means, and has neither for a type that it does
//! not know:
//!
//! - It finds in which of the histogram's hundred bins a bound lies, but not at which position in
//!   the bin. `convert_to_scalar` has a list of types; for all others it takes the middle.
//! - It recognizes that `id >= a AND id <= b` is one range (`clauselist_selectivity`), but only by
//!   the names of its own estimators.
//!
//! So PostgreSQL would estimate five minutes of a month, which lie in one bin, as one row or as up
//! to a quarter of all rows. [`super::column`] finds the position in the bin.
//!
//! # One range
//! The planner multiplies the estimates of clauses that it does not recognize as a pair. So the
//! estimate of the lower bound of a pair is the part of the rows above it. The estimate of the
//! upper bound is the part *of those* that is below it. Of several bounds on one side the tightest
//! one gets the estimate, and the others get "all".
//!
//! PostgreSQL passes one clause to an estimator. The estimator finds the others where the planner
//! keeps them: among the restrictions and joins of the relation, or in the AND around the clause
//! below one of them ([`clauses_with`]). This also applies to joins, where PostgreSQL never
//! recognizes that two bounds are one range.
//!
//! # Foreign types
//! Any user may declare an operator with these estimators. They answer "unknown" unless the two
//! operands of the operator, the column, its statistics and the value all have one ID type
//! ([`super::id_type`]). They check that again for each further bound.

use super::column::{Column, Comparison, Restriction, Side, Statistics};
use super::{clause, clauses_with, constant};
use crate::nodes::{is, nodes};
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, List, Node, NodeTag, Oid, PlannerInfo};
use pgrx::prelude::*;
use std::ffi::c_int;

/// PostgreSQL's estimates (`utils/selfuncs.h`) for one bound that is not known, and for two.
pub(super) const UNKNOWN: f64 = 0.333_333_333_333_333_3;
pub(super) const UNKNOWN_RANGE: f64 = 0.005;
/// The estimate for a range that seems to hold no row.
pub(super) const MIN_SELECTIVITY: f64 = 1.0e-10;

/// A bound of the column, from one of the clauses.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub arguments: *mut List,
    pub comparison: Comparison,
    value: Value,
}

impl Bound {
    /// Estimates the part of all rows of the column that the bound selects, if its value is known.
    pub fn part(self, column: &mut Column) -> Option<f64> {
        match self.value {
            // SAFETY: a known value has the column's ID type, and is not NULL.
            Value::Known(value) => unsafe { column.part(self.comparison, value) },
            Value::Null | Value::Unknown => None,
        }
    }
}

/// The value with which a column is compared.
#[derive(Clone, Copy)]
enum Value {
    /// A value of the column's ID type.
    Known(Datum),
    Null,
    /// A value that is known only at execution, or one that does not have the column's ID type.
    Unknown,
}

impl Value {
    /// Returns the value of an expression, as far as the planner knows it.
    ///
    /// # Safety
    /// `expression` belongs to the same query as the column.
    unsafe fn of(column: &Column, expression: *mut Node) -> Self {
        // SAFETY: the caller guarantees that the expression belongs to the query. `constant`
        // returns a valid Const.
        unsafe {
            match constant(column.root, expression) {
                Some(value) if !column.id_type.is_of((*value).consttype) => Self::Unknown,
                Some(value) if (*value).constisnull => Self::Null,
                Some(value) => Self::Known((*value).constvalue),
                None => Self::Unknown,
            }
        }
    }
}

/// Removes the nodes that PostgreSQL puts around an expression to change only the name of its type.
///
/// # Safety
/// `node` is a node of an expression.
unsafe fn without_relabeling(mut node: *mut Node) -> *mut Node {
    // SAFETY: the tag decides as which struct the node is read.
    unsafe {
        while is(node, NodeTag::T_RelabelType) {
            node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
        }
        node
    }
}

/// Collects the bounds of the column from these clauses.
///
/// # Safety
/// `list` has clauses of the query to which the column belongs.
pub(super) unsafe fn bounds(
    column: &Column,
    list: *mut List,
    family: [Comparison; 4],
) -> Vec<Bound> {
    // SAFETY: the tag decides as which struct a node is read.
    unsafe {
        nodes(list)
            .filter_map(|node| {
                let node = clause(node);
                if !is(node, NodeTag::T_OpExpr) {
                    return None;
                }
                let operation = node.cast::<pg_sys::OpExpr>();
                let own = family.into_iter().find(|own| own.operator == (*operation).opno)?;
                let sides: Vec<_> = nodes((*operation).args).collect();
                let &[left, right] = sides.as_slice() else { return None };
                let is_column = |side| {
                    let expression = column.statistics.expression();
                    pg_sys::equal(without_relabeling(side).cast(), expression.cast())
                };
                let (column_is_left, other) = match (is_column(left), is_column(right)) {
                    (true, false) => (true, right),
                    (false, true) => (false, left),
                    _ => return None,
                };
                let Comparison { operator, side, or_equal } = own;
                let comparison =
                    Comparison::of(column.id_type, operator, side, or_equal, column_is_left)?;
                let value = Value::of(column, other);
                // A comparison with NULL is no bound. Its own estimate says that it is true for no
                // row.
                let counts = !matches!(value, Value::Null);
                counts.then_some(Bound { arguments: (*operation).args, comparison, value })
            })
            .collect()
    }
}

/// Returns the tightest bound of one side: a known one if there is one, and the first of equal
/// ones.
fn tightest(column: &Column, bounds: &[Bound], side: Side) -> Option<Bound> {
    let of_side = bounds.iter().filter(|bound| bound.comparison.side == side);
    of_side.copied().reduce(|best, bound| match (best.value, bound.value) {
        (Value::Known(a), Value::Known(b)) => {
            // SAFETY: known values have the column's ID type.
            let (a, b) = unsafe { (column.id_type.number(a), column.id_type.number(b)) };
            let tighter = if side == Side::Above { b > a } else { b < a };
            if tighter { bound } else { best }
        }
        (Value::Unknown, Value::Known(_)) => bound,
        _ => best,
    })
}

/// Collects the bounds of the column that must hold together with the clause that has these
/// arguments, including that clause. Returns `None` if the clause is not found.
///
/// # Safety
/// `arguments` are the arguments of a clause of the query to which the column belongs.
unsafe fn others(
    column: &Column,
    comparison: Comparison,
    arguments: *mut List,
) -> Option<Vec<Bound>> {
    // SAFETY: the caller guarantees that the arguments belong to a clause of the query.
    unsafe {
        let list = clauses_with(column.statistics.relation()?, arguments)?;
        Some(bounds(column, list, comparison.family()))
    }
}

/// Estimates the part of the rows for which a comparison with a value is true.
fn estimate(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: every RESTRICT function has these arguments: the planner's state, the operator, the
    // list of its two operands, and the number of the only relation whose columns count.
    let (root, operator, arguments, relation, collation) = unsafe {
        let values = (*fcinfo).args.as_slice(4);
        (
            values[0].value.cast_mut_ptr::<PlannerInfo>(),
            Oid::from(values[1].value.value() as u32),
            values[2].value.cast_mut_ptr::<List>(),
            values[3].value.value() as c_int,
            (*fcinfo).fncollation,
        )
    };
    pg_sys::check_for_interrupts!();
    // SAFETY: PostgreSQL has passed these arguments to this estimator.
    let restriction = unsafe { Restriction::of(root, arguments, relation) };
    let Some(Restriction { statistics, other, column_is_left }) = restriction else {
        return UNKNOWN;
    };
    let Some(mut column) = Column::of(root, statistics, collation) else { return UNKNOWN };
    let comparison = Comparison::of(column.id_type, operator, side, or_equal, column_is_left);
    let Some(comparison) = comparison else { return UNKNOWN };
    // SAFETY: the other side of the clause is an expression of the query.
    let value = unsafe { Value::of(&column, other) };
    if matches!(value, Value::Null) {
        return 0.0;
    }
    let own = Bound { arguments, comparison, value };

    // SAFETY: the arguments belong to a clause of the query.
    let others = unsafe { others(&column, comparison, arguments) }.unwrap_or_else(|| vec![own]);
    if tightest(&column, &others, comparison.side).is_some_and(|best| best.arguments != arguments) {
        return 1.0;
    }
    let own_part = own.part(&mut column);
    let lower = match comparison.side {
        Side::Above => None,
        Side::Below => tightest(&column, &others, Side::Above),
    };
    let Some(lower) = lower else { return own_part.unwrap_or(UNKNOWN) };
    match (lower.part(&mut column), own_part) {
        (Some(lower), Some(own)) => {
            let both = (lower + own - (1.0 - column.nulls)).max(MIN_SELECTIVITY);
            if lower > both { both / lower } else { 1.0 }
        }
        (lower, _) => (UNKNOWN_RANGE / lower.unwrap_or(UNKNOWN)).min(1.0),
    }
}

/// Estimates a comparison with the rows of another relation, by whether it is one bound of a pair.
/// Nothing else is known.
fn estimate_join(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: every JOIN function begins with these three arguments: the planner's state, the
    // operator, and the list of its two operands.
    let (root, operator, arguments) = unsafe {
        let values = (*fcinfo).args.as_slice(3);
        (
            values[0].value.cast_mut_ptr::<PlannerInfo>(),
            Oid::from(values[1].value.value() as u32),
            values[2].value.cast_mut_ptr::<List>(),
        )
    };
    // SAFETY: the operands are expressions of the query.
    let sides: Vec<_> = unsafe { nodes(arguments).collect() };
    for (number, node) in sides.into_iter().enumerate() {
        // SAFETY: an operand is an expression of the query.
        let statistics = unsafe { Statistics::of(root, node, 0) };
        let Some(column) = Column::of(root, statistics, Oid::INVALID) else { return UNKNOWN };
        let comparison = Comparison::of(column.id_type, operator, side, or_equal, number == 0);
        let Some(comparison) = comparison else { return UNKNOWN };
        // SAFETY: the arguments belong to a clause of the query.
        let others = unsafe { others(&column, comparison, arguments) }.unwrap_or_default();
        let has = |side| others.iter().any(|bound| bound.comparison.side == side);
        if comparison.side == Side::Below && has(Side::Above) && has(Side::Below) {
            return UNKNOWN_RANGE / UNKNOWN;
        }
    }
    UNKNOWN
}

#[pg_extern(sql = false)]
fn flakeid_ltsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Below, false)
}

#[pg_extern(sql = false)]
fn flakeid_lesel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Below, true)
}

#[pg_extern(sql = false)]
fn flakeid_gesel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Above, true)
}

#[pg_extern(sql = false)]
fn flakeid_gtsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Above, false)
}

#[pg_extern(sql = false)]
fn flakeid_ltjoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Below, false)
}

#[pg_extern(sql = false)]
fn flakeid_lejoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Below, true)
}

#[pg_extern(sql = false)]
fn flakeid_gejoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Above, true)
}

#[pg_extern(sql = false)]
fn flakeid_gtjoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Above, false)
}
