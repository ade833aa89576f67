//! Turns in which a server finds that etcd has forgotten what the server wrote.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node, seconds};
use crate::turns_losses::{CLAIM_1, renewed};
use flakeid_core::registry::transaction::{Key, Value};
use std::collections::BTreeSet;

/// Etcd loses what was written since a state that had the lease, and others have written as much
/// since.
fn forget(node: &mut Node) {
    let mut older = Node::holder().etcds.remove(0);
    older.revision = node.etcds[0].revision + 5;
    node.etcds[0] = older;
}

#[test]
fn a_server_begins_a_grace_period_before_it_gives_up_what_etcd_has_forgotten() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().delete(CLAIM_1);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 150s at e1",
            "report grace: EarlierMark",
            "lose 1",
            "report lost 1 of L1: Forgotten",
            "read high-water marks 1",
            "renew 0(0s@6) by L1",
            "extend L1 to 147s, 147s, [(0, 15)]",
            "list",
            "again"
        ]
    );
    assert_eq!(node.held(), [0]);
    assert_eq!(
        node.turns(),
        [
            "list",
            "read high-water marks 1",
            "renew 0(0s@15) by L1",
            "extend L1 to 147s, 147s, [(0, 16)]",
            "list",
            "read high-water marks 1",
            "claim 1(127s@6) by L1 until 147s beside 0(0s@16)",
            "publish 1(127s@17) by L1",
            "report leased 1",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn a_lease_that_etcd_has_forgotten_is_claimed_again_in_the_grace_period() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().revoke(1);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 150s at e1",
            "report grace: EarlierMark",
            "lose 0 1",
            "report lost 0 1 of L1: Forgotten",
            "read high-water marks 0 1",
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
            "claim 0(127s@6) 1(127s@6) by L3 until 147s",
            "publish 0(127s@16) 1(127s@16) by L3",
            "report leased 0 1",
            "again",
            "rest until 130s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn an_earlier_revision_begins_the_grace_period_before_the_marks_are_compared() {
    let mut node = renewed();
    node.etcds[0] = Node::holder().etcds.remove(0);
    node.etcd().revoke(1);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 150s at e1",
            "report grace: EarlierMark",
            "lose 0 1",
            "report lost 0 1 of L1: Forgotten",
            "read high-water marks 0 1",
            "again",
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L3 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(127s@6) 1(127s@6) by L3 until 147s",
            "publish 0(127s@10) 1(127s@10) by L3",
            "report leased 0 1",
            "again",
            "rest until 130s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_lost_registry_is_founded_again_and_its_leases_claimed_again() {
    let mut node = renewed();
    node.etcds[0] = Etcd::new(C);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "grant L2 30s at e1",
            "found c/flakeid/, 00000000000000ff,00000000000000a1, grace by L2 until 150s at e1",
            "report founded c/flakeid/#00000000000000ff",
            "list",
            "remember c/flakeid/#00000000000000ff (Switch)",
            "list",
            "create ClusterId at e1",
            "list",
            "lose 0 1",
            "report lost 0 1 of L1: Forgotten",
            "finalize 0(119s@0)",
            "finalize 1(119s@0)",
            "again",
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L3 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(119s@4) 1(119s@5) by L3 until 147s",
            "publish 0(119s@7) 1(119s@7) by L3",
            "report leased 0 1",
            "again",
            "rest until 130s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn nothing_is_given_up_while_the_grace_period_cannot_begin() {
    for line in ["grant", "begin grace"] {
        let mut node = renewed();
        forget(&mut node);
        node.etcd().revoke(1);
        node.fault(line, Fault::NotDone);
        assert_eq!(node.turn().last().unwrap(), "failed: Failed(\"not done\")");
        assert_eq!(node.held(), [0, 1]);
        node.pass(1);
        let lines = node.turn();
        let begun = lines.iter().position(|line| line.starts_with("begin grace"));
        let lost = lines.iter().position(|line| line.starts_with("lose"));
        assert!(begun.is_some() && begun < lost, "{lines:?}");
    }
}

/// A holder that has lost its generator IDs in a loss of data, at 120 s. Half of its lease is over
/// at 125 s.
fn lost() -> Node {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().revoke(1);
    node.turn();
    assert!(node.held().is_empty());
    node
}

#[test]
fn what_was_forgotten_is_claimed_again_only_in_the_first_half_of_its_lease() {
    let mut node = lost();
    node.now = 124;
    node.turns();
    assert_eq!(node.held(), [0, 1]);
    let mut node = lost();
    node.now = 125;
    assert_eq!(node.turns(), ["revoke L1", "list", "failed: GracePeriod(\"a time\")"]);
}

#[test]
fn what_was_forgotten_and_is_claimed_by_another_server_is_not_claimed_again() {
    let mut node = lost();
    node.etcd().claim(0, 50);
    node.turns();
    assert_eq!(node.held(), [1]);
    let mut node = lost();
    node.etcd().claim(0, 50);
    node.etcd().claim(1, 50);
    assert_eq!(node.turns().last().unwrap(), "failed: GracePeriod(\"a time\")");
}

#[test]
fn what_was_forgotten_and_has_a_mark_that_is_not_a_time_is_not_claimed_again() {
    let mut node = lost();
    node.etcd().put(Key::HighWaterMark(0), Value::Text("tomorrow".into()), 0);
    node.turns();
    assert_eq!(node.held(), [1]);
}

#[test]
fn what_was_forgotten_is_claimed_with_the_later_one_of_both_marks() {
    let mut node = lost();
    node.etcd().high_water_mark(0, seconds(500));
    assert_eq!(
        node.turns(),
        [
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L3 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(500s@15) 1(127s@6) by L3 until 147s",
            "publish 0(500s@17) 1(127s@17) by L3",
            "report leased 0 1",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn marks_that_etcd_has_forgotten_are_written_as_far_as_they_are_lower() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().revoke(1);
    node.etcd().high_water_mark(0, seconds(50));
    node.etcd().delete(Key::HighWaterMark(1));
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 150s at e1",
            "report grace: EarlierMark",
            "lose 0 1",
            "report lost 0 1 of L1: Forgotten",
            "read high-water marks 0",
            "finalize 0(119s@14)",
            "finalize 1(119s@0)",
            "again"
        ]
    );
}

#[test]
fn marks_that_cannot_be_written_are_left_and_what_is_held_is_renewed() {
    for line in ["read high-water marks", "finalize"] {
        let mut node = renewed();
        forget(&mut node);
        node.etcd().delete(CLAIM_1);
        node.etcd().high_water_mark(1, seconds(50));
        node.fault(line, Fault::NotDone);
        let lines = node.turn();
        assert!(!lines.contains(&"failed: Failed(\"not done\")".into()));
        assert!(lines.iter().any(|line| line.starts_with("extend")), "{lines:?}");
    }
    let mut node = renewed();
    node.etcd().revoke(1);
    node.fault("finalize", Fault::NotDone);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "lose 0 1",
            "report lost 0 1 of L1: Ended",
            "finalize 0(119s@7)",
            "again"
        ]
    );
}

