//! flakeid: time-ordered unique IDs, generated inside PostgreSQL.
//!
//! The crate `flakeid-core` has all that can be true without PostgreSQL. This crate connects it to
//! a server.
//!
//! # Floors
//! A file takes names from files of its own floor and of lower ones, and never in a circle:
//! `scripts/layers` checks it.
//!
//! | floor | what | files |
//! |---|---|---|
//! | 7 | what users see beside the types | [`extension`], [`views`], [`planner`], [`partitions`] |
//! | 6 | the SQL functions of the ID types | [`types`] |
//! | 6 | COPY inserts many rows at once, with IDs as defaults | [`copy_from`] |
//! | 5 | the generator, which is the hot path | [`generator`] |
//! | 4 | leases of generator IDs | [`lease`] |
//! | 4 | the horizon: no ID repeats when memory is lost | [`horizon`] |
//! | 4 | the watermark: a reader in ID order misses no row | [`watermark`] |
//! | 3 | shared memory, made of parts | [`shmem`] |
//! | 2 | the server as plain data: its settings, its names, its ID types, its lines in the log, its keys | [`guc`], [`identity`], [`id_types`], [`server_log`], [`library`], [`public_keys`] |
//! | 1 | tools that know nothing of flakeid | [`catalog`], [`clock`], [`mod@error`], [`lock`], [`nodes`], [`process`], [`random`], [`regular_file`], [`timestamp`], [`wait`], [`wal_message`], [`wal_timeline`] |
//!
//! [`lease`] and [`watermark`] stand above [`horizon`]: the leased gates are the server's own
//! gates, limited by the lease, and a watermark is covered by the horizon as an ID is.
//!
//! Functions are plain Rust here; their SQL, with volatility, strictness and comments, is in
//! `sql/`. The Makefile, not pgrx, makes the install script of it.

// No Rust program links this library: all its documentation is for its developers.
#![allow(rustdoc::private_intra_doc_links)]

use error::OrRaise;
use pgrx::prelude::*;

mod catalog;
mod clock;
mod copy_from;
mod error;
mod extension;
mod generator;
mod guc;
mod horizon;
mod id_types;
mod identity;
mod lease;
mod library;
mod lock;
mod nodes;
mod partitions;
mod planner;
mod process;
mod public_keys;
mod random;
mod regular_file;
mod server_log;
mod shmem;
mod timestamp;
mod types;
mod views;
mod wait;
mod wal_message;
mod wal_timeline;
mod watermark;

::pgrx::pg_module_magic!(name, version);

/// Initializes the library when a process loads it.
#[pg_guard]
extern "C-unwind" fn _PG_init() {
    library::register().or_raise();
    error::log_withheld_with(log_withheld);
    horizon::watch_epoch();
    guc::define();
    watermark::register();
    // SAFETY: reads a plain variable of PostgreSQL's.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        horizon::register();
        lease::register();
        watermark::register_replay();
        watermark::register_publisher();
        shmem::request(horizon::stop);
    }
}

/// Writes into the server's log what an error withheld from a session's user.
fn log_withheld(message: &str, detail: &str) {
    let shared = shmem::shared().ok();
    server_log::withheld(shared.map(|shared| &shared.rate_limits), message, detail);
}
