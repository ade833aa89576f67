//! Lines that the worker writes into the server's log. [`Repeated`] keeps it from repeating itself.

use crate::clock::{now, since_boot};
use crate::error::log;
use crate::error::span;
use crate::shmem::{LeaseState, LeasedId};
use flakeid_core::generator_ids::GeneratorIds;
use pgrx::prelude::*;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The number of lines of one kind that may come at once.
const BURST: u32 = 5;

/// The time after which there may be another line.
const PAUSE: Duration = Duration::from_secs(10);

/// A kind of line that gives a reason. It is written when the reason changes, which other programs can cause. So there
/// may be a few lines at once, and then one every [`PAUSE`].
#[derive(Debug)]
pub struct Repeated {
    told: String,
    /// The number of lines that may come now, and the time since boot at which it was counted.
    left: u32,
    counted: Duration,
    left_out: u64,
}

impl Default for Repeated {
    fn default() -> Self {
        Self { told: String::new(), left: BURST, counted: since_boot(), left_out: 0 }
    }
}

impl Repeated {
    /// Returns how many lines were suppressed since the last, if a line with this reason is due now.
    pub fn due(&mut self, reason: &str) -> Option<u64> {
        if self.told == reason {
            return None;
        }
        let pauses = since_boot().saturating_sub(self.counted).as_secs() / PAUSE.as_secs();
        if pauses > 0 {
            self.left = BURST.min(self.left.saturating_add(u32::try_from(pauses).unwrap_or(BURST)));
            self.counted = since_boot();
        }
        if self.left == 0 {
            self.left_out += 1;
            return None;
        }
        self.left -= 1;
        self.told = reason.into();
        Some(std::mem::take(&mut self.left_out))
    }

    /// Forgets the reason, since it no longer applies. If it comes back there may be another line.
    pub fn forget(&mut self) {
        self.told.clear();
    }
}

/// Returns the sentence about suppressed lines.
fn others(left_out: u64) -> String {
    match left_out {
        0 => String::new(),
        n => format!("Similar lines suppressed: {n}."),
    }
}

fn ids(leased: &[LeasedId]) -> String {
    let ids: Vec<u16> = leased.iter().map(|leased| leased.id).collect();
    GeneratorIds::of(&ids).map_or_else(String::new, |ids| ids.to_string())
}

fn warn(message: String, detail: String) {
    ereport!(WARNING, PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message, detail);
}

/// Logs which generator IDs this server leased, and whether one waits for the clock.
pub fn leased(new: &[LeasedId]) {
    let ahead = new.iter().map(|leased| leased.high_water_mark.0).max().unwrap_or(0);
    let ahead = Duration::from_nanos(ahead.saturating_sub(now().0));
    let detail = match ahead.is_zero() {
        true => String::new(),
        false => format!(
            "A previous holder may have generated IDs up to {} ahead of this server's clock. The server uses \
             that generator ID after that time.",
            span(ahead)
        ),
    };
    log(format!("flakeid leased generator IDs {} from etcd", ids(new)), detail);
}

/// Logs which generator IDs this server gave back.
pub fn released(gone: &[LeasedId]) {
    log(format!("flakeid released generator IDs {}", ids(gone)), String::new());
}

/// Why this server began a grace period.
#[derive(Debug)]
pub enum GraceReason {
    /// It founded the registry with this name, since there was no registry.
    Founded(String),
    /// etcd has forgotten leases. This sentence says what shows that.
    Forgotten(String),
}

/// Logs that this server began a grace period.
pub fn grace_began(reason: &GraceReason) {
    match reason {
        GraceReason::Founded(name) => log(
            format!("flakeid founded the registry of generator IDs {name} in etcd"),
            "If etcd lost an earlier registry, its leases must end first. Leasing starts then."
                .into(),
        ),
        GraceReason::Forgotten(why) => warn(
            "flakeid found that etcd has forgotten leases of generator IDs".into(),
            format!(
                "{why} Until those leases end, only their holders can lease these generator IDs."
            ),
        ),
    }
}

/// Logs that the claims stay in etcd until their lease ends.
pub fn not_released(gone: &[LeasedId]) {
    log(
        format!("flakeid could not release generator IDs {}", ids(gone)),
        "Other servers can lease them when the lease has ended.".into(),
    );
}

/// Logs that no generator ID of the pool is free.
pub fn waits(pool: &RangeInclusive<u16>) {
    log(
        "flakeid waits for generator IDs: all in the pool are leased".into(),
        format!(
            "The pool is {} to {}. No IDs are generated until one becomes free.",
            pool.start(),
            pool.end()
        ),
    );
}

/// Warns that half of the lease is over.
pub fn not_renewed(since: Duration, left: &str, error: &str) {
    let error = if error.is_empty() { "none" } else { error };
    warn(
        format!("flakeid has not renewed its lease of generator IDs for {}", span(since)),
        format!("IDs are generated for another {left}. The last error from etcd: {error}."),
    );
}

/// Logs that the lease was renewed after a warning.
pub fn renewed_again() {
    log("flakeid renews its lease of generator IDs again".into(), String::new());
}

/// Warns that this server lost generator IDs.
pub fn lost(state: &LeaseState, why: &str) {
    warn(
        format!("flakeid lost its lease of generator IDs {}", ids(state.held())),
        format!("{why} The lease was {}.", state.lease_text().unwrap_or_default()),
    );
}

/// Logs that this server does not lease a generator ID, since its high-water mark is not a time.
pub fn left_alone(reason: &str, id: u16, left_out: u64) {
    let detail = "The time of its last ID is unknown. Put a time there that is past all IDs generated with it.";
    let detail = format!("{detail} {}", others(left_out));
    log(format!("flakeid does not lease generator ID {id}: {reason}"), detail.trim_end().into());
}

/// Logs why this server leases nothing.
pub fn cannot(reason: &str, left_out: u64) {
    log(format!("flakeid cannot lease generator IDs: {reason}"), others(left_out));
}
