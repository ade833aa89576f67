//! The parts of a plan: what is due, what is chosen, and the actions.

use crate::given::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime};
use flakeid_core::registry::action::{Action, KeepAlive, Lease, MemoryPurpose, NewLease, Renewal};
use flakeid_core::registry::listing::{Authority, HighWaterMark};
use flakeid_core::registry::plan::{
    Choice, Claim, ClaimFor, Due, Forgotten, MAX_CLAIMS_PER_TXN, Settings, choose_forgotten,
    choose_free, claim, delete_orphans, due, finalize_forgotten, lost_claims,
};
use flakeid_core::registry::transaction::{Answer, Change, Holding, Key, LeasedId};
use std::collections::BTreeMap;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn leased(id: u16, high_water_mark: u64, revision: i64) -> LeasedId {
    LeasedId { id, high_water_mark: UnixNanos(high_water_mark), revision }
}

fn sent() -> RequestTime {
    RequestTime { now: UnixNanos(5), boot: seconds(100) }
}

/// Lease 7 of these generator IDs, which was renewed last at 100 s.
fn lease(ids: &[u16]) -> Lease {
    Lease {
        lease: 7,
        namespace: NAMESPACE.into(),
        authority: Authority { etcd: C, registry: X },
        cluster: 3,
        ttl: TTL,
        epoch: EPOCH,
        limits: LeaseLimits::from_grant(sent(), LeaseDuration(TTL)),
        sent: sent(),
        since: UnixNanos(4),
        held: ids.iter().map(|&id| leased(id, 0, 20)).collect(),
    }
}

fn settings(wanted: usize) -> Settings<'static> {
    let namespace = NAMESPACE;
    Settings { wanted, pool: 0..=9, namespace, ttl: TTL, epoch: EPOCH, endpoints: &[] }
}

fn due_at(lease: &Lease, settings: &Settings<'_>, now: u64) -> Due {
    due(Some(lease), settings, TTL, false, seconds(105), seconds(now))
}

#[test]
fn a_server_without_a_lease_claims_all_that_it_wants() {
    let due = due(None, &settings(2), TTL, true, seconds(200), seconds(100));
    assert_eq!(due, Due::Claim(2));
}

#[test]
fn a_renewal_is_due_after_a_third_of_the_lease_or_on_request() {
    assert_eq!(due_at(&lease(&[0, 1]), &settings(2), 109), Due::Rest(seconds(110)));
    assert_eq!(due_at(&lease(&[0, 1]), &settings(2), 110), Due::Renew);
    let requested = due(Some(&lease(&[0])), &settings(2), TTL, true, seconds(0), seconds(101));
    assert_eq!(requested, Due::Renew);
}

#[test]
fn missing_ones_are_claimed_from_the_time_of_the_next_try_on() {
    assert_eq!(due_at(&lease(&[0]), &settings(3), 104), Due::Rest(seconds(105)));
    assert_eq!(due_at(&lease(&[0]), &settings(3), 105), Due::Claim(2));
    let later = due(Some(&lease(&[0])), &settings(3), TTL, false, seconds(300), seconds(104));
    assert_eq!(later, Due::Rest(seconds(110)));
}

#[test]
fn a_changed_setting_of_the_lease_releases_all() {
    let all = Due::Release(vec![0, 1]);
    let held = lease(&[0, 1]);
    let due = |settings: &Settings<'_>| due_at(&held, settings, 150);
    assert_eq!(due(&Settings { namespace: "orders/", ..settings(2) }), all);
    assert_eq!(due(&Settings { epoch: UnixNanos(0), ..settings(2) }), all);
    assert_eq!(due(&Settings { ttl: seconds(29), ..settings(2) }), all);
}

