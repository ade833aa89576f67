//! Each change of a registry is one transaction: its conditions, its writes, and what it reads if
//! it is not done.

use crate::given::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::listing::Versioned;
use flakeid_core::registry::transaction::Condition::{self, Absent, Lease, Revision};
use flakeid_core::registry::transaction::Write::{Delete, Put};
use flakeid_core::registry::transaction::{
    Answer, Change, Holding, Key, LeasedId, Listed, NewKey, Transaction, Value, Write,
};

const CLUSTER: u16 = 3;
const LEASE: i64 = 7;
const SINCE: UnixNanos = UnixNanos(1);
const CEILING: UnixNanos = UnixNanos(60);

const CLAIM_4: Key = Key::Claim { cluster: CLUSTER, id: 4 };
const CLAIM_5: Key = Key::Claim { cluster: CLUSTER, id: 5 };

/// Registry X, with a revision of its own for each key.
fn listed() -> Listed {
    let key = |revision| Versioned { value: Some("value".into()), revision, lease: 0 };
    let listing = shows(E1, C, &[X]).change(|listing| {
        (listing.cluster, listing.epoch, listing.address) = (key(11), key(12), key(13));
        (listing.grace, listing.retired) = (key(14), key(15));
    });
    Listed::from(&listing)
}

fn is_x() -> Condition {
    Condition::Value(Key::Id, format!("{X:016x}"))
}

fn leased(id: u16, high_water_mark: u64, revision: i64) -> LeasedId {
    LeasedId { id, high_water_mark: UnixNanos(high_water_mark), revision }
}

fn holding(held: &[LeasedId]) -> Holding {
    Holding { etcd: C, cluster: CLUSTER, lease: LEASE, since: SINCE, held: held.to_vec() }
}

/// Generator ID 4 with a high-water mark before the ceiling, and generator ID 5 with one after it.
fn both() -> Holding {
    holding(&[leased(4, 50, 21), leased(5, 70, 22)])
}

fn claim(key: Key, until: u64) -> Write {
    Put(key, Value::Claim { since: SINCE, until: UnixNanos(until) }, LEASE)
}

fn high_water_mark(id: u16, until: u64) -> Write {
    Put(Key::HighWaterMark(id), Value::Time(UnixNanos(until)), 0)
}

fn text(key: Key, text: &str) -> Write {
    Put(key, Value::Text(text.into()), 0)
}

fn transaction<const C: usize, const W: usize, const R: usize>(
    conditions: [Condition; C],
    writes: [Write; W],
    reads: [Key; R],
) -> Transaction {
    let (conditions, writes, reads) = (conditions.into(), writes.into(), reads.into());
    Transaction { conditions, writes, reads }
}

fn found() -> Change {
    let (address, identity) = (A.into(), identity(&[N, X]));
    Change::Found { lease: 9, until: UnixNanos(90), address, epoch: EPOCH, identity }
}

#[test]
fn a_registry_is_founded_with_its_address_epoch_grace_period_and_id_if_it_has_none_of_these() {
    let (address, epoch) = (text(Key::Address, A), Put(Key::Epoch, Value::Epoch(EPOCH), 0));
    let grace = Put(Key::Grace, Value::Time(UnixNanos(90)), 9);
    let id = text(Key::Id, "00000000000000ff,00000000000000a1");
    let absent = [Absent(Key::Address), Absent(Key::Epoch), Absent(Key::Id)];
    assert_eq!(
        found().transaction(&Listed::from(&empty(E1, C))),
        transaction(absent, [address, epoch, grace, id], [])
    );
}

#[test]
fn a_registry_that_is_founded_keeps_an_id_that_exists() {
    let (address, epoch) = (text(Key::Address, A), Put(Key::Epoch, Value::Epoch(EPOCH), 0));
    let grace = Put(Key::Grace, Value::Time(UnixNanos(90)), 9);
    let absent = [Absent(Key::Address), Absent(Key::Epoch), is_x()];
    let expected = transaction(absent, [address, epoch, grace], []);
    assert_eq!(found().transaction(&listed()), expected);
}

#[test]
fn a_grace_period_begins_unless_there_is_one_and_that_is_read() {
    let begin = Change::BeginGrace { lease: 9, until: UnixNanos(90) };
    let grace = Put(Key::Grace, Value::Time(UnixNanos(90)), 9);
    let expected = transaction([Absent(Key::Grace), is_x()], [grace], [Key::Grace]);
    assert_eq!(begin.transaction(&listed()), expected);
}

#[test]
fn a_registry_gets_an_id_if_it_is_as_it_was_listed() {
    let identify = Change::Identify(identity(&[N, X]));
    let conditions =
        [Revision(Key::Address, 13), Revision(Key::Epoch, 12), Revision(Key::Grace, 14), is_x()];
    let id = text(Key::Id, "00000000000000ff,00000000000000a1");
    assert_eq!(identify.transaction(&listed()), transaction(conditions, [id], []));
}

#[test]
fn retired_registries_are_written_if_the_key_is_as_it_was_listed() {
    let retire = Change::Retire(vec![retired("b", 2), retired("c", 3)]);
    let conditions = [Revision(Key::Retired, 15), is_x()];
    let value = text(Key::Retired, "b@2,c@3");
    assert_eq!(retire.transaction(&listed()), transaction(conditions, [value], []));
}

