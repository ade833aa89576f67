//! The events in a fleet that leases, and the flaws of its servers.

use std::cell::Cell;

/// The flaw of a server, to show that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The high-water mark is the last tick of the cells when it is written.
    Record,
    /// A server that claims an ID begins where it would have begun without a high-water mark.
    IgnoresHighWaterMark,
    /// A claim succeeds though the high-water mark has changed since it was read.
    StaleHighWaterMark,
    /// The high-water mark is written though the claim may be another server's by now.
    Unchecked,
    /// The gate stands where the server's does, for any ceiling of the claim.
    Uncapped,
    /// A server that releases an ID reads its cells and does not seal them.
    NotSealed,
    /// A release depends on the holder of the ID and not on its high-water mark. It may come late, when the server
    /// has claimed the ID again for the same lease.
    LateRelease,
    /// A renewal depends on the holder alone, too, and replaces a higher ceiling by its own.
    LateRenewal,
    /// A registry that is founded has no grace period.
    NoGrace,
    /// A server that held an ID claims it in a grace period also after its own deadline.
    LateReclaim,
    /// A session learns of another identity of its server only when it meets a seal, as before 0.6.1.
    NoGeneration,
    /// A statement that began with fixed generator IDs uses them again while generator IDs are leased.
    TakesLeased,
}

/// The events that a run must have had to be meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Claim,
    LostRace,
    /// Other servers have all IDs.
    WaitForPool,
    /// The answer to a claim is lost.
    AmbiguousClaim,
    /// The answer to a claim is lost, and the claim was granted.
    AmbiguousGranted,
    Renewal,
    LossByDeadline,
    LossByKey,
    /// A lease ended though its holder had got a report that it was renewed.
    EarlyEnd,
    Election,
    Outage,
    /// The registry has lost all its data.
    DataLoss,
    /// A server has noticed that its IDs are forgotten.
    Forgotten,
    /// A server held an ID until just now, and claimed it again in the grace period.
    Reclaim,
    /// A server had to wait for the end of the grace period.
    WaitForGrace,
    Partition,
    Release,
    /// A generator ID passes from one server to another.
    HandedOn,
    /// A generator ID passes to a server whose clock is behind the high-water mark.
    HandedOnAhead,
    /// A sealed cell is revived.
    Revival,
    Crash,
    Stop,
    Death,
    Birth,
    Extension,
    StepBack,
    Turn,
    /// One process stood still between its question to the gate and the swap, for longer than a lease.
    PauseOfProcess,
    /// The whole server stood still for longer than a lease, between a question to the gate and the swap.
    PauseOfNode,
    /// An ID was issued after the loss of the claim under which the session had asked the gate.
    GivenAfterLoss,
    /// A session got an error because the lease reached no further.
    TurnedAway,
    /// A server leases generator IDs after it had fixed ones.
    ToLease,
    /// A server has fixed generator IDs after it leased.
    ToNumbers,
    /// The setting changed in the middle of a statement that began with fixed generator IDs.
    SwitchInStatement,
    /// The cells of such a statement had been revived.
    RevivedInStatement,
    /// The clock of such a statement was past the ceiling of the claim for which its cells had been revived.
    PastCeilingInStatement,
    /// Such a statement got an error, as the server leases.
    StillLeased,
    /// A server leases a generator ID that was another server's fixed one.
    NumberIsLeased,
    /// A generator ID that another server leased becomes a fixed one.
    LeasedBecomesNumber,
}

impl Event {
    pub const ALL: [Self; 39] = [
        Self::Claim,
        Self::LostRace,
        Self::WaitForPool,
        Self::AmbiguousClaim,
        Self::AmbiguousGranted,
        Self::Renewal,
        Self::LossByDeadline,
        Self::LossByKey,
        Self::EarlyEnd,
        Self::Election,
        Self::Outage,
        Self::DataLoss,
        Self::Forgotten,
        Self::Reclaim,
        Self::WaitForGrace,
        Self::Partition,
        Self::Release,
        Self::HandedOn,
        Self::HandedOnAhead,
        Self::Revival,
        Self::Crash,
        Self::Stop,
        Self::Death,
        Self::Birth,
        Self::Extension,
        Self::StepBack,
        Self::Turn,
        Self::PauseOfProcess,
        Self::PauseOfNode,
        Self::GivenAfterLoss,
        Self::TurnedAway,
        Self::ToLease,
        Self::ToNumbers,
        Self::SwitchInStatement,
        Self::RevivedInStatement,
        Self::PastCeilingInStatement,
        Self::StillLeased,
        Self::NumberIsLeased,
        Self::LeasedBecomesNumber,
    ];
}

/// The count of each event.
pub struct Events(pub [Cell<u64>; Event::ALL.len()]);

impl Default for Events {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Cell::new(0)))
    }
}

impl Events {
    pub fn saw(&self, event: Event) {
        let seen = &self.0[event as usize];
        seen.set(seen.get() + 1);
    }
}
