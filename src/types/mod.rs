//! The SQL functions of the ID types: a file for each type, and values as they pass between
//! PostgreSQL and Rust.
//!
//! [`skeleton`] and [`value`] hold what all ID types have, and [`sort`] is about indexes.
//! [`export`] explains how SQL finds a function.

mod batch;
mod by_text;
mod datum;
mod error;
mod export;
mod flake;
mod flake128;
mod flake_type;
mod guid;
mod guid_local;
mod guid_types;
mod public_form;
mod skeleton;
mod sno;
mod sort;
mod table;
mod time_predicate;
mod uniqueid;
mod uuidv7;
mod value;

pub use datum::{RawDatum, copy, interval_of_seconds};
pub use flake::checked_epoch;
pub use guid_types::drift_of_interval;
pub use sort::number;
pub use table::{NextFns, SQL_ID_TYPES, ValueType};
