//! Models of sessions that use the same two cells.

use super::*;
use flakeid_core::gate::Limits;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};

/// Lets two sessions begin at the same generator ID of two, and take three times each while the
/// clock advances from 10 to `later`. Returns how many IDs they got, and whether both generator IDs
/// are exhausted.
fn sessions<S: IdLayout + 'static>(later: u64) -> (usize, bool) {
    let cells = Arc::new([(); 2].map(|()| Cell::after::<S>(Tick(0))));
    let shared = Node::new::<S>(10);
    let threads = [(); 2].map(|()| {
        let (cells, shared) = (cells.clone(), shared.clone());
        thread::spawn(move || {
            let mut session = Session::new(0, 2);
            let cells: Vec<_> = IssuingCell::numbered(&*cells).collect();
            let mut clock = || Some(shared.read());
            let next = |_| {
                let rules = rules::<S>();
                session.next::<S>(&cells, 1, Limits::new(&rules, &shared.gate, SCALE), &mut clock)
            };
            [(); 3].map(next)
        })
    });
    shared.set(later);
    let mut ledger = Ledger::new(if later < 10 { Steps::Back } else { Steps::Never }, 0);
    for (number, thread) in threads.into_iter().enumerate() {
        for given in thread.join().unwrap() {
            match given {
                Ok(Issued { generator_id, block, .. }) => {
                    ledger.enter::<S>(number, generator_id, block).expect("the checker");
                }
                Err(Stall::Wait { until, now }) => assert!(until > now),
                Err(Stall::SteppedBack { from, now }) => assert!(later < 10 && from > now),
                Err(stall) => panic!("{stall:?}"),
            }
        }
    }
    let words = cells.each_ref().map(Cell::word);
    for (slot, word) in words.into_iter().enumerate() {
        ledger.below_word::<S>(slot as u64, word).expect("the checker");
    }
    let last = rules::<S>().sequence.1;
    (ledger.ids().count(), words.iter().all(|word| word.sequence::<S>() == last))
}

#[test]
fn a_session_waits_only_when_no_generator_id_has_any_left() {
    fn run<S: IdLayout + 'static>() {
        let (ids, used_up) = sessions::<S>(10);
        assert!(ids <= 4 && used_up);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
}

#[test]
fn sessions_rise_from_generator_id_to_generator_id_and_on_into_the_next_tick() {
    fn run<S: IdLayout + 'static>() {
        assert!(sessions::<S>(11).0 >= 2);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
}

#[test]
fn sessions_never_repeat_an_id_across_a_clock_step_back() {
    fn run<S: IdLayout + 'static>() {
        assert!(sessions::<S>(5).0 >= 2);
    }
    model(3, run::<Plain<1>>);
    model(3, run::<TickTock<1>>);
    model(3, run::<TickTock<2>>);
}
