//! The part of flakeid that does not depend on PostgreSQL: layouts, texts, the generator, and why
//! no ID repeats.
//!
//! * The file of an ID type ([`flake`], [`sno`], [`flake128`], [`guid`], [`uniqueid`], [`uuidv7`])
//!   holds its layout and its texts. It says how an ID is packed and taken apart, and has the
//!   bounds of a time. [`sort_key`] is for sorts of many IDs.
//! * [`generator`] decides the next ID: a pure function of a word, the time and the rules.
//! * [`cell`] puts that function behind one atomic word, and [`session`] chooses among the cells of
//!   a server. [`in_turn`] does so for uniqueid, where the sequence stands before the generator ID.
//! * [`gate`] holds the time up to which IDs may be issued, and its persisted copy. Its header
//!   argues why no ID repeats across a restart. [`opening`] decides where a server begins.
//!   [`horizon_message`] tells standbys the horizon. [`counts`] is for statistics.
//! * [`generator_ids`] reads the setting that names a server's generator IDs. [`lease`] has the
//!   limits of leased ones, and argues why two holders never issue the same ID.
//! * [`watermark`] says from which time on rows can still appear, for readers in ID order. Its
//!   header argues why such a reader misses no row. [`history`] is for old snapshots, and
//!   [`prepared`] is the list of prepared transactions. [`transactions`] has the arithmetic of
//!   their numbers. [`waiters`] is for sessions that wait for it, [`announcer`] decides when a
//!   server tells readers of it, and [`watermark_message`] tells standbys.
//!
//! This crate reads no clock and no entropy: both are arguments. It has no dependencies and no
//! unsafe code, and allocates nothing but in [`registry`], which decides whether a server may lease
//! generator IDs.
#![cfg_attr(not(loom), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(all(test, not(loom)))]
extern crate std;

pub mod announcer;
pub mod base32;
pub mod base62;
pub mod base64;
pub mod bits;
pub mod cell;
pub mod clock;
pub mod conversion;
pub mod counts;
pub mod error;
pub mod ff1;
pub mod flake;
pub mod flake128;
pub mod gate;
pub mod generator;
pub mod generator_ids;
pub mod guid;
pub mod guid_local;
pub mod history;
pub mod horizon_message;
pub mod in_turn;
mod issue_request;
pub mod issuing_cell;
pub mod lease;
pub mod opening;
pub mod prepared;
pub mod public_form;
pub mod registry;
pub mod session;
pub mod sno;
pub mod sort_key;
mod stall;
pub mod streams;
mod sync;
pub mod transactions;
pub mod uniqueid;
pub mod uuidv7;
pub mod waiters;
pub mod watermark;
pub mod watermark_message;

/// The names of all ID types, in the order in which pages list them. Tables that need an entry for
/// each are checked against this one.
pub const ID_TYPE_NAMES: [&str; 7] = [
    flake::NAME,
    sno::NAME,
    flake128::NAME,
    guid::NAME,
    guid::LOCAL_NAME,
    uniqueid::NAME,
    uuidv7::NAME,
];

pub use error::Error;

/// The examples of the crate's README, as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
