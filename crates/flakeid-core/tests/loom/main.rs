#![cfg(loom)]
//! Every interleaving of two or three threads on the shipped cell, session and gate, as loom finds
//! them:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p flakeid-core --release --test loom
//! ```
//!
//! The clock is an atomic that one of the threads moves. In tests of processors that read the clock
//! differently, it is a constant of each thread.

#[path = "../broken/mod.rs"]
mod broken;
mod cell;
mod gate;
mod in_turn;
mod lease;
#[path = "../ledger/mod.rs"]
mod ledger;
mod sessions;
mod waiters;
mod watermark;
mod watermark_moves;

use flakeid_core::cell::{Cell, IssueRequest, Stall};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{Block, IdLayout, Rules, Stamp};
use flakeid_core::sno::SCALE;
use ledger::{Ledger, Steps};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// ID types so small that two threads exhaust a tick.
struct Plain<const BITS: u32>;
impl<const BITS: u32> IdLayout for Plain<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = false;
}

struct TickTock<const BITS: u32>;
impl<const BITS: u32> IdLayout for TickTock<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = true;
}

const fn rules<S: IdLayout>() -> Rules {
    Rules { sequence: (0, (1 << S::SEQUENCE_BITS) - 1), end: Tick(1000) }
}

/// Returns the time at which a tick begins.
fn moment(tick: u64) -> UnixNanos {
    SCALE.nanos(Tick(tick))
}

/// Checks a model with as many preemptions as loom can try in seconds.
fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// The state that the threads share.
struct Node {
    cell: Cell,
    gate: Gate,
    clock: AtomicU64,
}

impl Node {
    /// Creates a cell that has issued up to tick 0, and a clock at `now`.
    fn new<S: IdLayout>(now: u64) -> Arc<Self> {
        let (cell, gate) = (Cell::after::<S>(Tick(0)), Gate::open());
        Arc::new(Self { cell, gate, clock: AtomicU64::new(now) })
    }

    /// Relaxed is enough: the cell itself reads the word first, so that the clock is not read
    /// before it.
    fn read(&self) -> Tick {
        Tick(self.clock.load(Ordering::Relaxed))
    }

    fn set(&self, now: u64) {
        self.clock.store(now, Ordering::Relaxed);
    }
}

/// The results of a thread: the IDs that it got from the cell, and its other outcomes.
struct Thread<S> {
    node: Arc<Node>,
    floor: Stamp,
    blocks: Vec<Block>,
    waits: Vec<Tick>,
    steps_back: usize,
    id_type: std::marker::PhantomData<S>,
}

impl<S: IdLayout> Thread<S> {
    fn new(node: &Arc<Node>) -> Self {
        Self {
            node: node.clone(),
            floor: Stamp::default(),
            blocks: Vec::new(),
            waits: Vec::new(),
            steps_back: 0,
            id_type: Default::default(),
        }
    }

    /// Takes an ID by the common clock, and tries again after a report of a step back.
    fn ask(&mut self, want: u32) {
        let node = self.node.clone();
        self.ask_at(want, || node.read());
    }

    fn ask_at(&mut self, want: u32, mut clock: impl FnMut() -> Tick) {
        let ask = IssueRequest {
            floor: self.floor,
            later: false,
            within: Tick(u64::MAX),
            want,
            generation: 0,
            ..IssueRequest::any(want)
        };
        let Node { cell, gate, .. } = &*self.node;
        let clock = &mut || Some(clock());
        loop {
            match cell.issue::<S>(ask, Limits::new(&rules::<S>(), gate, SCALE), clock) {
                Ok(Some(block)) => {
                    self.floor = block.stamp;
                    return self.blocks.push(block);
                }
                Err(Stall::Wait { until, .. }) => return self.waits.push(until),
                Err(Stall::SteppedBack { .. }) => self.steps_back += 1,
                outcome => panic!("{outcome:?}"),
            }
        }
    }

    /// Starts another thread that does this.
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

/// Checks the results of all threads. Returns the IDs as (tick, toggle), and the ticks for which
/// threads were told to wait.
fn check<S: IdLayout>(steps: Steps, threads: Vec<Thread<S>>) -> (Vec<(u64, bool)>, Vec<Tick>) {
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