#[test]
fn what_is_too_many_or_outside_the_pool_is_released() {
    let held = lease(&[0, 3, 5, 8]);
    let due = |wanted, pool| due_at(&held, &Settings { pool, ..settings(wanted) }, 150);
    assert_eq!(due(2, 0..=9), Due::Release(vec![5, 8]));
    assert_eq!(due(4, 3..=5), Due::Release(vec![0, 8]));
    assert_eq!(due(1, 3..=5), Due::Release(vec![5, 0, 8]));
    assert_eq!(due(4, 0..=8), Due::Renew);
}

fn read(high_water_marks: &[(u16, i64, Result<u64, &str>)]) -> BTreeMap<u16, HighWaterMark> {
    let high_water_mark = |&(id, revision, moment): &(u16, i64, Result<u64, &str>)| {
        let moment = moment.map(UnixNanos).map_err(String::from);
        (id, HighWaterMark { revision, moment })
    };
    high_water_marks.iter().map(high_water_mark).collect()
}

#[test]
fn free_generator_ids_are_chosen_from_a_place_in_the_pool_on() {
    let listing = shows(E1, C, &[X]).claim(9, 8, 1);
    let chosen =
        |place, want| choose_free(&listing, &BTreeMap::new(), &(5..=9), place, want, UnixNanos(0));
    let claim = |ids: &[u16]| Choice::Claim(ids.iter().map(|&id| leased(id, 0, 0)).collect());
    assert_eq!(chosen(0, 2), claim(&[5, 6]));
    assert_eq!(chosen(7, 2), claim(&[7, 9]));
    assert_eq!(chosen(7, 9), claim(&[5, 6, 7, 9]));
    assert_eq!(chosen(7, 0), Choice::Nothing);
    let taken = (5..=9).fold(listing.clone(), |listing, id| listing.claim(9, id, 1));
    let none = choose_free(&taken, &BTreeMap::new(), &(5..=9), 0, 2, UnixNanos(0));
    assert_eq!(none, Choice::Nothing);
}

#[test]
fn marks_are_read_before_their_generator_ids_are_chosen() {
    let listing =
        shows(E1, C, &[X]).high_water_mark(0, 11).high_water_mark(1, 12).high_water_mark(5, 13);
    let choose = |high_water_marks: &[_], want| {
        choose_free(&listing, &read(high_water_marks), &(0..=5), 0, want, UnixNanos(50))
    };
    assert_eq!(choose(&[], 1), Choice::Read(vec![0, 1, 5]));
    let all = [(0, 11, Ok(50)), (1, 12, Ok(51)), (5, 13, Ok(0))];
    let chosen = [leased(0, 50, 11), leased(2, 0, 0), leased(3, 0, 0)];
    assert_eq!(choose(&all, 3), Choice::Claim(chosen.to_vec()));
    assert_eq!(choose(&all[..2], 3), Choice::Claim(chosen.to_vec()));
    let broken = [(0, 11, Err("x")), (1, 12, Ok(0)), (5, 13, Ok(0))];
    assert_eq!(choose(&broken, 1), Choice::Claim(vec![leased(1, 0, 12)]));
    assert_eq!(choose(&broken[..1], 1), Choice::Read(vec![1, 5]));
}

#[test]
fn no_more_than_one_transaction_takes_is_chosen_or_read() {
    let pool = 0..=99;
    let many = choose_free(&shows(E1, C, &[X]), &read(&[]), &pool, 0, 50, UnixNanos(0));
    let Choice::Claim(many) = many else { panic!("{many:?}") };
    assert_eq!(many.len(), MAX_CLAIMS_PER_TXN);
    let marked = (0..99).fold(shows(E1, C, &[X]), |listing, id| listing.high_water_mark(id, 1));
    let many = choose_free(&marked, &read(&[]), &pool, 0, 50, UnixNanos(0));
    assert_eq!(many, Choice::Read((0..32).collect()));
}

