//! A server with transactions, and readers that are told watermarks.

mod database;
mod events;
mod ids;
mod list;
mod reader;
mod server;
mod transactions;

pub use events::{Event, Flaw};
pub use server::Server;
