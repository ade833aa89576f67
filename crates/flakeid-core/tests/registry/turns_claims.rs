//! Turns that claim generator IDs, with other servers that are faster, and answers that are lost.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::{Key, Value};

#[test]
fn a_server_that_wants_more_renews_and_lists_before_it_claims_beside_what_it_holds() {
    let mut node = Node::holder();
    node.wanted = 3;
    assert_eq!(
        node.turns(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@7)",
            "publish 2(0s@8) by L1",
            "report leased 2",
            "again",
            "rest until 110s"
        ]
    );
    assert_eq!(node.held(), [0, 1, 2]);
}

#[test]
fn a_lost_race_begins_again_with_a_listing_at_another_place_in_the_pool() {
    let mut node = Node::at_registry();
    node.before("claim", |node| node.etcd().claim(1, 50));
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "list",
            "claim 7 8 by L1 until 127s",
            "publish 7(0s@7) 8(0s@7) by L1",
            "report leased 7 8",
            "again",
            "rest until 110s"
        ]
    );
}

/// Something that a claim depends on is written before it, each time.
fn always_faster(node: &mut Node) {
    node.etcd().put(Key::ClusterId, Value::Text("0".into()), 0);
    node.before("claim", always_faster);
}

#[test]
fn a_server_that_loses_every_race_pauses_and_revokes_its_lease() {
    let mut node = Node::at_registry();
    node.before("claim", always_faster);
    let lines = node.turns();
    assert_eq!(lines.iter().filter(|line| line.starts_with("claim")).count(), 5);
    assert_eq!(lines.last().unwrap(), "back off until 100.1s");
    node.pass(1);
    assert_eq!(node.turn()[..2], ["revoke L1", "list"]);
}

#[test]
fn a_holder_that_loses_every_race_keeps_what_it_holds_and_pauses() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.before("claim", always_faster);
    let lines = node.turns();
    assert_eq!(lines.iter().filter(|line| line.starts_with("claim")).count(), 5);
    assert_eq!(lines.last().unwrap(), "rest until 100.1s");
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_claim_whose_answer_is_lost_is_made_again_and_confirmed_at_its_ceiling() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "confirm 0(0s@6) 1(0s@6) by L1 until 127s",
            "publish 0(0s@7) 1(0s@7) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_claim_that_was_not_made_is_made_again() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::NotDone);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_claim_is_made_twice_at_most_and_then_its_lease_is_revoked() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    node.fault("claim", Fault::NotDone);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "failed: Failed(\"not done\")"
        ]
    );
    node.pass(1);
    assert_eq!(node.turn()[..2], ["revoke L1", "list"]);
}

#[test]
fn a_confirmation_whose_answer_is_lost_is_made_again_from_the_claim_on() {
    let mut node = Node::at_registry();
    node.before("claim", |node| {
        for id in [0, 1] {
            node.etcd().claim(id, 1);
        }
    });
    node.fault("confirm", Fault::AnswerLost);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "confirm 0(0s@6) 1(0s@7) by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "confirm 0(0s@8) 1(0s@8) by L1 until 127s",
            "publish 0(0s@9) 1(0s@9) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn claims_that_change_before_they_are_confirmed_are_a_lost_race() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    node.before("confirm", |node| node.etcd().claim(0, 1));
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "confirm 0(0s@6) 1(0s@6) by L1 until 127s",
            "list",
            "claim 7 8 by L1 until 127s",
            "publish 7(0s@8) 8(0s@8) by L1",
            "report leased 7 8",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_claim_of_which_a_part_is_gone_is_a_lost_race_and_the_rest_is_deleted_later() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    node.before("claim", |node| {
        node.before("claim", |node| node.etcd().delete(Key::Claim { cluster: 0, id: 0 }));
    });
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "list",
            "claim 7 8 by L1 until 127s",
            "publish 7(0s@8) 8(0s@8) by L1",
            "report leased 7 8",
            "again",
            "rest until 110s"
        ]
    );
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 7(0s@8) 8(0s@8) by L1",
            "extend L1 to 137s, 137s, [(7, 9), (8, 9)]",
            "list",
            "read high-water marks 1",
            "release 1(127s@6) by L1",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn a_claim_is_not_made_again_after_the_end_of_its_lease() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    node.before("claim", |node| node.now += 27);
    assert_eq!(node.turns().last().unwrap(), "failed: Failed(\"no answer\")");
    let mut node = Node::at_registry();
    node.fault("claim", Fault::AnswerLost);
    node.before("claim", |node| node.now += 26);
    node.turns();
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_holder_does_not_repeat_a_claim_and_deletes_it_later() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.fault("claim", Fault::AnswerLost);
    assert_eq!(
        node.turns(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@7)",
            "failed: Failed(\"no answer\")"
        ]
    );
    node.wanted = 2;
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "extend L1 to 137s, 137s, [(0, 9), (1, 9)]",
            "list",
            "read high-water marks 2",
            "release 2(127s@8) by L1",
            "again",
            "rest until 120s"
        ]
    );
    assert_eq!(node.etcd().list(E1).claims_of(1).len(), 2);
}

