//! The scripts that install and update the extension's SQL, and what they need of the library and
//! of the server.
//!
//! Every script begins with a call of `flakeid_require_library`, in all versions. While PostgreSQL
//! runs a script, the call also does what an installation and an update have to do on the server:
//! * The installation creates the state, if the server is on a later WAL timeline and has none: see
//!   [`horizon::begin_with_extension`].
//! * The update from 0.6 is the last moment at which the database shows that it was made with 0.6.
//!   So it looks whether the epoch of its flakes is known: see rule 4 of `horizon::epoch`.

use crate::catalog::{self, Catalog};
use crate::error::{OrRaise, Report, quoted};
use crate::{horizon, library};
use pgrx::prelude::*;

/// The version whose default epoch is no longer 1970. Each update from an earlier one runs the
/// script that leads to it.
const LATER_EPOCH: &str = "0.7.0";

/// Whether objects of users need a function of flakes, by PostgreSQL's dependencies or by the text
/// of a function.
const USES_FLAKES: &str = include_str!("uses_flakes.sql");

/// Does nothing in a session if the library has this version or a later one. In a script it does
/// what the script needs.
///
/// # Errors
/// The library is older; the files of the server cannot be read or written; or the epoch of flakes
/// of 0.6 is unknown.
#[pg_extern(sql = false)]
fn flakeid_require_library(version: &[u8]) {
    let version = &*quoted(version);
    library::ensure_at_least(version).and_then(|()| prepare(version)).or_raise();
}

fn prepare(version: &str) -> Result<(), Report> {
    // SAFETY: reads a plain variable of PostgreSQL's.
    if !unsafe { pg_sys::creating_extension } {
        return Ok(());
    }
    match catalog::sql_version(Catalog::WithoutOwnChanges) {
        None => horizon::begin_with_extension(),
        Some(before) if version == LATER_EPOCH && horizon::is_epoch_unknown() => {
            let report = horizon::unknown_epoch(&before);
            match Spi::get_one::<bool>(USES_FLAKES) {
                Ok(Some(false)) => report.warn(),
                _ => return Err(report),
            }
            Ok(())
        }
        Some(_) => Ok(()),
    }
}
