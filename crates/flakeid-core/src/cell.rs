//! A cell: the atomic word from which all sessions of a server get the IDs of one generator ID and
//! one ID type.
//!
//! Summary: a session loads the word, reads the clock, computes the next word with [`step`], and
//! swaps it in by a compare-and-swap. No value of the word ever returns, so a swap that succeeds
//! has met the word from which it was computed. For sno the word can change to the other timeline
//! when the clock steps back. Sealing ends a cell, and reviving lets it issue again above all that
//! it had. The rest of this header argues why no ID repeats.
//!
//! # Why no ID repeats
//! 1. Every ID is issued after a compare-and-swap that replaced the word from which the ID was
//!    computed. The new word is that of this ID, or a greater one of the same block. If two blocks
//!    were computed from one word, one of the swaps fails, and that thread computes again.
//! 2. [`step`] only replaces a word by a greater one. [`change_timeline`] replaces it by one at a
//!    tick above all that the other timeline has had. That word is new too, for whichever reason
//!    the timeline changed. Hence no value of the word ever returns. A swap that succeeds has met
//!    the very word that was read, and not a later one of the same value.
//! 3. A change from timeline `b` first raises `timeline_high_water[b]` to the word's tick, and then
//!    swaps. If the swap succeeds, that tick was the last of timeline `b`. If it fails,
//!    `timeline_high_water[b]` is a tick that timeline `b` has really had, so it is still a lower
//!    bound. It also does no harm, because only a thread that sees the word in the *other* timeline
//!    reads it. This also holds if the gate refuses the change and no swap is tried. A thread that
//!    reads a word in timeline `!b` therefore finds in `timeline_high_water[b]` all that `b` has
//!    ever issued.
//! 4. When a cell begins ([`Cell::begin`]), nothing above the floors has been issued before, by the
//!    argument in [`gate`](crate::gate). Each timeline's floor is the last tick that it may have
//!    had. The floor of the word's own timeline is in the word, and the floor of the other one is
//!    in `timeline_high_water`.
//! 5. A session never replaces a sealed word, so what [`Cell::seal`] found is the last that was
//!    issued. The sealed word is the greatest there is, and no clock reads its tick. The tick has
//!    64 bits less those of the sequence and the toggle, and the nanoseconds since 1970 in 64 bits
//!    are fewer ticks. So a sealed word looks like a step back of the clock, and the code looks for
//!    it there.
//! 6. Only [`Cell::revive`] replaces a sealed word. It writes a word that the cell has never had:
//!    one of a tick above the last of its timeline. So a swap that was computed before the seal
//!    never succeeds after it. (A word at the last tick would not be enough, because a word with
//!    which the cell had begun could return. A session that had stopped with that word would then
//!    issue by the gate of that time. Its IDs would be above a high-water mark that has become
//!    exact since.)
//!
//! These arguments hold for each caller that swaps in what [`step`] gave for the word that it read.
//! The callers are [`Cell::issue`], and [`in_turn`](crate::in_turn), which looks at several cells
//! before it chooses one.
//!
//! # When a cell changes its timeline
//! A sno cell changes to the other timeline (a tick-tock) when the clock has stepped back, as the
//! specification of sno says. The server's other cells follow with their next tick, as if one
//! generator had changed. So a session that goes from one generator ID to another stays in one
//! timeline. The timeline that was left stays free for the next step back. A cell may begin at a
//! horizon that the clock has not reached yet, since a crash leaves the horizon ahead by the lead.
//! That alone is no reason to change. The cell changes if the clock is behind the time at which
//! that horizon was written.
//!
//! # Why the word is read before the clock
//! If the clock were read first, its reading could be old when the word is read. Another thread
//! could have moved the word on between the two, and the clock would only *seem* to have stepped
//! back. For a sno cell that is fatal: it would change its timeline without a reason, twice within
//! a period. If the word is read first, a clock behind it has really been behind, on this
//! processor, after the word was written.

