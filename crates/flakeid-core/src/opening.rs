//! Where a server begins when its memory is new: what its state says, what recovery has shown, and
//! whether that is all.
//!
//! Beside its state a server keeps its [`Location`]: the place of the server that wrote the state,
//! and the WAL that the state covers. [`decide`] makes one of three things of what is known: a
//! beginning, or the reason why the server generates no IDs, that the state may be of another
//! server, lacks a part of the WAL, or is too old. A timeline is one of the WAL in this file, and
//! not one of sno.
//!
//! # Whose state it is
//! A server that generates IDs writes its own place. So a state counts as moved ([`moved`])
//! 1. if the place has another host or data directory: the server is a copy, a standby, or was
//!    moved; or
//! 2. if the timeline is another one in the same place: the server was promoted or recovered after
//!    the write, and another one may have generated IDs in between; or
//! 3. if there is no place: recovery wrote the state, or the location is lost.
//!
//! Without a state and without a location there is nothing that moved.
//!
//! # Which WAL it covers
//! A state covers a timeline ([`covers`]) if it was written on it, or by a recovery that replayed
//! it, or by one that replayed the timeline before it up to where it began. No state covers the
//! first timeline: that of a new server. A state whose location is lost, or says nothing of
//! timelines, is trusted. A server may begin ([`Evidence::ensure_covered`])
//! 1. if the state covers the timeline on which the server is; or
//! 2. if the state covers the timeline on which the server started, and the server sees all that it
//!    replays; or
//! 3. if the server still has in memory what was replayed.

use crate::clock::UnixNanos;
use crate::gate::Horizon;
use crate::horizon_message::HorizonMessage;
use core::time::Duration;

/// The first timeline of a cluster.
pub const FIRST_TIMELINE: u32 = 1;

/// A timeline, and a position on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalPoint {
    pub timeline: u32,
    pub position: u64,
}

/// The host and the data directory of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// `None` if the host has no name.
    pub host: Option<&'a str>,
    pub data_directory: &'a str,
}

/// The origin of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location<'a> {
    /// The server that wrote the state; `None` if only recovery did.
    pub place: Option<Place<'a>>,
    /// The timeline on which it wrote the state, if that is known.
    pub timeline: Option<u32>,
    /// The point up to which recovery has replayed the WAL, and put its horizons into the state.
    pub replayed: Option<WalPoint>,
}

/// The contents of a state that tell where IDs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub horizon: Horizon,
    /// The earliest epoch of flake; `None` if there are no flakes.
    pub flake_epoch: Option<UnixNanos>,
    pub last_clock_reading: UnixNanos,
    /// The time of the last write.
    pub written_at: UnixNanos,
}

impl Extent {
    /// Constructs that of a server whose IDs begin at a time.
    pub fn starting_at(moment: UnixNanos) -> Self {
        Self {
            horizon: Horizon::NONE.raised(moment),
            flake_epoch: None,
            last_clock_reading: moment,
            written_at: moment,
        }
    }

    /// Returns all that is known of the IDs that exist: that of the state, or the present time if
    /// there is no state; and what recovery has shown.
    pub fn known(
        state: Option<Self>,
        recovered: Option<HorizonMessage>,
        primary_time: UnixNanos,
        now: UnixNanos,
    ) -> Self {
        let state = state.unwrap_or_else(|| Self::starting_at(now));
        state.with_recovered(recovered).with_primary_time(primary_time)
    }

    /// Adds the greatest horizon of the WAL. If that is past the state, it is the later one, and
    /// its timeline of sno is the one in use.
    #[must_use]
    pub fn with_recovered(self, recovered: Option<HorizonMessage>) -> Self {
        let Some(message) = recovered else { return self };
        let flake_epoch = self.flake_epoch.into_iter().chain(message.flake_epoch).min();
        let joined = self.horizon.joined(message.horizon);
        if joined == self.horizon {
            return Self { flake_epoch, ..self };
        }
        Self {
            horizon: Horizon { toggle: message.horizon.toggle, ..joined },
            flake_epoch,
            last_clock_reading: message.read_at,
            written_at: self.written_at.max(message.read_at),
        }
    }

    /// Adds a time of the primary's clock; 0 is for none.
    #[must_use]
    pub fn with_primary_time(self, time: UnixNanos) -> Self {
        Self {
            horizon: self.horizon.raised(time),
            last_clock_reading: self.last_clock_reading.max(time),
            written_at: self.written_at.max(time),
            ..self
        }
    }
}

/// A difference between a state's place and that of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The state has no place.
    Unknown,
    /// It has this other place.
    Elsewhere,
    /// It was written on another timeline.
    Timeline { then: u32, now: u32 },
}

