//! The gate and the horizon: how far IDs may go without asking anyone, and what of it survives.
//!
//! The gate is one moment on the wall clock for each *lane*: one for all systems that know a single
//! timeline, and one for each of the two that a tick-tock has. An ID of a tick that begins before its
//! lane's gate may be issued: one comparison on the hot path. The [`Horizon`] is the gate as it was
//! last made durable. [`Gate::extend`] moves it: first durable, then open.
//!
//! # Why no ID comes twice, whatever is lost
//! 1. An ID goes out only for a tick that begins before the gate of its lane, and the gate never
//!    opens further than a horizon that is durable already. So whenever everything but the horizon
//!    is lost, each ID that is out has a tick that begins before the horizon of its lane. (Where a life
//!    begins at a horizon that is not on disk yet, as at a first start, the gate stands at it: no cell
//!    of that life issues anything before it.)
//! 2. What comes after begins above it: [`Horizon::floors`] gives each timeline's last tick that
//!    begins before its horizon, and a cell that begins there (`Cell::begin`)
//!    issues from neither timeline at or below its floor.
//! 3. A system whose epoch is a setting counts one moment by different ticks. Its floors are those
//!    of the earliest epoch that it ever issued by, which is durable before the first such ID: by a
//!    later epoch the same moment has a smaller tick, so these floors are above all of them. An exact
//!    horizon ([`Horizon::covering`]) is counted from that epoch, too.
//! 4. The horizon moves down in one case: nobody can issue any more, and it becomes exact. Then
//!    every cell has been sealed (`Cell::seal`), and nothing can follow;
//!    the horizon covers the one that this life began at and the last tick that each timeline has
//!    issued in this life (`Cell::issued`). The gate moves down with it,
//!    so that a session which extended it then would go on from there. A mark that a generator ID was
//!    leased with ([`lease`](crate::lease)) is no part of it: what is below the mark was issued by
//!    others, or by this node in an earlier life, which the horizon of then covers. The mark stays
//!    in the registry, and the next server that leases the ID begins above it.
//!
//! # Why a session does not outlive a change of identity
//! A session issues from a list of cells that it made for one *generation* of the server's identity: the
//! generator IDs, and by what right it uses them. A gate says which generation it serves. The worker that
//! changes the identity does this, in this order: it [announces](Gate::announce) the next generation at every gate,
//! seals the cells (`Cell::seal`), acquires the right to the IDs (a claim in
//! a registry, say), and revives cells (`Cell::revive`). A session loads a cell's word
//! (Acquire), then asks the gate whether it [outdates](Gate::outdates) the session (Relaxed), and then swaps
//! that very word.
//! 1. If the word was written by the seal, by the revival or by any swap after them, then the load has
//!    synchronized with that Release (a swap continues the release sequence), so the announcement
//!    happens before the question, and the answer is yes, as generations only rise. Relaxed is enough, as the word's
//!    Acquire keeps the question after it.
//! 2. If the answer is no, the word was therefore written before the seal. No word ever comes back, so the
//!    swap fails once the seal is there, however long the session stood still in between. A swap that
//!    succeeds is before the seal, and the seal counts its tick.
//! 3. To ask before the word is loaded would not do: the cell may be sealed and revived between the two, at the
//!    same address, and the session would issue from it by a gate that knows no ceiling.
//! 4. IDs that a session took ahead were swapped before the seal, by 2, so they are unique. The session asks before it hands
//!    out any of them, so that it does not go on in the name of an identity that has ended.

use crate::clock::{Scale, Tick, UnixNanos};
use crate::generator::{Stamp, System};
use crate::sync::{AtomicU64, Ordering};
use core::time::Duration;

/// How many lanes there are.
pub const LANES: usize = 3;

/// The lane of a system's timeline.
const fn lane<S: System>(toggle: bool) -> usize {
    if S::TICK_TOCK { 1 + toggle as usize } else { 0 }
}

/// How far ahead of the clock the horizon is at most for the sake of a slow disk.
pub const LONGEST_FOR_DISK: Duration = Duration::from_secs(10);

/// How far ahead of the clock the next horizon goes where `set` is the wish and the last two writes took
/// so long. On a disk that takes longer than that the clock would be past the gate before the horizon is
/// written, so it goes ahead by twice what such a disk takes. A single slow write says nothing of
/// the next, which is why the faster one of the two counts; and what is written ahead is waited for
/// after a crash, which is why there is a limit.
pub fn lead(set: Duration, took: [Duration; 2]) -> Duration {
    let twice = took[0].min(took[1]).saturating_mul(2);
    set.max(twice.min(LONGEST_FOR_DISK))
}

/// A moment for each lane, and the timeline in use. Every ID there ever was has a tick that begins
/// before its lane's moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Of the systems with a single timeline, of a tick-tock's first, and of its second.
    pub until: [UnixNanos; LANES],
    /// Whether the second is in use. Only a preference: which of the two is safe, `until` says.
    pub toggle: bool,
}

impl Horizon {
    /// There never was an ID.
    pub const NONE: Self = Self { until: [UnixNanos(0); LANES], toggle: false };

    /// What it becomes so that a stamp's lane may go on until `moment`. The other systems' lane in
    /// use goes along: so one write serves them all.
    #[must_use]
    pub fn extended<S: System>(mut self, stamp: Stamp, moment: UnixNanos) -> Self {
        if S::TICK_TOCK {
            self.toggle = stamp.toggle::<S>();
        }
        for lane in [0, 1 + usize::from(self.toggle)] {
            self.until[lane] = moment.max(self.until[lane]);
        }
        self
    }

    /// What it becomes when any ID may have been issued before `moment`.
    #[must_use]
    pub fn raised(mut self, moment: UnixNanos) -> Self {
        self.until = self.until.map(|until| until.max(moment));
        self
    }