use crate::clock::Tick;
use crate::counts::Counters;
use crate::gate::{CellInit, Limits};
use crate::generator::{
    Block, IdLayout, Rules, Stamp, Step, Word, change_timeline, step, stepped_back,
};
use crate::sync::{AtomicU64, Ordering, spin_loop};

pub use crate::issue_request::IssueRequest;
pub use crate::stall::Stall;

/// The state of one generator ID for one ID type. It has 128 bytes of its own, as processors fetch
/// cache lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
pub struct Cell {
    /// The [`Word`] of the last ID that was issued.
    word: AtomicU64,
    /// The last tick that each timeline had when it was last left. Only an ID type with a tick-tock
    /// bit uses these. The specification of sno calls the one of the other timeline `wall_safe`.
    timeline_high_water: [AtomicU64; 2],
    /// The floor at which each timeline began: since then nothing at or below it was issued. The
    /// floors and `horizon_written_at` are written while no session issues from the cell.
    floors: [AtomicU64; 2],
    /// The tick in which the horizon was written at which the cell began.
    horizon_written_at: AtomicU64,
    /// Counts of events, for statistics alone.
    pub counters: Counters,
}

impl Cell {
    /// Creates a cell that has issued nothing and may issue all that is above `tick`.
    pub fn after<S: IdLayout>(tick: Tick) -> Self {
        let cell = Self {
            word: AtomicU64::new(0),
            timeline_high_water: [AtomicU64::new(0), AtomicU64::new(0)],
            floors: [AtomicU64::new(0), AtomicU64::new(0)],
            horizon_written_at: AtomicU64::new(0),
            counters: Counters::default(),
        };
        cell.begin::<S>(CellInit {
            floors: [tick; 2],
            toggle: false,
            last_clock_reading: tick,
            now: None,
        });
        cell
    }

    /// Makes this cell one that has issued nothing and may issue what is above the floors. No
    /// session may issue from the cell yet. The caller must let sessions see the cell by a Release
    /// of its own.
    pub fn begin<S: IdLayout>(&self, init: CellInit) {
        let word = self.initialize::<S>(init);
        self.counters.begin();
        self.count_timeline_change::<S>(word, init);
        self.word.store(word.0, Ordering::Relaxed);
    }

    /// Sets all that a beginning sets except the word, and returns the initial word.
    fn initialize<S: IdLayout>(&self, init: CellInit) -> Word {
        let CellInit { floors, last_clock_reading, now, .. } = init;
        let floor = |toggle: bool| floors[usize::from(toggle)];
        let stays = now.is_none_or(|now| {
            let (own, other) = (floor(init.toggle), floor(!init.toggle));
            // If the clock is past neither floor, the lower one is reached sooner.
            now > own || not_before(now, last_clock_reading) || (now <= other && own <= other)
        });
        let toggle = S::TICK_TOCK && init.toggle == stays;
        let tick = floor(toggle);
        // A cell that is not ahead of the clock waits for nothing.
        let horizon_written_at = if Some(tick) > now { last_clock_reading } else { Tick(u64::MAX) };
        let word = Word::exhausted::<S>(tick, toggle);
        self.horizon_written_at.store(horizon_written_at.0, Ordering::Relaxed);
        for ticks in [&self.floors, &self.timeline_high_water] {
            for (tick, floor) in ticks.iter().zip(floors) {
                tick.store(floor.0, Ordering::Relaxed);
            }
        }
        word
    }

    /// Counts a change of timeline if the cell begins in another timeline than the server's.
    fn count_timeline_change<S: IdLayout>(
        &self,
        word: Word,
        CellInit { toggle, last_clock_reading, now, .. }: CellInit,
    ) {
        let stamp = word.stamp::<S>();
        if S::TICK_TOCK && stamp.toggle::<S>() != toggle {
            self.counters.timeline_changed();
            // If the clock is past this floor, no session will notice the step back later.
            if let Some(now) = now.filter(|&now| now > stamp.tick::<S>()) {
                self.counters.stepped_back(last_clock_reading.0.saturating_sub(now.0));
            }
        }
    }

