//! Lines in the server's log for what someone should look at. Each kind comes at most once in a while
//! from the whole server, and then says how many were left out.

use crate::clock::boot;
use crate::error::{Failure, span};
use crate::identity::Identity;
use crate::shmem::Shared;
use crate::systems::TABLE;
use flakeid_core::clock::UnixNanos;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The least time between two lines of one kind.
const PAUSE: Duration = Duration::from_secs(10);

/// A clock that has gained more than this on the time since boot has been set.
const AHEAD: Duration = Duration::from_millis(500);

/// A write is slow when it takes more than this part of the lead.
const SLOW_PART: u32 = 4;

/// In shared memory.
#[derive(Debug)]
pub struct Notes {
    /// By the systems' places in their table.
    used_up: [Note; TABLE.len()],
    stepped_back: [Note; TABLE.len()],
    behind: Note,
    ahead: Note,
    slow_write: Note,
    withheld: Note,
    unknown_message: Note,
}

/// One kind.
#[derive(Debug)]
struct Note {
    /// When the last line was written, in nanoseconds since boot.
    last: AtomicU64,
    left_out: AtomicU64,
}

impl Notes {
    pub fn new() -> Self {
        let note = || Note { last: AtomicU64::new(0), left_out: AtomicU64::new(0) };
        Self {
            used_up: std::array::from_fn(|_| note()),
            stepped_back: std::array::from_fn(|_| note()),
            behind: note(),
            ahead: note(),
            slow_write: note(),
            withheld: note(),
            unknown_message: note(),
        }
    }
}

impl Note {
    /// How many were left out since the last line; `None` where it is too early for another.
    fn due(&self) -> Option<u64> {
        let now = boot().as_nanos() as u64;
        let last = self.last.load(Ordering::Relaxed);
        let early = last != 0 && now.saturating_sub(last) < PAUSE.as_nanos() as u64;
        let mine = !early
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !mine {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed))
    }

    fn write(&self, message: impl FnOnce() -> String, detail: &str) {
        if let Some(left_out) = self.due() {
            let others = match left_out {
                0 => String::new(),
                n => format!(
                    " There is one such line in {} s at most; left out since the last: {n}.",
                    PAUSE.as_secs()
                ),
            };
            log(message(), format!("{detail}{others}"));
        }
    }
}

/// Writes a line that comes whenever it is asked for. It goes to the server's log alone, also where a session has set
/// `client_min_messages` to `log`: it may have what the session's user is not shown.
pub fn log(message: String, detail: String) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = ErrorReport::new(code, message, "flakeid");
    if !detail.is_empty() {
        report = report.set_detail(detail);
    }
    report.report(PgLogLevel::LOG_SERVER_ONLY);
}

/// No partition has any sequence left for this tick.
pub fn used_up(shared: &Shared, system: usize, partitions: usize) {
    let name = TABLE[system].name;
    let note = &shared.notes.used_up[system];
    match TABLE[system].identity {
        Identity::GeneratorIds { .. } => note.write(
            || format!("{name} IDs of this tick are used up, generator IDs in use: {partitions}"),
            "A session waits for the next tick. More generator IDs in \"flakeid.generator_ids\" hold \
             more.",
        ),
        Identity::Node(_) => note.write(
            || format!("{name} IDs of this tick are used up"),
            "A session waits for the next tick.",
        ),
    }
}

/// The clock is behind a system's last ID.
pub fn stepped_back(shared: &Shared, system: usize, by: Duration, turns: bool) {
    let name = TABLE[system].name;
    let detail = match turns {
        true => "IDs go on in the other of its two timelines where that is free, else they wait.",
        false => "IDs go on with what their last tick has left, and then wait for the clock.",
    };
    let message =
        || format!("the clock stepped back: it is {} behind the last {name} ID", span(by));
    shared.notes.stepped_back[system].write(message, detail);
}

/// The clock is further behind the horizon that this life begins at than a crash alone explains.
pub fn clock_behind(shared: &Shared, by: Duration) {
    shared.notes.behind.write(
        || format!("the clock is {} behind the horizon in flakeid's state", span(by)),
        "sno IDs go on in the other of their two timelines where that is free; all others wait.",
    );
    // Every system would say the same again.
    for note in &shared.notes.stepped_back {
        let _ = note.due();
    }
}

/// The clock has gained on the time since boot since the horizon was last written. It is looked at
/// when it is written again.
pub fn clock_ahead(shared: &Shared, now: UnixNanos, written: &AtomicU64, since_boot: &AtomicU64) {
    let (written, since_boot) =
        (written.load(Ordering::Relaxed), since_boot.load(Ordering::Relaxed));
    let passed = boot().saturating_sub(Duration::from_nanos(since_boot));
    let shown = Duration::from_nanos(now.0.saturating_sub(written));
    let gained = shown.saturating_sub(passed);
    if written != 0 && gained > AHEAD {
        shared.notes.ahead.write(
            || format!("the clock stepped forward by {}", span(gained)),
            "IDs go with it. If it is wrong and is set back, those made since then lie ahead of it.",
        );
    }
}

/// Writing the horizon took long, for a lead of `lead`.
pub fn slow_write(shared: &Shared, took: Duration, lead: Duration) {
    if took > lead / SLOW_PART {
        shared.notes.slow_write.write(
            || format!("writing flakeid's horizon took {}", span(took)),
            "Sessions that ask for IDs wait for it, once in \"flakeid.horizon_lead\".",
        );
    }
}

/// The state cannot be opened, which every session that asks for an ID will be told.
pub fn no_ids(failure: Failure) {
    let (message, detail) = failure.line();
    log(format!("flakeid makes no IDs: {message}"), detail);
}

/// Writes what an error kept from a session's user.
pub fn withheld(message: &str, detail: &str) {
    let message = || format!("flakeid makes no IDs: {message}");
    match crate::shmem::shared() {
        Ok(shared) => shared.notes.withheld.write(message, detail),
        Err(_) => log(message(), detail.into()),
    }
}

/// The horizon stays where it was at the end.
pub fn not_exact(failure: Failure) {
    let (message, detail) = failure.line();
    log(
        format!("flakeid could not write its last horizon: {message}"),
        format!("The server may have to wait for its first ID when it starts again. {detail}"),
    );
}

/// The primary's horizon that was recovered from the WAL is not on disk.
pub fn not_kept(failure: Failure) {
    let (message, detail) = failure.line();
    log(
        format!("flakeid could not write the horizon that it recovered from the WAL: {message}"),
        format!(
            "The server tries again at the next checkpoint in the WAL. If it restarts before that succeeds, \
             its clock must not be behind the last ID of the server that made the WAL. {detail}"
        ),
    );
}

/// A record of the WAL is flakeid's, and is not one that any version writes.
pub fn unknown_message(shared: &Shared, length: usize) {
    shared.notes.unknown_message.write(
        || format!("flakeid cannot read a horizon in the WAL, a message of {length} bytes"),
        "The server goes on without it. Its clock must not be behind the last ID of the server that made the WAL.",
    );
}

/// A superuser has vouched for the clock.
pub fn accepted() {
    // SAFETY: reads the current user's number, and its name from the catalogue.
    let user = unsafe {
        let name = pg_sys::GetUserNameFromId(pg_sys::GetUserId(), false);
        std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned()
    };
    log(
        format!("the clock was accepted by \"{user}\""),
        "flakeid makes IDs again, after what its state and the clock say.".into(),
    );
}
