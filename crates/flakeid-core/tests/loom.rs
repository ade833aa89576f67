#![cfg(loom)]
//! Every interleaving of two or three threads on the shipped cell and session, as loom finds them:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p flakeid-core --release --test loom
//! ```
//!
//! The clock is an atomic that one of the threads moves, or a constant of each thread where what
//! matters is that two processors read it differently.

mod broken;
mod ledger;

use broken::Flaw;
use flakeid_core::cell::{Ask, Cell, Outcome};
use flakeid_core::clock::Tick;
use flakeid_core::gate::Gate;
use flakeid_core::generator::{Block, Rules, Stamp, System};
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::sno::SCALE;
use ledger::{Ledger, Steps};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Systems so small that two threads use up a tick.
struct Plain<const BITS: u32>;
impl<const BITS: u32> System for Plain<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = false;
}

struct TickTock<const BITS: u32>;
impl<const BITS: u32> System for TickTock<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = true;
}

const fn rules<S: System>() -> Rules {
    Rules { sequence: (0, (1 << S::SEQUENCE_BITS) - 1), end: Tick(1000) }
}

/// With as many preemptions as take seconds.
fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// What the threads share.
struct Node {
    cell: Cell,
    gate: Gate,
    clock: AtomicU64,
}

impl Node {
    /// Nothing issued up to tick 0, and the clock at `now`.
    fn new<S: System>(now: u64) -> Arc<Self> {
        let (cell, gate) = (Cell::after::<S>(Tick(0)), Gate::open());
        Arc::new(Self { cell, gate, clock: AtomicU64::new(now) })
    }

    /// Relaxed: that a word read before makes for a clock read not before it is the cell's doing.
    fn read(&self) -> Tick {
        Tick(self.clock.load(Ordering::Relaxed))
    }

    fn set(&self, now: u64) {
        self.clock.store(now, Ordering::Relaxed);
    }
}

/// A thread's part: what it got from the cell, and the waits it was told.
struct Thread<S> {
    node: Arc<Node>,
    floor: Stamp,
    blocks: Vec<Block>,
    waits: Vec<Tick>,
    system: std::marker::PhantomData<S>,
}

impl<S: System> Thread<S> {
    fn new(node: &Arc<Node>) -> Self {
        let (node, floor) = (node.clone(), Stamp::default());
        Self { node, floor, blocks: Vec::new(), waits: Vec::new(), system: Default::default() }
    }

    /// Asks once, by the common clock.
    fn ask(&mut self, want: u32) {
        let node = self.node.clone();
        self.ask_at(want, || node.read());
    }

    fn ask_at(&mut self, want: u32, mut clock: impl FnMut() -> Tick) {
        let ask = Ask { floor: self.floor, later: false, within: Tick(u64::MAX), want };
        let Node { cell, gate, .. } = &*self.node;
        match cell.issue::<S>(ask, &rules::<S>(), gate, SCALE, &mut || Some(clock())) {
            Outcome::Issued(block) => {
                self.floor = block.stamp;
                self.blocks.push(block);
            }
            Outcome::Wait { until, .. } => self.waits.push(until),
            outcome => panic!("{outcome:?}"),
        }
    }

    /// Another thread that does this.
    fn spawn(node: &Arc<Node>, run: impl FnOnce(&mut Self) + 'static) -> thread::JoinHandle<Self>
    where
        S: 'static,
    {
        let mut thread = Self::new(node);
        thread::spawn(move || {
            run(&mut thread);
            thread
        })
    }
}

/// Holds what all threads got against the promises, and gives the IDs as (tick, toggle), and the
/// ticks that threads were told to wait for.
fn check<S: System>(steps: Steps, threads: Vec<Thread<S>>) -> (Vec<(u64, bool)>, Vec<Tick>) {
    let mut ledger = Ledger::new(steps, 0);
    let mut waits = Vec::new();
    let word = threads[0].node.cell.word();
    for (number, thread) in threads.into_iter().enumerate() {
        for block in thread.blocks {
            ledger.enter::<S>(number, 0, block).expect("the checker");
        }
        waits.extend(thread.waits);
    }
    ledger.without_gaps().expect("the checker");
    ledger.up_to_word::<S>(0, word).expect("the checker");
    (ledger.ids().map(|id| (id.tick, id.toggle)).collect(), waits)
}

#[test]
fn two_threads_at_the_edge_of_a_tick_get_different_ids() {
    fn run<S: System + 'static>(later: u64) {
        let node = Node::new::<S>(1);
        let threads = [(); 2].map(|()| {
            Thread::<S>::spawn(&node, |thread| {
                thread.ask(1);
                thread.ask(1);
            })
        });
        node.set(later);
        let (ids, waits) = check(Steps::Never, threads.map(|thread| thread.join().unwrap()).into());
        assert_eq!((ids.len(), waits.len()), (4, 0));
    }
    model(3, || run::<Plain<2>>(2));
    model(3, || run::<TickTock<2>>(2));
    model(3, || run::<TickTock<2>>(20));
}

