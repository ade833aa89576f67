//! The gate: a moment on the wall clock before which IDs may be issued without asking anyone.
//!
//! It is one comparison on the hot path. Who moves it must first have made sure of what it
//! promises (that the moment is durable, that a lease lasts until then); the gate only says yes or
//! no. A gate that nobody guards stands open.

use crate::clock::{Scale, Tick};
use crate::sync::{AtomicU64, Ordering};

/// The moment in nanoseconds since 1970-01-01 UTC. It only ever grows while IDs may be issued.
#[derive(Debug)]
pub struct Gate {
    until: AtomicU64,
}

impl Gate {
    /// A gate that admits every tick.
    pub fn open() -> Self {
        Self { until: AtomicU64::new(u64::MAX) }
    }

    /// Whether IDs of `tick` may be issued: it begins before the gate.
    ///
    /// Acquire pairs with the Release of whoever moves the gate: an ID let through comes after all
    /// that was done before the gate was moved.
    #[inline]
    pub fn admits(&self, scale: Scale, tick: Tick) -> bool {
        scale.nanos(tick).0 < self.until.load(Ordering::Acquire)
    }
}
