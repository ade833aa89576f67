//! The next ID, as one who uses the core takes it: every thread has its own session over its node's
//! cells and takes one ID a time, packed into its system's format.
//!
//! A time is that in which all threads together take a million IDs, so *a millisecond in the table is a
//! nanosecond an ID*, and `Mitem/s` are the node's million IDs per second. With one thread the time is
//! what an ID takes: reading the clock, choosing the number, packing, and where the tick has no number
//! left, looking at the clock until it reads the next. With two (`t=2`) an ID takes a thread twice
//! the time in the table: where they do not get into each other's way the table has half of the time
//! with one, where the format gives no more, the same.
//!
//! `Clock` is reading the clock alone, a million times. Every ID does that at least once, so nothing can
//! be below it. It is std's; `clock_gettime` itself is some nanoseconds faster.
//!
//! Flake, Sno and UniqueId are measured with as many generator IDs as stand in `<>`, eight as a rule; a
//! node of flake128 or guid has one identity, and so one cell. A format gives no more than
//!
//! | | IDs | ns for an ID |
//! |---|---|---|
//! | `Flake<8>` | 8 x 4,096 in 1 ms | 30.5 |
//! | `Flake<64>` | 64 x 4,096 in 1 ms | 3.8 |
//! | `Sno<8>` | 8 x 65,536 in 4 ms | 7.6 |
//! | `Flake128` | 65,536 in 1 ms | 15.3 |
//! | `Guid` | 16,384 in 0.131 ms | 8.0 |
//! | `UniqueId<8>` | 8 x 64 in 1 ms | 1,953 |
//! | `UniqueId<64>` | 64 x 64 in 1 ms | 244 |
//!
//! `UniqueId<8>` always uses up its milliseconds: its figure is the format's, 512 IDs in each, and says
//! nothing of the code. The same holds for `UniqueId<64>` where its code takes less than 244 ns, and for
//! `Flake<8>` with two threads; what flake's code takes is in `Flake<64>`. (Such a figure can be better
//! than the table by up to a tick, as a sample may begin late in one that nobody has used.)

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::gate::Gate;
use flakeid_core::generator::{Block, Rules, System};
use flakeid_core::session::{Session, Stall};
use flakeid_core::{flake, flake128, guid, sno, uniqueid};
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// IDs that a thread takes before it looks how many are still to be taken.
const BATCH: u32 = 1000;
const BATCHES: u32 = 1000;

// With so few IDs as UniqueId has it is the time that ends a bench, not the number of samples.
#[divan::bench(
    types = [Clock, Flake<8>, Flake<64>, Sno<8>, Flake128, Guid, UniqueId<8>, UniqueId<64>],
    threads = [1, 2],
    counters = [ItemsCount::new(BATCH * BATCHES)],
    sample_size = 1, sample_count = 50, max_time = 4,
)]
fn million<M: Measured>(bencher: Bencher) {
    M::measure(bencher);
}

trait Measured {
    fn measure(bencher: Bencher);
}

/// Lets all threads take a million together, each with a session of its own.
///
/// Together, and not half of it each: where there are too few IDs for both, one may get more of them,
/// and when it had its half the other would go on alone, as fast as if it had always been.
fn measure<S, I>(
    bencher: Bencher,
    session: impl Fn() -> S + Sync,
    next: impl Fn(&mut S) -> I + Sync,
) {
    let begun = AtomicU32::new(0);
    // divan makes the inputs, one for each thread, before it lets any of them begin.
    let input = || {
        begun.store(0, Ordering::Relaxed);
        session()
    };
    bencher.with_inputs(input).bench_refs(|session| {
        while begun.fetch_add(1, Ordering::Relaxed) < BATCHES {
            for _ in 0..BATCH {
                black_box(next(session));
            }
        }
    });
}

struct Clock;

impl Measured for Clock {
    fn measure(bencher: Bencher) {
        measure(bencher, || (), |()| now());
    }
}

impl<F: Format> Measured for F {
    fn measure(bencher: Bencher) {
        let cells: Vec<Cell> = F::GENERATORS.map(|_| Cell::after::<F::System>(Tick(0))).collect();
        // Nothing of it is known when compiling: a user has it from a configuration.
        let node = black_box(Node::<F>::new(&cells));
        let session = || Session::new(thread_number(), cells.len());
        measure(bencher, session, |session| node.next(session));
    }
}

/// The number of this thread's sessions. divan runs a bench in the main thread and in others that it
/// keeps for the next.
fn thread_number() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    thread_local!(static NUMBER: u32 = THREADS.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

#[inline]
fn now() -> UnixNanos {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => UnixNanos(since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())),
        Err(_) => UnixNanos(0),
    }
}

