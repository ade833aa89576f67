//! An administrator writes that a registry replaces another one, and servers retire the replaced
//! one.

use crate::given::*;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::trust::{GraceReason, Preparation, Verdict};

/// The server remembers this, after it has begun a grace period.
fn replaces(memory: Memory, last: &Memory) -> Verdict {
    first([grace(GraceReason::Replaces), switch(memory, last)])
}

#[test]
fn an_entry_for_the_remembered_name_replaces_it_in_the_same_etcd() {
    let last = memory(C, X, &[E1]);
    let moved = server(last.clone()).endpoints(&[E2]);
    let replaced = memory(C, Y, &[E2]).address_revision(9).retired(&named(A, X), 5);
    for entry in [
        format!("{A}#{Y:016x},{A}#{X:016x}"),
        format!("{A},{A}#{X:016x}"),
        format!("{A},{B}, {A}#{X:016x} ,\n"),
    ] {
        let listing = shows(E2, C, &[Y]).address(&entry, 9);
        assert_eq!(moved.finds(listing), replaces(replaced.clone(), &last), "{entry}");
    }
    let address_alone = shows(E2, C, &[Y]).address(&format!("{A},{A}"), 9);
    assert_eq!(moved.finds(address_alone), other_registry(&named(A, X), &named(A, Y)));
}

#[test]
fn an_entry_for_the_remembered_address_replaces_it_in_another_etcd() {
    let last = memory(C, X, &[E1]);
    let replaced = memory(D, Y, &[E1]).address_revision(9).retired(&named(A, X), 5);
    for entry in [
        format!("{B},{A}"),
        format!("{B},{A}#{X:016x}"),
        format!("{B}, {A}#{X:016x}"),
        format!("{B}#{Y:016x},{A}"),
        format!("{B},{A}\n"),
    ] {
        let listing = shows(E1, D, &[Y]).address(&entry, 9);
        assert_eq!(
            server(last.clone()).finds(listing),
            replaces(replaced.clone(), &last),
            "{entry}"
        );
    }
}

#[test]
fn an_entry_for_another_registry_replaces_nothing() {
    let refused = other_registry(&named(A, X), &named(B, Y));
    for entry in [format!("{B},{A}#{Z:016x}"), B.into(), format!("{B},"), format!("{B}#{X:016x}")] {
        let listing = shows(E1, D, &[Y]).address(&entry, 9);
        assert_eq!(server(memory(C, X, &[E1])).finds(listing), refused, "{entry}");
    }
}

#[test]
fn a_namespace_with_spaces_is_found_in_an_entry() {
    for (namespace, entry) in [("a b", "c/a b"), ("a ", "c/a ,c/b"), (" a", "c/b, c/ a")] {
        let address = format!("c/{namespace}");
        let last = Memory { address: address.clone(), ..memory(C, X, &[E1]) };
        let replaced = memory(D, Y, &[E1]).address_revision(9).retired(&named(&address, X), 5);
        let listing = shows(E1, D, &[Y]).address(&format!("{B},{entry}"), 9);
        assert_eq!(server(last.clone()).finds(listing), replaces(replaced, &last), "{entry}");
    }
}

#[test]
fn a_registry_that_replaces_the_last_one_and_has_no_id_gets_one_after_the_grace_period_began() {
    let known = server(memory(C, X, &[E1]));
    let nameless = nameless(E1, D).address(&format!("{B},{A}"), 9);
    assert_eq!(known.finds(nameless.clone()), first([grace(GraceReason::Replaces)]));
    let identify = first([Preparation::Identify(identity(&[N]))]);
    assert_eq!(known.finds(nameless.in_grace()), identify);
}

#[test]
fn a_grace_period_that_exists_is_enough_for_a_replacement() {
    let last = memory(C, X, &[E1]);
    let replaced = memory(D, Y, &[E1]).address_revision(9).retired(&named(A, X), 5);
    let listing = shows(E1, D, &[Y]).address(&format!("{B},{A}"), 9).in_grace();
    assert_eq!(server(last.clone()).finds(listing), first([switch(replaced, &last)]));
}

#[test]
fn a_server_that_cannot_remember_the_new_registry_begins_one_grace_period_for_it() {
    let last = memory(C, X, &[E1]);
    let replaced = memory(D, Y, &[E1]).address_revision(9).retired(&named(A, X), 5);
    let listing = shows(E1, D, &[Y]).address(&format!("{B},{A}"), 9);
    let mut failed = server(last.clone());
    failed.replacing = Some((named(B, Y), named(A, X)));
    assert_eq!(failed.finds(listing.clone()), first([switch(replaced.clone(), &last)]));
    for other in [(named(B, Z), named(A, X)), (named(B, Y), named(A, Z))] {
        failed.replacing = Some(other);
        assert_eq!(failed.finds(listing.clone()), replaces(replaced.clone(), &last));
    }
    let last = memory(C, Y, &[E1]).followed(&[X]);
    let mut failed = server(last.clone());
    failed.replacing = Some((named(A, X), named(A, Y)));
    let back = memory(C, X, &[E1]).followed(&[Y]);
    assert_eq!(failed.finds(shows(E1, C, &[X])), first([switch(back, &last)]));
}

