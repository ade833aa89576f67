//! The settings `flakeid.*`. All are read at start and on reload, none can be set by a session.
//!
//! A value is checked where it is set: `ALTER SYSTEM` and a reload refuse a bad one and say why. One
//! case needs more. Where a bad value stood in the file before this library was loaded, PostgreSQL
//! warns and goes on with the default: a node would then issue under generator IDs that are
//! another's. So such a value is let in, with a warning, and while the setting has it no IDs are made
//! ([`refusal`]); the server, and all that reads IDs, goes on. A reload that sets it right or takes
//! it out of the file ends that.
//!
//! A session that does not know the server's value of a setting makes no IDs either: see [`server_wide`].

#[cfg(feature = "etcd")]
pub mod etcd;
mod hooks;
mod process;
mod server_wide;

pub use process::Refusal;

use crate::error::{self, Code, Report};
use crate::identity::{self, guid_node, mac_address};
use flakeid_core::flake::Epoch;
use flakeid_core::generator_ids::Owned;
use flakeid_core::{sno, uniqueid};
use hooks::{define_number, define_text};
use pgrx::prelude::*;
use pgrx::{GucFlags, GucSetting, pg_sys};
use process::{NumberSetting, PROCESS, TextSetting, numbers, text};
use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

static GENERATOR_IDS: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"0-7"));
static EPOCH: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"unix"));
static SNO_SEQUENCE: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"0-65535"));
static GUID_NODE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static INTERFACE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static CLUSTER_ID: GucSetting<i32> = GucSetting::<i32>::new(0);
static MAX_CLOCK_WAIT: GucSetting<i32> = GucSetting::<i32>::new(1000);
static HORIZON_LEAD: GucSetting<i32> = GucSetting::<i32>::new(1000);
static ALLOWABLE_DOWNTIME: GucSetting<i32> = GucSetting::<i32>::new(0);

/// The error of a session that does not know the server's value of a setting.
fn unknown(setting: &str) -> Report {
    Report::new(
        Code::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
        format!("this session does not know the server's value of \"{setting}\""),
    )
    .detail(
        "A value from the connection, the role or the database replaced it before the session loaded \
         flakeid.",
    )
    .hint(format!(
        "Remove \"{setting}\" from the connection's options, from ALTER ROLE ... SET and from ALTER \
         DATABASE ... SET, and connect again. The server's configuration is its only place."
    ))
}

/// The error of a server that cannot find out which generator IDs are its own.
pub fn no_generator_ids() -> Report {
    Report::new(Code::ERRCODE_CONFIG_FILE_ERROR, "could not determine this server's generator IDs")
        .hint("Set \"flakeid.generator_ids\" to numbers, or give the host a name.")
}

/// Changes whenever a setting does; never 0.
#[inline]
pub fn version() -> u32 {
    PROCESS.0.version.get()
}

/// Sets what this process, and those that it forks, call after a setting has changed.
pub fn call_after_change(function: fn()) {
    PROCESS.0.after_change.set(Some(function));
}

/// The generator IDs this node owns. `None` only where the host's name had to be read and could not.
pub fn owned() -> Option<Owned> {
    PROCESS.0.owned.get()
}

/// How many are to be leased; `None` where they are the node's own.
pub fn leased() -> Option<usize> {
    match owned() {
        Some(Owned::Leased(count)) => Some(count),
        _ => None,
    }
}

/// `flakeid.generator_ids` as it is written.
pub fn generator_ids_setting() -> String {
    text(GENERATOR_IDS.get())
}

pub fn epoch() -> Epoch {
    PROCESS.0.epoch.get()
}

/// The epoch by which a caller reads or writes IDs who names none.
///
/// # Errors
/// This process does not know the server's.
pub fn server_epoch() -> Result<Epoch, Report> {
    match server_wide::is_unknown(EpochSetting::NAME) {
        true => Err(unknown(EpochSetting::name())),
        false => Ok(epoch()),
    }
}

pub fn sno_sequence() -> (u32, u32) {
    PROCESS.0.sno_sequence.get()
}

/// `None` where it is to be chosen for the node.
pub fn guid_node() -> Option<u32> {
    PROCESS.0.guid_node.get()
}

/// flake128's worker, as `flakeid.interface` has it; `None` where it is to be found.
pub fn worker() -> Option<u64> {
    PROCESS.0.worker.get()
}

pub fn cluster_id() -> u64 {
    PROCESS.0.cluster_id.get()
}

