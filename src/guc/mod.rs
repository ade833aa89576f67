//! The settings `flakeid.*`. All are read at start and on reload; no session can set one.
//!
//! A value is checked where it is set: `ALTER SYSTEM` and a reload refuse an invalid one and say
//! why. One case needs more. If an invalid value was in the file before this library was loaded,
//! PostgreSQL warns and continues with the default. The server would then issue with generator IDs
//! that belong to another one. So such a value is accepted, with a warning, and while the setting
//! has it the server generates no IDs ([`ensure_usable`]). The server itself, and all that reads
//! IDs, continues. A reload that corrects the value or removes it from the file ends that.
//!
//! One setting can become invalid without a change of the file: the value `hostname:8` of
//! `flakeid.generator_ids`, on a host whose name has no number. ID types without generator IDs do
//! not depend on it, so they continue.
//!
//! A session that does not know the server's value of a setting generates no IDs either: see
//! [`server_wide`].

mod epoch;
#[cfg(feature = "etcd")]
pub mod etcd;
mod hooks;
mod names;
mod process;
mod server_wide;
mod streams;

pub use epoch::{
    adopt_epoch, check_epoch_with, default_epoch, epoch, epoch_setting, epoch_value, is_epoch_set,
};
pub use process::{InvalidSetting, Veto};
pub use streams::{LONGEST_STREAM, MAX_STREAMS, lists_stream};

use crate::error::{self, Code, Report};
use crate::identity::{self, guid_node, mac_address};
use crate::public_keys;
use flakeid_core::generator_ids::GeneratorIdSource;
use flakeid_core::{sno, uniqueid};
use hooks::{define_number, define_text};
use pgrx::prelude::*;
use pgrx::{GucFlags, GucSetting, pg_sys};
use process::{NumberSetting, PROCESS, TextSetting, invalid_setting_of, numbers, text, unknown};
use server_wide::is_taking_over;
use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

static GENERATOR_IDS: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"0-7"));
static SNO_SEQUENCE: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"0-65535"));
static GUID_NODE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static INTERFACE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static MOVED_STATE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"log"));
static PUBLIC_KEYS_FILE: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c""));
static NOTIFY_DATABASES: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c""));
static NOTIFY_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(50);
static STANDBY_WATERMARK_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(0);
static CLUSTER_ID: GucSetting<i32> = GucSetting::<i32>::new(0);
static MAX_CLOCK_WAIT: GucSetting<i32> = GucSetting::<i32>::new(1000);
static HORIZON_LEAD: GucSetting<i32> = GucSetting::<i32>::new(1000);
static ALLOWABLE_DOWNTIME: GucSetting<i32> = GucSetting::<i32>::new(0);

/// Constructs the error of a server without generator IDs.
pub fn no_generator_ids() -> Report {
    if owned() == Some(GeneratorIdSource::Unassigned) {
        return Report::new(Code::ERRCODE_CONFIG_FILE_ERROR, "this server has no generator IDs")
            .detail("The parameter \"flakeid.generator_ids\" is \"none\".")
            .hint(
                "Write flakeid.generator_ids = '8-15' into the configuration, with numbers that no \
                 other server has, or 'hostname:8', or 'etcd:8', and reload it.",
            );
    }
    Report::new(Code::ERRCODE_CONFIG_FILE_ERROR, "could not determine this server's generator IDs")
        .hint("Set \"flakeid.generator_ids\" to numbers, or give the host a name.")
}

/// Returns a number that changes with each change of a setting; never 0.
#[inline]
pub fn version() -> u32 {
    PROCESS.0.version.get()
}

/// Adds a function that this process, and those that it forks, call after a setting has changed.
pub fn call_after_change(function: fn()) {
    PROCESS.0.after_change.borrow_mut().push(function);
}

/// Returns the generator IDs of this server. `None` only if the setting needs the host's name and
/// it could not be read.
pub fn owned() -> Option<GeneratorIdSource> {
    PROCESS.0.owned.get()
}

