//! What PostgreSQL knows about where this server's data comes from: the cluster's number, and on a standby the
//! primary's time.

use crate::clock::unix_micros;
use crate::error::{Code, Report};
use crate::shmem::Shared;
use flakeid_core::clock::UnixNanos;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

/// A transaction's time may have been read on another processor than its last ID's: a tick of noise.
const NOISE: u64 = 4_000_000;

/// # Errors
/// The server is in recovery, so `function` gives nothing.
pub fn ensure_not_in_recovery(function: &'static str) -> Result<(), Report> {
    // SAFETY: a call without conditions.
    match unsafe { pg_sys::RecoveryInProgress() } {
        true => Err(Report::new(
            Code::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {function}() during recovery"),
        )),
        false => Ok(()),
    }
}

pub fn system_identifier() -> u64 {
    // SAFETY: a read of the control file's copy, which is there whenever the library is.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// When the server started, by its clock.
pub fn started() -> UnixNanos {
    // SAFETY: set by the postmaster before it has children.
    after(unsafe { pg_sys::PgStartTime })
}

/// The first nanosecond after a time of PostgreSQL's, which counts whole microseconds; 0 for none.
fn after(time: pg_sys::TimestampTz) -> UnixNanos {
    match time {
        0 | i64::MIN | i64::MAX => UnixNanos(0),
        time => {
            let micros = unix_micros(time).0.saturating_add(1);
            UnixNanos((micros.max(0) as u64).saturating_mul(1000))
        }
    }
}

/// The latest time of the primary's clock that recovery has come by since the server started, or ever
/// did while the worker looked; 0 where there was no recovery from an archive or a primary.
pub fn replayed(shared: &Shared) -> UnixNanos {
    let after = |time| match after(time) {
        UnixNanos(0) => UnixNanos(0),
        UnixNanos(time) => UnixNanos(time.saturating_add(NOISE)),
    };
    // SAFETY: reads under PostgreSQL's own spinlock what recovery has left in shared memory.
    let transaction = after(unsafe { pg_sys::GetLatestXTime() });
    // SAFETY: set in every process; an aligned number of eight bytes, which is read whole.
    let message = after(unsafe { (&raw const (*pg_sys::WalRcv).lastMsgSendTime).read_volatile() });
    let seen = shared.record.replayed.fetch_max(transaction.max(message).0, Ordering::Relaxed);
    UnixNanos(seen).max(transaction).max(message)
}
