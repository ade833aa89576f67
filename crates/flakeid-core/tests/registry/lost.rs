//! A server remembers a registry, and finds at its endpoint that the data are lost, or older.

use crate::first::create_address;
use crate::given::*;
use flakeid_core::registry::listing::Versioned;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::trust::{GraceReason, Preparation, Verdict};

fn found(ids: &[u64]) -> Verdict {
    first([Preparation::Found(identity(ids))])
}

fn identify(ids: &[u64]) -> Verdict {
    first([Preparation::Identify(identity(ids))])
}

#[test]
fn the_remembered_registry_is_leased_from() {
    let known = server(memory(C, X, &[E1]));
    assert_eq!(known.finds(shows(E1, C, &[X])), lease(0));
    assert_eq!(known.finds(shows(E1, C, &[X]).in_grace()), lease(0));
}

#[test]
fn a_lost_registry_is_founded_again_and_follows_all_that_were_lost() {
    assert_eq!(server(memory(C, X, &[E1])).finds(empty(E1, C)), found(&[N, X]));
    let several = memory(C, X, &[E1]).followed(&[W, Z]);
    assert_eq!(server(several).finds(empty(E1, C)), found(&[N, X, W, Z]));
}

#[test]
fn an_endpoint_that_never_showed_the_registry_proves_no_loss() {
    let led_away = server(memory(C, X, &[E1])).endpoints(&[E2]);
    let x = named(A, X);
    assert_eq!(led_away.finds(empty(E2, C)), other_registry(&x, A));
    assert_eq!(led_away.finds(empty(E2, C).address(A, 5)), other_registry(&x, A));
    assert_eq!(led_away.finds(nameless(E2, C)), other_registry(&x, A));
    assert_eq!(led_away.finds(shows(E2, C, &[Y])), other_registry(&x, &named(A, Y)));
}

#[test]
fn a_registry_that_follows_the_remembered_one_is_used_at_any_endpoint() {
    let last = memory(C, X, &[E1]);
    let followed = memory(C, N, &[E1]).followed(&[X]);
    let switched = first([follow(followed)]);
    assert_eq!(server(last.clone()).finds(shows(E1, C, &[N, X])), switched);
    assert_eq!(server(last.clone()).finds(shows(E1, C, &[N, X]).in_grace()), switched);
    let elsewhere = server(last.clone()).endpoints(&[E2]);
    let followed = memory(C, N, &[E2]).followed(&[X]);
    assert_eq!(elsewhere.finds(shows(E2, C, &[N, X])), first([follow(followed)]));
}

#[test]
fn a_standby_follows_over_several_losses() {
    let last = memory(C, X, &[E3]);
    let followed = memory(C, Z, &[E1]).followed(&[Y, X]);
    let switched = first([follow(followed)]);
    assert_eq!(server(last).finds(shows(E1, C, &[Z, Y, X])), switched);
}

#[test]
fn a_registry_that_another_server_founded_gets_the_lost_names_in_its_grace_period() {
    let last = memory(C, X, &[E1]).followed(&[Y]);
    let successor = shows(E1, C, &[N]);
    assert_eq!(server(last.clone()).finds(successor.clone().in_grace()), identify(&[N, X, Y]));
    let followed = shows(E1, C, &[N, W]).in_grace();
    assert_eq!(server(last.clone()).finds(followed), identify(&[N, X, W, Y]));
    let refused = other_registry(&named(A, X), &named(A, N));
    assert_eq!(server(last.clone()).finds(successor), refused);
    let elsewhere = server(last).endpoints(&[E2]);
    assert_eq!(elsewhere.finds(shows(E2, C, &[N]).in_grace()), refused);
}

#[test]
fn earlier_data_begin_a_grace_period_and_the_later_registry_counts_as_followed() {
    let last = memory(C, Y, &[E1]).followed(&[X]);
    let back = memory(C, X, &[E1]).followed(&[Y]);
    let switched = switch(back, &last);
    let with_grace = first([grace(GraceReason::EarlierId), switched.clone()]);
    assert_eq!(server(last.clone()).finds(shows(E1, C, &[X])), with_grace);
    assert_eq!(server(last).finds(shows(E1, C, &[X]).in_grace()), first([switched]));
}

#[test]
fn later_data_that_come_back_are_earlier_ones_again() {
    let last = memory(C, X, &[E1]).followed(&[Y]);
    let back = memory(C, Y, &[E1]).followed(&[X]);
    let with_grace = first([grace(GraceReason::EarlierId), switch(back, &last)]);
    assert_eq!(server(last).finds(shows(E1, C, &[Y, X])), with_grace);
}

