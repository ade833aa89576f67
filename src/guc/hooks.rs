//! The definition of a setting, and the hooks that PostgreSQL calls when it gets a value.

use super::process::{InvalidSetting, NumberSetting, PROCESS, TextSetting};
use super::server_wide;
use pgrx::prelude::*;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use std::ffi::{CStr, CString, c_char, c_void};

/// Defines a setting that is a number.
pub(super) fn define_number<N: NumberSetting>(
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    (min, max): (i32, i32),
    unit: GucFlags,
) {
    let flags = unit | flags();
    // SAFETY: both hooks are guarded against panics.
    server_wide::define(N::NAME, || unsafe {
        GucRegistry::define_int_guc_with_hooks(
            N::NAME,
            short,
            long,
            setting,
            min,
            max,
            GucContext::Sighup,
            flags,
            Some(check_number::<N>),
            Some(assign_number::<N>),
            None,
        );
    });
}

/// Returns the flags of all settings.
fn flags() -> GucFlags {
    GucFlags::from_bits_retain(server_wide::ALLOW_IN_PARALLEL)
}

/// Defines a setting of text.
pub(super) fn define_text<S: TextSetting>(
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<Option<CString>>,
) {
    let flags = flags() | if S::HIDDEN { GucFlags::SUPERUSER_ONLY } else { GucFlags::empty() };
    // SAFETY: both hooks are guarded against panics.
    server_wide::define(S::NAME, || unsafe {
        GucRegistry::define_string_guc_with_hooks(
            S::NAME,
            short,
            long,
            setting,
            GucContext::Sighup,
            flags,
            Some(check::<S>),
            Some(assign::<S>),
            None,
        );
    });
}

/// Checks a number before PostgreSQL sets it.
#[pg_guard]
unsafe extern "C-unwind" fn check_number<N: NumberSetting>(
    _value: *mut i32,
    _extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    server_wide::admits(N::NAME, source)
}

/// Stores a number that PostgreSQL sets.
#[pg_guard]
unsafe extern "C-unwind" fn assign_number<N: NumberSetting>(value: i32, _extra: *mut c_void) {
    let name = N::NAME.to_str().unwrap_or_default();
    PROCESS.0.invalid.borrow_mut().retain(|invalid| invalid.setting != name);
    N::store(value);
    has_changed();
}

/// Notes that a setting has changed, and calls the functions for changes.
pub(super) fn has_changed() {
    PROCESS.0.version.set(PROCESS.0.version.get().wrapping_add(1).max(1));
    for function in PROCESS.0.after_change.borrow().iter() {
        function();
    }
}

/// Checks a text before PostgreSQL sets it.
#[pg_guard]
unsafe extern "C-unwind" fn check<S: TextSetting>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    if !server_wide::admits(S::NAME, source) {
        return false;
    }
    // SAFETY: PostgreSQL passes the new value, a string.
    let value = unsafe { CStr::from_ptr(*value) };
    let read = match value.to_str() {
        Ok(value) => S::read(value),
        Err(_) => Err("It is not valid UTF-8.".into()),
    };
    let reason = match read {
        Ok(_) if PROCESS.0.defining.get() || server_wide::is_taking_over() => return true,
        Ok(value) => match S::admit(&value, source) {
            Ok(()) => return true,
            Err(objection) => return refuse(objection.detail, Some(objection.hint)),
        },
        Err(reason) => reason,
    };
    // An invalid value that the setting has already comes again: at every reload, and into every
    // parallel worker.
    let known = |invalid: &InvalidSetting| {
        invalid.setting == S::name() && invalid.value.as_bytes() == value.to_bytes()
    };
    if PROCESS.0.defining.get() || PROCESS.0.invalid.borrow().iter().any(known) {
        return true;
    }
    refuse(reason, None)
}

/// Gives PostgreSQL the detail and the hint for a value that is refused, and returns the result of
/// the check.
fn refuse(detail: String, hint: Option<String>) -> bool {
    let string = |text: String| {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: these are the calls of the macro GUC_check_errdetail; the format takes one
        // string.
        unsafe {
            pg_sys::pre_format_elog_string(0, std::ptr::null());
            pg_sys::format_elog_string(c"%s".as_ptr(), text.as_ptr())
        }
    };
    let (detail, hint) = (string(detail), hint.map(string));
    // SAFETY: PostgreSQL reads these variables after the check; the strings live as long.
    unsafe {
        pg_sys::GUC_check_errdetail_string = detail;
        if let Some(hint) = hint {
            pg_sys::GUC_check_errhint_string = hint;
        }
    }
    false
}

/// Stores a text that PostgreSQL sets.
#[pg_guard]
unsafe extern "C-unwind" fn assign<S: TextSetting>(value: *const c_char, _extra: *mut c_void) {
    // SAFETY: PostgreSQL passes a string.
    let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
    let mut all = PROCESS.0.invalid.borrow_mut();
    all.retain(|invalid| invalid.setting != S::name());
    match S::read(&value) {
        Ok(value) => S::store(value),
        Err(reason) => {
            let (setting, value) = (S::name(), value.into_owned());
            all.push(InvalidSetting { setting, value, reason, hidden: S::HIDDEN });
        }
    }
    drop(all);
    has_changed();
}