/// Returns how many generator IDs to lease; `None` if they are fixed.
pub fn leased() -> Option<usize> {
    match owned() {
        Some(GeneratorIdSource::Leased(count)) => Some(count),
        _ => None,
    }
}

/// Returns `flakeid.generator_ids` as it is written; `None` if this process does not know it.
pub fn generator_ids_setting() -> Option<String> {
    let is_known = !server_wide::is_unknown(GeneratorIdsSetting::NAME);
    is_known.then(|| text(GENERATOR_IDS.get()))
}

/// Returns the first and the last sequence number of snos that this server may use.
pub fn sno_sequence() -> (u32, u32) {
    PROCESS.0.sno_sequence.get()
}

/// Returns the node of guids in `flakeid.guid_node`; `None` for the one in the state.
pub fn guid_node() -> Option<u32> {
    PROCESS.0.guid_node.get()
}

/// Returns the MAC address of `flakeid.interface`; `None` if the setting is empty.
pub fn mac_address() -> Option<u64> {
    PROCESS.0.mac_address.get()
}

/// Returns the path of the file of keys for the public form of IDs.
pub fn public_keys_file() -> String {
    text(PUBLIC_KEYS_FILE.get())
}

/// Returns the databases in which the watermark is announced by `NOTIFY`.
pub fn notify_databases() -> Vec<String> {
    PROCESS.0.notify_databases.borrow().clone()
}

/// Returns the least time between two notifications in a database.
pub fn notify_interval() -> Duration {
    Duration::from_millis(NOTIFY_INTERVAL.get().max(1) as u64)
}

/// Returns the least time between two watermarks in the WAL; `None` if the WAL has none.
pub fn standby_watermark_interval() -> Option<Duration> {
    match STANDBY_WATERMARK_INTERVAL.get() {
        0 => None,
        millis => Some(Duration::from_millis(millis.max(1) as u64)),
    }
}

/// Returns the uniqueid cluster in the settings.
pub fn cluster_id() -> u64 {
    PROCESS.0.cluster_id.get()
}

/// Returns a fingerprint of the generator IDs and the uniqueid cluster in the settings. It is equal
/// in two processes of a server that have equal values, and never 0.
pub fn identity_fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    cluster_id().hash(&mut hasher);
    match owned() {
        None => {}
        Some(GeneratorIdSource::Fixed(ids)) => ids.as_slice().hash(&mut hasher),
        Some(GeneratorIdSource::Leased(_)) => "etcd".hash(&mut hasher),
        Some(GeneratorIdSource::Unassigned) => "none".hash(&mut hasher),
    }
    hasher.finish().max(1)
}

/// Returns the maximum time to wait for the clock.
pub fn max_clock_wait() -> Duration {
    Duration::from_millis(MAX_CLOCK_WAIT.get().max(0) as u64)
}

/// Returns how far ahead of the clock the horizon is written.
pub fn horizon_lead() -> Duration {
    Duration::from_millis(HORIZON_LEAD.get().max(1) as u64)
}

/// Returns the downtime after which a superuser must accept the clock; `None` for no limit.
pub fn allowable_downtime() -> Option<Duration> {
    match ALLOWABLE_DOWNTIME.get() {
        0 => None,
        seconds => Some(Duration::from_secs(seconds.max(0) as u64)),
    }
}

/// Returns whether a server generates no IDs from a state that was last written in another place.
pub fn refuses_moved_state() -> bool {
    PROCESS.0.refuses_moved_state.get()
}

/// Ensures that this process knows the server's settings, and that all on which an ID depends are
/// valid: otherwise it generates none. Only an ID of a type with generator IDs depends on
/// `flakeid.generator_ids`.
///
/// # Errors
/// This process does not know the server's value of a setting, or one is invalid.
pub fn ensure_usable(has_generator_id: bool) -> Result<(), Report> {
    ensure_known()?;
    let invalid = PROCESS.0.invalid.borrow();
    let is_relevant = |invalid: &&InvalidSetting| has_generator_id || !is_of_generator_ids(invalid);
    let first = invalid.iter().find(is_relevant);
    first.cloned().map_or(Ok(()), |invalid| Err(invalid.into()))
}

