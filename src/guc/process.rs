//! A process's knowledge of the settings, and the traits that describe a setting.

use crate::error::{Code, Report};
use flakeid_core::flake::Epoch;
use flakeid_core::generator_ids::GeneratorIdSource;
use flakeid_core::sno;
use pgrx::pg_sys::GucSource;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};

/// An invalid value of a setting, which the setting had before this library was loaded.
#[derive(Clone, Debug)]
pub struct InvalidSetting {
    pub setting: &'static str,
    pub value: String,
    pub reason: String,
    /// Whether PostgreSQL hides the setting's value from ordinary users. Then no message contains
    /// it.
    pub hidden: bool,
}

impl From<InvalidSetting> for Report {
    fn from(InvalidSetting { setting, value, reason, hidden }: InvalidSetting) -> Self {
        let report = match hidden {
            true => Self::new(
                Code::ERRCODE_CONFIG_FILE_ERROR,
                format!("parameter \"{setting}\" is invalid"),
            ),
            false => Self::new(
                Code::ERRCODE_CONFIG_FILE_ERROR,
                format!("parameter \"{setting}\" is invalid: \"{value}\""),
            ),
        };
        report.confidential(reason).hint("Correct the setting and reload the configuration.")
    }
}

/// The reason why a valid value is not accepted, and what to do.
#[derive(Clone, Debug)]
pub struct Veto {
    pub detail: String,
    pub hint: String,
}

/// Checks whether the server can count flakes from an epoch; the second argument says whether it is
/// the built-in default.
pub type EpochCheck = fn(Epoch, bool) -> Result<(), Veto>;

/// The values of the settings in this process. A backend has one thread.
pub(super) struct Process {
    /// The number of changes, so that one comparison shows a change. It is never 0.
    pub(super) version: Cell<u32>,
    pub(super) owned: Cell<Option<GeneratorIdSource>>,
    /// The uniqueid cluster.
    pub(super) cluster_id: Cell<u64>,
    pub(super) epoch: Cell<Epoch>,
    /// The function that checks an epoch before it is set.
    pub(super) epoch_check: Cell<Option<EpochCheck>>,
    pub(super) sno_sequence: Cell<(u32, u32)>,
    pub(super) guid_node: Cell<Option<u32>>,
    /// The MAC address of `flakeid.interface`.
    pub(super) mac_address: Cell<Option<u64>>,
    pub(super) refuses_moved_state: Cell<bool>,
    pub(super) notify_databases: RefCell<Vec<String>>,
    /// The names of streams that a call may use.
    pub(super) streams: RefCell<Vec<String>>,
    /// The settings whose value is invalid.
    pub(super) invalid: RefCell<Vec<InvalidSetting>>,
    /// The functions that are called after a setting has changed.
    pub(super) after_change: RefCell<Vec<fn()>>,
    /// Whether settings are being defined, and take the values that they had before.
    pub(super) defining: Cell<bool>,
    /// Whether the settings were defined at the server's start.
    pub(super) preloaded: Cell<bool>,
    /// The settings whose server-wide value this process does not know.
    pub(super) unknown: RefCell<Vec<&'static CStr>>,
}

/// A value in a static of a process that has one thread.
pub(super) struct OneThread<T>(pub(super) T);
// SAFETY: PostgreSQL's processes run this library's code on their main thread alone; it starts no
// other thread, and pgrx panics if one calls in.
unsafe impl<T> Sync for OneThread<T> {}

/// The settings of this process.
pub(super) static PROCESS: OneThread<Process> = OneThread(Process {
    version: Cell::new(1),
    owned: Cell::new(None),
    cluster_id: Cell::new(0),
    epoch: Cell::new(Epoch::UNIX),
    epoch_check: Cell::new(None),
    sno_sequence: Cell::new((0, sno::SEQUENCE.max() as u32)),
    guid_node: Cell::new(None),
    mac_address: Cell::new(None),
    refuses_moved_state: Cell::new(false),
    notify_databases: RefCell::new(Vec::new()),
    streams: RefCell::new(Vec::new()),
    invalid: RefCell::new(Vec::new()),
    after_change: RefCell::new(Vec::new()),
    defining: Cell::new(false),
    preloaded: Cell::new(false),
    unknown: RefCell::new(Vec::new()),
});

/// A setting of text: its name, how it is read, and where its value goes.
pub(super) trait TextSetting {
    const NAME: &'static CStr;
    /// Whether its value is hidden from ordinary users.
    const HIDDEN: bool = false;
    type Value;
    /// Reads a value; for an invalid one it returns the reason, as a sentence.
    fn read(value: &str) -> Result<Self::Value, String>;
    /// Stores a value.
    fn store(value: Self::Value);
    /// Checks whether this server accepts a valid value. PostgreSQL does not ask while settings are
    /// defined, nor in a parallel worker that takes its leader's settings: both must accept the
    /// value that exists.
    fn admit(_value: &Self::Value, _source: GucSource::Type) -> Result<(), Veto> {
        Ok(())
    }

    fn name() -> &'static str {
        Self::NAME.to_str().unwrap_or_default()
    }
}

/// A setting that is a number. PostgreSQL reads it and checks its bounds.
pub(super) trait NumberSetting {
    const NAME: &'static CStr;
    /// Stores a value before PostgreSQL's variable has it.
    fn store(_value: i32) {}
}

/// Notes that PostgreSQL did not accept the server's value of a setting.
pub(super) fn refuse_number(name: &'static CStr, value: &CStr) {
    PROCESS.0.invalid.borrow_mut().push(InvalidSetting {
        setting: name.to_str().unwrap_or_default(),
        value: value.to_string_lossy().into_owned(),
        reason: "It is not a number within the bounds of the setting.".into(),
        hidden: false,
    });
}

/// Returns the reason why the value of a setting is invalid.
pub(super) fn invalid_setting_of(setting: &str) -> Option<InvalidSetting> {
    PROCESS.0.invalid.borrow().iter().find(|invalid| invalid.setting == setting).cloned()
}

/// Constructs the error of a session that does not know the server's value of a setting.
pub(super) fn unknown(setting: &str) -> Report {
    Report::new(
        Code::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
        format!("this session does not know the server's value of \"{setting}\""),
    )
    .detail(
        "A value from the connection, the role or the database replaced it before the session \
         loaded flakeid.",
    )
    .hint(format!(
        "Remove \"{setting}\" from the connection's options, from ALTER ROLE ... SET and from \
         ALTER DATABASE ... SET, and connect again. The server's configuration is its only place."
    ))
}

/// Returns a setting's text.
pub(super) fn text(value: Option<CString>) -> String {
    value.unwrap_or_default().to_string_lossy().into_owned()
}

/// Defines the settings that are numbers.
macro_rules! numbers {
    ($($setting:ident $name:literal)*) => {$(
        struct $setting;
        impl NumberSetting for $setting {
            const NAME: &'static CStr = $name;
        }
    )*};
}
pub(super) use numbers;
