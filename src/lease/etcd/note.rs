//! What the worker has to say in the server's log. It sees to it itself that it does not repeat itself.

use crate::clock::{boot, now};
use crate::error::log;
use crate::error::span;
use crate::shmem::{Kept, Marked};
use flakeid_core::generator_ids::GeneratorIds;
use pgrx::prelude::*;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How many lines of one kind may come at once.
const BURST: u32 = 5;

/// How long it takes until there may be another.
const PAUSE: Duration = Duration::from_secs(10);

/// A kind of line that says why something is not so. It comes when the reason changes, which is up to others: so
/// there may be a few at once, and then one every [`PAUSE`].
#[derive(Debug)]
pub struct Repeated {
    told: String,
    /// How many lines may come now, and as of when, by the clock since boot.
    left: u32,
    counted: Duration,
    left_out: u64,
}

impl Default for Repeated {
    fn default() -> Self {
        Self { told: String::new(), left: BURST, counted: boot(), left_out: 0 }
    }
}

impl Repeated {
    /// Whether to write a line now, for this reason: if so, how many were left out since the last.
    pub fn due(&mut self, reason: &str) -> Option<u64> {
        if self.told == reason {
            return None;
        }
        let pauses = boot().saturating_sub(self.counted).as_secs() / PAUSE.as_secs();
        if pauses > 0 {
            self.left = BURST.min(self.left.saturating_add(u32::try_from(pauses).unwrap_or(BURST)));
            self.counted = boot();
        }
        if self.left == 0 {
            self.left_out += 1;
            return None;
        }
        self.left -= 1;
        self.told = reason.into();
        Some(std::mem::take(&mut self.left_out))
    }

    /// The reason is there no more. If it comes back there may be another line.
    pub fn forget(&mut self) {
        self.told.clear();
    }
}

/// What a line says of those that were left out.
fn others(left_out: u64) -> String {
    match left_out {
        0 => String::new(),
        n => format!("Similar lines suppressed: {n}."),
    }
}

fn ids(marked: &[Marked]) -> String {
    let ids: Vec<u16> = marked.iter().map(|marked| marked.id).collect();
    GeneratorIds::of(&ids).map_or_else(String::new, |ids| ids.to_string())
}

fn warn(message: String, detail: String) {
    ereport!(WARNING, PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message, detail);
}

pub fn leased(new: &[Marked]) {
    let ahead = new.iter().map(|marked| marked.mark.0).max().unwrap_or(0);
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

pub fn released(gone: &[Marked]) {
    log(format!("flakeid released generator IDs {}", ids(gone)), String::new());
}

/// Nothing was there that this server or another one had leased from.
pub fn founded(address: &str) {
    log(
        format!("flakeid founded the registry of generator IDs {address} in etcd"),
        "etcd may have lost an earlier one: none are leased until its leases would be over.".into(),
    );
}

pub fn forgotten(why: &str) {
    warn(
        "flakeid found that etcd has forgotten leases of generator IDs".into(),
        format!(
            "{why} None are leased until those would be over, but by the server that had them."
        ),
    );
}

/// etcd did not answer in time.
pub fn not_released(gone: &[Marked]) {
    log(
        format!("flakeid could not release generator IDs {}", ids(gone)),
        "Other servers can lease them when the lease has ended.".into(),
    );
}

/// There is no free one.
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

pub fn not_renewed(since: Duration, left: &str, trouble: &str) {
    let trouble = if trouble.is_empty() { "none" } else { trouble };
    warn(
        format!("flakeid has not renewed its lease of generator IDs for {}", span(since)),
        format!("IDs are generated for another {left}. The last error from etcd: {trouble}."),
    );
}

pub fn renewed_again() {
    log("flakeid renews its lease of generator IDs again".into(), String::new());
}

pub fn lost(kept: &Kept, why: &str) {
    warn(
        format!("flakeid lost its lease of generator IDs {}", ids(kept.held())),
        format!("{why} The lease was {}.", kept.lease_text().unwrap_or_default()),
    );
}

pub fn left_alone(reason: &str, id: u16, left_out: u64) {
    let detail = "The time of its last ID is unknown. Put a time there that is past all IDs generated with it.";
    let detail = format!("{detail} {}", others(left_out));
    log(format!("flakeid does not lease generator ID {id}: {reason}"), detail.trim_end().into());
}

pub fn cannot(reason: &str, left_out: u64) {
    log(format!("flakeid cannot lease generator IDs: {reason}"), others(left_out));
}
