//! Readers: they take a snapshot, and are told its watermark, as the extension computes it.

use super::database::Snapshot;
use super::events::{Event, Flaw};
use super::log::Record;
use super::server::{Life, SNAPSHOTS, STREAMS, Server};
use crate::checks::Fault;
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::generator::Stamp;
use flakeid_core::watermark::{Floor, Position, Scan, Stream};

impl Server {
    /// Tells a reader the watermark of a new snapshot, or of an old one.
    pub fn read_watermark(&self, life: &Life) {
        if self.life_number() < self.first_read {
            return;
        }
        let random = &self.random;
        let old = {
            let mut snapshots = life.snapshots.borrow_mut();
            if snapshots.len() == SNAPSHOTS || !snapshots.is_empty() && random.one_in(20) {
                let place = random.below(snapshots.len() as u64) as usize;
                snapshots.swap_remove(place);
            }
            match snapshots.len() {
                0 => None,
                len => {
                    random.one_in(3).then(|| snapshots[random.below(len as u64) as usize].clone())
                }
            }
        };
        let is_old = old.is_some();
        let snapshot = old.unwrap_or_else(|| self.database.snapshot(life.forgets.get()));
        if random.one_in(10) {
            life.snapshots.borrow_mut().push(snapshot.clone());
        }
        life.reading.borrow_mut().push(snapshot.xmin);
        let place = if random.one_in(4) { random.below(STREAMS as u64) as usize } else { 0 };
        let stream = Stream::at(place);
        let told = self.interruption(life).then(|| self.watermark(life, &snapshot, stream));
        life.reading.borrow_mut().pop();
        if told.flatten().is_some() {
            self.saw(if is_old { Event::ToldToOld } else { Event::Told });
        }
    }

    /// Returns the watermark of a new snapshot.
    pub fn read_anew(&self, life: &Life) -> u64 {
        let snapshot = self.database.snapshot(life.forgets.get());
        let watermark = self.watermark(life, &snapshot, Stream::ALL);
        watermark.map_or(0, |watermark| watermark.0)
    }

    /// Returns the watermark of a stream for a snapshot, and checks it; `None` if the server has
    /// crashed.
    fn watermark(&self, life: &Life, snapshot: &Snapshot, stream: Stream) -> Option<UnixNanos> {
        let lowers = life.lowering.get() > 0;
        self.ensure_loaded(life);
        self.begin_use(life)?;
        // A scan that is still running may be told more later.
        let before = self.database.told(snapshot, stream);
        let (watermark, by_scan, prepared) = self.compute(life, snapshot, stream)?;
        if lowers {
            self.saw(Event::ToldWhileLowering);
        }
        let told = self.database.tell(snapshot, stream, watermark.0, by_scan);
        // An old snapshot may not see what the list has forgotten since, or what ended before there
        // was a list.
        let is_old =
            snapshot.forgotten != life.forgets.get() || snapshot.is_before(life.loaded_after.get());
        // A prepared transaction counts for all streams, also for those that it has not entered.
        let is_limited = stream != Stream::ALL && watermark >= prepared;
        let falls = lowers || !by_scan || is_old || is_limited || self.has_unknown(life);
        self.expect(watermark.0 >= before || falls, Fault::Fell);
        self.expect(told.is_ok(), Fault::Missed);
        Some(watermark)
    }

    /// Computes a watermark, and returns whether it is from the reader's own scan, and the bound of
    /// prepared transactions.
    fn compute(
        &self,
        life: &Life,
        snapshot: &Snapshot,
        stream: Stream,
    ) -> Option<(UnixNanos, bool, UnixNanos)> {
        let sees = |number| snapshot.sees(number);
        let early_position = Position(self.database.next());
        let early_list = self.unseen_bound(life, snapshot);
        let late = Floor::at(UnixNanos(0));
        let mut scan = self.scan(life, stream, &late, sees)?;
        let prepared = match self.flaw {
            Flaw::ListFirst => early_list,
            _ => self.unseen_bound(life, snapshot),
        };
        scan.add(prepared);
        self.go(life)?;
        let position = match self.flaw {
            Flaw::PositionFirst => early_position,
            _ => Position(self.database.next()),
        };
        self.go(life)?;
        if scan.watermark().is_some_and(|watermark| watermark > scan.settled()) {
            self.saw(Event::ToldMoreOfStream);
        }
        if let Some(watermark) = scan.watermark() {
            // Another reader may have the lock.
            if !self.random.one_in(4) {
                life.history.borrow_mut().record(position, scan.settled());
            }
            self.go(life)?;
            return Some((watermark, true, prepared));
        }
        if self.flaw == Flaw::OldAsNew {
            return Some((scan.settled(), false, prepared));
        }
        let mut history = life.history.borrow_mut();
        history.record(position, scan.settled());
        let recorded = history.watermark(snapshot.xmin, snapshot.xmax);
        drop(history);
        self.saw(if recorded.is_some() { Event::ToldByHistory } else { Event::ToldTheStart });
        let watermark = recorded
            .unwrap_or_else(|| life.begun.horizon.until.into_iter().min().unwrap_or(UnixNanos(0)));
        self.go(life)?;
        Some((watermark.min(prepared), false, prepared))
    }

    /// Raises the floor to the present time, and reads all slots for a stream; `None` if the server
    /// has crashed. The other floor is one that no session reads.
    pub fn scan<'a>(
        &self,
        life: &'a Life,
        stream: Stream,
        late: &'a Floor,
        sees: impl Fn(u64) -> bool + Copy,
    ) -> Option<Scan<'a>> {
        let to = self.settled();
        self.go(life)?;
        let durable = if self.flaw == Flaw::NotDurable { to } else { self.extend_to(life, to)? };
        let to = to.min(durable);
        late.raise(to);
        let floor = if self.flaw == Flaw::FloorLate { late } else { &life.floor };
        let mut scan = Scan::begin(floor, stream, to);
        self.go(life)?;
        if self.flaw != Flaw::NotDurable {
            self.extend_to(life, life.floor.get())?;
        }
        for slot in &life.slots {
            scan.read(slot, sees);
            self.go(life)?;
        }
        life.floor.raise(to);
        Some(scan)
    }

    /// Lets other processes run; `None` if the server has crashed.
    pub fn go(&self, life: &Life) -> Option<()> {
        self.interruption(life).then_some(())
    }

    /// Remembers on disk that there are readers, before the first watermark of all is reported.
    pub fn begin_use(&self, life: &Life) -> Option<()> {
        if life.used.get() {
            return Some(());
        }
        // A server may have begun at a horizon that is not on disk.
        self.extend::<Flake>(life, Stamp::FIRST, UnixNanos(0));
        self.go(life)?;
        life.used.set(true);
        self.used.set(true);
        self.log.insert(Record::Used);
        Some(())
    }

    /// Moves the gate past a time, and returns where it stands; `None` if the server has crashed.
    fn extend_to(&self, life: &Life, time: UnixNanos) -> Option<UnixNanos> {
        let durable = || life.gate.horizon().until[0];
        if time > durable() {
            self.saw(Event::ReaderExtends);
            self.extend::<Flake>(life, Stamp::FIRST, time);
        }
        (!life.over.get()).then(durable)
    }
}
