//! Sessions that wait until the watermark has passed a time: `CALL flakeid_wait`.
//!
//! [`flakeid_core::waiters`] has the protocol: one of the waiting sessions leads, computes the
//! watermark, and wakes the others. So many sessions that wait cost as much as one. Writers do
//! nothing for them.
//!
//! # What a session holds while it waits
//! Nothing that another session or VACUUM could wait for. A procedure that is called outside of a
//! transaction block may give back the snapshot of its statement, as COMMIT in a procedure does
//! ([`release_snapshots`]). The session keeps its virtual transaction, which only a lock on that
//! transaction could notice.
//!
//! # Why the watermark has passed the time afterwards, too
//! The leader's watermark holds for every snapshot that is taken after its scan. The next statement
//! of the session takes its snapshot after the wait. The function `flakeid_watermark` gives whole
//! milliseconds, and so does the leader compare.
//!
//! # When the leader looks
//! The watermark follows the clock, unless it is ahead of it already: the clock may have stepped
//! back. So the leader looks first, sleeps until the clock has passed the time, and looks every
//! [`POLL_INTERVAL`] after that. It looks at the clock at least once in [`LONGEST_SLEEP`], since a
//! clock can be set. On a standby the clock of the primary counts, so the leader looks as often
//! [`BEFORE_DUE`].

use super::{reader, replayed, session};
use crate::clock::{Stopwatch, now};
use crate::error::{Code, Report, moment};
use crate::shmem::{self, Shared, WatermarkSegment, shared};
use crate::{process, wait};
use flakeid_core::clock::{UnixMicros, UnixNanos};
use flakeid_core::waiters::Role;
use flakeid_core::watermark::LONGEST_TICK;
use pgrx::pg_sys;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval at which the leader computes the watermark while something holds it back.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The longest time for which a waiting session sleeps.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The time after which a leader that has not looked is replaced. It is some times as long as a
/// leader sleeps.
const LONGEST_BEAT: Duration = Duration::from_secs(3);

/// The time by which the leader on a standby begins to look early: the primary's clock may be
/// ahead.
const BEFORE_DUE: Duration = Duration::from_secs(10);

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Whether this process waits, and must end that.
static WAITS: AtomicBool = AtomicBool::new(false);

/// Returns when the watermark has passed a time. `is_atomic` says whether the call is in a
/// transaction block or in a function. Without a timeout it waits as long as it takes.
///
/// # Errors
/// The watermark has not passed the time when the timeout is over; the session cannot wait without
/// a snapshot; its own transaction holds the watermark back; or an error of [`present`].
pub fn wait(until: UnixMicros, timeout: Option<Duration>, is_atomic: bool) -> Result<(), Report> {
    release_snapshots(is_atomic)?;
    let (shared, memory) = (shared()?, shmem::watermark()?);
    let nanos = UnixNanos(u64::try_from(until.0).unwrap_or(0).saturating_mul(1000));
    let (waiters, waits, own) = (&memory.waiters, memory.waits(), process::number() as usize);
    let watch = Stopwatch::start();
    let mut leader = None;
    // The leader's beat, and when this session first found it.
    let mut beat = (0, Duration::ZERO);
    register();
    WAITS.store(true, Ordering::Relaxed);
    waiters.begin(waits, own, nanos);
    let outcome = loop {
        if waiters.is_over(waits, own) {
            break Ok(());
        }
        let left = timeout.map(|timeout| timeout.saturating_sub(watch.elapsed()));
        let sleep = match waiters.lead(own) {
            Role::Leader => {
                waiters.beat();
                leader = None;
                let watermark = present_if_due(shared, memory)?;
                if let Some(watermark) = watermark {
                    let wake = |number| {
                        if number != own {
                            process::wake(number)
                        }
                    };
                    waiters.end_passed(waits, watermark, wake);
                    if waiters.is_over(waits, own) {
                        break Ok(());
                    }
                }
                until_due(memory)
            }
            Role::Follower(other) => {
                let now = (waiters.beats(), watch.elapsed());
                if leader != Some(other) {
                    process::wake(other);
                    leader = Some(other);
                    beat = now;
                } else if beat.0 != now.0 {
                    beat = now;
                } else if now.1 - beat.1 >= LONGEST_BEAT && waiters.take_over(own, other) {
                    continue;
                }
                LONGEST_SLEEP
            }
        };
        match left {
            Some(Duration::ZERO) => break ensure_passed(until, nanos, shared, memory),
            left => wait::for_watermark(left.map_or(sleep, |left| left.min(sleep))),
        }
    };
    end();
    outcome
}

/// Registers the callback that ends the wait of a session which is canceled or terminated. The
/// process keeps it.
fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function has the type of a callback.
        unsafe { pg_sys::RegisterXactCallback(Some(at_event), std::ptr::null_mut()) };
    }
}

/// PostgreSQL calls this at each step of the end of a transaction. It raises no error.
unsafe extern "C-unwind" fn at_event(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    if event == pg_sys::XactEvent::XACT_EVENT_ABORT {
        end();
    }
}

/// Ends the wait of this process, if it waits.
fn end() {
    if !WAITS.swap(false, Ordering::Relaxed) {
        return;
    }
    let Some(memory) = shmem::attached_watermark() else { return };
    if let Some(next) = memory.waiters.end(memory.waits(), process::number() as usize) {
        process::wake(next);
    }
}

