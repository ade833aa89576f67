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
    /// A release depends on the holder of the ID and not on its high-water mark. It may come late,
    /// when the server has claimed the ID again for the same lease.
    LateRelease,
    /// A renewal depends on the holder alone, too, and replaces a higher ceiling by its own.
    LateRenewal,
    /// A registry that is founded has no grace period.
    NoGrace,
    /// A server that held an ID claims it in a grace period also after its own deadline.
    LateReclaim,
    /// A session learns of another identity of its server only when it meets a seal, as before
    /// 0.6.1.
    NoGeneration,
    /// A statement that began with fixed generator IDs uses them again while generator IDs are
    /// leased.
    TakesLeased,
    /// A server believes the endpoint that answers, and asks no other one.
    MisledEndpoint,
    /// The memory of a registry is not durable when a server claims something there.
    ClaimsBeforeRemembering,
    /// A grace period is shorter than the leases that etcd may have forgotten.
    ShortGrace,
    /// A server takes every etcd for the one that it leases from.
    AcceptsCopy,
    /// A renewal counts though its keep-alive was answered in another term than its transaction.
    IgnoresTerm,
    /// A claim depends on nothing that was written before its listing.
    ClaimsByOldListing,
    /// A server does not notice that etcd's revision is less than it was.
    IgnoresRevision,
    /// A server does not remember which registries were retired.
    IgnoresRetired,
    /// Claims that a server does not use stay under its lease.
    OrphansStay,
}

impl Flaw {
    /// Returns whether only fleets show the flaw whose etcd forgets.
    pub fn needs_forgetting(self) -> bool {
        let others = [Self::NoGrace, Self::LateReclaim, Self::ShortGrace, Self::IgnoresRetired];
        self.needs_restoring() || others.contains(&self)
    }

    /// Returns whether etcd must be restored to show the flaw.
    pub fn needs_restoring(self) -> bool {
        [Self::ClaimsByOldListing, Self::IgnoresRevision].contains(&self)
    }
}

/// Names the events, and lists all of them.
macro_rules! events {
    ($($(#[$comment:meta])* $event:ident),* $(,)?) => {
        /// The events that a run must have had to be meaningful.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[$comment])* $event),*
        }

        impl Event {
            pub const ALL: [Self; [$(Self::$event),*].len()] = [$(Self::$event),*];
        }
    };
}

events! {
    Claim,
    LostRace,
    /// Other servers have all IDs.
    WaitForPool,
    /// The answer to a claim is lost.
    AmbiguousClaim,
    /// The answer to a claim is lost, and the claim was granted. The server has taken it as its
    /// own.
    AmbiguousGranted,
    Renewal,
    /// A renewal was not confirmed in the term in which its keep-alive was answered.
    UnsureRenewal,
    LossByDeadline,
    LossByKey,
    /// A lease ended though a keep-alive of it was answered.
    EarlyEnd,
    /// A server has deleted a claim of its lease that it did not use.
    OrphanDeleted,
    Election,
    Outage,
    /// One endpoint does not answer for a while.
    SilentEndpoint,
    /// A server has founded a registry.
    Founded,
    /// A grace period has begun because etcd has forgotten.
    GraceBegun,
    /// The registry has lost all its data.
    DataLoss,
    /// The registry is restored to older data.
    Restored,
    /// The registry is restored to older data, in an etcd with another cluster ID.
    RestoredAnew,
    /// A server has noticed that its IDs are forgotten.
    Forgotten,
    /// A server held an ID until just now, and claimed it again in the grace period.
    Reclaim,
    /// A server had to wait for the end of the grace period.
    WaitForGrace,
    /// Endpoints of a server lead to another etcd, but not all.
    LedAstray,
    /// All endpoints of a server lead to another etcd, in which there is another registry.
    LedAwayFromAll,
    /// A server has listed another etcd than that of its registry.
    Misled,
    /// A server was misled, and has continued at another endpoint.
    ContinuedElsewhere,
    /// A server leases nothing since the registry is a copy.
    RefusedCopy,
    /// A server leases nothing since the registry is not the one of its last lease.
    RefusedOther,
    /// A server leases nothing since its endpoints show different registries.
    RefusedDifferent,
    /// A server leases nothing since an endpoint that does not answer may have the registry.
    RefusedSilent,
    /// A server has continued in a registry that follows or replaces the one of its last lease.
    Followed,
    /// A registry has an earlier ID again.
    SetBack,
    /// The fleet has moved to another registry.
    Moved,
    /// The fleet has moved back to the registry that it came from.
    MovedBack,
    /// A server has written into a registry that another one was retired.
    Retired,
    /// A server has lost its memory of the registry.
    MemoryLost,
    /// A server could not write its memory.
    MemoryNotWritten,
    /// A person has deleted a key of the registry, or revoked a lease.
    Meddled,
    /// A server's worker has ended and begun again.
    WorkerEnded,
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
    /// One process stood still between its question to the gate and the swap, for longer than a
    /// lease.
    PauseOfProcess,
    /// The whole server stood still for longer than a lease, between a question to the gate and the
    /// swap.
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
    /// The clock of such a statement was past the ceiling of the claim for which its cells had been
    /// revived.
    PastCeilingInStatement,
    /// Such a statement got an error, as the server leases.
    StillLeased,
    /// A server leases a generator ID that was another server's fixed one.
    NumberIsLeased,
    /// A generator ID that another server leased becomes a fixed one.
    LeasedBecomesNumber,
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
