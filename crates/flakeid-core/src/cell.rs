//! The atomic around the step: one partition's state in one system, shared by all who issue from it.
//!
//! # Why no ID comes twice
//! 1. Every ID goes out after a compare-and-swap that put its word, or a greater one of the same
//!    block, in place of the word it was computed from. Two blocks computed from the same word:
//!    one swap fails, and that thread computes again.
//! 2. [`step`] only replaces a word by a greater one. A [`turn`] replaces it by one at a tick above
//!    all that the other timeline has had, so that word is new too, whyever it turned. Hence no value
//!    of the word ever comes back, and a swap that succeeds has met the very word that was read, not
//!    a look-alike.
//! 3. A turn away from timeline `b` first raises `reached[b]` to the word's tick and then swaps.
//!    If the swap succeeds, that tick was the last of timeline `b`. If it fails, `reached[b]` names
//!    a tick that timeline `b` has really had, so it is still a bound from below and, because only
//!    a thread that sees the word in the *other* timeline asks for it, harmless. The same holds where
//!    the gate refuses the turn and no swap is tried. Whoever reads a word
//!    in timeline `!b` therefore finds in `reached[b]` all that `b` has ever issued.
//!
//! 4. Where a cell begins ([`Cell::begin`]) nothing above the floors has been issued before, by
//!    the argument in [`gate`](crate::gate). Each timeline's floor is what it has had: that of the
//!    word's own is in the word, that of the other in `reached`.
//! 5. Whoever issues never replaces a sealed word, so what [`Cell::seal`] found is the last that was
//!    issued. It is the greatest there is, and no clock reads its tick: of 64 bits less sequence and
//!    toggle, where nanoseconds since 1970 in 64 bits are fewer ticks. So it looks like a step back,
//!    which is where it is looked for.
//! 6. [`Cell::revive`] alone replaces it, by a word that the cell has never had: of a tick above the last
//!    of its timeline. So a swap that was computed before the seal never succeeds after it. (A word at
//!    the last tick would not do: one that the cell had begun with comes again, and whoever stood still
//!    with it since would issue by a gate of then, above a mark that has become exact meanwhile.)
//!
//! That holds for whoever swaps by what [`step`] gave for the word that was read: [`Cell::issue`], and
//! [`in_turn`](crate::in_turn), which looks at several cells before it chooses one.
//!
//! # When it turns
//! A tick-tock turns when the clock has stepped back, as its specification says. The node's other
//! cells follow with their next tick, as if one generator had turned: a session that goes from
//! partition to partition stays in one timeline, and the timeline that was left stays free for the
//! next step back. A cell that begins at a horizon which the clock has not reached yet does not turn
//! for that: a crash leaves the horizon ahead by the lead. It turns if the clock is behind the moment
//! at which that horizon was written.
//!
//! # Why the word is read before the clock
//! A clock read first may be old by the time the word is read: another thread has moved the word on
//! meanwhile, and the clock only *looks* as if it had stepped back. For the tick-tock that is fatal:
//! it would turn for nothing, twice within a period. With the word first, a clock behind it has
//! really been behind, on this processor, after the word was written.

use crate::clock::{Scale, Tick};
use crate::counts::Counters;
use crate::gate::{Gate, Start};
use crate::generator::{Block, Rules, Stamp, Step, System, Word, step, stepped_back, turn};
use crate::sync::{AtomicU64, Ordering, spin_loop};

/// One partition's state in one system, on cache lines of its own: 128 bytes, as processors fetch
/// lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
pub struct Cell {
    /// A [`Word`]: what was issued last.
    word: AtomicU64,
    /// Per timeline the last tick it had when it was last left. Only systems with a tick-tock bit
    /// use it; sno's specification calls that of the other timeline `wall_safe`.
    reached: [AtomicU64; 2],
    /// Per timeline the floor it began at: nothing at or below it was issued since. Written when nobody
    /// issues from the cell, like the next.
    floors: [AtomicU64; 2],
    /// The tick in which the horizon was written that it began at.
    since: AtomicU64,
    /// What happened, for those who only look.
    pub counters: Counters,
}

/// What an attempt at a cell came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These IDs are the caller's.
    Issued(Block),
    /// Nothing here before the clock reads this tick; it read `now`.
    Wait { until: Tick, now: Tick },
    /// The clock has passed the tick that the caller wanted to stay in.
    NewTick,
    /// The gate does not admit this stamp, or the node has not turned to its timeline.
    Gated(Stamp),
    /// The clock read `now`, more than a tick behind the last ID's. This is said once, to the first
    /// who notices; asked again, the cell does what its system does then.
    SteppedBack { from: Tick, now: Tick },
    /// Time has passed the last tick that may be issued.
    Ended,
    /// The clock is before the epoch.
    BeforeEpoch,
    /// The cell has been sealed.
    Sealed,
    /// The gate serves a later generation than the caller's.
    Outdated,
}

