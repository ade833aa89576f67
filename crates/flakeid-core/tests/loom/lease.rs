//! Threads on a cell whose generator ID is on lease: it is given up and taken up again, by the same
//! node or by another. The registry is a lock around who holds the ID, and the mark.

use super::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, Start};
use flakeid_core::lease::{Claim, Sent, Term};
use flakeid_core::session::{Session, Stall};
use loom::sync::Mutex;
use std::time::Duration;

/// A system whose partitions are taken in turn.
struct InTurn;
impl System for InTurn {
    const SEQUENCE_BITS: u32 = 2;
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// The mark is what the cell had last when it was written.
    Record,
    /// A successor begins where its own clock is.
    IgnoresMark,
    /// The mark is written by one who has lost the claim, too.
    Unchecked,
}

/// The moment at which a tick begins.
fn moment(tick: u64) -> UnixNanos {
    SCALE.nanos(Tick(tick))
}

/// Three ticks can be used of it.
const TERM: Term = Term(Duration::from_millis(24));

/// A claim that is asked for at this tick. The clock since boot stands still.
fn asked(now: u64) -> Sent {
    Sent { now: moment(now), boot: Duration::ZERO }
}

/// Where the gate stands that such a claim caps, and nothing else does.
fn capped(claim: Claim, now: u64) -> Horizon {
    claim.caps(Horizon::NONE.raised(moment(900)), moment(now), Duration::ZERO)
}

/// Asks once at each of these readings, until the cell is sealed.
fn take<S: System>(cell: &Cell, gate: &Gate, clocks: &[u64]) -> Vec<Block> {
    let ask = Ask {
        floor: Stamp::default(),
        later: false,
        within: Tick(u64::MAX),
        want: 1,
        generation: 0,
        ..Ask::any(1)
    };
    let mut blocks = Vec::new();
    for &now in clocks {
        loop {
            match cell.issue::<S>(ask, &rules::<S>(), gate, SCALE, &mut || Some(Tick(now))) {
                Outcome::Issued(block) => blocks.push(block),
                Outcome::SteppedBack { .. } => continue,
                Outcome::Gated(_) | Outcome::Wait { .. } => {}
                Outcome::Sealed => return blocks,
                outcome => panic!("{outcome:?}"),
            }
            break;
        }
    }
    blocks
}

/// Holds the IDs of all threads together, and gives their ticks and timelines.
fn all<S: System>(threads: impl IntoIterator<Item = Vec<Block>>) -> Vec<(u64, bool)> {
    let mut ledger = Ledger::new(Steps::Back, 0);
    for (number, blocks) in threads.into_iter().enumerate() {
        for block in blocks {
            ledger.enter::<S>(number, 0, block).expect("the checker");
        }
    }
    ledger.ids().map(|id| (id.tick, id.toggle)).collect()
}

/// A cell that began at the first floors is sealed and revived at the second while another thread
/// takes IDs of it.
fn revived<S: System + 'static>(
    begins: [u64; 2],
    goes_on: [u64; 2],
    clocks: &'static [u64],
    later: &[u64],
) -> Vec<(u64, bool)> {
    let node = Node::new::<S>(0);
    let start = |floors: [u64; 2], now: u64| Start {
        floors: floors.map(Tick),
        toggle: false,
        since: Tick(0),
        now: Some(Tick(now)),
    };
    node.cell.begin::<S>(start(begins, clocks[0]));
    let born = node.cell.word();
    let other = {
        let node = node.clone();
        thread::spawn(move || take::<S>(&node.cell, &node.gate, clocks))
    };
    let last = node.cell.seal::<S>();
    node.cell.revive::<S>(start(goes_on, later[0]));
    let same = last == begins.map(Tick) && born.stamp::<S>().tick::<S>().0 >= goes_on[0];
    let own = take::<S>(&node.cell, &node.gate, later);
    let other = other.join().unwrap();
    for block in &other {
        let (tick, timeline) = (block.stamp.tick::<S>(), usize::from(block.stamp.toggle::<S>()));
        // What was computed from the word that it began with may go out after it began there anew.
        let floor = if same { begins } else { goes_on }[timeline];
        assert!(tick <= last[timeline] || tick.0 > floor, "after the seal: {tick:?}");
    }
    all::<S>([own, other])
}

