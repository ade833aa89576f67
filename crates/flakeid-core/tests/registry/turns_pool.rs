//! Turns of a server that finds nothing to claim, or high-water marks that it must read first.

use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::{Key, Value};

#[test]
fn a_server_waits_for_a_release_if_others_hold_the_whole_pool() {
    let mut node = Node::at_registry();
    node.pool = 0..=1;
    node.etcd().claim(0, 50);
    node.etcd().claim(1, 50);
    assert_eq!(
        node.turn(),
        ["list", "report the pool is empty", "await a release after revision 7, 10s", "again"]
    );
    node.ttl = 2;
    node.turn();
    assert_eq!(node.turn()[2], "await a release after revision 7, 1s");
    node.fault("await", Fault::NotDone);
    assert_eq!(node.turn().last().unwrap(), "failed: Failed(\"not done\")");
}

#[test]
fn a_lease_that_finds_the_pool_empty_is_revoked_before_the_server_waits() {
    let mut node = Node::at_registry();
    node.pool = 0..=0;
    node.before("grant", |node| node.etcd().claim(0, 50));
    assert_eq!(
        node.turn(),
        ["list", "remember c/flakeid/#00000000000000a1 (Claim)", "grant L1 30s", "list", "again"]
    );
    assert_eq!(
        node.turn(),
        [
            "revoke L1",
            "list",
            "report the pool is empty",
            "await a release after revision 7, 10s",
            "again"
        ]
    );
}

#[test]
fn a_holder_that_finds_the_pool_empty_looks_again_after_a_third_of_its_lease() {
    let mut node = Node::holder();
    (node.wanted, node.pool) = (3, 0..=1);
    assert_eq!(node.turns(), ["list", "again", "rest until 110s"]);
    node.ttl = 30;
    node.pass(9);
    assert_eq!(node.turns(), ["rest until 110s"]);
    node.worker.reload();
    assert_eq!(node.turns(), ["list", "again", "rest until 110s"]);
}

#[test]
fn a_holder_claims_nothing_more_in_a_grace_period() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.etcd().put(Key::Grace, Value::Text("then".into()), 0);
    assert_eq!(node.turns(), ["list", "again", "rest until 110s"]);
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_mark_that_is_not_a_time_keeps_its_generator_id_from_being_leased() {
    let mut node = Node::at_registry();
    node.pool = 0..=2;
    node.etcd().put(Key::HighWaterMark(0), Value::Text("tomorrow".into()), 0);
    node.etcd().high_water_mark(1, seconds(50));
    assert_eq!(
        node.turns(),
        [
            "list",
            "read high-water marks 0 1",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "read high-water marks 1",
            "claim 1(50s@7) 2 by L1 until 127s",
            "publish 1(50s@8) 2(0s@8) by L1",
            "report leased 1 2",
            "again",
            "rest until 110s"
        ]
    );
    let broken = node.worker.unreadable_mark(0..=9).map(|(id, value)| (id, value.clone()));
    assert_eq!(broken, Some((0, "Text(\"tomorrow\")".into())));
    assert_eq!(node.worker.unreadable_mark(1..=9), None);
}

#[test]
fn a_mark_that_is_not_a_time_is_read_again_only_if_it_was_written_again() {
    let mut node = Node::at_registry();
    (node.wanted, node.pool) = (1, 0..=0);
    node.etcd().put(Key::HighWaterMark(0), Value::Text("tomorrow".into()), 0);
    assert_eq!(
        node.turn(),
        [
            "list",
            "read high-water marks 0",
            "report the pool is empty",
            "await a release after revision 6, 10s",
            "again"
        ]
    );
    assert_eq!(
        node.turn(),
        ["list", "report the pool is empty", "await a release after revision 6, 10s", "again"]
    );
    node.etcd().high_water_mark(0, seconds(50));
    assert_eq!(
        node.turns(),
        [
            "list",
            "read high-water marks 0",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "read high-water marks 0",
            "claim 0(50s@7) by L1 until 147s",
            "publish 0(50s@8) by L1",
            "report leased 0",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn marks_that_were_read_in_one_namespace_say_nothing_in_another_one() {
    let mut node = Node::at_registry();
    (node.wanted, node.pool) = (1, 0..=0);
    node.etcd().put(Key::HighWaterMark(0), Value::Text("tomorrow".into()), 0);
    node.turn();
    assert!(node.worker.unreadable_mark(0..=9).is_some());
    node.namespace = "orders/".into();
    node.turn();
    assert_eq!(node.worker.unreadable_mark(0..=9), None);
}

#[test]
fn marks_that_are_ahead_of_the_clock_are_avoided_and_read_many_at_a_time() {
    let mut node = Node::at_registry();
    node.pool = 0..=99;
    for id in 0..40 {
        node.etcd().high_water_mark(id, seconds(1000));
    }
    let lines = node.turn();
    assert_eq!(
        lines[1],
        "read high-water marks 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"
    );
    assert_eq!(node.held(), [40, 41]);
    let mut node = Node::at_registry();
    node.pool = 0..=1;
    node.etcd().high_water_mark(0, seconds(1000));
    assert_eq!(
        node.turn()[5..],
        [
            "read high-water marks 0",
            "claim 0(1000s@6) 1 by L1 until 127s",
            "publish 0(1000s@7) 1(0s@7) by L1",
            "report leased 0 1",
            "again"
        ]
    );
}

#[test]
fn a_renewal_comes_before_marks_are_read() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.etcd().high_water_mark(2, seconds(50));
    node.before("list", |node| node.pass(10));
    assert_eq!(node.turn(), ["list", "again"]);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@6) 1(0s@6) by L1",
            "extend L1 to 137s, 137s, [(0, 8), (1, 8)]",
            "again",
            "list",
            "read high-water marks 2",
            "renew 0(0s@8) 1(0s@8) by L1",
            "extend L1 to 137s, 137s, [(0, 9), (1, 9)]",
            "list",
            "read high-water marks 2",
            "claim 2(50s@7) by L1 until 137s beside 0(0s@9)",
            "publish 2(50s@10) by L1",
            "report leased 2",
            "again",
            "rest until 120s"
        ]
    );
    let mut node = Node::holder();
    node.wanted = 3;
    node.etcd().high_water_mark(2, seconds(50));
    node.before("list", |node| node.worker.request_renewal());
    assert_eq!(node.turn(), ["list", "again"]);
    assert_eq!(node.turn()[..1], ["renew 0(0s@6) 1(0s@6) by L1"]);
}

#[test]
fn a_worker_says_once_that_it_has_chosen() {
    let mut node = Node::at_registry();
    node.etcd().high_water_mark(0, seconds(50));
    node.fault("read high-water marks", Fault::NotDone);
    node.turn();
    assert!(!node.worker.take_choice());
    node.pass(1);
    node.turns();
    assert!(node.worker.take_choice());
    assert!(!node.worker.take_choice());
}
