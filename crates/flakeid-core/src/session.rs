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
//! A cell that is ahead of the clock, as the clock was, has nothing to give for as long, or only IDs of a time to
//! come, after which the session would have to wait; and one that another server's mark has put past the end of the
//! format is of no use at all. So a session passes over such cells. Where it finds no other from its home on, it
//! looks at all of them, the lower ones too, and stays with one that is not ahead (`Session::elsewhere`). What is
//! left of a tick to come it takes only where all are ahead. That its IDs rise depends on none of this: a cell that
//! is below the last one is always asked for a later tick.
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
    /// How many were left when they were last counted: those handed out since are not counted yet.
    counted: u32,
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
            counted: 0,
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

    /// Gives up what was taken ahead from these cells: it never counts as issued.
    pub fn drop_rest(&mut self, cells: &[&Cell]) {
        self.count(cells);
        (self.rest, self.counted) = (Block::EMPTY, 0);
    }

    /// How many IDs of those taken ahead have been handed out and are not counted yet.
    fn uncounted(&self) -> u32 {
        self.counted - self.rest.count
    }

    /// Counts them.
    fn count(&mut self, cells: &[&Cell]) {
        if self.uncounted() > 0
            && let Some(cell) = cells.get(self.last)
        {
            cell.counters.handed_out(self.uncounted());
        }
        self.counted = self.rest.count;
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
            let (at, want_now) = (self.at, want.max(self.run));
            let ask = Ask { within, want: want_now, ..self.asks(cells, at, want) };
            let waits = match cells[at].issue::<S>(ask, rules, gate, scale, clock) {
                Outcome::Issued(block) => {
                    if calm && at == self.home && block.stamp > self.floor {
                        self.home = self.own_home;
                        self.at = self.own_home;
                    }
                    return Ok(self.took(at, block, want));
                }
                Outcome::NewTick => {
                    self.at = self.home;
                    resume = Tick(u64::MAX);
                    continue;
                }
                Outcome::Wait { until, now } => {
                    resume = resume.min(until);
                    Some(now)
                }
                Outcome::Ended => None,
                outcome => return Err(outcome.into()),
            };
            self.count(cells);
            self.spent = Tick(resume.0 - 1);
            if at + 1 < cells.len() {
                if waits.is_some() {
                    cells[at].counters.spilled();
                }
                self.at += 1;
                continue;
            }
            self.home /= 2;
            return match waits {
                // One more tick may come from a processor's clock that is late, and one from a reload.
                Some(now) if resume.0 <= now.0 + 2 => Err(Stall::Wait { until: resume, now }),
                _ => self.elsewhere::<S>(cells, want, rules, gate, scale, clock),
            };
        }
    }

    /// What to ask a cell for, anytime.
    fn asks(&mut self, cells: &[&Cell], at: usize, want: u32) -> Ask {
        if at != self.last {
            self.count(cells);
        }
        Ask {
            floor: self.floor,
            // A lower partition than the last one's needs a later tick.
            later: at < self.last,
            within: Tick(u64::MAX),
            want,
            at_once: want,
            uncounted: self.uncounted(),
            current: cells.len() > 1,
            generation: self.generation,
        }
    }

    /// Keeps in mind what it was given, and gives what was wanted of it.
    #[inline(always)]
    fn took(&mut self, at: usize, block: Block, want: u32) -> Issued {
        let mut rest = block;
        let issued = Issued { partition: at, block: rest.take(want) };
        (self.rest, self.counted) = (rest, rest.count);
        self.run = match block.stamp == self.floor {
            true => LONGEST_RUN.min(self.run * 2),
            false => 1,
        };
        self.floor = block.stamp;
        self.last = at;
        issued
    }

    /// Goes on where no partition from home on gives anything before long: to one that is not ahead of the clock, if
    /// there is any; else to what is left of a tick to come.
    #[cold]
    fn elsewhere<S: System>(
        &mut self,
        cells: &[&Cell],
        want: u32,
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        let mut stall = Stall::Ended;
        for current in [true, false] {
            for at in 0..cells.len() {
                let ask = Ask { current, ..self.asks(cells, at, want) };
                match cells[at].issue::<S>(ask, rules, gate, scale, clock) {
                    Outcome::Issued(block) => {
                        (self.home, self.at) = (at, at);
                        return Ok(self.took(at, block, want));
                    }
                    Outcome::Wait { until, now } => {
                        stall = match stall {
                            Stall::Wait { until: sooner, .. } if sooner <= until => stall,
                            _ => Stall::Wait { until, now },
                        };
                    }
                    Outcome::Ended | Outcome::NewTick => {}
                    outcome => return Err(outcome.into()),
                }
            }
            // One that is not ahead has room with the next tick: no need to reach into what is to come.
            if let Stall::Wait { until, now } = stall
                && until.0 <= now.0 + 2
            {
                break;
            }
        }
        Err(stall)
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
