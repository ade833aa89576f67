//! A server with transactions, its standbys, and readers that are told watermarks.

mod database;
mod events;
mod ids;
mod list;
mod log;
mod publisher;
mod reader;
mod server;
mod standby;
mod transactions;

pub use events::{Event, Flaw};
pub use server::Server;
