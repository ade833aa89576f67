//! flakeid: k-ordered, decentralised IDs made where the rows are made.
//!
//! What can be true without PostgreSQL is in the crate `flakeid-core`; this one links it to a server.
//!
//! * [`generate`] is the hot path: it takes IDs from the cells in shared memory ([`shmem`]), waits
//!   for the next tick ([`wait`]), and asks [`clock`], the only reader of time.
//! * [`horizon`] sees to it that no ID comes twice when memory is lost: the argument is in its header.
//! * [`library`] sees to it that one build of this library alone is at work in a server.
//! * [`systems`] is the table of ID systems; what each needs of the hot path is in its type's file.
//! * [`guc`] holds the settings, [`identity`] says which generator IDs they come to,
//!   and leases them from etcd where that is wanted; the argument is in [`flakeid_core::lease`].
//! * [`stat`] shows what happens, [`note`] writes to the server's log what someone should look at.
//! * [`regular_file`] reads and creates files safely where something else stands in their place.
//! * [`planner`] is told how many rows a range of IDs or a time holds.
//! * [`types`] has one file a type: its SQL functions in the order of PostgreSQL's `uuid.c`.
//! * [`mod@error`] gives every error its SQLSTATE, message, detail and hint.
//!
//! Functions are bare Rust here; their SQL, with volatility, strictness and comments, is in `sql/`.

// No Rust program links this library: all its documentation is for those who work on it.
#![allow(rustdoc::private_intra_doc_links)]

use error::OrRaise;
use pgrx::prelude::*;

mod clock;
mod error;
mod generate;
mod guc;
mod horizon;
mod identity;
mod library;
mod note;
mod planner;
mod regular_file;
mod shmem;
mod stat;
mod systems;
mod types;
mod wait;

::pgrx::pg_module_magic!(name, version);

// In the order in which a fresh install runs them.
extension_sql_file!("../sql/library.sql", name = "library");
extension_sql_file!("../sql/planner.sql", name = "planner", requires = ["library"]);
extension_sql_file!("../sql/flake.sql", name = "flake", requires = ["planner"]);
extension_sql_file!("../sql/sno.sql", name = "sno", requires = ["flake"]);
extension_sql_file!("../sql/flake128.sql", name = "flake128", requires = ["sno"]);
extension_sql_file!("../sql/guid_local.sql", name = "guid_local", requires = ["flake128"]);
extension_sql_file!("../sql/guid.sql", name = "guid", requires = ["guid_local"]);
extension_sql_file!("../sql/uniqueid.sql", name = "uniqueid", requires = ["guid"]);
extension_sql_file!("../sql/index_support.sql", name = "index_support", requires = ["uniqueid"]);
extension_sql_file!(
    "../sql/partition_bounds.sql",
    name = "partition_bounds",
    requires = ["index_support"]
);
extension_sql_file!("../sql/stat.sql", name = "stat", requires = ["partition_bounds"]);
extension_sql_file!("../sql/horizon.sql", name = "horizon", requires = ["stat"]);
extension_sql_file!("../sql/lease.sql", name = "lease", requires = ["horizon"]);

#[pg_guard]
extern "C-unwind" fn _PG_init() {
    library::register().or_raise();
    guc::define();
    shmem::request_if_preloaded();
}
