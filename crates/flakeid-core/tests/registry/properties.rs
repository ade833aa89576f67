//! Properties of any text, any memory and any views.

use crate::given::*;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::listing::{Listing, Versioned, address};
use flakeid_core::registry::memory::{Memory, Seen};
use flakeid_core::registry::relation::RegistryRelation;
use flakeid_core::registry::retired::{RetiredRegistry, merged, parse, value};
use flakeid_core::registry::survey::View;
use flakeid_core::registry::transaction::LeasedId;
use flakeid_core::registry::trust::{MarksVerdict, Verdict, check_marks, decide, matches_memory};
use proptest::prelude::*;
use proptest::{collection::vec, option, sample::select};

const ENDPOINTS: [&str; 3] = [E1, E2, E3];

fn any_identity() -> impl Strategy<Value = Identity> {
    (1..u64::MAX, vec(1..u64::MAX, 0..40)).prop_map(|(id, followed)| Identity::new(id, followed))
}

fn any_retired() -> impl Strategy<Value = Vec<RetiredRegistry>> {
    let one = ("[a-f0-9/#@ ]{0,40}[a-f]", any::<i64>());
    vec(one.prop_map(|(name, revision)| retired(name.trim(), revision)), 0..30)
}

proptest! {
    #[test]
    fn an_identity_is_read_as_it_was_written(identity in any_identity()) {
        prop_assert_eq!(Identity::parse(&identity.to_string()), Some(identity));
    }

    #[test]
    fn a_text_that_is_an_identity_is_one_when_it_is_written_again(
        text in "[0-9a-gA-F, ]{0,60}|\\PC*",
    ) {
        if let Some(identity) = Identity::parse(&text) {
            prop_assert!(identity.id != 0 && !identity.followed.contains(&0));
            prop_assert_eq!(Identity::parse(&identity.to_string()), Some(identity));
        }
    }

    #[test]
    fn retired_registries_are_read_as_they_were_written(all in any_retired()) {
        prop_assert_eq!(parse(&value(&all)), all);
    }

    #[test]
    fn any_text_is_a_list_of_retired_registries(text in "[a-f@,0-9-]{0,60}|\\PC*") {
        let all = parse(&text);
        prop_assert_eq!(parse(&value(&all)), all);
    }

    #[test]
    fn merged_names_fit_in_the_value_and_nothing_that_exists_is_lost(
        existing in any_retired(),
        new in any_retired(),
    ) {
        let none = Vec::new();
        let existing = merged(&none, existing);
        let all = merged(&existing, new.clone());
        prop_assert!(value(&all).len() <= 1000);
        prop_assert!(all.len() >= existing.len());
        for (before, after) in existing.iter().zip(&all) {
            prop_assert!(before.name == after.name && before.revision <= after.revision);
        }
        prop_assert_eq!(merged(&all, new), all);
    }
}

fn any_ids() -> impl Strategy<Value = Vec<u64>> {
    vec(select(vec![X, Y, N]), 1..4)
}

/// A listing of one of two etcds, with anything in its keys that decides.
fn any_listing() -> impl Strategy<Value = Listing> {
    let id = prop_oneof![
        6 => any_ids().prop_map(|ids| Some(identity(&ids).to_string())),
        1 => Just(None),
        1 => Just(Some("none".into())),
    ];
    let address = select(vec!["", "{A}", "{A}", "{A}", "{A},{B}", "{A},{A}#{X}", "{B},{A}", "{O}"]);
    let exists = || prop::bool::weighted(0.8);
    (
        (select(ENDPOINTS.to_vec()), select(vec![C, C, C, D]), select(vec![10, 50, 100])),
        (id, address, 1..9i64, exists(), exists(), prop::bool::weighted(0.3)),
        (any::<bool>(), select(vec![0, 10, 50])),
    )
        .prop_map(
            |((endpoint, etcd, revision), (id, address, at, epoch, cluster, grace), more)| {
                let mut listing = nameless(endpoint, etcd).revision(revision).no_address();
                listing.id = id.map_or_else(Versioned::default, |id| Versioned {
                    value: Some(id),
                    revision: 4,
                    lease: 0,
                });
                let own = self::address(etcd, NAMESPACE);
                let other = if own == A { B } else { A };
                let address = address.replace("{A}", &own).replace("{B}", other);
                let address = address.replace("{X}", &format!("{X:016x}")).replace("{O}", other);
                if !address.is_empty() {
                    listing = listing.address(&address, at);
                }
                if !epoch {
                    listing = listing.no_epoch();
                }
                if !cluster {
                    listing = listing.no_cluster();
                }
                if grace {
                    listing = listing.in_grace();
                }
                if more.0 {
                    listing = listing.retired(&format!("{B}#{Y:016x}@5"));
                }
                listing.high_water_mark(1, more.1)
            },
        )
}

