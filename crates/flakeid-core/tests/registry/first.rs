//! A server without a memory finds its first registry.

use crate::given::*;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::transaction::{Key, NewKey, Value};
use flakeid_core::registry::trust::{GraceReason, Preparation, Verdict};

fn create(key: Key, value: Value, beside: Key) -> Preparation {
    Preparation::Create(NewKey { key, value, beside })
}

pub fn create_address() -> Preparation {
    create(Key::Address, Value::Text(A.into()), Key::Epoch)
}

fn create_cluster() -> Preparation {
    create(Key::ClusterId, Value::Text("0".into()), Key::Epoch)
}

fn create_epoch() -> Preparation {
    create(Key::Epoch, Value::Epoch(EPOCH), Key::Address)
}

#[test]
fn an_empty_etcd_gets_a_registry() {
    let found = first([Preparation::Found(identity(&[N]))]);
    assert_eq!(new_server().finds(empty(E1, C)), found);
}

#[test]
fn a_registry_that_exists_is_used_and_not_remembered_before_a_claim() {
    assert_eq!(new_server().finds(shows(E1, C, &[X])), lease(0));
    assert_eq!(new_server().finds(shows(E1, C, &[X, Y]).in_grace()), lease(0));
}

#[test]
fn an_id_without_address_and_epoch_stays_when_its_registry_is_founded() {
    let found = first([Preparation::Found(identity(&[N]))]);
    assert_eq!(new_server().finds(empty(E1, C).id(&identity(&[X]).to_string())), found);
}

#[test]
fn an_address_that_an_administrator_wrote_begins_a_registry_without_a_grace_period() {
    let written = empty(E1, C).address(A, 5);
    let identify = first([Preparation::Identify(identity(&[N]))]);
    assert_eq!(new_server().finds(written.clone()), identify);
    let identified = written.id(&identity(&[N]).to_string());
    assert_eq!(new_server().finds(identified), first([create_cluster(), create_epoch()]));
}

#[test]
fn a_registry_of_0_6_0_continues_without_a_grace_period() {
    let old = nameless(E1, C).no_address();
    let identify = first([Preparation::Identify(identity(&[N]))]);
    assert_eq!(new_server().finds(old.clone()), identify);
    assert_eq!(new_server().finds(old.clone().in_grace()), identify);
    let identified = old.id(&identity(&[N]).to_string());
    assert_eq!(new_server().finds(identified), first([create_address()]));
}

#[test]
fn a_missing_cluster_and_a_missing_epoch_are_created() {
    let listing = shows(E1, C, &[X]);
    let created = first([create_cluster()]);
    assert_eq!(new_server().finds(listing.clone().no_cluster()), created);
    assert_eq!(new_server().finds(listing.no_epoch()), first([create_epoch()]));
}

#[test]
fn a_missing_address_begins_a_grace_period_for_a_server_that_leased_by_it() {
    let listing = shows(E1, C, &[X]).no_address();
    let with_grace = first([grace(GraceReason::NoAddress), create_address()]);
    let remembers = server(memory(C, X, &[E1]).address_revision(0));
    assert_eq!(remembers.finds(listing.clone()), with_grace);
    assert_eq!(remembers.finds(listing.clone().in_grace()), first([create_address()]));
    assert_eq!(new_server().finds(listing), first([create_address()]));
}

#[test]
fn a_copy_is_refused_by_a_server_without_a_memory() {
    let copy = shows(E1, D, &[X]).address(A, 5);
    let refusal = Refusal::Copy { stated: A.into(), address: B.into() };
    assert_eq!(new_server().finds(copy.clone()), Verdict::Refuse(refusal.clone()));
    let both = new_server().endpoints(&[E1, E2]);
    let copy = copy.change(|listing| listing.endpoint = E2.into());
    let views = [view(shows(E1, C, &[X])), view(copy)];
    assert_eq!(both.decide(&views), Verdict::Refuse(refusal));
}

#[test]
fn an_id_that_cannot_be_read_is_refused() {
    let refused = |id: &str| Verdict::Refuse(Refusal::InvalidId(id.into()));
    let long = "1".repeat(1024);
    for id in ["none", "", "0", "a1,zz", "a1,", "+1", &long] {
        assert_eq!(new_server().finds(shows(E1, C, &[X]).id(id)), refused(id));
        let remembers = server(memory(C, X, &[E1]));
        assert_eq!(remembers.finds(shows(E1, C, &[X]).id(id)), refused(id));
    }
}

#[test]
fn a_registry_is_founded_only_if_all_endpoints_show_nothing() {
    let new = new_server().endpoints(&[E1, E2]);
    let found = first([Preparation::Found(identity(&[N]))]);
    assert_eq!(new.decide(&[view(empty(E1, C)), view(empty(E2, C))]), found);
    assert_eq!(new.decide(&[view(empty(E1, C)), silent(E2)]), may_be_at(E2));
    let third = new_server().endpoints(&[E1, E2, E3]);
    assert_eq!(third.decide(&[view(empty(E1, C)), silent(E2), silent(E3)]), may_be_at(E2));
    assert_eq!(new.decide(&[view(empty(E2, C)), view(empty(E1, C))]), found);
}

#[test]
fn a_silent_endpoint_does_not_keep_a_new_server_from_a_registry_that_exists() {
    let new = new_server().endpoints(&[E1, E2]);
    assert_eq!(new.decide(&[view(shows(E1, C, &[X])), silent(E2)]), lease(0));
}

#[test]
fn endpoints_that_show_different_registries_are_refused_in_the_order_of_the_settings() {
    let new = new_server().endpoints(&[E1, E2]);
    let refused = |first: &str, other: &str| {
        let (first, other) = ((first.into(), E1.into()), (other.into(), E2.into()));
        Verdict::Refuse(Refusal::DifferentRegistries { first, other })
    };
    let (followed, lost) = (view(shows(E1, C, &[N, X])), view(shows(E2, C, &[X])));
    let different = refused(&named(A, N), &named(A, X));
    assert_eq!(new.decide(&[followed.clone(), lost.clone()]), different);
    assert_eq!(new.decide(&[lost, followed]), different);
    let (one, nothing) = (view(shows(E1, C, &[X])), view(empty(E2, C)));
    assert_eq!(new.decide(&[one.clone(), nothing.clone()]), refused(&named(A, X), A));
    assert_eq!(new.decide(&[nothing, one]), refused(&named(A, X), A));
    let elsewhere = view(shows(E2, D, &[X]));
    assert_eq!(
        new.decide(&[view(shows(E1, C, &[X])), elsewhere]),
        refused(&named(A, X), &named(B, X))
    );
    let (new_one, nameless) = (view(empty(E1, C)), view(nameless(E2, C)));
    assert_eq!(new.decide(&[new_one, nameless]), refused(A, A));
}

#[test]
fn without_a_view_nothing_is_leased() {
    let refused = Verdict::Refuse(Refusal::Failed("no endpoint was listed".into()));
    assert_eq!(new_server().decide(&[]), refused);
    assert_eq!(new_server().decide(&[silent(E1)]), refused);
    assert_eq!(server(memory(C, X, &[E1])).decide(&[silent(E1)]), refused);
}
