#![cfg(not(loom))]
//! The protocol of a registry: what a server decides by what endpoints show, and in which order it acts.
//!
//! * `given`: short names for registries, listings and memories, and what [`decide`] says about them.
//! * `first`, `lost`, `replaced`, `endpoints`, `older`: one situation after the other, each a claim with its verdict.
//! * `remembered`, `retired`, `identity`, `contents`: what a server remembers, and reads.
//! * `plans`, `choices`, `renewals`, `transactions`: the parts of a plan.
//! * `etcd`, `server`: a small etcd, and a server that does what its worker says. Both write a trace.
//! * `turns_*`: whole turns of a worker, by their traces.
//! * `properties`: what holds for arbitrary input.
//!
//! [`decide`]: flakeid_core::registry::trust::decide

mod given;

mod contents;
mod endpoints;
mod first;
mod identity;
mod lost;
mod older;
mod remembered;
mod replaced;
mod retired;