#[test]
fn a_claim_that_is_answered_after_the_end_of_its_lease_is_not_used() {
    let mut node = Node::at_registry();
    node.before("publish", |node| node.now += 27);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "failed: Late"
        ]
    );
    assert!(node.held().is_empty());
    node.pass(1);
    assert_eq!(node.turn()[..2], ["revoke L1", "list"]);
}

#[test]
fn a_claim_beside_a_lease_that_has_ended_is_not_used() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.before("publish", |node| node.pass(27));
    assert_eq!(
        node.turn(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@7)",
            "publish 2(0s@8) by L1",
            "again"
        ]
    );
    let mut node = Node::holder();
    node.wanted = 3;
    node.before("claim", |node| node.pass(27));
    assert_eq!(
        node.turn(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@7)",
            "again"
        ]
    );
    assert!(node.held().is_empty());
}

#[test]
fn a_claim_that_a_copy_answers_is_not_used() {
    let mut node = Node::at_registry();
    node.before("claim", |node| node.etcd().id = D);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "claim 0 1 by L1 until 127s",
            "failed: Failed(\"another etcd answered\")"
        ]
    );
    assert!(node.held().is_empty());
}

#[test]
fn another_epoch_is_refused_and_nothing_is_written() {
    let mut node = Node::new(Etcd::with_registry(C, A, &identity(&[X]).to_string()));
    node.epoch = seconds(1);
    let before = node.etcd().revision;
    assert_eq!(node.turns(), ["list", "failed: OtherEpoch(\"a time\")"]);
    assert_eq!(node.etcd().revision, before);
}

#[test]
fn a_claim_has_at_most_32_generator_ids() {
    let mut node = Node::at_registry();
    (node.wanted, node.pool) = (40, 0..=99);
    node.turn();
    assert_eq!(node.held(), (0..32).collect::<Vec<_>>());
    node.turns();
    assert_eq!(node.held(), (0..40).collect::<Vec<_>>());
}

#[test]
fn after_a_lost_race_a_server_begins_at_a_place_of_its_own_pool() {
    let mut node = Node::at_registry();
    node.pool = 10..=14;
    node.before("claim", |node| node.etcd().claim(10, 50));
    node.turns();
    assert_eq!(node.held(), [12, 13]);
    let mut node = Node::at_registry();
    node.pool = 0..=u16::MAX;
    node.before("claim", |node| node.etcd().claim(0, 50));
    node.turns();
    assert_eq!(node.held(), [7, 8]);
}

#[test]
fn a_claim_beside_others_takes_the_lease_to_the_registry_that_was_listed() {
    let mut node = Node::holder();
    node.etcd().put(Key::Id, Value::Text(identity(&[N, X]).to_string()), 0);
    node.wanted = 3;
    node.turns();
    assert_eq!(node.held(), [0, 1, 2]);
    assert_eq!(node.lease.unwrap().authority, seen(C, N, 0).authority);
}

#[test]
fn a_claim_that_is_interrupted_ends_the_turn_and_its_lease_is_revoked() {
    let mut node = Node::at_registry();
    node.fault("claim", Fault::Interrupted);
    assert_eq!(node.turn().last().unwrap(), "interrupted");
    assert_eq!(node.turn()[0], "revoke L1");
}
