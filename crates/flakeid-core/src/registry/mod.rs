//! The registry of generator IDs, which all servers of a fleet reach: how a server decides whether
//! it may lease from it, and what it does next.
//!
//! This module decides and does nothing itself. What it gets is the server's memory, listings, the
//! settings and the clocks. What it returns is a verdict, and an ordered list of actions.
//! [`crate::lease`] argues why two holders never issue one ID, if each holds its claims by these
//! rules.
//!
//! 1. [`listing`]: what an endpoint shows. [`identity`]: the ID of a registry.
//! 2. [`memory`]: what the server remembers. [`retired`]: registries that servers have retired.
//! 3. [`relation`]: how a listed registry relates to the remembered one.
//! 4. [`trust`]: whether the server may lease by what the endpoints show, or what must be done
//!    first. [`survey`]: why it asks all of them.
//! 5. [`plan`]: what the server does with its lease. [`action`]: the actions of which a plan
//!    consists.
//! 6. [`transaction`]: how a registry changes.
//! 7. [`turn`]: the order of all this.
//!
//! A registry is in etcd today. Another one needs a list of keys with revisions, leases that end by
//! themselves, and transactions with conditions.

pub mod action;
pub mod identity;
pub mod listing;
pub mod memory;
pub mod plan;
pub mod refusal;
pub mod relation;
pub mod retired;
pub mod survey;
pub mod transaction;
pub mod trust;
pub mod turn;