#[test]
fn a_tick_gives_all_of_its_sequence_and_no_more() {
    fn run<S: System + 'static>(want: u32) {
        let node = Node::new::<S>(1);
        let threads = [(); 2].map(|()| {
            Thread::<S>::spawn(&node, move |thread| {
                thread.ask(want);
                thread.ask(want);
            })
        });
        let (ids, waits) = check(Steps::Never, threads.map(|thread| thread.join().unwrap()).into());
        assert_eq!(ids.len(), 1 << S::SEQUENCE_BITS);
        assert!(!waits.is_empty() && waits.iter().all(|&until| until == Tick(2)));
    }
    model(3, || run::<Plain<1>>(1));
    model(3, || run::<TickTock<1>>(1));
    model(3, || run::<Plain<2>>(3));
}

#[test]
fn a_clock_step_back_holds_the_tick_where_there_is_no_tick_tock() {
    model(3, || {
        let node = Node::new::<Plain<2>>(50);
        let mut first = Thread::<Plain<2>>::new(&node);
        first.ask(1);
        let threads = [(); 2].map(|()| {
            Thread::<Plain<2>>::spawn(&node, |thread| {
                thread.ask(1);
                thread.ask(1);
            })
        });
        node.set(20);
        let threads = threads.map(|thread| thread.join().unwrap());
        let (ids, waits) = check(Steps::Back, [first].into_iter().chain(threads).collect());
        assert_eq!(ids, [(50, false); 4]);
        assert_eq!(waits, [Tick(51)]);
    });
}

#[test]
fn a_clock_step_back_turns_the_tick_tock_once_and_a_second_one_waits() {
    model(3, || {
        let node = Node::new::<TickTock<2>>(90);
        let mut main = Thread::<TickTock<2>>::new(&node);
        main.ask(1);
        let threads = [(); 2].map(|()| Thread::<TickTock<2>>::spawn(&node, |thread| thread.ask(1)));
        node.set(50);
        let threads = threads.map(|thread| thread.join().unwrap());
        // By now the step back is seen; and then comes another into the same period.
        main.ask(1);
        node.set(30);
        main.ask(4);
        main.ask(4);
        let (ids, waits) = check(Steps::Back, [main].into_iter().chain(threads).collect());
        let toggle = ids.last().unwrap().1;
        assert!(ids.iter().all(|&id| id == (90, toggle) || id == (50, !toggle)), "{ids:?}");
        assert_eq!(ids.iter().filter(|&&id| id == (50, !toggle)).count(), 4);
        assert_eq!(waits, [Tick(51)]);
    });
}

#[test]
fn two_threads_that_see_different_steps_back_turn_to_one_timeline() {
    model(3, || {
        let node = Node::new::<TickTock<2>>(90);
        let mut first = Thread::<TickTock<2>>::new(&node);
        first.ask(1);
        let toggle = first.floor.toggle::<TickTock<2>>();
        let threads = [50, 30].map(|now| {
            Thread::<TickTock<2>>::spawn(&node, move |thread| {
                thread.ask_at(1, || Tick(now));
                thread.ask_at(1, || Tick(now));
            })
        });
        let threads = threads.map(|thread| thread.join().unwrap());
        let (ids, waits) = check(Steps::Back, [first].into_iter().chain(threads).collect());
        assert_eq!((ids.len(), waits.len()), (5, 0));
        assert_eq!(ids.iter().filter(|id| id.1 == toggle).count(), 1, "{ids:?}");
    });
}

