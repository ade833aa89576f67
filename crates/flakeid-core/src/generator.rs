//! The one place where an ID is decided: a pure function of what a cell holds, the time and the
//! rules.
//!
//! # The word
//! What one system and partition has issued last is one 64-bit word:
//!
//! ```text
//! | tick | toggle, where the system has a tick-tock bit | sequence |
//! ```
//!
//! The part above the sequence is the word's [`Stamp`]; it is what an ID sorts by before anything
//! else, so words, stamps and IDs of one partition have one order. A word is only ever replaced by
//! a greater one, but for a tick-tock's turn, which moves to the other timeline at a time that this
//! timeline has never had (see [`turn`]). Either way no word comes twice, and so no ID does.
//!
//! # The tick of the next ID
//! is the greatest of three: the clock's, the word's, and that of the session's last ID. Where the
//! clock is ahead this is the clock. Where it is behind the word, the word's tick is *held*: what
//! remains of its sequence is still good, and when that is used up only time helps. A session that is
//! ahead of both waits for the clock: a word is never moved to a tick that no clock has read. So a
//! word that is more than a tick ahead of a clock says that the clock has stepped back, and never
//! just that another processor's clock is a little ahead.

use crate::clock::Tick;

/// What the generator has to know of a system.
pub trait System {
    /// Width of the sequence.
    const SEQUENCE_BITS: u32;
    /// Whether a tick-tock bit follows the time: a clock step back then moves to the other timeline.
    const TICK_TOCK: bool;
    /// Whether the sequence stands above the generator ID, so that a session's order over several
    /// partitions is that of the sequence first: see [`in_turn`](crate::in_turn).
    const SEQUENCE_FIRST: bool = false;
}

/// What is settled by configuration, the same for all partitions of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// First and last number of the sequence that this node may use, both included.
    pub sequence: (u32, u32),
    /// The last tick that may be issued.
    pub end: Tick,
}

/// The time of an ID: the tick and, below it, the toggle where the system has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

impl Stamp {
    /// The first of all.
    pub const FIRST: Self = Self(0);

    pub const fn new<S: System>(tick: Tick, toggle: bool) -> Self {
        Self(tick.0 << S::TICK_TOCK as u32 | (toggle && S::TICK_TOCK) as u64)
    }

    pub const fn tick<S: System>(self) -> Tick {
        Tick(self.0 >> S::TICK_TOCK as u32)
    }

    pub const fn toggle<S: System>(self) -> bool {
        S::TICK_TOCK && self.0 & 1 == 1
    }

    /// The first tick whose stamp in this one's timeline is not below `floor`.
    pub const fn tick_from<S: System>(self, floor: Self) -> Tick {
        let tick = floor.tick::<S>();
        Tick(tick.0 + (Self::new::<S>(tick, self.toggle::<S>()).0 < floor.0) as u64)
    }

    /// The stamp of the next tick in the first timeline: above every ID of this one.
    pub const fn next_tick<S: System>(self) -> Self {
        Self::new::<S>(Tick(self.tick::<S>().0 + 1), false)
    }
}

/// The last ID that a partition issued, without what all its IDs have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(pub(crate) u64);

impl Word {
    pub const fn new<S: System>(stamp: Stamp, sequence: u32) -> Self {
        Self(stamp.0 << S::SEQUENCE_BITS | sequence as u64)
    }

    /// The greatest word. No ID has it: its tick is beyond what any system can write down.
    pub const SEALED: Self = Self(u64::MAX);

    /// A word that has nothing left before the tick after `tick`.
    pub const fn spent<S: System>(tick: Tick, toggle: bool) -> Self {
        Self::new::<S>(Stamp::new::<S>(tick, toggle), (1 << S::SEQUENCE_BITS) - 1)
    }

    pub const fn stamp<S: System>(self) -> Stamp {
        Stamp(self.0 >> S::SEQUENCE_BITS)
    }

    pub const fn sequence<S: System>(self) -> u32 {
        (self.0 & ((1 << S::SEQUENCE_BITS) - 1)) as u32
    }
}

