//! Turns in which a server finds that etcd does not have its lease, or its claims, any more.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::Key;

const CLAIM_0: Key = Key::Claim { cluster: 0, id: 0 };
pub const CLAIM_1: Key = Key::Claim { cluster: 0, id: 1 };

/// A holder whose renewal is due. Its lease has been renewed once, at 110 s.
pub fn renewed() -> Node {
    let mut node = Node::holder();
    node.pass(10);
    node.turns();
    node.pass(10);
    node
}

#[test]
fn a_claim_that_was_deleted_is_lost_alone_and_its_mark_becomes_exact() {
    let mut node = renewed();
    node.etcd().delete(CLAIM_1);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "lose 1",
            "report lost 1 of L1: SomeDeleted",
            "finalize 1(119s@7)",
            "renew 0(0s@7) by L1",
            "extend L1 to 147s, 147s, [(0, 10)]",
            "again"
        ]
    );
    assert_eq!(node.held(), [0]);
    assert_eq!(
        node.turns(),
        [
            "list",
            "read high-water marks 1",
            "renew 0(0s@10) by L1",
            "extend L1 to 147s, 147s, [(0, 11)]",
            "list",
            "read high-water marks 1",
            "claim 1(119s@9) by L1 until 147s beside 0(0s@11)",
            "publish 1(119s@12) by L1",
            "report leased 1",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn a_claim_that_another_server_took_is_lost_and_its_mark_left_alone() {
    let mut node = renewed();
    node.etcd().claim(1, 50);
    node.etcd().high_water_mark(1, seconds(500));
    node.turn();
    assert_eq!(node.held(), [0]);
    assert_eq!(node.etcd().read(&[1])[0].1.as_ref().unwrap().moment, Ok(seconds(500)));
}

#[test]
fn all_claims_that_were_deleted_are_lost() {
    let mut node = renewed();
    node.etcd().delete(CLAIM_0);
    node.etcd().delete(CLAIM_1);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "lose 0 1",
            "report lost 0 1 of L1: AllDeleted",
            "finalize 0(119s@7)",
            "finalize 1(119s@7)",
            "again"
        ]
    );
}

#[test]
fn a_lease_that_was_revoked_is_lost() {
    let mut node = renewed();
    node.etcd().revoke(1);
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "lose 0 1",
            "report lost 0 1 of L1: Ended",
            "finalize 0(119s@7)",
            "finalize 1(119s@7)",
            "again"
        ]
    );
    assert_eq!(
        node.turns(),
        [
            "revoke L1",
            "list",
            "read high-water marks 0 1",
            "grant L2 30s",
            "list",
            "read high-water marks 0 1",
            "claim 0(119s@9) 1(119s@10) by L2 until 147s",
            "publish 0(119s@12) 1(119s@12) by L2",
            "report leased 0 1",
            "again",
            "rest until 130s"
        ]
    );
}

#[test]
fn a_claim_that_was_written_by_hand_under_its_lease_is_renewed_as_it_was_found() {
    let mut node = renewed();
    node.etcd().claim(1, 1);
    assert_eq!(
        node.turns(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "renew 0(0s@7) 1(0s@8) by L1",
            "extend L1 to 147s, 147s, [(0, 9), (1, 9)]",
            "again",
            "rest until 130s"
        ]
    );
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_claim_that_changes_with_each_renewal_ends_the_turn() {
    fn change(node: &mut Node) {
        node.etcd().claim(1, 1);
        node.etcd().high_water_mark(1, seconds(50));
        node.before("renew", change);
    }
    let mut node = renewed();
    node.before("renew", change);
    let lines = node.turn();
    assert_eq!(lines.iter().filter(|line| line.starts_with("renew")).count(), 5);
    assert_eq!(lines.last().unwrap(), "failed: LeaderChanges");
}

#[test]
fn a_loss_that_is_interrupted_stays_one() {
    let mut node = renewed();
    node.etcd().revoke(1);
    node.fault("finalize", Fault::Interrupted);
    assert_eq!(node.turn().last().unwrap(), "interrupted");
    assert!(node.held().is_empty());
}

#[test]
fn a_claim_that_was_deleted_is_noticed_before_another_one_is_made() {
    let mut node = Node::holder();
    node.wanted = 3;
    node.etcd().delete(CLAIM_1);
    assert_eq!(
        node.turns(),
        [
            "list",
            "lose 1",
            "report lost 1 of L1: SomeDeleted",
            "finalize 1(99s@6)",
            "renew 0(0s@6) by L1",
            "extend L1 to 127s, 127s, [(0, 9)]",
            "again",
            "list",
            "read high-water marks 1",
            "renew 0(0s@9) by L1",
            "extend L1 to 127s, 127s, [(0, 10)]",
            "list",
            "read high-water marks 1",
            "claim 1(99s@8) 2 by L1 until 127s beside 0(0s@10)",
            "publish 1(99s@11) 2(0s@11) by L1",
            "report leased 1 2",
            "again",
            "rest until 110s"
        ]
    );
    assert_eq!(node.held(), [0, 1, 2]);
}

#[test]
fn a_deleted_claim_is_told_from_a_lost_lease_even_if_another_etcd_answered_the_renewal() {
    let mut node = renewed();
    node.etcd().delete(CLAIM_1);
    node.etcds.push(Etcd::new(D));
    node.endpoints = vec![(E1, Some(1)), (E2, Some(0))];
    assert_eq!(
        node.turn(),
        [
            "renew 0(0s@7) 1(0s@7) by L1",
            "list",
            "list at e2",
            "list at e1",
            "prefer e2",
            "remember c/flakeid/#00000000000000a1 (Note)",
            "lose 1",
            "report lost 1 of L1: SomeDeleted",
            "finalize 1(119s@7)",
            "renew 0(0s@7) by L1",
            "extend L1 to 147s, 147s, [(0, 10)]",
            "again"
        ]
    );
}