#[test]
fn a_replaced_registry_is_retired_with_the_latest_revision_that_the_server_knows() {
    let last = memory(D, Y, &[E1]).address_revision(5);
    let listing = || shows(E1, C, &[X]).address(&format!("{A},{B}"), 20);
    let remembered = |revision| {
        let remembered = memory(C, X, &[E1]).address_revision(20);
        replaces(remembered.retired(&named(B, Y), revision), &last)
    };
    assert_eq!(server(last.clone()).finds(listing()), remembered(5));
    let saw = |etcd, id, revision| server(last.clone()).seen(etcd, id, revision).finds(listing());
    assert_eq!(saw(D, Y, 30), remembered(30));
    assert_eq!(saw(D, Y, 4), remembered(5));
    assert_eq!(saw(D, Z, 30), remembered(5));
    assert_eq!(saw(0xd1, Y, 30), remembered(5));
    assert_eq!(saw(C, Y, 30), remembered(5));
}

#[test]
fn retired_registries_are_written_into_the_present_one_before_a_claim() {
    let known = server(memory(C, X, &[E1]).retired(&named(B, Y), 30));
    let retire = Preparation::Retire(vec![retired(&named(B, Y), 30)]);
    assert_eq!(known.finds(shows(E1, C, &[X])), first([retire]));
    let named_there = format!("{B}#{Y:016x}@30");
    assert_eq!(known.finds(shows(E1, C, &[X]).retired(&named_there)), lease(0));
}

#[test]
fn what_is_listed_of_retired_registries_is_remembered_before_more_is_written_there() {
    let known = server(memory(C, X, &[E1]).retired(&named(B, Y), 30));
    let listing = shows(E1, C, &[X]).retired(&format!("{B}#{Z:016x}@8"));
    let both = memory(C, X, &[E1]).retired(&named(B, Z), 8).retired(&named(B, Y), 30);
    let retire = Preparation::Retire(both.retired.clone());
    assert_eq!(known.finds(listing), first([Preparation::Note(both), retire]));
}

#[test]
fn a_server_that_leases_here_remembers_what_others_have_retired() {
    let listing = shows(E1, C, &[X]).retired(&format!("{B}#{Y:016x}@7"));
    let noted = memory(C, X, &[E1]).retired(&named(B, Y), 7);
    assert_eq!(server(memory(C, X, &[E1])).finds(listing), lease_and_note(0, noted));
}

#[test]
fn an_entry_in_a_retired_registry_does_not_count_unless_it_was_written_again() {
    let last = memory(C, X, &[E1]).retired(&named(B, Y), 30);
    let refused = other_registry(&named(A, X), &named(B, Y));
    let entry = |revision| shows(E1, D, &[Y]).address(&format!("{B},{A}"), revision);
    for revision in [5, 30] {
        assert_eq!(server(last.clone()).finds(entry(revision)), refused);
    }
    let replaced = memory(D, Y, &[E1]).address_revision(31).retired(&named(A, X), 5);
    assert_eq!(server(last.clone()).finds(entry(31)), replaces(replaced, &last));
    let other = shows(E1, D, &[Z]).address(&format!("{B},{A}"), 5);
    let replaced = memory(D, Z, &[E1]).retired(&named(B, Y), 30).retired(&named(A, X), 5);
    assert_eq!(server(last.clone()).finds(other), replaces(replaced, &last));
}

#[test]
fn a_lost_registry_is_not_retired() {
    let last = memory(C, X, &[E1]);
    let followed = memory(C, N, &[E1]).followed(&[X]);
    assert_eq!(server(last.clone()).finds(shows(E1, C, &[N, X])), first([follow(followed)]));
    let last = memory(C, Y, &[E1]).followed(&[X]);
    let back = memory(C, X, &[E1]).followed(&[Y]);
    let listing = shows(E1, C, &[X]).in_grace();
    assert_eq!(server(last.clone()).finds(listing), first([switch(back, &last)]));
}

#[test]
fn an_entry_counts_before_what_follows() {
    let last = memory(C, X, &[E1]);
    let listing = shows(E1, C, &[N, X]).address(&format!("{A},{A}#{X:016x}"), 9);
    let followed = memory(C, N, &[E1]).followed(&[X]).address_revision(9);
    assert_eq!(server(last.clone()).finds(listing), replaces(followed, &last));
}
