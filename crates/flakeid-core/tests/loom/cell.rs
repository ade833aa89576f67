//! Models of threads on one cell, behind an open gate.

use super::*;
use crate::broken::{self, Flaw};
use flakeid_core::gate::Horizon;

#[test]
fn two_threads_at_the_edge_of_a_tick_get_different_ids() {
    fn run<S: IdLayout + 'static>(later: u64) {
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
    fn run<S: IdLayout + 'static>(want: u32) {
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
        assert!(threads.iter().map(|thread| thread.steps_back).sum::<usize>() <= 1);
        let (ids, waits) = check(Steps::Back, [first].into_iter().chain(threads).collect());
        assert_eq!(ids, [(50, false); 4]);
        assert_eq!(waits, [Tick(51)]);
    });
}

#[test]
fn a_clock_step_back_changes_the_timeline_once_and_a_second_one_waits() {
    model(3, || {
        let node = Node::new::<TickTock<2>>(90);
        let mut main = Thread::<TickTock<2>>::new(&node);
        main.ask(1);
        let threads = [(); 2].map(|()| Thread::<TickTock<2>>::spawn(&node, |thread| thread.ask(1)));
        node.set(50);
        let threads = threads.map(|thread| thread.join().unwrap());
        // Now the step back has been noticed; then comes another one into the same period.
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
fn two_threads_that_notice_different_steps_back_change_to_one_timeline() {
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

/// One thread continues in a timeline that another thread leaves, and a third wants to change back
/// to it. By then the third must know all that the first got there.
#[test]
fn a_change_of_timeline_that_races_an_ordinary_issue_never_returns_to_its_tick() {
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
    // The third thread learns of the change of timeline by a swap that fails.
    model(2, || run([&[100], &[50, 120], &[100]]));
    // The thread that changes the timeline has been overtaken by another that did.
    model(2, || run([&[100], &[50], &[50, 120, 100]]));
}

/// The server has changed its timeline. Before all cells have followed, the clock steps back and
/// advances.
#[test]
fn a_change_that_follows_the_server_races_a_change_for_a_step_back() {
    fn run(clocks: [&'static [u64]; 2]) {
        let node = Node::new::<TickTock<2>>(90);
        let mut first = Thread::<TickTock<2>>::new(&node);
        first.ask(1);
        node.gate.set(Horizon { toggle: true, ..node.gate.horizon() });
        let threads = clocks.map(|clock| {
            Thread::<TickTock<2>>::spawn(&node, move |thread| {
                clock.iter().for_each(|&now| thread.ask_at(1, || Tick(now)));
            })
        });
        let threads = threads.map(|thread| thread.join().unwrap());
        check(Steps::Back, [first].into_iter().chain(threads).collect());
    }
    model(3, || run([&[100, 50], &[60, 101]]));
    model(3, || run([&[50, 91], &[100, 92]]));
}

#[test]
fn two_that_seal_a_cell_find_the_same() {
    model(3, || {
        let node = Node::new::<TickTock<2>>(90);
        let mut first = Thread::<TickTock<2>>::new(&node);
        first.ask(1);
        let seal = |node: &Node| node.cell.seal::<TickTock<2>>();
        let other = {
            let node = node.clone();
            thread::spawn(move || seal(&node))
        };
        assert_eq!([seal(&node), other.join().unwrap()], [[Tick(90), Tick(0)]; 2]);
    });
}

/// Two threads take IDs of a flawed cell, while the clock advances.
fn flawed<S: IdLayout + 'static>(flaw: Flaw) {
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

/// This shows that the checks above find the flaw, and nothing else.
#[test]
fn the_flawed_cell_without_its_flaw_passes() {
    model(3, || flawed::<TickTock<2>>(Flaw::None));
    model(3, || flawed::<Plain<2>>(Flaw::None));
}
