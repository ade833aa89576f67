//! The state that the servers of a fleet share, and the ID types that they serve.

use crate::checks::{Checks, Fault};
use crate::random::Random;
use flakeid_core::clock::Scale;
use flakeid_core::flake::{self, Flake};
use flakeid_core::flake128::{self, Flake128};
use flakeid_core::generator::IdLayout;
use flakeid_core::guid::{self, Guid};
use flakeid_core::sno::{self, TickTock};
use flakeid_core::uniqueid::{self, UniqueId};
use std::cell::{Cell, RefCell};

/// An ID type as the extension serves it.
pub trait ServerIdType: IdLayout {
    /// The index among the ID types.
    const INDEX: usize;
    /// The nanoseconds of a tick.
    const UNIT: u64;
    /// Whether a server has one cell, with any number of generator IDs.
    const ONE_CELL: bool = false;
    fn scale() -> Scale;
}

impl ServerIdType for Flake {
    const INDEX: usize = 0;
    const UNIT: u64 = flake::UNIT;
    fn scale() -> Scale {
        flake::Epoch::UNIX.signed_scale()
    }
}

impl ServerIdType for TickTock {
    const INDEX: usize = 1;
    const UNIT: u64 = sno::UNIT;
    fn scale() -> Scale {
        sno::SCALE
    }
}

impl ServerIdType for Flake128 {
    const INDEX: usize = 2;
    const UNIT: u64 = flake128::UNIT;
    const ONE_CELL: bool = true;
    fn scale() -> Scale {
        flake128::SCALE
    }
}

impl ServerIdType for Guid {
    const INDEX: usize = 3;
    const UNIT: u64 = guid::UNIT;
    const ONE_CELL: bool = true;
    fn scale() -> Scale {
        guid::SCALE
    }
}

impl ServerIdType for UniqueId {
    const INDEX: usize = 4;
    const UNIT: u64 = uniqueid::UNIT;
    fn scale() -> Scale {
        uniqueid::SCALE
    }
}

pub const ID_TYPES: usize = 5;

/// The flaw of a server, to show that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The gate opens, but the horizon that was written may be lost in a crash.
    LostWrite,
    /// A change of timeline opens the gate of the other timeline and writes nothing.
    TurnNotDurable,
    /// The clock is read before the word.
    ClockFirst,
    /// A restart does not know the horizon.
    NoHorizon,
    /// A restart takes one timeline's horizon for the other's.
    WrongTimeline,
    /// A stop writes nothing of the timeline that is not in use.
    OneTimeline,
    /// A stop leaves the gate closed, and writes nothing of the IDs that were issued.
    ClosedAtStop,
    /// A promoted standby ignores the records that it has replayed.
    NotRaised,
    /// A promoted standby uses the latest time of a transaction, as versions before 0.6.1 do, and
    /// not the horizons.
    LatestTime,
    /// Every part of a horizon is taken to be as young as its last write. So a clock which had
    /// stepped back by then seems not to have.
    YoungHorizon,
}

/// The events that a run must have had to be meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session asked for IDs.
    Call,
    Wait,
    /// A session waits for more than ten ticks.
    LongWait,
    StepBack,
    /// A session gets an ID in another timeline than its last.
    Turn,
    /// The gate was moved; or the server crashed before the horizon was durable, or after that.
    Extension,
    CrashWithoutWriting,
    CrashAfterWriting,
    Start,
    /// The server started in the tick in which it issued its last ID.
    StartInSameTick,
    Stop,
    /// The server stopped while a session was in the middle of a call.
    StopDuringCall,
    /// Sessions used prefetched numbers after a stop.
    GivenAfterStop,
    Reload,
    Promotion,
    /// A standby was promoted with a clock behind the primary's last ID.
    PromotionBehind,
    /// The primary's clock was ahead for a while, and was corrected before the last replayed
    /// record.
    PromotionAfterStepForward,
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
        Self::StopDuringCall,
        Self::GivenAfterStop,
        Self::Reload,
        Self::Promotion,
        Self::PromotionBehind,
        Self::PromotionAfterStepForward,
    ];
}

/// The state that all servers share.
pub struct World {
    /// The true time, in nanoseconds since 1970.
    pub time: Cell<u64>,
    pub random: Random,
    pub checks: RefCell<Checks>,
    pub flaw: Flaw,
    /// How often each event happened.
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
