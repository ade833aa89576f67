//! The view `flakeid_readiness`: whether this server can generate IDs now, and if not, why.

use crate::error::Report;
use crate::generator::Readiness;
use crate::types::SQL_ID_TYPES;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Returns a row for each ID type. A standby has no rows: it generates no IDs, and nothing is wrong
/// with that.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn flakeid_get_readiness() -> TableIterator<
    'static,
    (
        name!(id_type, &'static str),
        name!(used, Option<bool>),
        name!(ready, bool),
        name!(sqlstate, Option<String>),
        name!(error, Option<String>),
        name!(detail, Option<String>),
        name!(hint, Option<String>),
    ),
> {
    // SAFETY: a call without preconditions.
    if unsafe { pg_sys::RecoveryInProgress() } {
        return TableIterator::new(std::iter::empty());
    }
    let rows = SQL_ID_TYPES.iter().filter_map(|entry| entry.readiness);
    TableIterator::new(rows.map(|readiness| {
        let Readiness { id_type, is_used, obstacle } = readiness();
        let sqlstate = obstacle.as_ref().map(Report::sqlstate);
        let is_ready = obstacle.is_none();
        let (error, detail, hint) = obstacle.map_or((None, None, None), |report| {
            let (message, detail, hint) = report.texts();
            (Some(message), detail, hint)
        });
        (id_type, is_used, is_ready, sqlstate, error, detail, hint)
    }))
}
