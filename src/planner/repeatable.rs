//! Decides whether an expression may stand twice in a condition.
//!
//! An expression without volatile functions can have another value each time if a subselect in it
//! returns the rows that it happens to find: with TABLESAMPLE, with `FOR UPDATE SKIP LOCKED`, with
//! a LIMIT or DISTINCT ON without an order. Such an expression must not be repeated.
//!
//! An expression that is repeated is copied. If each of nested expressions is, their size doubles
//! with each level. So a large expression is not repeated either.

use crate::nodes::is;
use pgrx::pg_sys::{self, Node, NodeTag, Query, RangeTblEntry};
use std::ffi::{c_int, c_void};

/// The number of nodes from which on an expression is large.
const LARGE: usize = 500;

/// Returns whether an expression has the same value each time within a query, and is small.
///
/// # Safety
/// `node` is an expression, which has no volatile function.
pub unsafe fn is_repeatable(node: *mut Node) -> bool {
    let mut nodes = 0_usize;
    // SAFETY: the walker gets the address of `nodes`, which outlives the walk.
    !unsafe { is_unrepeatable(node, std::ptr::from_mut(&mut nodes).cast()) }
}

/// Returns whether the walk can end: the expression contains a node that prevents the repetition,
/// or too many nodes.
unsafe extern "C-unwind" fn is_unrepeatable(node: *mut Node, count: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the tag decides as which struct a node is read. The second argument is that of
    // `is_repeatable`.
    unsafe {
        let nodes = &mut *count.cast::<usize>();
        *nodes += 1;
        if *nodes > LARGE {
            return true;
        }
        if is(node, NodeTag::T_RangeTblEntry) {
            return !(*node.cast::<RangeTblEntry>()).tablesample.is_null();
        }
        if !is(node, NodeTag::T_Query) {
            return pg_sys::expression_tree_walker(node, Some(is_unrepeatable), count);
        }
        let query = node.cast::<Query>();
        let has_limit = !(*query).limitCount.is_null() || !(*query).limitOffset.is_null();
        let has_no_order = (*query).sortClause.is_null();
        !(*query).rowMarks.is_null()
            || has_no_order && (has_limit || (*query).hasDistinctOn)
            || pg_sys::query_tree_walker(
                query,
                Some(is_unrepeatable),
                count,
                pg_sys::QTW_EXAMINE_RTES_BEFORE as c_int,
            )
    }
}
