//! What the core costs in process, without a database: the next ID of each system with one and two
//! threads ([`ids`]), and taking an ID apart and writing it as text ([`text`]). Each says there what its
//! numbers mean.
//!
//! `cargo bench -p flakeid-core --bench speed` runs all of it in 40 seconds; `-- Guid` after that runs
//! what has this in its name, `-- million` the next ID of all systems. On a machine that does other things
//! meanwhile believe the column `fastest`, and with two threads not even that unless `Clock` with two
//! takes half of its time with one: then each had a processor of its own.

#[cfg(not(loom))]
mod ids;
#[cfg(not(loom))]
mod text;

#[cfg(not(loom))]
fn main() {
    divan::main();
}

/// loom's atomics work in a model of it alone; there is nothing to time.
#[cfg(loom)]
fn main() {}
