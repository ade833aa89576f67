//! The computation of the next ID: a pure function of a cell's word, the clock and the rules.
//!
//! Summary: [`step`] is the one place where an ID is decided. It takes the last ID of a generator
//! ID as a word of 64 bits. It returns the next word with its IDs, or the tick for which the
//! session must wait. It never returns a smaller word. [`change_timeline`] does this for sno when
//! the clock has stepped back.
//!
//! # The word
//! The last ID that one ID type has issued with one generator ID is one word of 64 bits:
//!
//! ```text
//! | tick | toggle, if the ID type has a tick-tock bit | sequence |
//! ```
//!
//! The part above the sequence is the word's [`Stamp`]. An ID sorts by it before anything else, so
//! words, stamps and IDs of one generator ID have one order. A word is only replaced by a greater
//! one, except at a change of timeline. That moves to the other timeline at a time that this
//! timeline has never had (see [`change_timeline`]). In both cases no word repeats, and so no ID
//! does.
//!
//! # The tick of the next ID
//! The tick of the next ID is the greatest of three: the clock's, the word's, and that of the
//! session's last ID. If the clock is ahead of the others, it is the clock's. If the clock is
//! behind the word, the word's tick is *held*: the rest of its sequence is used, and when that is
//! exhausted the session must wait. A session that is ahead of both waits for the clock, since a
//! word never moves to a tick that no clock has read. So if a word is more than a tick ahead of a
//! clock, that clock has stepped back. It is never just a difference between the clocks of two
//! processors.

use crate::clock::Tick;

/// The properties of an ID type that the generator has to know.
pub trait IdLayout {
    /// The width of the sequence, in bits.
    const SEQUENCE_BITS: u32;
    /// Whether a tick-tock bit follows the time. Then the generator changes to the other timeline
    /// when the clock steps back.
    const TICK_TOCK: bool;
    /// Whether the sequence stands above the generator ID. Then a session's order over several
    /// generator IDs is that of the sequence first: see [`in_turn`](crate::in_turn).
    const SEQUENCE_FIRST: bool = false;
    /// The width of the fraction of a tick that an ID has between its tick and its generator ID.
    /// The clock of a session gives it below the tick. See [`session`](crate::session).
    const FRACTION_BITS: u32 = 0;
}

/// The limits that the configuration sets for all generator IDs of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The first and the last sequence number that this server may use, both included.
    pub sequence: (u32, u32),
    /// The last tick that may be issued.
    pub end: Tick,
}

/// The time of an ID: the tick and, below it, the toggle if the ID type has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

impl Stamp {
    /// The first stamp of all.
    pub const FIRST: Self = Self(0);

    /// Creates the stamp of a tick and a timeline. An ID type without a tick-tock bit ignores
    /// `toggle`.
    pub const fn new<S: IdLayout>(tick: Tick, toggle: bool) -> Self {
        Self(tick.0 << S::TICK_TOCK as u32 | (toggle && S::TICK_TOCK) as u64)
    }

    /// Returns the tick.
    pub const fn tick<S: IdLayout>(self) -> Tick {
        Tick(self.0 >> S::TICK_TOCK as u32)
    }

    /// Returns whether the stamp is in the second timeline.
    pub const fn toggle<S: IdLayout>(self) -> bool {
        S::TICK_TOCK && self.0 & 1 == 1
    }

    /// Returns the first tick whose stamp in this stamp's timeline is not below `floor`.
    pub const fn tick_from<S: IdLayout>(self, floor: Self) -> Tick {
        let tick = floor.tick::<S>();
        Tick(tick.0 + (Self::new::<S>(tick, self.toggle::<S>()).0 < floor.0) as u64)
    }

    /// Returns the stamp of the next tick in the first timeline, which is above every ID of this
    /// tick.
    pub const fn next_tick<S: IdLayout>(self) -> Self {
        Self::new::<S>(Tick(self.tick::<S>().0 + 1), false)
    }
}

/// The last ID that was issued with a generator ID, without the fields that all its IDs have in
/// common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(pub(crate) u64);

impl Word {
    /// Creates the word of a stamp and a sequence number.
    pub const fn new<S: IdLayout>(stamp: Stamp, sequence: u32) -> Self {
        Self(stamp.0 << S::SEQUENCE_BITS | sequence as u64)
    }

    /// The greatest word. No ID has it: its tick is greater than that of any ID type.
    pub const SEALED: Self = Self(u64::MAX);

    /// Creates a word whose sequence is exhausted until the tick after `tick`.
    pub const fn exhausted<S: IdLayout>(tick: Tick, toggle: bool) -> Self {
        Self::new::<S>(Stamp::new::<S>(tick, toggle), (1 << S::SEQUENCE_BITS) - 1)
    }

