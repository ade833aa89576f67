//! What is held against the promises, in little room.
//!
//! # Why no repeat is missed, though most IDs are forgotten
//! Within one timeline a generator's ticks only rise: while its cell lives, as is argued in
//! [`cell`](flakeid_core::cell), and from one life of its node to the next, as is argued in
//! [`gate`](flakeid_core::gate). So an ID is in one of three places:
//! * in a tick above all that its timeline has had: it is new;
//! * in a tick that is remembered, with every number that was given in it: it is looked up;
//! * in any other tick: that is a fault, whatever its number. It may be a repeat; if it is none, a
//!   cell went back, and that it is none was luck.
//!
//! An ID that was given before is in a tick that its timeline has had, so it is never in the first
//! place. A tick may be forgotten when no session can have numbers of it in hand that it took ahead:
//! when none has its last ID there, or when the life of the node is over.

use std::collections::BTreeMap;

/// So many of the latest ticks of a timeline are remembered in any case.
const RECENT: usize = 2;

/// Which promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The number was given before in this tick.
    Repeated,
    /// The timeline has been there before.
    WentBack,
    /// Not above the session's last ID.
    NotAbove,
    /// Not a number of the node's slice.
    OutsideSlice,
    /// Of a time that no clock of this node had read.
    Early,
    /// Of a time before the reading at which it was given.
    Late,
    /// More than a tick ahead of that reading, though the clock has not stepped back.
    Ahead,
    /// In the other timeline, though the clock has not stepped back.
    Turned,
    /// The clock was said to have stepped back and had not.
    FalseStepBack,
    /// The same step back was said too often, the gate did not stay open, or a cell is sealed that
    /// nobody sealed.
    GoesRound,
    /// To wait until when there is an ID before that, or until now.
    WrongWait,
    /// Waited as told, and there is no ID.
    WaitedInVain,
    /// Issued by a cell that was sealed.
    AfterSeal,
    /// Of a tick in which another holder of the generator ID has given some.
    Shared,
    /// Of a tick that begins at or after the mark of its generator ID.
    Uncovered,
    /// Admitted after the deadline, by a clock that nobody had set.
    PastDeadline,
    /// All has long been well, and there is none.
    NotServed,
}

/// A tick and the numbers that were given in it.
struct Open {
    tick: u64,
    /// From the first to the last, ascending and apart.
    given: Vec<(u32, u32)>,
    /// How many sessions have their last ID here.
    held: u32,
}

/// One timeline of a generator.
#[derive(Default)]
struct Line {
    /// The last tick that was given.
    top: u64,
    /// What is remembered, ascending.
    open: Vec<Open>,
}

/// Where an ID's tick is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub generator: usize,
    pub toggle: bool,
    pub tick: u64,
}

/// All generators of all systems.
#[derive(Default)]
pub struct Checks {
    numbers: BTreeMap<(usize, u16, u32), usize>,
    lines: Vec<[Line; 2]>,
    /// Room that was given back.
    spare: Vec<Vec<(u32, u32)>>,
    pub ids: u64,
    pub fault: Option<Fault>,
}

impl Checks {
    /// The number of a system's generator that gives the slice of the sequence beginning there.
    pub fn generator(&mut self, system: usize, id: u16, slice: u32) -> usize {
        let next = self.lines.len();
        let number = *self.numbers.entry((system, id, slice)).or_insert(next);
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

    /// The last tick of each timeline.
    pub fn tops(&self, generator: usize) -> [u64; 2] {
        self.lines[generator].each_ref().map(|line| line.top)
    }

    /// Sets them to what counts from now on, when nobody has numbers in hand.
    pub fn set_tops(&mut self, generator: usize, tops: [u64; 2]) {
        for (line, top) in self.lines[generator].iter_mut().zip(tops) {
            debug_assert!(line.open.is_empty());
            line.top = top;
        }
    }

    /// Enters the numbers from `first` to `last`. The session's last ID was at `before`.
    pub fn enter(&mut self, at: Place, (first, last): (u32, u32), before: Option<Place>) {
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

    /// A session's last ID is there no more.
    pub fn let_go(&mut self, place: Option<Place>) {
        if let Some(Place { generator, toggle, tick }) = place {
            let mut open = self.lines[generator][usize::from(toggle)].open.iter_mut();
            if let Some(open) = open.find(|open| open.tick == tick) {
                open.held -= 1;
            }
        }
    }

    fn forget(&mut self, at: Place) {
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

    /// The life of the node is over: nobody has numbers of this generator in hand.
    pub fn close(&mut self, generator: usize) {
        for line in &mut self.lines[generator] {
            for mut open in line.open.drain(..) {
                open.given.clear();
                self.spare.push(open.given);
            }
        }
    }
}

/// Adds a range to those that are there; false where it meets one of them.
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
            let (at, first) = (Place { generator, toggle, tick }, random.below(8) as u32);
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
