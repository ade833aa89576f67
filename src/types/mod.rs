//! Values as they pass between PostgreSQL and Rust, and a file for each type's functions.

mod batch;
mod datum;
mod error;
mod export;
mod flake;
mod flake128;
mod guid;
mod guid_local;
mod guid_types;
mod partition;
mod skeleton;
mod sno;
mod sort;
mod time;
mod uniqueid;
mod value;

pub use datum::Ready;
pub use sort::number;
pub use time::{ends, timestamptz};