#[test]
fn a_revived_cell_repeats_nothing_and_issues_nothing_that_a_successor_may_have_had() {
    fn run<S: System + 'static>() {
        // A successor may have had all before 30.
        let ids = revived::<S>([5; 2], [30; 2], &[10, 31], &[29, 31]);
        assert!(ids.iter().all(|&(tick, _)| [10, 31].contains(&tick)), "{ids:?}");
        // Nobody has had any since.
        revived::<S>([5; 2], [5; 2], &[10, 11], &[10, 11]);
        revived::<S>([5; 2], [10; 2], &[10, 11], &[11]);
    }
    model(3, run::<Plain<2>>);
    model(2, run::<TickTock<2>>);
}

/// The thread turns, or wants to turn, when the cell is sealed.
#[test]
fn a_turn_that_races_a_seal_and_a_revival_repeats_nothing() {
    model(3, || {
        revived::<TickTock<2>>([10, 5], [30; 2], &[8, 31], &[31, 8]);
    });
    model(3, || {
        revived::<TickTock<2>>([5; 2], [10; 2], &[20, 8], &[12, 9]);
    });
    // Computed from the very word that it goes on with.
    model(3, || {
        revived::<TickTock<2>>([10, 5], [10; 2], &[8, 9], &[11, 9, 12]);
    });
}

/// Who holds the generator ID, and its mark.
type Registry = Mutex<(usize, UnixNanos)>;

/// A node takes IDs by one thread and renews its claim by another while a second node takes the claim
/// over, whose clock is as far. Gives all IDs, and those of the second.
fn handed_on<S: System + 'static>(flaw: Flaw) -> [Vec<(u64, bool)>; 2] {
    let claim = Claim::asked(asked(10), TERM);
    assert_eq!(claim.ceiling, moment(13));
    let first = Node::new::<S>(0);
    first.gate.set(capped(claim, 10));
    first.cell.begin::<S>(Start {
        floors: [Tick(9); 2],
        toggle: false,
        since: Tick(9),
        now: Some(Tick(10)),
    });
    let mark = if flaw == Flaw::Record { moment(10) } else { claim.ceiling };
    let registry: Arc<Registry> = Arc::new(Mutex::new((1, mark)));
    // It takes IDs and doesn't learn of anything but by the gate and the cell.
    let session = {
        let first = first.clone();
        thread::spawn(move || take::<S>(&first.cell, &first.gate, &[12, 14]))
    };
    let worker = {
        let (registry, first) = (registry.clone(), first.clone());
        thread::spawn(move || {
            let renewed = claim.renewed(asked(12), TERM);
            let is_held = {
                let (holder, mark) = &mut *registry.lock().unwrap();
                let is_held = *holder == 1;
                if flaw == Flaw::Unchecked {
                    *mark = renewed.ceiling;
                } else if is_held {
                    *mark = match flaw {
                        Flaw::Record => Horizon::NONE
                            .covering::<S>(SCALE, first.cell.last::<S>())
                            .of::<S>(false)
                            .max(*mark),
                        _ => renewed.ceiling.max(*mark),
                    };
                }
                is_held || flaw == Flaw::Unchecked
            };
            match is_held {
                true => first.gate.set(capped(renewed, 12)),
                false => _ = first.cell.seal::<S>(),
            }
        })
    };
    // The second node, whose clock is a little ahead.
    let claim = Claim::asked(asked(14), TERM);
    let floor = {
        let (holder, mark) = &mut *registry.lock().unwrap();
        let floor = if flaw == Flaw::IgnoresMark { moment(12) } else { *mark };
        (*holder, *mark) = (2, claim.ceiling.max(*mark));
        floor
    };
    let second = Node::new::<S>(0);
    second.gate.set(capped(claim, 14));
    second.cell.begin::<S>(Start {
        floors: Horizon::NONE.raised(floor).floors::<S>(SCALE),
        toggle: false,
        since: Tick(0),
        now: Some(Tick(12)),
    });
    let own = take::<S>(&second.cell, &second.gate, &[12, 14, 16]);
    let session = session.join().unwrap();
    worker.join().unwrap();
    let seconds = all::<S>([own.clone()]);
    [all::<S>([session, own]), seconds]
}

