//! What the planner is told: [`estimate`], how many rows a comparison of IDs is true of; [`recheck`], the
//! same of a condition that follows a range of an index. Here is how both look at the planner's trees and
//! at a column's statistics.

mod estimate;
mod recheck;

use crate::types::number;
use pgrx::pg_sys::{self, Datum, List, Node, NodeTag, Oid, PlannerInfo};
use std::ffi::c_int;

/// How a value lies in its datum.
#[derive(Clone, Copy)]
struct Layout {
    bytes: usize,
    by_value: bool,
}

impl Layout {
    /// Of a type of IDs; nothing for one that can't be.
    fn of(id_type: Oid) -> Option<Self> {
        let (mut bytes, mut by_value) = (0, false);
        // SAFETY: reads the catalogue into these two.
        unsafe { pg_sys::get_typlenbyval(id_type, &mut bytes, &mut by_value) };
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| (8..=16).contains(&bytes))?;
        Some(Self { bytes, by_value })
    }

    /// # Safety
    /// A value of the type, and not NULL.
    unsafe fn number(self, datum: Datum) -> u128 {
        if self.by_value {
            return datum.value() as u128;
        }
        // SAFETY: the caller's.
        number(unsafe { std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), self.bytes) })
    }
}

/// What PostgreSQL knows of a column or an expression: `VariableStatData`, released at the end.
#[derive(Default)]
struct Statistics(pg_sys::VariableStatData);

impl Drop for Statistics {
    fn drop(&mut self) {
        if let (false, Some(free)) = (self.0.statsTuple.is_null(), self.0.freefunc) {
            // SAFETY: PostgreSQL's ReleaseVariableStats.
            unsafe { free(self.0.statsTuple) };
        }
    }
}

impl Statistics {
    /// What part of the rows is NULL.
    fn nulls(&self) -> f64 {
        if self.0.statsTuple.is_null() {
            return 0.0;
        }
        // SAFETY: a row of pg_statistic.
        unsafe {
            let row = pg_sys::GETSTRUCT(self.0.statsTuple).cast::<pg_sys::FormData_pg_statistic>();
            f64::from((*row).stanullfrac)
        }
    }

    /// What `read` makes of the histogram's bounds, where there is one.
    fn histogram<T>(&self, read: impl FnOnce(&[Datum]) -> T) -> Option<T> {
        if self.0.statsTuple.is_null() {
            return None;
        }
        let mut slot = pg_sys::AttStatsSlot::default();
        // SAFETY: a row of pg_statistic; the slot is freed when it has been read.
        unsafe {
            let found = pg_sys::get_attstatsslot(
                &mut slot,
                self.0.statsTuple,
                pg_sys::STATISTIC_KIND_HISTOGRAM as c_int,
                Oid::INVALID,
                pg_sys::ATTSTATSSLOT_VALUES as c_int,
            );
            if !found {
                return None;
            }
            let read = read(std::slice::from_raw_parts(slot.values, slot.nvalues as usize));
            pg_sys::free_attstatsslot(&mut slot);
            Some(read)
        }
    }
}

/// The value that the planner knows for an expression; nothing where it will be known later.
///
/// # Safety
/// An expression of this query.
unsafe fn constant(root: *mut PlannerInfo, expression: *mut Node) -> Option<*mut pg_sys::Const> {
    // SAFETY: the caller's.
    unsafe {
        let value = pg_sys::estimate_expression_value(root, expression);
        is(value, NodeTag::T_Const).then_some(value.cast())
    }
}

unsafe fn is(node: *mut Node, tag: NodeTag) -> bool {
    // SAFETY: a node begins with its tag.
    !node.is_null() && unsafe { (*node).type_ } == tag
}

unsafe fn nodes(list: *mut List) -> impl Iterator<Item = *mut Node> {
    // SAFETY: a list of nodes, or none.
    let length = if list.is_null() { 0 } else { unsafe { (*list).length as usize } };
    // SAFETY: as above.
    (0..length).map(move |i| unsafe { (*(*list).elements.add(i)).ptr_value.cast() })
}