#[test]
fn in_a_grace_period_a_server_claims_what_it_held_until_just_now() {
    let forgotten = Forgotten {
        held: vec![leased(2, 50, 5), leased(3, 60, 5), leased(4, 70, 5)],
        deadline: seconds(115),
    };
    let listing = shows(E1, C, &[X]).high_water_mark(3, 11).claim(9, 4, 1);
    let choose = |high_water_marks: &[_], want, now| {
        choose_forgotten(&listing, &read(high_water_marks), Some(&forgotten), want, seconds(now))
    };
    let later = [(3, 11, Ok(65))];
    let chosen = [leased(2, 50, 0), leased(3, 65, 11)];
    assert_eq!(choose(&later, 5, 114), Choice::Claim(chosen.to_vec()));
    assert_eq!(choose(&later, 1, 114), Choice::Claim(chosen[..1].to_vec()));
    assert_eq!(choose(&later, 5, 115), Choice::Nothing);
    assert_eq!(choose(&[], 5, 114), Choice::Read(vec![3]));
    let earlier = [(3, 11, Ok(55))];
    let chosen = [leased(2, 50, 0), leased(3, 60, 11)];
    assert_eq!(choose(&earlier, 5, 114), Choice::Claim(chosen.to_vec()));
    assert_eq!(choose(&[(3, 11, Err("x"))], 5, 114), Choice::Claim(vec![leased(2, 50, 0)]));
    let none = choose_forgotten(&listing, &read(&[]), None, 5, seconds(0));
    assert_eq!(none, Choice::Nothing);
}

#[test]
fn in_a_grace_period_a_server_claims_nothing_if_others_hold_what_it_had() {
    let forgotten = Forgotten { held: vec![leased(2, 50, 5)], deadline: seconds(115) };
    let taken = shows(E1, C, &[X]).claim(9, 2, 1);
    let none = choose_forgotten(&taken, &read(&[]), Some(&forgotten), 1, seconds(0));
    assert_eq!(none, Choice::Nothing);
    let broken = shows(E1, C, &[X]).high_water_mark(2, 11);
    let high_water_marks = read(&[(2, 11, Err("x"))]);
    let none = choose_forgotten(&broken, &high_water_marks, Some(&forgotten), 1, seconds(0));
    assert_eq!(none, Choice::Nothing);
}

#[test]
fn in_a_grace_period_no_more_than_one_transaction_takes_is_claimed() {
    let held = (0..50).map(|id| leased(id, 50, 5)).collect();
    let forgotten = Forgotten { held, deadline: seconds(115) };
    let many = choose_forgotten(&shows(E1, C, &[X]), &read(&[]), Some(&forgotten), 50, seconds(0));
    let Choice::Claim(many) = many else { panic!("{many:?}") };
    assert_eq!(many.len(), MAX_CLAIMS_PER_TXN);
}

#[test]
fn claims_are_lost_if_the_listing_does_not_have_them_for_this_lease() {
    let listing = shows(E1, C, &[X]).claim(7, 0, 1).claim(8, 1, 2);
    assert_eq!(lost_claims(&lease(&[0, 1, 2]), &listing), [1, 2]);
    assert_eq!(lost_claims(&lease(&[0]), &listing), []);
}

fn plan(lease: ClaimFor<'_>, is_fresh: bool, is_remembered: bool) -> Vec<Action> {
    let (listing, remembered) = (shows(E1, C, &[X]), memory(C, X, &[E1]));
    let memory = remembered.clone();
    claim(Claim {
        lease,
        is_fresh,
        listing: &listing,
        chosen: vec![leased(5, 50, 11)],
        uniqueid_cluster: 3,
        memory: is_remembered.then_some(&memory),
        remembered,
        request: (77, TTL),
    })
}

fn remember() -> Action {
    Action::Remember { memory: memory(C, X, &[E1]), purpose: MemoryPurpose::Claim }
}

