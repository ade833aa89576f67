//! The server's transactions: the numbers that it has given, and which have ended. A number has [64
//! bits](flakeid_core::transactions).

use flakeid_core::transactions::{Transactions, full_transaction, has_ended_by_number};
use flakeid_core::watermark::Position;
use pgrx::pg_sys;

/// Returns the number that the next transaction gets.
pub fn next_transaction() -> u64 {
    // SAFETY: a call without preconditions.
    unsafe { pg_sys::ReadNextFullTransactionId() }.value
}

/// Returns PostgreSQL's counters of transactions, in shared memory.
fn counters() -> *const Counters {
    // SAFETY: reads a plain variable of PostgreSQL's, which is set in each process of the server.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let counters = unsafe { pg_sys::ShmemVariableCache };
    // SAFETY: reads a plain variable of PostgreSQL's, which is set in each process of the server.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let counters = unsafe { pg_sys::TransamVariables };
    counters
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
type Counters = pg_sys::VariableCacheData;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
type Counters = pg_sys::TransamVariablesData;

/// Returns the number that the next transaction gets, without a lock. It is greater than the number
/// of each transaction whose end this process has learned of.
pub fn next_transaction_unlocked() -> u64 {
    // SAFETY: the counters are in shared memory, and an aligned number of eight bytes is read as a
    // whole.
    unsafe { (&raw const (*counters()).nextXid.value).read_volatile() }
}

/// The transactions of this server, which is not in recovery.
pub struct ServerTransactions;

impl Transactions for ServerTransactions {
    fn has_ended(&self, transaction: u64) -> bool {
        has_ended_by_number(transaction, next_transaction()).unwrap_or_else(|| {
            let id = pg_sys::TransactionId::from(transaction as u32);
            // SAFETY: reads shared memory, and the commit log from its oldest transaction on.
            unsafe { !pg_sys::TransactionIdIsInProgress(id) }
        })
    }

    fn next(&self) -> Position {
        Position(next_transaction())
    }

    fn oldest_unseen(&self) -> u64 {
        // SAFETY: reads shared memory; without a table it is about all databases.
        let oldest = unsafe { pg_sys::GetOldestNonRemovableTransactionId(std::ptr::null_mut()) };
        full_transaction(oldest.into_inner(), next_transaction())
    }

    fn new_snapshots_cover(&self, position: Position) -> bool {
        // A snapshot's `xmax` is one more than the greatest number of a transaction that has ended.
        // SAFETY: the counters are in shared memory, and an aligned number of eight bytes is read
        // as a whole.
        let latest = unsafe { (&raw const (*counters()).latestCompletedXid.value).read_volatile() };
        position.0 <= latest
    }
}
