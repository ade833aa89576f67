//! Standbys: each replays the WAL as PostgreSQL does, and tells readers a watermark as the
//! extension does. That is the watermark of all IDs, for each stream.
//!
//! A standby keeps up or lags. It may restart: then it replays again from an earlier record, and is
//! open for readers when it has replayed some of what it had replayed before. It may become the
//! primary. Then the server goes on with its data, and what it had not replayed is lost.

use super::database::{Database, FIRST_NUMBER, Snapshot};
use super::events::{Event, Flaw};
use super::log::Record;
use super::server::{HISTORY, Prepared, SNAPSHOTS, Server};
use crate::checks::Fault;
use crate::node::State;
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::{History, Stream};
use flakeid_core::watermark_message::WatermarkMessage;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The data of a standby after the replay of some records.
#[derive(Clone)]
pub struct Disk {
    pub replayed: usize,
    pub state: Option<State>,
    pub used: bool,
    pub prepared: Vec<Prepared>,
    /// The number that the next transaction gets, as far as it is known.
    pub next: u64,
}

pub struct Standby {
    pub disk: RefCell<Disk>,
    /// The transactions as far as they are replayed.
    database: Database,
    /// Whether the running transactions are known, and how many records must be replayed before
    /// readers are let in.
    knows_running: Cell<bool>,
    opens_at: usize,
    history: RefCell<History<HISTORY>>,
    snapshots: RefCell<Vec<Snapshot>>,
    /// The data with which it restarts.
    restart: RefCell<Disk>,
    /// How many records it has replayed at most, and the greatest watermark that was told, across
    /// restarts.
    farthest: Cell<usize>,
    greatest: Cell<u64>,
}

impl Standby {
    /// Creates a standby that has replayed nothing.
    pub fn new() -> Rc<Self> {
        let disk = Disk {
            replayed: 0,
            state: None,
            used: false,
            prepared: Vec::new(),
            next: FIRST_NUMBER,
        };
        Rc::new(Self::at(disk, 0, 0, 0))
    }

    fn at(disk: Disk, opens_at: usize, farthest: usize, greatest: u64) -> Self {
        Self {
            database: Database::replaying(),
            knows_running: Cell::new(false),
            opens_at,
            history: RefCell::new(History::new()),
            snapshots: RefCell::default(),
            restart: RefCell::new(disk.clone()),
            disk: RefCell::new(disk),
            farthest: Cell::new(farthest),
            greatest: Cell::new(greatest),
        }
    }

    /// Returns whether it lets readers in.
    pub fn is_open(&self) -> bool {
        self.knows_running.get() && self.disk.borrow().replayed >= self.opens_at
    }

    pub fn farthest(&self) -> usize {
        self.farthest.get()
    }

    pub fn greatest(&self) -> u64 {
        self.greatest.get()
    }

    /// Returns when the latest tick of the first IDs of all replayed transactions begins.
    pub fn latest_shown(&self) -> u64 {
        self.database.latest_shown()
    }
}

impl Server {
    /// Returns whether a standby has replayed the record in a place.
    pub fn is_replayed(&self, place: usize) -> bool {
        self.standbys.borrow().iter().any(|standby| standby.farthest() > place)
    }

    /// Lets something happen on a standby.
    pub fn something_on_a_standby(&self) {
        let random = &self.random;
        let mut standbys = self.standbys.borrow_mut();
        let place = random.below(standbys.len() as u64) as usize;
        if random.one_in(200) {
            let (before, farthest) = (&standbys[place], standbys[place].farthest());
            let disk = before.restart.borrow().clone();
            let opens_at =
                disk.replayed + random.below((farthest - disk.replayed + 1) as u64) as usize;
            standbys[place] = Rc::new(Standby::at(disk, opens_at, farthest, before.greatest()));
            return self.saw(Event::RestartStandby);
        }
        let standby = standbys[place].clone();
        drop(standbys);
        match random.below(3) {
            0 => self.replay(&standby, random.skewed(100)),
            _ => self.read_on(&standby),
        }
    }

    /// Tells a reader on a standby the watermark of a new snapshot, or of an old one.
    fn read_on(&self, standby: &Standby) {
        if !standby.is_open() {
            return;
        }
        let random = &self.random;
        let mut snapshots = standby.snapshots.borrow_mut();
        if snapshots.len() == SNAPSHOTS || random.one_in(20) && !snapshots.is_empty() {
            let place = random.below(snapshots.len() as u64) as usize;
            snapshots.swap_remove(place);
        }
        let old = random.one_in(3).then(|| random.below(SNAPSHOTS as u64) as usize);
        let old = old.and_then(|place| snapshots.get(place).cloned());
        let snapshot = old.unwrap_or_else(|| standby.database.snapshot(0));
        if random.one_in(10) {
            snapshots.push(snapshot.clone());
        }
        drop(snapshots);
        self.watermark_on(standby, &snapshot);
    }

    /// Returns the watermark of a new snapshot on a standby.
    pub fn read_anew_on(&self, standby: &Standby) -> u64 {
        let snapshot = standby.database.snapshot(0);
        self.watermark_on(standby, &snapshot).map_or(0, |watermark| watermark.0)
    }

