//! Claims of a lease that are not held, and turns that claim beside the lease.

use crate::node::{Fault, Node};

/// A server that holds two generator IDs, and wants a third one. The answer to its claim is lost.
fn with_lost_answer() -> Node {
    let mut node = Node::holder();
    node.wanted = 3;
    node.fault("claim", Fault::AnswerLost);
    let lines = node.turns();
    assert!(lines.last().unwrap().contains("no answer"), "{lines:?}");
    assert_eq!(node.claims(), 3);
    node
}

#[test]
fn a_server_deletes_its_orphans_before_it_claims_again_beside_its_lease() {
    let mut node = with_lost_answer();
    node.pass(1);
    assert_eq!(
        node.turns(),
        [
            "list",
            "renew 0(0s@7) 1(0s@7) by L1",
            "extend L1 to 128s, 128s, [(0, 9), (1, 9)]",
            "list",
            "read high-water marks 2",
            "release 2(127s@8) by L1",
            "list",
            "read high-water marks 2",
            "claim 3 by L1 until 128s beside 0(0s@9)",
            "publish 3(0s@11) by L1",
            "report leased 3",
            "again",
            "rest until 111s"
        ]
    );
    assert_eq!(node.claims(), 3);
}

#[test]
fn answers_that_are_lost_again_and_again_leave_no_more_than_one_claim_each() {
    let mut node = with_lost_answer();
    for _ in 0..5 {
        node.pass(1);
        node.fault("claim", Fault::AnswerLost);
        node.turns();
        assert_eq!(node.claims(), 3);
    }
}

#[test]
fn a_server_claims_though_its_orphans_cannot_be_deleted() {
    let mut node = with_lost_answer();
    node.pass(1);
    node.fault("release", Fault::NotDone);
    node.turns();
    assert_eq!(node.held(), [0, 1, 3]);
    assert_eq!(node.claims(), 4);
    node.pass(10);
    node.turns();
    assert_eq!(node.claims(), 3);
}

impl Node {
    /// Returns how many claims of lease 1 are in etcd.
    fn claims(&mut self) -> usize {
        self.etcd().list("e1").claims_of(1).len()
    }
}