    /// Lets a sealed cell issue again: what is above the floors, and more than a tick above all
    /// that the cell itself had. If the cell is not sealed, this does nothing. The caller holds the
    /// server's lock, so there is one caller at a time.
    pub fn revive<S: IdLayout>(&self, init: CellInit) {
        if self.word() != Word::SEALED {
            return;
        }
        let mut floors = init.floors;
        for (floor, last) in floors.iter_mut().zip(self.last::<S>()) {
            *floor = (*floor).max(Tick(last.0 + 1));
        }
        let init = CellInit { floors, ..init };
        let word = self.initialize::<S>(init);
        self.count_timeline_change::<S>(word, init);
        // Release publishes what was set above to each thread that reads this word.
        self.word.store(word.0, Ordering::Release);
    }

    /// Returns a cell that would issue what this one would issue now, for a caller that wants to
    /// know that without issuing. It has no counts. If other threads issue at this moment, it may
    /// be a state that this cell never had.
    pub fn copy(&self) -> Self {
        // Acquire pairs with the Release of the swap that wrote the word: what is loaded below
        // belongs to it, or is later.
        let word = AtomicU64::new(self.word.load(Ordering::Acquire));
        let copy = |value: &AtomicU64| AtomicU64::new(value.load(Ordering::Relaxed));
        Self {
            word,
            timeline_high_water: self.timeline_high_water.each_ref().map(copy),
            floors: self.floors.each_ref().map(copy),
            horizon_written_at: copy(&self.horizon_written_at),
            counters: Counters::default(),
        }
    }

    /// Returns whether the cell has been sealed and not revived.
    pub fn is_sealed(&self) -> bool {
        self.word() == Word::SEALED
    }

    /// Loads the last word for statistics, without an order with other memory.
    pub fn word(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }

    /// Takes the next IDs of this cell; `None` if the clock has passed [`IssueRequest::within`].
    /// `clock` is read once for each attempt, always after the word; it gives `None` for a time
    /// before the epoch.
    ///
    /// # Errors
    /// The [`Stall`] for which there is no ID.
    #[inline]
    pub fn issue<S: IdLayout>(
        &self,
        request: IssueRequest,
        limits: Limits<'_>,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Result<Option<Block>, Stall> {
        let Limits { rules, gate, scale } = limits;
        // Acquire pairs with the Release of the swap that wrote this word. So what its writer put
        // into `timeline_high_water` before is visible below.
        let mut word = Word(self.word.load(Ordering::Acquire));
        loop {
            // The question comes after the word was loaded and before its swap: see `gate`.
            if gate.outdates(request.generation) {
                return Err(Stall::Outdated);
            }
            let now = clock().ok_or(Stall::BeforeEpoch)?;
            if now > request.within {
                return Ok(None);
            }
            let is_behind =
                stepped_back::<S>(word.stamp::<S>(), now) && !self.recovers::<S>(word, now);
            if is_behind && let Some(stall) = self.report_step_back::<S>(word, now) {
                return Err(stall);
            }
            let (next, block) = match self.decide::<S>(word, now, is_behind, request, limits) {
                Step::Issue(next, block) => (next, block),
                Step::Wait(until) => return Err(Stall::Wait { until, now }),
                Step::Ended => return Err(Stall::Ended),
            };
            if is_behind && request.current && stepped_back::<S>(block.stamp, now) {
                return Err(Stall::Wait { until: block.stamp.tick::<S>(), now });
            }
            let changes_timeline =
                S::TICK_TOCK && block.stamp.toggle::<S>() != word.stamp::<S>().toggle::<S>();
            if !gate.admits::<S>(scale, block.stamp)
                || changes_timeline && !gate.timeline_matches::<S>(block.stamp)
            {
                return Err(Stall::Gated(block.stamp));
            }
            // Release publishes `timeline_high_water`. Acquire pairs with the Release of the swap
            // that wrote the word of the next round.
            match self.word.compare_exchange_weak(
                word.0,
                next.0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    let counted = request.at_once.min(block.count) + request.uncounted;
                    self.count::<S>(word, next, counted, rules);
                    return Ok(Some(block));
                }
                Err(actual) => word = Word(actual),
            }
            spin_loop();
        }
    }

    /// Loads the last word for a caller that runs [`step`] itself. The caller reads the clock
    /// afterwards, and swaps by [`Self::compare_exchange`].
    pub(crate) fn load_word(&self) -> Word {
        // Acquire pairs with the Release of the swap that wrote this word.
        Word(self.word.load(Ordering::Acquire))
    }

    /// Replaces the word `before` by `after`, the word of a block that [`step`] computed from
    /// `before`. Returns false if the cell no longer holds `before`.
    pub(crate) fn compare_exchange<S: IdLayout>(
        &self,
        before: Word,
        after: Word,
        block: Block,
        rules: &Rules,
    ) -> bool {
        let swapped =
            self.word.compare_exchange(before.0, after.0, Ordering::AcqRel, Ordering::Relaxed);
        if swapped.is_ok() {
            self.count::<S>(before, after, block.count, rules);
        }
        swapped.is_ok()
    }

    /// Returns the stall that comes first if a clock that read `now` is behind a word: that it
    /// stepped back.
    pub(crate) fn check_step_back<S: IdLayout>(&self, word: Word, now: Tick) -> Option<Stall> {
        let is_behind = stepped_back::<S>(word.stamp::<S>(), now) && !self.recovers::<S>(word, now);
        if is_behind { self.report_step_back::<S>(word, now) } else { None }
    }

    /// Runs [`step`]; or [`change_timeline`], if the other timeline is free and the clock has
    /// stepped back or the server has changed its timeline.
    #[inline]
    fn decide<S: IdLayout>(
        &self,
        word: Word,
        now: Tick,
        is_behind: bool,
        request: IssueRequest,
        Limits { rules, gate, .. }: Limits<'_>,
    ) -> Step {
        let floor = match request.later {
            true => request.floor.next_tick::<S>(),
            false => request.floor,
        };
        if !S::TICK_TOCK {
            return step::<S>(word, now, floor, rules, request.want);
        }
        let stamp = word.stamp::<S>();
        let toggle = stamp.toggle::<S>();
        // A session's order ends at a step back, as the specification of sno says. What readers
        // were told remains.
        let floor = match stepped_back::<S>(request.floor, now) {
            true => Stamp::new::<S>(request.least, false),
            false => floor,
        };
        let follows = toggle != gate.toggle() && now > stamp.tick::<S>();
        let mut free = Tick(u64::MAX);
        if is_behind || follows {
            // Relaxed is enough: the word's Acquire has brought what the last change of timeline
            // wrote.
            let safe = Tick(self.timeline_high_water[usize::from(!toggle)].load(Ordering::Relaxed));
            free = Tick(safe.0 + 1);
            match change_timeline::<S>(word, now, safe, rules, request.want) {
                Some((next, block)) if block.stamp >= floor => {
                    // Relaxed is enough: the swap's Release puts this store before the word that
                    // changes the timeline.
                    self.timeline_high_water[usize::from(toggle)]
                        .fetch_max(stamp.tick::<S>().0, Ordering::Relaxed);
                    return Step::Issue(next, block);
                }
                // The session has had IDs of this time, so its order holds.
                Some((_, block)) if is_behind => {
                    return Step::Wait(block.stamp.tick_from::<S>(floor));
                }
                _ => {}
            }
        }
        match step::<S>(word, now, floor, rules, request.want) {
            // The other timeline may be free before this one has room again.
            Step::Wait(until) if is_behind => Step::Wait(until.min(free)),
            step => step,
        }
    }

    /// Returns whether the clock is only behind the horizon at which the cell began, and not behind
    /// the time at which that horizon was written.
    #[cold]
    fn recovers<S: IdLayout>(&self, word: Word, now: Tick) -> bool {
        let toggle = word.stamp::<S>().toggle::<S>();
        // Only the word with which the cell began is at the floor of its timeline.
        let floor = Tick(self.floors[usize::from(toggle)].load(Ordering::Relaxed));
        word == Word::exhausted::<S>(floor, toggle)
            && not_before(now, Tick(self.horizon_written_at.load(Ordering::Relaxed)))
    }

    #[cold]
    fn report_step_back<S: IdLayout>(&self, word: Word, now: Tick) -> Option<Stall> {
        if word == Word::SEALED {
            return Some(Stall::Sealed);
        }
        if self.word() != word {
            // Another thread may have reported the step before. The caller continues with an old
            // word. At worst that costs a wait or an extension that was not needed, since the swap
            // of an ID would fail.
            return None;
        }
        let from = word.stamp::<S>().tick::<S>();
        self.counters.stepped_back(from.0 - now.0).then_some(Stall::SteppedBack { from, now })
    }

    #[inline]
    fn count<S: IdLayout>(&self, before: Word, next: Word, issued: u32, rules: &Rules) {
        self.counters.issued(issued, next.sequence::<S>() == rules.sequence.1);
        if next.stamp::<S>() != before.stamp::<S>() {
            self.counters.caught_up();
            if next.stamp::<S>().toggle::<S>() != before.stamp::<S>().toggle::<S>() {
                self.counters.timeline_changed();
            }
        }
    }

    /// Returns the last tick that each timeline has had, or the floor at which it began. The ticks
    /// are exact if no session issues from this cell; otherwise they are for statistics alone.
    pub fn last<S: IdLayout>(&self) -> [Tick; 2] {
        // Acquire pairs with the Release of the swap that wrote the word, for
        // `timeline_high_water`.
        let word = Word(self.word.load(Ordering::Acquire));
        let mut last = [0, 1]
            .map(|timeline: usize| self.timeline_high_water[timeline].load(Ordering::Relaxed));
        // A sealed cell keeps its last tick where a change of timeline would leave it.
        if word != Word::SEALED {
            let stamp = word.stamp::<S>();
            let timeline = usize::from(stamp.toggle::<S>());
            last[timeline] = last[timeline].max(stamp.tick::<S>().0);
        }
        last.map(Tick)
    }

    /// Returns the last tick that each timeline has had since the cell began or was revived, and
    /// tick 0 if it has had none. A floor does not count: it may come from a high-water mark, and
    /// then other servers have issued up to it. The ticks are exact if no session issues from this
    /// cell.
    pub fn issued<S: IdLayout>(&self) -> [Tick; 2] {
        let mut issued = self.last::<S>();
        for (last, floor) in issued.iter_mut().zip(&self.floors) {
            // Each ID issued is above the floor of its timeline, and only an ID raises `last`.
            if last.0 <= floor.load(Ordering::Relaxed) {
                *last = Tick(0);
            }
        }
        issued
    }

    /// Ends this cell, so that it issues nothing any more. Returns to every caller the last tick
    /// that each timeline has had.
    pub fn seal<S: IdLayout>(&self) -> [Tick; 2] {
        let mut word = self.word();
        while word != Word::SEALED {
            // In the order of a change of timeline: first the word's tick goes to where a reader
            // looks for it, and then the word changes.
            let stamp = word.stamp::<S>();
            self.timeline_high_water[usize::from(stamp.toggle::<S>())]
                .fetch_max(stamp.tick::<S>().0, Ordering::Relaxed);
            // Release publishes `timeline_high_water`.
            match self.word.compare_exchange_weak(
                word.0,
                Word::SEALED.0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(actual) => word = Word(actual),
            }
        }
        self.last::<S>()
    }
}

/// Returns whether a clock that reads `now` is not more than a tick behind `then`.
const fn not_before(now: Tick, then: Tick) -> bool {
    now.0 + 1 >= then.0
}
