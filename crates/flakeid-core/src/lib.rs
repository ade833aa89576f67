//! All of flakeid that is true without PostgreSQL.
//!
//! * A system's file ([`flake`], [`sno`], [`flake128`], [`guid`], [`uniqueid`]) holds its layout, how an ID is packed and taken apart,
//!   its text, and the bounds of a time. [`sort_key`] is for those who sort many IDs.
//! * [`generator`] decides what the next ID is: a pure function of a word, the time and the rules.
//! * [`cell`] puts that function behind one atomic word, and [`session`] walks a node's cells; [`in_turn`]
//!   does so for the one format where the sequence comes before the generator ID.
//! * [`gate`] holds the moment up to which IDs may be issued, and what of it survives: why no ID comes
//!   twice across a restart is argued there. [`horizon_message`] is how a standby is told of it.
//!   [`counts`] is for those who look on.
//! * [`generator_ids`] reads the setting that says which generator IDs a node owns; [`lease`] says what
//!   it may do with those that it has for a time only, and why two holders never make the same ID.
//!
//! What this crate is not: it reads no clock and no entropy (both are arguments), it allocates
//! nothing, has no dependencies and no unsafe code.
#![cfg_attr(not(loom), no_std)]
#![forbid(unsafe_code)]

#[cfg(all(test, not(loom)))]
extern crate std;

pub mod base32;
pub mod base62;
pub mod base64;
pub mod bits;
pub mod cell;
pub mod clock;
pub mod counts;
pub mod error;
pub mod flake;
pub mod flake128;
pub mod gate;
pub mod generator;
pub mod generator_ids;
pub mod guid;
pub mod guid_local;
pub mod horizon_message;
pub mod in_turn;
pub mod lease;
pub mod session;
pub mod sno;
pub mod sort_key;
mod sync;
pub mod uniqueid;

pub use error::Error;
