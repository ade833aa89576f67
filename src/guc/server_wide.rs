//! A session goes by the server's own values of the settings, or makes no IDs.
//!
//! Where the library is not preloaded, a session has *placeholders* until it loads the library: PostgreSQL
//! keeps each name with its text, and every user may set it, in `PGOPTIONS`, by `SET`, or by `ALTER ROLE` and
//! `ALTER DATABASE`. What counts is the placeholder's reset value:
//! * One that comes from the configuration file, the command line or the environment is the server's.
//! * One that comes from the connection, the role or the database has replaced the server's, which this
//!   process has lost. When the library defines the setting, PostgreSQL refuses that value with a warning, and
//!   the built-in default remains: the generator IDs of another server, maybe. No later reload tells the server's
//!   value either, as the command line stands above the file.
//! * `SET` leaves the reset value as it is, so it does no harm.
//!
//! A value of the server's that PostgreSQL does not take, as a number that is too large, leaves the built-in default,
//! too. The setting is then [invalid](super::refusal), until a reload sets it right.
//!
//! So [`define`] looks at each placeholder before it becomes a setting. Where the server's value is lost, the
//! setting is marked as [unknown](is_unknown), and stays at its built-in default: [`admits`] refuses all else. The
//! session makes no IDs until it ends.
//!
//! # Parallel workers
//! A parallel worker takes over its leader's settings, in two steps: PostgreSQL resets all to their built-in
//! defaults, and sets those that the leader has another value of. What the leader does not know stays at the
//! default, so it is never sent: here a reset marks the setting, and a value of the server's that follows takes
//! the mark away. (A leader that has not seen a reload yet, which brought a setting that was not there before, does not
//! send it either. Such a worker makes no IDs, though it might.) A worker that loads the library later, in the middle of a function, finds the leader's placeholders,
//! without the reset value of one that a `SET` has changed: that is lost, too.
//!
//! # During a parallel operation
//! PostgreSQL sets nothing then, not even the server's value of a placeholder. The flag `GUC_ALLOW_IN_PARALLEL`
//! lets it, in the minor versions that have it; in others the value is set by a second call, as an action
//! that is always allowed.

use super::process::{PROCESS, refuse_number};
use pgrx::pg_sys;
use pgrx::pg_sys::GucSource::{self, PGC_S_ARGV, PGC_S_DEFAULT};
use std::ffi::{CStr, CString, c_int};

/// Lets PostgreSQL set a setting during a parallel operation. No session can: all settings are the server's.
pub(super) const ALLOW_IN_PARALLEL: c_int = pg_sys::GUC_ALLOW_IN_PARALLEL as c_int;

/// What a setting, or the placeholder in its place, says of where its values come from.
struct Origin {
    /// Where the present value comes from.
    value: GucSource::Type,
    /// Where the value comes from that `RESET` brings back, and on whose authority.
    reset: GucSource::Type,
    reset_context: pg_sys::GucContext::Type,
}

impl Origin {
    /// `None` where there is neither a setting nor a placeholder of this name.
    fn of(name: &CStr) -> Option<Self> {
        // SAFETY: PostgreSQL's table of settings, in which a record lasts at least until the next change.
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
    // SAFETY: the name is a string; it creates nothing, and raises no error.
    unsafe { pg_sys::find_option(name.as_ptr(), false, true, 0) }
}

#[cfg(feature = "pg15")]
fn find(name: &CStr) -> *mut pg_sys::config_generic {
    // SAFETY: PostgreSQL's array of settings has as many as it says, each with its name.
    unsafe {
        let count = pg_sys::GetNumConfigOptions() as usize;
        let records = std::slice::from_raw_parts(pg_sys::get_guc_variables(), count);
        let has_name =
            |record: &&*mut pg_sys::config_generic| CStr::from_ptr((***record).name) == name;
        records.iter().find(has_name).copied().unwrap_or(std::ptr::null_mut())
    }
}

/// Whether values from here are the server's own.
fn is_server_wide(source: GucSource::Type) -> bool {
    source > PGC_S_DEFAULT && source <= PGC_S_ARGV
}

fn in_parallel_worker() -> bool {
    // SAFETY: a variable of this process, set before it loads any library for its leader.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// Whether this process does not know the server's value of a setting.
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
        // SAFETY: the name of a placeholder, which PostgreSQL lets everyone read; the text is copied.
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
        || in_parallel_worker() && before.reset == PGC_S_DEFAULT && before.value > PGC_S_ARGV;
    if replaced {
        set_unknown(name, true);
    }
}

/// Whether a setting has the server's value. Where PostgreSQL could not set it, since a parallel operation is under
/// way, it is set now.
fn has_value(name: &CStr, value: &CStr, before: &Origin) -> bool {
    let has_value = || Origin::of(name).is_some_and(|now| now.reset == before.reset);
    // SAFETY: calls with strings. By its source the value becomes the reset value, and then the action has no
    // meaning but that it is allowed. A bad value is passed over without an error.
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

/// Whether a setting takes a value that is good by itself, from this source. Each check of a value asks this. Where
/// the library was preloaded there is nothing to ask: no placeholder of a session stood before the setting.
pub(super) fn admits(name: &'static CStr, source: GucSource::Type) -> bool {
    if PROCESS.0.defining.get() || PROCESS.0.preloaded.get() {
        return true;
    }
    match in_parallel_worker() {
        true if source == PGC_S_DEFAULT => set_unknown(name, true),
        true if is_server_wide(source) => set_unknown(name, false),
        _ => {}
    }
    source == PGC_S_DEFAULT || !is_unknown(name)
}
