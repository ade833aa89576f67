//! Lines in the server's log for an operator. Of each kind the whole server writes at most one line
//! in ten seconds; it says how many were suppressed since the last one.

use crate::clock::since_boot;
use crate::error::{Report, log, moment, os_reason, span};
use crate::id_types::ID_TYPES;
use flakeid_core::clock::{UnixMicros, UnixNanos};
use pgrx::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The least time between two lines of one kind.
const PAUSE: Duration = Duration::from_secs(10);

/// A clock that has gained more than this on the time since boot has been set.
const CLOCK_JUMP: Duration = Duration::from_millis(500);

/// A write is slow if it takes more than this part of the lead.
const SLOW_PART: u32 = 4;

/// The rate limits of all kinds of lines, in shared memory.
#[derive(Debug)]
pub struct RateLimits {
    /// Limits by the index of the ID type.
    exhausted: [RateLimit; ID_TYPES.len()],
    stepped_back: [RateLimit; ID_TYPES.len()],
    behind: RateLimit,
    ahead: RateLimit,
    slow_write: RateLimit,
    withheld: RateLimit,
    unknown_message: RateLimit,
}

/// The rate limit of one kind of line.
#[derive(Debug)]
struct RateLimit {
    /// The time of the last line, in nanoseconds since boot.
    last_at: AtomicU64,
    /// The number of lines that were suppressed since the last one.
    suppressed: AtomicU64,
}

impl RateLimits {
    /// Constructs the limits of a server that has written no line yet.
    pub fn new() -> Self {
        let limit = || RateLimit { last_at: AtomicU64::new(0), suppressed: AtomicU64::new(0) };
        Self {
            exhausted: std::array::from_fn(|_| limit()),
            stepped_back: std::array::from_fn(|_| limit()),
            behind: limit(),
            ahead: limit(),
            slow_write: limit(),
            withheld: limit(),
            unknown_message: limit(),
        }
    }
}

impl RateLimit {
    /// Returns how many lines were suppressed since the last one; `None` if it is too early for
    /// another.
    fn due(&self) -> Option<u64> {
        let now = since_boot().as_nanos() as u64;
        let last = self.last_at.load(Ordering::Relaxed);
        let early = last != 0 && now.saturating_sub(last) < PAUSE.as_nanos() as u64;
        let mine = !early
            && self
                .last_at
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !mine {
            self.suppressed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.suppressed.swap(0, Ordering::Relaxed))
    }

    /// Writes a line, or counts it as suppressed.
    fn write(&self, message: impl FnOnce() -> String, detail: &str) {
        if let Some(suppressed) = self.due() {
            let others = match suppressed {
                0 => String::new(),
                n => format!(" Logged at most once per {} s; {n} suppressed.", PAUSE.as_secs()),
            };
            log(message(), format!("{detail}{others}"));
        }
    }
}

/// Reports that all generator IDs are exhausted in this tick.
pub fn exhausted(limits: &RateLimits, id_type: usize, generator_ids: usize) {
    let name = ID_TYPES[id_type].name;
    let limit = &limits.exhausted[id_type];
    match ID_TYPES[id_type].is_numbered {
        true => limit.write(
            || {
                format!(
                    "{name} IDs of this tick are exhausted, generator IDs in use: \
                        {generator_ids}"
                )
            },
            "A session waits for the next tick. More generator IDs in \"flakeid.generator_ids\" \
             allow more IDs per tick.",
        ),
        false => limit.write(
            || format!("{name} IDs of this tick are exhausted"),
            "A session waits for the next tick.",
        ),
    }
}

/// Reports that the clock is behind the last ID of an ID type.
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

/// Reports that the clock is further behind the horizon at which cells begin than a crash alone
/// explains.
pub fn clock_behind(limits: &RateLimits, by: Duration) {
    limits.behind.write(
        || format!("the clock is {} behind the horizon in flakeid's state", span(by)),
        "sno continues in its other timeline if it is free; all other ID types wait.",
    );
    // Each ID type would report this step again.
    for limit in &limits.stepped_back {
        let _ = limit.due();
    }
}

/// Reports that the horizon at which cells begin is so far ahead of the clock, as after a crash.
pub fn first_ids_wait(by: Duration) {
    log(
        format!("flakeid generates its first IDs in {}", span(by)),
        "After a crash or a failover sessions that need an ID wait until the clock has passed the \
         last horizon. It is up to \"flakeid.horizon_lead\" ahead."
            .into(),
    );
}

/// Reports a clock that has gained on the time since boot since the horizon was last written. The
/// session that writes the horizon again checks this.
pub fn clock_ahead(
    limits: &RateLimits,
    now: UnixNanos,
    written_at: &AtomicU64,
    written_since_boot: &AtomicU64,
) {
    let written_at = written_at.load(Ordering::Relaxed);
    let written_since_boot = Duration::from_nanos(written_since_boot.load(Ordering::Relaxed));
    let passed = since_boot().saturating_sub(written_since_boot);
    let shown = Duration::from_nanos(now.0.saturating_sub(written_at));
    let gained = shown.saturating_sub(passed);
    if written_at != 0 && gained > CLOCK_JUMP {
        limits.ahead.write(
            || format!("the clock stepped forward by {}", span(gained)),
            "IDs follow the clock. If it is wrong and steps back later, IDs generated until then \
             are ahead of it.",
        );
    }
}

