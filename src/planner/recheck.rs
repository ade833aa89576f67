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
use crate::types::{Ready, ends, unix_micros};
use flakeid_core::clock::UnixMicros;
use flakeid_core::guid::{Drift, LEN};
use pgrx::datum::Range;
use pgrx::pg_sys::{self, FunctionCallInfo, Node, NodeTag, PlannerInfo, SupportRequestSelectivity};
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
        let condition = nodes((*request).args).next()?;
        // From PostgreSQL 17 on a range is written out as two comparisons.
        let both = is(condition, NodeTag::T_BoolExpr)
            && (*condition.cast::<pg_sys::BoolExpr>()).boolop == pg_sys::BoolExprType::AND_EXPR;
        let conditions = match both {
            true => nodes((*condition.cast::<pg_sys::BoolExpr>()).args).collect(),
            false => vec![condition],
        };
        let (mut from, mut to, mut id) = (i64::MIN, i64::MAX, None);
        for condition in conditions {
            let asked = Asked::of(root, condition)?;
            (from, to) = (from.max(asked.from.0), to.min(asked.to.0));
            id = Some(asked.id);
        }

        let mut statistics = Statistics::default();
        pg_sys::examine_variable(root, id?, (*request).varRelid, &mut statistics.0);
        // Its values are sorted: in the middle is what most of them have. Who may not read the column learns
        // nothing of them.
        let drift = || {
            statistics.histogram(|bounds| {
                let first_byte = *bounds[bounds.len() / 2].cast_mut_ptr::<u8>();
                Drift::of_first_byte(first_byte)
            })
        };
        let drift = if statistics.0.acl_ok { drift() } else { None };
        Some(drift.unwrap_or(Drift::DEFAULT).share(UnixMicros(from), UnixMicros(to)))
    }
}

/// What a condition asks of the time of a guid.
struct Asked {
    id: *mut Node,
    from: UnixMicros,
    to: UnixMicros,
}

impl Asked {
    /// # Safety
    /// An expression of the query.
    unsafe fn of(root: *mut PlannerInfo, condition: *mut Node) -> Option<Self> {
        // SAFETY: as above.
        unsafe {
            if !is(condition, NodeTag::T_OpExpr) {
                return None;
            }
            let condition = condition.cast::<pg_sys::OpExpr>();
            let sides: Vec<_> = nodes((*condition).args).collect();
            let &[time, than] = sides.as_slice() else { return None };
            if !is(time, NodeTag::T_FuncExpr) {
                return None;
            }
            let id = nodes((*time.cast::<pg_sys::FuncExpr>()).args).next()?;
            Layout::of(pg_sys::exprType(id)).filter(|layout| layout.bytes == LEN)?;
            let times = pg_sys::exprType(than);
            let value = constant(root, than).filter(|&value| !(*value).constisnull)?;
            let value = (*value).constvalue;
            if times == pg_sys::TSTZRANGEOID {
                let (from, to) = ends(Range::<TimestampWithTimeZone>::from_datum(value, false)?);
                return Some(Self { id, from, to });
            }
            if times != pg_sys::TIMESTAMPTZOID {
                return None;
            }
            let time = unix_micros(value.value() as i64);
            let (first, last) = (UnixMicros(i64::MIN), UnixMicros(i64::MAX));
            // To the microsecond it doesn't matter here. PostgreSQL has not looked up yet which function
            // an operator is that it put there itself.
            let (from, to) = match u32::from(pg_sys::get_opcode((*condition).opno)) {
                pg_sys::F_TIMESTAMPTZ_LT | pg_sys::F_TIMESTAMPTZ_LE => (first, time),
                pg_sys::F_TIMESTAMPTZ_GE | pg_sys::F_TIMESTAMPTZ_GT => (time, last),
                pg_sys::F_TIMESTAMPTZ_EQ => (time, time),
                _ => return None,
            };
            Some(Self { id, from, to })
        }
    }
}