#[test]
fn a_key_is_created_beside_another_one_that_is_as_it_was_listed() {
    for (key, beside, revision) in [
        (Key::Address, Key::Epoch, 12),
        (Key::ClusterId, Key::Epoch, 12),
        (Key::Epoch, Key::Address, 13),
    ] {
        let create = Change::Create(NewKey { key, value: Value::Text("0".into()), beside });
        let conditions = [Absent(key), Revision(beside, revision), is_x()];
        let expected = transaction(conditions, [text(key, "0")], []);
        assert_eq!(create.transaction(&listed()), expected);
    }
}

#[test]
fn a_claim_depends_on_all_that_was_listed() {
    let change = Change::Claim { holding: both(), ceiling: CEILING, beside: None };
    let conditions = [
        Revision(Key::ClusterId, 11),
        Revision(Key::Epoch, 12),
        Revision(Key::Address, 13),
        Revision(Key::Grace, 14),
        is_x(),
        Absent(CLAIM_4),
        Revision(Key::HighWaterMark(4), 21),
        Absent(CLAIM_5),
        Revision(Key::HighWaterMark(5), 22),
    ];
    let writes =
        [claim(CLAIM_4, 60), high_water_mark(4, 60), claim(CLAIM_5, 70), high_water_mark(5, 70)];
    let expected = transaction(conditions, writes, [CLAIM_4, CLAIM_5]);
    assert_eq!(change.transaction(&listed()), expected);
    assert_eq!(change.etcd(), Some(C));
}

#[test]
fn a_claim_beside_others_of_its_lease_depends_on_one_of_them() {
    let one = holding(&[leased(5, 0, 0)]);
    let beside = Some(leased(4, 50, 21));
    let change = Change::Claim { holding: one, ceiling: CEILING, beside };
    let conditions = [
        Revision(Key::ClusterId, 0),
        Revision(Key::Epoch, 0),
        Revision(Key::Address, 0),
        Revision(Key::Grace, 0),
        Absent(Key::Id),
        Revision(CLAIM_4, 21),
        Lease(CLAIM_4, LEASE),
        Absent(CLAIM_5),
        Revision(Key::HighWaterMark(5), 0),
    ];
    let writes = [claim(CLAIM_5, 60), high_water_mark(5, 60)];
    let expected = transaction(conditions, writes, [CLAIM_5]);
    assert_eq!(change.transaction(&Listed::default()), expected);
}

/// The claims of generator IDs 4 and 5 are as this lease wrote them last.
fn unchanged() -> [Condition; 3] {
    [Revision(CLAIM_4, 21), Revision(CLAIM_5, 22), Lease(CLAIM_4, LEASE)]
}

#[test]
fn a_claim_is_confirmed_with_its_marks_at_the_ceiling() {
    let change = Change::ConfirmClaim { holding: both(), ceiling: CEILING };
    let writes =
        [claim(CLAIM_4, 60), high_water_mark(4, 60), claim(CLAIM_5, 70), high_water_mark(5, 70)];
    let expected = transaction(unchanged(), writes, []);
    assert_eq!(change.transaction(&listed()), expected);
    assert_eq!(change.etcd(), Some(C));
}

#[test]
fn a_renewal_moves_the_marks_of_claims_that_have_not_changed() {
    let change = Change::Renew { holding: both(), ceiling: CEILING };
    let writes =
        [claim(CLAIM_4, 60), high_water_mark(4, 60), claim(CLAIM_5, 70), high_water_mark(5, 70)];
    let expected = transaction(unchanged(), writes, [CLAIM_4, CLAIM_5]);
    assert_eq!(change.transaction(&listed()), expected);
    assert_eq!(change.etcd(), None);
}

#[test]
fn a_release_writes_exact_marks_and_deletes_claims_that_have_not_changed() {
    let change = Change::Release(both());
    let writes = [high_water_mark(4, 50), Delete(CLAIM_4), high_water_mark(5, 70), Delete(CLAIM_5)];
    let expected = transaction(unchanged(), writes, [CLAIM_4, CLAIM_5]);
    assert_eq!(change.transaction(&listed()), expected);
    assert_eq!(change.etcd(), None);
}

#[test]
fn a_mark_becomes_exact_if_no_server_has_claimed_its_generator_id_since() {
    let change = Change::FinalizeMark { cluster: CLUSTER, leased: leased(4, 50, 21) };
    let conditions = [Absent(CLAIM_4), Revision(Key::HighWaterMark(4), 21), is_x()];
    let expected = transaction(conditions, [high_water_mark(4, 50)], []);
    assert_eq!(change.transaction(&listed()), expected);
}

#[test]
fn claims_are_ours_if_they_are_bound_to_the_lease() {
    let read = vec![(CLAIM_4, LEASE, 31), (CLAIM_5, 8, 32), (Key::Grace, LEASE, 33)];
    let answer = Answer { revision: 40, read, ..Answer::default() };
    assert_eq!(both().ours(&answer), [(4, 31)]);
    assert_eq!(both().written(&answer), [(4, 40), (5, 40)]);
}

#[test]
fn a_generator_id_takes_its_own_revision_from_several() {
    let at = |id, revision| leased(id, 50, revision);
    assert_eq!(at(4, 21).as_of(&[(3, 1), (4, 2), (4, 3)]), at(4, 2));
    assert_eq!(at(4, 21).as_of(&[(3, 1)]), at(4, 21));
}
