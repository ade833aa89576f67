//! Fleets that lease keep every promise, and each flaw is found.

use super::{Event, Flaw, Fleet};
use crate::checks::Fault;
use crate::setting;
use std::time::Instant;

#[test]
fn fleets_that_lease_keep_every_promise_whatever_happens() {
    let first = setting("FLAKEID_SIMULATION_SEED", 1);
    let goal = setting("FLAKEID_SIMULATION_IDS", 20_000_000);
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
    if goal >= 20_000_000 {
        assert!(seen.iter().all(|&(_, times)| times > 0), "not all has happened: {seen:?}");
    }
}

/// Returns the first fault of a fleet that leases and whose servers have this flaw.
fn first_fault_on_lease(flaw: Flaw) -> Option<Fault> {
    first_fault_on_lease_from(1, flaw)
}

/// Does so from a seed on, for flaws that earlier seeds do not show.
fn first_fault_on_lease_from(first: u64, flaw: Flaw) -> Option<Fault> {
    let found = |seed: u64| Some((seed, Fleet::new(seed, flaw).run().err()?));
    let (seed, fault) = (first..first + 1000).find_map(found)?;
    println!("{flaw:?} was found with seed {seed}");
    Some(fault)
}

#[test]
fn a_high_water_mark_that_is_only_a_record_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::Record), Some(Fault::Shared));
}

#[test]
fn a_successor_that_ignores_the_high_water_mark_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::IgnoresHighWaterMark), Some(Fault::Shared));
}

#[test]
fn a_claim_with_a_changed_high_water_mark_is_found() {
    assert_eq!(first_fault_on_lease_from(120, Flaw::StaleHighWaterMark), Some(Fault::Uncovered));
}

#[test]
fn a_high_water_mark_written_after_the_loss_of_the_claim_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::Unchecked), Some(Fault::Shared));
}

#[test]
fn a_gate_that_the_claim_does_not_cap_is_found() {
    assert_eq!(first_fault_on_lease_from(105, Flaw::Uncapped), Some(Fault::Shared));
}

#[test]
fn a_release_that_does_not_seal_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::NotSealed), Some(Fault::Uncovered));
}

#[test]
fn a_release_that_comes_late_and_is_not_checked_is_found() {
    let fault = first_fault_on_lease(Flaw::LateRelease);
    assert_eq!(fault, Some(Fault::Uncovered));
}

#[test]
fn a_renewal_that_comes_late_and_is_not_checked_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::LateRenewal), Some(Fault::Uncovered));
}

#[test]
fn a_registry_that_is_founded_without_a_grace_period_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::NoGrace), Some(Fault::Shared));
}

#[test]
fn a_claim_in_the_grace_period_after_the_deadline_is_found() {
    assert_eq!(first_fault_on_lease_from(12, Flaw::LateReclaim), Some(Fault::Shared));
}

#[test]
fn a_statement_that_does_not_learn_of_another_identity_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::NoGeneration), Some(Fault::Uncovered));
}

#[test]
fn a_statement_that_takes_its_numbers_while_they_are_leased_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::TakesLeased), Some(Fault::Shared));
}

#[test]
fn a_server_that_believes_one_endpoint_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::MisledEndpoint), Some(Fault::Uncovered));
}

#[test]
fn a_claim_before_the_memory_is_durable_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::ClaimsBeforeRemembering), Some(Fault::Uncovered));
}

#[test]
fn a_grace_period_that_is_shorter_than_the_leases_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::ShortGrace), Some(Fault::Shared));
}

#[test]
fn a_copy_of_the_registry_that_is_taken_for_it_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::AcceptsCopy), Some(Fault::HeldTwice));
}

#[test]
fn a_renewal_that_was_answered_in_two_terms_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::IgnoresTerm), Some(Fault::HeldTwice));
}

#[test]
fn a_claim_by_a_listing_that_etcd_has_forgotten_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::ClaimsByOldListing), Some(Fault::Shared));
}

#[test]
fn an_older_registry_that_is_not_noticed_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::IgnoresRevision), Some(Fault::Shared));
}

#[test]
fn a_retired_registry_that_is_not_remembered_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::IgnoresRetired), Some(Fault::Shared));
}

#[test]
fn a_claim_that_stays_without_a_holder_is_found() {
    assert_eq!(first_fault_on_lease(Flaw::OrphansStay), Some(Fault::NotServed));
}