/// One thread goes on in a timeline that another turns away from, and a third wants to turn back to
/// it. What the first got there must be known to the third by then.
#[test]
fn a_turn_that_races_an_ordinary_issue_never_comes_back_to_its_tick() {
    fn run(clocks: [&'static [u64]; 3]) {
        let node = Node::new::<TickTock<2>>(90);
        let mut first = Thread::<TickTock<2>>::new(&node);
        first.ask(1);
        let threads = clocks.map(|clock| {
            Thread::<TickTock<2>>::spawn(&node, move |thread| {
                clock.iter().for_each(|&now| thread.ask_at(1, || Tick(now)));
            })
        });
        let threads = threads.map(|thread| thread.join().unwrap());
        check(Steps::Back, [first].into_iter().chain(threads).collect());
    }
    model(2, || run([&[100], &[50], &[120, 100]]));
    // The third learns of the turn by a swap that fails.
    model(2, || run([&[100], &[50, 120], &[100]]));
    // The one that turns away has been overtaken by another that did.
    model(2, || run([&[100], &[50], &[50, 120, 100]]));
}

/// Two sessions that begin at the same partition of two, and ask three times each while the clock
/// goes from 10 to `later`. Gives how many IDs they got, and whether both partitions are used up.
fn sessions<S: System + 'static>(later: u64) -> (usize, bool) {
    let cells = Arc::new([(); 2].map(|()| Cell::after::<S>(Tick(0))));
    let shared = Node::new::<S>(10);
    let threads = [(); 2].map(|()| {
        let (cells, shared) = (cells.clone(), shared.clone());
        thread::spawn(move || {
            let mut session = Session::new(0, 2);
            let cells = cells.each_ref();
            let mut clock = || Some(shared.read());
            let next = |_| {
                let rules = rules::<S>();
                session.next::<S>(&cells, 1, &rules, &shared.gate, SCALE, &mut clock)
            };
            [(); 3].map(next)
        })
    });
    shared.set(later);
    let mut ledger = Ledger::new(if later < 10 { Steps::Back } else { Steps::Never }, 0);
    for (number, thread) in threads.into_iter().enumerate() {
        for given in thread.join().unwrap() {
            match given {
                Ok(Issued { partition, block }) => {
                    ledger.enter::<S>(number, partition as u64, block).expect("the checker");
                }
                Err(Stall::Wait { until, now }) => assert!(until > now),
                Err(stall) => panic!("{stall:?}"),
            }
        }
    }
    let words = cells.each_ref().map(Cell::word);
    for (partition, word) in words.into_iter().enumerate() {
        ledger.below_word::<S>(partition as u64, word).expect("the checker");
    }
    let last = rules::<S>().sequence.1;
    (ledger.ids().count(), words.iter().all(|word| word.sequence::<S>() == last))
}

#[test]
fn a_session_waits_only_when_no_partition_has_any_left() {
    fn run<S: System + 'static>() {
        let (ids, used_up) = sessions::<S>(10);
        assert!(ids <= 4 && used_up);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
}

#[test]
fn sessions_rise_from_partition_to_partition_and_on_into_the_next_tick() {
    fn run<S: System + 'static>() {
        assert!(sessions::<S>(11).0 >= 2);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
}

#[test]
fn sessions_never_repeat_an_id_across_a_clock_step_back() {
    fn run<S: System + 'static>() {
        assert!(sessions::<S>(5).0 >= 2);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
    model(3, run::<TickTock<2>>);
}

/// Two threads that take IDs of a flawed cell, while the clock goes on.
fn flawed<S: System + 'static>(flaw: Flaw) {
    let node = Node::new::<S>(10);
    let cell = Arc::new(broken::Cell::after::<S>(Tick(0), flaw));
    let threads = [(); 2].map(|()| {
        let (node, cell) = (node.clone(), cell.clone());
        thread::spawn(move || cell.issue::<S>(&rules::<S>(), &mut || node.read()).unwrap())
    });
    node.set(20);
    let mut ledger = Ledger::new(Steps::Never, 0);
    for (number, thread) in threads.into_iter().enumerate() {
        ledger.enter::<S>(number, 0, thread.join().unwrap()).expect("the checker");
    }
}

#[test]
#[should_panic(expected = "the checker: Turned")]
fn a_clock_read_before_the_word_is_found() {
    model(3, || flawed::<TickTock<2>>(Flaw::ClockFirst));
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_word_stored_without_a_look_is_found() {
    model(3, || flawed::<Plain<2>>(Flaw::BlindStore));
}

/// So it is the flaw that is found above.
#[test]
fn the_flawed_cell_without_its_flaw_passes() {
    model(3, || flawed::<TickTock<2>>(Flaw::None));
    model(3, || flawed::<Plain<2>>(Flaw::None));
}
