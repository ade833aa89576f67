//! The IDs of a process, as the extension's sources generate them.

use super::events::{Event, Flaw};
use super::server::{FIRST_NAMED, Life, STREAMS, Server};
use crate::checks::{Fault, Position};
use crate::clock::{HOUR, MILLISECOND, SECOND};
use crate::node::Last;
use crate::random::Random;
use crate::world::{ID_TYPES, ServerIdType};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::flake128::Flake128;
use flakeid_core::gate::{CellInit, Horizon, Limits};
use flakeid_core::generator::Rules;
use flakeid_core::guid::Guid;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;
use flakeid_core::watermark::{Floor, Stream, Streams};
use std::rc::Rc;

/// The entry of a source before its first transaction, which no transaction has.
const NO_ENTRY: u64 = u64::MAX;

/// The last sequence number of each ID type. They are few, so that ticks are exhausted.
const LAST: [u32; ID_TYPES] = [20, 40, 60, 60, 7];

/// The calls of a session before an ID must be there, if it waits as it is told.
const CALLS: usize = 40;

/// The process of a session.
pub struct Process {
    pub slot: usize,
    /// The bound of the transaction that this process has entered; 0 if it has entered none.
    bound: u64,
    /// A number that each change of the bound replaces; 0 if this process has entered no
    /// transaction.
    entry: u64,
    entries: u64,
    number: u32,
    sources: [Option<Source>; ID_TYPES],
}

/// The source of a process's IDs of one ID type.
struct Source {
    version: u32,
    session: Session,
    generators: Vec<usize>,
    cells: Vec<Rc<Cell>>,
    /// The entry by which the source issues, and the bound then.
    entry: u64,
    bound: u64,
    last: Option<Last>,
}

impl Process {
    pub fn new(random: &Random, slot: usize) -> Self {
        let number = random.next() as u32;
        Self { slot, bound: 0, entry: 0, entries: 0, number, sources: Default::default() }
    }

    /// Leaves the transaction.
    pub fn leave(&mut self) {
        (self.bound, self.entry) = (0, 0);
    }

    fn set_bound(&mut self, bound: u64) {
        let bound = bound.max(1);
        if bound != self.bound || self.entry == 0 {
            self.entries += 1;
            (self.bound, self.entry) = (bound, self.entries);
        }
    }
}

/// Returns the first tick that does not begin before a bound.
fn least<S: ServerIdType>(bound: u64) -> Tick {
    let before = UnixNanos(bound.saturating_sub(1));
    S::scale().tick(before).map_or(Tick(0), |tick| Tick(tick.0 + 1))
}

/// Returns the stream of the IDs of a type.
fn stream_of<S: ServerIdType>() -> Stream {
    Stream::at(1 + S::INDEX)
}

impl Server {
    /// Forgets the last IDs of a process that ends.
    pub fn forget(&self, process: &Process) {
        let mut checks = self.checks.borrow_mut();
        let lasts = process.sources.iter().flatten().map(|source| source.last);
        lasts.for_each(|last| checks.let_go(last.map(|last| last.at)));
    }

    /// Takes some IDs of one ID type.
    pub fn take_some(&self, life: &Life, process: &mut Process) {
        let id_type = self.random.pick(&[0, 1, 1, 1, 2, 3, 4]);
        for _ in 0..=self.random.skewed(30) {
            let named = self.random.one_in(3);
            let place = FIRST_NAMED + self.random.below((STREAMS - FIRST_NAMED) as u64) as usize;
            let stream = named.then(|| Stream::at(place));
            if life.over.get() || !self.take_one(life, process, id_type, stream) {
                return;
            }
        }
    }

    /// Takes an ID of each ID type. The process waits as it is told.
    pub fn take_each(&self, life: &Life, process: &mut Process) {
        for id_type in 0..ID_TYPES {
            self.expect(self.take_one(life, process, id_type, None), Fault::WaitedInVain);
        }
    }

    fn take_one(
        &self,
        life: &Life,
        process: &mut Process,
        id_type: usize,
        stream: Option<Stream>,
    ) -> bool {
        match id_type {
            Flake::INDEX => self.take::<Flake>(life, process, stream),
            TickTock::INDEX => self.take::<TickTock>(life, process, stream),
            Flake128::INDEX => self.take::<Flake128>(life, process, stream),
            Guid::INDEX => self.take::<Guid>(life, process, stream),
            _ => self.take::<UniqueId>(life, process, stream),
        }
    }

