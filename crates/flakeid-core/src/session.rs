//! A session's choice of the generator ID for each ID, so that sessions seldom meet and the IDs of
//! one session increase.
//!
//! Summary: a session begins every tick at its home. When that generator ID is exhausted it spills
//! to the next higher one, and stays there until the tick is over. Homes are spread over the
//! server's generator IDs. A session that asks again within a tick prefetches several sequence
//! numbers, and then uses them without a change to shared memory.
//!
//! # The way through a tick
//! A session never spills to a lower generator ID. The generator ID stands below the tick and above
//! the sequence, so the session's IDs increase. (In uniqueid it stands below the sequence. There
//! all generator IDs are taken [in turn](crate::in_turn), and this section does not apply.) The
//! session stays with a generator ID until the tick is over. Otherwise it would try the exhausted
//! ones again, and read the clock for each.
//!
//! # Homes
//! Homes are spread by reversing the bits of the session's number. Two sessions on eight generator
//! IDs begin at 0 and 4, and each has four generator IDs to itself. With homes 0 and 1 they would
//! meet as soon as the first one spills. A session whose home is high has few generator IDs above
//! it. When they are exhausted, it halves the distance of its home from the lowest for the
//! following ticks. It returns to its own home when a tick did not need the room.
//!
//! # Cells that are ahead of the clock
//! When the clock has stepped back, a cell can be ahead of it. Until the clock has caught up, such
//! a cell issues nothing, or only the rest of a later tick, after which the session would have to
//! wait. The high-water mark of another server can put a cell past the end of the ID type. Then it
//! issues nothing at all. So a session passes over such cells. If it finds no other cell from its
//! home on, it looks at all of them, also the lower ones (`Session::issue_from_any_cell`). It stays
//! with one that is not ahead. Only if all cells are ahead does it take the rest of a later tick.
//! The order of its IDs depends on none of this: a cell below the last one is always asked for a
//! later tick.
//!
//! # Prefetched IDs
//! A session that asks again within one tick prefetches sequence numbers: twice as many every time,
//! up to [`MAX_PREFETCH`]. It uses them without touching the cell, which costs as much as
//! everything else except the clock. They belong to this session alone, since the cell's word is
//! past them. The session discards them when the clock leaves their tick. It also discards them
//! when the clock has stepped back and the ID type then changes its timeline, so that the cell
//! decides. The gate admitted their tick when they were prefetched. The session uses them also if
//! the gate serves a later generation of the server's identity by then: see [`gate`](crate::gate),
//! point 4.

//!
//! # Fractions of a tick
//! An ID can have a fraction of its tick, above the generator ID and the sequence. A session that
//! has taken sequence numbers of a tick owns them for the whole tick, and so in each fraction of
//! it. When the clock reads a later fraction, the session begins with the first of its numbers
//! again. No ID repeats, since the fraction is another one. The IDs of a session increase: a later
//! fraction stands above all numbers. In the same fraction the next number is the next one of the
//! session, or one that it takes from a cell now. That one is above those of the tick before, as
//! without a fraction. If the clock reads an earlier fraction than the last ID's, the ID gets that
//! of the last one.
//!
//! A session that has used all its numbers in one fraction takes more, up to [`MAX_PREFETCH`] at
//! once. If it owns as many already, it waits for the next fraction, a quarter of a microsecond. So
//! a session that takes very many IDs leaves numbers for the others.
//!
//! So a session changes a cell once in a tick, and not for each ID, although no two IDs of a server
//! have the same fraction and number. A fraction is no tick: the gate, the horizon and the
//! watermark know only ticks.

pub use crate::cell::Stall;

use crate::cell::IssueRequest;
use crate::clock::Tick;
use crate::gate::Limits;
use crate::generator::{Block, IdLayout, Stamp, stepped_back};
use crate::in_turn::{self, SortPosition};
use crate::issuing_cell::IssuingCell;
use core::cell::Cell as Reading;

/// The most sequence numbers that a session takes at once when it prefetches. Those that are left
/// when their tick is over are lost: at most this number less one, of the 4,096 that flake has in a
/// millisecond.
pub const MAX_PREFETCH: u32 = 16;

/// How often a session reads the clock that owns enough numbers and waits for the next fraction of
/// its tick. If the clock is as coarse as a microsecond, that is enough. If it stands still, the
/// session then takes more numbers.
const MAX_READINGS: u32 = 100;

