//! Fleets whose servers lease their generator IDs from a registry.

mod etcd;
mod events;
mod fleet;
mod happens;
mod node;
mod session;
mod switch;
mod well;
mod worker;

pub use events::{Event, Flaw};
pub use fleet::Fleet;