fn is_of_generator_ids(invalid: &InvalidSetting) -> bool {
    invalid.setting == GeneratorIdsSetting::name()
}

/// Ensures that this process knows the server's settings.
///
/// # Errors
/// This process does not know the server's value of a setting.
pub fn ensure_known() -> Result<(), Report> {
    let first = PROCESS.0.unknown.borrow().first().copied();
    first.map_or(Ok(()), |name| Err(unknown(name.to_str().unwrap_or_default())))
}

/// Returns whether this process knows the server's value of a setting, and the value is valid.
pub fn is_in_effect(setting: &CStr) -> bool {
    let is_invalid = || invalid_setting_of(setting.to_str().unwrap_or_default()).is_some();
    !server_wide::is_unknown(setting) && !is_invalid()
}

/// Returns all settings whose value is invalid.
pub fn refusals() -> Vec<InvalidSetting> {
    PROCESS.0.invalid.borrow().clone()
}

struct GeneratorIdsSetting;
impl TextSetting for GeneratorIdsSetting {
    const NAME: &'static CStr = c"flakeid.generator_ids";
    type Value = GeneratorIdSource;
    fn read(value: &str) -> Result<GeneratorIdSource, String> {
        identity::resolve(value)
    }
    fn store(value: GeneratorIdSource) {
        PROCESS.0.owned.set(Some(value));
    }
}

