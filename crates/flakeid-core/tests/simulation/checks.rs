//! Checks of the promises, in little memory.
//!
//! Summary: the checks remember the latest ticks of each generator ID's timelines, with all their
//! numbers, and look up each new ID there. An ID in a tick that is not remembered and not new is a
//! fault.
//!
//! # Why no repeat is missed, though most IDs are forgotten
//! Within one timeline a generator ID's ticks only increase. This holds while its cell lives, as
//! [`cell`](flakeid_core::cell) argues, and from one run of its server to the next, as
//! [`gate`](flakeid_core::gate) argues. So an ID is in one of three places:
//! * in a tick above all that its timeline has had: it is new;
//! * in a tick that is remembered, with every number that was issued in it: it is looked up;
//! * in any other tick: that is a fault for every number. The ID may be a repeat. If it is not, a
//!   cell went back, and only by luck the number is new.
//!
//! An ID that was issued before is in a tick that its timeline has had, so it is never in the first
//! place. A tick may be forgotten when no session can have prefetched numbers of it. That is so
//! when no session has its last ID there, or when the run of the server has ended.

use std::collections::BTreeMap;

/// The number of the latest ticks of a timeline that are always remembered.
const RECENT: usize = 2;

/// The promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The number was issued before in this tick.
    Repeated,
    /// The timeline has had this tick before.
    WentBack,
    /// The ID is not above the session's last ID.
    NotAbove,
    /// The number is not in the server's slice.
    OutsideSlice,
    /// The ID has a time that no clock of this server had read.
    Early,
    /// The ID has a time before the reading at which it was issued.
    Late,
    /// The ID is more than a tick ahead of that reading, though the clock has not stepped back.
    Ahead,
    /// The ID is in the other timeline, though the clock has not stepped back.
    Turned,
    /// A step back was reported, and the clock had not stepped back.
    FalseStepBack,
    /// One step back was reported too often, the gate did not stay open, or a cell is sealed that
    /// nothing has sealed.
    GoesRound,
    /// The wait was until now, or longer than until the next ID.
    WrongWait,
    /// The session waited as it was told, and there is no ID.
    WaitedInVain,
    /// A sealed cell issued the ID.
    AfterSeal,
    /// The ID is of a tick in which another holder of the generator ID has issued.
    Shared,
    /// The ID is of a tick that begins at or after the high-water mark of its generator ID.
    Uncovered,
    /// The ID was admitted after the deadline, by a clock that nothing had set.
    PastDeadline,
    /// Two servers hold the generator ID at the same time.
    HeldTwice,
    /// Nothing has gone wrong for long, and there is no ID.
    NotServed,
    /// A row became visible after a snapshot, and its ID is from before the watermark that was told
    /// for it.
    Missed,
    /// A row became visible on a standby like this.
    MissedOnStandby,
    /// The watermark of a later snapshot is less.
    Fell,
    /// The ID is of a tick that begins before a watermark that was told.
    Undercut,
    /// Nothing is open, and the watermark does not follow the clock.
    HeldBack,
    /// Nothing with IDs is open and all is replayed, and the watermark on a standby has not passed
    /// all rows.
    HeldBackOnStandby,
}

/// A tick and the numbers that were issued in it.
struct Open {
    tick: u64,
    /// The ranges from the first number to the last, ascending and separate.
    given: Vec<(u32, u32)>,
    /// The number of sessions that have their last ID here.
    held: u32,
}

/// One timeline of a generator ID.
#[derive(Default)]
struct Line {
    /// The last tick that was issued.
    top: u64,
    /// The remembered ticks, ascending.
    open: Vec<Open>,
}

/// The position of an ID: its tick in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub generator: usize,
    pub toggle: bool,
    pub tick: u64,
}

/// All generator IDs of all ID types.
#[derive(Default)]
pub struct Checks {
    numbers: BTreeMap<(usize, u16, u32), usize>,
    lines: Vec<[Line; 2]>,
    /// Memory to use again.
    spare: Vec<Vec<(u32, u32)>>,
    pub ids: u64,
    pub fault: Option<Fault>,
}

impl Checks {
    /// Returns the index of an ID type's generator ID with the slice of the sequence that begins
    /// there.
    pub fn generator(&mut self, id_type: usize, id: u16, slice: u32) -> usize {
        let next = self.lines.len();
        let number = *self.numbers.entry((id_type, id, slice)).or_insert(next);
        if number == next {
            self.lines.push(Default::default());
        }
        number
    }

    /// Keeps the first fault.
    pub fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    pub fn expect(&mut self, holds: bool, fault: Fault) {
        if !holds {
            self.fail(fault);
        }
    }