/// What the caller of [`Cell::issue`] asks for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The session's last stamp: what it gets sorts at or above it, but where a tick-tock has turned.
    pub floor: Stamp,
    /// Whether it must be above: of a later tick.
    pub later: bool,
    /// Nothing is issued once the clock is past this tick.
    pub within: Tick,
    /// How many IDs are wanted, at least one.
    pub want: u32,
    /// How many of them at most go out at once, and so are counted with the swap: the caller counts the rest
    /// later, as it hands them out.
    pub at_once: u32,
    /// How many IDs of this cell the caller has handed out since the last that were counted.
    pub uncounted: u32,
    /// Whether the caller has other cells to ask: then nothing is issued here of a tick that the clock has yet to
    /// reach.
    pub current: bool,
    /// The generation of the server's identity that the caller knows this cell by.
    pub generation: u64,
}

impl Ask {
    /// Asks for so many IDs, which go out at once. What came before does not count.
    pub const fn any(want: u32) -> Self {
        Self {
            floor: Stamp::FIRST,
            later: false,
            within: Tick(u64::MAX),
            want,
            at_once: want,
            uncounted: 0,
            current: false,
            generation: 0,
        }
    }
}

impl Cell {
    /// A cell that has issued nothing and may issue whatever comes after `tick`.
    pub fn after<S: System>(tick: Tick) -> Self {
        let cell = Self {
            word: AtomicU64::new(0),
            reached: [AtomicU64::new(0), AtomicU64::new(0)],
            floors: [AtomicU64::new(0), AtomicU64::new(0)],
            since: AtomicU64::new(0),
            counters: Counters::default(),
        };
        cell.begin::<S>(Start { floors: [tick; 2], toggle: false, since: tick, now: None });
        cell
    }

    /// Makes this cell one that has issued nothing and may issue what is above the floors. For a cell
    /// that nobody issues from yet: who lets others see it must do so by a Release of their own.
    pub fn begin<S: System>(&self, start: Start) {
        let word = self.set_up::<S>(start);
        self.counters.begin();
        self.note_turn::<S>(word, start);
        self.word.store(word.0, Ordering::Relaxed);
    }

    /// All that a beginning sets but for the word, which it gives.
    fn set_up<S: System>(&self, start: Start) -> Word {
        let Start { floors, since, now, .. } = start;
        let floor = |toggle: bool| floors[usize::from(toggle)];
        let stays = now.is_none_or(|now| {
            let (own, other) = (floor(start.toggle), floor(!start.toggle));
            // Where the clock is past neither, the lower is reached sooner.
            now > own || not_before(now, since) || (now <= other && own <= other)
        });
        let toggle = S::TICK_TOCK && start.toggle == stays;
        let tick = floor(toggle);
        // Who is not ahead of the clock has nothing to wait for.
        let since = if Some(tick) > now { since } else { Tick(u64::MAX) };
        let word = Word::spent::<S>(tick, toggle);
        self.since.store(since.0, Ordering::Relaxed);
        for kept in [&self.floors, &self.reached] {
            for (kept, floor) in kept.iter().zip(floors) {
                kept.store(floor.0, Ordering::Relaxed);
            }
        }
        word
    }

    /// Counts a beginning in the other timeline than the node's.
    fn note_turn<S: System>(&self, word: Word, Start { toggle, since, now, .. }: Start) {
        let stamp = word.stamp::<S>();
        if S::TICK_TOCK && stamp.toggle::<S>() != toggle {
            self.counters.turned();
            // Where it is past this floor nobody will notice later.
            if let Some(now) = now.filter(|&now| now > stamp.tick::<S>()) {
                self.counters.stepped_back(since.0.saturating_sub(now.0));
            }
        }
    }

    /// Lets a sealed cell issue again what is above the floors, and more than a tick above all that it had
    /// itself. Where it is not sealed nothing happens. One at a time: the caller holds the node's lock.
    pub fn revive<S: System>(&self, start: Start) {
        if self.word() != Word::SEALED {
            return;
        }
        let mut floors = start.floors;
        for (floor, last) in floors.iter_mut().zip(self.last::<S>()) {
            *floor = (*floor).max(Tick(last.0 + 1));
        }
        let start = Start { floors, ..start };
        let word = self.set_up::<S>(start);
        self.note_turn::<S>(word, start);
        // Release publishes what was set up to whoever reads this word.
        self.word.store(word.0, Ordering::Release);
    }

