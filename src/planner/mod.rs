//! Tells the planner which IDs a comparison with a time selects, and how many rows.
//!
//! [`predicate`] replaces a comparison of an ID with a time by conditions about the ID.
//! [`estimate`] estimates these, [`recheck`] conditions that follow a range of an index. Both use
//! [`mod@column`], the statistics of a column, and [`id_type`], which decides whether a value is an
//! ID. This file has the functions that walk the planner's trees.

mod column;
mod distribution;
mod estimate;
mod expression;
mod id_type;
mod predicate;
mod recheck;
mod repeatable;
mod uuid;

use crate::nodes::{is, nodes};
use pgrx::pg_sys::{self, List, Node, NodeTag, PlannerInfo};
use std::cell::Cell;

/// Reduces an expression to the value that the planner knows for it. Returns `None` if the value is
/// known only later.
///
/// # Safety
/// `root` is the planner's state, and `expression` an expression of the same query.
unsafe fn constant(root: *mut PlannerInfo, expression: *mut Node) -> Option<*mut pg_sys::Const> {
    // SAFETY: the caller guarantees that both belong to one query. A node with the tag T_Const is a
    // Const.
    unsafe {
        // Most are constants already, and PostgreSQL would copy them.
        if is(expression, NodeTag::T_Const) {
            return Some(expression.cast());
        }
        let value = pg_sys::estimate_expression_value(root, expression);
        is(value, NodeTag::T_Const).then_some(value.cast())
    }
}

/// Returns the clause of a RestrictInfo, and any other clause as it is. The clause of an OR
/// contains RestrictInfos.
///
/// # Safety
/// `node` is a clause of the query, or a RestrictInfo.
unsafe fn clause(node: *mut Node) -> *mut Node {
    // SAFETY: the tag decides as which struct the node is read.
    unsafe {
        if !is(node, NodeTag::T_RestrictInfo) {
            return node;
        }
        let restriction = node.cast::<pg_sys::RestrictInfo>();
        let or = (*restriction).orclause;
        if or.is_null() { (*restriction).clause.cast() } else { or.cast() }
    }
}

thread_local! {
    /// The branch of a long OR in which a clause was found last. The planner asks about the clauses
    /// in their order.
    static LAST_BRANCH: Cell<usize> = const { Cell::new(0) };
}

/// Finds the operator or the function that has these arguments. Returns the list that contains it,
/// whose clauses must all hold, or null if it is a branch of an OR, alone. Returns `None` if it is
/// not there.
///
/// # Safety
/// `list` has clauses of the query, and `arguments` are the arguments of a clause of the query.
unsafe fn clauses_around(list: *mut List, arguments: *mut List) -> Option<*mut List> {
    // SAFETY: the tag decides as which struct a node is read.
    unsafe {
        let is_wanted = |node: *mut Node| {
            is(node, NodeTag::T_OpExpr) && (*node.cast::<pg_sys::OpExpr>()).args == arguments
                || is(node, NodeTag::T_FuncExpr)
                    && (*node.cast::<pg_sys::FuncExpr>()).args == arguments
        };
        nodes(list).find_map(|node| {
            let node = clause(node);
            if is_wanted(node) {
                return Some(list);
            }
            if !is(node, NodeTag::T_BoolExpr) {
                return None;
            }
            let bool_expr = node.cast::<pg_sys::BoolExpr>();
            match (*bool_expr).boolop {
                pg_sys::BoolExprType::AND_EXPR => clauses_around((*bool_expr).args, arguments),
                pg_sys::BoolExprType::OR_EXPR => {
                    let branches: *mut List = (*bool_expr).args;
                    let length = nodes(branches).count();
                    let last = LAST_BRANCH.get();
                    // A long OR is searched from the last place on, as the planner asks about each
                    // clause of it.
                    let begin = if length > LONG_OR && last < length { last } else { 0 };
                    let mut found = None;
                    for number in (begin..length).chain(0..begin) {
                        let branch: *mut Node =
                            clause((*(*branches).elements.add(number)).ptr_value.cast());
                        let and = is(branch, NodeTag::T_BoolExpr)
                            && (*branch.cast::<pg_sys::BoolExpr>()).boolop
                                == pg_sys::BoolExprType::AND_EXPR;
                        found = match and {
                            true => {
                                let list = (*branch.cast::<pg_sys::BoolExpr>()).args;
                                clauses_around(list, arguments)
                            }
                            // A branch that is one clause has no other clauses.
                            false => is_wanted(branch).then_some(std::ptr::null_mut()),
                        };
                        if found.is_some() {
                            if length > LONG_OR {
                                LAST_BRANCH.set(number);
                            }
                            break;
                        }
                    }
                    found
                }
                _ => None,
            }
        })
    }
}

/// The number of branches from which on an OR is long.
const LONG_OR: usize = 8;

/// The largest number of clauses that are estimated together. Each of them evaluates all others, so
/// that the time and the memory of planning grow with the square of their number.
const MAX_CLAUSES: i32 = 64;

/// Finds the clauses that must hold together with the clause that has these arguments, among the
/// restrictions and the joins of a relation. Returns `None` if there are more than [`MAX_CLAUSES`].
///
/// # Safety
/// `arguments` are the arguments of a clause of the query to which the relation belongs.
unsafe fn clauses_with(relation: &pg_sys::RelOptInfo, arguments: *mut List) -> Option<*mut List> {
    // SAFETY: the restrictions and joins of a relation are lists of clauses of the query.
    unsafe {
        clauses_around(relation.baserestrictinfo, arguments)
            .or_else(|| clauses_around(relation.joininfo, arguments))
            .filter(|&list| !list.is_null() && (*list).length <= MAX_CLAUSES)
    }
}
