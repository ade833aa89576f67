//! The value of the key `left`: registries that servers have retired.

use crate::given::retired as of;
use flakeid_core::registry::retired::{RetiredRegistry, is_old, merged, parse, value};

#[test]
fn a_name_may_have_any_character_but_a_comma() {
    assert_eq!(RetiredRegistry::parse("c/a@b#1@7"), Some(of("c/a@b#1", 7)));
    assert_eq!(RetiredRegistry::parse(" c/x@-1\n"), Some(of("c/x", -1)));
    for text in ["", "@7", "c/x", "c/x@", "c/x@y", "c/x@7x"] {
        assert_eq!(RetiredRegistry::parse(text), None, "{text}");
    }
}

#[test]
fn parts_of_another_form_are_skipped() {
    assert_eq!(parse("a@1,b,@2,,c@3"), [of("a", 1), of("c", 3)]);
    assert_eq!(value(&[of("a", 1), of("c", 3)]), "a@1,c@3");
    assert_eq!(value(&[]), "");
}

#[test]
fn a_name_keeps_its_place_and_gets_its_latest_revision() {
    let existing = [of("a", 5), of("b", 5)];
    assert_eq!(
        merged(&existing, [of("a", 7), of("b", 3), of("c", 1)]),
        [of("a", 7), of("b", 5), of("c", 1)]
    );
}

#[test]
fn names_for_which_there_is_no_room_are_left_out_and_existing_ones_stay() {
    // With its comma and the longest revision, each of these has 100 bytes.
    let long = |place: usize| of(&format!("{place:078}"), i64::MIN);
    let existing: Vec<_> = (0..9).map(long).collect();
    assert_eq!(value(&existing).len(), 899);
    let full = merged(&existing, [long(9)]);
    assert_eq!((value(&full).len(), full.len()), (999, 10));
    assert_eq!(merged(&full, [long(10), of("x", 1)]), full);
    assert_eq!(merged(&full, [long(3), of("", 1)]), full);
    let longest = of(&"x".repeat(79), i64::MIN);
    assert_eq!(value(&merged(&existing, [longest])).len(), 1000);
    let too_long = of(&"x".repeat(80), 1);
    assert_eq!(merged(&existing, [too_long, of("b", 1)]), merged(&existing, [of("b", 1)]));
}

#[test]
fn a_value_has_its_length_when_all_revisions_have_risen() {
    let all = |revision| (0..100).map(move |place| of(&format!("c/{place}"), revision));
    let short = merged(&[], all(1));
    assert_eq!(short.len(), 38);
    let risen = merged(&short, all(i64::MAX));
    assert!(value(&risen).len() <= 1000);
    assert_eq!(risen.len(), short.len());
}

#[test]
fn an_entry_is_old_if_it_was_written_before_its_registry_was_retired() {
    let retired = [of("a", 5), of("b", 9)];
    assert!(is_old(&retired, "a", 5) && is_old(&retired, "a", 4) && is_old(&retired, "b", 9));
    assert!(!is_old(&retired, "a", 6) && !is_old(&retired, "c", 1) && !is_old(&[], "a", 1));
}
