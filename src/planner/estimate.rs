//! How many rows a comparison of IDs is true of: the RESTRICT and JOIN functions of `<`, `<=`, `>=` and `>`.
//!
//! PostgreSQL has two things to say of a range of a column, and says neither of a type that it doesn't
//! know. It looks up in which of the histogram's hundred bins a bound lies, but not where in the bin:
//! `convert_to_scalar` has a list of types, and to all others it answers "in the middle". And it sees that
//! `id >= a AND id <= b` is one range (`clauselist_selectivity`), but only by the names of its own
//! estimators. So a range within one bin, as are five minutes of a month, would be taken for one row, or
//! for two hundred bins' worth. Hence these estimators, which do both. Where in the bin a bound lies is the
//! subject of [`super::column`].
//!
//! # One range
//! The planner multiplies the estimates of clauses that it doesn't recognize as a pair. So of a pair the
//! lower bound says how many rows are above it, and the upper one which part *of those* is below itself.
//! Of several bounds on one side the tightest speaks, and the others say "all". An estimator is given one
//! clause only; the others are found where the planner keeps them, in the relation's restrictions and joins
//! or in the AND around the clause below one of them ([`clauses_with`]). That holds for joins, too, of which
//! PostgreSQL never sees that two bounds are one range.
//!
//! # What is not ours
//! Any user may declare an operator with these estimators. They answer "unknown" unless the operator's two
//! operands, the column, its statistics and the value are all of one ID type ([`super::id_type`]), and they
//! ask that again for each further bound that they look at.

use super::column::{Column, Comparison, Restriction, Side, Statistics};
use super::{clause, clauses_with, constant, is, nodes};
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, List, Node, NodeTag, Oid, PlannerInfo};
use pgrx::prelude::*;
use std::ffi::c_int;

/// PostgreSQL's estimates (`utils/selfuncs.h`) for one bound that is not known, and for two.
const UNKNOWN: f64 = 0.333_333_333_333_333_3;
const UNKNOWN_RANGE: f64 = 0.005;
/// The estimate for a range that seems to hold no row.
pub(super) const LEAST: f64 = 1.0e-10;

/// A bound of the column in one of the clauses.
#[derive(Clone, Copy)]
struct Bound {
    arguments: *mut List,
    comparison: Comparison,
    value: Value,
}

/// What a column is compared with.
#[derive(Clone, Copy)]
enum Value {
    /// A value of the column's ID type.
    Known(Datum),
    Null,
    /// A value that only the execution will know, or one that is not of the column's ID type.
    Unknown,
}

impl Value {
    /// # Safety
    /// An expression of the query that the column is of.
    unsafe fn of(column: &Column, expression: *mut Node) -> Self {
        // SAFETY: the caller's; a Const is looked at as such.
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

/// Removes what PostgreSQL puts around an expression to change only its type's name.
///
/// # Safety
/// A node of an expression.
unsafe fn without_relabeling(mut node: *mut Node) -> *mut Node {
    // SAFETY: the tag says what the node is.
    unsafe {
        while is(node, NodeTag::T_RelabelType) {
            node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
        }
        node
    }
}

/// Collects the column's bounds among these clauses.
///
/// # Safety
/// Clauses of the query that the column is of.
unsafe fn bounds(column: &Column, list: *mut List, family: [Comparison; 4]) -> Vec<Bound> {
    // SAFETY: each node is looked at as what its tag says.
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
                // The estimate of that clause itself says that no row fulfills a comparison with NULL.
                let counts = !matches!(value, Value::Null);
                counts.then_some(Bound { arguments: (*operation).args, comparison, value })
            })
            .collect()
    }
}

/// Picks the tightest bound of one side: a known one if there is one, the first of equal ones.
fn tightest(column: &Column, bounds: &[Bound], side: Side) -> Option<Bound> {
    let of_side = bounds.iter().filter(|bound| bound.comparison.side == side);
    of_side.copied().reduce(|best, bound| match (best.value, bound.value) {
        (Value::Known(a), Value::Known(b)) => {
            // SAFETY: known values are of the column's ID type.
            let (a, b) = unsafe { (column.id_type.number(a), column.id_type.number(b)) };
            let tighter = if side == Side::Above { b > a } else { b < a };
            if tighter { bound } else { best }
        }
        (Value::Unknown, Value::Known(_)) => bound,
        _ => best,
    })
}

/// Collects the column's bounds that hold together with the one that has these arguments, itself included;
/// `None` where the clause is not found.
///
/// # Safety
/// The arguments of a clause of the query that the column is of.
unsafe fn others(
    column: &Column,
    comparison: Comparison,
    arguments: *mut List,
) -> Option<Vec<Bound>> {
    // SAFETY: the caller's.
    unsafe {
        let list = clauses_with(column.statistics.relation()?, arguments)?;
        Some(bounds(column, list, comparison.family()))
    }
}

fn estimate(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: the arguments of every RESTRICT function: the planner's state, the operator, its list of
    // two operands, and the relation that alone is looked at.
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
    // SAFETY: as PostgreSQL has passed them.
    let restriction = unsafe { Restriction::of(root, arguments, relation) };
    let Some(Restriction { statistics, other, column_is_left }) = restriction else {
        return UNKNOWN;
    };
    let Some(mut column) = Column::of(root, statistics, collation) else { return UNKNOWN };
    let comparison = Comparison::of(column.id_type, operator, side, or_equal, column_is_left);
    let Some(comparison) = comparison else { return UNKNOWN };
    // SAFETY: what the clause compares the column with is an expression of the query.
    let value = unsafe { Value::of(&column, other) };
    if matches!(value, Value::Null) {
        return 0.0;
    }
    let own = Bound { arguments, comparison, value };

    // SAFETY: the arguments are a clause's of the query.
    let others = unsafe { others(&column, comparison, arguments) }.unwrap_or_else(|| vec![own]);
    if tightest(&column, &others, comparison.side).is_some_and(|best| best.arguments != arguments) {
        return 1.0;
    }
    let part = |column: &mut Column, bound: Bound| match bound.value {
        // SAFETY: a known value is of the column's ID type, and not NULL.
        Value::Known(value) => unsafe { column.part(bound.comparison, value) },
        Value::Null | Value::Unknown => None,
    };
    let own_part = part(&mut column, own);
    let lower = match comparison.side {
        Side::Above => None,
        Side::Below => tightest(&column, &others, Side::Above),
    };
    let Some(lower) = lower else { return own_part.unwrap_or(UNKNOWN) };
    match (part(&mut column, lower), own_part) {
        (Some(lower), Some(own)) => {
            let both = (lower + own - (1.0 - column.nulls)).max(LEAST);
            if lower > both { both / lower } else { 1.0 }
        }
        (lower, _) => (UNKNOWN_RANGE / lower.unwrap_or(UNKNOWN)).min(1.0),
    }
}

/// Estimates a comparison with another relation's rows: all that is known is whether it is one of a pair.
fn estimate_join(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: the first three arguments of every JOIN function: the planner's state, the operator, and its
    // list of two operands.
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
        // SAFETY: the arguments are a clause's of the query.
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
