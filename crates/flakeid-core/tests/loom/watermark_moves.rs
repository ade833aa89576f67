//! A server gets another identity, by a lease or by a setting, while a transaction is between its
//! first ID and its end and a reader scans its slot. The session that has entered is told that its
//! generator IDs are outdated. It continues with the new ones in the same transaction, so it must
//! keep its bound.

use super::watermark::{ALL, Flaw, Server, check};
use super::*;
use flakeid_core::gate::CellInit;
use flakeid_core::gate::Limits;
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Session, Stall};
use loom::sync::Mutex;

/// The generator ID that the server gets when its identity changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The server gets it again, so its cell is revived.
    SameGeneratorId,
    /// The server gets another one, whose cell has issued nothing since tick 5.
    OtherGeneratorId,
}

/// Generates up to two IDs in transaction 1 and ends it. Returns the times of the IDs. The lock
/// says which of the cells the server uses.
fn run_transaction<S: IdLayout>(
    server: &Server<1>,
    cells: &[Cell; 2],
    gate: &Gate,
    in_use: &Mutex<usize>,
) -> Vec<(u64, u64)> {
    let bound = server.slots[0].enter(ALL, &server.floor, || server.now());
    let cells: Vec<_> = IssuingCell::numbered(cells).collect();
    let mut held = cells[0];
    let mut session = Session::new(0, 1);
    session.issue_from::<S>(&[held], SCALE.tick(bound).unwrap());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let clock = &mut || SCALE.tick(server.now());
        loop {
            match session.next::<S>(&[held], 1, Limits::new(&rules::<S>(), gate, SCALE), clock) {
                Ok(issued) => ids.push((1, moment(issued.block.stamp.tick::<S>().0).0)),
                // A session that waits for longer than the model runs generates no ID.
                Err(Stall::Wait { .. }) => {}
                Err(Stall::SteppedBack { .. }) => continue,
                Err(Stall::Outdated) => {
                    session.discard_prefetched(&[held]);
                    held = cells[*in_use.lock().unwrap()];
                    session = match server.flaw {
                        Flaw::ForgottenBound => Session::new(0, 1),
                        _ => session.moved(0, 1),
                    };
                    session = session.of_generation(1);
                    continue;
                }
                Err(stall) => panic!("{stall:?}"),
            }
            break;
        }
    }
    server.ended.fetch_or(1 << 1, Ordering::AcqRel);
    server.slots[0].leave(Some(1));
    ids
}

/// Runs the transaction beside a reader, while the identity changes and the clock steps back from
/// tick 12 to 8.
fn change<S: IdLayout + 'static>(flaw: Flaw, change: Change) {
    let server = Server::<1>::new(flaw, moment(12).0);
    let shared =
        Arc::new(([(); 2].map(|()| Cell::after::<S>(Tick(5))), Gate::open(), Mutex::new(0)));
    let writer = {
        let shared = shared.clone();
        Server::spawn(&server, move |server| {
            let (cells, gate, in_use) = &*shared;
            run_transaction::<S>(server, cells, gate, in_use)
        })
    };
    let reader = Server::spawn(&server, Server::read);
    let (cells, gate, in_use) = &*shared;
    {
        let mut in_use = in_use.lock().unwrap();
        gate.announce(1);
        cells[0].seal::<S>();
        match change {
            Change::SameGeneratorId => cells[0].revive::<S>(CellInit {
                floors: [Tick(5); 2],
                toggle: false,
                last_clock_reading: Tick(5),
                now: None,
            }),
            Change::OtherGeneratorId => *in_use = 1,
        }
    }
    server.clock.store(moment(8).0, Ordering::Relaxed);
    check(&[reader.join().unwrap()], &writer.join().unwrap());
}

#[test]
fn a_session_keeps_its_bound_when_the_server_gets_the_same_generator_id_again() {
    model(2, || change::<Plain<2>>(Flaw::None, Change::SameGeneratorId));
    model(2, || change::<TickTock<2>>(Flaw::None, Change::SameGeneratorId));
}

#[test]
fn a_session_keeps_its_bound_when_the_server_gets_another_generator_id() {
    model(2, || change::<Plain<2>>(Flaw::None, Change::OtherGeneratorId));
    model(2, || change::<TickTock<2>>(Flaw::None, Change::OtherGeneratorId));
}

#[test]
#[should_panic(expected = "missed")]
fn a_bound_that_is_forgotten_with_the_same_generator_id_is_found() {
    model(2, || change::<TickTock<2>>(Flaw::ForgottenBound, Change::SameGeneratorId));
}

#[test]
#[should_panic(expected = "missed")]
fn a_bound_that_is_forgotten_with_another_generator_id_is_found() {
    model(2, || change::<Plain<2>>(Flaw::ForgottenBound, Change::OtherGeneratorId));
}
