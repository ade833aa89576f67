//! Turns of a server that leases for the first time, or from another registry than before.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node};
use flakeid_core::registry::transaction::{Key, Value};

#[test]
fn a_server_founds_the_registry_and_waits_until_its_grace_period_is_over() {
    let mut node = Node::new(Etcd::new(C));
    assert_eq!(
        node.turn(),
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 130s at e1",
            "report founded c/flakeid/#00000000000000ff",
            "list",
            "create ClusterId at e1",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
    assert_eq!(node.turn(), ["back off until 101s"]);
    node.pass(30);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000ff (Claim)",
            "grant L2 30s",
            "list",
            "claim 0 1 by L2 until 157s",
            "publish 0(0s@5) 1(0s@5) by L2",
            "report leased 0 1",
            "again",
            "rest until 140s"
        ]
    );
}

#[test]
fn a_server_remembers_a_registry_before_it_requests_a_lease_and_lists_again_before_it_claims() {
    let mut node = Node::at_registry();
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_server_claims_nothing_in_a_grace_period() {
    let mut node = Node::at_registry();
    node.etcd().put(Key::Grace, Value::Text("then".into()), 0);
    assert_eq!(node.turns(), ["list", "failed: GracePeriod(\"then\")"]);
}

#[test]
fn a_server_completes_a_registry_that_an_administrator_began() {
    let mut etcd = Etcd::new(C);
    etcd.put(Key::Address, Value::Text(A.into()), 0);
    assert_eq!(
        Node::new(etcd).turns(),
        [
            "list",
            "identify 00000000000000ff at e1",
            "list",
            "create ClusterId at e1",
            "create Epoch at e1",
            "list",
            "remember c/flakeid/#00000000000000ff (Claim)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_server_that_remembers_a_lost_registry_founds_it_again() {
    let mut node = Node::new(Etcd::new(C));
    node.memory = Ok(Some(memory(C, X, &[E1])));
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff,00000000000000a1, grace by L1 until 130s at e1",
            "report founded c/flakeid/#00000000000000ff",
            "list",
            "remember c/flakeid/#00000000000000ff (Switch)",
            "list",
            "create ClusterId at e1",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
    node.pass(30);
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L2 30s",
            "list",
            "claim 0 1 by L2 until 157s",
            "publish 0(0s@5) 1(0s@5) by L2",
            "report leased 0 1",
            "again",
            "rest until 140s"
        ]
    );
}

#[test]
fn a_server_begins_a_grace_period_before_it_leases_from_a_registry_that_replaces_the_last_one() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(D, Y, &[E1])));
    node.etcd().put(Key::Address, Value::Text(format!("{A},{B}")), 0);
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "begin grace by L1 until 130s at e1",
            "report grace: Replaces",
            "remember c/flakeid/#00000000000000a1 (Switch)",
            "list",
            "retire d/flakeid/#00000000000000a2@5 at e1",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
    node.pass(30);
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L2 30s",
            "list",
            "claim 0 1 by L2 until 157s",
            "publish 0(0s@10) 1(0s@10) by L2",
            "report leased 0 1",
            "again",
            "rest until 140s"
        ]
    );
}

#[test]
fn a_server_whose_registry_was_founded_by_another_one_at_the_same_time_uses_that_one() {
    let mut node = Node::new(Etcd::new(C));
    node.before("found", |node| *node.etcd() = Node::at_registry().etcds.remove(0));
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 130s at e1",
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "grant L2 30s",
            "list",
            "claim 0 1 by L2 until 127s",
            "publish 0(0s@6) 1(0s@6) by L2",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
}

#[test]
fn a_registry_that_was_founded_without_an_answer_is_reported_when_it_is_listed() {
    let mut node = Node::new(Etcd::new(C));
    node.fault("found", Fault::AnswerLost);
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 130s at e1",
            "failed: Failed(\"no answer\")"
        ]
    );
    node.pass(1);
    assert_eq!(
        node.turns(),
        [
            "list",
            "report founded c/flakeid/#00000000000000ff",
            "create ClusterId at e1",
            "list",
            "failed: GracePeriod(\"a time\")"
        ]
    );
    node.pass(1);
    assert_eq!(node.turns(), ["list", "failed: GracePeriod(\"a time\")"]);
}

#[test]
fn a_grace_period_that_another_server_began_is_not_reported() {
    let mut node = Node::new(Etcd::new(C));
    node.fault("found", Fault::NotDone);
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 130s at e1",
            "failed: Failed(\"not done\")"
        ]
    );
    let mut other = Node::new(Etcd::new(C));
    other.next_lease = 50;
    other.turns();
    node.etcds = other.etcds;
    node.pass(1);
    assert_eq!(node.turns(), ["list", "failed: GracePeriod(\"a time\")"]);
}