    /// Takes an ID, of a named stream if there is one here, and handles each stall. Returns whether
    /// there is an ID.
    fn take<S: ServerIdType>(
        &self,
        life: &Life,
        process: &mut Process,
        stream: Option<Stream>,
    ) -> bool {
        let source = process.sources[S::INDEX].take();
        let mut source = match source {
            Some(source) if source.version == life.version.get() => source,
            before => self.make_source::<S>(life, process.number, before),
        };
        let taken = self.take_from::<S>(life, process, &mut source, stream);
        process.sources[S::INDEX] = Some(source);
        taken && !life.over.get()
    }

    fn take_from<S: ServerIdType>(
        &self,
        life: &Life,
        process: &mut Process,
        source: &mut Source,
        stream: Option<Stream>,
    ) -> bool {
        let cells = source.cells.clone();
        let cells = &IssuingCell::numbered(cells.iter().map(|cell| &**cell)).collect::<Vec<_>>();
        let rules = Rules { sequence: (0, LAST[S::INDEX]), end: S::scale().last() };
        let enters_late = self.flaw == Flaw::EntersLate && process.bound == 0;
        let enters_stream_late = self.flaw == Flaw::EntersStreamLate;
        let of_id_type = Streams::of(Stream::ALL).and(Streams::of(stream_of::<S>()));
        let named = stream.map_or(Streams::NONE, Streams::of);
        // The source looks at its entry, and then enters the named stream, which may give it
        // another one.
        let mut is_named = enters_stream_late;
        for _ in 0..CALLS {
            while !enters_late && (!self.is_current(source, process) || !is_named) {
                let streams = match self.is_current(source, process) {
                    true => named,
                    false => of_id_type,
                };
                is_named |= self.is_current(source, process);
                if !self.enter(life, process, streams) {
                    return false;
                }
                if streams == of_id_type || self.flaw == Flaw::KeepsEarlierBound {
                    source.entry = process.entry;
                }
                if streams == of_id_type {
                    source.bound = process.bound;
                    self.issue_from::<S>(source, cells);
                }
            }
            let mut now = Tick(0);
            let clock = &mut || {
                self.interruption(life);
                now = S::scale().tick(self.read(S::UNIT)).expect("a clock past the epoch");
                Some(now)
            };
            let limits = Limits::new(&rules, &life.gate, S::scale());
            let taken = source.session.next::<S>(cells, 1, limits, clock);
            if life.over.get() {
                return false;
            }
            match taken {
                Ok(issued) => {
                    self.check_issued::<S>(life, process.slot, source, issued, stream);
                    let late = match (enters_late, enters_stream_late) {
                        (true, _) => of_id_type.and(named),
                        (_, true) => named,
                        _ => return true,
                    };
                    return self.interruption(life) && self.enter(life, process, late);
                }
                Err(Stall::Wait { now, .. }) if self.lower::<S>(life, process, now) => {}
                Err(Stall::Wait { until, .. }) => {
                    if !self.wait(S::scale().nanos(until).0 + 2 * S::UNIT) {
                        return false;
                    }
                }
                Err(Stall::Gated(stamp)) => {
                    let past = S::scale().nanos(stamp.tick::<S>());
                    self.saw(Event::Extension);
                    self.extend::<S>(life, stamp, past);
                }
                Err(Stall::SteppedBack { .. }) => {}
                Err(stall) => panic!("{stall:?}"),
            }
            if life.over.get() {
                return false;
            }
        }
        false
    }

    /// Returns whether a source knows the process's transaction and bound.
    fn is_current(&self, source: &Source, process: &Process) -> bool {
        match self.flaw {
            Flaw::ComparesBounds => source.bound == process.bound && source.entry != NO_ENTRY,
            _ => source.entry == process.entry,
        }
    }

    /// Enters the transaction of a process into these streams, unless it has entered them. Returns
    /// false if the server has crashed.
    fn enter(&self, life: &Life, process: &mut Process, streams: Streams) -> bool {
        if process.bound == 0 {
            self.ensure_loaded(life);
        }
        let slot = &life.slots[process.slot];
        let missing = streams.without(slot.streams());
        if !missing.is_empty() {
            let (mut now, before) = (UnixNanos(0), process.bound);
            let clock = || {
                self.interruption(life);
                now = self.settled();
                now.max(UnixNanos(before))
            };
            let bound = slot.enter(missing, &life.floor, clock);
            process.set_bound(bound.0);
            self.saw(if before == 0 { Event::Enter } else { Event::EnterStream });
            if now.0 > 0 && bound > now {
                self.saw(Event::EnterAtFloor);
            }
        }
        self.interruption(life)
    }