#[test]
fn two_nodes_that_hold_a_generator_id_one_after_the_other_make_no_id_twice() {
    fn run<S: System + 'static>() {
        let [_, seconds] = handed_on::<S>(Flaw::None);
        // The registry has 13 or 15 of the first.
        assert!(seconds.iter().all(|&(tick, _)| tick >= 14), "{seconds:?}");
        assert_eq!(seconds.last(), Some(&(16, false)));
    }
    model(5, run::<Plain<2>>);
    model(5, run::<TickTock<2>>);
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_mark_that_is_a_record_of_what_was_issued_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::Record));
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_successor_that_ignores_the_mark_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::IgnoresMark));
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_claim_renewed_by_one_who_has_lost_it_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::Unchecked));
}

/// When a change of identity announces the new generation at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    First,
    /// After the cell has been revived.
    Last,
}

/// A session that made its list for the first generation asks at these readings of its clock, by a gate that knows
/// no ceiling, while the cell is sealed and revived for the second. Gives the ticks that it got and the last that the
/// seal found.
fn outlives<S: System + 'static>(announced: Announced) -> (Vec<u64>, Tick) {
    let node = Node::new::<S>(0);
    let start = |floor: u64| Start {
        floors: [Tick(floor); 2],
        toggle: false,
        since: Tick(0),
        now: Some(Tick(10)),
    };
    node.cell.begin::<S>(start(5));
    let other = {
        let node = node.clone();
        thread::spawn(move || {
            let mut session = Session::new(0, 1);
            let mut ticks = Vec::new();
            for now in [10, 10, 31] {
                let clock = &mut || Some(Tick(now));
                match session.next::<S>(&[&node.cell], 1, &rules::<S>(), &node.gate, SCALE, clock) {
                    Ok(issued) => ticks.push(issued.block.stamp.tick::<S>().0),
                    Err(Stall::Outdated | Stall::Sealed) => break,
                    Err(stall) => assert!(matches!(stall, Stall::Wait { .. }), "{stall:?}"),
                }
            }
            ticks
        })
    };
    if announced == Announced::First {
        node.gate.announce(1);
    }
    let [last, _] = node.cell.seal::<S>();
    node.cell.revive::<S>(start(20));
    if announced == Announced::Last {
        node.gate.announce(1);
    }
    (other.join().unwrap(), last)
}

fn none_after_the_seal<S: System + 'static>(announced: Announced) {
    let (ticks, last) = outlives::<S>(announced);
    assert!(ticks.iter().all(|&tick| tick <= last.0), "outlived: {ticks:?}, {last:?}");
}

#[test]
fn a_session_gets_nothing_of_a_cell_that_was_revived_for_a_later_generation() {
    model(4, || none_after_the_seal::<Plain<2>>(Announced::First));
    model(4, || none_after_the_seal::<TickTock<2>>(Announced::First));
    model(4, || none_after_the_seal::<InTurn>(Announced::First));
}

#[test]
#[should_panic(expected = "outlived")]
fn a_generation_that_is_announced_after_the_revival_is_found() {
    model(4, || none_after_the_seal::<Plain<2>>(Announced::Last));
}
