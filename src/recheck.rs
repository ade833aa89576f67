//! `flakeid_recheck(condition)`: the condition itself, for the planner nearly always true.
//!
//! A time that an ID's place in an index does not tell exactly is a range of the index and a condition
//! that each row of it is asked. The planner knows nothing of such a condition and would take it for
//! true of every third row. But the range has done the choosing already.

use crate::types::Ready;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn flakeid_recheck(condition: bool) -> bool {
    condition
}

/// The planner's question; a null pointer, which is not NULL, says that we know no better.
#[pg_extern(sql = false)]
fn flakeid_recheck_support(fcinfo: pg_sys::FunctionCallInfo) -> Ready {
    // SAFETY: a support function has one argument, a node, which begins with its tag; the tag says
    // which.
    unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<pg_sys::Node>();
        if (*node).type_ != pg_sys::NodeTag::T_SupportRequestSelectivity {
            return Ready::pointer(std::ptr::null_mut());
        }
        (*node.cast::<pg_sys::SupportRequestSelectivity>()).selectivity = 1.0;
        Ready::pointer(node.cast())
    }
}