/// Gives back the snapshots of the statement that calls, and ensures that the session has no other
/// one.
///
/// # Errors
/// The session needs a snapshot, or could not wait for the watermark with this transaction.
fn release_snapshots(is_atomic: bool) -> Result<(), Report> {
    // SAFETY: a call without preconditions.
    if is_atomic || unsafe { pg_sys::GetCurrentTransactionNestLevel() } > 1 {
        return Err(Report::new(
            Code::ERRCODE_ACTIVE_SQL_TRANSACTION,
            "flakeid_wait cannot run inside a transaction block, a function, or a block with \
             EXCEPTION",
        )
        .hint(
            "CALL it in a statement of its own, or in a PL/pgSQL procedure or DO block that could \
             COMMIT there.",
        ));
    }
    // SAFETY: reads a variable of this process.
    let has_own_snapshot = unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32;
    if has_own_snapshot {
        return Err(Report::wrong_state("flakeid_wait needs the isolation level READ COMMITTED")
            .detail(
                "With another level a transaction keeps its snapshot, and VACUUM would wait \
                     for it.",
            ));
    }
    if session::bound() != 0 {
        return Err(Report::wrong_state(
            "flakeid_wait cannot run after the transaction has generated IDs",
        )
        .detail("The transaction holds the watermark back until it ends.")
        .hint("COMMIT first."));
    }
    // SAFETY: the caller is a procedure that may end the transaction, so no code above it relies on
    // these snapshots. COMMIT in a procedure gives them back in the same way.
    let has_snapshot = unsafe {
        pg_sys::ForgetPortalSnapshots();
        pg_sys::InvalidateCatalogSnapshot();
        pg_sys::HaveRegisteredOrActiveSnapshot()
    };
    match has_snapshot {
        true => {
            Err(Report::wrong_state("flakeid_wait cannot run while a query or a cursor is open")
                .hint(
                    "Close cursors, and do not CALL it in a loop over the rows of a query. A \
                       procedure with OUT parameters must COMMIT first.",
                ))
        }
        false => Ok(()),
    }
}

/// Returns the watermark of the statements that begin from now on, in whole milliseconds.
///
/// # Errors
/// The errors of the horizon, without which there are no IDs; the file cannot be written.
fn present(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
) -> Result<UnixNanos, Report> {
    // SAFETY: a call without preconditions.
    let watermark = match unsafe { pg_sys::RecoveryInProgress() } {
        true => replayed::present(memory)?,
        false => reader::present(shared, memory)?,
    };
    Ok(UnixNanos(watermark.0 / NANOS_PER_MILLI * NANOS_PER_MILLI))
}

/// Returns the watermark; `None` if it cannot have passed a time for which a session waits.
///
/// # Errors
/// The errors of [`present`].
fn present_if_due(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
) -> Result<Option<UnixNanos>, Report> {
    // The watermark can be ahead of the clock, and is never above the floor. A standby only reads
    // what it has replayed. SAFETY: a call without preconditions.
    let is_standby = unsafe { pg_sys::RecoveryInProgress() };
    let floor = memory.floor.get();
    let is_due = |until| is_standby || until < floor || due(until) <= now();
    match memory.waiters.earliest(memory.waits()).is_some_and(is_due) {
        true => present(shared, memory).map(Some),
        false => Ok(None),
    }
}

/// Returns how long the leader sleeps.
fn until_due(memory: &WatermarkSegment) -> Duration {
    let Some(until) = memory.waiters.earliest(memory.waits()) else { return LONGEST_SLEEP };
    match due(until).0.saturating_sub(now().0) {
        0 => POLL_INTERVAL,
        left => Duration::from_nanos(left).min(LONGEST_SLEEP),
    }
}

/// Returns the time of the clock at which the watermark is past a time, if nothing holds it back.
/// On a standby it is earlier.
fn due(until: UnixNanos) -> UnixNanos {
    // SAFETY: a call without preconditions.
    if unsafe { pg_sys::RecoveryInProgress() } {
        return UnixNanos(until.0.saturating_sub(BEFORE_DUE.as_nanos() as u64));
    }
    let next_milli = (until.0 / NANOS_PER_MILLI + 1).saturating_mul(NANOS_PER_MILLI);
    UnixNanos(next_milli.saturating_add(LONGEST_TICK.as_nanos() as u64))
}

/// Ensures that the watermark has passed a time, when the timeout is over.
///
/// # Errors
/// It has not.
fn ensure_passed(
    until: UnixMicros,
    nanos: UnixNanos,
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
) -> Result<(), Report> {
    // The leader may be about to find it.
    let present = present(shared, memory);
    if present.as_ref().is_ok_and(|&watermark| nanos < watermark) {
        return Ok(());
    }
    let report = Report::new(
        Code::ERRCODE_LOCK_NOT_AVAILABLE,
        format!("the watermark has not passed {} within the timeout", moment(until)),
    );
    Err(match present {
        Ok(watermark) => report
            .detail(format!(
                "The watermark is {}.",
                moment(UnixMicros((watermark.0 / 1000) as i64))
            ))
            .hint(
                "On the primary pg_stat_flakeid_watermark shows the transactions that hold it \
                   back.",
            ),
        Err(_) => report,
    })
}
