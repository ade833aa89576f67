//! Models of two threads that take the numbers of two cells in turn.

use super::*;
use flakeid_core::gate::Limits;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use std::collections::BTreeSet;

struct InTurn<const BITS: u32>;
impl<const BITS: u32> IdLayout for InTurn<BITS> {
    const SEQUENCE_BITS: u32 = BITS;
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// The tick, the sequence and the slot: the order of this ID type.
type Number = (u64, u32, u64);

/// Lets two sessions take this many numbers each while the clock advances from 10 to `later`.
/// Returns all that they got.
fn sessions<S: IdLayout + 'static>(later: u64, calls: usize) -> BTreeSet<Number> {
    let cells = Arc::new([(); 2].map(|()| Cell::after::<S>(Tick(0))));
    let shared = Node::new::<S>(10);
    let ask = move |number, cells: Arc<[Cell; 2]>, shared: Arc<Node>| {
        let mut session = Session::new(number, 2);
        let cells: Vec<_> = IssuingCell::numbered(&*cells).collect();
        let mut clock = || Some(shared.read());
        let (mut given, mut waited) = (Vec::<Number>::new(), Vec::new());
        for _ in 0..calls {
            let (rules, gate) = (rules::<S>(), &shared.gate);
            match session.next::<S>(&cells, 1, Limits::new(&rules, gate, SCALE), &mut clock) {
                Ok(issued) => {
                    let block = issued.block;
                    assert_eq!(block.count, 1);
                    let tick = block.stamp.tick::<S>().0;
                    given.push((tick, block.sequence, issued.generator_id));
                }
                Err(Stall::Wait { until, now }) => {
                    assert!(until > now);
                    waited.push(now.0);
                }
                Err(stall) => panic!("{stall:?}"),
            }
        }
        (given, waited)
    };
    let other = {
        let (cells, shared) = (cells.clone(), shared.clone());
        thread::spawn(move || ask(1, cells, shared))
    };
    let own = {
        let (cells, shared) = (cells.clone(), shared.clone());
        shared.set(later);
        ask(0, cells, shared)
    };
    let (mut all, mut count) = (BTreeSet::new(), 0);
    let mut waits = BTreeSet::new();
    for (given, waited) in [own, other.join().unwrap()] {
        assert!(given.is_sorted_by(|a, b| a < b), "a session's numbers rise");
        count += given.len();
        all.extend(given);
        waits.extend(waited);
    }
    assert_eq!(all.len(), count, "no number repeats");
    let numbers = rules::<S>().sequence.1 + 1;
    for &(tick, sequence, slot) in &all {
        assert!([10, later].contains(&tick));
        // For every number, those before it in its tick have been issued, too.
        let before = (0..=sequence).flat_map(|s| [(tick, s, 0), (tick, s, 1)]);
        let mut before = before.filter(|&before| before < (tick, sequence, slot));
        assert!(before.all(|before| all.contains(&before)), "{all:?}");
    }
    // No session waits while a number is left.
    for tick in waits {
        assert_eq!(all.iter().filter(|number| number.0 == tick).count(), 2 * numbers as usize);
    }
    all
}

#[test]
fn two_sessions_get_all_numbers_of_a_tick_in_their_order() {
    model(3, || assert_eq!(sessions::<InTurn<1>>(10, 2).len(), 4));
    model(3, || assert_eq!(sessions::<InTurn<1>>(10, 3).len(), 4));
    model(3, || assert_eq!(sessions::<InTurn<2>>(10, 3).len(), 6));
}

#[test]
fn two_sessions_continue_in_their_order_into_the_next_tick() {
    model(3, || assert!(sessions::<InTurn<1>>(11, 3).len() >= 4));
}