#[test]
fn a_server_remembers_and_then_requests_a_lease_before_it_claims() {
    let new = NewLease {
        lease: 8,
        ttl: TTL,
        sent: sent(),
        limits: LeaseLimits::from_grant(sent(), LeaseDuration(TTL)),
    };
    let grant = Action::Grant { lease: 77, ttl: TTL, at: None };
    assert_eq!(plan(ClaimFor::Nothing, false, false), [remember(), grant.clone()]);
    assert_eq!(plan(ClaimFor::Nothing, true, true), std::slice::from_ref(&grant));
    assert_eq!(plan(ClaimFor::New(&new), false, true), [grant]);
    let holding = Holding {
        etcd: C,
        cluster: 3,
        lease: 8,
        since: UnixNanos(5),
        held: vec![leased(5, 50, 11)],
    };
    let change = Change::Claim { holding, ceiling: new.limits.ceiling, beside: None };
    let claim = Action::Change { at: None, listed: (&shows(E1, C, &[X])).into(), change };
    assert_eq!(plan(ClaimFor::New(&new), true, true), std::slice::from_ref(&claim));
    assert_eq!(plan(ClaimFor::New(&new), true, false), [remember(), claim]);
}

#[test]
fn a_holder_renews_before_it_claims_beside_what_it_holds() {
    let held = lease(&[0, 1]);
    let holding =
        Holding { etcd: C, cluster: 3, lease: 7, since: UnixNanos(4), held: held.held.clone() };
    let renew = Action::Renew { holding: holding.clone(), limits: held.limits };
    assert_eq!(plan(ClaimFor::Held(&held), false, false), [remember(), renew]);
    let holding = holding.with(vec![leased(5, 50, 11)]);
    let beside = Some(leased(0, 0, 20));
    let change = Change::Claim { holding, ceiling: held.limits.ceiling, beside };
    let claim = Action::Change { at: None, listed: (&shows(E1, C, &[X])).into(), change };
    assert_eq!(plan(ClaimFor::Held(&held), true, true), [claim]);
}

fn changed(actions: &[Action]) -> Vec<&Change> {
    let mut changes = Vec::new();
    for action in actions {
        let Action::Change { change, .. } = action else { panic!("{action:?}") };
        changes.push(change);
    }
    changes
}

#[test]
fn orphans_are_released_with_the_marks_that_etcd_has() {
    let listing = shows(E1, C, &[X]).claim(7, 0, 1).claim(7, 4, 31).claim(7, 5, 32).claim(8, 6, 33);
    let listing = listing.high_water_mark(4, 11).high_water_mark(5, 12);
    let held = lease(&[0]);
    let (actions, unknown) = delete_orphans(&held, &listing, &read(&[]));
    let registry = Some(identity(&[X]).to_string());
    assert_eq!(
        (actions, unknown),
        (vec![Action::ReadMarks { ids: vec![4, 5], etcd: C, registry }], 0)
    );
    let high_water_marks = read(&[(4, 11, Ok(50)), (5, 12, Err("x"))]);
    let (actions, unknown) = delete_orphans(&held, &listing, &high_water_marks);
    let holding = Holding {
        etcd: C,
        cluster: 3,
        lease: 7,
        since: UnixNanos(4),
        held: vec![leased(4, 50, 31)],
    };
    assert_eq!((changed(&actions), unknown), (vec![&Change::Release(holding)], 1));
    let without = shows(E1, C, &[X]).claim(7, 4, 31);
    assert_eq!(delete_orphans(&held, &without, &read(&[])), (vec![], 1));
}

#[test]
fn marks_of_orphans_are_read_as_many_as_one_transaction_takes() {
    let listing = (0..50)
        .fold(shows(E1, C, &[X]), |listing, id| listing.claim(7, id, 1).high_water_mark(id, 1));
    let (actions, _) = delete_orphans(&lease(&[]), &listing, &read(&[]));
    let Action::ReadMarks { ids, .. } = &actions[0] else { panic!("{actions:?}") };
    assert_eq!(ids.len(), MAX_CLAIMS_PER_TXN);
    let gone: Vec<LeasedId> = (0..50).map(|id| leased(id, 9, 1)).collect();
    let actions = finalize_forgotten(3, &gone, &listing, &read(&[]));
    let Action::ReadMarks { ids, .. } = &actions[0] else { panic!("{actions:?}") };
    assert_eq!(ids.len(), MAX_CLAIMS_PER_TXN);
}