/// A fingerprint of the generator IDs and the cluster that the settings name: equal in two processes of a server
/// that go by equal values; never 0.
pub fn identity_fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    cluster_id().hash(&mut hasher);
    match owned() {
        None => {}
        Some(Owned::Fixed(ids)) => ids.as_slice().hash(&mut hasher),
        Some(Owned::Leased(_)) => "etcd".hash(&mut hasher),
    }
    hasher.finish().max(1)
}

pub fn max_clock_wait() -> Duration {
    Duration::from_millis(MAX_CLOCK_WAIT.get().max(0) as u64)
}

pub fn horizon_lead() -> Duration {
    Duration::from_millis(HORIZON_LEAD.get().max(1) as u64)
}

/// `None` for any.
pub fn allowable_downtime() -> Option<Duration> {
    match ALLOWABLE_DOWNTIME.get() {
        0 => None,
        seconds => Some(Duration::from_secs(seconds.max(0) as u64)),
    }
}

/// Whether this process goes by the server's values, and all are good: it makes no IDs otherwise.
///
/// # Errors
/// This process does not know the server's value of a setting, or one is invalid.
pub fn ensure_usable() -> Result<(), Report> {
    ensure_known()?;
    refusal().map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// Whether this process goes by the server's values.
///
/// # Errors
/// This process does not know the server's value of a setting.
pub fn ensure_known() -> Result<(), Report> {
    let first = PROCESS.0.unknown.borrow().first().copied();
    first.map_or(Ok(()), |name| Err(unknown(name.to_str().unwrap_or_default())))
}

/// The first setting whose value is no good.
pub fn refusal() -> Option<Refusal> {
    PROCESS.0.refused.borrow().first().cloned()
}

struct GeneratorIdsSetting;
impl TextSetting for GeneratorIdsSetting {
    const NAME: &'static CStr = c"flakeid.generator_ids";
    type Value = Owned;
    fn read(value: &str) -> Result<Owned, String> {
        identity::resolve(value)
    }
    fn take(value: Owned) {
        PROCESS.0.owned.set(Some(value));
    }
}

struct EpochSetting;
impl TextSetting for EpochSetting {
    const NAME: &'static CStr = c"flakeid.epoch";
    type Value = Epoch;
    fn read(value: &str) -> Result<Epoch, String> {
        parse_epoch(value)
    }
    fn take(value: Epoch) {
        PROCESS.0.epoch.set(value);
    }
}

struct SnoSequenceSetting;
impl TextSetting for SnoSequenceSetting {
    const NAME: &'static CStr = c"flakeid.sno_sequence";
    type Value = (u32, u32);
    fn read(value: &str) -> Result<(u32, u32), String> {
        sno::parse_slice(value).map_err(identity::reason)
    }
    fn take(value: (u32, u32)) {
        PROCESS.0.sno_sequence.set(value);
    }
}

struct GuidNodeSetting;
impl TextSetting for GuidNodeSetting {
    const NAME: &'static CStr = c"flakeid.guid_node";
    type Value = Option<u32>;
    fn read(value: &str) -> Result<Option<u32>, String> {
        guid_node::parse(value)
    }
    fn take(value: Option<u32>) {
        PROCESS.0.guid_node.set(value);
    }
}

struct InterfaceSetting;
impl TextSetting for InterfaceSetting {
    const NAME: &'static CStr = c"flakeid.interface";
    type Value = Option<u64>;
    fn read(value: &str) -> Result<Option<u64>, String> {
        mac_address::parse(value)
    }
    fn take(value: Option<u64>) {
        PROCESS.0.worker.set(value);
    }
}

struct ClusterIdSetting;
impl NumberSetting for ClusterIdSetting {
    const NAME: &'static CStr = c"flakeid.cluster_id";
    fn take(value: i32) {
        PROCESS.0.cluster_id.set(value.max(0) as u64);
    }
}

numbers! {
    MaxClockWaitSetting c"flakeid.max_clock_wait"
    HorizonLeadSetting c"flakeid.horizon_lead"
    AllowableDowntimeSetting c"flakeid.allowable_downtime"
}

/// `unix`, milliseconds since 1970-01-01 UTC, a date (its midnight in UTC), or a moment with its
/// offset.
fn parse_epoch(value: &str) -> Result<Epoch, String> {
    let value = value.trim();
    let millis = if value.eq_ignore_ascii_case("unix") {
        0
    } else if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse().unwrap_or(i64::MAX)
    } else if let Ok(moment) = value.parse::<jiff::Timestamp>() {
        moment.as_millisecond()
    } else if let Some(midnight) = parse_date(value) {
        midnight.as_millisecond()
    } else {
        return Err(format!(
            "\"{value}\" is not \"unix\", milliseconds since 1970, a date such as 2020-01-01, or a time such as \
             2020-01-01T00:00:00Z."
        ));
    };
    Epoch::from_millis(millis).ok_or_else(|| {
        let last = error::moment(Epoch::MAX.micros());
        format!("The epoch must lie between 1970-01-01 00:00:00+00 and {last}.")
    })
}