    /// Returns the watermark of a snapshot on a standby, and checks it; `None` without a message.
    fn watermark_on(&self, standby: &Standby, snapshot: &Snapshot) -> Option<UnixNanos> {
        let watermark = self.compute_on(standby, snapshot)?;
        standby.greatest.set(standby.greatest().max(watermark.0));
        let told = standby.database.tell(snapshot, Stream::ALL, watermark.0, false);
        self.expect(told.is_ok(), Fault::MissedOnStandby);
        Some(watermark)
    }

    fn compute_on(&self, standby: &Standby, snapshot: &Snapshot) -> Option<UnixNanos> {
        self.replay_meanwhile(standby);
        let latest = standby.history.borrow().latest();
        if latest.is_none() {
            self.saw(Event::NoMessageOnStandby);
        }
        let latest = latest?;
        self.replay_meanwhile(standby);
        let present = standby.database.snapshot(0);
        let equals_present = match self.flaw {
            Flaw::LatestToAll => true,
            Flaw::ComparesEnds => (snapshot.xmin, snapshot.xmax) == (present.xmin, present.xmax),
            _ => snapshot.equals(&present),
        };
        if equals_present {
            self.saw(Event::ToldLatestOnStandby);
            return Some(latest);
        }
        self.replay_meanwhile(standby);
        let recorded = standby.history.borrow().watermark(snapshot.xmin, snapshot.xmax);
        self.saw(match recorded {
            Some(_) => Event::ToldByHistoryOnStandby,
            None => Event::ToldNothingOnStandby,
        });
        Some(recorded.unwrap_or(UnixNanos(0)))
    }

    /// Replays some records between two steps of a reader.
    fn replay_meanwhile(&self, standby: &Standby) {
        if !self.well.get() && self.random.one_in(4) {
            self.replay(standby, 1 + self.random.skewed(10));
        }
    }

    /// Replays some records, or those that there are.
    pub fn replay(&self, standby: &Standby, most: u64) {
        let (records, random) = (self.log.records(), &self.random);
        let mut disk = standby.disk.borrow_mut();
        for _ in 0..most {
            if disk.replayed == self.log.flushed() {
                return;
            }
            if random.one_in(50) {
                standby.restart.replace(disk.clone());
            }
            let record = &records[disk.replayed];
            self.replay_one(standby, &mut disk, record);
            disk.replayed += 1;
            standby.farthest.set(standby.farthest().max(disk.replayed));
        }
    }

    fn replay_one(&self, standby: &Standby, disk: &mut Disk, record: &Record) {
        let (database, knows_running) = (&standby.database, standby.knows_running.get());
        for number in record.numbers() {
            database.observe(number, knows_running);
            disk.next = disk.next.max(number + 1);
        }
        match record {
            Record::Write(_) | Record::Reserved => {}
            Record::End(numbers, earliest) => {
                disk.prepared.retain(|prepared| prepared.numbers.own != numbers.own);
                let shown = database.show(*numbers, *earliest);
                // A record that was replayed before a restart shows no other rows.
                let is_new = disk.replayed >= standby.farthest();
                let is_late = is_new && earliest.is_some_and(|first| first[0] < standby.greatest());
                self.expect(shown.is_ok() && !is_late, Fault::MissedOnStandby);
            }
            Record::Prepare(prepared) => disk.prepared.push(*prepared),
            Record::Running { next, oldest, ended, running, .. } => {
                disk.next = disk.next.max(*next);
                if knows_running {
                    return database.expire(*oldest);
                }
                // A transaction ends a little after its record.
                let mut running: BTreeSet<_> = running.iter().copied().collect();
                for record in &self.log.records()[..disk.replayed] {
                    if let Record::End(numbers, _) = record {
                        numbers.iter().for_each(|number| _ = running.remove(&number));
                    }
                }
                database.begin_with(*next, *ended, running);
                standby.knows_running.set(true);
            }
            Record::Horizon(state) => {
                let before = disk.state.map_or(state.horizon, |before| before.horizon);
                let written = disk.state.map_or(state.written, |before| before.written);
                let horizon = state.horizon.joined(before);
                disk.state = Some(State { horizon, written: written.max(state.written), ..*state });
            }
            Record::Used => disk.used = true,
            Record::Watermark(bytes) => {
                let message = WatermarkMessage::decode(bytes).expect("a message of this version");
                standby.history.borrow_mut().record(message.position, message.watermark);
                self.saw(Event::ReplayMessage);
            }
        }
    }

    /// Makes a standby the primary, if it is open after it has replayed all that it has received.
    /// The server goes on with its data. Standbys that have replayed more are replaced.
    pub fn promote(&mut self) {
        let place = self.random.below(self.standbys.get_mut().len() as u64) as usize;
        let standby = self.standbys.get_mut()[place].clone();
        let received = standby.farthest() - standby.disk.borrow().replayed;
        self.replay(&standby, received as u64);
        if !standby.is_open() {
            return;
        }
        let standbys = self.standbys.get_mut();
        let promoted = standbys.swap_remove(place);
        let disk = promoted.disk.borrow().clone();
        let length = standbys.len() + 1;
        standbys.retain(|standby| standby.farthest() <= disk.replayed);
        let greatest = standbys.iter().map(|standby| standby.greatest()).max().unwrap_or(0);
        standbys.resize_with(length, Standby::new);
        self.log.truncate(disk.replayed);
        self.database = Database::beginning_at(disk.next, greatest.max(promoted.greatest()));
        self.continue_with(disk);
        self.saw(Event::Promote);
    }
}