    /// Returns the last tick of each timeline.
    pub fn tops(&self, generator: usize) -> [u64; 2] {
        self.lines[generator].each_ref().map(|line| line.top)
    }

    /// Sets the last ticks to those that count from now on, when no session has prefetched numbers.
    pub fn set_tops(&mut self, generator: usize, tops: [u64; 2]) {
        for (line, top) in self.lines[generator].iter_mut().zip(tops) {
            debug_assert!(line.open.is_empty());
            line.top = top;
        }
    }

    /// Records the numbers from `first` to `last`. The session's last ID was at `before`.
    pub fn enter(&mut self, at: Position, (first, last): (u32, u32), before: Option<Position>) {
        self.ids += u64::from(last - first) + 1;
        let line = &mut self.lines[at.generator][usize::from(at.toggle)];
        let open = match line.open.iter_mut().rev().find(|open| open.tick <= at.tick) {
            Some(open) if open.tick == at.tick => open,
            _ if at.tick > line.top => {
                line.top = at.tick;
                let given = self.spare.pop().unwrap_or_default();
                line.open.push(Open { tick: at.tick, given, held: 0 });
                line.open.last_mut().unwrap()
            }
            _ => return self.fail(Fault::WentBack),
        };
        if !insert(&mut open.given, first, last) {
            return self.fail(Fault::Repeated);
        }
        if before != Some(at) {
            open.held += 1;
            self.let_go(before);
        }
        self.forget(at);
    }

    /// Forgets the position of a session's last ID.
    pub fn let_go(&mut self, place: Option<Position>) {
        if let Some(Position { generator, toggle, tick }) = place {
            let mut open = self.lines[generator][usize::from(toggle)].open.iter_mut();
            if let Some(open) = open.find(|open| open.tick == tick) {
                open.held -= 1;
            }
        }
    }

    fn forget(&mut self, at: Position) {
        let open = &mut self.lines[at.generator][usize::from(at.toggle)].open;
        let mut place = 0;
        while open.len() > RECENT && place < open.len() - RECENT {
            if open[place].held > 0 {
                place += 1;
                continue;
            }
            let mut given = open.remove(place).given;
            given.clear();
            self.spare.push(given);
        }
    }

    /// Ends the run of the server, so that no session has prefetched numbers of this generator ID.
    pub fn close(&mut self, generator: usize) {
        for line in &mut self.lines[generator] {
            for mut open in line.open.drain(..) {
                open.given.clear();
                self.spare.push(open.given);
            }
        }
    }
}

/// Adds a range to the ranges; returns false if it meets one of them.
fn insert(given: &mut Vec<(u32, u32)>, first: u32, last: u32) -> bool {
    let place = given.partition_point(|&(_, end)| end < first);
    if given.get(place).is_some_and(|&(begin, _)| begin <= last) {
        return false;
    }
    let joins_next = given.get(place).is_some_and(|&(begin, _)| begin == last + 1);
    let joins_last = place > 0 && given[place - 1].1 + 1 == first;
    match (joins_last, joins_next) {
        (true, true) => {
            given[place - 1].1 = given[place].1;
            given.remove(place);
        }
        (true, false) => given[place - 1].1 = last,
        (false, true) => given[place].0 = first,
        (false, false) => given.insert(place, (first, last)),
    }
    true
}

#[test]
fn no_repeat_is_missed_and_what_rises_is_no_fault() {
    let random = crate::random::Random::new(1);
    let (mut repeats, mut rising) = (0, 0);
    for _ in 0..2000 {
        let mut checks = Checks::default();
        let generator = checks.generator(0, 0, 0);
        let (mut given, mut last) = (std::collections::BTreeSet::new(), [None; 3]);
        for _ in 0..40 {
            let (tick, toggle) = (1 + random.below(20), random.one_in(2));
            let (at, first) = (Position { generator, toggle, tick }, random.below(8) as u32);
            let numbers = first..=first + random.below(3) as u32;
            let session = random.below(3) as usize;
            let is_new = checks.tops(generator)[usize::from(toggle)] < tick;
            let repeated = !numbers.clone().all(|number| given.insert((toggle, tick, number)));
            checks.enter(at, (*numbers.start(), *numbers.end()), last[session]);
            assert!(checks.fault.is_some() || !repeated, "{at:?} {numbers:?}");
            assert!(checks.fault.is_none() || !is_new, "{at:?} {numbers:?}");
            (repeats, rising) = (repeats + u32::from(repeated), rising + u32::from(is_new));
            if checks.fault.is_some() {
                break;
            }
            last[session] = Some(at);
        }
    }
    assert!(repeats > 50 && rising > 1000, "{repeats} {rising}");
}
