//! A session has the server's own values of the settings, or generates no IDs.
//!
//! If the library is not preloaded, a user can put a value of their own in place of the server's
//! before the session loads the library. The session then does not know which generator IDs are its
//! server's. So this module checks where each value comes from when the library defines its
//! settings. A setting is unknown if the server's value is lost.
//!
//! # Placeholders
//! If the library is not preloaded, a session has *placeholders* until it loads the library:
//! PostgreSQL keeps each name with its text, and every user may set it, in `PGOPTIONS`, by `SET`,
//! or by `ALTER ROLE` and `ALTER DATABASE`. The placeholder's reset value counts:
//! * One that comes from the configuration file, the command line or the environment is the
//!   server's.
//! * One that comes from the connection, the role or the database has replaced the server's, which
//!   this process has lost. When the library defines the setting, PostgreSQL refuses that value
//!   with a warning, and the built-in default remains: maybe the generator IDs of another server.
//!   No later reload tells the server's value either, as the command line has precedence over the
//!   file.
//! * `SET` leaves the reset value as it is, so it does no harm.
//!
//! PostgreSQL may refuse a value of the server's, such as a number that is too large. That leaves
//! the built-in default, too. The setting is then [invalid](super::refusals), until a reload
//! corrects it.
//!
//! So [`define`] looks at each placeholder before it becomes a setting. If the server's value is
//! lost, the setting becomes [unknown](is_unknown) and stays at its built-in default: [`admits`]
//! refuses all other values. The session generates no IDs until it ends.
//!
//! # Parallel workers
//! A parallel worker generates no IDs. But it reads flakes, and computes the IDs of times, for
//! which it needs the server's values. It gets its leader's settings in two steps. PostgreSQL
//! resets all to their built-in defaults, and then sets those for which the leader has another
//! value. A setting that is unknown in the leader has the default there, so PostgreSQL never sends
//! it. So in a worker a reset makes the setting unknown, and a value of the server's that follows
//! makes it known again.
//!
//! In two cases a setting is unknown although the server has its value. If a reload has added a
//! setting that the leader has not seen yet, the leader does not send it. If a worker loads the
//! library later, in the middle of a function, it finds the leader's placeholders. The reset value
//! of one that a `SET` has changed is not there. Such workers compute no IDs.
//!
//! # During a parallel operation
//! PostgreSQL sets nothing then, not even the server's value of a placeholder. In minor versions
//! that have the flag `GUC_ALLOW_IN_PARALLEL`, it allows that. In others a second call sets the
//! value, as an action that is always allowed.

use super::process::{PROCESS, refuse_number};
use crate::process::is_parallel_worker;
use pgrx::pg_sys;
use pgrx::pg_sys::GucSource::{self, PGC_S_ARGV, PGC_S_DEFAULT};
use std::ffi::{CStr, CString, c_int};

/// Lets PostgreSQL set a setting during a parallel operation. No session can: all settings are the
/// server's.
pub(super) const ALLOW_IN_PARALLEL: c_int = pg_sys::GUC_ALLOW_IN_PARALLEL as c_int;

/// The origin of a setting's values, or of those of the placeholder in its place.
struct Origin {
    /// The source of the present value.
    value: GucSource::Type,
    /// The source of the value that `RESET` restores, and the privileges with which it was set.
    reset: GucSource::Type,
    reset_context: pg_sys::GucContext::Type,
}

impl Origin {
    /// Returns the origin of the setting or placeholder with this name; `None` if neither exists.
    fn of(name: &CStr) -> Option<Self> {
        // SAFETY: the record is in PostgreSQL's table of settings, where it stays at least until
        // the next change.
        let record = unsafe { find(name).as_ref() }?;
        Some(Self {
            value: record.source,
            reset: record.reset_source,
            reset_context: record.reset_scontext,
        })
    }
}

#[cfg(not(feature = "pg15"))]
fn find(name: &CStr) -> *mut pg_sys::config_generic {
    // SAFETY: the name is a string; the call creates nothing, and raises no error.
    unsafe { pg_sys::find_option(name.as_ptr(), false, true, 0) }
}