fn any_memory() -> impl Strategy<Value = Memory> {
    (
        select(vec![C, C, D]),
        option::weighted(0.9, select(vec![X, Y, N])),
        vec(select(vec![X, Y, N]), 0..3),
        vec(select(ENDPOINTS.to_vec()), 0..3),
        any::<bool>(),
    )
        .prop_map(|(etcd, id, followed, endpoints, is_retired)| {
            let memory = memory(etcd, X, &endpoints).followed(&followed);
            let memory = Memory { id, ..memory };
            if is_retired { memory.retired(&named(B, Y), 5) } else { memory }
        })
}

fn any_server() -> impl Strategy<Value = Server> {
    let revisions = (select(vec![C, D]), select(vec![0, X, Y]), select(vec![0, 50]));
    let replacing =
        option::of(select(vec![(named(A, Y), named(A, X)), (named(B, X), named(A, X))]));
    (option::weighted(0.8, any_memory()), revisions, replacing, 1..4usize).prop_map(
        |(memory, (etcd, registry, revision), replacing, endpoints)| Server {
            memory,
            endpoints: names(&ENDPOINTS[..endpoints]),
            namespace: NAMESPACE,
            seen: seen(etcd, registry, revision),
            replacing,
        },
    )
}

/// The listings that a server gets, one after the other; `None` from a silent endpoint.
type Answers = Vec<Option<Listing>>;

fn any_answers() -> impl Strategy<Value = Answers> {
    vec(option::weighted(0.85, any_listing()), 8)
}

/// Decides by these answers until the server asks no more.
fn settle(server: &Server, answers: &Answers) -> (Vec<View>, Verdict) {
    let answer = |place: usize, endpoint: &str| match &answers[place] {
        Some(listing) => view(listing.clone().change(|listing| listing.endpoint = endpoint.into())),
        None => silent(endpoint),
    };
    let mut views = vec![answer(0, &server.endpoints[0])];
    loop {
        match decide(server.knowledge(), &views) {
            Verdict::Ask(next) => {
                assert!(server.endpoints.contains(&next));
                let is_first = views[0].endpoint == next;
                let is_asked = views.iter().any(|view| view.endpoint == next);
                assert_eq!(is_first, is_asked, "{next} is asked twice");
                views.push(answer(views.len(), &next));
                assert!(views.len() <= server.endpoints.len() + 1);
            }
            verdict => return (views, verdict),
        }
    }
}

/// Returns whether all endpoints were asked, have answered, and show one registry.
fn all_agree(server: &Server, views: &[View]) -> bool {
    let is_asked = |endpoint: &String| views.iter().any(|view| view.endpoint == *endpoint);
    let first = views[0].shown.as_ref().ok().map(|first| (first.authority(), first.is_new()));
    let is_one = |view: &View| {
        view.shown.as_ref().ok().map(|shown| (shown.authority(), shown.is_new())) == first
    };
    server.endpoints.iter().all(is_asked) && first.is_some() && views.iter().all(is_one)
}

