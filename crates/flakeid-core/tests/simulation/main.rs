#![cfg(not(loom))]
//! Fleets of up to a thousand nodes, whatever happens to their clocks, their memory and their
//! machines. What runs is the shipped step, cell, session, gate and horizon; [`node`] stands for the
//! extension around them, and [`checks`] holds every ID against the promises. The fleets of [`leases`]
//! have their generator IDs from a registry, and their own test with the same settings.
//!
//! ```sh
//! FLAKEID_SIMULATION_IDS=1000000000 cargo test -p flakeid-core --release --test simulation \
//!     -- --nocapture
//! ```
//!
//! Each fleet follows from a seed of its own, counted up from `FLAKEID_SIMULATION_SEED`. A failure
//! names its fleet's: begin with that, and it is there at once.
//!
//! # What is promised
//! * No ID comes twice: not of one node, whose clock may be set to anything at any time, whose
//!   machine may stand still, and which may crash at any moment, or stop and start again; and not of
//!   two nodes whose generator IDs, or slices of the sequence, differ.
//! * What a session is given rises, whichever partition it comes from and though its node's generator
//!   IDs change; a tick-tock's falls only to a clock that is behind the session's last ID.
//! * An ID's time is not before the reading of the clock at which it was given, not after all that the
//!   node's clocks have shown, and, while the clock has not stepped back, no more than a tick ahead
//!   of that reading.
//! * Who has to wait is told for how long, and that is: for the next tick; after a crash for the lead
//!   at most; after a step back until the clock is where it was, with a tick-tock where it was in the
//!   lower of its two timelines, so not at all the first time.
//! * No step back is found where there is none.
//!
//! # What is promised of a standby
//! It has a base backup's copy of the horizon, and replays the WAL, which has a message of each move of the horizon
//! before the IDs that the move lets through, and the time of each transaction. Promoted, it begins at the greatest of
//! all of these in each lane ([`Horizon::joined`], [`Horizon::raised`]). So does a server that is recovered from a backup.
//! Then no ID comes twice that its data can know of: that the backup has, or a transaction that was replayed. This holds
//! for every course of the primary's clock: also where it was ahead for a while, made IDs, and was set right.
//!
//! Not promised: of IDs that were not replayed. They may come again, but only if the standby's clock is behind the one
//! that made them, as no ID's time is before the reading at which it was given.
//!
//! # What is promised of generator IDs on lease
//! [`leases`] has fleets whose nodes claim their generator IDs of a registry and lose them again: flake,
//! sno and uniqueid, as these have such IDs. The registry loses requests and answers or brings them
//! seconds late, isn't reached by one node or by any, and ends leases that it has just said it renewed. A
//! process stands still between its look at the gate and its swap, alone or with its node, for up to four
//! leases. Nodes join and die, and the pool may be too small. Some nodes go from leased generator IDs to numbers of
//! their own and back, to the same or to others, while statements run that began before; administrators do for that
//! what docs/fleet.md asks of them. Then:
//! * no ID comes twice, of whatever nodes held its generator ID one after the other: no two lives of nodes
//!   give IDs of one tick of it;
//! * when an ID is given whose generator ID the node has claimed, the mark in the registry is ahead of it, also if the
//!   statement began with that number as the server's own; and where no node has numbers of its own the mark is ahead of
//!   all there ever was when somebody claims;
//! * where nobody has set the clock and nothing has stood still, no ID is let through by a gate after the
//!   deadline of the claim, but for what two clocks' rates differ by (the numbers that a session took
//!   ahead were let through before);
//! * a session's IDs rise, through all changes of the list;
//! * once nothing goes wrong any more the pool is held as far as it is wanted, and every session of a node
//!   that holds some gets an ID.
//!
//! Not promised: that an ID is above what another holder of the generator ID has given by then. Who stands
//! still between look and swap and goes on when a successor has begun gives one from below the mark.
//!
//! [`Horizon::joined`]: flakeid_core::gate::Horizon::joined
//! [`Horizon::raised`]: flakeid_core::gate::Horizon::raised

mod checks;
mod clock;
mod fleet;
mod leases;
mod node;
mod promises;
mod random;
mod standby;
mod world;

use checks::Fault;
use fleet::Fleet;
use std::time::Instant;
use world::{Event, Flaw};

fn setting(name: &str, default: u64) -> u64 {
    let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{name}={text:?}"));
    std::env::var(name).map_or(default, number)
}

#[test]
fn fleets_keep_every_promise_whatever_happens() {
    let first = setting("FLAKEID_SIMULATION_SEED", 1);
    let goal = setting("FLAKEID_SIMULATION_IDS", 50_000_000);
    println!("FLAKEID_SIMULATION_SEED={first} FLAKEID_SIMULATION_IDS={goal}");
    let (started, mut ids, mut shown) = (Instant::now(), 0, 0);
    let mut seen = Event::ALL.map(|event| (event, 0));
    for seed in first.. {
        match Fleet::new(seed, Flaw::None).run() {
            Ok((given, events)) => {
                ids += given;
                seen.iter_mut().zip(events).for_each(|((_, sum), times)| *sum += times);
            }
            Err(fault) => panic!("{fault:?}; FLAKEID_SIMULATION_SEED={seed} brings it back"),
        }
        if ids / 100_000_000 > shown {
            shown = ids / 100_000_000;
            println!("{ids} IDs in {:.0?}; the next seed is {}", started.elapsed(), seed + 1);
        }
        if ids >= goal {
            println!("{ids} IDs of {} fleets in {:.1?}", seed + 1 - first, started.elapsed());
            println!("{seen:?}");
            break;
        }
    }
    if goal >= 10_000_000 {
        assert!(seen.iter().all(|&(_, times)| times > 0), "not all has happened: {seen:?}");
    }
}

