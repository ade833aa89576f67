//! The next ID, as a user of the core takes it. Every thread has its own session over its server's
//! cells, and takes one ID at a time, packed into the layout of its ID type.
//!
//! A time is that in which all threads together take a million IDs. So *a millisecond in the table
//! is a nanosecond for an ID*, and `Mitem/s` are the server's million IDs per second. With one
//! thread it is the time for an ID: reading the clock, choosing the number and packing. If the tick
//! has no number left, it includes reading the clock until the next tick. With two threads (`t=2`)
//! an ID takes a thread twice the time in the table. If the threads do not disturb each other, the
//! table has half of the time with one thread. If the ID type has no more IDs, it has the same
//! time.
//!
//! `Clock` is reading the clock alone, a million times. Every ID does that at least once, so
//! nothing can be below it. It is the clock of std; `clock_gettime` itself is some nanoseconds
//! faster.
//!
//! Flake, Sno and UniqueId are measured with the number of generator IDs in `<>`, usually eight. A
//! server has one identity for flake128 or guid, and so one cell. uuidv7 has four lanes. An ID type
//! has no more than
//!
//! | | IDs | ns for an ID |
//! |---|---|---|
//! | `Flake<8>` | 8 x 4,096 in 1 ms | 30.5 |
//! | `Flake<64>` | 64 x 4,096 in 1 ms | 3.8 |
//! | `Sno<8>` | 8 x 65,536 in 4 ms | 7.6 |
//! | `Flake128` | 65,536 in 1 ms | 15.3 |
//! | `Uuidv7` | 4 x 256 in each 1/4096 ms | 0.24 |
//! | `Guid` | 16,384 in 0.131 ms | 8.0 |
//! | `UniqueId<8>` | 8 x 64 in 1 ms | 1,953 |
//! | `UniqueId<64>` | 64 x 64 in 1 ms | 244 |
//!
//! `UniqueId<8>` always exhausts its milliseconds. Its figure is that of the ID type, 512 IDs in
//! each, and does not depend on the code. This also applies to `UniqueId<64>` if its code takes
//! less than 244 ns, and to `Flake<8>` with two threads. The cost of flake's code is in
//! `Flake<64>`. (Such a figure can be better than the table by up to a tick, as a sample may begin
//! late in an unused one.)

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::gate::{Gate, Limits};
use flakeid_core::generator::{Block, IdLayout, Rules};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use flakeid_core::{flake, flake128, guid, sno, uniqueid, uuidv7};
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// The IDs that a thread takes before it looks how many are left to take.
const BATCH: u32 = 1000;
const BATCHES: u32 = 1000;

// UniqueId has so few IDs that the time ends its bench, and not the number of samples.
#[divan::bench(
    types = [Clock, Flake<8>, Flake<64>, Sno<8>, Flake128, Uuidv7, Guid, UniqueId<8>, UniqueId<64>],
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

/// Lets all threads take a million IDs together, each with a session of its own.
///
/// The threads share the million, and do not take half of it each. If there are too few IDs for
/// both, one may get more of them. When that one had its half, the other would continue alone, as
/// fast as if it had always been alone.
fn measure<S, I>(
    bencher: Bencher,
    session: impl Fn() -> S + Sync,
    next: impl Fn(&mut S) -> I + Sync,
) {
    let begun = AtomicU32::new(0);
    // divan makes the inputs, one for each thread, before any thread begins.
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
        let cells: Vec<Cell> = F::GENERATORS.map(|_| Cell::after::<F::Layout>(Tick(0))).collect();
        // Nothing of this is known at compile time: a user has it from a configuration.
        let node = black_box(Node::<F>::new(&cells));
        let session = || Session::new(thread_number(), cells.len());
        measure(bencher, session, |session| node.next(session));
    }
}

/// Returns the number of this thread's sessions. divan runs a bench in the main thread and in
/// others that it keeps for the next bench.
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

/// The state that the threads share.
struct Node<'a, F> {
    cells: Vec<IssuingCell<'a>>,
    rules: Rules,
    scale: Scale,
    /// The gate is open: moving it is not part of the core.
    gate: Gate,
    format: PhantomData<F>,
}

impl<'a, F: Format> Node<'a, F> {
    fn new(cells: &'a [Cell]) -> Self {
        Self {
            cells: F::GENERATORS
                .zip(cells)
                .map(|(generator_id, cell)| IssuingCell { cell, generator_id })
                .collect(),
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
            match session.next::<F::Layout>(cells, 1, Limits::new(rules, gate, *scale), &mut clock)
            {
                Ok(issued) => {
                    return F::pack(issued.generator_id, issued.block, issued.fraction);
                }
                Err(stall) => self.overcome(stall),
            }
        }
    }