    /// Whether it has been sealed and not revived.
    pub fn is_sealed(&self) -> bool {
        self.word() == Word::SEALED
    }

    /// The last word, for those who only look.
    pub fn word(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }

    /// Takes the next IDs of this partition, or says why there are none. `clock` is read once a try,
    /// always after the word; `None` means before the epoch.
    #[inline]
    pub fn issue<S: System>(
        &self,
        ask: Ask,
        rules: &Rules,
        gate: &Gate,
        scale: Scale,
        clock: &mut impl FnMut() -> Option<Tick>,
    ) -> Outcome {
        // Acquire pairs with the Release of the swap that wrote this word: what its writer put into
        // `reached` before it is seen below.
        let mut word = Word(self.word.load(Ordering::Acquire));
        loop {
            // After the word and before its swap: see `gate`.
            if gate.outdates(ask.generation) {
                return Outcome::Outdated;
            }
            let Some(now) = clock() else {
                return Outcome::BeforeEpoch;
            };
            if now > ask.within {
                return Outcome::NewTick;
            }
            let behind =
                stepped_back::<S>(word.stamp::<S>(), now) && !self.recovers::<S>(word, now);
            if behind && let Some(outcome) = self.notice::<S>(word, now) {
                return outcome;
            }
            let (next, block) = match self.decide::<S>(word, now, behind, ask, rules, gate) {
                Step::Issue(next, block) => (next, block),
                Step::Wait(until) => return Outcome::Wait { until, now },
                Step::Ended => return Outcome::Ended,
            };
            if behind && ask.current && stepped_back::<S>(block.stamp, now) {
                return Outcome::Wait { until: block.stamp.tick::<S>(), now };
            }
            let turns =
                S::TICK_TOCK && block.stamp.toggle::<S>() != word.stamp::<S>().toggle::<S>();
            if !gate.admits::<S>(scale, block.stamp) || turns && !gate.goes_by::<S>(block.stamp) {
                return Outcome::Gated(block.stamp);
            }
            // Release publishes `reached`; Acquire as above, for the next round.
            match self.word.compare_exchange_weak(
                word.0,
                next.0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    let counted = ask.at_once.min(block.count) + ask.uncounted;
                    self.count::<S>(word, next, counted, rules);
                    return Outcome::Issued(block);
                }
                Err(actual) => word = Word(actual),
            }
            spin_loop();
        }
    }

    /// The last word, for one who decides by it: read before the clock, and swapped by
    /// [`Self::replace`].
    pub(crate) fn seen(&self) -> Word {
        // Acquire, as in `issue`.
        Word(self.word.load(Ordering::Acquire))
    }

    /// Puts the word of a block that [`step`] gave in place of the one it was computed from; false
    /// where that is not the cell's any more.
    pub(crate) fn replace<S: System>(
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

    /// What is to be said first where a clock that read `now` is behind a word: that it stepped back.
    pub(crate) fn behind<S: System>(&self, word: Word, now: Tick) -> Option<Outcome> {
        let behind = stepped_back::<S>(word.stamp::<S>(), now) && !self.recovers::<S>(word, now);
        if behind { self.notice::<S>(word, now) } else { None }
    }

    /// [`step`], or a tick-tock's [`turn`] where the clock has stepped back or the node has turned,
    /// and the other timeline is free.
    #[inline]
    fn decide<S: System>(
        &self,
        word: Word,
        now: Tick,
        behind: bool,
        ask: Ask,
        rules: &Rules,
        gate: &Gate,
    ) -> Step {
        let floor = match ask.later {
            true => ask.floor.next_tick::<S>(),
            false => ask.floor,
        };
        if !S::TICK_TOCK {
            return step::<S>(word, now, floor, rules, ask.want);
        }
        let stamp = word.stamp::<S>();
        let toggle = stamp.toggle::<S>();
        // Across a step back a session's order is given up, as the format has it.
        let floor = match stepped_back::<S>(ask.floor, now) {
            true => Stamp::default(),
            false => floor,
        };
        let follows = toggle != gate.toggle() && now > stamp.tick::<S>();
        let mut free = Tick(u64::MAX);
        if behind || follows {
            // Relaxed: the word's Acquire has brought what the last turn wrote.
            let safe = Tick(self.reached[usize::from(!toggle)].load(Ordering::Relaxed));
            free = Tick(safe.0 + 1);
            match turn::<S>(word, now, safe, rules, ask.want) {
                Some((next, block)) if block.stamp >= floor => {
                    // Relaxed: the swap's Release puts it before the word that turns.
                    self.reached[usize::from(toggle)]
                        .fetch_max(stamp.tick::<S>().0, Ordering::Relaxed);
                    return Step::Issue(next, block);
                }
                // The session has had IDs of this time, so its order holds.
                Some((_, block)) if behind => return Step::Wait(block.stamp.tick_from::<S>(floor)),
                _ => {}
            }
        }
        match step::<S>(word, now, floor, rules, ask.want) {
            // The other timeline may be free before this one has room again.
            Step::Wait(until) if behind => Step::Wait(until.min(free)),
            step => step,
        }
    }

    /// Whether the clock is only behind the horizon that the cell began at, and not behind the moment
    /// when that was written.
    #[cold]
    fn recovers<S: System>(&self, word: Word, now: Tick) -> bool {
        let toggle = word.stamp::<S>().toggle::<S>();
        // Only the word that the cell began with is at the floor of its timeline.
        let floor = Tick(self.floors[usize::from(toggle)].load(Ordering::Relaxed));
        word == Word::spent::<S>(floor, toggle)
            && not_before(now, Tick(self.since.load(Ordering::Relaxed)))
    }

    #[cold]
    fn notice<S: System>(&self, word: Word, now: Tick) -> Option<Outcome> {
        if word == Word::SEALED {
            return Some(Outcome::Sealed);
        }
        if self.word() != word {
            // Another thread may have said it before. What follows is for an old word: at worst a wait
            // or an extension that was not needed, as the swap of an ID would fail.
            return None;
        }
        let from = word.stamp::<S>().tick::<S>();
        self.counters.stepped_back(from.0 - now.0).then_some(Outcome::SteppedBack { from, now })
    }

    #[inline]
    fn count<S: System>(&self, before: Word, next: Word, issued: u32, rules: &Rules) {
        self.counters.issued(issued, next.sequence::<S>() == rules.sequence.1);
        if next.stamp::<S>() != before.stamp::<S>() {
            self.counters.caught_up();
            if next.stamp::<S>().toggle::<S>() != before.stamp::<S>().toggle::<S>() {
                self.counters.turned();
            }
        }
    }

    /// The last tick that each timeline has had, or the floors it began at. Exact where nobody issues
    /// from this cell, and for those who only look.
    pub fn last<S: System>(&self) -> [Tick; 2] {
        // Acquire pairs with the Release of the swap that wrote the word, for `reached`.
        let word = Word(self.word.load(Ordering::Acquire));
        let mut last = [0, 1].map(|timeline: usize| self.reached[timeline].load(Ordering::Relaxed));
        // A sealed cell keeps what it had where a turn would leave it.
        if word != Word::SEALED {
            let stamp = word.stamp::<S>();
            let timeline = usize::from(stamp.toggle::<S>());
            last[timeline] = last[timeline].max(stamp.tick::<S>().0);
        }
        last.map(Tick)
    }

    /// The last tick that each timeline has had since the cell began or was revived, and tick 0 where it
    /// has had none. A floor is left out: it may come from a mark, and then others have issued up to it.
    /// Exact where nobody issues from this cell.
    pub fn issued<S: System>(&self) -> [Tick; 2] {
        let mut issued = self.last::<S>();
        for (last, floor) in issued.iter_mut().zip(&self.floors) {
            // Each ID issued is above the floor of its timeline, and only an ID raises `last`.
            if last.0 <= floor.load(Ordering::Relaxed) {
                *last = Tick(0);
            }
        }
        issued
    }

    /// Ends this cell: nothing is issued any more. Gives the last tick that each timeline has had, to
    /// everyone who asks.
    pub fn seal<S: System>(&self) -> [Tick; 2] {
        let mut word = self.word();
        while word != Word::SEALED {
            // As a turn does: what the word says goes where it will be looked for, and then the word.
            let stamp = word.stamp::<S>();
            self.reached[usize::from(stamp.toggle::<S>())]
                .fetch_max(stamp.tick::<S>().0, Ordering::Relaxed);
            // Release publishes `reached`.
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

/// Whether a clock that reads `now` has not stepped back from `since`; a tick less is noise.
const fn not_before(now: Tick, since: Tick) -> bool {
    now.0 + 1 >= since.0
}
