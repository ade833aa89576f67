//! Turns in which something goes wrong at any place: a full disk, a call that fails, a process that
//! is interrupted, a lease that ends. Afterwards the server comes to hold what it wants, and etcd
//! has what it holds.

use crate::etcd::Etcd;
use crate::given::*;
use crate::node::{Fault, Node, seconds};
use flakeid_core::registry::transaction::{Key, Value};
use std::collections::BTreeSet;

#[test]
fn a_server_that_cannot_remember_a_registry_claims_nothing_there() {
    let mut node = Node::at_registry();
    node.is_disk_full = true;
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Claim)",
            "failed: Failed(\"the disk is full\")"
        ]
    );
    node.is_disk_full = false;
    node.pass(1);
    node.turns();
    assert_eq!(node.held(), [0, 1]);
}

#[test]
fn a_server_that_cannot_remember_a_replacement_begins_one_grace_period_and_leases_nothing() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(D, Y, &[E1])));
    node.etcd().put(Key::Address, Value::Text(format!("{A},{B}")), 0);
    node.is_disk_full = true;
    assert_eq!(
        node.turns(),
        [
            "list",
            "grant L1 30s at e1",
            "begin grace by L1 until 130s at e1",
            "report grace: Replaces",
            "remember c/flakeid/#00000000000000a1 (Switch)",
            "failed: Failed(\"the disk is full\")"
        ]
    );
    node.pass(30);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Switch)",
            "failed: Failed(\"the disk is full\")"
        ]
    );
    node.is_disk_full = false;
    node.pass(1);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Switch)",
            "list",
            "retire d/flakeid/#00000000000000a2@5 at e1",
            "list",
            "grant L2 30s",
            "list",
            "claim 0 1 by L2 until 158s",
            "publish 0(0s@10) 1(0s@10) by L2",
            "report leased 0 1",
            "again",
            "rest until 141s"
        ]
    );
}

#[test]
fn a_server_leases_even_if_it_cannot_note_more_of_its_registry() {
    let mut node = Node::at_registry();
    node.memory = Ok(Some(memory(C, X, &[E1]).address_revision(0)));
    node.fault("remember", Fault::NotDone);
    assert_eq!(
        node.turns(),
        [
            "list",
            "remember c/flakeid/#00000000000000a1 (Note)",
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

/// A server that is about to do something, and what that is.
type Situation = (&'static str, fn() -> Node);

fn situations() -> Vec<Situation> {
    vec![
        ("founds a registry", || Node::new(Etcd::new(C))),
        ("claims", Node::at_registry),
        ("claims with high-water marks", || {
            let mut node = Node::at_registry();
            node.etcd().high_water_mark(0, seconds(50));
            node.etcd().high_water_mark(1, seconds(1000));
            node
        }),
        ("wants more", || {
            let mut node = Node::holder();
            node.wanted = 3;
            node
        }),
        ("wants less", || {
            let mut node = Node::holder();
            node.wanted = 1;
            node
        }),
        ("renews", || {
            let mut node = Node::holder();
            node.pass(10);
            node
        }),
        ("has orphans", || {
            let mut node = Node::holder();
            let ttl = std::time::Duration::from_secs(30);
            let now = std::time::Duration::from_secs(100);
            node.worker = flakeid_core::registry::turn::Worker::new(ttl, true, now);
            node.etcd().claim(5, 1);
            node.etcd().high_water_mark(5, seconds(50));
            node.pass(10);
            node
        }),
        ("lost a claim", || {
            let mut node = Node::holder();
            node.etcd().delete(Key::Claim { cluster: 0, id: 1 });
            node.pass(10);
            node
        }),
        ("lost its lease", || {
            let mut node = Node::holder();
            node.etcd().revoke(1);
            node.pass(10);
            node
        }),
        ("was forgotten", || {
            let mut node = Node::holder();
            let older = node.etcds[0].clone();
            node.pass(10);
            node.turns();
            node.etcds[0] = older;
            node.etcd().revoke(1);
            node.etcd().revision = 50;
            node.pass(10);
            node
        }),
        ("lost its registry", || {
            let mut node = Node::holder();
            node.etcds[0] = Etcd::new(C);
            node.pass(10);
            node
        }),
        ("finds a replacement", || {
            let mut node = Node::at_registry();
            node.memory = Ok(Some(memory(D, Y, &[E1])));
            node.etcd().put(Key::Address, Value::Text(format!("{A},{B}")), 0);
            node
        }),
        ("has another namespace", || {
            let mut node = Node::holder();
            node.ttl = 60;
            node
        }),
        ("has another uniqueid cluster", || {
            let mut node = Node::holder();
            node.etcd().put(Key::ClusterId, Value::Text("3".into()), 0);
            node.wanted = 3;
            node
        }),
    ]
}

/// Does turns until the server holds what it wants, and etcd has that and nothing else of this
/// server.
fn settles(what: &str, node: &mut Node) {
    for _ in 0..120 {
        for _ in 0..20 {
            let lines = node.turn();
            if lines.last().is_some_and(|line| line != "again") {
                break;
            }
        }
        let claims = node.etcd().list(E1).claims;
        let claimed: BTreeSet<u16> = claims.iter().map(|&(_, (id, _))| id).collect();
        let is_theirs = |lease| node.lease.as_ref().is_some_and(|held| held.lease == lease);
        if node.held().len() == node.wanted
            && claims.iter().all(|&(lease, _)| is_theirs(lease))
            && claimed == node.held().into_iter().collect()
        {
            return;
        }
        let pause = 1;
        node.pass(pause);
    }
    panic!("{what}: {:?}, etcd has {:?}", node.held(), node.etcd().list(E1).claims);
}

#[test]
fn each_situation_settles_by_itself() {
    for (what, situation) in situations() {
        let mut node = situation();
        settles(what, &mut node);
    }
}

#[test]
fn a_fault_at_any_action_delays_a_server_and_no_more() {
    for (what, situation) in situations() {
        for fault in [Fault::NotDone, Fault::AnswerLost, Fault::Interrupted] {
            for place in 0.. {
                let mut node = situation();
                let first = node.actions;
                node.fault_at = Some((first + place, fault));
                settles(&format!("{what}, {fault:?} at {place}"), &mut node);
                if node.actions <= first + place {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_lease_that_ends_before_any_action_is_claimed_anew() {
    for (what, situation) in situations() {
        for place in 0.. {
            let mut node = situation();
            let first = node.actions;
            node.pause_at = Some((first + place, 60));
            settles(&format!("{what}, paused at {place}"), &mut node);
            if node.actions <= first + place {
                break;
            }
        }
    }
}

#[test]
fn a_replacement_that_was_remembered_begins_a_grace_period_when_it_comes_again() {
    let mut node = Node::at_registry();
    let last = memory(D, Y, &[E1]);
    node.memory = Ok(Some(last.clone()));
    node.etcd().put(Key::Address, Value::Text(format!("{A},{B}")), 0);
    node.is_disk_full = true;
    node.turns();
    node.is_disk_full = false;
    node.pass(30);
    node.turns();
    node.memory = Ok(Some(last));
    node.pass(30);
    assert!(node.turn().contains(&"report grace: Replaces".into()));
}