    #[cold]
    fn overcome(&self, stall: Stall) {
        match stall {
            Stall::Wait { until, .. } => {
                while self.scale.tick(now()) < Some(until) {
                    spin_loop();
                }
            }
            // A step back is reported once; at the next call the cell continues.
            Stall::SteppedBack { .. } => {}
            stall => panic!("{stall:?}"),
        }
    }
}

/// The properties of an ID type that a bench has to know beyond the core's [`IdLayout`].
trait Format: Sync {
    type Layout: IdLayout;
    type Id;
    const GENERATORS: Range<u64>;
    const RULES: Rules;
    const SCALE: Scale;
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick>;
    fn pack(generator: u64, block: Block, fraction: u64) -> Self::Id;
}

struct Flake<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for Flake<GENERATORS> {
    type Layout = flake::Flake;
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
    fn pack(generator: u64, block: Block, _fraction: u64) -> Self::Id {
        flake::Id::pack(block.stamp.tick::<flake::Flake>(), generator, block.sequence.into())
    }
}

struct Sno<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for Sno<GENERATORS> {
    type Layout = sno::TickTock;
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
    fn pack(generator: u64, block: Block, _fraction: u64) -> Self::Id {
        sno::Id::pack(block.stamp, 0, generator, block.sequence.into())
    }
}

struct Flake128;

impl Format for Flake128 {
    type Layout = flake128::Flake128;
    type Id = flake128::Id;
    /// The worker is a MAC address.
    const GENERATORS: Range<u64> = 0x0242_ac11_0002..0x0242_ac11_0003;
    const RULES: Rules =
        Rules { sequence: (0, flake128::SEQUENCE.max() as u32), end: flake128::END };
    const SCALE: Scale = flake128::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ flake128::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block, _fraction: u64) -> Self::Id {
        let tick = block.stamp.tick::<flake128::Flake128>();
        flake128::Id::pack(tick, generator, block.sequence.into())
    }
}

/// Its random bits are not measured here: the core has none.
struct Uuidv7;

impl Format for Uuidv7 {
    type Layout = uuidv7::Uuidv7;
    type Id = uuidv7::Id;
    const GENERATORS: Range<u64> = 0..uuidv7::LANES as u64;
    const RULES: Rules = Rules { sequence: (0, uuidv7::SEQUENCE.max() as u32), end: uuidv7::END };
    const SCALE: Scale = uuidv7::SCALE;
    #[inline]
    fn tick(_scale: Scale, now: UnixNanos) -> Option<Tick> {
        Some(uuidv7::tick_with_fraction(now))
    }
    #[inline]
    fn pack(generator: u64, block: Block, fraction: u64) -> Self::Id {
        let tick = block.stamp.tick::<uuidv7::Uuidv7>();
        let sequence = block.sequence.into();
        uuidv7::Id::pack(tick, fraction, generator, sequence, sequence)
    }
}

struct Guid;

impl Format for Guid {
    type Layout = guid::Guid;
    type Id = guid::Id;
    const GENERATORS: Range<u64> = 0xc0de_0001..0xc0de_0002;
    const RULES: Rules = Rules { sequence: (0, guid::SEQUENCE.max() as u32), end: guid::END };
    const SCALE: Scale = guid::SCALE;
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ guid::UNIT }>(now)
    }
    #[inline]
    fn pack(generator: u64, block: Block, _fraction: u64) -> Self::Id {
        let tick = block.stamp.tick::<guid::Guid>();
        let (time, sequence) = guid::Clock::Unix.convert(tick, block.sequence.into());
        guid::Id::pack(guid::Parts { drift: guid::Drift::DEFAULT, time, node: generator, sequence })
    }
}

struct UniqueId<const GENERATORS: u64>;

impl<const GENERATORS: u64> Format for UniqueId<GENERATORS> {
    type Layout = uniqueid::UniqueId;
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
    fn pack(generator: u64, block: Block, _fraction: u64) -> Self::Id {
        uniqueid::Id::pack(uniqueid::Parts {
            time: block.stamp.tick::<uniqueid::UniqueId>(),
            sequence: block.sequence.into(),
            generator,
            cluster: 0,
            mode: uniqueid::Mode::TimeSequential,
        })
    }
}
