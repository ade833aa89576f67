//! The server's gate in two parts, soft and hard, so that few sessions wait while the horizon is
//! written.
//!
//! All sessions meet a gate at one moment, as they read one clock. A session that meets it while
//! another one moves it can only wait for the disk. So the hot path asks the soft gate, which
//! stands a part of the lead before the hard one. The first session that meets the soft gate takes
//! the lock and moves both. The other sessions find the lock taken, and continue to the hard gate.
//! They meet that only if the write takes longer than that part of the lead.

use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Gate, Horizon};
use flakeid_core::generator::{IdLayout, Stamp};
use std::time::Duration;

/// The soft gate stands this part of the lead before the hard one.
const SOFT_GATE_FRACTION: u32 = 4;

/// Two gates, on cache lines that nothing else writes to, since every ID reads them.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Gates {
    /// The gate that the hot path asks first.
    pub soft: Gate,
    /// The gate of the argument in [`flakeid_core::gate`]. It is never past the durable horizon,
    /// and the soft gate is never past it.
    pub hard: Gate,
}

impl Gates {
    /// Constructs gates that admit nothing.
    pub fn closed() -> Self {
        Self { soft: Gate::closed(), hard: Gate::closed() }
    }

    /// Returns the horizon at which the hard gate stands.
    pub fn horizon(&self) -> Horizon {
        self.hard.horizon()
    }

    /// Moves both gates to a durable horizon, or to a time before it. The caller holds the lock.
    pub fn set(&self, horizon: Horizon) {
        self.soft.set(horizon);
        self.hard.set(horizon);
    }

    /// Announces a generation at both gates: [`Gate::announce`]. The caller holds the lock.
    pub fn announce(&self, generation: u64) {
        self.soft.announce(generation);
        self.hard.announce(generation);
    }

    /// Moves both gates to where other gates stand, limited by `caps`. The caller holds the lock.
    pub fn cap(&self, others: &Self, caps: impl Fn(Horizon) -> Horizon) {
        self.soft.set(caps(others.soft.horizon()));
        self.hard.set(caps(others.hard.horizon()));
    }

    /// Moves both gates to the lead from `from` on, by [`Gate::extend`].
    ///
    /// # Errors
    /// The error of `make_durable`; then the gates have not moved.
    pub fn extend<S: IdLayout, E>(
        &self,
        stamp: Stamp,
        from: UnixNanos,
        lead: Duration,
        make_durable: impl FnOnce(Horizon) -> Result<(), E>,
    ) -> Result<(), E> {
        let moment = after(from, lead);
        self.hard.extend::<S, E>(stamp, moment, make_durable)?;
        let horizon = self.hard.horizon();
        // A track that did not move is the same in both gates.
        let until = horizon.until.map(|until| match until == moment {
            true => after(from, lead - lead / SOFT_GATE_FRACTION),
            false => until,
        });
        self.soft.set(Horizon { until, ..horizon });
        Ok(())
    }
}

fn after(moment: UnixNanos, time: Duration) -> UnixNanos {
    UnixNanos(moment.0.saturating_add(time.as_nanos() as u64))
}
