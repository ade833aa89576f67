//! The memory that a server has of the registry that it leases from.

use crate::given::*;
use flakeid_core::registry::listing::Listing;
use flakeid_core::registry::memory::{Memory, Seen};
use flakeid_core::registry::refusal::Refusal;

fn after(last: Option<&Memory>, listing: &Listing, endpoints: &[&str]) -> Memory {
    let endpoints = names(endpoints);
    Memory::after(last, listing, NAMESPACE, &endpoints, Seen::default()).unwrap()
}

#[test]
fn a_first_lease_remembers_all_that_the_listing_shows() {
    let listing = shows(E1, C, &[X, Y]).address(A, 8).retired(&format!("{B}#{Z:016x}@7"));
    let remembered =
        memory(C, X, &[E1]).followed(&[Y]).address_revision(8).retired(&named(B, Z), 7);
    assert_eq!(after(None, &listing, &[E1]), remembered);
}

#[test]
fn a_registry_without_an_id_is_remembered_without_one() {
    let remembered = Memory { id: None, ..memory(C, X, &[E1]) };
    assert_eq!(after(None, &nameless(E1, C), &[E1]), remembered);
    assert_eq!(remembered.name(), A);
}

#[test]
fn an_id_that_cannot_be_read_is_not_remembered() {
    let listing = shows(E1, C, &[X]).id("none");
    let result = Memory::after(None, &listing, NAMESPACE, &[], Seen::default());
    assert_eq!(result, Err(Refusal::InvalidId("none".into())));
    let missing = memory(C, X, &[E1]).missing_retired(&listing, NAMESPACE);
    assert_eq!(missing, Err(Refusal::InvalidId("none".into())));
}

#[test]
fn endpoints_that_answered_stay_while_they_are_in_the_settings() {
    let listing = shows(E2, C, &[X]);
    let last = memory(C, X, &[E1, E3]);
    assert_eq!(after(Some(&last), &listing, &[E1, E2, E3]).endpoints, [E2, E1, E3]);
    assert_eq!(after(Some(&last), &listing, &[E2, E3]).endpoints, [E2, E3]);
    let answered = memory(C, X, &[E1, E2]);
    assert_eq!(after(Some(&answered), &listing, &[E1, E2]).endpoints, [E1, E2]);
}

#[test]
fn endpoints_of_another_registry_go() {
    let last = memory(C, X, &[E1]);
    let both = [E1, E2];
    assert_eq!(after(Some(&last), &shows(E2, C, &[Y]), &both).endpoints, [E2]);
    assert_eq!(after(Some(&last), &shows(E2, D, &[X]), &both).endpoints, [E2]);
}

#[test]
fn what_the_registry_followed_is_added_to_what_the_server_remembers() {
    let last = memory(C, X, &[E1]).followed(&[W]);
    assert_eq!(after(Some(&last), &shows(E1, C, &[X, Y]), &[E1]).followed, [Y, W]);
    assert_eq!(after(Some(&last), &shows(E1, C, &[N, X, Y]), &[E1]).followed, [X, Y, W]);
    assert_eq!(after(Some(&last), &shows(E1, C, &[W, Y]), &[E1]).followed, [X, Y]);
    assert_eq!(after(Some(&last), &shows(E1, C, &[Z, Y]), &[E1]).followed, [Y]);
    assert_eq!(after(Some(&last), &shows(E1, D, &[N, X, Y]), &[E1]).followed, [X, Y]);
    let old = Memory { id: None, ..last };
    assert_eq!(after(Some(&old), &shows(E1, C, &[Y, Z]), &[E1]).followed, [Z]);
}

#[test]
fn a_server_remembers_32_followed_registries_and_no_more() {
    let many: Vec<u64> = (1..=32).collect();
    let last = memory(C, X, &[E1]).followed(&many);
    let followed = after(Some(&last), &shows(E1, C, &[N, X]), &[E1]).followed;
    assert_eq!((followed.len(), followed[0], followed[1]), (32, X, 1));
}

#[test]
fn retired_registries_are_remembered_from_both_sides_but_not_the_present_one() {
    let last = memory(C, X, &[E1]).retired(&named(B, Y), 3).retired(&named(B, Z), 4);
    let listing = shows(E1, C, &[X]).retired(&format!("{B}#{W:016x}@2,{B}#{Y:016x}@9"));
    let all = [retired(&named(B, W), 2), retired(&named(B, Y), 9), retired(&named(B, Z), 4)];
    assert_eq!(after(Some(&last), &listing, &[E1]).retired, all);
    let back = shows(E1, D, &[Z]);
    let left = [retired(&named(B, Y), 3), retired(&named(A, X), 5)];
    assert_eq!(after(Some(&last), &back, &[E1]).retired, left);
}

#[test]
fn a_registry_in_the_same_etcd_that_was_not_lost_is_retired() {
    let last = memory(C, X, &[E1]);
    let left = [retired(&named(A, X), 5)];
    assert_eq!(after(Some(&last), &shows(E1, C, &[Y]), &[E1]).retired, left);
    assert_eq!(after(Some(&last), &shows(E1, D, &[Y, X]), &[E1]).retired, left);
    assert_eq!(after(Some(&last), &shows(E1, D, &[X]), &[E1]).retired, left);
    assert_eq!(after(Some(&last), &shows(E1, C, &[Y, X]), &[E1]).retired, []);
    let earlier = memory(C, X, &[E1]).followed(&[Y]);
    assert_eq!(after(Some(&earlier), &shows(E1, C, &[Y]), &[E1]).retired, []);
    assert_eq!(after(Some(&last), &nameless(E1, D), &[E1]).retired, []);
    let old = Memory { id: None, ..last };
    assert_eq!(after(Some(&old), &shows(E1, D, &[Y]), &[E1]).retired, []);
}

#[test]
fn the_registry_names_all_that_the_server_remembers_as_retired_but_itself() {
    let last = memory(C, X, &[E1]).retired(&named(B, Y), 3).retired(&named(A, X), 4);
    let missing = |value: &str| last.missing_retired(&shows(E1, C, &[X]).retired(value), NAMESPACE);
    let y = format!("{B}#{Y:016x}");
    assert_eq!(missing(""), Ok(Some(vec![retired(&y, 3)])));
    assert_eq!(missing(&format!("{y}@2")), Ok(Some(vec![retired(&y, 3)])));
    assert_eq!(missing(&format!("{y}@3")), Ok(None));
    assert_eq!(missing(&format!("{y}@4")), Ok(None));
    assert_eq!(missing("z@1"), Ok(Some(vec![retired("z", 1), retired(&y, 3)])));
    let without = memory(C, X, &[E1]).missing_retired(&shows(E1, C, &[X]), NAMESPACE);
    assert_eq!(without, Ok(None));
}

#[test]
fn a_chain_is_the_id_and_then_those_that_it_followed() {
    let chain = |memory: &Memory| memory.chain().collect::<Vec<_>>();
    let remembered = memory(C, X, &[E1]).followed(&[Y, Z]);
    assert_eq!(chain(&remembered), [X, Y, Z]);
    assert_eq!(chain(&Memory { id: None, ..remembered }), [Y, Z]);
}
