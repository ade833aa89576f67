//! The node's gate, and one nearer by: so that few wait while the horizon is written.
//!
//! All sessions meet a gate at one moment, as they read one clock; and who meets it while it is being
//! moved can only wait for the disk. So the hot path asks a gate that stands a part of the lead before
//! the true one. The first to meet that takes the lock and moves both. The others find the lock taken
//! and go on by the true gate, which they meet only if the write takes longer than that part.

use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Gate, Horizon};
use flakeid_core::generator::{Stamp, System};
use std::time::Duration;

/// The near gate is this part of the lead before the true one.
const PART: u32 = 4;

/// On cache lines that nothing else writes to: every ID reads them.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Gates {
    pub near: Gate,
    /// The gate as `flakeid_core::gate` has it. It never stands beyond the durable horizon, and the
    /// near one never beyond it.
    pub last: Gate,
}

impl Gates {
    pub fn closed() -> Self {
        Self { near: Gate::closed(), last: Gate::closed() }
    }

    /// Where the true gate stands.
    pub fn horizon(&self) -> Horizon {
        self.last.horizon()
    }

    /// Puts both to a durable horizon, or before it. The caller holds the lock.
    pub fn set(&self, horizon: Horizon) {
        self.near.set(horizon);
        self.last.set(horizon);
    }

    /// [`Gate::announce`] at both. The caller holds the lock.
    pub fn announce(&self, generation: u64) {
        self.near.announce(generation);
        self.last.announce(generation);
    }

    /// Puts both to where another's stand, as far as it may.
    pub fn cap(&self, others: &Self, caps: impl Fn(Horizon) -> Horizon) {
        self.near.set(caps(others.near.horizon()));
        self.last.set(caps(others.last.horizon()));
    }

    /// [`Gate::extend`] by the lead from `from` on.
    ///
    /// # Errors
    /// As there.
    pub fn extend<S: System, E>(
        &self,
        stamp: Stamp,
        from: UnixNanos,
        lead: Duration,
        make_durable: impl FnOnce(Horizon) -> Result<(), E>,
    ) -> Result<(), E> {
        let moment = after(from, lead);
        self.last.extend::<S, E>(stamp, moment, make_durable)?;
        let horizon = self.last.horizon();
        // The lanes that did not come along are met where they are.
        let until = horizon.until.map(|until| match until == moment {
            true => after(from, lead - lead / PART),
            false => until,
        });
        self.near.set(Horizon { until, ..horizon });
        Ok(())
    }
}

fn after(moment: UnixNanos, time: Duration) -> UnixNanos {
    UnixNanos(moment.0.saturating_add(time.as_nanos() as u64))
}
