//! Estimates a range of uuids that stands beside `flakeid_recheck(uuidv7_valid(id))`.
//!
//! The comparisons of the range are PostgreSQL's own, which PostgreSQL estimates badly: it takes
//! the middle of a bin of the histogram as the position of each bound. So it expects one row of a
//! range that lies in one bin. The recheck cannot make up for that by its own estimate, as a factor
//! can only make the number of rows smaller.
//!
//! But the planner remembers the estimate of a clause in its `RestrictInfo`, in `norm_selec`, and
//! asks no estimator a second time. [`predicate`](super::predicate) puts the recheck before the
//! range. So the planner asks the recheck first. It writes the better estimates of the comparisons
//! to the place where the planner looks for them. Then PostgreSQL recognizes the two bounds as a
//! pair, as it does for numbers, and also knows the cost of an index scan. The recheck itself is
//! true for nearly all rows of the range: other uuids are spread over all times from 1970 to 10889.
//!
//! A clause that compares the uuid before the recheck has been estimated already. It keeps
//! PostgreSQL's estimate for the number of rows, and has the better one for indexes.
//!
//! # Joins
//! If the times come from another relation, PostgreSQL multiplies its defaults for both bounds. It
//! recognizes no pair there. The recheck is a clause of the same join, and its estimate is the
//! factor that makes them a range of unknown length.

use super::column::{Column, Comparison, Side, Statistics};
use super::estimate::{UNKNOWN, UNKNOWN_RANGE, bounds};
use super::{clause, clauses_with};
use crate::nodes::{is, nodes};
use pgrx::pg_sys::{self, List, Node, NodeTag, Oid, RestrictInfo, SupportRequestSelectivity};

/// Estimates the recheck, and writes down estimates of the comparisons beside it. Returns `None`
/// for a condition of another form.
///
/// # Safety
/// `request` is the planner's question about a call of `flakeid_recheck`.
pub unsafe fn share(request: *const SupportRequestSelectivity) -> Option<f64> {
    // SAFETY: the arguments in a question, and the expressions in them, belong to the query. The
    // tag decides as which struct a node is read.
    unsafe {
        let id = uuid_of(nodes((*request).args).next()?)?;
        let statistics = Statistics::of((*request).root, id, (*request).varRelid);
        let mut column = Column::of((*request).root, statistics, Oid::INVALID)?;
        let list = clauses_with(column.statistics.relation()?, (*request).args)?;
        let joined = write_down(&mut column, list)?;
        // Each predicate has a recheck of its own, and the range is estimated once.
        let is_recheck = |node: *mut Node| {
            is(node, NodeTag::T_FuncExpr) && {
                let call = node.cast::<pg_sys::FuncExpr>();
                let of_same = |other| pg_sys::equal(other as *const _, id as *const _);
                (*call).funcid == (*request).funcid
                    && nodes((*call).args)
                        .next()
                        .and_then(|argument| uuid_of(argument))
                        .is_some_and(of_same)
            }
        };
        let first = nodes(list).map(|node| clause(node)).find(|&node| is_recheck(node));
        let is_first =
            first.is_none_or(|node| (*node.cast::<pg_sys::FuncExpr>()).args == (*request).args);
        let is_range = joined.contains(&Side::Above) && joined.contains(&Side::Below);
        match is_range && is_first {
            true => Some(UNKNOWN_RANGE / (UNKNOWN * UNKNOWN)),
            false => Some(1.0),
        }
    }
}

/// Writes down estimates of the comparisons among these clauses. Returns the sides of those that
/// are of a join.
///
/// PostgreSQL moves a recheck that all branches of an OR have before the OR. So the branches are
/// estimated, too.
///
/// # Safety
/// `list` has clauses of the query to which the column belongs.
unsafe fn write_down(column: &mut Column, list: *mut List) -> Option<Vec<Side>> {
    // SAFETY: the tag decides as which struct a node is read.
    unsafe {
        let above = Comparison::of_btree(column.id_type, Side::Above, true)?;
        let bounds = bounds(column, list, above.family());
        let mut joined = Vec::new();
        for node in nodes(list).filter(|&node| is(node, NodeTag::T_RestrictInfo)) {
            let own = clause(node);
            if is(own, NodeTag::T_BoolExpr) {
                for branch in nodes((*own.cast::<pg_sys::BoolExpr>()).args).map(|node| clause(node))
                {
                    if is(branch, NodeTag::T_BoolExpr) {
                        write_down(column, (*branch.cast::<pg_sys::BoolExpr>()).args)?;
                    }
                }
            }
            if !is(own, NodeTag::T_OpExpr) {
                continue;
            }
            let arguments = (*own.cast::<pg_sys::OpExpr>()).args;
            let Some(bound) = bounds.iter().find(|bound| bound.arguments == arguments) else {
                continue;
            };
            let info = &mut *node.cast::<RestrictInfo>();
            match is_of_one_relation(info) {
                true => {
                    if let Some(part) = bound.part(column) {
                        // A clause above an outer join has an estimate of its own for that.
                        (info.norm_selec, info.outer_selec) = (part, part);
                    }
                }
                false => joined.push(bound.comparison.side),
            }
        }
        Some(joined)
    }
}

/// Returns whether a clause has columns of one relation alone. From PostgreSQL 16 on the relations
/// of a clause can also name the outer join below it.
fn is_of_one_relation(info: &RestrictInfo) -> bool {
    #[cfg(feature = "pg15")]
    // SAFETY: a clause has a set of relations.
    let is_one = unsafe {
        pg_sys::bms_membership(info.clause_relids) == pg_sys::BMS_Membership::BMS_SINGLETON
    };
    #[cfg(not(feature = "pg15"))]
    let is_one = info.num_base_rels == 1;
    is_one
}

/// Returns the uuid of `uuidv7_valid(id)`, or of that with alternatives for times that are NULL.
///
/// # Safety
/// `condition` is an expression of the query.
unsafe fn uuid_of(mut condition: *mut Node) -> Option<*mut Node> {
    // SAFETY: the tag decides as which struct a node is read.
    unsafe {
        if is(condition, NodeTag::T_BoolExpr) {
            condition = nodes((*condition.cast::<pg_sys::BoolExpr>()).args).next()?;
        }
        if !is(condition, NodeTag::T_FuncExpr) {
            return None;
        }
        let id = nodes((*condition.cast::<pg_sys::FuncExpr>()).args).next()?;
        (pg_sys::exprType(id) == pg_sys::UUIDOID).then_some(id)
    }
}
