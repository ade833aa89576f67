//! Models of threads on a cell and its gate. The disk is what remains after a loss of all memory.
//! So it must cover every ID at the time when a thread gets it.

use super::*;
use flakeid_core::gate::{Horizon, Limits, TRACKS};
use loom::sync::Mutex;

/// The flaw of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// The gate opens before its horizon is durable.
    OpenFirst,
    /// A shutdown reads the cell and does not seal it.
    NotSealed,
}

/// The durable horizon, by tracks. Relaxed is enough: the gate itself makes the threads that it
/// lets through see what was written before it opened.
struct Disk([AtomicU64; TRACKS]);

impl Disk {
    fn write(&self, horizon: Horizon) {
        for (track, until) in self.0.iter().zip(horizon.until) {
            track.store(until.0, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Horizon {
        let until = [0, 1, 2].map(|track: usize| UnixNanos(self.0[track].load(Ordering::Relaxed)));
        Horizon { until, toggle: false }
    }
}

struct Server {
    flaw: Flaw,
    node: Arc<Node>,
    disk: Disk,
    /// The number of writes to the disk.
    lock: Mutex<usize>,
}

impl Server {
    /// Creates a server whose clock reads `now`. IDs of the ticks before `until`, by track, may be
    /// issued, and none has been.
    fn new<S: IdLayout>(flaw: Flaw, now: u64, until: [u64; TRACKS]) -> Arc<Self> {
        let horizon = Horizon { until: until.map(moment), toggle: false };
        let node = Node {
            cell: Cell::after::<S>(Tick(0)),
            gate: Gate::at(horizon),
            clock: AtomicU64::new(now),
        };
        let disk = Disk(horizon.until.map(|until| AtomicU64::new(until.0)));
        Arc::new(Self { flaw, node: Arc::new(node), disk, lock: Mutex::new(0) })
    }

    /// Moves the gate past a stamp, a tick further than the clock.
    fn extend<S: IdLayout>(&self, stamp: Stamp) {
        let mut writes = self.lock.lock().unwrap();
        let gate = &self.node.gate;
        if gate.admits::<S>(SCALE, stamp) && gate.timeline_matches::<S>(stamp) {
            return;
        }
        *writes += 1;
        let until = moment(self.node.read().max(stamp.tick::<S>()).0 + 2);
        let make_durable = |horizon| {
            if self.flaw == Flaw::OpenFirst {
                gate.set(horizon);
            }
            self.disk.write(horizon);
            Ok::<(), ()>(())
        };
        gate.extend::<S, _>(stamp, until, make_durable).unwrap();
    }

    /// Ends all issuing. Then the disk says exactly what was issued.
    fn shut_down<S: IdLayout>(&self) {
        let _lock = self.lock.lock().unwrap();
        let Node { cell, gate, .. } = &*self.node;
        let last = match self.flaw {
            Flaw::NotSealed => cell.last::<S>(),
            _ => cell.seal::<S>(),
        };
        let exact = Horizon::NONE.covering::<S>(SCALE, last);
        gate.set(exact);
        self.disk.write(exact);
    }

    /// Takes IDs until there are enough or the cell is sealed. Each is checked to be covered when
    /// it is issued.
    fn take<S: IdLayout>(&self, count: usize, mut clock: impl FnMut() -> Tick) -> Vec<Block> {
        let ask = IssueRequest {
            floor: Stamp::default(),
            later: false,
            within: Tick(u64::MAX),
            want: 1,
            generation: 0,
            ..IssueRequest::any(1)
        };
        let Node { cell, gate, .. } = &*self.node;
        let mut blocks = Vec::new();
        while blocks.len() < count {
            match cell
                .issue::<S>(ask, Limits::new(&rules::<S>(), gate, SCALE), &mut || Some(clock()))
            {
                Ok(Some(block)) => {
                    assert_covered::<S>(self.disk.read(), block.stamp);
                    blocks.push(block);
                }
                Err(Stall::Gated(stamp)) => self.extend::<S>(stamp),
                Err(Stall::SteppedBack { .. }) => {}
                Err(Stall::Sealed) => break,
                outcome => panic!("{outcome:?}"),
            }
        }
        blocks
    }

    fn spawn<S: IdLayout>(
        server: &Arc<Self>,
        count: usize,
        now: Option<u64>,
    ) -> thread::JoinHandle<Vec<Block>> {
        let server = server.clone();
        thread::spawn(move || {
            let read = || now.map_or_else(|| server.node.read(), Tick);
            server.take::<S>(count, read)
        })
    }
}

fn assert_covered<S: IdLayout>(horizon: Horizon, stamp: Stamp) {
    let floor = horizon.floors::<S>(SCALE)[usize::from(stamp.toggle::<S>())];
    assert!(stamp.tick::<S>() <= floor, "not covered: {stamp:?}");
}

/// Checks the IDs of all threads together, and returns their ticks and timelines.
fn all<S: IdLayout>(threads: impl IntoIterator<Item = Vec<Block>>) -> Vec<(u64, bool)> {
    let mut ledger = Ledger::new(Steps::Back, 0);
    for (number, blocks) in threads.into_iter().enumerate() {
        for block in blocks {
            ledger.enter::<S>(number, 0, block).expect("the checker");
        }
    }
    ledger.ids().map(|id| (id.tick, id.toggle)).collect()
}

/// Two threads meet the gate as the clock advances.
fn extended<S: IdLayout>(flaw: Flaw) {
    let server = Server::new::<S>(flaw, 10, [11, 11, 0]);
    let threads = [(); 2].map(|()| Server::spawn::<S>(&server, 2, None));
    server.node.set(12);
    assert_eq!(all::<S>(threads.map(|thread| thread.join().unwrap())).len(), 4);
}

#[test]
fn an_id_is_covered_by_the_disk_before_it_is_given() {
    model(2, || extended::<Plain<2>>(Flaw::None));
    model(2, || extended::<TickTock<2>>(Flaw::None));
}

#[test]
#[should_panic(expected = "not covered")]
fn a_gate_that_opens_before_its_horizon_is_durable_is_found() {
    model(2, || extended::<Plain<2>>(Flaw::OpenFirst));
}

#[test]
fn of_two_threads_that_meet_the_gate_one_moves_it() {
    fn run<S: IdLayout + 'static>() {
        let server = Server::new::<S>(Flaw::None, 10, [10, 10, 0]);
        let threads = [(); 2].map(|()| Server::spawn::<S>(&server, 1, None));
        assert_eq!(all::<S>(threads.map(|thread| thread.join().unwrap())), [(10, false); 2]);
        assert_eq!(*server.lock.lock().unwrap(), 1);
        assert_eq!(server.disk.read().until, server.node.gate.horizon().until);
    }
    model(3, run::<Plain<2>>);
    model(3, run::<TickTock<2>>);
}

#[test]
fn two_threads_that_move_the_gate_for_a_timeline_each_move_it_never_down() {
    model(3, || {
        let server = Server::new::<TickTock<2>>(Flaw::None, 10, [10, 10, 10]);
        let threads = [false, true].map(|toggle| {
            let server = server.clone();
            thread::spawn(move || {
                for tick in [20, 12] {
                    server.extend::<TickTock<2>>(Stamp::new::<TickTock<2>>(Tick(tick), toggle));
                    let [_, first, second] = server.disk.read().until;
                    assert!(if toggle { second } else { first } > moment(20));
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(server.disk.read().until, [22; TRACKS].map(moment));
        assert_eq!(server.node.gate.horizon().until, [22; TRACKS].map(moment));
    });
}

#[test]
fn a_change_of_timeline_needs_a_gate_of_its_own() {
    model(3, || {
        let server = Server::new::<TickTock<2>>(Flaw::None, 90, [100, 100, 0]);
        let mut first = server.take::<TickTock<2>>(1, || Tick(90));
        let threads = [(); 2].map(|()| Server::spawn::<TickTock<2>>(&server, 1, None));
        server.node.set(50);
        let threads = threads.map(|thread| thread.join().unwrap());
        first.extend(server.take::<TickTock<2>>(1, || Tick(50)));
        let ids = all::<TickTock<2>>([first].into_iter().chain(threads));
        assert!(ids.iter().all(|id| [(90, false), (50, true)].contains(id)), "{ids:?}");
        assert_eq!(server.disk.read().until[1..], [100, 52].map(moment));
        assert!(server.node.gate.toggle());
    });
}

/// Threads take IDs at these clocks, one of them behind the others, while the server shuts down.
fn shut_down<S: IdLayout>(flaw: Flaw, clocks: [u64; 2]) {
    let server = Server::new::<S>(flaw, 100, [101, 101, 51]);
    let threads = clocks.map(|now| Server::spawn::<S>(&server, 2, Some(now)));
    server.shut_down::<S>();
    let exact = server.disk.read();
    let after = server.take::<S>(1, || Tick(100));
    assert!(after.is_empty() || flaw == Flaw::NotSealed);
    for thread in threads {
        for block in thread.join().unwrap() {
            assert_covered::<S>(exact, block.stamp);
        }
    }
}

#[test]
fn a_shutdown_covers_all_that_was_issued_and_nothing_is_issued_after() {
    model(2, || shut_down::<Plain<3>>(Flaw::None, [100, 100]));
    model(2, || shut_down::<TickTock<3>>(Flaw::None, [100, 50]));
    // A thread that met the gate may move it after the end. That has no effect.
    model(2, || shut_down::<TickTock<3>>(Flaw::None, [100, 102]));
}

#[test]
#[should_panic(expected = "not covered")]
fn a_shutdown_that_only_looks_is_found() {
    model(2, || shut_down::<Plain<3>>(Flaw::NotSealed, [100, 100]));
}