    /// Returns the word's stamp.
    pub const fn stamp<S: IdLayout>(self) -> Stamp {
        Stamp(self.0 >> S::SEQUENCE_BITS)
    }

    /// Returns the word's sequence number.
    pub const fn sequence<S: IdLayout>(self) -> u32 {
        (self.0 & ((1 << S::SEQUENCE_BITS) - 1)) as u32
    }
}

/// A block of IDs: `count` sequence numbers from `sequence` on, all of one stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The stamp of all IDs of the block.
    pub stamp: Stamp,
    /// The first sequence number.
    pub sequence: u32,
    /// The number of IDs.
    pub count: u32,
}

impl Block {
    /// The block without IDs.
    pub const EMPTY: Self = Self { stamp: Stamp(0), sequence: 0, count: 0 };

    /// Takes up to `want` IDs off the block's front.
    #[inline]
    pub fn take(&mut self, want: u32) -> Self {
        let taken = Self { count: want.min(self.count), ..*self };
        self.sequence += taken.count;
        self.count -= taken.count;
        taken
    }

    const fn last<S: IdLayout>(self) -> Word {
        Word::new::<S>(self.stamp, self.sequence + self.count - 1)
    }
}

/// The decision of [`step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Issue these IDs, once this word has replaced the current one.
    Issue(Word, Block),
    /// Issue nothing before the clock reads this tick.
    Wait(Tick),
    /// The tick of the next ID is past [`Rules::end`].
    Ended,
}

/// Computes the next `want` IDs after `word`, for a session whose IDs must sort at or above
/// `floor`. `want` is at least one. The block has fewer IDs if the tick has fewer left.
#[inline]
pub fn step<S: IdLayout>(word: Word, now: Tick, floor: Stamp, rules: &Rules, want: u32) -> Step {
    let last = word.stamp::<S>();
    let held = last.tick::<S>();
    let least = floor.tick::<S>();
    let tick = now.max(held).max(least);
    if tick > rules.end {
        return Step::Ended;
    }
    if tick > held && tick > now {
        return Step::Wait(tick);
    }
    let stamp = Stamp::new::<S>(tick, last.toggle::<S>());
    let sequence =
        if tick > held { rules.sequence.0 } else { rules.sequence.0.max(word.sequence::<S>() + 1) };
    // A stamp below the floor is the same tick in the lower timeline.
    if stamp < floor || sequence > rules.sequence.1 {
        return Step::Wait(Tick(tick.0 + 1));
    }
    let block = Block { stamp, sequence, count: want.min(rules.sequence.1 - sequence + 1) };
    Step::Issue(block.last::<S>(), block)
}

/// Returns whether the clock has stepped back from the tick of `stamp`. A difference of one tick is
/// the noise between two processors' clocks, and does not count.
#[inline]
pub const fn stepped_back<S: IdLayout>(stamp: Stamp, now: Tick) -> bool {
    now.0 + 1 < stamp.tick::<S>().0
}