/// The state of a session. A slot is the index of a generator ID in the server's list, which is
/// sorted.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    own_home: usize,
    home: usize,
    /// The slot to try next.
    at: usize,
    /// The tick that the clock must pass before the slots from home to below `at` have IDs again.
    exhausted_until: Tick,
    /// The stamp of the last ID. With `last`, the slot of that ID, it is the place above which all
    /// later IDs sort.
    floor: Stamp,
    last: usize,
    /// The generator ID of the slot `last`.
    generator_id: u64,
    /// The sequence number of the last ID, for an ID type whose sequence stands above the generator
    /// ID.
    sequence: u32,
    /// The prefetched IDs that are left, all from the slot `last`.
    prefetched: Block,
    /// How many prefetched IDs were left at the last count. Those that were used since are not
    /// counted yet.
    counted: u32,
    /// The fraction of the last ID, if the ID type has fractions.
    fraction: u64,
    /// The numbers that the session owns in the tick of its last ID, if the ID type has fractions.
    owned: Block,
    /// How many IDs of earlier fractions were used and are not counted yet.
    used_before: u32,
    /// How many sequence numbers to take when the cell is asked again in this tick.
    prefetch_len: u32,
    /// The generation of the server's identity for which the list of generator IDs was made.
    generation: u64,
    /// The first tick that the session's transaction may have, in both timelines
    /// ([`watermark`](crate::watermark)).
    least: Tick,
}

/// IDs of one generator ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The generator ID: [`IssuingCell::generator_id`].
    pub generator_id: u64,
    /// The IDs, of one tick.
    pub block: Block,
    /// The fraction of that tick; 0 if the ID type has none.
    pub fraction: u64,
}

impl Session {
    /// Creates the session with this number on a server with `slots` generator IDs (at least one).
    pub fn new(number: u32, slots: usize) -> Self {
        let home = home_of(number, slots);
        Self {
            own_home: home,
            home,
            at: home,
            exhausted_until: Tick(0),
            floor: Stamp::default(),
            last: 0,
            generator_id: 0,
            sequence: 0,
            prefetched: Block::EMPTY,
            counted: 0,
            fraction: 0,
            owned: Block::EMPTY,
            used_before: 0,
            prefetch_len: 1,
            generation: 0,
            least: Tick(0),
        }
    }

