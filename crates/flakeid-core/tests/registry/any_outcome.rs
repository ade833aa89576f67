//! A worker that meets anything: each listing, each answer and each failure is arbitrary, and has
//! nothing to do with what the worker did before. What a worker must never do, it never does.

use crate::given::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::{LeaseDuration, LeaseLimits, RequestTime};
use flakeid_core::registry::action::{Action, Lease, Loss, Renewal, Report};
use flakeid_core::registry::listing::{HighWaterMark, Listing, address};
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::plan::Settings;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::transaction::{Answer, Change, Key, LeasedId};
use flakeid_core::registry::turn::{Failure, Outcome, Random, Situation, Step, TurnEnd, Worker};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// More actions than a turn has. Most of them are listings: each of three endpoints is asked, and
/// one again, before each change, claim and renewal.
const MOST_ACTIONS: usize = 250;

/// Arbitrary numbers, and then zeros. 0 chooses what goes well, and so do most others, so that
/// turns get far.
struct Choices(std::vec::IntoIter<u8>);

impl Choices {
    fn one_of(&mut self, count: u8) -> u8 {
        self.0.next().unwrap_or(0).saturating_sub(150) % count
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::from(self.one_of(all.len() as u8))].clone()
    }
}

/// An error that no turn may end with.
const NO_MEMORY: &str = "the worker said that it does not need the memory";

struct Host {
    worker: Worker,
    choices: Choices,
    memory: Option<Memory>,
    lease: Option<Lease>,
    last_lease: (i64, Duration),
    now: u64,
    next_lease: i64,
    wanted: usize,
    endpoints: Vec<String>,
    /// The actions and outcomes of this turn.
    turn: Done,
}

#[derive(Default)]
struct Done {
    actions: usize,
    /// The listings since the last time that this server requested or renewed a lease.
    fresh: Option<Vec<Listing>>,
    listings: Vec<Listing>,
    grace: bool,
    given_up: BTreeSet<u16>,
    claimed: BTreeSet<u16>,
}

impl Host {
    fn sent(&self) -> RequestTime {
        RequestTime {
            now: UnixNanos(self.now * 1_000_000_000),
            boot: Duration::from_secs(self.now),
        }
    }

    fn held(&self) -> BTreeSet<u16> {
        self.lease.iter().flat_map(|lease| lease.held.iter().map(|held| held.id)).collect()
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Worker, &Situation<'_>) -> T) -> T {
        let now = self.sent();
        let situation = Situation {
            now,
            settings: Settings {
                wanted: self.wanted,
                pool: 0..=5,
                namespace: NAMESPACE,
                ttl: Duration::from_secs(30),
                epoch: EPOCH,
                endpoints: &self.endpoints,
            },
            lease: self.lease.as_ref(),
            last_lease: self.last_lease,
            memory: match self.worker.needs_memory() {
                true => Ok(self.memory.as_ref()),
                false => Err(NO_MEMORY),
            },
            endpoint: E1,
            random: Random { lease: self.next_lease, registry: N, place: 3 },
        };
        ask(&mut self.worker, &situation)
    }

    fn turn(&mut self) {
        self.turn = Done::default();
        loop {
            let action = match self.ask(|worker, situation| worker.next(situation)) {
                Step::Act(action) => action,
                Step::End(end) => {
                    assert_ne!(end, TurnEnd::Failed(Refusal::Failed(NO_MEMORY.into())));
                    return;
                }
            };
            self.turn.actions += 1;
            assert!(self.turn.actions <= MOST_ACTIONS, "a turn without an end");
            self.check(&action);
            let pause = self.choices.pick(&[0, 0, 0, 0, 0, 0, 1, 9, 30]);
            self.pass(pause);
            let outcome = self.outcome(action);
            if self.ask(|worker, situation| worker.after(outcome, situation)).is_some() {
                return;
            }
        }
    }

    /// Lets time pass. The server gives up a lease whose deadline passes.
    fn pass(&mut self, pause: u64) {
        self.now += pause;
        let boot = self.sent().boot;
        self.lease.take_if(|lease| lease.limits.is_expired(boot));
    }