/// The midnight in UTC at which a date (and nothing but a date) begins.
fn parse_date(value: &str) -> Option<jiff::Timestamp> {
    if value.len() != "2020-01-01".len() {
        return None;
    }
    let date: jiff::civil::Date = value.parse().ok()?;
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

/// Defines all settings, once a process.
pub fn define() {
    // SAFETY: a plain variable of PostgreSQL's.
    PROCESS.0.preloaded.set(unsafe { pg_sys::process_shared_preload_libraries_in_progress });
    PROCESS.0.defining.set(true);
    define_text::<GeneratorIdsSetting>(
        c"Generator IDs of this server.",
        c"Ranges and lists such as 0-7 or 16-31,40; hostname:N for N generator IDs from N times the number at the end of the host name; or etcd:N to lease N. Two servers that generate IDs for one set of data must not share a generator ID.",
        &GENERATOR_IDS,
    );
    define_text::<EpochSetting>(
        c"Time from which flake counts milliseconds.",
        c"unix, a date, a time with its offset, or milliseconds since 1970. Do not change it once IDs exist.",
        &EPOCH,
    );
    define_text::<SnoSequenceSetting>(
        c"Range of sno sequence numbers that this server may use.",
        c"A range such as 0-32767. Servers may share a generator ID if their ranges do not overlap.",
        &SNO_SEQUENCE,
    );
    define_text::<GuidNodeSetting>(
        c"Node in the guids of this server.",
        c"A number of 32 bits, or a name, which is hashed. Empty for a random number kept in the state file.",
        &GUID_NODE,
    );
    define_text::<InterfaceSetting>(
        c"Network interface whose MAC address is the worker in the flake128s of this server.",
        c"A name or a MAC address. Empty for the first physical interface, or a random address kept in the state file if there is no such interface.",
        &INTERFACE,
    );
    define_number::<ClusterIdSetting>(
        c"Cluster ID in the uniqueids of this server.",
        c"Servers with different cluster IDs can use the same generator IDs for uniqueids.",
        &CLUSTER_ID,
        (0, uniqueid::CLUSTER.max() as i32),
        GucFlags::empty(),
    );
    define_number::<MaxClockWaitSetting>(
        c"Maximum time to wait for a clock that is behind the last ID.",
        c"If the clock is further behind, the error comes at once.",
        &MAX_CLOCK_WAIT,
        (0, i32::MAX),
        GucFlags::UNIT_MS,
    );
    define_number::<HorizonLeadSetting>(
        c"How far ahead of the clock the horizon is written.",
        c"While IDs are generated, the state file is written at least once in this time. After a crash the server may wait this long for its first ID.",
        &HORIZON_LEAD,
        (1, 3_600_000),
        GucFlags::UNIT_MS,
    );
    define_number::<AllowableDowntimeSetting>(
        c"Downtime after which the server generates no IDs until flakeid_accept_clock() is called.",
        c"0 disables this check.",
        &ALLOWABLE_DOWNTIME,
        (0, i32::MAX),
        GucFlags::UNIT_S,
    );
    #[cfg(feature = "etcd")]
    etcd::define();
    PROCESS.0.defining.set(false);
    // SAFETY: a plain call with a static string.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"flakeid".as_ptr()) };
    for Refusal { setting, value, reason, hidden } in PROCESS.0.refused.borrow().iter() {
        let message = match hidden {
            true => format!("invalid value for parameter \"{setting}\""),
            false => format!("invalid value for parameter \"{setting}\": \"{value}\""),
        };
        // Where the library was not preloaded, a session that loads it gets the warning.
        let reason = match error::may_see_details() {
            true => reason.as_str(),
            false => {
                error::log(message.clone(), reason.clone());
                error::WITHHELD
            }
        };
        ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            message,
            format!("{reason} No IDs are generated until it is corrected.")
        );
    }
}
