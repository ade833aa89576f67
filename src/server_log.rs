//! Lines in the server's log for what someone should look at. Each kind comes at most once in a while
//! from the whole server, and then says how many were left out.

use crate::clock::boot;
use crate::error::{Report, log, span};
use crate::id_types::ID_TYPES;
use flakeid_core::clock::UnixNanos;
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
pub struct RateLimits {
    /// By the ID types' places in their table.
    used_up: [RateLimit; ID_TYPES.len()],
    stepped_back: [RateLimit; ID_TYPES.len()],
    behind: RateLimit,
    ahead: RateLimit,
    slow_write: RateLimit,
    withheld: RateLimit,
    unknown_message: RateLimit,
}

/// One kind.
#[derive(Debug)]
struct RateLimit {
    /// When the last line was written, in nanoseconds since boot.
    last: AtomicU64,
    left_out: AtomicU64,
}

impl RateLimits {
    pub fn new() -> Self {
        let note = || RateLimit { last: AtomicU64::new(0), left_out: AtomicU64::new(0) };
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

impl RateLimit {
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
                n => format!(" Logged at most once per {} s; {n} suppressed.", PAUSE.as_secs()),
            };
            log(message(), format!("{detail}{others}"));
        }
    }
}

/// No partition has any sequence left for this tick.
pub fn used_up(limits: &RateLimits, id_type: usize, partitions: usize) {
    let name = ID_TYPES[id_type].name;
    let note = &limits.used_up[id_type];
    match ID_TYPES[id_type].is_numbered {
        true => note.write(
            || format!("{name} IDs of this tick are exhausted, generator IDs in use: {partitions}"),
            "A session waits for the next tick. More generator IDs in \"flakeid.generator_ids\" allow more IDs \
             per tick.",
        ),
        false => note.write(
            || format!("{name} IDs of this tick are exhausted"),
            "A session waits for the next tick.",
        ),
    }
}

/// The clock is behind a system's last ID.
pub fn stepped_back(limits: &RateLimits, id_type: usize, by: Duration, turns: bool) {
    let name = ID_TYPES[id_type].name;
    let detail = match turns {
        true => "IDs continue in the other timeline if it is free; otherwise sessions wait.",
        false => "Sessions use the rest of the last tick, and then wait for the clock.",
    };
    let message =
        || format!("the clock stepped back: it is {} behind the last {name} ID", span(by));
    limits.stepped_back[id_type].write(message, detail);
}

/// The clock is further behind the horizon that this life begins at than a crash alone explains.
pub fn clock_behind(limits: &RateLimits, by: Duration) {
    limits.behind.write(
        || format!("the clock is {} behind the horizon in flakeid's state", span(by)),
        "sno continues in its other timeline if it is free; all other ID types wait.",
    );
    // Every system would say the same again.
    for note in &limits.stepped_back {
        let _ = note.due();
    }
}

/// The clock has gained on the time since boot since the horizon was last written. It is looked at
/// when it is written again.
pub fn clock_ahead(
    limits: &RateLimits,
    now: UnixNanos,
    written: &AtomicU64,
    since_boot: &AtomicU64,
) {
    let (written, since_boot) =
        (written.load(Ordering::Relaxed), since_boot.load(Ordering::Relaxed));
    let passed = boot().saturating_sub(Duration::from_nanos(since_boot));
    let shown = Duration::from_nanos(now.0.saturating_sub(written));
    let gained = shown.saturating_sub(passed);
    if written != 0 && gained > AHEAD {
        limits.ahead.write(
            || format!("the clock stepped forward by {}", span(gained)),
            "IDs follow the clock. If it is wrong and steps back later, IDs generated until then are ahead of it.",
        );
    }
}

/// Writing the horizon took long, for a lead of `lead`.
pub fn slow_write(limits: &RateLimits, took: Duration, lead: Duration) {
    if took > lead / SLOW_PART {
        limits.slow_write.write(
            || format!("writing flakeid's horizon took {}", span(took)),
            "Sessions that generate IDs may wait for this write, once per \"flakeid.horizon_lead\".",
        );
    }
}

/// The state cannot be opened, which every session that asks for an ID will be told.
pub fn no_ids(report: Report) {
    let (message, detail) = report.line();
    log(format!("flakeid cannot generate IDs: {message}"), detail);
}

/// Writes what an error kept from a session's user: at most once in a while, where there are limits.
pub fn withheld(limits: Option<&RateLimits>, message: &str, detail: &str) {
    let message = || format!("flakeid cannot generate IDs: {message}");
    match limits {
        Some(limits) => limits.withheld.write(message, detail),
        None => log(message(), detail.into()),
    }
}

/// The horizon stays where it was at the end.
pub fn not_exact(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid could not write its last horizon: {message}"),
        format!("The server may have to wait for its first ID when it starts again. {detail}"),
    );
}

/// The primary's horizon that was recovered from the WAL is not on disk.
pub fn not_kept(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid could not write the horizon that it recovered from the WAL: {message}"),
        format!(
            "The server tries again at the next checkpoint in the WAL. If it restarts before that succeeds, \
             its clock must not be behind the last ID of the server that made the WAL. {detail}"
        ),
    );
}

/// A record of the WAL is flakeid's, and is not one that any version writes.
pub fn unknown_message(limits: &RateLimits, length: usize) {
    limits.unknown_message.write(
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
        "flakeid generates IDs again, above its state and the current time.".into(),
    );
}
