//! Turns in which etcd has an earlier revision than the server has seen or written, or another etcd
//! answers.

use crate::given::*;
use crate::node::{Fault, Node, seconds};
use crate::turns_losses::renewed;
use flakeid_core::registry::transaction::Key;

/// A server whose etcd has an earlier revision than its renewals wrote, without its lease.
fn set_back() -> Node {
    let mut node = renewed();
    node.turns();
    node.pass(10);
    node.turns();
    node.pass(10);
    node.etcds[0] = Node::holder().etcds.remove(0);
    node.etcd().revoke(1);
    node
}

#[test]
fn a_server_that_has_only_renewed_notices_an_earlier_revision() {
    let mut node = set_back();
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@9) 1(0s@9) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 170s at e1",
            "report grace: EarlierRevision",
            "list",
            "lose 0 1",
            "report lost 0 1 of L1: Forgotten",
            "read high-water marks 0 1",
            "finalize 0(139s@6)",
            "finalize 1(139s@6)",
            "again"
        ]
    );
    assert_eq!(
        node.turns(),
        [
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L3 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(139s@9) 1(139s@10) by L3 until 167s",
            "publish 0(139s@12) 1(139s@12) by L3",
            "report leased 0 1",
            "again",
            "rest until 150s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn an_earlier_revision_is_noticed_after_the_lease_has_ended() {
    let mut node = set_back();
    node.before("renew", |node| node.pass(17));
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@9) 1(0s@9) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 187s at e1",
            "report grace: EarlierRevision",
            "list",
            "lose 0 1",
            "again"
        ]
    );
    let mut node = Node::holder();
    node.pass(10);
    node.turns();
    node.pass(10);
    node.turns();
    node.pass(27);
    node.etcds[0] = Node::holder().etcds.remove(0);
    assert_eq!(
        node.turn(),
        [
            "revoke L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 177s at e1",
            "report grace: EarlierRevision",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
}

#[test]
fn a_grace_period_that_did_not_begin_is_begun_again() {
    let mut node = set_back();
    node.fault("begin grace", Fault::NotDone);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@9) 1(0s@9) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 170s at e1",
            "failed: Failed(\"not done\")"
        ]
    );
    node.pass(1);
    assert_eq!(
        node.turn()[..6],
        [
            "renew 0(0s@9) 1(0s@9) by L1",
            "list",
            "grant L3 30s at e1",
            "begin grace by L3 until 171s at e1",
            "report grace: EarlierRevision",
            "list"
        ]
    );
}

#[test]
fn a_grace_period_that_began_without_an_answer_is_reported_when_it_is_listed() {
    let mut node = set_back();
    node.fault("begin grace", Fault::AnswerLost);
    assert_eq!(node.turn().last().unwrap(), "failed: Failed(\"no answer\")");
    node.pass(1);
    assert_eq!(
        node.turn()[..4],
        ["renew 0(0s@9) 1(0s@9) by L1", "list", "report grace: EarlierRevision", "lose 0 1"]
    );
}

#[test]
fn a_server_that_wants_more_than_it_held_waits_for_the_rest() {
    let mut node = set_back();
    node.wanted = 3;
    assert_eq!(node.turns().last().unwrap(), "rest until 150s");
    assert_eq!(node.held(), [0, 1]);
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(139s@12) 1(139s@12) by L3",
            "extend L3 to 177s, 177s, [(0, 13), (1, 13)]",
            "list",
            "again",
            "list",
            "again",
            "rest until 160s"
        ]
    );
}

#[test]
fn marks_of_a_copy_are_not_read() {
    let mut node = Node::at_registry();
    node.etcd().high_water_mark(0, seconds(50));
    node.before("read high-water marks", |node| node.etcd().id = D);
    assert_eq!(
        node.turn(),
        ["list", "read high-water marks 0", "failed: Failed(\"e1: another etcd\")"]
    );
    let mut node = Node::at_registry();
    node.etcd().high_water_mark(0, seconds(50));
    node.before("read high-water marks", |node| node.etcd().delete(Key::Id));
    assert_eq!(
        node.turn(),
        ["list", "read high-water marks 0", "failed: Failed(\"e1: another etcd\")"]
    );
}

#[test]
fn what_a_listing_that_needs_a_change_shows_is_seen() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(C, X, &[E1]).retired(&named(B, Y), 3)));
    let older = node.etcds[0].clone();
    node.etcd().revision = 50;
    node.fault("retire", Fault::NotDone);
    assert_eq!(
        node.turn(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "retire d/flakeid/#00000000000000a2@3 at e1",
            "failed: Failed(\"not done\")"
        ]
    );
    node.etcds[0] = older;
    node.pass(1);
    assert_eq!(
        node.turn(),
        [
            "list",
            "grant L1 30s at e1",
            "begin grace by L1 until 131s at e1",
            "report grace: EarlierRevision",
            "list",
            "retire d/flakeid/#00000000000000a2@3 at e1",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
}

#[test]
fn the_revision_of_another_registry_does_not_count() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(D, Y, &[E1])));
    let older = node.etcds[0].clone();
    node.etcd().revision = 50;
    assert_eq!(
        node.turn(),
        [
            "list",
            "failed: OtherRegistry { last: \"d/flakeid/#00000000000000a2\", listed: \"c/flakeid/#00000000000000a1\" }"
        ]
    );
    node.memory = Ok(None);
    node.etcds[0] = older;
    node.pass(1);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 128s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "report leased 0 1",
            "again",
            "rest until 111s"
        ]
    );
}

#[test]
fn a_revision_that_others_wrote_is_seen_by_a_holder() {
    let mut node = Node::holder();
    (node.wanted, node.pool) = (3, 0..=1);
    node.etcd().revision = 50;
    node.turns();
    node.etcd().revision = 30;
    node.worker.reload();
    assert!(node.turn().contains(&"report grace: EarlierRevision".into()));
}

#[test]
fn an_earlier_revision_counts_until_the_grace_period_has_begun() {
    let mut node = Node::holder();
    node.pass(10);
    node.turns();
    node.pass(10);
    node.turns();
    node.pass(27);
    node.etcds[0] = Node::holder().etcds.remove(0);
    node.fault("begin grace", Fault::NotDone);
    assert_eq!(node.turn().last().unwrap(), "failed: Failed(\"not done\")");
    node.pass(1);
    assert!(node.turn().contains(&"report grace: EarlierRevision".into()));
}
