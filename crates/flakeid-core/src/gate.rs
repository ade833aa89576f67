//! The gate and the horizon: up to which time sessions may issue IDs without further checks, and
//! what of it survives.
//!
//! Summary: the gate is a time in shared memory, one for each *track*. One track is for all ID
//! types with a single timeline, and two are for the two timelines of sno. An ID of a tick that
//! begins before its track's gate may be issued: one comparison on the hot path. The [`Horizon`] is
//! the gate as it was last made durable. [`Gate::extend`] moves both: first it makes the new
//! horizon durable, and then it opens the gate. So after any loss of memory the server begins above
//! the horizon. A gate also has a generation, which ends sessions whose generator IDs have changed.
//!
//! # Why no ID repeats after a loss of memory
//! 1. An ID is issued only for a tick that begins before the gate of its track. The gate never
//!    opens further than a durable horizon. So if everything except the horizon is lost, each ID
//!    that was issued has a tick that begins before the horizon of its track. (A server may begin
//!    at a horizon that is not on disk yet, as at a first start. Then the gate stands at that
//!    horizon, and no cell issues anything before it.)
//! 2. Everything after the loss begins above the horizon. [`Horizon::floors`] returns each
//!    timeline's last tick that begins before its horizon. A cell that begins there (`Cell::begin`)
//!    issues in neither timeline at or below its floor.
//! 3. An ID type whose epoch is a setting counts one time by different ticks. Its floors are those
//!    of the earliest epoch by which it ever issued, and that epoch is durable before the first
//!    such ID. By a later epoch the same time has a smaller tick, so these floors are above all
//!    those ticks. An exact horizon ([`Horizon::covering`]) is counted from the earliest epoch,
//!    too.
//! 4. The horizon moves down in one case: when no session can issue any more, it becomes exact.
//!    Then every cell has been sealed (`Cell::seal`), and nothing can follow. The exact horizon
//!    covers the horizon at which this run of the server began, and the last tick that each
//!    timeline has issued since (`Cell::issued`). The gate moves down with it, so that a session
//!    which extended it then would continue from there. The high-water mark of a leased generator
//!    ID ([`lease`](crate::lease)) is no part of the horizon. IDs below it were issued by other
//!    servers, or by an earlier run of this server, which the horizon of that time covers. The
//!    high-water mark stays in the registry, and the next server that leases the ID begins above
//!    it.
//!
//! # Why a session does not outlive a change of identity
//! A session issues from a list of cells that it made for one *generation* of the server's
//! identity: the generator IDs, and the right to use them. A gate says which generation it serves.
//! The worker that changes the identity takes these steps, in this order. It
//! [announces](Gate::announce) the next generation at every gate. It seals the cells
//! (`Cell::seal`). It acquires the right to the IDs, such as a claim in a registry. It revives
//! cells (`Cell::revive`). A session loads a cell's word (Acquire), then asks the gate whether it
//! [outdates](Gate::outdates) the session (Relaxed), and then swaps that very word.
//! 1. Suppose that the seal, the revival or any swap after them wrote the word. Then the load has
//!    synchronized with that Release, since a swap continues the release sequence. So the
//!    announcement happens before the question. The answer is yes, as generations only rise.
//!    Relaxed is enough, as the word's Acquire keeps the question after it.
//! 2. If the answer is no, the word was therefore written before the seal. No word ever returns, so
//!    the swap fails once the seal is there, however long the session had stopped in between. A
//!    swap that succeeds is before the seal, and the seal counts its tick.
//! 3. To ask before the word is loaded would not be enough. The cell may be sealed and revived
//!    between the two, at the same address. The session would then issue from it by a gate that
//!    knows no ceiling.
//! 4. Prefetched IDs are issued when the session prefetches them, not when it uses them. By 2 their
//!    swap is before the seal, so the seal counts their tick. The gate, and the ceiling of a lease,
//!    admitted that tick. So each successor begins above them: a revived cell, another holder of
//!    the generator ID, and a server after a crash. To use them after the identity has changed is
//!    like a client that reads its answer late. So the session does not ask the gate for them. They
//!    are at most [`MAX_PREFETCH`](crate::session::MAX_PREFETCH) less one, and the session discards
//!    them when the clock leaves their tick.

use crate::clock::{Scale, Tick, UnixNanos};
use crate::generator::{IdLayout, Rules, Stamp};
use crate::sync::{AtomicU64, Ordering};
use core::time::Duration;

/// The number of tracks.
pub const TRACKS: usize = 3;

/// Returns the track of an ID type's timeline.
const fn track<S: IdLayout>(toggle: bool) -> usize {
    if S::TICK_TOCK { 1 + toggle as usize } else { 0 }
}

