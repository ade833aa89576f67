//! The lines that the worker writes into the server's log, and the reasons as people read them.
//! [`Repeated`] keeps it from repeating itself.

use crate::clock::{now, since_boot};
use crate::error::log;
use crate::error::span;
use crate::error::{excerpt, timestamp};
use crate::id_types::ServerIdType;
use crate::shmem::LeasedId;
use flakeid_core::clock::Tick;
use flakeid_core::flake::Flake;
use flakeid_core::generator_ids::GeneratorIds;
use flakeid_core::registry::action::{GraceBegins, Loss, Report};
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::trust::GraceReason;
use flakeid_core::uniqueid;
use pgrx::prelude::*;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The number of lines of one kind that may come at once.
const BURST: u32 = 5;

/// The time after which there may be another line.
const PAUSE: Duration = Duration::from_secs(10);

/// A kind of line that gives a reason. It is written when the reason changes, which other programs
/// can cause. So there may be a few lines at once, and then one every [`PAUSE`].
#[derive(Debug)]
struct Repeated {
    reason: String,
    /// The number of lines that may come now, and the time since boot at which it was counted.
    available: u32,
    counted: Duration,
    suppressed: u64,
}

impl Default for Repeated {
    fn default() -> Self {
        Self { reason: String::new(), available: BURST, counted: since_boot(), suppressed: 0 }
    }
}

impl Repeated {
    /// Returns how many lines were suppressed since the last, if a line with this reason is due
    /// now.
    fn due(&mut self, reason: &str) -> Option<u64> {
        if self.reason == reason {
            return None;
        }
        let pauses = since_boot().saturating_sub(self.counted).as_secs() / PAUSE.as_secs();
        if pauses > 0 {
            self.available =
                BURST.min(self.available.saturating_add(u32::try_from(pauses).unwrap_or(BURST)));
            self.counted = since_boot();
        }
        if self.available == 0 {
            self.suppressed += 1;
            return None;
        }
        self.available -= 1;
        self.reason = reason.into();
        Some(std::mem::take(&mut self.suppressed))
    }

    /// Forgets the reason, since it no longer applies. If it comes back there may be another line.
    fn forget(&mut self) {
        self.reason.clear();
    }
}

