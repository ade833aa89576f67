//! The cost of the core in process, without a database: the next ID of each ID type with one and
//! two threads ([`ids`]), and taking an ID apart and writing it as text ([`text`]). Each module
//! says how to read its numbers.
//!
//! `cargo bench -p flakeid-core --bench speed` runs all benches in 40 seconds. With `-- Guid` after
//! that it runs those with this in their name, and with `-- million` the next ID of all ID types.
//! On a machine with other work believe the column `fastest`. With two threads believe not even
//! that, unless `Clock` with two takes half of its time with one: then each thread had a processor
//! of its own.

#[cfg(not(loom))]
mod ids;
#[cfg(not(loom))]
mod text;

#[cfg(not(loom))]
fn main() {
    divan::main();
}

/// The atomics of loom work only in a model, so there is nothing to time.
#[cfg(loom)]
fn main() {}
