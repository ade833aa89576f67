//! The server: its disk, its memory from a start to a crash or a stop, and what happens to it.

use super::database::{Database, Earliest, FIRST_NUMBER, NO_ID, Snapshot};
use super::events::{Event, Flaw};
use super::ids::Process;
use super::log::{Log, Numbers, Record};
use super::standby::{Disk, Standby};
use crate::checks::{Checks, Fault};
use crate::clock::{Clock, HOUR, MILLISECOND, SECOND, YEAR};
use crate::node::{Cells, State, seal_all};
use crate::random::Random;
use crate::world::{ID_TYPES, ServerIdType};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Gate, Horizon};
use flakeid_core::generator::Stamp;
use flakeid_core::prepared::{Entry, ListState};
use flakeid_core::watermark::{Floor, History, TransactionSlot, settled_by_clock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The transactions that a slot keeps, and the length of the history. They are small, so that
/// readers with old snapshots miss some.
const ENTRIES: usize = 4;
pub const HISTORY: usize = 5;

/// How many old snapshots a server or a standby has at most.
pub const SNAPSHOTS: usize = 6;

/// The streams: that of all IDs, one for each ID type, and two named ones.
pub const STREAMS: usize = FIRST_NAMED + 2;
pub const FIRST_NAMED: usize = 1 + ID_TYPES;

/// How many sessions or readers may be in the middle of something.
const DEPTH: u32 = 4;

/// A prepared transaction as the database keeps it.
#[derive(Clone, Copy)]
pub struct Prepared {
    pub numbers: Numbers,
    pub earliest: Earliest,
    /// In which life it was prepared.
    pub life: u64,
    /// The bound by its lock; `None` without a bound lock.
    pub bound: Option<UnixNanos>,
}

pub struct Server {
    pub time: Cell<u64>,
    pub random: Random,
    pub clock: Clock,
    pub flaw: Flaw,
    /// The only fault that counts, if any does not.
    looks_for: Option<Fault>,
    pub checks: RefCell<Checks>,
    pub database: Database,
    seen: [Cell<u64>; Event::ALL.len()],
    /// Whether one processor's clock may be a tick behind another's.
    noisy: bool,
    lead: u64,
    /// The generator IDs of each ID type, as indexes in the checks.
    pub generators: [Vec<usize>; ID_TYPES],
    /// The disk: the horizon, whether a watermark may have been reported, and the prepared
    /// transactions.
    state: Cell<Option<State>>,
    pub used: Cell<bool>,
    pub prepared: RefCell<Vec<Prepared>>,
    pub log: Log,
    pub standbys: RefCell<Vec<Rc<Standby>>>,
    /// How often a standby was promoted.
    promotions: u32,
    life: Option<Rc<Life>>,
    lives: Cell<u64>,
    /// The life in which readers begin.
    pub first_read: u64,
    depth: Cell<u32>,
    /// Whether all sessions wait for as long as they are told, and nothing goes wrong.
    pub well: Cell<bool>,
}

/// A transaction that runs in a session.
#[derive(Clone, Copy)]
pub struct Transaction {
    pub number: Option<u64>,
    /// The number of a subtransaction that ends with it.
    pub sub: Option<u64>,
    pub earliest: Earliest,
    /// It ends once in so many actions.
    pub length: u64,
}

impl Transaction {
    pub fn new(length: u64) -> Self {
        Self { number: None, sub: None, earliest: [NO_ID; STREAMS], length }
    }

    pub fn has_ids(&self) -> bool {
        self.earliest[0] != NO_ID
    }
}

/// The memory of a server.
pub struct Life {
    pub begun: State,
    pub gate: Gate,
    pub generators: RefCell<Vec<usize>>,
    pub version: Cell<u32>,
    pub cells: RefCell<Cells>,
    pub floor: Floor,
    pub slots: Vec<TransactionSlot<ENTRIES, STREAMS>>,
    pub transactions: Vec<Cell<Option<Transaction>>>,
    /// The session of each slot.
    pub processes: Vec<RefCell<Process>>,
    pub history: RefCell<History<HISTORY>>,
    pub used: Cell<bool>,
    /// Whether the log has the horizon of this life.
    pub published: Cell<bool>,
    /// The number that the next transaction had when the list was made; 0 before that.
    pub loaded_at: Cell<u64>,
    /// How many snapshots had been taken then.
    pub loaded_after: Cell<u64>,
    /// The list of prepared transactions: its entries, and room for one more.
    pub list: RefCell<(Vec<Entry>, ListState)>,
    /// The prepared transactions that a session is ending.
    pub ending: RefCell<Vec<u64>>,
    /// How often the list has forgotten entries.
    pub forgets: Cell<u64>,
    /// The `xmin` of each snapshot whose watermark is being computed.
    pub reading: RefCell<Vec<u64>>,
    pub snapshots: RefCell<Vec<Snapshot>>,
    /// How many sessions are lowering their bound.
    pub lowering: Cell<u32>,
    /// Whether the server has crashed. From then on nothing has an effect.
    pub over: Cell<bool>,
}

impl Server {
    pub fn new(seed: u64, flaw: Flaw, looks_for: Option<Fault>) -> Self {
        let (random, time) = (Random::new(seed), 55 * YEAR);
        let mut checks = Checks::default();
        let pool = random.pick(&[1, 1, 2, 4]);
        let generators = std::array::from_fn(|id_type| {
            (0..pool).map(|id| checks.generator(id_type, id, 0)).collect()
        });
        Self {
            time: Cell::new(time),
            clock: Clock::new(&random, time, HOUR),
            flaw,
            looks_for,
            first_read: random.pick(&[1, 1, 1, 2, 5]),
            checks: RefCell::new(checks),
            database: Database::beginning_at(FIRST_NUMBER, 0),
            seen: std::array::from_fn(|_| Cell::new(0)),
            noisy: random.one_in(2),
            lead: random.pick(&[10 * MILLISECOND, SECOND, 20 * SECOND]),
            generators,
            state: Cell::new(None),
            used: Cell::new(false),
            prepared: RefCell::default(),
            log: Log::default(),
            standbys: RefCell::new((0..random.pick(&[1, 2])).map(|_| Standby::new()).collect()),
            promotions: 0,
            life: None,
            lives: Cell::new(0),
            depth: Cell::new(0),
            well: Cell::new(false),
            random,
        }
    }

    /// Lets so many things happen. Returns the number of IDs that were issued without a fault, and
    /// how often each event happened.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(mut self, steps: u64) -> Result<(u64, [u64; Event::ALL.len()]), Fault> {
        for _ in 0..steps {
            self.happen();
            if self.checks.borrow().fault.is_some() {
                break;
            }
        }
        self.go_on();
        let checks = self.checks.into_inner();
        checks.fault.map_or(Ok((checks.ids, self.seen.map(Cell::into_inner))), Err)
    }

    pub fn saw(&self, event: Event) {
        let seen = &self.seen[event as usize];
        seen.set(seen.get() + 1);
    }

    pub fn expect(&self, holds: bool, fault: Fault) {
        if self.looks_for.is_none_or(|sought| sought == fault) {
            self.checks.borrow_mut().expect(holds, fault);
        }
    }

    pub fn pass(&self, nanos: u64) {
        self.time.set(self.time.get() + nanos);
    }

    /// Returns the reading of some processor's clock.
    pub fn read(&self, unit: u64) -> UnixNanos {
        let late = if self.noisy { self.random.below(unit + 1) } else { 0 };
        UnixNanos(self.clock.read(self.time.get()) - late)
    }

    /// Reads the clock, and returns a time at or before the beginning of all ticks that hold the
    /// reading.
    pub fn settled(&self) -> UnixNanos {
        settled_by_clock(self.read(MILLISECOND))
    }

    /// Returns the number of this life.
    pub fn life_number(&self) -> u64 {
        self.lives.get()
    }

    fn happen(&mut self) {
        let random = &self.random;
        self.pass(random.duration());
        let Some(life) = self.life.clone() else {
            match random.below(8) {
                0..=1 => self.clock.disturb(random, self.time.get()),
                2 => self.something_on_a_standby(),
                3 if random.one_in(10) => self.promote(),
                _ => self.start(),
            }
            return;
        };
        match random.below(2000) {
            0..=3 => life.over.set(true),
            4..=9 => return self.stop(),
            10..=15 => return self.promote(),
            16..=17 => self.lead = random.pick(&[10 * MILLISECOND, SECOND, 20 * SECOND]),
            _ => self.something(&life),
        }
        if life.over.get() {
            self.crash();
        }
    }

    /// Lets one thing happen while the server runs.
    fn something(&self, life: &Life) {
        let random = &self.random;
        match random.below(1000) {
            0..=9 => self.clock.disturb(random, self.time.get()),
            10..=14 => self.reload(life),
            15..=29 => self.end_prepared(life),
            30..=129 => self.read_watermark(life),
            130..=149 => self.publish(life),
            150..=249 => self.something_on_a_standby(),
            250..=259 => self.log.flush(),
            260..=264 => self.log_running(false),
            _ => self.act(life, random.below(life.processes.len() as u64) as usize),
        }
    }

    /// Lets other processes run in the middle of something. Returns whether the server still runs.
    pub fn interruption(&self, life: &Life) -> bool {
        let random = &self.random;
        if self.well.get() || life.over.get() || self.depth.get() == DEPTH || !random.one_in(6) {
            return !life.over.get();
        }
        self.depth.set(self.depth.get() + 1);
        for _ in 0..1 + random.skewed(20) {
            self.pass(random.skewed(3 * MILLISECOND));
            match random.below(3000) {
                0 => {
                    self.saw(Event::CrashInside);
                    life.over.set(true);
                }
                1..=1000 => self.read_watermark(life),
                _ => self.something(life),
            }
            if life.over.get() {
                break;
            }
        }
        self.depth.set(self.depth.get() - 1);
        !life.over.get()
    }

    /// Begins a life at what is on the disk.
    fn start(&mut self) {
        let begun = self.state.get().unwrap_or(State::fresh(self.read(MILLISECOND)));
        let used = self.used.get();
        // All IDs of this life are above the horizon of their track, and watermarks may be up to
        // the greatest.
        let greatest = begun.horizon.until.into_iter().max().filter(|_| used);
        let greatest = greatest.filter(|_| self.flaw != Flaw::FloorLost).unwrap_or(UnixNanos(0));
        let floor = Floor::at(UnixNanos(0));
        floor.raise(greatest);
        let sessions = 1 + self.random.below(5) as usize;
        self.lives.set(self.lives.get() + 1);
        let life = Life {
            begun,
            gate: Gate::at(begun.horizon),
            generators: RefCell::new((0..self.generators[0].len()).collect()),
            version: Cell::new(1),
            cells: RefCell::default(),
            floor,
            slots: (0..sessions).map(|_| TransactionSlot::idle()).collect(),
            transactions: (0..sessions).map(|_| Cell::default()).collect(),
            processes: (0..sessions)
                .map(|slot| RefCell::new(Process::new(&self.random, slot)))
                .collect(),
            history: RefCell::new(History::new()),
            used: Cell::new(used),
            published: Cell::new(false),
            loaded_at: Cell::new(0),
            loaded_after: Cell::new(0),
            list: RefCell::default(),
            ending: RefCell::default(),
            forgets: Cell::new(0),
            reading: RefCell::default(),
            snapshots: RefCell::default(),
            lowering: Cell::new(0),
            over: Cell::new(false),
        };
        let life = Rc::new(life);
        self.life = Some(life.clone());
        self.log_running(true);
        if self.random.one_in(3) {
            self.publish(&life);
            self.log.flush();
        }
    }

    /// Writes the running transactions into the log.
    fn log_running(&self, is_start: bool) {
        let (next, oldest, ended, running) = self.database.running();
        self.log.insert(Record::Running { is_start, next, oldest, ended, running });
    }

    /// Loses some records that are not durable. What is in the others has happened.
    fn lose_records(&self) {
        let (durable, length) = (self.log.flushed(), self.log.records().len());
        let left = durable + self.random.below((length - durable + 1) as u64) as usize;
        if left < length {
            self.saw(Event::LoseRecords);
        }
        self.log.truncate(left);
        let records = self.log.records();
        for record in records.iter() {
            record.numbers().for_each(|number| self.database.keep(number));
            if let Record::Running { is_start: true, next, .. } = record {
                self.database.keep(next - 1);
            }
            if let Record::End(numbers, earliest) = record
                && self.database.is_running(numbers.own)
            {
                self.saw(Event::CommitInCrash);
                self.show(*numbers, *earliest);
                self.prepared.borrow_mut().retain(|prepared| prepared.numbers.own != numbers.own);
            }
        }
    }

    /// Loses the memory, and all transactions that were not prepared.
    fn crash(&mut self) {
        self.saw(Event::Crash);
        self.lose_records();
        let prepared = self.prepared.borrow();
        if !prepared.is_empty() {
            self.saw(Event::CrashWithPrepared);
        }
        let random = &self.random;
        let again = self.database.crash(&prepared, |least, most| {
            if random.one_in(2) { most } else { least + random.below(most - least + 1) }
        });
        if again {
            self.saw(Event::NumbersAgain);
        }
        drop(prepared);
        self.end();
    }

    /// Begins again with the data of a standby.
    pub fn continue_with(&mut self, disk: Disk) {
        self.state.set(disk.state);
        self.used.set(disk.used);
        let next = disk.next;
        self.database.crash(&disk.prepared, |_, _| next);
        self.prepared.replace(disk.prepared);
        self.end();
        // An ID that the standby does not know may be generated again.
        self.promotions += 1;
        let mut checks = self.checks.borrow_mut();
        for (id_type, generators) in self.generators.iter_mut().enumerate() {
            for (id, generator) in generators.iter_mut().enumerate() {
                *generator = checks.generator(id_type, id as u16, self.promotions);
            }
        }
    }

    fn end(&mut self) {
        self.life = None;
        let mut checks = self.checks.borrow_mut();
        self.generators.iter().flatten().for_each(|&generator| checks.close(generator));
    }

    /// Stops the server cleanly: it rolls back what is open, and makes the horizon exact.
    fn stop(&mut self) {
        let Some(life) = self.life.clone() else { return };
        self.well.set(true);
        for slot in 0..life.slots.len() {
            self.roll_back(&life, &mut life.processes[slot].borrow_mut());
        }
        self.well.set(false);
        let begun = Horizon { toggle: life.gate.toggle(), ..life.begun.horizon };
        let mut exact = seal_all(begun, &life.cells.borrow());
        if self.flaw != Flaw::ExactWithoutFloor {
            exact.until[0] = exact.until[0].max(life.floor.get());
        }
        self.state.set(Some(State { horizon: exact, written: self.read(MILLISECOND), lead: 0 }));
        let all = |_, next| next;
        let prepared = self.prepared.borrow();
        self.database.crash(&prepared, all);
        self.log.flush();
        drop(prepared);
        self.saw(Event::Stop);
        self.end();
    }

    /// Chooses other generator IDs.
    fn reload(&self, life: &Life) {
        let mask = self.random.next();
        let mut chosen: Vec<_> =
            (0..self.generators[0].len()).filter(|place| mask >> place & 1 == 1).collect();
        if chosen.is_empty() {
            chosen.push(0);
        }
        life.generators.replace(chosen);
        life.version.set(life.version.get() + 1);
        self.saw(Event::Reload);
    }

    /// Moves the gate past a stamp: first durable, then open. The server may crash between the two.
    pub fn extend<S: ServerIdType>(&self, life: &Life, stamp: Stamp, past: UnixNanos) {
        let written = self.read(S::UNIT);
        let (lead, crash) = (self.lead, if self.well.get() { 9 } else { self.random.below(200) });
        let moment = UnixNanos(written.max(past).0 + lead);
        let make_durable = |horizon| {
            if crash != 0 {
                let state = State { horizon, written, lead };
                self.state.set(Some(state));
                self.log.insert(Record::Horizon(state));
            }
            if crash <= 1 { Err(()) } else { Ok(()) }
        };
        if life.gate.extend::<S, _>(stamp, moment, make_durable).is_err() {
            self.saw(Event::CrashInside);
            life.over.set(true);
        }
    }

    /// Checks that sessions get IDs, and that the watermark follows the clock, once nothing goes
    /// wrong any more.
    fn go_on(&mut self) {
        match self.life.take() {
            Some(life) => {
                // Nothing holds the watermark back but prepared transactions. Transactions that
                // write nothing have numbers, which are assigned again after the crash.
                self.well.set(!life.over.get());
                for process in &life.processes {
                    self.roll_back(&life, &mut process.borrow_mut());
                }
                for _ in 0..self.random.below(20) {
                    self.database.assign();
                }
                self.publish(&life);
                self.log.flush();
                self.life = Some(life);
                self.crash();
            }
            None => self.end(),
        }
        self.well.set(true);
        self.start();
        let Some(life) = self.life.clone() else { return };
        for slot in 0..life.slots.len() {
            self.begin(&life, slot);
            self.take_each(&life, &mut life.processes[slot].borrow_mut());
            match slot {
                0 => self.commit(&life, &mut life.processes[slot].borrow_mut()),
                _ => self.roll_back(&life, &mut life.processes[slot].borrow_mut()),
            }
        }
        while !self.prepared.borrow().is_empty() {
            self.end_prepared(&life);
        }
        self.expect(self.read_anew(&life) >= self.settled().0 - 2 * MILLISECOND, Fault::HeldBack);
        self.go_on_on_standbys(&life);
    }

    /// Checks that the watermark passes all rows on standbys, also beside a transaction without
    /// IDs.
    fn go_on_on_standbys(&self, life: &Life) {
        self.begin(life, 0);
        self.assign(life, 0);
        let standbys = self.standbys.borrow();
        let replay = || {
            self.log.flush();
            standbys.iter().for_each(|standby| self.replay(standby, u64::MAX));
        };
        replay();
        let latest = standbys.iter().map(|standby| standby.latest_shown()).max().unwrap_or(0);
        let time = self.clock.time_of(latest + 10 * MILLISECOND, self.time.get());
        self.time.set(time);
        self.publish(life);
        replay();
        let least = (latest + 1).max(self.settled().0 - 2 * MILLISECOND);
        for standby in standbys.iter() {
            self.expect(self.read_anew_on(standby) >= least, Fault::HeldBackOnStandby);
        }
    }
}
