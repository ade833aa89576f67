//! Fleets whose servers lease their generator IDs from a registry.

mod astray;
mod disasters;
mod etcd;
mod events;
mod fleet;
mod happens;
mod moves;
mod node;
mod session;
mod switch;
mod tests;
mod well;
mod worker;

use events::{Event, Flaw};
use fleet::Fleet;