/// What the threads share.
struct Node<'a, F> {
    cells: Vec<&'a Cell>,
    generators: Vec<u64>,
    rules: Rules,
    scale: Scale,
    /// Open: who moves it, and when, is not the core's.
    gate: Gate,
    format: PhantomData<F>,
}

impl<'a, F: Format> Node<'a, F> {
    fn new(cells: &'a [Cell]) -> Self {
        Self {
            cells: cells.iter().collect(),
            generators: F::GENERATORS.collect(),
            rules: F::RULES,
            scale: F::SCALE,
            gate: Gate::open(),
            format: PhantomData,
        }
    }

    #[inline(always)]
    fn next(&self, session: &mut Session) -> F::Id {
        let Self { cells, rules, gate, scale, .. } = self;
        let mut clock = || F::tick(*scale, now());
        loop {
            match session.next::<F::System>(cells, 1, rules, gate, *scale, &mut clock) {
                Ok(issued) => return F::pack(self.generators[issued.partition], issued.block),
                Err(stall) => self.overcome(stall),
            }
        }
    }

    #[cold]
    fn overcome(&self, stall: Stall) {
        match stall {
            Stall::Wait { until, .. } => {
                while F::tick(self.scale, now()) < Some(until) {
                    spin_loop();
                }
            }
            // It is said once; asked again, the cell goes on.
            Stall::SteppedBack { .. } => {}
            stall => panic!("{stall:?}"),
        }
    }
}

/// What a bench has to know of a system beyond the core's [`System`].
trait Format: Sync {
    type System: System;
    type Id;
    const GENERATORS: Range<u64>;
    const RULES: Rules;
    const SCALE: Scale;
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick>;
    fn pack(generator: u64, block: Block) -> Self::Id;
}

struct Flake<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for Flake<GENERATORS> {
    type System = flake::Flake;
    type Id = flake::Id;
    const GENERATORS: Range<u64> = 0..GENERATORS;
    const RULES: Rules =
        Rules { sequence: (0, flake::COUNTER.max() as u32), end: flake::LAST_SIGNED };
    const SCALE: Scale = flake::Epoch::UNIX.scale();
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ flake::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block) -> Self::Id {
        flake::Id::pack(block.stamp.tick::<flake::Flake>(), generator, block.sequence.into())
    }
}

struct Sno<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for Sno<GENERATORS> {
    type System = sno::TickTock;
    type Id = sno::Id;
    const GENERATORS: Range<u64> = 0..GENERATORS;
    const RULES: Rules =
        Rules { sequence: (0, sno::SEQUENCE.max() as u32), end: sno::SCALE.last() };
    const SCALE: Scale = sno::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ sno::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block) -> Self::Id {
        sno::Id::pack(block.stamp, 0, generator, block.sequence.into())
    }
}

struct Flake128;

impl Format for Flake128 {
    type System = flake128::Flake128;
    type Id = flake128::Id;
    /// A MAC address.
    const GENERATORS: Range<u64> = 0x0242_ac11_0002..0x0242_ac11_0003;
    const RULES: Rules =
        Rules { sequence: (0, flake128::SEQUENCE.max() as u32), end: flake128::END };
    const SCALE: Scale = flake128::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ flake128::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block) -> Self::Id {
        let tick = block.stamp.tick::<flake128::Flake128>();
        flake128::Id::pack(tick, generator, block.sequence.into())
    }
}

struct Guid;

impl Format for Guid {
    type System = guid::Guid;
    type Id = guid::Id;
    const GENERATORS: Range<u64> = 0xc0de_0001..0xc0de_0002;
    const RULES: Rules = Rules { sequence: (0, guid::SEQUENCE.max() as u32), end: guid::END };
    const SCALE: Scale = guid::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ guid::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block) -> Self::Id {
        let tick = block.stamp.tick::<guid::Guid>();
        let (time, sequence) = guid::Clock::Unix.turn(tick, block.sequence.into());
        guid::Id::pack(guid::Parts { drift: guid::Drift::DEFAULT, time, node: generator, sequence })
    }
}

struct UniqueId<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for UniqueId<GENERATORS> {
    type System = uniqueid::UniqueId;
    type Id = uniqueid::Id;
    const GENERATORS: Range<u64> = 0..GENERATORS;
    const RULES: Rules =
        Rules { sequence: (0, uniqueid::SEQUENCE.max() as u32), end: uniqueid::SCALE.last() };
    const SCALE: Scale = uniqueid::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ uniqueid::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block) -> Self::Id {
        uniqueid::Id::pack(uniqueid::Parts {
            time: block.stamp.tick::<uniqueid::UniqueId>(),
            sequence: block.sequence.into(),
            generator,
            cluster: 0,
            mode: uniqueid::Mode::TimeSequential,
        })
    }
}