    /// What it becomes when any ID may have been issued that another horizon covers.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        for (until, others) in self.until.iter_mut().zip(other.until) {
            *until = others.max(*until);
        }
        self
    }

    /// What it becomes so that it covers what each timeline has had last, to the nanosecond. `scale` is
    /// that of the earliest epoch.
    #[must_use]
    pub fn covering<S: System>(mut self, scale: Scale, last: [Tick; 2]) -> Self {
        for (toggle, tick) in [false, true].into_iter().zip(last) {
            let until = &mut self.until[lane::<S>(toggle)];
            *until = UnixNanos(scale.nanos(tick).0.saturating_add(1)).max(*until);
        }
        self
    }

    /// The moment of a system's timeline.
    pub fn of<S: System>(&self, toggle: bool) -> UnixNanos {
        self.until[lane::<S>(toggle)]
    }

    /// The moment of the tick-tock's timeline in use.
    pub fn in_use(&self) -> UnixNanos {
        self.until[1 + usize::from(self.toggle)]
    }

    /// The last tick of each timeline that may have been issued. `scale` is that of the earliest
    /// epoch.
    pub fn floors<S: System>(self, scale: Scale) -> [Tick; 2] {
        [false, true].map(|toggle| scale.last_before(self.until[lane::<S>(toggle)]))
    }
}

/// What [`Horizon::floors`] and the clock come to for a cell that begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The last tick of each timeline that is not to be issued again.
    pub floors: [Tick; 2],
    /// The timeline to go on in where the clock is past its floor.
    pub toggle: bool,
    /// The tick of the last reading of the clock that is known in the timeline in use: when its
    /// horizon was extended, or its last ID's. A clock behind it has stepped back.
    pub since: Tick,
    /// The tick of now, if it has one: whether the clock is past a floor.
    pub now: Option<Tick>,
}

/// The gate. Whoever moves it holds the node's lock, so that there is one at a time.
#[derive(Debug)]
pub struct Gate {
    /// Nanoseconds since 1970-01-01 UTC, for each lane.
    until: [AtomicU64; LANES],
    /// Whether the node is in the second timeline: where a tick-tock's cells go with a new tick.
    toggle: AtomicU64,
    /// The generation of the server's identity that it serves.
    generation: AtomicU64,
}

impl Gate {
    /// A gate that admits every tick.
    pub fn open() -> Self {
        Self::at(Horizon { until: [UnixNanos(u64::MAX); LANES], toggle: false })
    }

    /// A gate that admits no tick.
    pub fn closed() -> Self {
        Self::at(Horizon::NONE)
    }

    /// A gate that stands at a durable horizon.
    pub fn at(horizon: Horizon) -> Self {
        Self {
            until: horizon.until.map(|until| AtomicU64::new(until.0)),
            toggle: AtomicU64::new(horizon.toggle.into()),
            generation: AtomicU64::new(0),
        }
    }

    /// Serves sessions of this generation and later ones alone. The caller holds the lock, and seals the
    /// cells of earlier generations afterwards.
    pub fn announce(&self, generation: u64) {
        // Relaxed: the Release of the seal that follows publishes it to those who load the word.
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Whether a session of this generation must make its list of cells again before it issues anything.
    /// It decides about a cell's word that has been loaded before.
    #[inline(always)]
    pub fn outdates(&self, generation: u64) -> bool {
        // Relaxed: the word's Acquire has brought what was announced before that word was written.
        self.generation.load(Ordering::Relaxed) > generation
    }

    /// Where it stands. For the holder of the lock, and for those who only look.
    pub fn horizon(&self) -> Horizon {
        Horizon {
            until: [0, 1, 2].map(|lane: usize| UnixNanos(self.until[lane].load(Ordering::Relaxed))),
            toggle: self.toggle(),
        }
    }

    /// Whether IDs of this stamp may be issued: its tick begins before the gate.
    ///
    /// Acquire pairs with the Release in [`Self::set`]: an ID let through comes after all that was
    /// done before the gate was moved.
    #[inline]
    pub fn admits<S: System>(&self, scale: Scale, stamp: Stamp) -> bool {
        let until = &self.until[lane::<S>(stamp.toggle::<S>())];
        scale.nanos(stamp.tick::<S>()).0 < until.load(Ordering::Acquire)
    }

    /// Whether the node is in a stamp's timeline, so that a cell may turn to it: which one is in use is
    /// as durable as the rest, and the other cells go along. An open gate keeps nothing on record.
    #[inline]
    pub fn goes_by<S: System>(&self, stamp: Stamp) -> bool {
        let until = &self.until[lane::<S>(stamp.toggle::<S>())];
        !S::TICK_TOCK
            || self.toggle() == stamp.toggle::<S>()
            || until.load(Ordering::Relaxed) == u64::MAX
    }

    /// Whether the node is in the second timeline.
    ///
    /// Relaxed: which timeline a cell prefers is never what makes an ID unique.
    #[inline]
    pub fn toggle(&self) -> bool {
        self.toggle.load(Ordering::Relaxed) != 0
    }

    /// Lets a stamp's lane go on until `moment`: makes that durable, and only then opens. The caller
    /// holds the lock.
    ///
    /// # Errors
    /// What `make_durable` gives; then nothing has moved.
    pub fn extend<S: System, E>(
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

    /// Puts the gate to a horizon that is durable. The caller holds the lock.
    pub fn set(&self, horizon: Horizon) {
        // Release pairs with the Acquire in `admits`.
        for (until, to) in self.until.iter().zip(horizon.until) {
            until.store(to.0, Ordering::Release);
        }
        self.toggle.store(horizon.toggle.into(), Ordering::Relaxed);
    }
}
