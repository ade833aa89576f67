//! A server that does what its worker says, and writes down each action as a line. Its wall clock
//! shows the seconds since boot.

use crate::etcd::Etcd;
use crate::given::{A, C, EPOCH, N, NAMESPACE, X, identity};
use crate::lines::{action_line, end_line};
use flakeid_core::clock::UnixNanos;
use flakeid_core::lease::RequestTime;
use flakeid_core::registry::action::{Action, Lease, Renewal};
use flakeid_core::registry::listing::address;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::plan::Settings;
use flakeid_core::registry::transaction::{Answer, Change, LeasedId, Listed, Transaction};
use flakeid_core::registry::turn::{Failure, Outcome, Random, Situation, Step, Worker};
use std::ops::RangeInclusive;
use std::time::Duration;

/// More actions than any turn needs.
const MANY: usize = 400;

/// A fault of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotDone,
    AnswerLost,
    Interrupted,
}

/// Something that happens before an action.
type Event = Box<dyn FnOnce(&mut Node)>;

pub struct Node {
    pub worker: Worker,
    pub etcds: Vec<Etcd>,
    /// The endpoints of the settings, and the place of the etcd to which each leads. `None` if it
    /// is silent.
    pub endpoints: Vec<(&'static str, Option<usize>)>,
    pub memory: Result<Option<Memory>, String>,
    pub is_disk_full: bool,
    pub lease: Option<Lease>,
    pub last_lease: (i64, Duration),
    /// Seconds since boot.
    pub now: u64,
    pub wanted: usize,
    pub pool: RangeInclusive<u16>,
    pub namespace: String,
    pub ttl: u64,
    pub epoch: UnixNanos,
    /// For how long leases are granted, if not for as long as requested.
    pub granted: Option<Duration>,
    /// The number of the next lease.
    pub next_lease: i64,
    /// The place of the endpoint that answered last.
    at: usize,
    /// The beginnings of the lines at which something goes wrong, or happens.
    faults: Vec<(&'static str, Fault)>,
    /// The fault of the action at this place, counted over all turns.
    pub fault_at: Option<(usize, Fault)>,
    /// The seconds that pass before the action at this place.
    pub pause_at: Option<(usize, u64)>,
    pub actions: usize,
    events: Vec<(&'static str, Event)>,
    names: Vec<String>,
}

pub fn seconds(seconds: u64) -> UnixNanos {
    UnixNanos(seconds * 1_000_000_000)
}

impl Node {
    /// Returns a server that has just started, and asks an etcd at `e1` that has registry X.
    pub fn at_registry() -> Self {
        Self::new(Etcd::with_registry(C, A, &identity(&[X]).to_string()))
    }

    /// Returns a server that holds generator IDs 0 and 1 from there, by lease 1. The etcd has
    /// revision 6.
    pub fn holder() -> Self {
        let mut node = Self::at_registry();
        node.turns();
        assert_eq!((node.held(), node.now), (vec![0, 1], 100));
        node
    }

    /// Returns a server that has just started, wants two generator IDs from 0 to 9, and asks this
    /// etcd at `e1`.
    pub fn new(etcd: Etcd) -> Self {
        Self {
            worker: Worker::new(Duration::from_secs(30), false, Duration::from_secs(100)),
            etcds: vec![etcd],
            endpoints: vec![("e1", Some(0))],
            memory: Ok(None),
            is_disk_full: false,
            lease: None,
            last_lease: (0, Duration::ZERO),
            now: 100,
            wanted: 2,
            pool: 0..=9,
            namespace: NAMESPACE.into(),
            ttl: 30,
            epoch: EPOCH,
            granted: None,
            next_lease: 1,
            at: 0,
            faults: Vec::new(),
            fault_at: None,
            pause_at: None,
            actions: 0,
            events: Vec::new(),
            names: Vec::new(),
        }
    }

    pub fn etcd(&mut self) -> &mut Etcd {
        &mut self.etcds[0]
    }

    /// Something goes wrong with the next action whose line begins like this.
    pub fn fault(&mut self, line: &'static str, fault: Fault) {
        self.faults.push((line, fault));
    }

    /// Something happens before the next action whose line begins like this.
    pub fn before(&mut self, line: &'static str, event: impl FnOnce(&mut Self) + 'static) {
        self.events.push((line, Box::new(event)));
    }

    pub fn held(&self) -> Vec<u16> {
        self.lease.iter().flat_map(|lease| lease.held.iter().map(|held| held.id)).collect()
    }

    /// Lets seconds pass. Leases in etcd end, and so does this server's own.
    pub fn pass(&mut self, pause: u64) {
        self.now += pause;
        let boot = Duration::from_secs(self.now);
        self.lease.take_if(|lease| lease.limits.is_expired(boot));
        for etcd in &mut self.etcds {
            etcd.expire(self.now);
        }
    }

    /// Does a turn. Returns its actions, and how it ended.
    pub fn turn(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            assert!(lines.len() < MANY, "a turn without an end: {lines:#?}");
            let action = match self.with_situation(|worker, situation| worker.next(situation)) {
                Step::Act(action) => action,
                Step::End(end) => {
                    lines.push(end_line(&end));
                    return lines;
                }
            };
            let line = action_line(&action);
            lines.push(line.clone());
            if let Some(place) = self.events.iter().position(|(begin, _)| line.starts_with(begin)) {
                self.events.remove(place).1(self);
            }
            let fault = self.faults.iter().position(|(begin, _)| line.starts_with(begin));
            let fault = fault.map(|place| self.faults.remove(place).1);
            // What a server does by itself does not fail.
            let is_local = matches!(
                action,
                Action::Prefer(_)
                    | Action::GiveUp { .. }
                    | Action::Publish { .. }
                    | Action::Extend { .. }
                    | Action::Report(_)
            );
            let fault_here = self.fault_at.filter(|&(place, _)| place == self.actions && !is_local);
            if let Some((_, pause)) = self.pause_at.filter(|&(place, _)| place == self.actions) {
                self.pass(pause);
            }
            self.actions += 1;
            let outcome = match fault.or(fault_here.map(|(_, fault)| fault)) {
                None => self.act(action).map_err(Failure::Failed),
                Some(Fault::NotDone) => Err(Failure::Failed("not done".into())),
                Some(Fault::Interrupted) => Err(Failure::Interrupted),
                Some(Fault::AnswerLost) => {
                    let _ = self.act(action);
                    Err(Failure::Failed("no answer".into()))
                }
            };
            let end = self.with_situation(|worker, situation| worker.after(outcome, situation));
            if let Some(end) = end {
                lines.push(end_line(&end));
                return lines;
            }
        }
    }

    /// Does turns until one has nothing to do. Returns the lines of all.
    pub fn turns(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.extend(self.turn());
            assert!(lines.len() < MANY, "turns without an end: {lines:#?}");
            if lines.last().is_some_and(|line| line != "again") {
                return lines;
            }
        }
    }

    pub fn request_time(&self) -> RequestTime {
        RequestTime { now: seconds(self.now), boot: Duration::from_secs(self.now) }
    }

    pub fn with_situation<T>(&mut self, ask: impl FnOnce(&mut Worker, &Situation<'_>) -> T) -> T {
        self.names = self.endpoints.iter().map(|&(name, _)| name.into()).collect();
        let now = self.request_time();
        let situation = Situation {
            now,
            settings: Settings {
                wanted: self.wanted,
                pool: self.pool.clone(),
                namespace: &self.namespace,
                ttl: Duration::from_secs(self.ttl),
                epoch: self.epoch,
                endpoints: &self.names,
            },
            lease: self.lease.as_ref().filter(|lease| !lease.limits.is_expired(now.boot)),
            last_lease: self.last_lease,
            memory: match self.worker.needs_memory() {
                true => self.memory.as_ref().map(Option::as_ref).map_err(|error| &**error),
                false => Err("the worker said that it does not need the memory"),
            },
            endpoint: self.endpoints.get(self.at).map_or("", |(name, _)| name),
            random: Random { lease: self.next_lease, registry: N, place: 7 },
        };
        ask(&mut self.worker, &situation)
    }

    /// Calls the endpoint, or one after the other, beginning with the one that answered last.
    fn call<T>(
        &mut self,
        at: Option<&str>,
        call: impl Fn(&mut Etcd, &str) -> Result<T, String>,
    ) -> Result<T, String> {
        let count = self.endpoints.len();
        if let Some(at) = at {
            self.at = self.endpoints.iter().position(|(name, _)| *name == at).unwrap();
        }
        let mut failed = String::new();
        for _ in 0..if at.is_some() { 1 } else { count } {
            let (name, place) = self.endpoints[self.at];
            match place.map(|place| call(&mut self.etcds[place], name)) {
                Some(Ok(answer)) => return Ok(answer),
                Some(Err(error)) => failed = format!("{name}: {error}"),
                None => failed = format!("{name} is silent"),
            }
            self.at = (self.at + 1) % count;
        }
        Err(failed)
    }

    fn transact(&mut self, at: Option<&str>, transaction: &Transaction) -> Result<Answer, String> {
        self.call(at, |etcd, _| etcd.transact(transaction))
    }

    fn act(&mut self, action: Action) -> Result<Outcome, String> {
        let sent = self.request_time();
        Ok(match action {
            Action::List { at } => {
                Outcome::Listed(self.call(at.as_deref(), |etcd, name| Ok(etcd.list(name)))?)
            }
            Action::Prefer(name) => {
                self.at = self.endpoints.iter().position(|(other, _)| *other == name).unwrap();
                Outcome::Done
            }
            Action::ReadMarks { ids, etcd: listed, registry } => {
                let read = self.call(None, |etcd, name| {
                    let is_same = etcd.id == listed && etcd.list(name).id.value == registry;
                    if is_same { Ok(etcd.read(&ids)) } else { Err("another etcd".into()) }
                })?;
                Outcome::HighWaterMarks(read)
            }
            Action::AwaitRelease { longest, .. } => {
                self.now += longest.as_secs();
                Outcome::Done
            }
            Action::Grant { lease, ttl, at } => {
                self.next_lease += 1;
                let granted = self.granted.unwrap_or(ttl);
                let end = self.now + granted.as_secs();
                self.call(at.as_deref(), |etcd, _| {
                    etcd.leases.insert(lease, end);
                    Ok(())
                })?;
                Outcome::Granted(sent, granted)
            }
            Action::Revoke(lease) => {
                self.call(None, |etcd, _| {
                    etcd.revoke(lease);
                    Ok(())
                })?;
                Outcome::Done
            }
            Action::Renew { holding, limits } => {
                let ttl = Duration::from_secs(self.ttl);
                let renewal = self.call(None, |etcd, _| {
                    let kept = etcd.keep_alive(holding.lease, ttl, sent);
                    let limits = match kept.limits(holding.etcd, limits) {
                        Err(renewal) => return Ok(renewal),
                        Ok(limits) => limits,
                    };
                    let change =
                        Change::Renew { holding: holding.clone(), ceiling: limits.ceiling };
                    let answer = etcd.transact(&change.transaction(&Listed::default()))?;
                    Ok(Renewal::of(kept, limits, &holding, &answer))
                })?;
                Outcome::Renewed(renewal)
            }
            Action::Change { at, listed, change } => {
                self.check(&change);
                let answer = self.transact(at.as_deref(), &change.transaction(&listed))?;
                if change.etcd().is_some_and(|etcd| etcd != answer.etcd) {
                    return Err("another etcd answered".into());
                }
                Outcome::Changed(answer)
            }
            Action::Remember { memory, .. } => {
                if self.is_disk_full {
                    return Err("the disk is full".into());
                }
                self.memory = Ok(Some(memory));
                Outcome::Done
            }
            Action::GiveUp { ids, .. } => Outcome::GaveUp(self.give_up(&ids)),
            Action::Publish { lease } => Outcome::Usable(self.publish(lease)),
            Action::Extend { lease, limits, sent, revisions } => {
                let boot = self.request_time().boot;
                let held = self.lease.as_mut().filter(|held| held.lease == lease);
                let held = held.filter(|held| !held.limits.is_expired(boot));
                let Some(held) = held.filter(|_| !limits.is_expired(boot)) else {
                    return Ok(Outcome::Usable(false));
                };
                (held.limits, held.sent) = (limits, sent);
                held.held = held.held.iter().map(|held| held.as_of(&revisions)).collect();
                Outcome::Usable(true)
            }
            Action::Report(_) => Outcome::Done,
        })
    }

    /// Checks that this server remembers a registry before it claims there, and that it releases
    /// only what it has given up.
    fn check(&self, change: &Change) {
        match change {
            Change::Claim { holding, .. } => {
                let memory = self.memory.as_ref().unwrap().as_ref().unwrap();
                assert_eq!(memory.address, address(holding.etcd, &self.namespace));
                assert!(holding.held.iter().all(|claimed| !self.held().contains(&claimed.id)));
            }
            Change::Release(holding) => {
                assert!(holding.held.iter().all(|gone| !self.held().contains(&gone.id)));
            }
            _ => {}
        }
    }

    /// Gives up generator IDs. The last ID of each was generated a second before now.
    fn give_up(&mut self, ids: &[u16]) -> Vec<LeasedId> {
        let last = seconds(self.now - 1);
        let Some(lease) = &mut self.lease else { return Vec::new() };
        let is_gone = |held: &LeasedId| ids.contains(&held.id);
        let (gone, held): (Vec<_>, Vec<_>) = lease.held.iter().copied().partition(is_gone);
        lease.held = held;
        if lease.held.is_empty() {
            self.lease = None;
        }
        let exact =
            |gone: LeasedId| LeasedId { high_water_mark: last.max(gone.high_water_mark), ..gone };
        gone.into_iter().map(exact).collect()
    }

    fn publish(&mut self, new: Lease) -> bool {
        if new.limits.is_expired(self.request_time().boot) {
            return false;
        }
        self.last_lease = (new.lease, new.ttl);
        match &mut self.lease {
            Some(lease) if lease.lease == new.lease => {
                lease.authority = new.authority;
                lease.held.extend(new.held);
                lease.held.sort_by_key(|held| held.id);
            }
            lease => *lease = Some(new),
        }
        true
    }
}