    /// Binds the session to the generation for which its list of generator IDs was made. Without
    /// this call it is generation 0.
    #[must_use]
    pub fn of_generation(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    /// Returns the session for a changed list of generator IDs. Its next ID sorts as if its last
    /// one had come from a generator ID above all of the list.
    pub fn moved(&self, number: u32, slots: usize) -> Self {
        let (last, sequence) = (usize::MAX, u32::MAX);
        Self { floor: self.floor, last, sequence, least: self.least, ..Self::new(number, slots) }
    }

    /// Lets the session issue only ticks from `least` on, in both timelines. Prefetched IDs of
    /// earlier ticks are discarded. A later call may name an earlier tick.
    pub fn issue_from<S: IdLayout>(&mut self, cells: &[IssuingCell<'_>], least: Tick) {
        self.least = least;
        if self.floor.tick::<S>() < least {
            self.discard_prefetched(cells);
            // The last place of all in the tick before.
            self.floor = Stamp::new::<S>(Tick(least.0 - 1), true);
            (self.last, self.sequence) = (usize::MAX, u32::MAX);
            self.prefetch_len = 1;
        }
    }

    /// Discards the IDs that were prefetched from these cells. They never count as issued.
    pub fn discard_prefetched(&mut self, cells: &[IssuingCell<'_>]) {
        self.count(cells);
        (self.prefetched, self.counted, self.owned) = (Block::EMPTY, 0, Block::EMPTY);
    }

    /// Returns how many prefetched IDs have been used and are not counted yet.
    fn uncounted(&self) -> u32 {
        self.used_before + self.counted - self.prefetched.count
    }

    /// Counts the prefetched IDs that have been used.
    fn count(&mut self, cells: &[IssuingCell<'_>]) {
        if self.uncounted() > 0
            && let Some(last) = cells.get(self.last)
        {
            last.cell.counters.used_prefetched(self.uncounted());
        }
        (self.counted, self.used_before) = (self.prefetched.count, 0);
    }

    /// Returns the slot at which the session begins a tick.
    pub fn home(&self) -> usize {
        self.home
    }

    /// Takes up to `want` IDs, all with one generator ID and of one tick. An ID type that takes its
    /// generator IDs in turn gives one ID.
    ///
    /// # Errors
    /// A [`Stall`], which says what the caller has to do before it asks again.
    #[inline(always)]
    pub fn next<S: IdLayout>(
        &mut self,
        cells: &[IssuingCell<'_>],
        want: u32,
        limits: Limits<'_>,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        if S::SEQUENCE_FIRST {
            return self.issue_in_turn::<S>(cells, limits, clock);
        }
        if let Some(issued) = self.take_prefetched::<S>(cells, want, clock) {
            return Ok(issued);
        }
        self.issue::<S>(cells, want, limits, clock)
    }

    /// Takes up to `want` prefetched IDs. Returns `None` if there is no such ID; then the clock is
    /// not read. Returns `None` also if their tick is over, and discards them. This function does
    /// not panic.
    ///
    /// It reads the list of cells only when a tick is over, so `cells` can be a value that has the
    /// list. Then the compiler loads nothing before the call that reads the clock, and keeps
    /// nothing in registers across it.
    #[inline(always)]
    pub fn take_prefetched<'a, S: IdLayout>(
        &mut self,
        cells: &(impl AsRef<[IssuingCell<'a>]> + ?Sized),
        want: u32,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Option<Issued> {
        if self.prefetched.count == 0 && (S::FRACTION_BITS == 0 || self.owned.count == 0) {
            return None;
        }
        let mut reading = clock()?;
        let stamp = self.prefetched.stamp;
        if S::FRACTION_BITS > 0 && self.prefetched.count == 0 && self.owned.count >= MAX_PREFETCH {
            // The next fraction comes sooner than another session that needs a number.
            for _ in 0..MAX_READINGS {
                if fraction_of::<S>(reading, stamp) > self.fraction
                    || tick_of::<S>(reading) != stamp.tick::<S>()
                {
                    break;
                }
                reading = clock()?;
            }
        }
        let now = tick_of::<S>(reading);
        if now > stamp.tick::<S>() || S::TICK_TOCK && stepped_back::<S>(stamp, now) {
            self.discard_prefetched(cells.as_ref());
            self.prefetch_len = 1;
            return None;
        }
        if S::FRACTION_BITS > 0 {
            let fraction = fraction_of::<S>(reading, stamp);
            if fraction > self.fraction {
                if self.uncounted() >= MAX_PREFETCH {
                    self.count(cells.as_ref());
                }
                self.used_before = self.uncounted();
                (self.prefetched, self.counted) = (self.owned, self.owned.count);
                self.fraction = fraction;
            } else if self.prefetched.count == 0 {
                return None;
            }
        }
        let block = self.prefetched.take(want);
        Some(Issued { generator_id: self.generator_id, block, fraction: self.fraction })
    }

    /// Takes IDs as [`Self::next`] does, from the cells alone.
    #[inline(never)]
    fn issue<S: IdLayout>(
        &mut self,
        cells: &[IssuingCell<'_>],
        want: u32,
        limits: Limits<'_>,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        // More numbers than this are of no use, as the session has them again in the next fraction.
        let want = if S::FRACTION_BITS > 0 { want.min(MAX_PREFETCH) } else { want };
        let reading = Reading::new(Tick(0));
        let clock = &mut ticks_of::<S>(clock, &reading);
        let began_at_home = self.at == self.home;
        // Away from home it still waits for the slots that were exhausted in earlier calls.
        let mut resume = match self.at == self.home {
            true => Tick(u64::MAX),
            false => Tick(self.exhausted_until.0 + 1),
        };
        loop {
            let within = match self.at == self.home {
                true => Tick(u64::MAX),
                false => self.exhausted_until,
            };
            let (at, want_now) = (self.at, want.max(self.prefetch_len));
            let request = IssueRequest { within, want: want_now, ..self.request(cells, at, want) };
            let clock_reading = match cells[at].cell.issue::<S>(request, limits, clock) {
                Ok(Some(block)) => {
                    if began_at_home && at == self.home && block.stamp > self.floor {
                        self.home = self.own_home;
                        self.at = self.own_home;
                    }
                    return Ok(self.record::<S>(cells, at, block, want, reading.get()));
                }
                Ok(None) => {
                    self.at = self.home;
                    resume = Tick(u64::MAX);
                    continue;
                }
                Err(Stall::Wait { until, now }) => {
                    resume = resume.min(until);
                    Some(now)
                }
                Err(Stall::Ended) => None,
                Err(stall) => return Err(stall),
            };
            self.count(cells);
            self.exhausted_until = Tick(resume.0 - 1);
            if at + 1 < cells.len() {
                if clock_reading.is_some() {
                    cells[at].cell.counters.spilled();
                }
                self.at += 1;
                continue;
            }
            self.home /= 2;
            return match clock_reading {
                // One more tick may come from a processor's clock that is late, and one from a
                // reload.
                Some(now) if resume.0 <= now.0 + 2 => Err(Stall::Wait { until: resume, now }),
                _ => self
                    .issue_from_any_cell::<S>(cells, want, limits, clock)
                    .map(|(at, block)| self.record::<S>(cells, at, block, want, reading.get())),
            };
        }
    }

    /// Returns a request for any tick to the cell of slot `at`.
    fn request(&mut self, cells: &[IssuingCell<'_>], at: usize, want: u32) -> IssueRequest {
        if at != self.last {
            self.count(cells);
        }
        IssueRequest {
            floor: self.floor,
            // A slot lower than that of the last ID needs a later tick.
            later: at < self.last,
            within: Tick(u64::MAX),
            want,
            at_once: want,
            uncounted: self.uncounted(),
            current: cells.len() > 1,
            generation: self.generation,
            least: self.least,
        }
    }

    /// Records a block as the last that the session got. Returns the IDs that the caller wanted,
    /// and keeps the others as prefetched.
    #[inline(always)]
    fn record<S: IdLayout>(
        &mut self,
        cells: &[IssuingCell<'_>],
        at: usize,
        block: Block,
        want: u32,
        reading: Tick,
    ) -> Issued {
        if S::FRACTION_BITS > 0 {
            let fraction = fraction_of::<S>(reading, block.stamp);
            self.fraction = match block.stamp == self.floor {
                true => fraction.max(self.fraction),
                false => fraction,
            };
            self.owned = block;
        }
        let mut prefetched = block;
        let block_now = prefetched.take(want);
        (self.prefetched, self.counted, self.used_before) = (prefetched, prefetched.count, 0);
        self.prefetch_len = match block.stamp == self.floor {
            true => MAX_PREFETCH.min(self.prefetch_len * 2),
            false => 1,
        };
        self.floor = block.stamp;
        (self.last, self.generator_id) = (at, cells[at].generator_id);
        Issued { generator_id: self.generator_id, block: block_now, fraction: self.fraction }
    }

    /// Takes IDs from any cell, when no slot from home on has any soon. A cell that is not ahead of
    /// the clock comes first. If there is no such cell, the rest of a later tick is used.
    #[cold]
    fn issue_from_any_cell<S: IdLayout>(
        &mut self,
        cells: &[IssuingCell<'_>],
        want: u32,
        limits: Limits<'_>,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<(usize, Block), Stall> {
        let mut stall = Stall::Ended;
        for current in [true, false] {
            for at in 0..cells.len() {
                let request = IssueRequest { current, ..self.request(cells, at, want) };
                match cells[at].cell.issue::<S>(request, limits, clock) {
                    Ok(Some(block)) => {
                        (self.home, self.at) = (at, at);
                        return Ok((at, block));
                    }
                    Err(Stall::Wait { until, now }) => {
                        stall = match stall {
                            Stall::Wait { until: sooner, .. } if sooner <= until => stall,
                            _ => Stall::Wait { until, now },
                        };
                    }
                    Err(Stall::Ended) | Ok(None) => {}
                    Err(stall) => return Err(stall),
                }
            }
            // A cell that is not ahead has IDs in the next tick, so there is no need to use those
            // of a later tick.
            if let Stall::Wait { until, now } = stall
                && until.0 <= now.0 + 2
            {
                break;
            }
        }
        Err(stall)
    }

    /// Takes an ID as [`Self::next`] does, for an ID type whose sequence stands above the generator
    /// ID.
    #[inline(never)]
    fn issue_in_turn<S: IdLayout>(
        &mut self,
        cells: &[IssuingCell<'_>],
        limits: Limits<'_>,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Issued, Stall> {
        let last = SortPosition { stamp: self.floor, sequence: self.sequence, slot: self.last };
        let (slot, block) = in_turn::take::<S>(cells, last, self.generation, limits, clock)?;
        (self.floor, self.sequence, self.last) = (block.stamp, block.sequence, slot);
        Ok(Issued { generator_id: cells[slot].generator_id, block, fraction: 0 })
    }
}

/// Returns the tick of a reading of a session's clock, which has the fraction below the tick.
#[inline(always)]
const fn tick_of<S: IdLayout>(reading: Tick) -> Tick {
    Tick(reading.0 >> S::FRACTION_BITS)
}

/// Returns the fraction in which a reading of the clock is within the tick of a stamp: 0 if it is
/// before that tick.
#[inline(always)]
const fn fraction_of<S: IdLayout>(reading: Tick, stamp: Stamp) -> u64 {
    let is_within = tick_of::<S>(reading).0 == stamp.tick::<S>().0;
    if is_within { reading.0 & ((1 << S::FRACTION_BITS) - 1) } else { 0 }
}

/// Returns a clock that gives ticks, and keeps the last reading with its fraction.
fn ticks_of<S: IdLayout>(
    clock: &mut impl FnMut() -> Option<Tick>,
    last: &Reading<Tick>,
) -> impl FnMut() -> Option<Tick> {
    || {
        let reading = clock()?;
        last.set(reading);
        Some(tick_of::<S>(reading))
    }
}

/// Returns the home of a session: the reversed bits of its number, as a fraction of the slots (van
/// der Corput's sequence). So any few consecutive sessions are as far apart as possible.
fn home_of(number: u32, slots: usize) -> usize {
    (u64::from(number.reverse_bits()) * slots as u64 >> 32) as usize
}
