//! What the nodes of a fleet have in common, and the systems that they serve.

use crate::checks::{Checks, Fault};
use crate::random::Random;
use flakeid_core::clock::Scale;
use flakeid_core::flake::{self, Flake};
use flakeid_core::flake128::{self, Flake128};
use flakeid_core::generator::System;
use flakeid_core::guid::{self, Guid};
use flakeid_core::sno::{self, TickTock};
use flakeid_core::uniqueid::{self, UniqueId};
use std::cell::{Cell, RefCell};

/// A system as the extension serves it.
pub trait Served: System {
    /// Its place among the systems.
    const PLACE: usize;
    /// Nanoseconds to a tick.
    const UNIT: u64;
    /// Whether a node has one cell, whatever generator IDs it owns.
    const ONE_CELL: bool = false;
    fn scale() -> Scale;
}

impl Served for Flake {
    const PLACE: usize = 0;
    const UNIT: u64 = flake::UNIT;
    fn scale() -> Scale {
        flake::Epoch::UNIX.signed_scale()
    }
}

impl Served for TickTock {
    const PLACE: usize = 1;
    const UNIT: u64 = sno::UNIT;
    fn scale() -> Scale {
        sno::SCALE
    }
}

impl Served for Flake128 {
    const PLACE: usize = 2;
    const UNIT: u64 = flake128::UNIT;
    const ONE_CELL: bool = true;
    fn scale() -> Scale {
        flake128::SCALE
    }
}

impl Served for Guid {
    const PLACE: usize = 3;
    const UNIT: u64 = guid::UNIT;
    const ONE_CELL: bool = true;
    fn scale() -> Scale {
        guid::SCALE
    }
}

impl Served for UniqueId {
    const PLACE: usize = 4;
    const UNIT: u64 = uniqueid::UNIT;
    fn scale() -> Scale {
        uniqueid::SCALE
    }
}

pub const SYSTEMS: usize = 5;

/// What is wrong with a node, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The gate opens, but what was written may be lost in a crash.
    LostWrite,
    /// A turn opens the gate of the other timeline and writes nothing.
    TurnNotDurable,
    /// The clock is read before the word.
    ClockFirst,
    /// A restart knows of no horizon.
    NoHorizon,
    /// A restart takes one timeline's horizon for the other's.
    WrongTimeline,
    /// Who stops the node writes nothing of the timeline that it is not in.
    OneTimeline,
    /// Who stops the node leaves the gate closed, with no word of what was issued.
    ClosedAtStop,
    /// A standby that is promoted does not look at what it has replayed.
    NotRaised,
    /// It looks at the latest time of a transaction, as versions before 0.6.1 do, and not at the horizons.
    LatestTime,
    /// All of a horizon is taken to be as young as its last writing, so that a clock which had
    /// stepped back by then seems not to have.
    YoungHorizon,
}

/// What a run must have been through to be worth something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session asked.
    Call,
    Wait,
    /// For more than ten ticks.
    LongWait,
    StepBack,
    /// An ID in another timeline than the session's last.
    Turn,
    /// The gate was moved; or the node crashed before the horizon was durable, or after that.
    Extension,
    CrashWithoutWriting,
    CrashAfterWriting,
    Start,
    /// In the tick in which an ID was given last.
    StartInSameTick,
    Stop,
    /// While a session was in the middle of a call.
    StopMeanwhile,
    /// While sessions had numbers in hand.
    GivenAfterStop,
    Reload,
    Promotion,
    /// With a clock behind the primary's last ID.
    PromotionBehind,
    /// The primary's clock was ahead for a while, and was set right before the last of what was replayed.
    PromotionAfterLeap,
}

impl Event {
    pub const ALL: [Self; 17] = [
        Self::Call,
        Self::Wait,
        Self::LongWait,
        Self::StepBack,
        Self::Turn,
        Self::Extension,
        Self::CrashWithoutWriting,
        Self::CrashAfterWriting,
        Self::Start,
        Self::StartInSameTick,
        Self::Stop,
        Self::StopMeanwhile,
        Self::GivenAfterStop,
        Self::Reload,
        Self::Promotion,
        Self::PromotionBehind,
        Self::PromotionAfterLeap,
    ];
}

/// What all nodes have in common.
pub struct World {
    /// The true time, nanoseconds since 1970.
    pub time: Cell<u64>,
    pub random: Random,
    pub checks: RefCell<Checks>,
    pub flaw: Flaw,
    /// How often each event was.
    pub seen: [Cell<u64>; Event::ALL.len()],
}

impl World {
    pub fn saw(&self, event: Event) {
        let seen = &self.seen[event as usize];
        seen.set(seen.get() + 1);
    }

    pub fn pass(&self, nanos: u64) {
        self.time.set(self.time.get() + nanos);
    }

    pub fn expect(&self, holds: bool, fault: Fault) {
        self.checks.borrow_mut().expect(holds, fault);
    }

    pub fn has_failed(&self) -> bool {
        self.checks.borrow().fault.is_some()
    }
}
