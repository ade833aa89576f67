//! What a process knows of the settings, and how a setting is described.

use crate::error::{Code, Report};
use flakeid_core::flake::Epoch;
use flakeid_core::generator_ids::Owned;
use flakeid_core::sno;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};

/// A bad value of a setting, there before this library was.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub setting: &'static str,
    pub value: String,
    pub reason: String,
    /// Whether PostgreSQL keeps the setting's value from ordinary users. Then no message has it.
    pub hidden: bool,
}

impl From<Refusal> for Report {
    fn from(Refusal { setting, value, reason, hidden }: Refusal) -> Self {
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

/// What this process knows of the settings. A backend is one thread.
pub(super) struct Process {
    /// Counts changes, so that the hot path sees one by one comparison. Never 0.
    pub(super) version: Cell<u32>,
    pub(super) owned: Cell<Option<Owned>>,
    /// Uniqueid's.
    pub(super) cluster_id: Cell<u64>,
    pub(super) epoch: Cell<Epoch>,
    pub(super) sno_sequence: Cell<(u32, u32)>,
    pub(super) guid_node: Cell<Option<u32>>,
    pub(super) worker: Cell<Option<u64>>,
    /// The settings whose value is bad.
    pub(super) refused: RefCell<Vec<Refusal>>,
    /// What is called after a setting has changed.
    pub(super) after_change: Cell<Option<fn()>>,
    /// Whether settings are being defined, and take what was there before.
    pub(super) defining: Cell<bool>,
    /// Whether the settings were defined at the server's start.
    pub(super) preloaded: Cell<bool>,
    /// The settings of which this process does not know the server's value.
    pub(super) unknown: RefCell<Vec<&'static CStr>>,
}

/// Lets a value live in a static of a process that has one thread.
pub(super) struct OneThread<T>(pub(super) T);
// SAFETY: PostgreSQL's processes run this library's code on their main thread alone; it starts no
// other, and pgrx panics when one calls in.
unsafe impl<T> Sync for OneThread<T> {}

pub(super) static PROCESS: OneThread<Process> = OneThread(Process {
    version: Cell::new(1),
    owned: Cell::new(None),
    cluster_id: Cell::new(0),
    epoch: Cell::new(Epoch::UNIX),
    sno_sequence: Cell::new((0, sno::SEQUENCE.max() as u32)),
    guid_node: Cell::new(None),
    worker: Cell::new(None),
    refused: RefCell::new(Vec::new()),
    after_change: Cell::new(None),
    defining: Cell::new(false),
    preloaded: Cell::new(false),
    unknown: RefCell::new(Vec::new()),
});

/// A setting of text: how it is read, and what is done with it.
pub(super) trait TextSetting {
    const NAME: &'static CStr;
    /// Whether ordinary users are not to see its value.
    const HIDDEN: bool = false;
    type Value;
    /// Reads a value; an invalid one gives the reason, as a sentence.
    fn read(value: &str) -> Result<Self::Value, String>;
    fn take(value: Self::Value);

    fn name() -> &'static str {
        Self::NAME.to_str().unwrap_or_default()
    }
}

/// A setting that is a number. PostgreSQL reads it and knows its bounds.
pub(super) trait NumberSetting {
    const NAME: &'static CStr;
    /// Is given each value before PostgreSQL's variable has it.
    fn take(_value: i32) {}
}

/// Keeps in mind that PostgreSQL did not take the server's value of a setting.
pub(super) fn refuse_number(name: &'static CStr, value: &CStr) {
    PROCESS.0.refused.borrow_mut().push(Refusal {
        setting: name.to_str().unwrap_or_default(),
        value: value.to_string_lossy().into_owned(),
        reason: "It is not a number within the bounds of the setting.".into(),
        hidden: false,
    });
}

/// Returns a setting's text.
pub(super) fn text(value: Option<CString>) -> String {
    value.unwrap_or_default().to_string_lossy().into_owned()
}

/// Names the settings that are numbers.
macro_rules! numbers {
    ($($setting:ident $name:literal)*) => {$(
        struct $setting;
        impl NumberSetting for $setting {
            const NAME: &'static CStr = $name;
        }
    )*};
}
pub(super) use numbers;
