//! Turns that renew a lease, and what a renewal does besides.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::{Key, Value};
use flakeid_core::registry::turn::Worker;
use std::time::Duration;

#[test]
fn a_lease_is_renewed_after_a_third_of_its_duration() {
    let mut node = Node::holder();
    node.pass(9);
    assert_eq!(node.turns(), ["rest until 110s"]);
    node.pass(1);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 7), (1, 7)]",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn a_session_can_request_a_renewal_at_any_time() {
    let mut node = Node::holder();
    node.worker.request_renewal();
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_renewal_in_another_term_than_its_transaction_is_made_again() {
    let mut node = Node::holder();
    node.etcd().leader_changes = 1;
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "renew 0(0s@6) 1(0s@6) by L1",
            "list",
            "renew 0(0s@7) 1(0s@7) by L1",
            "extend L1 to 137s, 137s, [(0, 8), (1, 8)]",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn a_renewal_that_is_never_sure_is_given_up_and_the_lease_goes_on() {
    let mut node = Node::holder();
    node.etcd().is_mute = true;
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "renew 0(0s@6) 1(0s@6) by L1",
            "renew 0(0s@6) 1(0s@6) by L1",
            "renew 0(0s@6) 1(0s@6) by L1",
            "renew 0(0s@6) 1(0s@6) by L1",
            "failed: LeaderChanges"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_renewal_that_is_unsure_when_the_lease_ends_is_not_made_again() {
    let mut node = Node::holder();
    node.etcd().is_mute = true;
    node.pass(10);
    node.before("renew", |node| node.pass(17));
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L2 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(127s@6) 1(127s@6) by L2 until 154s",
            "publish 0(127s@8) 1(127s@8) by L2",
            "report leased 0 1",
            "again"
        ]
    );
}

#[test]
fn a_renewal_that_is_answered_after_the_end_of_the_lease_is_not_used() {
    let mut node = Node::holder();
    node.pass(10);
    node.before("extend", |node| node.pass(27));
    assert_eq!(
        node.turn(),
        ["renew 0(0s@6) 1(0s@6) by L1", "extend L1 to 137s, 137s, [(0, 7), (1, 7)]", "again"]
    );
    let mut node = Node::holder();
    node.wanted = 3;
    node.before("extend", |node| node.now += 27);
    assert_eq!(
        node.turn(),
        [
            "list",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 7), (1, 7)]",
            "again"
        ]
    );
}

#[test]
fn a_renewal_that_another_etcd_answers_is_made_again_where_the_lease_is() {
    let mut node = Node::holder();
    node.etcds.push(Etcd::new(D));
    node.endpoints = vec![(E1, Some(1)), (E2, Some(0))];
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "list",
            "list at e2",
            "list at e1",
            "prefer e2",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 7), (1, 7)]",
            "again",
            "rest until 120s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_renewal_by_another_endpoint_is_remembered() {
    let mut node = Node::holder();
    node.endpoints = vec![(E1, None), (E2, Some(0))];
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 7), (1, 7)]",
            "list",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "again",
            "rest until 120s"
        ]
    );
    let memory = node.memory.clone().unwrap().unwrap();
    assert_eq!(memory.endpoints, [E2, E1]);
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "extend L1 to 147s, 147s, [(0, 8), (1, 8)]",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn a_renewal_stands_even_if_its_endpoint_cannot_be_remembered() {
    for line in ["list", "remember"] {
        for fault in [Fault::NotDone, Fault::AnswerLost] {
            let mut node = Node::holder();
            node.endpoints = vec![(E1, None), (E2, Some(0))];
            node.pass(10);
            node.fault(line, fault);
            let lines = node.turns();
            assert_eq!(lines[lines.len() - 2..], ["again", "rest until 120s"]);
        }
    }
    let mut node = Node::holder();
    node.endpoints = vec![(E1, None), (E2, Some(0))];
    node.pass(10);
    node.before("list", |node| node.memory = Err("damaged".into()));
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 7), (1, 7)]",
            "list",
            "again",
            "rest until 120s"
        ]
    );
}

/// A worker that finds a lease in shared memory. Generator ID 5 is claimed by that lease, and not
/// held.
fn with_orphan() -> Node {
    let mut node = Node::holder();
    let ttl = Duration::from_secs(30);
    node.worker = Worker::new(ttl, true, Duration::from_secs(node.now));
    node.etcd().claim(5, 1);
    node.etcd().high_water_mark(5, seconds(50));
    node
}

