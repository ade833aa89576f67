#![cfg(not(loom))]
//! The protocol of a registry: what a server decides by what endpoints show, and in which order it
//! acts.
//!
//! * `given`: short names for registries, listings and memories, and what [`decide`] says about
//!   them.
//! * `first`, `lost`, `replaced`, `endpoints`, `older`: one situation after the other, each a claim
//!   with its verdict.
//! * `remembered`, `retired`, `identity`, `contents`: what a server remembers, and what it reads.
//! * `plans`, `transactions`: the parts of a turn.
//! * `etcd`, `node`, `lines`: a small etcd, and a server that does what its worker says and writes
//!   that down.
//! * `turns_*`: whole turns, by what was written down.
//! * `properties`, `any_outcome`: what holds for any input, and for a worker that meets anything.
//!
//! [`decide`]: flakeid_core::registry::trust::decide

mod given;

mod any_outcome;
mod contents;
mod endpoints;
mod etcd;
mod first;
mod identity;
mod lines;
mod lost;
mod node;
mod older;
mod plans;
mod properties;
mod remembered;
mod replaced;
mod retired;
mod transactions;
mod turns_claims;
mod turns_failures;
mod turns_first;
mod turns_forgotten;
mod turns_grants;
mod turns_losses;
mod turns_older;
mod turns_orphans;
mod turns_pool;
mod turns_releases;
mod turns_renewals;