    fn check(&self, action: &Action) {
        let ids = |held: &[LeasedId]| held.iter().map(|held| held.id).collect::<BTreeSet<_>>();
        match action {
            Action::Change { change: Change::Claim { holding, .. }, at: None, .. } => {
                let claimed = ids(&holding.held);
                assert_eq!(claimed.len(), holding.held.len());
                assert!(claimed.is_disjoint(&self.held()), "claims what it holds");
                // Each endpoint has shown what it shows since the lease was requested or renewed.
                let allows = |listing: &Listing| {
                    listing.etcd == holding.etcd && claimed.is_disjoint(&listing.taken)
                };
                let fresh = self.turn.fresh.as_ref().expect("a lease that is fresh");
                assert!(fresh.iter().any(allows), "claims what is not free");
                let memory = self.memory.as_ref().expect("a memory");
                assert_eq!(memory.address, address(holding.etcd, NAMESPACE));
                let names = self.turn.listings.iter().map(|listing| listing.name(NAMESPACE));
                assert!(names.into_iter().any(|name| name == Ok(memory.name())));
            }
            Action::Change { change: Change::Release(holding), .. } => {
                assert!(ids(&holding.held).is_disjoint(&self.held()), "releases what it holds");
            }
            Action::Publish { lease } => {
                assert!(
                    ids(&lease.held).is_subset(&self.turn.claimed),
                    "uses what it has not claimed"
                );
            }
            Action::Report(Report::Lost { loss: Loss::Forgotten, .. }) => {
                let listed = self.turn.listings.iter().any(|listing| listing.grace.value.is_some());
                assert!(listed || self.turn.grace, "gives up before the grace period");
            }
            Action::Report(Report::Released(gone) | Report::NotReleased(gone)) => {
                assert!(!gone.is_empty() && ids(gone).is_subset(&self.turn.given_up));
            }
            Action::Change { at: Some(at), .. } | Action::List { at: Some(at) } => {
                assert!(self.endpoints.contains(at));
            }
            _ => {}
        }
    }

    fn listing(&mut self, at: Option<String>) -> Listing {
        let endpoint = at.unwrap_or_else(|| self.choices.pick(&self.endpoints.clone()));
        let etcd = self.choices.pick(&[C, C, C, C, D]);
        let ids: &[u64] = self.choices.pick(&[&[X][..], &[X], &[X], &[X], &[N, X], &[Y], &[X, Y]]);
        let own = address(etcd, NAMESPACE);
        let mut listing = match self.choices.one_of(10) {
            7 => empty(&endpoint, etcd),
            8 => nameless(&endpoint, etcd),
            _ => shows(&endpoint, etcd, ids),
        };
        match self.choices.one_of(20) {
            15 => listing = listing.address(&format!("{own},{A},{A}#{X:016x}"), 9),
            16 => listing = listing.address(A, 9),
            17 => listing = listing.no_cluster(),
            18 => listing = listing.no_address(),
            19 => listing = listing.cluster("3"),
            _ => {}
        }
        if self.choices.one_of(5) == 4 {
            listing = listing.in_grace();
        }
        listing = listing.revision(self.choices.pick(&[100, 100, 100, 10]));
        for held in self.held() {
            if self.choices.one_of(3) != 2 {
                let lease = self.lease.as_ref().unwrap().lease;
                listing = listing
                    .claim(lease, held, 90)
                    .high_water_mark(held, self.choices.pick(&[99, 1]));
            }
        }
        for id in 0..6 {
            match self.choices.one_of(8) {
                5 if !listing.taken.contains(&id) => {
                    let lease = self.lease.as_ref().map_or(50, |lease| lease.lease);
                    listing = listing.claim(lease, id, 90);
                }
                6 if !listing.taken.contains(&id) => listing = listing.claim(50, id, 90),
                7 => listing = listing.high_water_mark(id, 80),
                _ => {}
            }
        }
        self.turn.listings.push(listing.clone());
        if let Some(fresh) = &mut self.turn.fresh {
            fresh.push(listing.clone());
        }
        listing
    }

