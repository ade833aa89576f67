//! What the planner learns about IDs. [`estimate`] says how many rows a comparison of IDs is true of.
//! [`recheck`] says the same of a condition that follows a range of an index. Both rest on [`mod@column`], a
//! column's statistics, and on [`id_type`], which says whether a value is an ID at all. Here is how they walk
//! the planner's trees.

mod column;
mod estimate;
mod id_type;
mod recheck;

use pgrx::pg_sys::{self, List, Node, NodeTag, PlannerInfo};

/// Reduces an expression to the value that the planner knows for it; `None` where the value is known only
/// later.
///
/// # Safety
/// An expression of the query that the planner's state is of.
unsafe fn constant(root: *mut PlannerInfo, expression: *mut Node) -> Option<*mut pg_sys::Const> {
    // SAFETY: the caller's.
    unsafe {
        // Most are constants already, and PostgreSQL would copy them.
        if is(expression, NodeTag::T_Const) {
            return Some(expression.cast());
        }
        let value = pg_sys::estimate_expression_value(root, expression);
        is(value, NodeTag::T_Const).then_some(value.cast())
    }
}

/// # Safety
/// A node, or null.
unsafe fn is(node: *mut Node, tag: NodeTag) -> bool {
    // SAFETY: a node begins with its tag.
    !node.is_null() && unsafe { (*node).type_ } == tag
}

/// # Safety
/// A list of nodes that outlives the iterator, or null.
unsafe fn nodes(list: *mut List) -> impl Iterator<Item = *mut Node> {
    // SAFETY: the caller's: where there is a list it has a length.
    let length = if list.is_null() { 0 } else { unsafe { (*list).length as usize } };
    // SAFETY: a list has as many elements as its length says.
    (0..length).map(move |i| unsafe { (*(*list).elements.add(i)).ptr_value.cast() })
}

/// Returns the clause in a restriction of the planner's: for an OR the one with restrictions inside.
///
/// # Safety
/// A clause of the query, or a RestrictInfo.
unsafe fn clause(node: *mut Node) -> *mut Node {
    // SAFETY: the tag says what the node is.
    unsafe {
        if !is(node, NodeTag::T_RestrictInfo) {
            return node;
        }
        let restriction = node.cast::<pg_sys::RestrictInfo>();
        let or = (*restriction).orclause;
        if or.is_null() { (*restriction).clause.cast() } else { or.cast() }
    }
}

/// Finds the list of clauses, all of which must hold, in which the operator or the function with these
/// arguments stands.
///
/// # Safety
/// A list of the query's clauses, and the arguments of one of its clauses.
unsafe fn clauses_around(list: *mut List, arguments: *mut List) -> Option<*mut List> {
    // SAFETY: each node is looked at as what its tag says.
    unsafe {
        nodes(list).find_map(|node| {
            let node = clause(node);
            if is(node, NodeTag::T_OpExpr) {
                let found = (*node.cast::<pg_sys::OpExpr>()).args == arguments;
                return found.then_some(list);
            }
            if is(node, NodeTag::T_FuncExpr) {
                let found = (*node.cast::<pg_sys::FuncExpr>()).args == arguments;
                return found.then_some(list);
            }
            if !is(node, NodeTag::T_BoolExpr) {
                return None;
            }
            let bool_expr = node.cast::<pg_sys::BoolExpr>();
            match (*bool_expr).boolop {
                pg_sys::BoolExprType::AND_EXPR => clauses_around((*bool_expr).args, arguments),
                pg_sys::BoolExprType::OR_EXPR => nodes((*bool_expr).args).find_map(|branch| {
                    let branch = clause(branch);
                    let and = is(branch, NodeTag::T_BoolExpr)
                        && (*branch.cast::<pg_sys::BoolExpr>()).boolop
                            == pg_sys::BoolExprType::AND_EXPR;
                    // A branch of one clause has no others to look at.
                    let list = and.then(|| (*branch.cast::<pg_sys::BoolExpr>()).args)?;
                    clauses_around(list, arguments)
                }),
                _ => None,
            }
        })
    }
}

/// A clause is looked at together with this many others at most. Each of them evaluates all others, so that the
/// time and the memory of planning grow with the square of their number.
const MAX_CLAUSES: i32 = 64;

/// Finds the clauses that hold together with the one that has these arguments, among the restrictions and
/// the joins of a relation; `None` where there are more than [`MAX_CLAUSES`].
///
/// # Safety
/// The arguments of a clause of the query that the relation is of.
unsafe fn clauses_with(relation: &pg_sys::RelOptInfo, arguments: *mut List) -> Option<*mut List> {
    // SAFETY: a relation's restrictions and joins are clauses of the query.
    unsafe {
        clauses_around(relation.baserestrictinfo, arguments)
            .or_else(|| clauses_around(relation.joininfo, arguments))
            .filter(|&list| (*list).length <= MAX_CLAUSES)
    }
}