/// A run of IDs: `count` numbers from `sequence` on, all of one stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub stamp: Stamp,
    pub sequence: u32,
    pub count: u32,
}

impl Block {
    /// No IDs.
    pub const EMPTY: Self = Self { stamp: Stamp(0), sequence: 0, count: 0 };

    /// Takes up to `want` IDs off its front.
    #[inline]
    pub fn take(&mut self, want: u32) -> Self {
        let taken = Self { count: want.min(self.count), ..*self };
        self.sequence += taken.count;
        self.count -= taken.count;
        taken
    }

    const fn last<S: System>(self) -> Word {
        Word::new::<S>(self.stamp, self.sequence + self.count - 1)
    }
}

/// What [`step`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// These IDs, once the word has been replaced by this one.
    Issue(Word, Block),
    /// Nothing here before the clock reads this tick.
    Wait(Tick),
    /// The tick of the next ID is past [`Rules::end`].
    Ended,
}

/// The next `want` IDs (at least one; fewer where the tick holds fewer) of the partition whose last
/// is `word`, for a session whose IDs must sort above every ID before `floor`.
#[inline]
pub fn step<S: System>(word: Word, now: Tick, floor: Stamp, rules: &Rules, want: u32) -> Step {
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

/// Whether the clock has stepped back from what `stamp` has seen. Less than a tick is the noise
/// between two processors' clocks.
#[inline]
pub const fn stepped_back<S: System>(stamp: Stamp, now: Tick) -> bool {
    now.0 + 1 < stamp.tick::<S>().0
}

/// The tick-tock: the first `want` IDs at `now` in the timeline other than `word`'s, where `safe`
/// is the last tick that the other timeline has had. `None` where `now` is not past it: a second
/// step back into one period, which waits.
pub fn turn<S: System>(
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
    impl System for Plain {
        const SEQUENCE_BITS: u32 = 4;
        const TICK_TOCK: bool = false;
    }

    struct TickTock;
    impl System for TickTock {
        const SEQUENCE_BITS: u32 = 4;
        const TICK_TOCK: bool = true;
    }

    const RULES: Rules = Rules { sequence: (0, 15), end: Tick(1000) };
    const FREE: Stamp = Stamp(0);

    fn plain(tick: u64, sequence: u32) -> Word {
        Word::new::<Plain>(Stamp::new::<Plain>(Tick(tick), false), sequence)
    }

    fn issue<S: System>(tick: u64, toggle: bool, sequence: u32, count: u32) -> Step {
        let stamp = Stamp::new::<S>(Tick(tick), toggle);
        let block = Block { stamp, sequence, count };
        Step::Issue(Word::new::<S>(stamp, sequence + count - 1), block)
    }

    #[test]
    fn a_new_tick_begins_the_sequence_anew() {
        assert_eq!(
            step::<Plain>(plain(5, 9), Tick(6), FREE, &RULES, 1),
            issue::<Plain>(6, false, 0, 1)
        );
    }

    #[test]
    fn the_same_tick_goes_on_and_then_waits_for_the_next() {
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
    fn a_spent_word_has_nothing_left_in_its_tick() {
        let word = Word::spent::<TickTock>(Tick(5), false);
        assert_eq!(step::<TickTock>(word, Tick(5), FREE, &RULES, 1), Step::Wait(Tick(6)));
    }

    #[test]
    fn a_turn_goes_to_the_other_timeline_only_where_it_has_not_been() {
        let word = Word::new::<TickTock>(Stamp::new::<TickTock>(Tick(9), false), 3);
        let (next, block) = turn::<TickTock>(word, Tick(5), Tick(4), &RULES, 1).unwrap();
        assert_eq!(issue::<TickTock>(5, true, 0, 1), Step::Issue(next, block));
        assert_eq!(turn::<TickTock>(word, Tick(5), Tick(5), &RULES, 1), None);
        assert_eq!(turn::<Plain>(plain(9, 3), Tick(5), Tick(4), &RULES, 1), None);
    }
}
