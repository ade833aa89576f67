//! The drift that most IDs of a column have, from PostgreSQL's statistics.
//!
//! The planner asks for a condition before it looks up the tables of the query. So this reads the catalog. A drift is in the
//! condition, which EXPLAIN prints. So the user must be allowed to read all rows of the column.

use super::id_type::SqlIdType;
use super::{is, nodes};
use flakeid_core::guid::Drift;
use pgrx::pg_sys::{self, AclResult, Datum, Node, NodeTag, Oid, PlannerInfo};

/// Returns the drift of the median ID of a column. Returns `None` for an expression that is no column, for one without
/// statistics, and if the user may not read the column.
///
/// # Safety
/// `root` is the planner's state or null, and `id` an expression of the same query.
pub unsafe fn usual_drift(
    root: *mut PlannerInfo,
    id: *mut Node,
    id_type: SqlIdType,
) -> Option<Drift> {
    // SAFETY: the tag decides as which struct a node is read. A column has the number of an entry of the range table.
    unsafe {
        if root.is_null() || !is(id, NodeTag::T_Var) {
            return None;
        }
        let column = id.cast::<pg_sys::Var>();
        if (*column).varlevelsup != 0 || (*column).varattno <= 0 {
            return None;
        }
        let table =
            nodes((*(*root).parse).rtable).nth(usize::try_from((*column).varno - 1).ok()?)?;
        let table = table.cast::<pg_sys::RangeTblEntry>();
        let is_visible = (*table).rtekind == pg_sys::RTEKind::RTE_RELATION
            && (*table).securityQuals.is_null()
            && may_read((*table).relid, (*column).varattno);
        if !is_visible {
            return None;
        }
        let first = median((*table).relid, (*column).varattno, (*table).inh, id_type)
            .or_else(|| median((*table).relid, (*column).varattno, false, id_type))?;
        Some(Drift::of_first_byte(first))
    }
}

/// Returns whether the current user may read a column of a table.
unsafe fn may_read(table: Oid, column: i16) -> bool {
    // From PostgreSQL 16 on a mode has 64 bits.
    #[allow(clippy::useless_conversion)]
    let mode = pg_sys::AclMode::from(pg_sys::ACL_SELECT);
    // SAFETY: these functions read the catalog.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::pg_class_aclcheck(table, user, mode) == AclResult::ACLCHECK_OK
            || pg_sys::pg_attribute_aclcheck(table, column, user, mode) == AclResult::ACLCHECK_OK
    }
}

/// Returns the first byte of the middle value of a column's histogram.
///
/// # Safety
/// The table exists.
unsafe fn median(table: Oid, column: i16, with_children: bool, id_type: SqlIdType) -> Option<u8> {
    // SAFETY: the row of pg_statistic is released after its last use, and so is the slot.
    unsafe {
        let statistics = pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::STATRELATTINH as _,
            Datum::from(table),
            Datum::from(column),
            Datum::from(with_children),
        );
        if statistics.is_null() {
            return None;
        }
        let mut slot = pg_sys::AttStatsSlot::default();
        let found = pg_sys::get_attstatsslot(
            &mut slot,
            statistics,
            pg_sys::STATISTIC_KIND_HISTOGRAM as i32,
            Oid::INVALID,
            pg_sys::ATTSTATSSLOT_VALUES as i32,
        );
        let mut first = None;
        if found && slot.nvalues > 0 && id_type.is_of(slot.valuetype) {
            first = Some(id_type.first_byte(*slot.values.add(slot.nvalues as usize / 2)));
        }
        if found {
            pg_sys::free_attstatsslot(&mut slot);
        }
        pg_sys::ReleaseSysCache(statistics);
        first
    }
}
