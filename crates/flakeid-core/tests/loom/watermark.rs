//! Threads that generate IDs in transactions, and readers that scan their slots. The transactions
//! that have ended are a set of bits, which is read and changed in one step, as snapshots are taken
//! and transactions end under one lock. No row may become visible to a reader later that is below
//! the watermark which it was told.

use super::*;
use flakeid_core::watermark::{Floor, History, Position, Scan, Stream, Streams, TransactionSlot};

/// A fault in how the parts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The session reads the floor before it enters.
    EarlyFloor,
    /// The session leaves before its rows are visible.
    EarlyLeave,
    /// The session leaves without an entry.
    NoEntry,
    /// The reader raises the floor after it has read the slots.
    LateFloor,
    /// The session generates an ID below its bound.
    BelowBound,
    /// The session loses its bound when the identity of the server changes.
    ForgottenBound,
}

const ENTRIES: usize = 2;

/// The streams that a transaction enters which has IDs of no other stream.
pub const ALL: Streams = Streams::of(Stream::ALL);

pub struct Server<const SLOTS: usize> {
    pub flaw: Flaw,
    pub floor: Floor,
    pub slots: [TransactionSlot<ENTRIES>; SLOTS],
    /// The transactions that have ended, as bits.
    pub ended: AtomicU64,
    pub clock: AtomicU64,
}

/// The result of a reader: the transactions that its snapshot sees, the watermark, and what was
/// settled.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    seen: u64,
    watermark: Option<u64>,
    settled: u64,
}

impl<const SLOTS: usize> Server<SLOTS> {
    pub fn new(flaw: Flaw, now: u64) -> Arc<Self> {
        Arc::new(Self {
            flaw,
            floor: Floor::at(UnixNanos(0)),
            slots: std::array::from_fn(|_| TransactionSlot::idle()),
            ended: AtomicU64::new(0),
            clock: AtomicU64::new(now),
        })
    }

    pub fn now(&self) -> UnixNanos {
        UnixNanos(self.clock.load(Ordering::Relaxed))
    }

    /// Runs a transaction that generates one ID, and returns the time of the ID.
    fn run(&self, slot: usize, transaction: u64) -> u64 {
        let slot = &self.slots[slot];
        let early = Floor::at(self.floor.get());
        let floor = if self.flaw == Flaw::EarlyFloor { &early } else { &self.floor };
        let bound = slot.enter(ALL, floor, || self.now());
        assert_eq!(slot.entered(), Some(bound));
        let time = match self.flaw {
            Flaw::BelowBound => self.now().0,
            _ => self.now().max(bound).0,
        };
        let end = || {
            self.ended.fetch_or(1 << transaction, Ordering::AcqRel);
        };
        let leave = || slot.leave((self.flaw != Flaw::NoEntry).then_some(transaction));
        match self.flaw {
            Flaw::EarlyLeave => {
                leave();
                end();
            }
            _ => {
                end();
                leave();
            }
        }
        time
    }

    /// Takes a snapshot and scans the slots.
    pub fn read(&self) -> Told {
        self.read_by(self.ended.load(Ordering::Acquire))
    }

    fn read_by(&self, seen: u64) -> Told {
        let sees = |transaction: u64| seen & 1 << transaction != 0;
        let now = self.now();
        // A scan that raises a floor of its own leaves the server's where it is.
        let late = Floor::at(UnixNanos(0));
        let floor = if self.flaw == Flaw::LateFloor { &late } else { &self.floor };
        let mut scan = Scan::begin(floor, Stream::ALL, now);
        for slot in &self.slots {
            scan.read(slot, sees);
        }
        if self.flaw == Flaw::LateFloor {
            Scan::begin(&self.floor, Stream::ALL, now);
        }
        Told { seen, watermark: scan.watermark().map(|time| time.0), settled: scan.settled().0 }
    }

    pub fn spawn<T: 'static>(
        server: &Arc<Self>,
        run: impl FnOnce(&Self) -> T + 'static,
    ) -> thread::JoinHandle<T> {
        let server = server.clone();
        thread::spawn(move || run(&server))
    }
}