    /// Lets a source issue from its bound on.
    fn issue_from<S: ServerIdType>(&self, source: &mut Source, cells: &[IssuingCell<'_>]) {
        let least = least::<S>(source.bound);
        match self.flaw {
            Flaw::KeepsPrefetched => {}
            Flaw::OneTimeline => {
                source.session.issue_from::<S>(cells, least);
                source.session.issue_from::<S>(cells, Tick(0));
            }
            _ => source.session.issue_from::<S>(cells, least),
        }
    }

    /// Lowers the bound of a transaction, if that alone keeps the session from changing its
    /// timeline. Returns whether the session can ask again.
    fn lower<S: ServerIdType>(&self, life: &Life, process: &mut Process, now: Tick) -> bool {
        if !S::TICK_TOCK || now >= least::<S>(process.bound) {
            return false;
        }
        life.lowering.set(life.lowering.get() + 1);
        let none = Floor::at(UnixNanos(0));
        let floor = if self.flaw == Flaw::LowersBelowFloor { &none } else { &life.floor };
        let clock = || {
            self.interruption(life);
            self.settled()
        };
        let bound = life.slots[process.slot].lower(floor, clock).0.max(1);
        life.lowering.set(life.lowering.get() - 1);
        let is_lower = bound < process.bound;
        process.set_bound(bound.min(process.bound));
        if is_lower {
            self.saw(Event::Lower);
        }
        is_lower && !life.over.get()
    }

    /// Returns whether a session waits until the clock shows this reading. If that is far, the
    /// clock may be corrected.
    fn wait(&self, reading: u64) -> bool {
        self.saw(Event::Wait);
        let (random, time) = (&self.random, self.time.get());
        let left = reading.saturating_sub(self.clock.read(time));
        let patient = self.well.get()
            || match left {
                0..HOUR if left < 50 * MILLISECOND => !random.one_in(4),
                0..HOUR if left < SECOND => random.one_in(8),
                0..HOUR => random.one_in(50),
                _ => false,
            };
        if patient {
            self.time.set(self.clock.time_of(reading, time));
        } else if left > SECOND && random.one_in(10) {
            self.clock.set(time, reading);
        }
        patient
    }

    /// Checks an ID, and adds it to the session's transaction.
    fn check_issued<S: ServerIdType>(
        &self,
        life: &Life,
        slot: usize,
        source: &mut Source,
        issued: Issued,
        stream: Option<Stream>,
    ) {
        let Issued { generator_id, block, .. } = issued;
        let (tick, toggle) = (block.stamp.tick::<S>(), block.stamp.toggle::<S>());
        let begins = S::scale().nanos(tick).0;
        let mut transaction = life.transactions[slot].get().unwrap();
        for stream in [Stream::ALL, stream_of::<S>()].into_iter().chain(stream) {
            let earliest = &mut transaction.earliest[stream.place()];
            *earliest = begins.min(*earliest);
            self.expect(begins >= self.database.greatest(stream), Fault::Undercut);
        }
        life.transactions[slot].set(Some(transaction));

        let place = source.generators[generator_id as usize];
        let at = Position { generator: self.generators[S::INDEX][place], toggle, tick: tick.0 };
        let id = Last::id::<S>(block.stamp, place as u16, block.sequence);
        if let Some(before) = source.last {
            self.expect(id > before.id || S::TICK_TOCK, Fault::NotAbove);
            if toggle != before.at.toggle {
                self.saw(Event::Turn);
            }
        }
        let before = source.last.map(|last| last.at);
        self.checks.borrow_mut().enter(at, (block.sequence, block.sequence), before);
        source.last = Some(Last { at, id });
    }

    /// Makes the source of an ID type, in place of another if there was one.
    fn make_source<S: ServerIdType>(
        &self,
        life: &Life,
        number: u32,
        before: Option<Source>,
    ) -> Source {
        let mut generators = life.generators.borrow().clone();
        if S::ONE_CELL {
            generators = vec![0];
        }
        let cell = |&place: &usize| {
            let mut cells = life.cells.borrow_mut();
            let cell = cells.entry((S::INDEX, place)).or_insert_with(|| {
                let cell = Cell::after::<S>(Tick(0));
                let Horizon { toggle, .. } = life.begun.horizon;
                let floors = life.begun.horizon.floors::<S>(S::scale());
                let since = S::scale().tick(life.begun.since::<S>()).unwrap_or(Tick(0));
                let now = S::scale().tick(self.read(S::UNIT));
                cell.begin::<S>(CellInit { floors, toggle, last_clock_reading: since, now });
                Rc::new(cell)
            });
            cell.clone()
        };
        let cells: Vec<_> = generators.iter().map(cell).collect();
        let (session, last) = match before {
            None => (Session::new(number, cells.len()), None),
            Some(mut before) => {
                let old: Vec<_> =
                    IssuingCell::numbered(before.cells.iter().map(|cell| &**cell)).collect();
                before.session.discard_prefetched(&old);
                (before.session.moved(number, cells.len()), before.last)
            }
        };
        let version = life.version.get();
        Source { version, session, generators, cells, entry: NO_ENTRY, bound: 0, last }
    }
}
