//! A server asks all endpoints before it acts on what the first one shows.

use crate::given::*;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::trust::{GraceReason, Preparation, Verdict};

/// A server that has leased from registry X of etcd C at both endpoints.
fn known() -> Server {
    server(memory(C, X, &[E1, E2])).endpoints(&[E1, E2])
}

#[test]
fn a_registry_that_matches_the_memory_is_used_without_asking_further() {
    assert_eq!(known().decide(&[view(shows(E1, C, &[X]))]), lease(0));
}

#[test]
fn an_endpoint_that_shows_the_remembered_registry_is_used_and_the_other_one_left_alone() {
    for misled in [
        empty(E1, C),
        shows(E1, C, &[N, X]),
        shows(E1, C, &[Y]).in_grace(),
        nameless(E1, C),
        shows(E1, D, &[X]).address(A, 5),
        shows(E1, C, &[X]).id("none"),
        shows(E1, D, &[Y]).address(&format!("{B},{A}"), 9),
        empty(E1, C).id(&identity(&[X]).to_string()),
    ] {
        let misled = view(misled);
        let views = [misled.clone(), view(shows(E2, C, &[X])), misled];
        assert_eq!(known().decide(&views), lease(1), "{views:?}");
    }
}

#[test]
fn an_endpoint_that_shows_the_registry_when_it_is_asked_again_was_only_earlier() {
    let views = [view(empty(E1, C)), view(shows(E2, C, &[X])), view(shows(E1, C, &[X]))];
    assert_eq!(known().decide(&views), first([]));
    let earlier = shows(E1, C, &[X]).revision(40);
    let later = shows(E2, C, &[X]).revision(60);
    let views = [view(earlier), view(later.clone()), view(shows(E1, C, &[X]).revision(61))];
    let older = first([grace(GraceReason::EarlierRevision)]);
    assert_eq!(known().seen(C, X, 50).decide(&views), older);
}

#[test]
fn an_endpoint_that_is_silent_when_it_is_asked_again_decides_nothing() {
    let views = [view(empty(E1, C)), view(shows(E2, C, &[X])), silent(E1)];
    let refused = Verdict::Refuse(Refusal::Failed("e1 is silent".into()));
    assert_eq!(known().decide(&views), refused);
}

#[test]
fn a_silent_endpoint_may_still_have_the_registry() {
    for shown in [
        empty(E1, C),
        shows(E1, C, &[N, X]),
        shows(E1, C, &[Y]).in_grace(),
        nameless(E1, C),
        shows(E1, D, &[Y]).address(&format!("{B},{A}"), 9),
    ] {
        assert_eq!(known().decide(&[view(shown), silent(E2)]), may_be_at(E2));
    }
    let set_back = server(memory(C, Y, &[E1]).followed(&[X])).endpoints(&[E1, E2]);
    assert_eq!(set_back.decide(&[view(shows(E1, C, &[X])), silent(E2)]), may_be_at(E2));
    let older = shows(E1, C, &[X]).revision(40);
    assert_eq!(known().seen(C, X, 50).decide(&[view(older), silent(E2)]), may_be_at(E2));
}

#[test]
fn a_loss_that_all_endpoints_show_is_believed() {
    let found = first([Preparation::Found(identity(&[N, X]))]);
    assert_eq!(known().decide(&[view(empty(E1, C)), view(empty(E2, C))]), found);
}

#[test]
fn a_loss_is_written_at_the_endpoint_that_showed_the_registry_before() {
    let one = server(memory(C, X, &[E2])).endpoints(&[E1, E2]);
    let found = Preparation::Found(identity(&[N, X]));
    let views = [view(empty(E1, C)), view(empty(E2, C))];
    assert_eq!(one.decide(&views), Verdict::Prepare { view: 1, first: vec![found] });
}