/// Checks that no row of these IDs, by their transactions, becomes visible below a watermark that
/// was told before.
pub fn check(told: &[Told], ids: &[(u64, u64)]) {
    for reader in told {
        for &(transaction, time) in ids {
            let is_seen = reader.seen & 1 << transaction != 0;
            let is_missed = reader.watermark.is_some_and(|watermark| time < watermark);
            assert!(is_seen || !is_missed, "missed: transaction {transaction}, {reader:?}");
        }
    }
}

/// A transaction, a reader, and a clock that goes on.
fn one_of_each(flaw: Flaw) {
    let server = Server::<1>::new(flaw, 10);
    let writer = Server::spawn(&server, |server| server.run(0, 1));
    let reader = Server::spawn(&server, Server::read);
    server.clock.store(12, Ordering::Relaxed);
    let told = reader.join().unwrap();
    assert!(told.watermark.is_some());
    check(&[told], &[(1, writer.join().unwrap())]);
}

#[test]
fn a_first_id_and_an_end_race_a_scan() {
    model(4, || one_of_each(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn a_floor_that_is_read_before_the_session_enters_is_found() {
    model(3, || step_back(Flaw::EarlyFloor));
}

/// A settled watermark is used for a snapshot that is taken after the scan.
fn later_snapshot(flaw: Flaw) {
    let server = Server::<1>::new(flaw, 10);
    let writer = Server::spawn(&server, |server| server.run(0, 1));
    server.clock.store(12, Ordering::Relaxed);
    let settled = server.read().settled;
    let seen = server.ended.load(Ordering::Acquire);
    let told = Told { seen, watermark: Some(settled), settled };
    check(&[told], &[(1, writer.join().unwrap())]);
}

#[test]
fn what_is_settled_holds_for_a_later_snapshot() {
    model(4, || later_snapshot(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn a_session_that_leaves_before_its_rows_are_visible_is_found() {
    model(3, || later_snapshot(Flaw::EarlyLeave));
}

#[test]
#[should_panic(expected = "missed")]
fn a_session_that_leaves_no_entry_is_found() {
    model(3, || one_of_each(Flaw::NoEntry));
}

#[test]
#[should_panic(expected = "missed")]
fn a_reader_that_raises_the_floor_too_late_is_found() {
    model(3, || step_back(Flaw::LateFloor));
}

/// The clock steps back while a transaction and a reader run.
fn step_back(flaw: Flaw) {
    let server = Server::<1>::new(flaw, 12);
    let reader = Server::spawn(&server, Server::read);
    let writer = Server::spawn(&server, |server| server.run(0, 1));
    server.clock.store(10, Ordering::Relaxed);
    let time = writer.join().unwrap();
    check(&[reader.join().unwrap()], &[(1, time)]);
}

#[test]
fn no_id_is_below_a_watermark_after_the_clock_has_stepped_back() {
    model(4, || step_back(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn an_id_below_its_bound_is_found() {
    model(3, || step_back(Flaw::BelowBound));
}

#[test]
fn two_sessions_race_a_scan() {
    model(2, || {
        let server = Server::<2>::new(Flaw::None, 10);
        let writers = [0, 1].map(|slot| {
            Server::spawn(&server, move |server: &Server<2>| server.run(slot, slot as u64))
        });
        let told = server.read();
        server.clock.store(12, Ordering::Relaxed);
        let [first, second] = writers.map(|writer| writer.join().unwrap());
        check(&[told], &[(0, first), (1, second)]);
    });
}

#[test]
fn two_scans_race_a_first_id_and_an_end() {
    model(2, || {
        let server = Server::<1>::new(Flaw::None, 10);
        let readers = [(); 2].map(|()| Server::spawn(&server, Server::read));
        let time = server.run(0, 1);
        check(&readers.map(|reader| reader.join().unwrap()), &[(1, time)]);
    });
}

/// One scan after the other beside a first ID, after the clock has stepped back.
fn scans_in_turn(flaw: Flaw) {
    let server = Server::<1>::new(flaw, 12);
    let writer = Server::spawn(&server, |server| server.run(0, 1));
    let first = server.read();
    server.clock.store(10, Ordering::Relaxed);
    let second = server.read();
    writer.join().unwrap();
    assert!(first.watermark <= second.watermark, "fell: {first:?}, {second:?}");
}

#[test]
fn a_later_watermark_is_not_lower_beside_a_first_id() {
    model(4, || scans_in_turn(Flaw::None));
}

#[test]
#[should_panic(expected = "fell")]
fn a_watermark_that_falls_to_an_early_floor_is_found() {
    model(3, || scans_in_turn(Flaw::EarlyFloor));
}

/// A session lowers its bound after the clock has stepped back, beside a reader.
fn lower(flaw: Flaw) {
    let server = Server::<1>::new(flaw, 12);
    let reader = Server::spawn(&server, Server::read);
    let slot = &server.slots[0];
    let first = slot.enter(ALL, &server.floor, || server.now()).0;
    server.clock.store(8, Ordering::Relaxed);
    let early = Floor::at(server.floor.get());
    let floor = if flaw == Flaw::EarlyFloor { &early } else { &server.floor };
    let second = slot.lower(floor, || server.now()).0;
    server.ended.fetch_or(1 << 1, Ordering::AcqRel);
    slot.leave(Some(1));
    check(&[reader.join().unwrap()], &[(1, first), (1, second)]);
}

#[test]
fn a_bound_is_lowered_beside_a_scan() {
    model(4, || lower(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn a_bound_that_is_lowered_to_an_early_floor_is_found() {
    model(3, || lower(Flaw::EarlyFloor));
}

/// A reader that makes a bound final comes so late that the next transaction has entered at the
/// same floor. It begins while the bound of the session's last transaction is provisional.
#[test]
fn a_reader_that_settles_late_lowers_no_bound_below_a_watermark() {
    model(3, || {
        let server = Server::<1>::new(Flaw::None, 4);
        server.floor.raise(server.now());
        let slot = &server.slots[0];
        let mut late = None;
        let first = slot.enter(ALL, &server.floor, || {
            late = Some(Server::spawn(&server, Server::read));
            thread::yield_now();
            server.now()
        });
        server.ended.fetch_or(1 << 1, Ordering::AcqRel);
        slot.leave(Some(1));
        let reader = Server::spawn(&server, |server| {
            server.clock.store(8, Ordering::Relaxed);
            let told = server.read();
            server.clock.store(2, Ordering::Relaxed);
            told
        });
        let second = server.run(0, 2);
        let told = [late.unwrap().join().unwrap(), reader.join().unwrap()];
        check(&told, &[(1, first.0), (2, second)]);
    });
}

/// A session runs two transactions, one after the other, and the snapshot of a reader sees neither.
#[test]
fn a_scan_that_finds_the_next_transaction_finds_the_last_one_too() {
    model(4, || {
        let floor = Arc::new(Floor::at(UnixNanos(0)));
        let slot = Arc::new(TransactionSlot::<3>::idle());
        let reader = {
            let (floor, slot) = (floor.clone(), slot.clone());
            thread::spawn(move || {
                let mut scan = Scan::begin(&floor, Stream::ALL, UnixNanos(6));
                scan.read(&slot, |_| false);
                Told { seen: 0, watermark: scan.watermark().map(|time| time.0), settled: 0 }
            })
        };
        let ids = [(1, 4), (2, 8)].map(|(transaction, now)| {
            let bound = slot.enter(ALL, &floor, || UnixNanos(now));
            slot.leave(Some(transaction));
            (transaction, bound.0)
        });
        check(&[reader.join().unwrap()], &ids);
    });
}

/// A session runs transactions until the entries of its slot are overwritten, while a reader with a
/// snapshot from before them all scans.
#[test]
fn an_old_snapshot_gets_no_watermark_that_forgotten_entries_could_break() {
    model(3, || {
        let server = Server::<1>::new(Flaw::None, 10);
        let writer = Server::spawn(&server, |server| {
            [1, 2, 3].map(|transaction| (transaction, server.run(0, transaction)))
        });
        let told = server.read_by(0);
        server.clock.store(12, Ordering::Relaxed);
        let ids = writer.join().unwrap();
        check(&[told], &ids);
        // The scan comes after all of them, and needs what the slot has forgotten.
        let late = server.read_by(0);
        assert_eq!(late.watermark, None);
        // What is settled holds for a snapshot that sees them all.
        check(&[Told { seen: 0b1110, watermark: Some(late.settled), settled: 0 }], &ids);
    });
}

/// A reader records what it found settled, and another takes it for a snapshot that the position
/// covers.
#[test]
fn a_recorded_watermark_holds_for_each_snapshot_that_its_position_covers() {
    model(3, || {
        let server = Server::<1>::new(Flaw::None, 10);
        let next = Arc::new(AtomicU64::new(1));
        let writer = {
            let (server, next) = (server.clone(), next.clone());
            thread::spawn(move || {
                [(); 2].map(|()| {
                    let transaction = next.fetch_add(1, Ordering::AcqRel);
                    (transaction, server.run(0, transaction))
                })
            })
        };
        let recorder = {
            let (server, next) = (server.clone(), next.clone());
            thread::spawn(move || {
                let told = server.read();
                let mut history = History::<3>::new();
                let position = Position(next.load(Ordering::Acquire));
                history.record(position, UnixNanos(told.settled));
                history
            })
        };
        // A snapshot at any time: the smallest number that had not ended, and one more than the
        // greatest that had.
        let seen = server.ended.load(Ordering::Acquire);
        let xmax = 64 - u64::from(seen.leading_zeros());
        let xmin =
            (1..).find(|transaction| seen & 1 << transaction == 0).unwrap_or(1).min(xmax.max(1));
        let history = recorder.join().unwrap();
        let ids = writer.join().unwrap();
        let watermark = history.watermark(xmin, xmax.max(1)).map(|time| time.0);
        check(&[Told { seen, watermark, settled: 0 }], &ids);
    });
}

/// A transaction has an ID of all, and later one of a stream. A reader of the stream scans.
fn late_stream(flaw: Flaw) {
    const LATE: Stream = Stream::at(1);
    struct Server {
        floor: Floor,
        // The transaction leaves an entry for each of its two bounds.
        slot: TransactionSlot<3, 2>,
        ended: AtomicU64,
        clock: AtomicU64,
    }
    impl Server {
        fn now(&self) -> UnixNanos {
            UnixNanos(self.clock.load(Ordering::Relaxed))
        }
    }
    let server = Arc::new(Server {
        floor: Floor::at(UnixNanos(0)),
        slot: TransactionSlot::idle(),
        ended: AtomicU64::new(0),
        clock: AtomicU64::new(8),
    });
    // The first ID is from long ago. Its bound is below the watermark of the stream.
    let first = server.slot.enter(ALL, &server.floor, || UnixNanos(2));
    let writer = {
        let server = server.clone();
        thread::spawn(move || {
            let early = Floor::at(server.floor.get());
            let floor = if flaw == Flaw::EarlyFloor { &early } else { &server.floor };
            let second = match flaw {
                Flaw::BelowBound => first,
                _ => server.slot.enter(Streams::of(LATE), floor, || server.now().max(first)),
            };
            let time = second.max(server.now());
            server.ended.fetch_or(1 << 1, Ordering::AcqRel);
            server.slot.leave((flaw != Flaw::NoEntry).then_some(1));
            time.0
        })
    };
    let reader = {
        let server = server.clone();
        thread::spawn(move || {
            let seen = server.ended.load(Ordering::Acquire);
            let mut scan = Scan::begin(&server.floor, LATE, server.now());
            scan.read(&server.slot, |transaction| seen & 1 << transaction != 0);
            let (watermark, settled) = (scan.watermark().map(|time| time.0), scan.settled().0);
            let later = server.ended.load(Ordering::Acquire);
            let settled_later = Told { seen: later, watermark: Some(settled), settled };
            (Told { seen, watermark, settled }, settled_later)
        })
    };
    server.clock.store(6, Ordering::Relaxed);
    let (time, (told, settled_later)) = (writer.join().unwrap(), reader.join().unwrap());
    check(&[told], &[(1, time)]);
    // The first ID is no ID of the stream, and does not hold the stream back.
    assert!(told.watermark.is_some_and(|watermark| watermark >= 6), "held back: {told:?}");
    // What is settled holds for all IDs.
    check(&[settled_later], &[(1, first.0), (1, time)]);
}

#[test]
fn a_first_id_of_a_stream_late_in_a_transaction_races_a_scan_of_the_stream() {
    model(4, || late_stream(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn a_floor_that_is_read_before_the_stream_is_entered_is_found() {
    model(3, || late_stream(Flaw::EarlyFloor));
}

#[test]
#[should_panic(expected = "missed")]
fn a_stream_that_is_not_entered_is_found() {
    model(3, || late_stream(Flaw::BelowBound));
}

#[test]
#[should_panic(expected = "missed")]
fn a_transaction_with_a_stream_that_leaves_no_entry_is_found() {
    model(3, || late_stream(Flaw::NoEntry));
}

/// A session that has entered two streams at different times lowers both bounds, beside a reader of
/// the later stream.
fn lower_a_stream(flaw: Flaw) {
    const LATE: Stream = Stream::at(1);
    let floor = Arc::new(Floor::at(UnixNanos(0)));
    let slot = Arc::new(TransactionSlot::<ENTRIES, 2>::idle());
    slot.enter(ALL, &floor, || UnixNanos(4));
    slot.enter(Streams::of(LATE), &floor, || UnixNanos(12));
    let reader = {
        let (floor, slot) = (floor.clone(), slot.clone());
        thread::spawn(move || {
            let mut scan = Scan::begin(&floor, LATE, UnixNanos(10));
            scan.read(&slot, |_| false);
            Told { seen: 0, watermark: scan.watermark().map(|time| time.0), settled: 0 }
        })
    };
    // The clock has stepped back to 8.
    let early = Floor::at(floor.get());
    let least = slot.lower(if flaw == Flaw::EarlyFloor { &early } else { &floor }, || UnixNanos(8));
    slot.leave(Some(1));
    check(&[reader.join().unwrap()], &[(1, least.0)]);
}

#[test]
fn the_bound_of_a_stream_is_lowered_beside_a_scan() {
    model(4, || lower_a_stream(Flaw::None));
}

#[test]
#[should_panic(expected = "missed")]
fn the_bound_of_a_stream_that_is_lowered_to_an_early_floor_is_found() {
    model(3, || lower_a_stream(Flaw::EarlyFloor));
}

/// A transaction enters two streams at once, while the clock steps back. A reader of each scans.
#[test]
fn a_first_id_of_two_streams_races_a_scan_of_each() {
    const OTHER: Stream = Stream::at(1);
    model(2, || {
        let floor = Arc::new(Floor::at(UnixNanos(0)));
        let slot = Arc::new(TransactionSlot::<ENTRIES, 2>::idle());
        let readers = [(Stream::ALL, 8), (OTHER, 12)].map(|(stream, now)| {
            let (floor, slot) = (floor.clone(), slot.clone());
            thread::spawn(move || {
                let mut scan = Scan::begin(&floor, stream, UnixNanos(now));
                scan.read(&slot, |_| false);
                Told { seen: 0, watermark: scan.watermark().map(|time| time.0), settled: 0 }
            })
        });
        let bound = slot.enter(ALL.and(Streams::of(OTHER)), &floor, || UnixNanos(10));
        slot.leave(Some(1));
        check(&readers.map(|reader| reader.join().unwrap()), &[(1, bound.0)]);
    });
}
