//! What happens in a fleet that leases, and what may be wrong with its nodes.

use std::cell::Cell;

/// What is wrong, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The mark is what the cells had last when it was written.
    Record,
    /// Who claims an ID begins where it would have begun without a mark.
    IgnoresMark,
    /// A claim holds though the mark has changed since it was read.
    OldMark,
    /// The mark is written though the claim may be another's by now.
    Unchecked,
    /// The gate stands where the node's does, wherever the claim's ceiling is.
    Uncapped,
    /// Who releases an ID looks at its cells and doesn't seal them.
    NotSealed,
    /// A release goes by whose the ID is and not by its mark: it may come late, when the node has claimed
    /// the ID again for the same lease.
    LateRelease,
    /// So does a renewal, and puts its ceiling in place of a higher one.
    LateRenewal,
    /// A registry that is founded has no grace period.
    NoGrace,
    /// Who held an ID claims it in a grace period also after its own deadline.
    LateReclaim,
    /// A session learns of another identity of its server only where it meets a seal, as before 0.6.1.
    NoGeneration,
    /// A statement that began with numbers of the server's own takes them again while generator IDs are leased.
    TakesLeased,
}

/// What a run must have been through to be worth something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Claim,
    LostRace,
    /// All IDs are others'.
    WaitForPool,
    /// Nobody knows whether a claim was granted; and it was.
    AmbiguousClaim,
    AmbiguousGranted,
    Renewal,
    LossByDeadline,
    LossByKey,
    /// A lease ended though its holder had been told that it was renewed.
    EarlyEnd,
    Election,
    Outage,
    /// The registry has lost all that it had; and a node has seen that what it held is forgotten.
    DataLoss,
    Forgotten,
    /// It held that until just now, and claimed it again in the grace period; another had to wait for its end.
    Reclaim,
    WaitForGrace,
    Partition,
    Release,
    /// An ID goes from one node to another; whose clock is behind the mark.
    HandedOn,
    HandedOnAhead,
    /// A cell goes on that was sealed.
    Revival,
    Crash,
    Stop,
    Death,
    Birth,
    Extension,
    StepBack,
    Turn,
    /// One process stood still between its look at the gate and the swap; or the whole node; longer than
    /// a lease.
    PauseOfProcess,
    PauseOfNode,
    /// An ID went out after the claim under which the gate was looked at had been lost.
    GivenAfterLoss,
    /// A session was turned away as the lease reached no further.
    TurnedAway,
    /// A server leases in the place of numbers of its own; the other way round.
    ToLease,
    ToNumbers,
    /// In the middle of a statement that began with numbers; and its cells had been revived by then; and the clock was
    /// past the ceiling of the claim that they had been revived for.
    SwitchInStatement,
    RevivedInStatement,
    PastCeilingInStatement,
    /// Such a statement was turned away, as the server leases.
    StillLeased,
    /// A number that was a server's own is leased by another; the other way round.
    NumberIsLeased,
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

/// How often each was.
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