#[test]
fn an_endpoint_that_never_showed_the_registry_is_no_proof_while_another_one_is_silent() {
    let one = server(memory(C, X, &[E1])).endpoints(&[E2, E1]);
    let refused = other_registry(&named(A, X), A);
    assert_eq!(one.decide(&[view(empty(E2, C)), silent(E1)]), refused);
}

#[test]
fn an_endpoint_that_left_the_settings_is_not_waited_for() {
    let changed = known().endpoints(&[E2]);
    let found = first([Preparation::Found(identity(&[N, X]))]);
    assert_eq!(changed.decide(&[view(empty(E2, C))]), found);
}

#[test]
fn different_registries_are_refused_even_if_one_of_them_follows() {
    let (misled, other) = (view(shows(E1, C, &[N, X])), view(shows(E2, C, &[Y])));
    let refused = Verdict::Refuse(Refusal::DifferentRegistries {
        first: (named(A, N), E1.into()),
        other: (named(A, Y), E2.into()),
    });
    assert_eq!(known().decide(&[misled.clone(), other.clone()]), refused);
    assert_eq!(known().decide(&[other, misled]), refused);
}

#[test]
fn a_later_state_at_another_endpoint_is_used() {
    let (earlier, later) = (shows(E1, C, &[X]).revision(40), shows(E2, C, &[X]).revision(60));
    let views = [view(earlier.clone()), view(later), view(earlier)];
    assert_eq!(known().seen(C, X, 50).decide(&views), lease(1));
}

#[test]
fn a_copy_is_refused_if_no_endpoint_shows_the_registry() {
    let copy = view(shows(E1, D, &[X]).address(A, 5));
    let refusal = Refusal::Copy { stated: A.into(), address: B.into() };
    assert_eq!(known().decide(&[copy, silent(E2)]), Verdict::Refuse(refusal));
}

#[test]
fn an_endpoint_without_a_part_in_the_decision_does_not_hide_a_copy_after_it() {
    let copy = view(shows(E2, D, &[X]).address(A, 5));
    let refusal = Refusal::Copy { stated: A.into(), address: B.into() };
    let one = known();
    assert_eq!(one.decide(&[view(shows(E1, C, &[Y])), copy.clone()]), Verdict::Refuse(refusal));
    let different = Verdict::Refuse(Refusal::DifferentRegistries {
        first: (named(A, N), E1.into()),
        other: (named(B, X), E2.into()),
    });
    assert_eq!(one.decide(&[view(shows(E1, C, &[N, X])), copy]), different);
}

#[test]
fn another_registry_is_refused_in_the_order_of_the_settings() {
    let (one, other) = (view(shows(E1, C, &[Y])), view(shows(E2, C, &[Z])));
    let refused = other_registry(&named(A, X), &named(A, Y));
    assert_eq!(known().decide(&[one.clone(), other.clone()]), refused);
    assert_eq!(known().decide(&[other.clone(), one]), refused);
    let by_second = other_registry(&named(A, X), &named(A, Z));
    assert_eq!(known().decide(&[other, silent(E1)]), by_second);
    assert_eq!(
        known().decide(&[view(shows(E1, C, &[Y])), silent(E2)]),
        other_registry(&named(A, X), &named(A, Y))
    );
}

#[test]
fn each_endpoint_is_asked_once() {
    let three = server(memory(C, X, &[E1])).endpoints(&[E3, E1, E2, E3]);
    let views = [view(empty(E1, C)), view(empty(E3, C)), view(empty(E2, C))];
    let found = first([Preparation::Found(identity(&[N, X]))]);
    assert_eq!(three.decide(&views), found);
}

#[test]
fn the_endpoint_that_answers_is_remembered_beside_the_others_of_the_settings() {
    let noted = memory(C, X, &[E2, E1]);
    let one = server(memory(C, X, &[E1])).endpoints(&[E1, E2]);
    assert_eq!(one.finds(shows(E2, C, &[X])), lease_and_note(0, noted));
}
