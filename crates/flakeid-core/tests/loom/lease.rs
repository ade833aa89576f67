//! Models of threads on a cell whose generator ID is leased: it is released and claimed again, by
//! the same server or by another. The registry is a lock around the holder of the ID and the
//! high-water mark.

use super::*;
use flakeid_core::gate::{CellInit, Horizon, Limits};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime};
use flakeid_core::session::{Session, Stall};
use loom::sync::Mutex;
use std::time::Duration;

/// An ID type whose generator IDs are taken in turn.
struct InTurn;
impl IdLayout for InTurn {
    const SEQUENCE_BITS: u32 = 2;
    const TICK_TOCK: bool = false;
    const SEQUENCE_FIRST: bool = true;
}

/// The flaw of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// The high-water mark is the last tick of the cell when it is written.
    Record,
    /// A successor begins at its own clock.
    IgnoresHighWaterMark,
    /// A server that has lost the claim writes the high-water mark, too.
    Unchecked,
}

/// The lease duration, of which three ticks can be used.
const TERM: LeaseDuration = LeaseDuration(Duration::from_millis(24));

/// Returns the times of a request at this tick. The clock since boot stands still.
fn request_at(now: u64) -> RequestTime {
    RequestTime { now: moment(now), boot: Duration::ZERO }
}

/// Returns where a gate stands that only this claim caps.
fn capped(claim: LeaseLimits, now: u64) -> Horizon {
    claim.caps(Horizon::NONE.raised(moment(900)), moment(now), Duration::ZERO)
}

/// Takes an ID once at each of these readings, until the cell is sealed.
fn take<S: IdLayout>(cell: &Cell, gate: &Gate, clocks: &[u64]) -> Vec<Block> {
    let ask = IssueRequest {
        floor: Stamp::default(),
        later: false,
        within: Tick(u64::MAX),
        want: 1,
        generation: 0,
        ..IssueRequest::any(1)
    };
    let mut blocks = Vec::new();
    for &now in clocks {
        loop {
            match cell
                .issue::<S>(ask, Limits::new(&rules::<S>(), gate, SCALE), &mut || Some(Tick(now)))
            {
                Ok(Some(block)) => blocks.push(block),
                Err(Stall::SteppedBack { .. }) => continue,
                Err(Stall::Gated(_) | Stall::Wait { .. }) => {}
                Err(Stall::Sealed) => return blocks,
                outcome => panic!("{outcome:?}"),
            }
            break;
        }
    }
    blocks
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

/// Seals a cell that began at the first floors, and revives it at the second, while another thread
/// takes IDs of it.
fn revived<S: IdLayout + 'static>(
    begins: [u64; 2],
    goes_on: [u64; 2],
    clocks: &'static [u64],
    later: &[u64],
) -> Vec<(u64, bool)> {
    let node = Node::new::<S>(0);
    let start = |floors: [u64; 2], now: u64| CellInit {
        floors: floors.map(Tick),
        toggle: false,
        last_clock_reading: Tick(0),
        now: Some(Tick(now)),
    };
    node.cell.begin::<S>(start(begins, clocks[0]));
    let initial_word = node.cell.word();
    let other = {
        let node = node.clone();
        thread::spawn(move || take::<S>(&node.cell, &node.gate, clocks))
    };
    let last = node.cell.seal::<S>();
    node.cell.revive::<S>(start(goes_on, later[0]));
    let same = last == begins.map(Tick) && initial_word.stamp::<S>().tick::<S>().0 >= goes_on[0];
    let own = take::<S>(&node.cell, &node.gate, later);
    let other = other.join().unwrap();
    for block in &other {
        let (tick, timeline) = (block.stamp.tick::<S>(), usize::from(block.stamp.toggle::<S>()));
        // A swap from the word with which the cell began may succeed after it began there again.
        let floor = if same { begins } else { goes_on }[timeline];
        assert!(tick <= last[timeline] || tick.0 > floor, "after the seal: {tick:?}");
    }
    all::<S>([own, other])
}

#[test]
fn a_revived_cell_repeats_nothing_and_issues_nothing_that_a_successor_may_have_had() {
    fn run<S: IdLayout + 'static>() {
        // A successor may have had all ticks before 30.
        let ids = revived::<S>([5; 2], [30; 2], &[10, 31], &[29, 31]);
        assert!(ids.iter().all(|&(tick, _)| [10, 31].contains(&tick)), "{ids:?}");
        // No other server has had any tick since.
        revived::<S>([5; 2], [5; 2], &[10, 11], &[10, 11]);
        revived::<S>([5; 2], [10; 2], &[10, 11], &[11]);
    }
    model(3, run::<Plain<2>>);
    model(2, run::<TickTock<2>>);
}

/// The thread changes its timeline, or wants to, when the cell is sealed.
#[test]
fn a_change_of_timeline_that_races_a_seal_and_a_revival_repeats_nothing() {
    model(3, || {
        revived::<TickTock<2>>([10, 5], [30; 2], &[8, 31], &[31, 8]);
    });
    model(3, || {
        revived::<TickTock<2>>([5; 2], [10; 2], &[20, 8], &[12, 9]);
    });
    // The other thread computes from the very word with which the cell continues.
    model(3, || {
        revived::<TickTock<2>>([10, 5], [10; 2], &[8, 9], &[11, 9, 12]);
    });
}

