//! A session's walk over its node's partitions: where it takes its IDs from, so that sessions
//! seldom meet and what one session gets is strictly increasing.
//!
//! A session begins every tick at its home. When home has nothing left in this tick it goes on to
//! the next higher partition, never to a lower one: the partition stands below the tick and above
//! the sequence, so its IDs rise. (In the format where it stands below the sequence all partitions are
//! taken [in turn](crate::in_turn), and what is said here is not for it.) It stays there until the tick is over, instead of
//! trying the used-up ones again at a clock read each.
//!
//! Homes are spread by reversing the bits of the session's number: two sessions on eight partitions
//! start at 0 and 4, each with four partitions to itself, where 0 and 1 would meet as soon as the
//! first spills. A session whose home is high has few partitions above it; when it runs out of them
//! it halves the distance of its home to the lowest for the ticks to come, and goes back to its own
//! when a tick did not need the room.
//!
//! A session that asks again within one tick takes a run of numbers ahead, twice as many every time
//! up to [`LONGEST_RUN`], and serves itself from it without touching the cell, which costs as much
//! as all the rest but the clock. The run belongs to it alone: the cell's word is past it. It is
//! dropped when the clock leaves its tick, and when the clock has stepped back in a system that turns
//! then, so that the cell decides. Its tick was let through by the gate when it was taken. None of it is
//! handed out once the gate serves a later generation of the server's identity: see [`gate`](crate::gate).

use crate::cell::{Ask, Cell, Outcome};
use crate::clock::{Scale, Tick};
use crate::gate::Gate;
use crate::generator::{Block, Rules, Stamp, System, stepped_back};
use crate::in_turn::{self, Place};

/// The longest run of numbers that a session takes ahead. What is left of a run when its tick is
/// over is lost: at most so many numbers less one, of a flake's 4,096 in a millisecond.
pub const LONGEST_RUN: u32 = 16;

/// Where a session stands. Partitions are named by their place in the list of the node's own,
/// which is sorted by generator ID.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    own_home: usize,
    home: usize,
    /// The partition to try next.
    at: usize,
    /// Until the clock is past this tick, the partitions from home to below `at` have nothing left.
    spent: Tick,
    /// The last ID's stamp and partition: everything after it sorts above.
    floor: Stamp,
    last: usize,
    /// The last ID's sequence, where that comes before the partition.
    sequence: u32,
    /// What is left of the run that was taken ahead, all from the partition `last`.
    rest: Block,
    /// How many numbers to take when the cell is asked again in this tick.
    run: u32,
    /// The generation of the server's identity that the list of partitions was made for.
    generation: u64,
}

/// IDs of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The partition's place in the list.
    pub partition: usize,
    pub block: Block,
}

/// Why there is no ID now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Ask again when the clock reads `until`; it read `now`.
    Wait { until: Tick, now: Tick },
    /// The gate must be moved past this stamp first.
    Gated(Stamp),
    /// The clock read `now`, more than a tick behind the last ID's: worth a note, then ask again.
    SteppedBack { from: Tick, now: Tick },
    /// The system has no more time to give.
    Ended,
    /// The clock is before the system's epoch.
    BeforeEpoch,
    /// The node issues nothing any more.
    Sealed,
    /// The server's identity has changed: make the list of partitions again, and ask with that.
    Outdated,
}

impl Session {
    /// The session with this number on a node of `partitions` generator IDs (at least one).
    pub fn new(number: u32, partitions: usize) -> Self {
        let home = spread(number, partitions);
        Self {
            own_home: home,
            home,
            at: home,
            spent: Tick(0),
            floor: Stamp::default(),
            last: 0,
            sequence: 0,
            rest: Block::EMPTY,
            run: 1,
            generation: 0,
        }
    }

