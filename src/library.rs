//! The build of this library, and the guarantee that a server generates IDs with one build alone.
//!
//! Uniqueness depends on one shared struct for all processes of a server, and on all of them
//! reading it alike. Two builds of the library can meet in one server in three ways:
//! * In one process: one is preloaded, and the SQL of a function names another file. The second
//!   library would have no struct, or a second one. So each library sets a variable that all
//!   libraries of a process can see ([`register`]). A library that finds the variable set by
//!   another one raises an error instead of starting.
//! * In two processes, if nothing is preloaded (PostgreSQL 17 and later): the package was changed
//!   while sessions continue with the library that they had loaded. They meet in the named segment.
//!   It begins with the [`Build`] that made it, at an offset and in a size that no version changes.
//!   A session with another build gets an error until the server restarts, and the segment with it.
//!   Another build can also be the same version by another compiler, which may lay the same fields
//!   out in another order.
//! * A library and SQL of different versions: an older SQL finds all that it names, as no function
//!   is ever removed. A newer SQL checks the library's version before it names anything
//!   (`flakeid_require_library`, the first statement of its scripts).

use crate::error::Report;
use pgrx::pg_sys;
use std::ffi::{CStr, c_void};

/// A build of the library: its version, a plus sign, a hash by `build.rs` of all that it is built
/// from, and NULs. It has this form in all versions from 0.6.0 on.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build([u8; 32]);

/// The only place where the library has its version: a test makes another version by writing over
/// it.
static BUILD: Build = {
    let mut bytes = [0; 32];
    let build = concat!(env!("CARGO_PKG_VERSION"), "+", env!("FLAKEID_BUILD")).as_bytes();
    assert!(build.len() < bytes.len());
    let mut at = 0;
    while at < build.len() {
        bytes[at] = build[at];
        at += 1;
    }
    Build(bytes)
};

impl Build {
    /// Returns the build of this library.
    pub fn this() -> &'static Self {
        // The compiler does not know the value, so that it is read from its place.
        std::hint::black_box(&BUILD)
    }

    /// Returns the build as text, such as `0.6.0+0123456789abcdef`.
    pub fn name(&self) -> &str {
        let name = CStr::from_bytes_until_nul(&self.0);
        name.ok().and_then(|name| name.to_str().ok()).unwrap_or("?")
    }
}

/// Returns this library's version.
pub fn version() -> &'static str {
    Build::this().name().split('+').next().unwrap_or("?")
}

/// Registers this library in this process, for other libraries that are loaded into it.
///
/// # Errors
/// Another one is registered. It stays registered, and this one must not start.
pub fn register() -> Result<(), Report> {
    let this = (&raw const BUILD).cast_mut().cast::<c_void>();
    // SAFETY: PostgreSQL keeps the variable as long as the process lives. Only this function sets
    // it, in any version, and points it to a build in a library, which is never unloaded.
    unsafe {
        let variable = pg_sys::find_rendezvous_variable(c"flakeid".as_ptr());
        let registered = *variable;
        // It is set already if an error came after this, and PostgreSQL tries again.
        if registered.is_null() || registered == this {
            *variable = this;
            return Ok(());
        }
        Err(another(*registered.cast::<Build>()))
    }
}

/// Returns a version in a form that can be compared: a candidate counts as the release that it is
/// for.
fn ordinal(version: &str) -> [u32; 3] {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

/// Checks that the library has this version or a later one.
///
/// # Errors
/// The library is older.
pub fn ensure_at_least(version: &str) -> Result<(), Report> {
    match ordinal(self::version()) >= ordinal(version) {
        true => Ok(()),
        false => Err(older(version)),
    }
}

fn another(other: Build) -> Report {
    Report::wrong_state("another flakeid library is already loaded")
        .detail(format!(
            "The loaded library is {} from another file; this one is {}.",
            other.name(),
            Build::this().name()
        ))
        .hint(
            "\"shared_preload_libraries\", \"session_preload_libraries\" and the extension's \
             functions must name the same file. Write flakeid without a path, and restart the \
             server.",
        )
}

fn older(needed: &str) -> Report {
    Report::wrong_state(format!(
        "the loaded flakeid library has version {}, but this SQL needs {needed}",
        version()
    ))
    .hint("Install the library of that version and restart the server. Nothing has been changed.")
}
