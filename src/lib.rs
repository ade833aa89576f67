//! flakeid: k-ordered, decentralised IDs made where the rows are made.
//!
//! What can be true without PostgreSQL is in the crate `flakeid-core`; this one links it to a server.
//!
//! # Floors
//! A file takes names from files of its own floor and of lower ones, and never in a circle: `scripts/layers` checks it.
//!
//! | floor | what | files |
//! |---|---|---|
//! | 7 | what users see beside the types | [`views`], [`planner`] |
//! | 6 | the SQL functions of the ID types | [`types`] |
//! | 5 | the generator, which is the hot path | [`generator`] |
//! | 4 | leases of generator IDs | [`lease`] |
//! | 4 | the horizon: that no ID comes twice when memory is lost | [`horizon`] |
//! | 3 | shared memory, made of parts | [`shmem`] |
//! | 2 | the server as plain data: its settings, its names, its ID types, what it tells its log | [`guc`], [`identity`], [`id_types`], [`server_log`], [`library`] |
//! | 1 | tools that know nothing of flakeid | [`clock`], [`mod@error`], [`lock`], [`regular_file`], [`wait`] |
//!
//! [`lease`] stands above [`horizon`]: the leased gates are the server's own, capped.
//!
//! Functions are bare Rust here; their SQL, with volatility, strictness and comments, is in `sql/`. The Makefile, not
//! pgrx, makes the install script of it.

// No Rust program links this library: all its documentation is for those who work on it.
#![allow(rustdoc::private_intra_doc_links)]

use error::OrRaise;
use pgrx::prelude::*;

mod clock;
mod error;
mod generator;
mod guc;
mod horizon;
mod id_types;
mod identity;
mod lease;
mod library;
mod lock;
mod planner;
mod regular_file;
mod server_log;
mod shmem;
mod types;
mod views;
mod wait;

::pgrx::pg_module_magic!(name, version);

#[pg_guard]
extern "C-unwind" fn _PG_init() {
    library::register().or_raise();
    error::log_withheld_with(log_withheld);
    guc::define();
    // SAFETY: a plain variable of PostgreSQL's.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        horizon::register();
        lease::register();
        shmem::request(horizon::stop);
    }
}

/// Writes what an error kept from a session's user into the server's log.
fn log_withheld(message: &str, detail: &str) {
    let shared = shmem::shared().ok();
    server_log::withheld(shared.map(|shared| &shared.rate_limits), message, detail);
}
