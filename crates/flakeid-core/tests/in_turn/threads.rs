//! Threads with a real clock.

use super::*;
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Instant;

/// The microseconds of a tick: so few that a short run has enough ticks, and most are exhausted.
/// miri is slower.
const TICK: u64 = if cfg!(miri) { 20_000 } else { 50 };

/// Each thread's IDs increase and no ID repeats. While the threads are busy, every number of a tick
/// is issued: they wait only when it is exhausted.
fn run<S: IdLayout>(threads: usize, slots: usize, each: usize) {
    let cells = cells::<S>(slots);
    let issuing: Vec<_> = IssuingCell::numbered(&cells).collect();
    let all: Vec<usize> = (0..slots).collect();
    let (start, barrier) = (Instant::now(), Barrier::new(threads));
    let thread = |number: usize| {
        let (mut session, mut numbers) = (Session::new(number as u32, slots), Vec::new());
        let mut waited = BTreeSet::new();
        let mut clock = || Some(Tick(100 + start.elapsed().as_micros() as u64 / TICK));
        barrier.wait();
        while numbers.len() < each {
            let (rules, gate) = (rules::<S>(), Gate::open());
            match session.next::<S>(&issuing, 1, Limits::new(&rules, &gate, SCALE), &mut clock) {
                Ok(issued) => numbers.push(Number::given::<S>(issued, &all)),
                Err(Stall::Wait { until, now }) => {
                    assert!(until > now);
                    waited.insert(now.0);
                    std::hint::spin_loop();
                }
                Err(stall) => panic!("{stall:?}"),
            }
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "a thread's numbers rise");
        (numbers, waited)
    };
    let (numbers, waited): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || thread(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).unzip()
    });
    let given: BTreeSet<Number> = numbers.into_iter().flatten().collect();
    assert_eq!(given.len(), threads * each, "no number repeats");
    for tick in waited.into_iter().flatten() {
        let numbers = given.range(
            Number { tick, sequence: 0, slot: 0 }..Number { tick: tick + 1, sequence: 0, slot: 0 },
        );
        assert!(numbers.copied().eq(all_of::<S>(tick, slots)), "tick {tick} has some left");
    }
    let issued: u64 = cells.iter().map(|cell| cell.counters.get().issued).sum();
    assert_eq!(issued, given.len() as u64);
}

#[test]
fn threads_get_every_number_once_in_rising_order() {
    if cfg!(miri) {
        run::<UniqueId>(2, 1, 80);
        run::<Numbers<1>>(3, 3, 20);
        return;
    }
    run::<UniqueId>(2, 1, 100_000);
    run::<UniqueId>(2, 8, 150_000);
    run::<UniqueId>(4, 8, 100_000);
    run::<UniqueId>(3, 64, 100_000);
    run::<Numbers<1>>(4, 3, 50_000);
}