/// Returns the sentence about suppressed lines.
fn others(suppressed: u64) -> String {
    match suppressed {
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
fn leased(new: &[LeasedId]) {
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
fn released(gone: &[LeasedId]) {
    log(format!("flakeid released generator IDs {}", ids(gone)), String::new());
}

/// Logs that this server began a grace period.
fn grace_began(why: &GraceBegins) {
    match why {
        GraceBegins::Founded(name) => log(
            format!("flakeid founded the registry of generator IDs {name} in etcd"),
            "If etcd lost an earlier registry, its leases must end first. Leasing starts then."
                .into(),
        ),
        GraceBegins::Forgotten(reason) => warn(
            "flakeid found that etcd has forgotten leases of generator IDs".into(),
            format!(
                "{} Until those leases end, only their holders can lease these generator IDs.",
                grace_reason(*reason)
            ),
        ),
    }
}

fn grace_reason(reason: GraceReason) -> &'static str {
    match reason {
        GraceReason::Replaces => "It replaces the one of the last lease.",
        GraceReason::EarlierId => "Its ID is an earlier one.",
        GraceReason::NoId => "Its ID is not there.",
        GraceReason::NoAddress => "Its address is not there.",
        GraceReason::OtherRegistry => "It is not the one that granted the last lease.",
        GraceReason::EarlierRevision => "Its revision is less than it was.",
        GraceReason::EarlierMark => "A high-water mark is not as this server wrote it.",
    }
}

fn loss(loss: Loss) -> &'static str {
    match loss {
        Loss::Forgotten => "etcd has forgotten the lease.",
        Loss::Ended => "The lease has expired or was revoked.",
        Loss::AllDeleted => "All claims were deleted in etcd.",
        Loss::SomeDeleted => "Claims were deleted in etcd.",
    }
}

/// The longest part of a value that a message repeats, in bytes; and that of an address with one
/// that it replaces.
const EXCERPT: usize = 64;
const ADDRESS_EXCERPT: usize = 256;

/// Returns the reason for which this server leases nothing from a namespace, as people read it.
pub fn reason(refusal: &Refusal, namespace: &str) -> String {
    let quoted = |value: &str| excerpt(value.as_bytes(), EXCERPT);
    let address = |value: &str| excerpt(value.as_bytes(), ADDRESS_EXCERPT);
    let key = |name: &str| format!("{namespace}{name}");
    match refusal {
        Refusal::Failed(error) => error.clone(),
        Refusal::Copy { stated, address: expected } => {
            let (key, stated) = (key("address"), address(stated));
            format!("etcd's key \"{key}\" is \"{stated}\", where this registry is {expected}")
        }
        Refusal::InvalidId(value) => {
            let (key, value) = (key("registry-id"), quoted(value));
            format!("etcd's key \"{key}\" is \"{value}\", not the ID of a registry")
        }
        Refusal::InvalidCluster(value) => {
            let (key, value, last) = (key("cluster-id"), quoted(value), uniqueid::CLUSTER.max());
            format!("etcd key \"{key}\" has \"{value}\", which is not a number from 0 to {last}")
        }
        Refusal::OtherEpoch(theirs) => {
            let (key, theirs) = (key("epoch"), quoted(theirs));
            let ours = timestamp(Flake::scale().start(Tick(0)));
            format!("etcd's key \"{key}\" is \"{theirs}\", where \"flakeid.epoch\" is {ours}")
        }
        Refusal::OtherRegistry { last, listed } => {
            format!("the last lease was of the registry {last}, and this one is {listed}")
        }
        Refusal::DifferentRegistries { first, other } => format!(
            "the endpoints show different registries: {} at {}, and {} at {}",
            address(&first.0),
            first.1,
            address(&other.0),
            other.1
        ),
        Refusal::EndpointSilent(error) => {
            format!("an endpoint that does not answer may still have the registry: {error}")
        }
        Refusal::GracePeriod(until) => format!(
            "etcd has forgotten leases, so none is granted before they are over, about {}",
            quoted(until)
        ),
        Refusal::OtherEtcd => "a different etcd cluster answered than before".into(),
        Refusal::WrittenKeyLost => "etcd lost a key that was just written".into(),
        Refusal::ShortLease(granted) => format!("etcd granted a lease of {} s", granted.as_secs()),
        Refusal::LeaderChanges => "etcd is changing its leader".into(),
        Refusal::Late => "etcd did not answer in time".into(),
    }
}

/// Logs that the claims stay in etcd until their lease ends.
fn not_released(gone: &[LeasedId]) {
    log(
        format!("flakeid could not release generator IDs {}", ids(gone)),
        "Other servers can lease them when the lease has ended.".into(),
    );
}

/// Logs that no generator ID of the pool is free.
fn waits(pool: &RangeInclusive<u16>) {
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

/// Warns that this server lost generator IDs of a lease.
pub fn lost(lease: i64, gone: &[LeasedId], why: &str) {
    warn(
        format!("flakeid lost its lease of generator IDs {}", ids(gone)),
        format!("{why} The lease was {lease:x}."),
    );
}

/// Logs that this server does not lease a generator ID, since its high-water mark is not a time.
fn left_alone(reason: &str, id: u16, suppressed: u64) {
    let detail = "The time of its last ID is unknown. Put a time there that is past all IDs generated with it.";
    let detail = format!("{detail} {}", others(suppressed));
    log(format!("flakeid does not lease generator ID {id}: {reason}"), detail.trim_end().into());
}

/// Logs why this server leases nothing.
fn cannot(reason: &str, suppressed: u64) {
    log(format!("flakeid cannot lease generator IDs: {reason}"), others(suppressed));
}

/// The lines that the worker has logged, so that it does not repeat itself.
#[derive(Debug, Default)]
pub struct Log {
    errors: Repeated,
    unreadable: Repeated,
    /// Whether the log says that the pool is empty.
    is_waiting: bool,
}

impl Log {
    pub fn report(&mut self, report: &Report, pool: RangeInclusive<u16>) {
        match report {
            Report::GraceBegan(why) => grace_began(why),
            Report::Leased(new) => {
                self.is_waiting = false;
                leased(new);
            }
            Report::Lost { lease, gone, loss: why } => lost(*lease, gone, loss(*why)),
            Report::Released(gone) => released(gone),
            Report::NotReleased(gone) => not_released(gone),
            Report::PoolEmpty => {
                if !std::mem::replace(&mut self.is_waiting, true) {
                    waits(&pool);
                }
            }
        }
    }

    /// Logs why this server leases nothing, if that has changed.
    pub fn cannot(&mut self, reason: &str) {
        if let Some(suppressed) = self.errors.due(reason) {
            cannot(reason, suppressed);
        }
    }

    /// Lets the next error be logged, even if it is the same one.
    pub fn forget_error(&mut self) {
        self.errors.forget();
    }

    /// Logs that this server does not lease a generator ID, if the reason has changed.
    pub fn unreadable(&mut self, reason: &str, id: u16) {
        if let Some(suppressed) = self.unreadable.due(reason) {
            left_alone(reason, id, suppressed);
        }
    }
}