/// The holder of the generator ID, and its high-water mark.
type Registry = Mutex<(usize, UnixNanos)>;

/// Lets a server take IDs by one thread and renew its claim by another. During that a second server
/// with the same clock takes the claim over. Returns all IDs, and those of the second server.
fn handed_on<S: IdLayout + 'static>(flaw: Flaw) -> [Vec<(u64, bool)>; 2] {
    let claim = LeaseLimits::from_grant(request_at(10), TERM);
    assert_eq!(claim.ceiling, moment(13));
    let first = Node::new::<S>(0);
    first.gate.set(capped(claim, 10));
    first.cell.begin::<S>(CellInit {
        floors: [Tick(9); 2],
        toggle: false,
        last_clock_reading: Tick(9),
        now: Some(Tick(10)),
    });
    let high_water_mark = if flaw == Flaw::Record { moment(10) } else { claim.ceiling };
    let registry: Arc<Registry> = Arc::new(Mutex::new((1, high_water_mark)));
    // This thread takes IDs, and learns of changes only by the gate and the cell.
    let session = {
        let first = first.clone();
        thread::spawn(move || take::<S>(&first.cell, &first.gate, &[12, 14]))
    };
    let worker = {
        let (registry, first) = (registry.clone(), first.clone());
        thread::spawn(move || {
            let renewed = claim.renewed(request_at(12), TERM);
            let is_held = {
                let (holder, high_water_mark) = &mut *registry.lock().unwrap();
                let is_held = *holder == 1;
                if flaw == Flaw::Unchecked {
                    *high_water_mark = renewed.ceiling;
                } else if is_held {
                    *high_water_mark = match flaw {
                        Flaw::Record => Horizon::NONE
                            .covering::<S>(SCALE, first.cell.last::<S>())
                            .of::<S>(false)
                            .max(*high_water_mark),
                        _ => renewed.ceiling.max(*high_water_mark),
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
    // The clock of the second server is a little ahead.
    let claim = LeaseLimits::from_grant(request_at(14), TERM);
    let floor = {
        let (holder, high_water_mark) = &mut *registry.lock().unwrap();
        let floor = if flaw == Flaw::IgnoresHighWaterMark { moment(12) } else { *high_water_mark };
        (*holder, *high_water_mark) = (2, claim.ceiling.max(*high_water_mark));
        floor
    };
    let second = Node::new::<S>(0);
    second.gate.set(capped(claim, 14));
    second.cell.begin::<S>(CellInit {
        floors: Horizon::NONE.raised(floor).floors::<S>(SCALE),
        toggle: false,
        last_clock_reading: Tick(0),
        now: Some(Tick(12)),
    });
    let own = take::<S>(&second.cell, &second.gate, &[12, 14, 16]);
    let session = session.join().unwrap();
    worker.join().unwrap();
    let seconds = all::<S>([own.clone()]);
    [all::<S>([session, own]), seconds]
}

#[test]
fn two_servers_that_hold_a_generator_id_one_after_the_other_repeat_no_id() {
    fn run<S: IdLayout + 'static>() {
        let [_, seconds] = handed_on::<S>(Flaw::None);
        // The registry has 13 or 15 from the first server.
        assert!(seconds.iter().all(|&(tick, _)| tick >= 14), "{seconds:?}");
        assert_eq!(seconds.last(), Some(&(16, false)));
    }
    model(5, run::<Plain<2>>);
    model(5, run::<TickTock<2>>);
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_high_water_mark_that_only_records_issued_ids_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::Record));
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_successor_that_ignores_the_high_water_mark_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::IgnoresHighWaterMark));
}

#[test]
#[should_panic(expected = "the checker: Repeated")]
fn a_claim_renewed_after_its_loss_is_found() {
    model(3, || _ = handed_on::<Plain<2>>(Flaw::Unchecked));
}

/// The time when a change of identity announces the new generation at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    First,
    /// The gate announces it after the cell has been revived.
    Last,
}

/// Lets a session of the first generation take IDs at these readings of its clock, by a gate that
/// knows no ceiling. The cell is sealed and revived for the second generation during that time.
/// Returns the ticks that the session got, and the last tick that the seal found.
fn outlives<S: IdLayout + 'static>(announced: Announced) -> (Vec<u64>, Tick) {
    let node = Node::new::<S>(0);
    let start = |floor: u64| CellInit {
        floors: [Tick(floor); 2],
        toggle: false,
        last_clock_reading: Tick(0),
        now: Some(Tick(10)),
    };
    node.cell.begin::<S>(start(5));
    let other = {
        let node = node.clone();
        thread::spawn(move || {
            let mut session = Session::new(0, 1);
            let cells: Vec<_> = IssuingCell::numbered([&node.cell]).collect();
            let mut ticks = Vec::new();
            for now in [10, 10, 31] {
                let clock = &mut || Some(Tick(now));
                let rules = rules::<S>();
                let limits = Limits::new(&rules, &node.gate, SCALE);
                match session.next::<S>(&cells, 1, limits, clock) {
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

fn none_after_the_seal<S: IdLayout + 'static>(announced: Announced) {
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
