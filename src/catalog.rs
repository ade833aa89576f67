//! Looks into the catalog of this session's database: for the version of the extension, and for
//! rights.

use pgrx::pg_sys::{AclResult, Oid};
use pgrx::{FromDatum, pg_sys};

/// The state of the catalog that a lookup sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catalog {
    /// The present state, with the changes of this transaction.
    Now,
    /// The state without the changes of this transaction. An update that leads through several
    /// versions is one transaction.
    WithoutOwnChanges,
}

/// Returns the version of the extension's SQL in this database; `None` if it has none, or if this
/// process has no database or no transaction.
pub fn sql_version(catalog: Catalog) -> Option<String> {
    // SAFETY: these are plain variables of PostgreSQL's, and a call without preconditions.
    let can_read =
        unsafe { pg_sys::IsTransactionState() && pg_sys::MyDatabaseId != pg_sys::InvalidOid };
    if !can_read {
        return None;
    }
    // SAFETY: the process is in a transaction. Each part is released in the order that PostgreSQL
    // asks for, and an error releases them. The registered snapshot is a copy of its own, whose
    // command number may be changed. The tuple lives until the scan ends, and the text is copied
    // before.
    unsafe {
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &raw mut key,
            pg_sys::Anum_pg_extension_extname as pg_sys::AttrNumber,
            pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber,
            pg_sys::Oid::from(pg_sys::F_NAMEEQ),
            pg_sys::Datum::from(c"flakeid".as_ptr()),
        );
        let mode = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let relation = pg_sys::table_open(pg_sys::ExtensionRelationId, mode);
        let snapshot = match catalog {
            Catalog::Now => std::ptr::null_mut(),
            Catalog::WithoutOwnChanges => {
                let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
                (*snapshot).curcid = 0;
                snapshot
            }
        };
        let index = pg_sys::Oid::from(pg_sys::ExtensionNameIndexId);
        let scan = pg_sys::systable_beginscan(relation, index, true, snapshot, 1, &raw mut key);
        let tuple = pg_sys::systable_getnext(scan);
        let version = (!tuple.is_null()).then(|| {
            let mut is_null = false;
            let attribute = pg_sys::Anum_pg_extension_extversion as i32;
            let datum = pg_sys::heap_getattr(tuple, attribute, (*relation).rd_att, &mut is_null);
            String::from_datum(datum, is_null)
        });
        pg_sys::systable_endscan(scan);
        if !snapshot.is_null() {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        pg_sys::table_close(relation, mode);
        version.flatten()
    }
}

/// Returns whether the current user may execute a function.
pub fn may_execute(function: Oid) -> bool {
    // From PostgreSQL 16 on a mode has 64 bits.
    #[allow(clippy::useless_conversion)]
    let mode = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
    // SAFETY: these functions read the catalog, and raise an error if there is no such function.
    unsafe {
        let user = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_proc_aclcheck(function, user, mode);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, user, mode);
        result == AclResult::ACLCHECK_OK
    }
}
