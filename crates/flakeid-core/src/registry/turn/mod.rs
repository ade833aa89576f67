//! The order of a worker's turn: view, decide, plan, act.
//!
//! [`Worker::next`] returns one action, the caller does it, and [`Worker::after`] gets its outcome.
//! So the worker of a server and the simulation run the same protocol. What [`Worker`] keeps from
//! one turn to the next is in this process alone. A worker that ends loses it, and nothing of it is
//! needed to be safe:
//! * `seen` lets an earlier state be noticed at its first listing. The revisions of what is held
//!   have the same effect.
//! * `orphans_until` begins again with a worker that finds a lease.
//! * `unrevoked`, `forgotten` and `replacing` save waiting time. Leases end by themselves.
//!
//! Each errand of a turn begins with a listing of its own, except that `Doubt` may follow `Claim`
//! by one listing.

mod after;
mod next;
mod view;

use super::action::{Action, GraceBegins, Lease, Loss, NewLease, Renewal};
use super::listing::{ClaimRevision, HighWaterMark, Listing};
use super::memory::{Memory, Seen};
use super::plan::{Forgotten, Settings};
use super::refusal::Refusal;
use super::survey::View;
use super::transaction::{Answer, LeasedId};
use crate::lease::RequestTime;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// The time after which the worker tries again after an error.
pub const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The longest time for which a call that was given up may still be done, and leave orphans.
const ORPHAN_WINDOW: Duration = Duration::from_secs(60);

/// The time after which the worker tries again if other servers were faster every time.
const CONTENTION_BACKOFF: Duration = Duration::from_millis(100);

/// The number of tries of a claim at which other servers are faster, or of a renewal whose answers
/// do not agree, in one turn.
const TRIES: u8 = 5;

/// The number of times in one turn that a registry can need a change before a server may lease from
/// it.
const MOST_PREPARATIONS: u8 = 8;

/// The state of everything around the worker when it plans its next action.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    pub now: RequestTime,
    pub settings: Settings<'a>,
    /// The lease, if this server holds one. Its deadline may have passed.
    pub lease: Option<&'a Lease>,
    /// The number and the duration of the last lease; 0 before the first.
    pub last_lease: (i64, Duration),
    /// The server's memory, or why it can't be read: see [`Worker::needs_memory`].
    pub memory: Result<Option<&'a Memory>, &'a str>,
    /// The endpoint that answered last.
    pub endpoint: &'a str,
    pub random: Random,
}

/// Random numbers, other ones for each call.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// For a lease: positive, as etcd's are.
    pub lease: i64,
    /// For the ID of a registry.
    pub registry: u64,
    /// For a place in the pool, so that servers begin at different ones.
    pub place: u16,
}

/// The result of an action that was done.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "an outcome lives for one call")]
pub enum Outcome {
    Listed(Listing),
    /// Each high-water mark that was read; `None` if it does not exist.
    HighWaterMarks(Vec<(u16, Option<HighWaterMark>)>),
    /// For how long the lease was granted.
    Granted(RequestTime, Duration),
    Renewed(Renewal),
    Changed(Answer),
    /// The generator IDs that were given up, with their exact high-water marks.
    GaveUp(Vec<LeasedId>),
    /// Whether sessions may use what was published or extended: not if the lease has ended.
    Usable(bool),
    Done,
}

/// Why an action was not done, or may not have been done.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The process was told to end, or to do something else.
    Interrupted,
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// Nothing is due before this time since boot.
    Rest(Duration),
    /// The pause after an error lasts until this time since boot.
    Backoff(Duration),
    /// Something may be due now.
    Again,
    Interrupted,
    Failed(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Act(Action),
    End(TurnEnd),
}

/// The result of planning: the end of the turn, or nothing if there is an action now, or another
/// errand.
type Planned = Result<Option<TurnEnd>, Refusal>;

/// The purpose of a turn's listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Errand {
    #[default]
    Start,
    Claim,
    /// Finds out why a renewal failed, or why claims are not there. `ours` are the claims that are
    /// still the lease's.
    Doubt {
        ours: Option<Vec<ClaimRevision>>,
    },
    /// Writes the high-water marks of what was lost, and renews the rest.
    AfterLoss,
    /// Deletes claims of the lease that are not held, after a renewal. `is_for_claim` if a claim
    /// follows.
    Orphans {
        is_for_claim: bool,
    },
    /// Learns that an endpoint shows the registry.
    NoteEndpoint,
    /// Nothing more: the turn ends when its actions are done.
    Finish,
}

