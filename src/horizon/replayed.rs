//! PostgreSQL's knowledge about the origin of this server's data: the system identifier of the
//! cluster, and on a standby the primary's time.

use crate::clock::unix_micros;
use crate::error::{Code, Report};
use crate::shmem::Shared;
use flakeid_core::clock::UnixNanos;
use pgrx::pg_sys;

/// A transaction's time may have been read on another processor than that of its last ID: a tick of
/// noise.
const CLOCK_SKEW: u64 = 4_000_000;

/// Ensures that the server can generate IDs.
///
/// # Errors
/// The server is in recovery, and `function` cannot run.
pub fn ensure_not_in_recovery(function: &'static str) -> Result<(), Report> {
    // SAFETY: a call without preconditions.
    match unsafe { pg_sys::RecoveryInProgress() } {
        true => Err(Report::new(
            Code::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {function}() during recovery"),
        )),
        false => Ok(()),
    }
}

/// Returns PostgreSQL's identifier of the cluster.
pub fn system_identifier() -> u64 {
    // SAFETY: reads the copy of the control file, which exists whenever the library is loaded.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// Returns the time at which the server started, by its clock.
pub fn started() -> UnixNanos {
    // SAFETY: the postmaster sets this variable before it has children.
    after(unsafe { pg_sys::PgStartTime })
}

/// Returns the first nanosecond after a time of PostgreSQL's, which counts whole microseconds; 0
/// for no time.
fn after(time: pg_sys::TimestampTz) -> UnixNanos {
    match time {
        0 | i64::MIN | i64::MAX => UnixNanos(0),
        time => {
            let micros = unix_micros(time).0.saturating_add(1);
            UnixNanos((micros.max(0) as u64).saturating_mul(1000))
        }
    }
}

/// Returns the time after a time of the primary's clock, and after the IDs that it generated until
/// then; 0 for no time.
fn after_ids(time: pg_sys::TimestampTz) -> UnixNanos {
    match after(time) {
        UnixNanos(0) => UnixNanos(0),
        UnixNanos(time) => UnixNanos(time.saturating_add(CLOCK_SKEW)),
    }
}

/// Returns the time of the last transaction that recovery has replayed since the server started; 0
/// for no transaction.
pub fn last_transaction() -> UnixNanos {
    // SAFETY: reads under PostgreSQL's own spinlock what recovery has left in shared memory.
    after_ids(unsafe { pg_sys::GetLatestXTime() })
}

/// Returns the latest time of the primary's clock that recovery has met since the server started,
/// or while the worker ran. It is 0 if there was no recovery from an archive or a primary.
pub fn replayed(shared: &Shared) -> UnixNanos {
    let transaction = last_transaction();
    // SAFETY: the pointer is set in every process; an aligned number of eight bytes is read as a
    // whole.
    let message =
        after_ids(unsafe { (&raw const (*pg_sys::WalRcv).lastMsgSendTime).read_volatile() });
    shared.recovered.raise_primary_time(transaction.max(message))
}
