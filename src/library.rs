//! Which build of the library this is, and that a server makes IDs by one alone.
//!
//! Uniqueness rests on one shared struct for all processes of a server, and on all of them reading it
//! alike. Two builds of the library can meet in one server in three ways:
//! * in one process: one is preloaded, and a function's SQL names another file. The second would have no
//!   struct, or a second one. So each says in a variable that all libraries of a process see that it is
//!   there ([`register`]); whoever finds another there raises an error instead of coming up.
//! * in two processes, where nothing is preloaded (PostgreSQL 17 and later): the package was changed while
//!   sessions go on with what they had loaded. They meet in the named segment, which therefore begins with
//!   the [`Build`] that made it, at a place and in a size that no version changes; who is of another build
//!   gets an error until the server, and with it the segment, begins anew. Another build is also the same
//!   version by another compiler, which may lay the same fields out in another order.
//! * a library and SQL of different versions: an older SQL finds all that it names, as no function is ever
//!   taken away; a newer one says what it needs before it names anything
//!   (`flakeid_require_library`, the first statement of its scripts).

use crate::error::{OrRaise, Report};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, c_void};

/// A build of the library: its version, a plus sign, what `build.rs` makes of all that it is built from, and
/// NULs. The same in all versions from 0.6.0 on.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build([u8; 32]);

/// The one place where the library has its version: a test makes another version by writing over it.
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
    /// This one.
    pub fn this() -> &'static Self {
        // Not known to the compiler, so that it is read where it is kept.
        std::hint::black_box(&BUILD)
    }

    /// As `0.6.0+0123456789abcdef`.
    pub fn name(&self) -> &str {
        let name = CStr::from_bytes_until_nul(&self.0);
        name.ok().and_then(|name| name.to_str().ok()).unwrap_or("?")
    }
}

/// This library's version.
pub fn version() -> &'static str {
    Build::this().name().split('+').next().unwrap_or("?")
}

/// Says to others that come into this process that this library is there.
///
/// # Errors
/// Another one is there. It stays as it is, and this one must not come up.
pub fn register() -> Result<(), Report> {
    let this = (&raw const BUILD).cast_mut().cast::<c_void>();
    // SAFETY: PostgreSQL keeps the variable for as long as the process lasts. Who sets it (only this
    // function, of any version) points it to a build in a library, which is never unloaded.
    unsafe {
        let variable = pg_sys::find_rendezvous_variable(c"flakeid".as_ptr());
        let there = *variable;
        // It is there already where something went wrong after this, and PostgreSQL tries again.
        if there.is_null() || there == this {
            *variable = this;
            return Ok(());
        }
        Err(another(*there.cast::<Build>()))
    }
}

/// A version as a thing to compare: a candidate counts as the release that it is for.
fn ordinal(version: &str) -> [u32; 3] {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

/// Nothing, where the library is of this version or a later one.
#[pg_extern(sql = false)]
fn flakeid_require_library(version: &str) {
    let outcome = match ordinal(self::version()) >= ordinal(version) {
        true => Ok(()),
        false => Err(older(version)),
    };
    outcome.or_raise();
}

fn another(other: Build) -> Report {
    Report::wrong_state("another flakeid library is already loaded")
        .detail(format!(
            "The loaded library is {} from another file; this one is {}.",
            other.name(),
            Build::this().name()
        ))
        .hint(
            "\"shared_preload_libraries\", \"session_preload_libraries\" and the extension's functions \
             must name the same file. Write flakeid without a path, and restart the server.",
        )
}

fn older(needed: &str) -> Report {
    Report::wrong_state(format!(
        "the loaded flakeid library has version {}, but this SQL needs {needed}",
        version()
    ))
    .hint("Install the library of that version and restart the server. Nothing has been changed.")
}
