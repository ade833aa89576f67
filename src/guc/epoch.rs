//! The setting `flakeid.epoch`: how it is written, read and checked.
//!
//! Whether a server can use an epoch depends on its flakes, of which this floor knows nothing: see
//! [`check_epoch_with`].

use super::hooks::{define_text, has_changed};
use super::process::{EpochCheck, PROCESS, TextSetting, Veto, invalid_setting_of, unknown};
use super::server_wide;
use crate::error::{self, Report, timestamp};
use crate::process::is_parallel_worker;
use flakeid_core::clock::{UnixMicros, UnixNanos};
use flakeid_core::flake::Epoch;
use flakeid_formats::epoch::{self, Invalid, LEAST_MILLISECONDS};
use pgrx::GucSetting;
use pgrx::pg_sys::GucSource::{self, PGC_S_DEFAULT};
use std::ffi::{CStr, CString};

/// The default is the epoch of sno: with it flakes last until 2079.
static EPOCH: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(DEFAULT));
const DEFAULT: &CStr = c"2010-01-01";

pub(super) struct EpochSetting;

impl TextSetting for EpochSetting {
    const NAME: &'static CStr = c"flakeid.epoch";
    type Value = Epoch;
    fn read(value: &str) -> Result<Epoch, String> {
        parse(value.trim())
    }
    fn store(value: Epoch) {
        PROCESS.0.epoch.set(value);
    }
    fn admit(value: &Epoch, source: GucSource::Type) -> Result<(), Veto> {
        let check = PROCESS.0.epoch_check.get();
        check.map_or(Ok(()), |check| check(*value, source == PGC_S_DEFAULT))
    }
}

/// Sets the function with which this process, and those that it forks, check an epoch before they
/// set it.
pub fn check_epoch_with(check: EpochCheck) {
    PROCESS.0.epoch_check.set(Some(check));
}

/// Returns the epoch in force in this process, whether or not it is the server's.
pub fn epoch() -> Epoch {
    PROCESS.0.epoch.get()
}

/// Returns the server's epoch.
///
/// # Errors
/// This process does not know the server's epoch, or the epoch is invalid.
pub fn epoch_setting() -> Result<Epoch, Report> {
    if server_wide::is_unknown(EpochSetting::NAME) {
        return Err(unknown(EpochSetting::name()));
    }
    invalid_setting_of(EpochSetting::name()).map_or(Ok(epoch()), |invalid| Err(invalid.into()))
}

/// Returns the built-in default.
pub fn default_epoch() -> Epoch {
    DEFAULT.to_str().ok().and_then(|text| parse(text).ok()).unwrap_or(Epoch::UNIX)
}

/// Returns whether the server's configuration has an epoch. If not, the epoch is the built-in
/// default.
pub fn is_epoch_set() -> bool {
    server_wide::is_set(EpochSetting::NAME)
}

/// Lets a parallel worker use the epoch that its leader has kept, if the configuration has no epoch
/// any more. PostgreSQL sends a worker no setting that has no source. Returns false in other
/// processes, which keep their epoch.
pub fn adopt_epoch(epoch: UnixNanos) -> bool {
    let epoch = Epoch::from_micros(UnixMicros((epoch.0 / 1000) as i64));
    match epoch {
        Some(epoch) if is_parallel_worker() && !is_epoch_set() => {
            EpochSetting::store(epoch);
            has_changed();
            true
        }
        _ => false,
    }
}

/// Returns an epoch as the configuration has it.
pub fn epoch_value(epoch: UnixNanos) -> String {
    const DAY: u64 = 86_400_000_000_000;
    match epoch.0 {
        0 => "unix".into(),
        nanos => {
            let text = timestamp(UnixMicros((nanos / 1000) as i64)).to_string();
            match text.split_once('T') {
                Some((date, _)) if nanos % DAY == 0 => date.into(),
                _ => text,
            }
        }
    }
}

/// Parses the setting.
fn parse(value: &str) -> Result<Epoch, String> {
    epoch::parse(value).map_err(|invalid| match invalid {
        Invalid::Ambiguous => format!(
            "\"{value}\" could be a year, a date or seconds. Write a date such as 2020-01-01, or a \
             time such as 2020-01-01T00:00:00Z. Milliseconds since 1970 begin at \
             {LEAST_MILLISECONDS} here."
        ),
        Invalid::Unreadable => format!(
            "\"{value}\" is not \"unix\", milliseconds since 1970, a date such as 2020-01-01, or a \
             time such as 2020-01-01T00:00:00Z."
        ),
        Invalid::OutOfRange => {
            let last = error::moment(Epoch::MAX.micros());
            format!("The epoch must lie between 1970-01-01 00:00:00+00 and {last}.")
        }
    })
}

pub(super) fn define() {
    define_text::<EpochSetting>(
        c"Time from which flake counts milliseconds.",
        c"unix, a date, a time with its offset, or milliseconds since 1970. Do not change it once \
          IDs exist.",
        &EPOCH,
    );
}
