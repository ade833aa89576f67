//! A registry is older than it was, by its revision or by the high-water marks of what this server
//! holds.

use crate::given::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::listing::{Authority, Listing};
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::survey::View;
use flakeid_core::registry::transaction::LeasedId;
use flakeid_core::registry::trust::{GraceReason, MarksVerdict, check_marks};

#[test]
fn an_earlier_revision_begins_a_grace_period() {
    let saw = server(memory(C, X, &[E1])).seen(C, X, 50);
    let older = first([grace(GraceReason::EarlierRevision)]);
    assert_eq!(saw.finds(shows(E1, C, &[X]).revision(49)), older);
    assert_eq!(saw.finds(shows(E1, C, &[X]).revision(50)), lease(0));
}

#[test]
fn an_earlier_revision_in_a_grace_period_begins_no_second_one() {
    let saw = server(memory(C, X, &[E1])).seen(C, X, 50);
    assert_eq!(saw.finds(shows(E1, C, &[X]).revision(40).in_grace()), lease(0));
}

#[test]
fn a_revision_says_nothing_about_another_registry_or_another_etcd() {
    let listing = || shows(E1, C, &[X]).revision(40);
    for (etcd, id) in [(D, X), (C, Y), (C, 0)] {
        let saw = server(memory(C, X, &[E1])).seen(etcd, id, 50);
        assert_eq!(saw.finds(listing()), lease(0));
    }
}

#[test]
fn a_server_without_a_memory_notices_an_earlier_revision_too() {
    let saw = new_server().seen(C, X, 50);
    let older = first([grace(GraceReason::EarlierRevision)]);
    assert_eq!(saw.finds(shows(E1, C, &[X]).revision(40)), older);
}

const L: Authority = Authority { etcd: C, registry: X };

/// Checks the high-water mark of generator ID 2, which this server wrote in revision 50 in registry
/// X of etcd C.
fn check(endpoints: &[&str], views: &[View]) -> MarksVerdict {
    let held = [1, 2].map(|id| LeasedId {
        id,
        high_water_mark: UnixNanos(0),
        revision: if id == 1 { 20 } else { 50 },
    });
    let server = server(memory(C, X, &[E1])).endpoints(endpoints);
    for asked in 1..views.len() {
        let next = MarksVerdict::Ask(views[asked].endpoint.clone());
        assert_eq!(check_marks(server.knowledge(), &views[..asked], L, &held), next);
    }
    check_marks(server.knowledge(), views, L, &held)
}

/// An endpoint of registry X that has the high-water mark of generator ID 2 in this revision.
fn mark_at(endpoint: &str, revision: i64) -> Listing {
    shows(endpoint, C, &[X]).high_water_mark(1, 20).high_water_mark(2, revision)
}

const EARLIER: MarksVerdict = MarksVerdict::Forgotten(GraceReason::EarlierMark);

#[test]
fn marks_as_this_server_wrote_them_or_later_show_that_etcd_has_not_forgotten() {
    for revision in [50, 51] {
        assert_eq!(check(&[E1], &[view(mark_at(E1, revision))]), MarksVerdict::Kept(0));
    }
}

#[test]
fn an_earlier_mark_or_none_shows_that_etcd_has_forgotten() {
    assert_eq!(check(&[E1], &[view(mark_at(E1, 49))]), EARLIER);
    assert_eq!(check(&[E1], &[view(shows(E1, C, &[X]).high_water_mark(1, 20))]), EARLIER);
    assert_eq!(check(&[E1], &[view(shows(E1, C, &[X]).high_water_mark(2, 50))]), EARLIER);
}

#[test]
fn a_registry_that_is_not_the_one_of_the_lease_has_forgotten_it() {
    let other_registry = MarksVerdict::Forgotten(GraceReason::OtherRegistry);
    for other in [shows(E1, C, &[Y]), shows(E1, D, &[X]), nameless(E1, C)] {
        assert_eq!(
            check(&[E1, E2], &[view(other.high_water_mark(1, 50).high_water_mark(2, 50))]),
            other_registry
        );
    }
}

#[test]
fn an_endpoint_that_has_the_marks_shows_that_etcd_has_not_forgotten() {
    let views = [view(mark_at(E1, 30)), view(mark_at(E2, 50)), view(mark_at(E1, 30))];
    assert_eq!(check(&[E1, E2], &views), MarksVerdict::Kept(1));
}

#[test]
fn marks_that_come_while_the_endpoints_are_asked_are_from_after_the_loss() {
    let views = [view(mark_at(E1, 30)), view(mark_at(E2, 50)), view(mark_at(E1, 50))];
    assert_eq!(check(&[E1, E2], &views), EARLIER);
}

#[test]
fn marks_of_another_registry_do_not_count() {
    let views = [
        view(mark_at(E1, 30)),
        view(shows(E2, C, &[Y]).high_water_mark(1, 20).high_water_mark(2, 50)),
    ];
    let refused = Refusal::DifferentRegistries {
        first: (named(A, X), E1.into()),
        other: (named(A, Y), E2.into()),
    };
    assert_eq!(check(&[E1, E2], &views), MarksVerdict::Refuse(refused));
}

#[test]
fn a_silent_endpoint_may_have_the_marks() {
    let refused = MarksVerdict::Refuse(Refusal::EndpointSilent("e2 is silent".into()));
    assert_eq!(check(&[E1, E2], &[view(mark_at(E1, 30)), silent(E2)]), refused);
    let views = [view(mark_at(E1, 30)), view(mark_at(E2, 50)), silent(E1)];
    let failed = MarksVerdict::Refuse(Refusal::Failed("e1 is silent".into()));
    assert_eq!(check(&[E1, E2], &views), failed);
}

#[test]
fn a_loss_of_marks_that_all_endpoints_show_is_believed() {
    assert_eq!(check(&[E1, E2], &[view(mark_at(E1, 30)), view(mark_at(E2, 30))]), EARLIER);
}