#[test]
fn earlier_data_count_only_where_the_registry_answered_or_if_they_name_it() {
    let last = memory(C, Y, &[E1]).followed(&[X]);
    let elsewhere = server(last.clone()).endpoints(&[E2]);
    let refused = other_registry(&named(A, Y), &named(A, X));
    assert_eq!(elsewhere.finds(shows(E2, C, &[X])), refused);
    let back = memory(C, X, &[E2]).followed(&[Y]);
    let with_grace = first([grace(GraceReason::EarlierId), switch(back, &last)]);
    assert_eq!(elsewhere.finds(shows(E2, C, &[X, Y])), with_grace);
}

#[test]
fn a_deleted_id_begins_a_grace_period_and_then_the_registry_gets_a_new_one() {
    let known = server(memory(C, X, &[E1]).followed(&[Y]));
    let nameless = nameless(E1, C);
    assert_eq!(known.finds(nameless.clone()), first([grace(GraceReason::NoId)]));
    assert_eq!(known.finds(nameless.in_grace()), identify(&[N, X, Y]));
}

#[test]
fn a_server_with_a_memory_does_not_take_a_registry_without_an_address_for_one_of_0_6_0() {
    let known = server(memory(C, X, &[E1]).address_revision(0));
    let old = nameless(E1, C).no_address();
    assert_eq!(known.finds(old.clone()), first([grace(GraceReason::NoId)]));
    assert_eq!(known.finds(old.clone().in_grace()), identify(&[N, X]));
    let identified = old.id(&identity(&[X]).to_string());
    let with_grace = first([grace(GraceReason::NoAddress), create_address()]);
    assert_eq!(known.finds(identified), with_grace);
}

#[test]
fn a_registry_that_has_its_id_alone_is_founded_again() {
    let last = memory(C, X, &[E1]);
    let left_over = empty(E1, C).id(&identity(&[X]).to_string());
    assert_eq!(server(last).finds(left_over), found(&[N, X]));
}

#[test]
fn a_memory_of_0_6_1_is_of_the_registry_at_its_address() {
    let old = flakeid_core::registry::memory::Memory {
        id: None,
        address_revision: 0,
        ..memory(C, X, &[])
    };
    let noted = memory(C, X, &[E1]);
    assert_eq!(server(old.clone()).finds(shows(E1, C, &[X])), lease_and_note(0, noted));
    assert_eq!(server(old.clone()).finds(nameless(E1, C)), identify(&[N]));
    assert_eq!(server(old.clone()).finds(empty(E1, C)), found(&[N]));
    assert_eq!(server(old).finds(shows(E1, D, &[X])), other_registry(A, &named(B, X)));
}

#[test]
fn a_registry_in_another_namespace_is_another_one() {
    let mut moved = server(memory(C, X, &[E1]));
    moved.namespace = "orders/";
    let refused = |name: &str| other_registry(&named(A, X), name);
    let listing = shows(E1, C, &[Y]).address("c/orders/", 5);
    assert_eq!(moved.finds(listing), refused(&named("c/orders/", Y)));
    assert_eq!(moved.finds(empty(E1, C)), refused("c/orders/"));
}

#[test]
fn the_remembered_id_in_another_etcd_is_another_registry() {
    let refused = other_registry(&named(A, X), &named(B, X));
    assert_eq!(server(memory(C, X, &[E1])).finds(shows(E1, D, &[X])), refused);
}

#[test]
fn a_copy_is_refused_by_a_server_with_a_memory() {
    let refused =
        |stated: &str| Verdict::Refuse(Refusal::Copy { stated: stated.into(), address: B.into() });
    let known = server(memory(C, X, &[E1]));
    for stated in [A, "c/flakeid/,d/flakeid/", "", "d/flakeid/x", "d/flakeid"] {
        assert_eq!(known.finds(shows(E1, D, &[X]).address(stated, 5)), refused(stated));
    }
}

#[test]
fn an_address_may_have_a_newline_or_the_id_after_it() {
    let known = server(memory(C, X, &[E1]));
    for stated in ["c/flakeid/\n", "c/flakeid/#a1", "c/flakeid/#a1\n", "c/flakeid/,"] {
        assert_eq!(known.finds(shows(E1, C, &[X]).address(stated, 5)), lease(0), "{stated}");
    }
}

#[test]
fn a_grace_period_is_a_key_that_exists_even_if_its_value_is_empty() {
    let listing = nameless(E1, C).change(|listing| {
        listing.grace = Versioned { value: Some(String::new()), revision: 6, lease: 0 };
    });
    assert_eq!(server(memory(C, X, &[E1])).finds(listing), identify(&[N, X]));
}

#[test]
fn a_registry_in_another_etcd_does_not_follow() {
    let refused = other_registry(&named(A, X), &named(B, N));
    assert_eq!(server(memory(C, X, &[E1])).finds(shows(E1, D, &[N, X])), refused);
    let last = memory(C, X, &[E1]).followed(&[N]);
    assert_eq!(server(last).finds(shows(E1, D, &[N, X])), refused);
}
