//! The bound lock of a prepared transaction: a lock whose name is the transaction's ID and bound.
//!
//! PostgreSQL stores the locks of a prepared transaction with it: in the record of the WAL that
//! prepares it, and in the file into which a checkpoint moves it. It takes them again for the
//! transaction at the end of each recovery, and at each start, and releases them when the
//! transaction has ended. So a bound lock is wherever its transaction is: after a crash, on a
//! standby, in a backup, in a life of the server without this library. It needs no write of its
//! own, and no file that could be older than the transaction.
//!
//! The lock is of the type `userlock`, which PostgreSQL has for modules and does not use itself.
//! `pg_locks` shows it. No SQL function takes such a lock, so no user can forge one. No process
//! waits for it: its mode does not exclude itself, and the lock of another transaction has another
//! name.

use super::lock_table;
use flakeid_core::clock::UnixNanos;
use pgrx::pg_sys;

/// The last field of the lock's name, which tells it from locks of other modules. Another layout of
/// the name needs another number. A transaction whose lock has a number that is not known here
/// counts as one without a bound lock.
const KIND: u16 = 0xF1A8;

/// The mode of the lock.
const MODE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;

/// A bound lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundLock {
    /// The lower 32 bits of the transaction's number.
    pub transaction_id: u32,
    pub bound: UnixNanos,
}

impl BoundLock {
    fn tag(self) -> pg_sys::LOCKTAG {
        let UnixNanos(bound) = self.bound;
        pg_sys::LOCKTAG {
            locktag_field1: self.transaction_id,
            locktag_field2: (bound >> 32) as u32,
            locktag_field3: bound as u32,
            locktag_field4: KIND,
            locktag_type: pg_sys::LockTagType::LOCKTAG_USERLOCK as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        }
    }

    /// Returns the bound lock with this name; `None` for the name of another lock.
    fn of(tag: &pg_sys::LOCKTAG) -> Option<Self> {
        let bound = u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3);
        let lock = Self { transaction_id: tag.locktag_field1, bound: UnixNanos(bound) };
        let ours = lock.tag();
        let is_ours = tag.locktag_field4 == ours.locktag_field4
            && tag.locktag_type == ours.locktag_type
            && tag.locktag_lockmethodid == ours.locktag_lockmethodid;
        is_ours.then_some(lock)
    }

    /// Takes the lock for the present transaction, which is prepared next. If the lock table is
    /// full, PostgreSQL raises an error.
    pub fn take(self) {
        // SAFETY: the caller is within a transaction, whose resource owner releases the lock if it
        // is not prepared.
        unsafe { pg_sys::LockAcquire(&self.tag(), MODE, false, false) };
    }
}

/// Returns the bound locks of all transactions that are prepared, or being prepared.
pub fn all() -> Vec<BoundLock> {
    lock_table::copy().iter().filter_map(|lock| BoundLock::of(&lock.locktag)).collect()
}
