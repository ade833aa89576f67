//! Reads and makes nodes, of which PostgreSQL's expressions and lists consist.

use pgrx::pg_sys::{self, Expr, List, Node, NodeTag};
use std::mem::size_of;

/// Returns whether a node has this tag; null has no tag.
///
/// # Safety
/// `node` is a node, or null.
pub unsafe fn is(node: *mut Node, tag: NodeTag) -> bool {
    // SAFETY: the node is not null, and begins with its tag.
    !node.is_null() && unsafe { (*node).type_ } == tag
}

/// Iterates over the nodes of a list.
///
/// # Safety
/// `list` is a list of nodes that outlives the iterator, or null.
pub unsafe fn nodes(list: *mut List) -> impl Iterator<Item = *mut Node> {
    // SAFETY: the caller guarantees that a list that is not null can be read.
    let length = if list.is_null() { 0 } else { unsafe { (*list).length as usize } };
    // SAFETY: a list has as many elements as its length says, and the caller guarantees that they
    // are nodes.
    (0..length).map(move |i| unsafe { (*(*list).elements.add(i)).ptr_value.cast() })
}

/// Allocates a node of zeros, which are `InvalidOid` and the empty list, with its tag.
///
/// # Safety
/// `tag` is the tag of `T`, and `T` is valid if all its bytes are 0.
pub unsafe fn new_node<T>(tag: NodeTag) -> *mut T {
    // SAFETY: the memory is as large as the node, which begins with an Expr.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>());
        (*node.cast::<Expr>()).type_ = tag;
        node.cast()
    }
}