#[test]
fn forgotten_marks_are_written_where_etcd_has_earlier_ones() {
    let listing = shows(E1, C, &[X])
        .high_water_mark(1, 11)
        .high_water_mark(2, 12)
        .high_water_mark(3, 13)
        .high_water_mark(4, 14);
    let gone = [1, 2, 3, 4, 5].map(|id| leased(id, 50, 30));
    let actions = finalize_forgotten(3, &gone, &listing, &read(&[(1, 11, Ok(49))]));
    let registry = Some(identity(&[X]).to_string());
    assert_eq!(actions, [Action::ReadMarks { ids: vec![2, 3, 4], etcd: C, registry }]);
    let high_water_marks =
        read(&[(1, 11, Ok(49)), (2, 12, Ok(50)), (3, 13, Ok(51)), (4, 14, Err("x"))]);
    let actions = finalize_forgotten(3, &gone, &listing, &high_water_marks);
    let finalize = |leased| Change::FinalizeMark { cluster: 3, leased };
    let written = [leased(1, 50, 11), leased(4, 50, 14), leased(5, 50, 0)].map(finalize);
    assert_eq!(changed(&actions), written.iter().collect::<Vec<_>>());
}

fn alive(etcd: u64, ttl: u64) -> KeepAlive {
    let sent = RequestTime { now: UnixNanos(9), boot: seconds(110) };
    KeepAlive::Alive { etcd, term: 4, ttl: seconds(ttl), sent }
}

#[test]
fn a_keep_alive_counts_if_the_etcd_of_the_lease_says_that_it_exists() {
    let before = lease(&[0]).limits;
    assert_eq!(KeepAlive::Gone.limits(C, before), Err(Renewal::Gone));
    assert_eq!(KeepAlive::NoAnswer.limits(C, before), Err(Renewal::Unsure));
    assert_eq!(alive(D, 30).limits(C, before), Err(Renewal::Elsewhere));
    assert_eq!(alive(D, 0).limits(C, before), Err(Renewal::Elsewhere));
    assert_eq!(alive(C, 0).limits(C, before), Err(Renewal::Gone));
    let KeepAlive::Alive { sent, .. } = alive(C, 30) else { panic!() };
    let renewed = before.renewed(sent, LeaseDuration(TTL));
    assert_eq!(alive(C, 30).limits(C, before), Ok(renewed));
}

#[test]
fn a_renewal_counts_if_its_transaction_was_done_in_the_same_term() {
    let held = lease(&[0, 1]);
    let holding = Holding { etcd: C, cluster: 3, lease: 7, since: UnixNanos(4), held: held.held };
    let read = vec![(Key::Claim { cluster: 3, id: 1 }, 7, 33)];
    let answer = Answer { etcd: C, term: 4, revision: 40, is_done: true, read };
    let of = |kept, answer: &Answer| Renewal::of(kept, held.limits, &holding, answer);
    let KeepAlive::Alive { sent, .. } = alive(C, 30) else { panic!() };
    let revisions = vec![(0, 40), (1, 40)];
    let done = Renewal::Done { sent, limits: held.limits, revisions };
    assert_eq!(of(alive(C, 30), &answer), done);
    assert_eq!(of(alive(C, 30), &Answer { term: 5, ..answer.clone() }), Renewal::Unsure);
    assert_eq!(of(alive(C, 30), &Answer { etcd: D, ..answer.clone() }), Renewal::Elsewhere);
    let refused = Answer { is_done: false, ..answer.clone() };
    assert_eq!(of(alive(C, 30), &refused), Renewal::Only(vec![(1, 33)]));
    assert_eq!(of(KeepAlive::NoAnswer, &answer), Renewal::Unsure);
}