#[test]
fn a_worker_that_finds_a_lease_deletes_claims_that_are_not_held() {
    let mut node = with_orphan();
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 9), (1, 9)]",
            "list",
            "read high-water marks 5",
            "release 5(50s@7) by L1",
            "again",
            "rest until 120s"
        ]
    );
    let listing = node.etcd().list(E1);
    assert_eq!(listing.claims_of(1).len(), 2);
    assert_eq!(node.etcd().read(&[5])[0].1.as_ref().unwrap().moment, Ok(seconds(50)));
}

#[test]
fn orphans_are_looked_for_until_a_renewal_after_the_window_finds_none() {
    let mut node = with_orphan();
    let mut listed = Vec::new();
    for _ in 0..9 {
        node.pass(10);
        let count = node.turns().iter().filter(|line| *line == "list").count();
        listed.push(format!("{count} at {}s", node.now));
    }
    assert_eq!(
        listed,
        [
            "1 at 110s",
            "1 at 120s",
            "1 at 130s",
            "1 at 140s",
            "1 at 150s",
            "1 at 160s",
            "0 at 170s",
            "0 at 180s",
            "0 at 190s"
        ]
    );
}

#[test]
fn orphans_are_looked_for_as_long_as_there_are_any() {
    let mut node = with_orphan();
    node.etcd().put(Key::HighWaterMark(5), Value::Text("tomorrow".into()), 0);
    for _ in 0..9 {
        node.pass(10);
        let lines = node.turns();
        assert!(lines.contains(&"list".into()), "{lines:?}");
    }
    node.etcd().high_water_mark(5, seconds(50));
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@18) 1(0s@18) by L1",
            "extend L1 to 227s, 227s, [(0, 20), (1, 20)]",
            "list",
            "read high-water marks 5",
            "release 5(50s@7) by L1",
            "again",
            "rest until 210s"
        ]
    );
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@20) 1(0s@20) by L1",
            "extend L1 to 237s, 237s, [(0, 22), (1, 22)]",
            "list",
            "again",
            "rest until 220s"
        ]
    );
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@22) 1(0s@22) by L1",
            "extend L1 to 247s, 247s, [(0, 23), (1, 23)]",
            "again",
            "rest until 230s"
        ]
    );
}

#[test]
fn an_orphan_without_a_mark_stays() {
    let mut node = with_orphan();
    node.etcd().delete(Key::HighWaterMark(5));
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 10), (1, 10)]",
            "list",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn an_orphan_that_cannot_be_deleted_now_is_deleted_by_the_next_renewal() {
    for line in ["list", "read high-water marks", "release"] {
        let mut node = with_orphan();
        node.pass(10);
        node.fault(line, Fault::NotDone);
        let lines = node.turns();
        assert_eq!(lines[lines.len() - 2..], ["again", "rest until 120s"]);
        node.pass(10);
        assert!(node.turns().contains(&"release 5(50s@7) by L1".into()));
    }
}

#[test]
fn orphans_are_deleted_one_by_one() {
    let mut node = with_orphan();
    node.etcd().claim(6, 1);
    node.etcd().high_water_mark(6, seconds(60));
    node.before("release 5", |node| node.etcd().claim(5, 1));
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 11), (1, 11)]",
            "list",
            "read high-water marks 5 6",
            "release 5(50s@7) by L1",
            "release 6(60s@9) by L1",
            "again",
            "rest until 120s"
        ]
    );
}

#[test]
fn an_unused_lease_is_revoked_before_orphans_are_looked_for() {
    let mut node = with_orphan();
    node.endpoints = vec![(E1, Some(0)), (E2, None)];
    node.wanted = 3;
    node.worker.request_renewal();
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 9), (1, 9)]",
            "list",
            "read high-water marks 5",
            "release 5(50s@7) by L1",
            "again",
            "list",
            "renew 0(0s@9) 1(0s@9) by L1",
            "extend L1 to 127s, 127s, [(0, 11), (1, 11)]",
            "list",
            "claim 2 by L1 until 127s beside 0(0s@11)",
            "publish 2(0s@12) by L1",
            "report leased 2",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_renewal_needs_no_memory() {
    let mut node = Node::holder();
    assert!(!node.worker.needs_memory());
    node.pass(10);
    node.before("renew", |node| assert!(!node.worker.needs_memory()));
    node.before("extend", |node| assert!(!node.worker.needs_memory()));
    node.memory = Err("damaged".into());
    node.turns();
    assert_eq!(node.held(), [0, 1]);
}
