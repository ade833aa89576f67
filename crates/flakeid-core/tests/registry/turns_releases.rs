//! Turns that give generator IDs back.

use crate::given::*;
use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::{Key, Value};

#[test]
fn a_server_that_wants_less_seals_before_it_releases_the_surplus() {
    let mut node = Node::holder();
    node.wanted = 1;
    assert_eq!(
        node.turns(),
        ["give up 1", "release 1(99s@6) by L1", "report released 1", "again", "rest until 110s"]
    );
    assert_eq!(node.held(), [0]);
}

#[test]
fn generator_ids_outside_the_pool_are_released() {
    let mut node = Node::holder();
    node.pool = 1..=9;
    assert_eq!(node.turn(), ["give up 0", "release 0(99s@6) by L1", "report released 0", "again"]);
    assert_eq!(node.held(), [1]);
    let mut node = Node::holder();
    node.pool = 5..=9;
    assert_eq!(
        node.turn(),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
}

#[test]
fn a_lease_in_another_namespace_is_released_there() {
    let mut node = Node::holder();
    node.namespace = "orders/".into();
    node.before("release", |node| {
        let namespace = node.worker.namespace("orders/");
        assert_eq!(namespace, NAMESPACE);
    });
    assert_eq!(
        node.turn(),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
    assert_eq!(node.worker.namespace("orders/"), "orders/");
}

#[test]
fn a_lease_of_another_duration_or_epoch_is_released() {
    let mut node = Node::holder();
    node.ttl = 60;
    assert_eq!(
        node.turn(),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
    assert!(node.turns().contains(&"grant L2 60s".into()));
    let mut node = Node::holder();
    node.epoch = seconds(1);
    assert_eq!(
        node.turns()[..5],
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
}

fn give_back(node: &mut Node) -> Vec<String> {
    let lease = node.lease.clone().unwrap();
    node.worker.give_back(&lease);
    node.turn()
}

#[test]
fn a_server_that_ends_gives_all_back() {
    let mut node = Node::holder();
    assert_eq!(
        give_back(&mut node),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
    assert!(node.etcd().list(E1).taken.is_empty());
    assert!(node.etcd().leases.is_empty());
}

#[test]
fn a_lease_that_was_given_back_is_not_revoked_again() {
    let mut node = Node::holder();
    give_back(&mut node);
    assert_eq!(node.turn()[0], "list");
}

#[test]
fn a_lease_that_cannot_be_given_back_is_revoked_later() {
    for (line, report) in
        [("release", "report not released 0 1"), ("revoke", "report released 0 1")]
    {
        for fault in [Fault::NotDone, Fault::AnswerLost, Fault::Interrupted] {
            let mut node = Node::holder();
            node.fault(line, fault);
            let lines = give_back(&mut node);
            assert_eq!(lines[lines.len() - 2..], [report, "again"]);
            assert_eq!(node.turn()[0], "revoke L1");
        }
    }
}

#[test]
fn some_that_cannot_be_released_are_orphans() {
    for fault in [Fault::NotDone, Fault::AnswerLost, Fault::Interrupted] {
        let mut node = Node::holder();
        node.wanted = 1;
        node.fault("release", fault);
        assert_eq!(
            node.turn(),
            ["give up 1", "release 1(99s@6) by L1", "report not released 1", "again"]
        );
        node.pass(10);
        node.turns();
        assert_eq!(node.etcd().list(E1).taken.len(), 1);
    }
}

#[test]
fn claims_that_have_changed_are_released_as_they_are_found() {
    let mut node = Node::holder();
    node.etcd().claim(1, 1);
    assert_eq!(
        give_back(&mut node),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "release 0(99s@6) 1(99s@7) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
}

#[test]
fn claims_that_others_have_taken_are_not_released() {
    let mut node = Node::holder();
    node.etcd().claim(1, 50);
    node.etcd().high_water_mark(1, seconds(500));
    assert_eq!(
        give_back(&mut node),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "release 0(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
    assert_eq!(node.etcd().list(E1).claims_of(50).len(), 1);
}

#[test]
fn claims_that_are_gone_need_no_release() {
    let mut node = Node::holder();
    node.etcd().revoke(1);
    assert_eq!(
        give_back(&mut node),
        [
            "give up 0 1",
            "release 0(99s@6) 1(99s@6) by L1",
            "revoke L1",
            "report released 0 1",
            "again"
        ]
    );
    let mut node = Node::holder();
    node.wanted = 1;
    node.etcd().delete(Key::Claim { cluster: 0, id: 1 });
    assert_eq!(node.turn(), ["give up 1", "release 1(99s@6) by L1", "report released 1", "again"]);
}

/// The claims change before each release.
fn change(node: &mut Node) {
    node.etcd().claim(0, 1);
    node.etcd().claim(1, 1);
    node.before("release", change);
}

#[test]
fn claims_that_always_change_end_with_their_lease() {
    let mut node = Node::holder();
    node.before("release", change);
    let lines = give_back(&mut node);
    assert_eq!(lines.iter().filter(|line| line.starts_with("release")).count(), 5);
    assert_eq!(lines[lines.len() - 3..], ["revoke L1", "report released 0 1", "again"]);
    assert!(node.etcd().list(E1).taken.is_empty());
}

#[test]
fn some_claims_that_always_change_are_orphans() {
    let mut node = Node::holder();
    node.wanted = 1;
    node.before("release", change);
    let lines = node.turn();
    assert_eq!(lines[lines.len() - 2..], ["report not released 1", "again"]);
}

#[test]
fn what_the_server_does_not_hold_any_more_is_not_released() {
    let mut node = Node::holder();
    node.wanted = 1;
    node.before("give up", |node| drop(node.lease.take()));
    assert_eq!(node.turn(), ["give up 1", "again"]);
}

#[test]
fn what_is_lost_since_a_turn_began_is_not_reported_twice() {
    let mut node = Node::holder();
    node.pass(10);
    node.etcd().revoke(1);
    node.before("lose", |node| drop(node.lease.take()));
    assert_eq!(node.turn(), ["renew 0(0s@6) 1(0s@6) by L1", "list", "lose 0 1", "again"]);
}

#[test]
fn a_release_that_writes_a_key_leaves_the_others_alone() {
    let mut node = Node::holder();
    node.etcd().put(Key::Retired, Value::Text("x@1".into()), 0);
    give_back(&mut node);
    let keys = node.etcd().keys.keys().copied().collect::<Vec<_>>();
    let kept = [Key::ClusterId, Key::Epoch, Key::Address, Key::Id, Key::Retired];
    assert_eq!(keys, [&kept[..], &[Key::HighWaterMark(0), Key::HighWaterMark(1)]].concat());
}