#[test]
fn a_grace_period_lasts_at_least_as_long_as_the_last_lease() {
    let mut node = Node::new(Etcd::new(C));
    node.last_lease = (0, std::time::Duration::from_secs(90));
    assert_eq!(
        node.turn()[..3],
        [
            "list",
            "grant L1 90s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 190s at e1"
        ]
    );
}

#[test]
fn a_shorter_lease_than_requested_is_no_grace_period() {
    let mut node = Node::new(Etcd::new(C));
    node.granted = Some(std::time::Duration::from_secs(29));
    assert_eq!(node.turn(), ["list", "grant L1 30s at e1", "failed: ShortLease(29s)"]);
    assert!(!node.etcd().keys.contains_key(&Key::Grace));
    node.granted = None;
    node.pass(1);
    assert_eq!(node.turn()[..3], ["revoke L1", "list", "grant L2 30s at e1"]);
}

#[test]
fn a_longer_lease_than_requested_is_a_longer_grace_period() {
    let mut node = Node::new(Etcd::new(C));
    node.granted = Some(std::time::Duration::from_secs(60));
    assert_eq!(
        node.turn()[..3],
        [
            "list",
            "grant L1 30s at e1",
            "found c/flakeid/, 00000000000000ff, grace by L1 until 160s at e1"
        ]
    );
}

#[test]
fn a_grace_period_that_only_a_lost_registry_had_is_an_error() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(C, X, &[E1])));
    node.etcd().delete(Key::Address);
    node.before("begin grace", |node| {
        node.etcd().put(Key::Id, Value::Text(identity(&[Y]).to_string()), 0);
    });
    assert_eq!(
        node.turns(),
        ["list", "grant L1 30s at e1", "begin grace by L1 until 130s at e1", "failed: OtherEtcd"]
    );
}

#[test]
fn a_grace_period_that_began_in_the_meantime_is_enough() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(C, X, &[E1])));
    node.etcd().delete(Key::Address);
    node.before("begin grace", |node| {
        node.etcd().put(Key::Grace, Value::Text("then".into()), 0);
    });
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "begin grace by L1 until 130s at e1",
            "create Address at e1",
            "list",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "failed: GracePeriod(\"then\")"
        ]
    );
}

#[test]
fn a_registry_in_which_a_written_key_never_stays_is_given_up() {
    fn forget(node: &mut Node) {
        node.etcd().delete(Key::ClusterId);
        node.before("list", forget);
    }
    let mut node = Node::at_registry();
    node.before("list", forget);
    assert_eq!(
        node.turns(),
        [
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "create ClusterId at e1",
            "list",
            "failed: WrittenKeyLost"
        ]
    );
}

#[test]
fn a_misled_endpoint_is_left_alone_and_the_next_call_begins_with_the_other_one() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(C, X, &[E1, E2])));
    node.etcds.push(Etcd::new(C));
    node.endpoints = vec![(E1, Some(1)), (E2, Some(0))];
    assert_eq!(
        node.turns(),
        [
            "list",
            "list at e2",
            "list at e1",
            "prefer e2",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "grant L1 30s",
            "list",
            "claim 0 1 by L1 until 127s",
            "publish 0(0s@6) 1(0s@6) by L1",
            "report leased 0 1",
            "again",
            "rest until 110s"
        ]
    );
    assert!(node.etcds[1].keys.is_empty());
}

#[test]
fn a_silent_endpoint_is_part_of_the_decision() {
    let mut node = Node::new(Etcd::new(C));
    node.memory = Ok(Some(memory(C, X, &[E1])));
    node.endpoints = vec![(E1, Some(0)), (E2, None)];
    assert_eq!(node.turns(), ["list", "list at e2", "failed: EndpointSilent(\"e2 is silent\")"]);
}

#[test]
fn an_error_is_tried_again_after_a_second() {
    let mut node = Node::at_registry();
    node.endpoints = vec![(E1, None)];
    assert_eq!(node.turns(), ["list", "failed: Failed(\"e1 is silent\")"]);
    assert_eq!(node.turns(), ["back off until 101s"]);
    node.worker.reload();
    assert_eq!(node.turns(), ["list", "failed: Failed(\"e1 is silent\")"]);
    node.pass(1);
    assert_eq!(node.turns(), ["list", "failed: Failed(\"e1 is silent\")"]);
}

#[test]
fn a_memory_that_cannot_be_read_stops_the_server_from_leasing() {
    let mut node = Node::at_registry();
    node.memory = Err("the file is damaged".into());
    assert_eq!(node.turns(), ["list", "failed: Failed(\"the file is damaged\")"]);
}