/// Computes the first `want` IDs at `now` in the timeline other than `word`'s (a tick-tock). `safe`
/// is the last tick that the other timeline has had. Returns `None` if `now` is not past it: that
/// is a second step back into one period, for which the session waits.
pub fn change_timeline<S: IdLayout>(
    word: Word,
    now: Tick,
    safe: Tick,
    rules: &Rules,
    want: u32,
) -> Option<(Word, Block)> {
    if !S::TICK_TOCK || now <= safe || now > rules.end {
        return None;
    }
    let (first, last) = rules.sequence;
    let more = last.checked_sub(first)?;
    let block = Block {
        stamp: Stamp::new::<S>(now, !word.stamp::<S>().toggle::<S>()),
        sequence: first,
        count: want.min(more + 1),
    };
    Some((block.last::<S>(), block))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;
    impl IdLayout for Plain {
        const SEQUENCE_BITS: u32 = 4;
        const TICK_TOCK: bool = false;
    }

    struct TickTock;
    impl IdLayout for TickTock {
        const SEQUENCE_BITS: u32 = 4;
        const TICK_TOCK: bool = true;
    }

    const RULES: Rules = Rules { sequence: (0, 15), end: Tick(1000) };
    const FREE: Stamp = Stamp(0);

    fn plain(tick: u64, sequence: u32) -> Word {
        Word::new::<Plain>(Stamp::new::<Plain>(Tick(tick), false), sequence)
    }

    fn issue<S: IdLayout>(tick: u64, toggle: bool, sequence: u32, count: u32) -> Step {
        let stamp = Stamp::new::<S>(Tick(tick), toggle);
        let block = Block { stamp, sequence, count };
        Step::Issue(Word::new::<S>(stamp, sequence + count - 1), block)
    }

    #[test]
    fn a_new_tick_begins_the_sequence_again() {
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(6), FREE, &RULES, 1),
            issue::<Plain>(6, false, 0, 1)
        );
    }

    #[test]
    fn the_same_tick_continues_and_then_waits_for_the_next() {
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(5), FREE, &RULES, 1),
            issue::<Plain>(5, false, 10, 1)
        );
        assert_eq!(step::<Plain>(plain(5, 15), Tick(5), FREE, &RULES, 1), Step::Wait(Tick(6)));
    }

    #[test]
    fn a_block_ends_with_the_tick() {
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(5), FREE, &RULES, 100),
            issue::<Plain>(5, false, 10, 6)
        );
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(6), FREE, &RULES, 100),
            issue::<Plain>(6, false, 0, 16)
        );
    }

    #[test]
    fn a_clock_behind_holds_the_last_tick_however_far() {
        for now in [0, 3, 4] {
            assert_eq!(
                step::<Plain>(plain(5, 9), Tick(now), FREE, &RULES, 1),
                issue::<Plain>(5, false, 10, 1)
            );
            assert_eq!(
                step::<Plain>(plain(5, 15), Tick(now), FREE, &RULES, 1),
                Step::Wait(Tick(6))
            );
        }
    }

    #[test]
    fn a_slice_of_the_sequence_is_kept_even_when_it_has_just_changed() {
        let rules = Rules { sequence: (4, 7), ..RULES };
        assert_eq!(
            step::<Plain>(plain(5, 0), Tick(6), FREE, &rules, 9),
            issue::<Plain>(6, false, 4, 4)
        );
        assert_eq!(
            step::<Plain>(plain(5, 0), Tick(5), FREE, &rules, 9),
            issue::<Plain>(5, false, 4, 4)
        );
        assert_eq!(step::<Plain>(plain(5, 12), Tick(5), FREE, &rules, 1), Step::Wait(Tick(6)));
    }

    #[test]
    fn a_session_ahead_of_the_clock_and_the_word_waits_for_the_clock() {
        let floor = |tick| Stamp::new::<Plain>(Tick(tick), false);
        for tick in [7, 8, 900] {
            assert_eq!(
                step::<Plain>(plain(5, 9), Tick(6), floor(tick), &RULES, 1),
                Step::Wait(Tick(tick))
            );
        }
        assert_eq!(
            step::<Plain>(plain(7, 9), Tick(6), floor(7), &RULES, 1),
            issue::<Plain>(7, false, 10, 1)
        );
    }

    #[test]
    fn a_session_never_goes_down_to_the_lower_timeline_of_its_tick() {
        let word = Word::new::<TickTock>(Stamp::new::<TickTock>(Tick(5), false), 3);
        let floor = Stamp::new::<TickTock>(Tick(5), true);
        assert_eq!(step::<TickTock>(word, Tick(5), floor, &RULES, 1), Step::Wait(Tick(6)));
        assert_eq!(
            step::<TickTock>(word, Tick(6), floor, &RULES, 1),
            issue::<TickTock>(6, false, 0, 1)
        );
    }

    #[test]
    fn nothing_is_issued_past_the_end() {
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(1000), FREE, &RULES, 1),
            issue::<Plain>(1000, false, 0, 1)
        );
        assert_eq!(step::<Plain>(plain(5, 9), Tick(1001), FREE, &RULES, 1), Step::Ended);
    }

    #[test]
    fn an_exhausted_word_has_nothing_left_in_its_tick() {
        let word = Word::exhausted::<TickTock>(Tick(5), false);
        assert_eq!(step::<TickTock>(word, Tick(5), FREE, &RULES, 1), Step::Wait(Tick(6)));
    }

    #[test]
    fn a_change_goes_to_the_other_timeline_only_at_ticks_that_it_has_not_had() {
        let word = Word::new::<TickTock>(Stamp::new::<TickTock>(Tick(9), false), 3);
        let (next, block) = change_timeline::<TickTock>(word, Tick(5), Tick(4), &RULES, 1).unwrap();
        assert_eq!(issue::<TickTock>(5, true, 0, 1), Step::Issue(next, block));
        assert_eq!(change_timeline::<TickTock>(word, Tick(5), Tick(5), &RULES, 1), None);
        assert_eq!(change_timeline::<Plain>(plain(9, 3), Tick(5), Tick(4), &RULES, 1), None);
    }
}