impl Errand {
    /// Returns whether an error does not matter now, since a later turn does it again.
    fn is_for_later(&self) -> bool {
        matches!(self, Self::Orphans { is_for_claim: false } | Self::NoteEndpoint)
    }
}

#[derive(Clone, Debug, Default)]
struct Turn {
    errand: Errand,
    todo: VecDeque<Action>,
    /// The views of endpoints since the last change.
    views: Vec<View>,
    /// The listing by which the server may lease.
    listing: Option<Listing>,
    /// The lease that was held when the turn began, or that was renewed last in it.
    lease: Option<Lease>,
    /// A lease that was granted and is not used yet.
    new_lease: Option<NewLease>,
    /// Whether a lease was granted or renewed before the listing.
    is_fresh: bool,
    /// The revisions in which the claims were found that a renewal did not expect.
    found: Vec<ClaimRevision>,
    /// The claim that is made, and whether it is made for the second time.
    claim: Option<Action>,
    is_second_claim: bool,
    tries: u8,
    preparations: u8,
    /// Why generator IDs are lost, and those that etcd has forgotten.
    loss: Option<Loss>,
    forgotten: Vec<LeasedId>,
    /// The time since boot until which this server may claim in a grace period what etcd has
    /// forgotten.
    forgotten_until: Duration,
    /// The lease of which generator IDs are released, and the generator IDs that were given up for
    /// that.
    release: Option<(Lease, Vec<LeasedId>)>,
    /// The grace period that begins.
    grace: Option<GraceBegins>,
}

/// The protocol of one server's worker, with all that it keeps from one turn to the next.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    turn: Turn,
    /// The duration that the lease was requested for. etcd may have granted a longer one.
    requested_ttl: Duration,
    is_renewal_requested: bool,
    /// The time since boot before which there is no call.
    not_before: Duration,
    /// The time since boot of the next try to lease missing generator IDs.
    next_claim_at: Duration,
    /// The place in the pool at which to begin.
    place: u16,
    /// The last lease that was held and is lost or given back.
    ended_lease: i64,
    /// Leases that may still exist and are not wanted.
    unrevoked: Vec<i64>,
    /// The time since boot until which etcd may still do a call that was given up, and leave
    /// orphans. Renewals look for them, up to the first one after this time that finds none left.
    /// `None` if no such call was given up.
    orphans_until: Option<Duration>,
    /// The high-water marks that were read for the last listing, and its namespace. From one
    /// listing to the next only broken values stay, so that they are not read again unless they
    /// change. A valid one is read again each time: revisions start over in an etcd that is set up
    /// again, and one value must never be taken for another.
    high_water_marks: BTreeMap<u16, HighWaterMark>,
    /// Whether generator IDs were chosen by these high-water marks: see [`Self::take_choice`].
    has_chosen: bool,
    namespace: String,
    /// The registry that was listed last, and the latest revision of its etcd that this server
    /// knows.
    seen: Seen,
    /// The endpoint of the last listing.
    listed_at: String,
    /// The registry that a grace period was begun for, and the registry of the last lease, which it
    /// replaces.
    replacing: Option<(String, String)>,
    /// The lease of a grace period that this server requested without getting an answer, and why.
    unanswered_grace: Option<(i64, GraceBegins)>,
    /// The generator IDs that were held by a lease that etcd has forgotten.
    forgotten: Option<Forgotten>,
}

impl Worker {
    /// Returns the worker of a server that may hold a lease already: the previous worker may have
    /// ended during a call.
    pub fn new(ttl: Duration, holds_lease: bool, now: Duration) -> Self {
        let mut worker = Self { requested_ttl: ttl, ..Self::default() };
        if holds_lease {
            worker.expect_orphans(now);
        }
        worker
    }

    /// Lets the next turn begin at once, since settings have changed.
    pub fn reload(&mut self) {
        (self.not_before, self.next_claim_at) = (Duration::ZERO, Duration::ZERO);
    }

    /// Lets the next turn renew the lease.
    pub fn request_renewal(&mut self) {
        self.is_renewal_requested = true;
    }

    /// Returns whether [`Self::next`] will use the server's memory. A renewal does not, so that it
    /// waits for no disk.
    pub fn needs_memory(&self) -> bool {
        let may_claim = matches!(
            self.turn.errand,
            Errand::Claim | Errand::Doubt { .. } | Errand::Orphans { is_for_claim: true }
        );
        let is_due = may_claim || self.turn.listing.is_none();
        self.turn.todo.is_empty() && !self.turn.views.is_empty() && is_due
    }

    /// Begins a turn that gives the lease back.
    pub fn give_back(&mut self, lease: &Lease) {
        self.turn = Turn::default();
        self.release(lease, lease.ids());
    }
}