#[cfg(feature = "pg15")]
fn find(name: &CStr) -> *mut pg_sys::config_generic {
    // SAFETY: PostgreSQL's array of settings has as many records as it says, each with its name.
    unsafe {
        let count = pg_sys::GetNumConfigOptions() as usize;
        let records = std::slice::from_raw_parts(pg_sys::get_guc_variables(), count);
        let has_name =
            |record: &&*mut pg_sys::config_generic| CStr::from_ptr((***record).name) == name;
        records.iter().find(has_name).copied().unwrap_or(std::ptr::null_mut())
    }
}

/// Returns whether values from this source are the server's own.
fn is_server_wide(source: GucSource::Type) -> bool {
    source > PGC_S_DEFAULT && source <= PGC_S_ARGV
}

/// Returns whether the server's configuration has a value of a setting: a file, the command line or
/// the environment. It does not count whether a session has replaced that value.
pub(super) fn is_set(name: &CStr) -> bool {
    Origin::of(name).is_some_and(|origin| origin.value != PGC_S_DEFAULT)
}

/// Returns whether this process initializes itself as a parallel worker. It takes its leader's
/// settings as they are.
pub(super) fn is_taking_over() -> bool {
    // SAFETY: reads a plain variable of PostgreSQL's.
    unsafe { pg_sys::InitializingParallelWorker }
}

/// Returns whether this process does not know the server's value of a setting.
pub(super) fn is_unknown(name: &CStr) -> bool {
    PROCESS.0.unknown.borrow().contains(&name)
}

fn set_unknown(name: &'static CStr, is_unknown: bool) {
    let mut unknown = PROCESS.0.unknown.borrow_mut();
    unknown.retain(|&other| other != name);
    if is_unknown {
        unknown.push(name);
    }
}

/// Defines a setting by `define`, and finds out whether it then has the server's value.
pub(super) fn define(name: &'static CStr, define: impl FnOnce()) {
    let before = Origin::of(name);
    let value = before.as_ref().filter(|before| is_server_wide(before.reset)).map(|_| {
        // SAFETY: the name is that of a placeholder, which PostgreSQL lets every user read; the
        // text is copied.
        unsafe { CString::from(CStr::from_ptr(pg_sys::GetConfigOptionResetString(name.as_ptr()))) }
    });
    define();
    let Some(before) = before else { return };
    if let Some(value) = value
        && !has_value(name, &value, &before)
    {
        refuse_number(name, &value);
    }
    let replaced = before.reset > PGC_S_ARGV
        || is_parallel_worker() && before.reset == PGC_S_DEFAULT && before.value > PGC_S_ARGV;
    if replaced {
        set_unknown(name, true);
    }
}

/// Returns whether a setting has the server's value. If PostgreSQL could not set it because of a
/// parallel operation, this sets it first.
fn has_value(name: &CStr, value: &CStr, before: &Origin) -> bool {
    let has_value = || Origin::of(name).is_some_and(|now| now.reset == before.reset);
    // SAFETY: the calls get strings. By its source the value becomes the reset value, and then the
    // action has no meaning but that it is allowed. An invalid value is ignored without an error.
    unsafe {
        if !has_value() && pg_sys::IsInParallelMode() {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                before.reset_context,
                before.reset,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                pg_sys::DEBUG1 as c_int,
                true,
            );
        }
    }
    has_value()
}

/// Returns whether a setting may take a valid value from this source. Each check of a value asks
/// this. If the library was preloaded there is nothing to check: no placeholder of a session stood
/// before the setting.
pub(super) fn admits(name: &'static CStr, source: GucSource::Type) -> bool {
    if PROCESS.0.defining.get() || PROCESS.0.preloaded.get() {
        return true;
    }
    match is_parallel_worker() {
        true if source == PGC_S_DEFAULT => set_unknown(name, true),
        true if is_server_wide(source) => set_unknown(name, false),
        _ => {}
    }
    source == PGC_S_DEFAULT || !is_unknown(name)
}
