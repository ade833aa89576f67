//! PostgreSQL's lock table, as `pg_locks` shows it.
//!
//! Each call copies the whole table, and holds its locks for that time.

use pgrx::pg_sys::{self, LockInstanceData, Oid};

/// Returns a copy of all locks that are held or awaited.
pub fn copy() -> Vec<LockInstanceData> {
    // SAFETY: PostgreSQL copies the table into memory of the present context, and the array has
    // this length.
    unsafe {
        let data = pg_sys::GetLockStatusData();
        let count = usize::try_from((*data).nelements).unwrap_or(0);
        let locks = std::slice::from_raw_parts((*data).locks, count).to_vec();
        pg_sys::pfree((*data).locks.cast());
        pg_sys::pfree(data.cast());
        locks
    }
}

/// Returns the relations of this database that this process has locked, without PostgreSQL's own.
pub fn own_relations() -> Vec<Oid> {
    // SAFETY: reads plain variables of PostgreSQL's.
    let (pid, database) = unsafe { (pg_sys::MyProcPid, pg_sys::MyDatabaseId.to_u32()) };
    let is_relation = |tag: &pg_sys::LOCKTAG| {
        u32::from(tag.locktag_lockmethodid) == pg_sys::DEFAULT_LOCKMETHOD
            && u32::from(tag.locktag_type) == pg_sys::LockTagType::LOCKTAG_RELATION
            && tag.locktag_field1 == database
            && tag.locktag_field2 >= pg_sys::FirstNormalObjectId
    };
    let locks = copy();
    let own = locks.iter().filter(|lock| lock.pid == pid && lock.holdMask != 0);
    own.filter(|lock| is_relation(&lock.locktag))
        .map(|lock| Oid::from(lock.locktag.locktag_field2))
        .collect()
}