#[test]
fn a_loss_that_is_noticed_before_a_claim_begins_a_grace_period_if_etcd_has_forgotten() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.etcd().delete(CLAIM_1);
    node.etcd().delete(Key::HighWaterMark(1));
    assert_eq!(
        node.turn(),
        [
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 130s at e1",
            "report grace: EarlierMark",
            "lose 1",
            "report lost 1 of L1: Forgotten",
            "finalize 1(99s@0)",
            "renew 0(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 11)]",
            "list",
            "again"
        ]
    );
}

#[test]
fn an_older_state_at_one_endpoint_takes_nothing_away() {
    let mut node = renewed();
    let older = Node::holder().etcds.remove(0);
    node.etcds.push(older);
    node.etcds[1].revision = 100;
    node.etcds[1].delete(CLAIM_1);
    node.endpoints = vec![(E1, Some(1)), (E2, Some(0))];
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "list at e2",
            "list at e1",
            "prefer e2",
            "renew 0(0s@7) 1(0s@7) by L1",
            "extend L1 to 147s, 147s, [(0, 8), (1, 8)]",
            "again",
            "rest until 130s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn nothing_is_given_up_while_an_endpoint_may_have_what_another_one_has_forgotten() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().delete(CLAIM_1);
    node.endpoints = vec![(E1, Some(0)), (E2, None)];
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "list at e2",
            "failed: EndpointSilent(\"e2 is silent\")"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn claims_that_came_back_with_older_data_are_deleted_after_the_renewal() {
    let mut node = Node::holder();
    node.wanted = 1;
    let older = node.etcds[0].clone();
    node.pass(10);
    node.turns();
    node.etcds[0] = older;
    node.etcd().revision = 50;
    node.pass(10);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@8) by L1",
            "list",
            "grant L2 30s at e1",
            "begin grace by L2 until 150s at e1",
            "report grace: EarlierMark",
            "renew 0(0s@6) by L1",
            "extend L1 to 147s, 147s, [(0, 52)]",
            "list",
            "read high-water marks 1",
            "release 1(127s@6) by L1",
            "again",
            "rest until 130s"
        ]
    );
    let claimed: BTreeSet<u16> = node.etcd().list(E1).taken;
    assert_eq!(claimed, BTreeSet::from([0]));
}

#[test]
fn a_loss_of_some_and_orphans_in_one_turn_are_told_apart() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().delete(CLAIM_1);
    node.etcd().claim(5, 1);
    node.etcd().high_water_mark(5, seconds(50));
    let lines = node.turn();
    assert!(lines.contains(&"release 5(50s@14) by L1".into()), "{lines:?}");
    assert!(!lines.contains(&"report released ".into()), "{lines:?}");
}

#[test]
fn an_orphan_that_cannot_be_deleted_after_a_loss_is_not_a_release() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().delete(CLAIM_1);
    for id in [5, 6] {
        node.etcd().claim(id, 1);
        node.etcd().high_water_mark(id, seconds(50));
    }
    node.fault("release 5", Fault::NotDone);
    let lines = node.turn();
    assert_eq!(lines[lines.len() - 2..], ["release 5(50s@14) by L1", "again"]);
}

#[test]
fn a_loss_is_found_even_if_the_lease_ends_before_the_listing() {
    let mut node = renewed();
    forget(&mut node);
    node.etcd().revoke(1);
    node.before("list", |node| node.pass(17));
    let lines = node.turn();
    assert!(lines.iter().any(|line| line.starts_with("begin grace")), "{lines:?}");
}