    /// Binds the session to the generation that its list of partitions was made for; without it that is the
    /// first.
    #[must_use]
    pub fn of_generation(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    /// The same session after the list of partitions has changed: whatever it is given sorts as if
    /// its last ID had come from a partition above them all.
    pub fn moved(&self, number: u32, partitions: usize) -> Self {
        let (last, sequence) = (usize::MAX, u32::MAX);
        Self { floor: self.floor, last, sequence, ..Self::new(number, partitions) }
    }

    /// Gives up what was taken ahead from these cells, so that it does not count as issued.
    pub fn drop_rest(&mut self, cells: &[&Cell]) {
        if let Some(cell) = cells.get(self.last).filter(|_| self.rest.count > 0) {
            cell.counters.dropped(self.rest.count);
        }
        self.rest = Block::EMPTY;
    }

    /// The place of the partition where it begins a tick.
    pub fn home(&self) -> usize {
        self.home
    }

    /// Takes up to `want` IDs, all from one partition and tick; one where partitions are taken in turn.
    #[inline(always)]
    pub fn next<S: System>(
        &mut self,
        cells: &[&Cell],
        want: u32,
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        if S::SEQUENCE_FIRST {
            return self.ask_in_turn::<S>(cells, rules, gate, scale, clock);
        }
        if let Some(issued) = self.ahead::<S>(cells, want, gate, clock) {
            return Ok(issued);
        }
        self.ask::<S>(cells, want, rules, gate, scale, clock)
    }

    /// Takes up to `want` IDs of the run that was taken ahead; nothing where no run is left or where the gate
    /// serves a later generation, for which no clock is read, or its tick is over, with which it is given up. It
    /// does not panic.
    #[inline(always)]
    pub fn ahead<S: System>(
        &mut self,
        cells: &[&Cell],
        want: u32,
        gate: &Gate,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Option<Issued> {
        if self.rest.count == 0 || gate.outdates(self.generation) {
            return None;
        }
        let (stamp, now) = (self.rest.stamp, clock()?);
        if now > stamp.tick::<S>() || S::TICK_TOCK && stepped_back::<S>(stamp, now) {
            self.drop_rest(cells);
            self.run = 1;
            return None;
        }
        Some(Issued { partition: self.last, block: self.rest.take(want) })
    }

    /// [`Self::next`] from the cells.
    #[inline(never)]
    fn ask<S: System>(
        &mut self,
        cells: &[&Cell],
        want: u32,
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        let calm = self.at == self.home;
        // Away from home it still waits for what it found used up in earlier calls.
        let mut resume = match self.at == self.home {
            true => Tick(u64::MAX),
            false => Tick(self.spent.0 + 1),
        };
        loop {
            let within = match self.at == self.home {
                true => Tick(u64::MAX),
                false => self.spent,
            };
            // A lower partition than the last one's needs a later tick.
            let later = self.at < self.last;
            let want_now = want.max(self.run);
            let generation = self.generation;
            let ask = Ask { floor: self.floor, later, within, want: want_now, generation };
            match cells[self.at].issue::<S>(ask, rules, gate, scale, clock) {
                Outcome::Issued(block) => {
                    let mut rest = block;
                    let issued = Issued { partition: self.at, block: rest.take(want) };
                    self.rest = rest;
                    self.run = match block.stamp == self.floor {
                        true => LONGEST_RUN.min(self.run * 2),
                        false => 1,
                    };
                    if calm && self.at == self.home && block.stamp > self.floor {
                        self.home = self.own_home;
                        self.at = self.own_home;
                    }
                    self.floor = block.stamp;
                    self.last = issued.partition;
                    return Ok(issued);
                }
                Outcome::NewTick => {
                    self.at = self.home;
                    resume = Tick(u64::MAX);
                }
                Outcome::Wait { until, now } => {
                    resume = resume.min(until);
                    self.spent = Tick(resume.0 - 1);
                    if self.at + 1 == cells.len() {
                        self.home /= 2;
                        return Err(Stall::Wait { until: resume, now });
                    }
                    cells[self.at].counters.spilled();
                    self.at += 1;
                }
                outcome => return Err(outcome.into()),
            }
        }
    }

    /// [`Self::next`] in a format whose sequence stands above the partition.
    #[inline(never)]
    fn ask_in_turn<S: System>(
        &mut self,
        cells: &[&Cell],
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        let last = Place { stamp: self.floor, sequence: self.sequence, partition: self.last };
        let (partition, block) =
            in_turn::take::<S>(cells, last, self.generation, rules, gate, scale, clock)?;
        (self.floor, self.sequence, self.last) = (block.stamp, block.sequence, partition);
        Ok(Issued { partition, block })
    }
}

impl From<Outcome> for Stall {
    /// What a session says of an outcome that gave it nothing and leaves it nothing else to try.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Wait { until, now } => Self::Wait { until, now },
            Outcome::Gated(stamp) => Self::Gated(stamp),
            Outcome::SteppedBack { from, now } => Self::SteppedBack { from, now },
            Outcome::Sealed => Self::Sealed,
            Outcome::Outdated => Self::Outdated,
            Outcome::Ended => Self::Ended,
            Outcome::BeforeEpoch => Self::BeforeEpoch,
            Outcome::Issued(_) | Outcome::NewTick => unreachable!("a session goes on after these"),
        }
    }
}

/// The home of a session: its number's bits reversed, as a fraction of the partitions (van der
/// Corput's sequence), so that any few sessions in a row are as far apart as they can be.
fn spread(number: u32, partitions: usize) -> usize {
    (u64::from(number.reverse_bits()) * partitions as u64 >> 32) as usize
}