/// Reports a write of the horizon that took long for this lead.
pub fn slow_write(limits: &RateLimits, took: Duration, lead: Duration) {
    if took > lead / SLOW_PART {
        limits.slow_write.write(
            || format!("writing flakeid's horizon took {}", span(took)),
            "Sessions that generate IDs may wait for this write, once per \
             \"flakeid.horizon_lead\".",
        );
    }
}

/// Reports that an ID type ends soon, or has ended.
pub fn ends(name: &str, end: UnixMicros, has_ended: bool) {
    let verb = if has_ended { "ended" } else { "end" };
    log(
        format!("{name} IDs {verb} on {}", moment(end)),
        "No later one can be generated. Move what needs them to another ID type before that."
            .into(),
    );
}

/// Reports that the state cannot be opened. Every session that asks for an ID gets the error.
pub fn no_ids(report: Report) {
    let (message, detail) = report.line();
    log(format!("flakeid cannot generate IDs: {message}"), detail);
}

/// Reports that flakes can neither be generated nor read, since the state has another epoch.
pub fn no_flakes(report: Report) {
    let (message, detail) = report.line();
    log(format!("flakeid cannot generate or read flakes: {message}"), detail);
}

/// Reports that the epoch in force is earlier than that of existing flakes; `detail` names both,
/// and what follows.
pub fn earlier_epoch(detail: String) {
    log("\"flakeid.epoch\" is earlier than the epoch of existing flakes".into(), detail);
}

/// Writes what an error withheld from a session's user. With `limits` it does so at most once in
/// ten seconds.
pub fn withheld(limits: Option<&RateLimits>, message: &str, detail: &str) {
    let message = || format!("flakeid cannot generate IDs: {message}");
    match limits {
        Some(limits) => limits.withheld.write(message, detail),
        None => log(message(), detail.into()),
    }
}

/// Reports that the server has no state, and begins a new one.
pub fn new_state() {
    log(
        "no state file: IDs start at the current time".into(),
        "The data directory has no directory \"flakeid\". If this server has generated IDs before, \
         someone removed it: check that the clock is past all of them."
            .into(),
    );
}

/// Reports that the state was last written in another place; `places` names both, and what follows.
pub fn moved(places: String) {
    log("flakeid's state was last written in another place".into(), places);
}

/// Reports that the directory of the state is missing, and is about to be created again.
pub fn state_directory_missing() {
    log(
        "the directory \"flakeid\" was removed from the data directory while the server was \
         running"
            .into(),
        "The server creates it again with its next horizon. IDs do not repeat while it \
         runs."
            .into(),
    );
}

/// Reports that the file which names this server's place could not be written.
pub fn location_not_written(action: &str, error: &std::io::Error) {
    log(
        format!("flakeid could not {action} file \"flakeid/location\": {}", os_reason(error)),
        "No ID repeats. A later start may take the state for that of another server.".into(),
    );
}

/// Reports that the last horizon could not be written, and so stays where it was.
pub fn not_exact(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid could not write its last horizon: {message}"),
        format!("The server may have to wait for its first ID when it starts again. {detail}")
            .trim_end()
            .into(),
    );
}

/// Reports that the primary's horizon, recovered from the WAL, is not on disk.
pub fn not_kept(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid could not write the horizon that it recovered from the WAL: {message}"),
        format!(
            "The server tries again at the next checkpoint in the WAL. If it restarts before that \
             succeeds, its clock must not be behind the last ID of the server that made the WAL. \
             {detail}"
        ),
    );
}

/// Reports a record of the WAL that is flakeid's, but has the form of no known version.
pub fn unknown_message(limits: &RateLimits, length: usize) {
    limits.unknown_message.write(
        || format!("flakeid cannot read a horizon in the WAL, a message of {length} bytes"),
        "The server goes on without it. Its clock must not be behind the last ID of the server \
         that made the WAL.",
    );
}

/// Reports that a superuser has accepted the clock.
pub fn accepted() {
    // SAFETY: reads the current user's ID, and the user's name from the catalog.
    let user = unsafe {
        let name = pg_sys::GetUserNameFromId(pg_sys::GetUserId(), false);
        std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned()
    };
    log(
        format!("the clock was accepted by \"{user}\""),
        "flakeid generates IDs again, above its state and the current time.".into(),
    );
}

/// Reports that the file that says that the watermark is in use, as the WAL does, is not on disk.
pub fn usage_not_kept(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid could not write that flakeid_watermark() is in use: {message}"),
        format!("The server tries again at the next checkpoint in the WAL. {detail}"),
    );
}

/// Reports that readers are not told of the watermark, since it cannot be computed or written.
pub fn not_announced(report: Report) {
    let (message, detail) = report.line();
    log(
        format!("flakeid cannot announce the watermark: {message}"),
        format!("Readers get no NOTIFY, and standbys no watermark, until that has ended. {detail}")
            .trim_end()
            .into(),
    );
}

/// Reports that there is no place for a worker that tells readers of the watermark.
pub fn no_publisher() {
    log(
        "flakeid could not start a worker that announces the watermark".into(),
        "You may need to increase \"max_worker_processes\".".into(),
    );
}

/// Reports that there are prepared transactions without a bound lock.
pub fn unknown_prepared(count: usize) {
    log(
        format!("flakeid does not know the IDs of {count} prepared transactions"),
        "They were prepared without this version of the library. Until they have ended, \
         flakeid_watermark() returns 1970-01-01."
            .into(),
    );
}
