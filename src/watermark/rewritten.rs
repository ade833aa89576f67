//! Tables that were rewritten after a snapshot was taken: it does not see the rows that were there
//! before.
//!
//! An `ALTER TABLE` that rewrites a table copies its rows as rows of its own transaction. A
//! snapshot from before that sees none of them. PostgreSQL calls this a caveat of MVCC. A reader in
//! ID order would go on behind rows that it has not seen, and never get them. `COPY (SELECT ...)`,
//! `EXECUTE` and cursors take their snapshot first and then wait for the lock that an `ALTER TABLE`
//! holds; and a transaction may have one snapshot for all its statements.
//!
//! So a snapshot to which a table may look empty has no watermark later than 1970: the reader gets
//! nothing, and asks again.
//!
//! # The argument
//! 1. *The statement has locked its tables* when it first asks for the watermark. The planner, or
//!    PostgreSQL before it executes a plan again, has locked all of them. While the lock is held no
//!    other transaction rewrites the table. So a table that was rewritten after the snapshot was so
//!    before the lock. [`hide_rows`] looks at all tables that the transaction has locked.
//! 2. *A rewritten table has another file.* Its row in `pg_class` names it, and that row is a new
//!    one, written by the transaction that rewrote the table. If the snapshot sees the present row,
//!    nothing has changed since. Otherwise the file that the snapshot's row names is compared with
//!    the present one. If the reader's own transaction has changed the row, by `GRANT` for one,
//!    both files are those without its own changes: a snapshot sees those as soon as they are made.
//!    If it has rewritten the table itself, it has the rows that were there then.
//! 3. *A session learns of a change before it reads the table.* PostgreSQL processes the messages
//!    about changed catalogs when it has taken a lock. It calls [`note_change`] for each message
//!    about `pg_class`, which notes the position of that moment. The transaction that made the
//!    change had ended. So a snapshot that covers the position of the last change sees all of them,
//!    and there is nothing to look for. Before the first call in a process it counts as a change:
//!    the process may import a snapshot that is older than it.
//!
//! # What does not hold
//! A watermark that an earlier statement has returned is a value. The statement that reads with it,
//! and does not call the function, may have the caveat; and so may a function within the statement
//! that locks a table of its own later. Such a reader locks the table first.

use super::lock_table;
use super::reader::Snapshot;
use super::transactions::next_transaction_unlocked;
use flakeid_core::watermark::Position;
use pgrx::pg_sys::{self, Oid};
use std::sync::atomic::{AtomicU64, Ordering};

/// The position at which this process has last learned of a change of `pg_class`; 0 before the
/// first call.
static CHANGED_AT: AtomicU64 = AtomicU64::new(0);

/// Lets PostgreSQL call [`note_change`], when a process loads the library.
pub fn register() {
    let relations = pg_sys::SysCacheIdentifier::RELOID as _;
    // SAFETY: PostgreSQL keeps the callback in this process, and in its children.
    unsafe {
        pg_sys::CacheRegisterSyscacheCallback(relations, Some(note_change), pg_sys::Datum::null());
    }
}

/// The number of a cache in PostgreSQL's callbacks.
#[cfg(not(feature = "pg19"))]
type CacheId = std::ffi::c_int;
#[cfg(feature = "pg19")]
type CacheId = pg_sys::SysCacheIdentifier::Type;

/// PostgreSQL calls this when it learns that `pg_class` has changed. It raises no error.
unsafe extern "C-unwind" fn note_change(_argument: pg_sys::Datum, _cache: CacheId, _hash: u32) {
    // Relaxed: the process has one thread.
    if CHANGED_AT.load(Ordering::Relaxed) != 0 {
        CHANGED_AT.store(next_transaction_unlocked(), Ordering::Relaxed);
    }
}

/// Returns whether a table that this transaction has locked may have rows that the snapshot does
/// not see, since the table was rewritten or created after the snapshot was taken.
pub fn hide_rows(snapshot: &Snapshot) -> bool {
    if CHANGED_AT.load(Ordering::Relaxed) == 0 {
        CHANGED_AT.store(next_transaction_unlocked(), Ordering::Relaxed);
    }
    let changed_at = Position(CHANGED_AT.load(Ordering::Relaxed));
    !snapshot.covers(changed_at)
        && lock_table::own_relations().into_iter().any(|table| is_rewritten(table, snapshot))
}