/// The greatest distance of the horizon from the clock that a slow disk can cause.
pub const MAX_LEAD_FOR_DISK: Duration = Duration::from_secs(10);

/// Returns how far ahead of the clock the next horizon is set: `set` is the setting, and `took` the
/// durations of the last two writes. If a write takes longer than `set`, the clock is past the gate
/// before the horizon is written. So the horizon goes ahead by twice the duration of a write. One
/// slow write says nothing about the next, so the faster of the two counts. After a crash the
/// server waits for the horizon, so there is a limit.
pub fn lead(set: Duration, took: [Duration; 2]) -> Duration {
    let twice = took[0].min(took[1]).saturating_mul(2);
    set.max(twice.min(MAX_LEAD_FOR_DISK))
}

/// A time for each track, and the timeline in use. Every ID that was ever issued has a tick that
/// begins before its track's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The time of each track: ID types with a single timeline, the first timeline of sno, and its
    /// second.
    pub until: [UnixNanos; TRACKS],
    /// Whether the second timeline is in use. This is only a preference: `until` says which of the
    /// two is safe.
    pub toggle: bool,
}

impl Horizon {
    /// The horizon of a server that never had an ID.
    pub const NONE: Self = Self { until: [UnixNanos(0); TRACKS], toggle: false };

    /// Returns the horizon with which the track of a stamp may continue until `moment`. The track
    /// in use of the other ID types moves along, so that one write serves them all.
    #[must_use]
    pub fn extended<S: IdLayout>(mut self, stamp: Stamp, moment: UnixNanos) -> Self {
        if S::TICK_TOCK {
            self.toggle = stamp.toggle::<S>();
        }
        for track in [0, 1 + usize::from(self.toggle)] {
            self.until[track] = moment.max(self.until[track]);
        }
        self
    }

    /// Returns the horizon if any ID may have been issued before `moment`.
    #[must_use]
    pub fn raised(mut self, moment: UnixNanos) -> Self {
        self.until = self.until.map(|until| until.max(moment));
        self
    }

    /// Returns the horizon if any ID may have been issued that another horizon covers.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        for (until, others) in self.until.iter_mut().zip(other.until) {
            *until = others.max(*until);
        }
        self
    }

    /// Returns the horizon that also covers the last tick of each timeline, to the nanosecond.
    /// `scale` is that of the earliest epoch.
    #[must_use]
    pub fn covering<S: IdLayout>(mut self, scale: Scale, last: [Tick; 2]) -> Self {
        for (toggle, tick) in [false, true].into_iter().zip(last) {
            let until = &mut self.until[track::<S>(toggle)];
            *until = UnixNanos(scale.nanos(tick).0.saturating_add(1)).max(*until);
        }
        self
    }

    /// Returns the time of an ID type's timeline.
    pub fn of<S: IdLayout>(&self, toggle: bool) -> UnixNanos {
        self.until[track::<S>(toggle)]
    }

    /// Returns the time of sno's timeline in use.
    pub fn in_use(&self) -> UnixNanos {
        self.until[1 + usize::from(self.toggle)]
    }

    /// Returns the last tick of each timeline that may have been issued. `scale` is that of the
    /// earliest epoch.
    pub fn floors<S: IdLayout>(self, scale: Scale) -> [Tick; 2] {
        [false, true].map(|toggle| scale.last_before(self.until[track::<S>(toggle)]))
    }
}

/// The values with which a cell begins: [`Horizon::floors`], and the clock.
#[derive(Clone, Copy, Debug)]
pub struct CellInit {
    /// The last tick of each timeline that must not be issued again.
    pub floors: [Tick; 2],
    /// The timeline in which the cell continues if the clock is past its floor.
    pub toggle: bool,
    /// The tick of the last known reading of the clock in the timeline in use: when its horizon was
    /// extended, or that of its last ID. A clock behind it has stepped back.
    pub last_clock_reading: Tick,
    /// The tick of the clock now, if there is one. It tells whether the clock is past a floor.
    pub now: Option<Tick>,
}

/// The gate. The session or worker that moves it holds the server's lock, so only one moves it at a
/// time.
#[derive(Debug)]
pub struct Gate {
    /// The time of each track, in nanoseconds since 1970-01-01 UTC.
    until: [AtomicU64; TRACKS],
    /// Whether the server is in the second timeline, to which sno's cells change with a new tick.
    toggle: AtomicU64,
    /// The generation of the server's identity that the gate serves.
    generation: AtomicU64,
}