    fn outcome(&mut self, action: Action) -> Result<Outcome, Failure> {
        let is_local = matches!(
            action,
            Action::Prefer(_)
                | Action::GiveUp { .. }
                | Action::Publish { .. }
                | Action::Extend { .. }
                | Action::Report(_)
        );
        if !is_local {
            match self.choices.one_of(16) {
                14 => return Err(Failure::Failed("failed".into())),
                15 => return Err(Failure::Interrupted),
                _ => {}
            }
        }
        let sent = self.sent();
        Ok(match action {
            Action::List { at } => Outcome::Listed(self.listing(at)),
            Action::ReadMarks { ids, .. } => {
                let high_water_marks = ids.into_iter().map(|id| {
                    let moment = match self.choices.one_of(4) {
                        0 => Ok(UnixNanos(1)),
                        1 => Ok(UnixNanos(u64::MAX)),
                        2 => Err("x".into()),
                        _ => return (id, None),
                    };
                    (id, Some(HighWaterMark { revision: 80, moment }))
                });
                Outcome::HighWaterMarks(high_water_marks.collect())
            }
            Action::Grant { ttl, at, .. } => {
                self.next_lease += 1;
                let granted = self.choices.pick(&[ttl, ttl, ttl, ttl * 2, ttl / 2, Duration::ZERO]);
                if at.is_none() {
                    self.turn.fresh = Some(Vec::new());
                }
                Outcome::Granted(sent, granted)
            }
            Action::Renew { holding, limits } => {
                let revisions: Vec<_> = holding.held.iter().map(|held| (held.id, 95)).collect();
                Outcome::Renewed(match self.choices.one_of(9) {
                    3 => Renewal::Only(revisions[..1].to_vec()),
                    4 => Renewal::Only(revisions),
                    5 => Renewal::Only(Vec::new()),
                    6 => Renewal::Gone,
                    7 => Renewal::Elsewhere,
                    8 => Renewal::Unsure,
                    _ => {
                        let limits = limits.renewed(sent, LeaseDuration(Duration::from_secs(30)));
                        Renewal::Done { sent, limits, revisions }
                    }
                })
            }
            Action::Change { change, .. } => {
                let is_done = self.choices.one_of(4) != 3;
                let etcd = change.etcd().unwrap_or(C);
                let mut answer = Answer { etcd, revision: 97, is_done, ..Answer::default() };
                match &change {
                    Change::Claim { holding, .. } | Change::Release(holding) => {
                        let lease = self.choices.pick(&[holding.lease, 50]);
                        let claim = |held: &LeasedId| {
                            (Key::Claim { cluster: holding.cluster, id: held.id }, lease, 96)
                        };
                        answer.read = holding.held.iter().map(claim).collect();
                    }
                    Change::BeginGrace { .. } => {
                        answer.read = self.choices.pick(&[vec![(Key::Grace, 77, 9)], vec![]]);
                        self.turn.grace |= is_done || !answer.read.is_empty();
                    }
                    _ => {}
                }
                if let Change::Claim { holding, .. } | Change::ConfirmClaim { holding, .. } = change
                {
                    self.turn.claimed.extend(holding.held.iter().map(|held| held.id));
                }
                Outcome::Changed(answer)
            }
            Action::Remember { memory, .. } => {
                self.memory = Some(memory);
                Outcome::Done
            }
            Action::GiveUp { ids, .. } => {
                let Some(lease) = &mut self.lease else { return Ok(Outcome::GaveUp(Vec::new())) };
                let is_gone = |held: &LeasedId| ids.contains(&held.id);
                let (gone, held): (Vec<_>, Vec<_>) = lease.held.iter().copied().partition(is_gone);
                lease.held = held;
                self.lease.take_if(|lease| lease.held.is_empty());
                self.turn.given_up.extend(gone.iter().map(|gone| gone.id));
                Outcome::GaveUp(gone)
            }
            Action::Publish { lease } => Outcome::Usable(self.publish(lease)),
            Action::Extend { lease, limits, sent, revisions } => {
                Outcome::Usable(self.extend(lease, limits, sent, &revisions))
            }
            _ => Outcome::Done,
        })
    }

    fn publish(&mut self, new: Lease) -> bool {
        if new.limits.is_expired(self.sent().boot) {
            return false;
        }
        self.last_lease = (new.lease, new.ttl);
        match &mut self.lease {
            Some(lease) if lease.lease == new.lease => lease.held.extend(new.held),
            lease => *lease = Some(new),
        }
        true
    }

    fn extend(
        &mut self,
        lease: i64,
        limits: LeaseLimits,
        sent: RequestTime,
        revisions: &[(u16, i64)],
    ) -> bool {
        let boot = self.sent().boot;
        let Some(held) = self.lease.as_mut().filter(|held| held.lease == lease) else {
            return false;
        };
        if held.limits.is_expired(boot) || limits.is_expired(boot) {
            return false;
        }
        (held.limits, held.sent) = (limits, sent);
        held.held = held.held.iter().map(|held| held.as_of(revisions)).collect();
        self.turn.fresh = Some(Vec::new());
        true
    }
}

/// A lease that a worker finds when it starts.
fn held_before() -> Lease {
    let sent = RequestTime { now: UnixNanos(100_000_000_000), boot: Duration::from_secs(100) };
    let ttl = Duration::from_secs(30);
    let leased = |id| LeasedId { id, high_water_mark: UnixNanos(0), revision: 90 };
    Lease {
        lease: 900,
        namespace: NAMESPACE.into(),
        authority: seen(C, X, 0).authority,
        cluster: 0,
        ttl,
        epoch: EPOCH,
        limits: LeaseLimits::from_grant(sent, LeaseDuration(ttl)),
        sent,
        since: sent.now,
        held: vec![leased(0), leased(1)],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_worker_does_nothing_that_it_must_not_do(
        choices in vec(any::<u8>(), 0..2000),
        remembers in any::<bool>(),
        holds in any::<bool>(),
        endpoints in 1..4usize,
    ) {
        let ttl = Duration::from_secs(30);
        let mut host = Host {
            worker: Worker::new(ttl, holds, Duration::from_secs(100)),
            choices: Choices(choices.into_iter()),
            memory: remembers.then(|| memory(C, X, &[E1])),
            lease: holds.then(held_before),
            last_lease: (0, Duration::ZERO),
            now: 100,
            next_lease: 1000,
            wanted: 2,
            endpoints: names(&[E1, E2, E3][..endpoints]),
            turn: Done::default(),
        };
        for _ in 0..12 {
            host.turn();
            let pause = host.choices.pick(&[10, 1, 5, 30]);
            host.pass(pause);
            host.wanted = host.choices.pick(&[2, 3, 1, 2]);
            if let Some(lease) = &host.lease
                && host.choices.one_of(20) == 19
            {
                host.worker.give_back(lease);
            }
        }
    }
}
