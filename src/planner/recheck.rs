//! `flakeid_recheck(condition)`: the condition itself, of which the planner is told that it is true of
//! nearly all rows.
//!
//! A time that an ID's place in an index does not tell exactly is a range of the index and a condition
//! that each row of it is asked. The planner knows nothing of such a condition and would take it for
//! true of every third row. But the range has done the choosing already.
//!
//! Only of a short time the range holds much more: a guid's index is exact to some minutes, and what part
//! of those is asked for is reckoned from the condition, `guid_timestamp(id) <@ times`, and the drift that
//! the column's IDs have.

use super::{Layout, Statistics, constant, is, nodes};
use crate::types::{Ready, ends};
use flakeid_core::guid::{Drift, LEN};
use pgrx::datum::Range;
use pgrx::pg_sys::{self, FunctionCallInfo, Node, NodeTag, SupportRequestSelectivity};
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn flakeid_recheck(condition: bool) -> bool {
    condition
}

/// The planner's question; a null pointer, which is not NULL, says that we know no better.
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

/// What part of a range of guids is of the times in the condition; nothing where it is of another form.
///
/// # Safety
/// The planner's question about a call of [`flakeid_recheck`].
unsafe fn share(request: *const SupportRequestSelectivity) -> Option<f64> {
    // SAFETY: nodes of the query's expressions, each looked at as what its tag says.
    unsafe {
        let root = (*request).root;
        let condition =
            nodes((*request).args).next().filter(|&node| is(node, NodeTag::T_OpExpr))?;
        let sides: Vec<_> = nodes((*condition.cast::<pg_sys::OpExpr>()).args).collect();
        let &[time, times] = sides.as_slice() else { return None };
        if pg_sys::exprType(times) != pg_sys::TSTZRANGEOID || !is(time, NodeTag::T_FuncExpr) {
            return None;
        }
        let id = nodes((*time.cast::<pg_sys::FuncExpr>()).args).next()?;
        Layout::of(pg_sys::exprType(id)).filter(|layout| layout.bytes == LEN)?;
        let times = constant(root, times).filter(|&times| !(*times).constisnull)?;
        let times = Range::<TimestampWithTimeZone>::from_datum((*times).constvalue, false)?;
        let (from, to) = ends(times);

        let mut statistics = Statistics::default();
        pg_sys::examine_variable(root, id, (*request).varRelid, &mut statistics.0);
        // Its values are sorted: in the middle is what most of them have.
        let drift = statistics.histogram(|bounds| {
            let first_byte = *bounds[bounds.len() / 2].cast_mut_ptr::<u8>();
            Drift::of_first_byte(first_byte)
        });
        Some(drift.unwrap_or(Drift::DEFAULT).share(from, to))
    }
}