/// Returns how a state has moved, if it has. `here` has the place and the timeline of the server.
pub fn moved(has_state: bool, there: Option<&Location>, here: &Location) -> Option<Move> {
    let there = there.filter(|there| there.place.is_some());
    let Some(there) = there else { return has_state.then_some(Move::Unknown) };
    match (there.timeline, here.timeline) {
        _ if there.place != here.place => Some(Move::Elsewhere),
        (Some(then), Some(now)) if then != now => Some(Move::Timeline { then, now }),
        _ => None,
    }
}

/// Returns whether what is on disk covers a timeline. `beginning` returns where a timeline began,
/// if that is known.
pub fn covers(
    has_state: bool,
    location: Option<&Location>,
    timeline: u32,
    beginning: impl FnOnce(u32) -> Option<WalPoint>,
) -> bool {
    if !has_state {
        return timeline == FIRST_TIMELINE;
    }
    let Some(&Location { timeline: written, replayed, .. }) = location else { return true };
    match (written, replayed) {
        (None, None) => true,
        (Some(written), _) if written == timeline => true,
        (_, Some(replayed)) if replayed.timeline == timeline => true,
        (_, Some(replayed)) => beginning(timeline).is_some_and(|beginning| {
            beginning.timeline == replayed.timeline && beginning.position <= replayed.position
        }),
        (Some(_), None) => false,
    }
}

/// The knowledge of a server that opens its state.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub state: Option<Extent>,
    /// The location beside the state; `None` if it is missing or damaged.
    pub location: Option<Location<'a>>,
    /// The place of this server, and the timeline on which it is; no timeline in recovery.
    pub here: Location<'a>,
    /// The timeline on which it started; 0 if it does not see what it replays.
    pub started_on: u32,
    /// The greatest horizon of the WAL that it has replayed.
    pub recovered: Option<HorizonMessage>,
    /// The latest time of the primary's clock that it has met; 0 if there is no such time.
    pub primary_time: UnixNanos,
    /// The present time, and the time at which the server started.
    pub now: UnixNanos,
    pub started: UnixNanos,
}

/// The settings that decide whether a server may begin.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub refuses_moved: bool,
    pub allowable_downtime: Option<Duration>,
}

/// A reason to generate no IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The state may be of another server.
    Moved(Move),
    /// The state does not cover the timeline on which the server is.
    NotCovered { timeline: u32 },
    /// The server was down for longer than allowed.
    Down { down: Duration, allowed: Duration },
}

impl Evidence<'_> {
    /// Checks that the state has not moved, if that is a reason to refuse it.
    ///
    /// # Errors
    /// The state may be of another server.
    pub fn ensure_not_moved(&self, refuses_moved: bool) -> Result<(), Refusal> {
        let moved = moved(self.state.is_some(), self.location.as_ref(), &self.here);
        moved.filter(|_| refuses_moved).map_or(Ok(()), |moved| Err(Refusal::Moved(moved)))
    }

    /// Checks that what is known covers the WAL from which the server's data comes.
    ///
    /// # Errors
    /// The server was promoted or recovered without having seen what it replayed.
    pub fn ensure_covered(
        &self,
        beginning: impl Fn(u32) -> Option<WalPoint>,
    ) -> Result<(), Refusal> {
        let Some(timeline) = self.here.timeline else { return Ok(()) };
        if self.recovered.is_some() || self.primary_time.0 != 0 {
            return Ok(());
        }
        let (has_state, location) = (self.state.is_some(), self.location.as_ref());
        let is_covered = |timeline| covers(has_state, location, timeline, &beginning);
        match is_covered(timeline) || is_covered(self.started_on) {
            true => Ok(()),
            false => Err(Refusal::NotCovered { timeline }),
        }
    }
}

/// Decides where the IDs of a server begin.
///
/// # Errors
/// It may not begin.
pub fn decide(
    evidence: &Evidence,
    rules: Rules,
    beginning: impl Fn(u32) -> Option<WalPoint>,
) -> Result<Extent, Refusal> {
    evidence.ensure_not_moved(rules.refuses_moved)?;
    evidence.ensure_covered(beginning)?;
    let &Evidence { state, recovered, primary_time, now, started, .. } = evidence;
    let extent = Extent::known(state, recovered, primary_time, now);
    let down = Duration::from_nanos(started.0.saturating_sub(extent.written_at.0));
    match rules.allowable_downtime {
        Some(allowed) if down > allowed => Err(Refusal::Down { down, allowed }),
        _ => Ok(extent),
    }
}