impl Gate {
    /// Creates a gate that admits every tick.
    pub fn open() -> Self {
        Self::at(Horizon { until: [UnixNanos(u64::MAX); TRACKS], toggle: false })
    }

    /// Creates a gate that admits no tick.
    pub fn closed() -> Self {
        Self::at(Horizon::NONE)
    }

    /// Creates a gate that stands at a durable horizon.
    pub fn at(horizon: Horizon) -> Self {
        Self {
            until: horizon.until.map(|until| AtomicU64::new(until.0)),
            toggle: AtomicU64::new(horizon.toggle.into()),
            generation: AtomicU64::new(0),
        }
    }

    /// Serves only sessions of this generation and later ones. The caller holds the lock, and seals
    /// the cells of earlier generations afterwards.
    pub fn announce(&self, generation: u64) {
        // Relaxed is enough: the Release of the seal that follows publishes it to each thread that
        // loads the word.
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Returns whether a session of this generation must look up its cells again before it issues
    /// anything. The answer decides about a cell's word that has been loaded before.
    #[inline(always)]
    pub fn outdates(&self, generation: u64) -> bool {
        // Relaxed is enough: the word's Acquire has brought what was announced before that word was
        // written.
        self.generation.load(Ordering::Relaxed) > generation
    }

    /// Returns where the gate stands. The value is exact for the holder of the lock, and otherwise
    /// for statistics alone.
    pub fn horizon(&self) -> Horizon {
        Horizon {
            until: [0, 1, 2]
                .map(|track: usize| UnixNanos(self.until[track].load(Ordering::Relaxed))),
            toggle: self.toggle(),
        }
    }

    /// Returns whether IDs of this stamp may be issued: whether its tick begins before the gate.
    ///
    /// Acquire pairs with the Release in [`Self::set`]. So an ID that the gate admits comes after
    /// all that was done before the gate was moved.
    #[inline]
    pub fn admits<S: IdLayout>(&self, scale: Scale, stamp: Stamp) -> bool {
        let until = &self.until[track::<S>(stamp.toggle::<S>())];
        scale.nanos(stamp.tick::<S>()).0 < until.load(Ordering::Acquire)
    }

    /// Returns whether the server is in a stamp's timeline, so that a cell may change to it. The
    /// timeline in use is as durable as the rest, and the other cells follow. An open gate keeps
    /// nothing on record, and admits both.
    #[inline]
    pub fn timeline_matches<S: IdLayout>(&self, stamp: Stamp) -> bool {
        let until = &self.until[track::<S>(stamp.toggle::<S>())];
        !S::TICK_TOCK
            || self.toggle() == stamp.toggle::<S>()
            || until.load(Ordering::Relaxed) == u64::MAX
    }

    /// Returns whether the server is in the second timeline.
    ///
    /// Relaxed is enough: the timeline that a cell prefers is never what makes an ID unique.
    #[inline]
    pub fn toggle(&self) -> bool {
        self.toggle.load(Ordering::Relaxed) != 0
    }

    /// Lets the track of a stamp continue until `moment`: makes that durable, and only then opens
    /// the gate. The caller holds the lock.
    ///
    /// # Errors
    /// The error of `make_durable`; then nothing has moved.
    pub fn extend<S: IdLayout, E>(
        &self,
        stamp: Stamp,
        moment: UnixNanos,
        make_durable: impl FnOnce(Horizon) -> Result<(), E>,
    ) -> Result<(), E> {
        let next = self.horizon().extended::<S>(stamp, moment);
        make_durable(next)?;
        self.set(next);
        Ok(())
    }

    /// Moves the gate to a horizon that is durable. The caller holds the lock.
    pub fn set(&self, horizon: Horizon) {
        // Release pairs with the Acquire in `admits`.
        for (until, to) in self.until.iter().zip(horizon.until) {
            until.store(to.0, Ordering::Release);
        }
        self.toggle.store(horizon.toggle.into(), Ordering::Relaxed);
    }
}

/// The limits of the IDs that a session may issue now. The three go together from the session down
/// to the cell, which checks an ID against all of them. The cells and the clock are not among them:
/// a cell does not know the others, and a session reads its clock through one of its own.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The sequence numbers and the last tick, by the configuration.
    pub(crate) rules: &'a Rules,
    /// The time before which the tick of an ID must begin.
    pub(crate) gate: &'a Gate,
    /// How the ID type counts time. By this the gate compares a tick.
    pub(crate) scale: Scale,
}

impl<'a> Limits<'a> {
    /// Puts the three together.
    pub const fn new(rules: &'a Rules, gate: &'a Gate, scale: Scale) -> Self {
        Self { rules, gate, scale }
    }
}
