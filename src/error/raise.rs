//! How an error reaches a session: it is raised, or left with a caller that can take it softly.
//! Details that only operators may read are withheld here, and go to the server's log.

use super::report::Report;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::cell::Cell;

/// The detail that an ordinary user reads instead of a confidential one.
pub const WITHHELD: &str = "The server's log has the details.";

/// Returns whether the current user may see details of the server. A user with the privileges of
/// pg_monitor may read settings that others may not. PostgreSQL checks that user, too: in a
/// SECURITY DEFINER function the function's owner, and in a parallel worker the leader's user.
pub fn may_see_details() -> bool {
    // SAFETY: the first two calls read variables of this process. The third searches catalogs,
    // which is allowed within a transaction.
    unsafe {
        !pg_sys::IsUnderPostmaster
            || pg_sys::IsTransactionState()
                && pg_sys::has_privs_of_role(
                    pg_sys::GetUserId(),
                    pg_sys::Oid::from(pg_sys::ROLE_PG_MONITOR),
                )
    }
}

/// A function that writes the message of an error and its confidential detail into the server's
/// log.
pub type LogWithheld = fn(message: &str, detail: &str);

thread_local! {
    static LOG_WITHHELD: Cell<Option<LogWithheld>> = const { Cell::new(None) };
}

/// Sets the function that logs what an error withholds from a session's user. The library sets it
/// once, when a process loads it.
pub fn log_withheld_with(log: LogWithheld) {
    LOG_WITHHELD.set(Some(log));
}

impl Report {
    /// Returns the report for the current user. A withheld detail goes to the server's log.
    fn for_current_user(self) -> Self {
        match self.detail {
            Some(detail) if self.confidential && !may_see_details() => {
                if let Some(log) = LOG_WITHHELD.get() {
                    log(&self.message, &detail);
                }
                Self { detail: Some(WITHHELD.into()), ..self }
            }
            _ => self,
        }
    }

    /// Raises the report as an error.
    #[cold]
    pub fn raise(self) -> ! {
        self.send(PgLogLevel::ERROR);
        unreachable!("an error was reported and went on")
    }

    /// Sends the report to the session's client as a warning.
    #[cold]
    pub fn warn(self) {
        self.send(PgLogLevel::WARNING);
    }

    fn send(self, level: PgLogLevel) {
        let report = self.for_current_user();
        let mut error = ErrorReport::new(report.code, report.message, "flakeid");
        if let Some(detail) = report.detail {
            error = error.set_detail(detail);
        }
        if let Some(hint) = report.hint {
            error = error.set_hint(hint);
        }
        error.report(level);
    }

    /// Raises the report as an error, or leaves it with a caller that can take it softly, as input
    /// functions do since PostgreSQL 16 (`pg_input_is_valid`). In the second case it returns, and
    /// the function's answer is NULL.
    #[cold]
    pub fn raise_softly(self, fcinfo: pg_sys::FunctionCallInfo) {
        #[cfg(not(feature = "pg15"))]
        {
            // SAFETY: `fcinfo` is the call's own; its context is null or a node, which begins with
            // its tag.
            let (context, tag) = unsafe {
                let context = (*fcinfo).context;
                (context, context.as_ref().map(|node| node.type_))
            };
            if tag == Some(pg_sys::NodeTag::T_ErrorSaveContext) {
                return self.save(context);
            }
        }
        let _ = fcinfo;
        self.raise()
    }

    /// Saves the report in an `ErrorSaveContext`.
    #[cfg(not(feature = "pg15"))]
    fn save(self, context: *mut pg_sys::Node) {
        // pgrx has no bindings for these, as an ereport by hand can jump over Rust frames. Saving
        // into an ErrorSaveContext does not jump.
        unsafe extern "C-unwind" {
            fn errcode(code: std::ffi::c_int) -> std::ffi::c_int;
            fn errmsg(format: *const std::ffi::c_char, ...) -> std::ffi::c_int;
            fn errdetail(format: *const std::ffi::c_char, ...) -> std::ffi::c_int;
            fn errhint(format: *const std::ffi::c_char, ...) -> std::ffi::c_int;
        }
        let report = self.for_current_user();
        let text = |part: Option<String>| {
            part.and_then(|part| std::ffi::CString::new(part.replace('\0', " ")).ok())
        };
        let (message, detail, hint) =
            (text(Some(report.message)), text(report.detail), text(report.hint));
        let format = c"%s".as_ptr();
        // SAFETY: `context` is an ErrorSaveContext; errsave_start says whether details are wanted,
        // and only then the other functions are called; every format takes one string.
        unsafe {
            if !pg_sys::errsave_start(context, std::ptr::null()) {
                return;
            }
            errcode(report.code as std::ffi::c_int);
            if let Some(message) = &message {
                errmsg(format, message.as_ptr());
            }
            if let Some(detail) = &detail {
                errdetail(format, detail.as_ptr());
            }
            if let Some(hint) = &hint {
                errhint(format, hint.as_ptr());
            }
            pg_sys::errsave_finish(context, c"error.rs".as_ptr(), 0, c"flakeid".as_ptr());
        }
    }
}

/// Raises an error, or returns the value.
pub trait OrRaise<T> {
    /// Returns the value, or raises the error.
    fn or_raise(self) -> T;
}

impl<T, F: Into<Report>> OrRaise<T> for Result<T, F> {
    #[inline]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(failure) => failure.into().raise(),
        }
    }
}

/// Writes a line to the server's log alone. The session's client does not get it even if the
/// session has set `client_min_messages` to `log`: the line may contain what the session's user
/// must not see.
pub fn log(message: String, detail: String) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = ErrorReport::new(code, message, "flakeid");
    if !detail.is_empty() {
        report = report.set_detail(detail);
    }
    report.report(PgLogLevel::LOG_SERVER_ONLY);
}