fn matches(server: &Server, listing: &Listing) -> bool {
    let matches = |last| matches_memory(listing, last, NAMESPACE, server.seen);
    server.memory.as_ref().is_some_and(matches)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_verdict_that_acts_is_by_the_remembered_registry_or_by_all_endpoints(
        server in any_server(),
        answers in any_answers(),
    ) {
        let (views, verdict) = settle(&server, &answers);
        let (view, acts) = match &verdict {
            Verdict::Lease { view, .. } => (*view, true),
            Verdict::Prepare { view, first } => (*view, !first.is_empty()),
            _ => return Ok(()),
        };
        let Ok(listing) = &views[view].shown else { panic!("by an endpoint that is silent") };
        prop_assert!(listing.replaced(NAMESPACE).is_ok(), "by a copy");
        if !acts || matches(&server, listing) && view > 0 {
            return Ok(());
        }
        let was_earlier = matches!(&views[..], [.., again] if again.endpoint == views[0].endpoint)
            && views.len() > 1;
        match &server.memory {
            _ if all_agree(&server, &views) => {}
            None => prop_assert!(views.len() == server.endpoints.len() && !listing.is_new()),
            Some(last) if was_earlier => {
                let same = RegistryRelation::of(listing, NAMESPACE, last);
                prop_assert_eq!(same, Ok(RegistryRelation::Same));
            }
            Some(_) => prop_assert!(matches(&server, listing)),
        }
    }

    #[test]
    fn a_server_leases_only_from_the_registry_that_it_remembers_with_all_its_keys(
        server in any_server(),
        answers in any_answers(),
    ) {
        let (views, verdict) = settle(&server, &answers);
        let Verdict::Lease { view, note } = verdict else { return Ok(()) };
        let listing = views[view].shown.as_ref().unwrap();
        for key in [&listing.id, &listing.address, &listing.epoch, &listing.cluster] {
            prop_assert!(key.value.is_some());
        }
        let is_older = listing.authority() == server.seen.authority
            && listing.revision < server.seen.revision;
        prop_assert!(!is_older || listing.grace.value.is_some());
        if let Some(last) = &server.memory {
            let relation = RegistryRelation::of(listing, NAMESPACE, last);
            prop_assert_eq!(relation, Ok(RegistryRelation::Same));
            prop_assert_eq!(last.missing_retired(listing, NAMESPACE), Ok(None));
            let after =
                Memory::after(Some(last), listing, NAMESPACE, &server.endpoints, Seen::default());
            prop_assert_eq!(note.unwrap_or_else(|| last.clone()), after.unwrap());
        }
    }

    #[test]
    fn any_views_have_a_verdict(
        server in any_server(),
        views in vec((select(ENDPOINTS.to_vec()), option::weighted(0.8, any_listing())), 0..6),
        revision in select(vec![0, 30, 60]),
    ) {
        let shown = |(endpoint, shown): (&str, Option<Listing>)| match shown {
            None => silent(endpoint),
            Some(listing) => view(listing),
        };
        let views: Vec<View> = views.into_iter().map(shown).collect();
        let valid = |place: usize| views.get(place).is_some_and(|view| view.shown.is_ok());
        match decide(server.knowledge(), &views) {
            Verdict::Lease { view, .. } | Verdict::Prepare { view, .. } => {
                prop_assert!(valid(view));
            }
            Verdict::Ask(_) | Verdict::Refuse(_) => {}
        }
        let high_water_mark = flakeid_core::clock::UnixNanos(0);
        let held = [LeasedId { id: 1, high_water_mark, revision }];
        let authority = seen(C, X, 0).authority;
        let kept = check_marks(server.knowledge(), &views, authority, &held);
        if let MarksVerdict::Kept(place) = kept {
            prop_assert!(valid(place));
            prop_assert_eq!(views[place].shown.as_ref().unwrap().authority(), authority);
        }
    }

    #[test]
    fn a_server_that_lists_a_registry_again_remembers_what_it_remembers(
        last in option::of(any_memory()),
        listing in any_listing(),
    ) {
        let endpoints = names(&ENDPOINTS[..2]);
        let seen = Seen::default();
        let after = |last| Memory::after(last, &listing, NAMESPACE, &endpoints, seen);
        let Ok(memory) = after(last.as_ref()) else { return Ok(()) };
        // If older data came back, the next listing sorts what was followed again.
        let settled = after(Some(&memory)).unwrap();
        prop_assert_eq!(after(Some(&settled)), Ok(settled.clone()));
        let same = Memory { followed: memory.followed.clone(), ..settled };
        prop_assert_eq!(&same, &memory);
        prop_assert!(memory.endpoints.contains(&listing.endpoint));
        let is_known =
            |endpoint: &String| endpoints.contains(endpoint) || *endpoint == listing.endpoint;
        prop_assert!(memory.endpoints.iter().all(is_known));
        prop_assert!(!memory.followed.iter().any(|&id| memory.id == Some(id)));
    }
}
