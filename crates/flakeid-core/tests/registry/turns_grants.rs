//! Turns that request a lease: one that is not used is revoked, and a claim depends on it.

use crate::node::{Fault, Node};
use flakeid_core::registry::transaction::{Key, Value};
use std::time::Duration;

#[test]
fn a_lease_of_no_duration_is_not_used() {
    let mut node = Node::at_registry();
    node.granted = Some(Duration::ZERO);
    assert_eq!(
        node.turn(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "failed: ShortLease(0ns)"
        ]
    );
    node.pass(1);
    assert_eq!(node.turn()[..1], ["revoke L1"]);
}

#[test]
fn a_lease_that_was_requested_without_an_answer_is_revoked() {
    let mut node = Node::at_registry();
    node.fault("grant", Fault::AnswerLost);
    assert_eq!(
        node.turn(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "failed: Failed(\"no answer\")"
        ]
    );
    node.pass(1);
    assert_eq!(node.turn()[..2], ["revoke L1", "list"]);
}

#[test]
fn nothing_is_listed_until_an_unused_lease_is_revoked() {
    let mut node = Node::at_registry();
    node.fault("grant", Fault::AnswerLost);
    node.fault("revoke", Fault::NotDone);
    node.turn();
    node.pass(1);
    assert_eq!(node.turn(), ["revoke L1", "failed: Failed(\"not done\")"]);
    node.pass(1);
    assert_eq!(node.turn()[..2], ["revoke L1", "list"]);
}

#[test]
fn an_etcd_that_forgot_the_lease_makes_no_claim() {
    let mut node = Node::at_registry();
    node.before("grant", |node| {
        let older = node.etcds[0].clone();
        node.before("claim", move |node| node.etcds[0] = older);
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
            "failed: Failed(\"e1: requested lease not found\")"
        ]
    );
}

#[test]
fn an_etcd_that_forgot_the_renewal_makes_no_claim() {
    let mut node = Node::holder();
    node.wanted = 3;
    let older = node.etcds[0].clone();
    node.before("claim", move |node| node.etcds[0] = older);
    assert_eq!(
        node.turns(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@7)",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 130s at e1",
            "report grace: EarlierRevision",
            "list",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn another_uniqueid_cluster_takes_all_claims_with_it() {
    let mut node = Node::holder();
    node.etcd().put(Key::ClusterId, Value::Text("3,0".into()), 0);
    node.pass(10);
    assert_eq!(node.turns().len(), 4);
    node.wanted = 3;
    assert_eq!(
        node.turns(),
        [
            "list",
            "give up 0 1",
            "release 0(109s@8) 1(109s@8) by L1",
            "revoke L1",
            "report released 0 1",
            "again",
            "list",
            "read high-water marks 0 1",
            "grant L2 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(109s@9) 1(109s@9) 2 by L2 in cluster 3 until 137s",
            "publish 0(109s@11) 1(109s@11) 2(0s@11) by L2",
            "report leased 0 1 2",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn a_lease_that_was_lost_is_revoked_before_the_next_one() {
    let mut node = Node::holder();
    node.pass(27);
    assert_eq!(
        node.turns(),
        [
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L2 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(127s@6) 1(127s@6) by L2 until 154s",
            "publish 0(127s@8) 1(127s@8) by L2",
            "report leased 0 1",
            "again",
            "rest until 137s"
        ]
    );
    assert_eq!(node.turn(), ["rest until 137s"]);
}