struct SnoSequenceSetting;
impl TextSetting for SnoSequenceSetting {
    const NAME: &'static CStr = c"flakeid.sno_sequence";
    type Value = (u32, u32);
    fn read(value: &str) -> Result<(u32, u32), String> {
        sno::parse_slice(value).map_err(identity::reason)
    }
    fn store(value: (u32, u32)) {
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
    fn store(value: Option<u32>) {
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
    fn store(value: Option<u64>) {
        PROCESS.0.mac_address.set(value);
    }
}

struct MovedStateSetting;
impl TextSetting for MovedStateSetting {
    const NAME: &'static CStr = c"flakeid.moved_state";
    type Value = bool;
    fn read(value: &str) -> Result<bool, String> {
        match value.to_ascii_lowercase().as_str() {
            "log" => Ok(false),
            "error" => Ok(true),
            _ => Err(format!("\"{value}\" is neither \"log\" nor \"error\".")),
        }
    }
    fn store(value: bool) {
        PROCESS.0.refuses_moved_state.set(value);
    }
}

struct PublicKeysFileSetting;
impl TextSetting for PublicKeysFileSetting {
    const NAME: &'static CStr = c"flakeid.public_keys_file";
    const HIDDEN: bool = true;
    type Value = String;
    fn read(value: &str) -> Result<String, String> {
        Ok(value.into())
    }
    fn store(value: String) {
        // A parallel worker has the keys of the postmaster. PostgreSQL would take them away with
        // the built-in default, before it sets the leader's value.
        if !(is_taking_over() && PROCESS.0.preloaded.get()) {
            public_keys::set_file(&value);
        }
    }
}

struct NotifyDatabasesSetting;
impl TextSetting for NotifyDatabasesSetting {
    const NAME: &'static CStr = c"flakeid.notify_databases";
    type Value = Vec<String>;
    fn read(value: &str) -> Result<Vec<String>, String> {
        names::read(value)
    }
    fn store(value: Vec<String>) {
        *PROCESS.0.notify_databases.borrow_mut() = value;
    }
}

struct ClusterIdSetting;
impl NumberSetting for ClusterIdSetting {
    const NAME: &'static CStr = c"flakeid.cluster_id";
    fn store(value: i32) {
        PROCESS.0.cluster_id.set(value.max(0) as u64);
    }
}

numbers! {
    MaxClockWaitSetting c"flakeid.max_clock_wait"
    HorizonLeadSetting c"flakeid.horizon_lead"
    AllowableDowntimeSetting c"flakeid.allowable_downtime"
    NotifyIntervalSetting c"flakeid.notify_interval"
    StandbyWatermarkIntervalSetting c"flakeid.standby_watermark_interval"
}

/// Defines all settings, once in a process.
pub fn define() {
    // SAFETY: reads a plain variable of PostgreSQL's.
    PROCESS.0.preloaded.set(unsafe { pg_sys::process_shared_preload_libraries_in_progress });
    PROCESS.0.defining.set(true);
    define_text::<GeneratorIdsSetting>(
        c"Generator IDs of this server.",
        c"Ranges and lists such as 0-7 or 16-31,40; hostname:N for N generator IDs from N times \
          the number at the end of the host name; etcd:N to lease N; or none, to generate no IDs. \
          Two servers that generate IDs for one set of data must not share a generator ID.",
        &GENERATOR_IDS,
    );
    epoch::define();
    define_text::<SnoSequenceSetting>(
        c"Range of sno sequence numbers that this server may use.",
        c"A range such as 0-32767. Servers may share a generator ID if their ranges do not \
          overlap.",
        &SNO_SEQUENCE,
    );
    define_text::<GuidNodeSetting>(
        c"Node in the guids of this server.",
        c"A number of 32 bits, or a name, which is hashed. Empty for a random number kept in the \
          state file.",
        &GUID_NODE,
    );
    define_text::<InterfaceSetting>(
        c"Network interface whose MAC address is the worker in the flake128s of this server.",
        c"A name or a MAC address. Empty for the first physical interface, or a random address \
          kept in the state file if there is no such interface.",
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
        c"While IDs are generated, the state file is written at least once in this time. After a \
          crash the server may wait this long for its first ID.",
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
    define_text::<MovedStateSetting>(
        c"What happens if another host or data directory wrote the state last.",
        c"log writes a line to the server's log. With error the server generates no IDs until the \
          setting is log.",
        &MOVED_STATE,
    );
    define_text::<PublicKeysFileSetting>(
        c"File with the keys for the public form of IDs.",
        c"A version and 64 hexadecimal digits on each line. The first key encrypts, all of them \
          decrypt. Only the server's user may be able to read the file.",
        &PUBLIC_KEYS_FILE,
    );
    define_text::<NotifyDatabasesSetting>(
        c"Databases in which flakeid announces the watermark by NOTIFY.",
        c"Names with commas between them. A name with a comma, a space or an upper-case letter is \
          in double quotes.",
        &NOTIFY_DATABASES,
    );
    define_number::<NotifyIntervalSetting>(
        c"Least time between two notifications of the watermark in a database.",
        c"Nothing is sent while no transaction with IDs ends.",
        &NOTIFY_INTERVAL,
        (1, 60_000),
        GucFlags::UNIT_MS,
    );
    define_number::<StandbyWatermarkIntervalSetting>(
        c"Least time between two watermarks in the WAL, for readers on standbys.",
        c"0 writes none. While no transaction with IDs ends, one is written each second.",
        &STANDBY_WATERMARK_INTERVAL,
        (0, 60_000),
        GucFlags::UNIT_MS,
    );
    streams::define();
    #[cfg(feature = "etcd")]
    etcd::define();
    PROCESS.0.defining.set(false);
    // SAFETY: the call reads a static string.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"flakeid".as_ptr()) };
    for invalid in PROCESS.0.invalid.borrow().iter() {
        let InvalidSetting { setting, value, reason, hidden } = invalid;
        let message = match hidden {
            true => format!("invalid value for parameter \"{setting}\""),
            false => format!("invalid value for parameter \"{setting}\": \"{value}\""),
        };
        // If the library was not preloaded, a session that loads it gets the warning.
        let reason = match error::may_see_details() {
            true => reason.as_str(),
            false => {
                error::log(message.clone(), reason.clone());
                error::WITHHELD
            }
        };
        let detail = match is_of_generator_ids(invalid) {
            true => format!(
                "{reason} No flakes, snos and uniqueids are generated until it is corrected."
            ),
            false => format!("{reason} No IDs are generated until it is corrected."),
        };
        ereport!(WARNING, PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, detail);
    }
}