/// The first fault of a fleet whose nodes have this flaw.
fn first_fault(flaw: Flaw) -> Option<Fault> {
    let found = |seed: u64| Some((seed, Fleet::new(seed, flaw).run().err()?));
    let (seed, fault) = (1..=100).find_map(found)?;
    println!("{flaw:?} was found with seed {seed}");
    Some(fault)
}

#[test]
fn a_horizon_that_was_not_durable_when_the_gate_opened_is_found() {
    assert_eq!(first_fault(Flaw::LostWrite), Some(Fault::WentBack));
}

#[test]
fn a_turn_that_was_not_durable_is_found() {
    assert_eq!(first_fault(Flaw::TurnNotDurable), Some(Fault::WentBack));
}

#[test]
fn a_clock_read_before_the_word_is_found() {
    assert_eq!(first_fault(Flaw::ClockFirst), Some(Fault::FalseStepBack));
}

#[test]
fn a_restart_that_ignores_the_horizon_is_found() {
    assert_eq!(first_fault(Flaw::NoHorizon), Some(Fault::WentBack));
}

#[test]
fn a_restart_at_the_horizon_of_the_wrong_timeline_is_found() {
    assert_eq!(first_fault(Flaw::WrongTimeline), Some(Fault::WentBack));
}

#[test]
fn a_stop_that_writes_one_timeline_is_found() {
    assert_eq!(first_fault(Flaw::OneTimeline), Some(Fault::WentBack));
}

#[test]
fn a_stop_that_leaves_the_gate_closed_and_not_exact_is_found() {
    assert_eq!(first_fault(Flaw::ClosedAtStop), Some(Fault::WentBack));
}

#[test]
fn a_standby_that_does_not_look_at_what_it_replayed_is_found() {
    assert_eq!(first_fault(Flaw::NotRaised), Some(Fault::WentBack));
}

#[test]
fn a_recovery_that_looks_at_the_latest_time_alone_is_found() {
    assert_eq!(first_fault(Flaw::LatestTime), Some(Fault::WentBack));
}

#[test]
fn a_horizon_that_is_thought_younger_than_it_is_is_found() {
    assert_eq!(first_fault(Flaw::YoungHorizon), Some(Fault::WrongWait));
}

#[test]
fn fleets_that_lease_keep_every_promise_whatever_happens() {
    let first = setting("FLAKEID_SIMULATION_SEED", 1);
    let goal = setting("FLAKEID_SIMULATION_IDS", 20_000_000);
    println!("FLAKEID_SIMULATION_SEED={first} FLAKEID_SIMULATION_IDS={goal}");
    let (started, mut ids, mut shown) = (Instant::now(), 0, 0);
    let mut seen = leases::Event::ALL.map(|event| (event, 0));
    for seed in first.. {
        match leases::Fleet::new(seed, leases::Flaw::None).run() {
            Ok((given, events)) => {
                ids += given;
                seen.iter_mut().zip(events).for_each(|((_, sum), times)| *sum += times);
            }
            Err(fault) => panic!("{fault:?}; FLAKEID_SIMULATION_SEED={seed} brings it back"),
        }
        if ids / 100_000_000 > shown {
            shown = ids / 100_000_000;
            println!("{ids} IDs in {:.0?}; the next seed is {}", started.elapsed(), seed + 1);
        }
        if ids >= goal {
            println!("{ids} IDs of {} fleets in {:.1?}", seed + 1 - first, started.elapsed());
            println!("{seen:?}");
            break;
        }
    }
    if goal >= 20_000_000 {
        assert!(seen.iter().all(|&(_, times)| times > 0), "not all has happened: {seen:?}");
    }
}

/// The first fault of a fleet that leases and whose nodes have this flaw.
fn first_fault_on_lease(flaw: leases::Flaw) -> Option<Fault> {
    let found = |seed: u64| Some((seed, leases::Fleet::new(seed, flaw).run().err()?));
    let (seed, fault) = (1..=1000).find_map(found)?;
    println!("{flaw:?} was found with seed {seed}");
    Some(fault)
}

#[test]
fn a_mark_that_is_only_a_record_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::Record), Some(Fault::Shared));
}

#[test]
fn a_successor_that_ignores_the_mark_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::IgnoresMark), Some(Fault::Shared));
}

#[test]
fn a_claim_with_a_mark_that_has_changed_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::OldMark), Some(Fault::Uncovered));
}

#[test]
fn a_mark_written_by_one_who_has_lost_the_claim_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::Unchecked), Some(Fault::Shared));
}

#[test]
fn a_gate_that_the_claim_does_not_cap_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::Uncapped), Some(Fault::Shared));
}

#[test]
fn a_release_that_does_not_seal_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::NotSealed), Some(Fault::Uncovered));
}

#[test]
fn a_release_that_comes_late_and_is_not_checked_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::LateRelease), Some(Fault::Uncovered));
}

#[test]
fn a_renewal_that_comes_late_and_is_not_checked_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::LateRenewal), Some(Fault::Uncovered));
}

#[test]
fn a_registry_that_is_founded_without_a_grace_period_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::NoGrace), Some(Fault::Shared));
}

#[test]
fn a_claim_in_the_grace_period_after_the_deadline_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::LateReclaim), Some(Fault::Shared));
}

#[test]
fn a_statement_that_does_not_learn_of_another_identity_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::NoGeneration), Some(Fault::Uncovered));
}

#[test]
fn a_statement_that_takes_its_numbers_while_they_are_leased_is_found() {
    assert_eq!(first_fault_on_lease(leases::Flaw::TakesLeased), Some(Fault::Shared));
}