fn is_rewritten(table: Oid, snapshot: &Snapshot) -> bool {
    let Some(File { number, writer }) = File::present(table) else { return false };
    let present = match writer {
        Writer::Frozen => return false,
        Writer::Other(id) if snapshot.sees_row_of(Some(id)) => return false,
        Writer::Other(_) => number,
        Writer::Own => {
            // SAFETY: PostgreSQL's snapshot for catalogs is that of the present, and is copied.
            let catalogs =
                unsafe { pg_sys::GetNonHistoricCatalogSnapshot(pg_sys::RelationRelationId) };
            match file_seen_by(table, catalogs) {
                Some(number) => number,
                // This transaction has created the table.
                None => return false,
            }
        }
    };
    file_seen_by(table, snapshot.raw()) != Some(present)
}

/// The transaction that has written a row.
enum Writer {
    /// Every snapshot sees the row.
    Frozen,
    /// It is the present one.
    Own,
    /// The 32 bits of its number.
    Other(u32),
}

/// The file of a table, by its row in `pg_class`.
struct File {
    number: Oid,
    writer: Writer,
}

impl File {
    /// Returns the present file of a table; `None` for a relation that is no table, and has no
    /// rows.
    fn present(table: Oid) -> Option<Self> {
        let relations = pg_sys::SysCacheIdentifier::RELOID as _;
        // SAFETY: this runs in a transaction that has locked the relation. The row is released
        // after the last use.
        unsafe {
            let row = pg_sys::SearchSysCache1(relations, table.into());
            if row.is_null() {
                return None;
            }
            let file = Self { number: number_in(row), writer: Writer::of(row) };
            let kind = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_class>()).relkind as u8;
            pg_sys::ReleaseSysCache(row);
            [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_MATVIEW].contains(&kind).then_some(file)
        }
    }
}

impl Writer {
    /// # Safety
    /// `row` must be a row of `pg_class`.
    unsafe fn of(row: pg_sys::HeapTuple) -> Self {
        // SAFETY: the caller guarantees the row, which has its header.
        unsafe {
            let header = (*row).t_data;
            let xmin = (*header).t_choice.t_heap.t_xmin;
            let frozen = pg_sys::HEAP_XMIN_FROZEN as u16;
            match () {
                () if (*header).t_infomask & frozen == frozen => Self::Frozen,
                () if xmin < pg_sys::FirstNormalTransactionId => Self::Frozen,
                () if pg_sys::TransactionIdIsCurrentTransactionId(xmin) => Self::Own,
                () => Self::Other(xmin.into_inner()),
            }
        }
    }
}

/// # Safety
/// `row` must be a row of `pg_class`.
unsafe fn number_in(row: pg_sys::HeapTuple) -> Oid {
    // SAFETY: the caller guarantees the row.
    unsafe { (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_class>()).relfilenode }
}

/// Returns the file of a table by the row that a snapshot sees without the changes of this
/// transaction; `None` if it sees no row.
fn file_seen_by(table: Oid, snapshot: pg_sys::Snapshot) -> Option<Oid> {
    let mode = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: the scan, the catalog and the copy of the snapshot are released after the last use of
    // the row. If an error comes in between, the end of the transaction releases them.
    unsafe {
        // A snapshot of the present is copied, as PostgreSQL may take another one in its place. One
        // that is in use already is not.
        let copy = pg_sys::RegisterSnapshot(snapshot);
        let mut without_own = *copy;
        // It sees what commands before this one have done: none.
        without_own.curcid = pg_sys::FirstCommandId;
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &mut key,
            pg_sys::Anum_pg_class_oid as pg_sys::AttrNumber,
            pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber,
            pg_sys::F_OIDEQ.into(),
            table.into(),
        );
        let catalog = pg_sys::table_open(pg_sys::RelationRelationId, mode);
        let index = pg_sys::ClassOidIndexId.into();
        let scan =
            pg_sys::systable_beginscan(catalog, index, true, &raw mut without_own, 1, &mut key);
        let row = pg_sys::systable_getnext(scan);
        let file = (!row.is_null()).then(|| number_in(row));
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, mode);
        pg_sys::UnregisterSnapshot(copy);
        file
    }
}
