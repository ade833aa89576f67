//! The turns of the worker: view, decide, plan, act. [`flakeid_core::registry`] decides. The lease
//! is in shared memory ([`LeaseState`]), and what the server remembers is in a file ([`memory`]).

use super::act::Actor;
use super::client::{Etcd, Patience};
use super::log::{Log, reason};
use super::memory;
use super::signals::may_go_on;
use crate::clock::{now, since_boot};
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::transitions;
use crate::random;
use crate::shmem::{LeaseState, LeaseStatus, Shared};
use crate::{guc, horizon};
use flakeid_core::flake::Flake;
use flakeid_core::lease::RequestTime;
use flakeid_core::registry::action::Lease;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::plan::Settings;
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::turn::{RETRY_DELAY, Random, Situation, Step, TurnEnd, Worker};
use std::time::Duration;

pub struct LeaseWorker {
    actor: Actor,
    protocol: Worker,
}

/// The readings of the worker before each action.
struct Reading {
    namespace: String,
    endpoints: Vec<String>,
    /// The endpoint that answered last.
    endpoint: String,
    memory: Result<Option<Memory>, String>,
    lease: Option<Lease>,
    last_lease: (i64, Duration),
    random: Random,
}

impl Reading {
    fn situation(&self, wanted: usize) -> Situation<'_> {
        Situation {
            now: RequestTime { now: now(), boot: since_boot() },
            settings: Settings {
                wanted,
                pool: settings::pool(),
                namespace: &self.namespace,
                ttl: settings::lease_ttl(),
                epoch: Flake::scale().epoch(),
                endpoints: &self.endpoints,
            },
            lease: self.lease.as_ref(),
            last_lease: self.last_lease,
            memory: self.memory.as_ref().map(Option::as_ref).map_err(|error| &**error),
            endpoint: &self.endpoint,
            random: self.random,
        }
    }
}

/// Returns the lease that the server holds.
fn held(state: &LeaseState) -> Option<Lease> {
    (state.status == LeaseStatus::Held).then(|| Lease {
        lease: state.lease,
        namespace: state.namespace.get().into(),
        authority: state.authority,
        cluster: state.cluster,
        ttl: state.ttl,
        epoch: state.epoch,
        limits: state.limits,
        sent: RequestTime { now: state.renewed, boot: state.sent },
        since: state.leased_at,
        held: state.held().to_vec(),
    })
}

/// Returns random numbers for the next action. Returns `None` if the operating system has none.
fn random_numbers() -> Option<Random> {
    let (mut lease, mut registry, mut place) = ([0; 8], [0; 8], [0; 2]);
    let are_filled =
        random::fill(&mut lease) && random::fill(&mut registry) && random::fill(&mut place);
    are_filled.then(|| Random {
        lease: i64::from_be_bytes(lease) & i64::MAX | 1,
        registry: u64::from_be_bytes(registry),
        place: u16::from_be_bytes(place),
    })
}

/// Returns the longest time of a call at one endpoint: a tenth of the lease, so that several can be
/// asked in time.
fn longest_call(ttl: Duration) -> Duration {
    (ttl / 10).clamp(Duration::from_millis(500), Duration::from_secs(2))
}

impl LeaseWorker {
    /// # Errors
    /// The operating system's, if there can be no runtime.
    pub fn new(shared: &'static Shared) -> std::io::Result<Self> {
        let ttl = settings::lease_ttl();
        let etcd = Etcd::new(settings::access(), longest_call(ttl), Patience::While(may_go_on))?;
        let holds_lease = shared.lease_snapshot().status == LeaseStatus::Held;
        Ok(Self {
            actor: Actor { shared, etcd, log: Log::default() },
            protocol: Worker::new(ttl, holds_lease, since_boot()),
        })
    }

    /// Uses the settings after a reload. The next turn uses those of the lease itself.
    pub fn reload(&mut self) {
        self.actor.etcd.set(settings::access(), longest_call(settings::lease_ttl()));
        self.protocol.reload();
    }

    /// Does everything that is due. Returns the time until something is due again.
    pub fn run_turn(&mut self, wanted: usize) -> Duration {
        let shared = self.actor.shared;
        if shared.lease.take_renewal_request() {
            self.protocol.request_renewal();
        }
        transitions::enable(shared, wanted);
        match self.check_settings() {
            Ok(()) => self.run(wanted),
            Err(refusal) => self.end(TurnEnd::Failed(refusal)),
        }
    }

    /// Gives all generator IDs back. Waits for etcd until the given time since boot.
    pub fn give_back(&mut self, until: Duration) {
        let Some(lease) = held(&self.actor.shared.lease_snapshot()) else { return };
        self.protocol.give_back(&lease);
        self.actor.wait_until(Some(until));
        let _ = self.run(0);
        self.actor.wait_until(None);
    }

    fn check_settings(&self) -> Result<(), Refusal> {
        if let Some(refusal) = guc::refusals().into_iter().next() {
            let (setting, reason) = (&refusal.setting, &refusal.reason);
            return Err(Refusal::Failed(format!("\"{setting}\" is invalid: {reason}")));
        }
        // The first server of a registry writes its epoch there. It must not be one that its own
        // state refuses.
        horizon::ensure_agrees(Some(self.actor.shared))
            .map_err(|report| Refusal::Failed(report.line().0))
    }

    fn read(&self, random: Random) -> Reading {
        let state = self.actor.shared.lease_snapshot();
        Reading {
            namespace: settings::namespace(),
            endpoints: self.actor.etcd.endpoints(),
            endpoint: self.actor.etcd.endpoint().into(),
            memory: match self.protocol.needs_memory() {
                true => memory::read(),
                // Nothing can lease by this.
                false => Err(String::new()),
            },
            lease: held(&state),
            last_lease: (state.lease, state.ttl),
            random,
        }
    }

    /// Does one action after the other, up to the end of the turn.
    fn run(&mut self, wanted: usize) -> Duration {
        loop {
            let Some(random) = random_numbers() else {
                let reason = "no random numbers are available".into();
                return self.end(TurnEnd::Failed(Refusal::Failed(reason)));
            };
            let reading = self.read(random);
            let step = self.protocol.next(&reading.situation(wanted));
            if self.protocol.take_choice() {
                self.report_unreadable_mark();
            }
            let action = match step {
                Step::End(end) => return self.end(end),
                Step::Act(action) => action,
            };
            let namespace = self.protocol.namespace(&reading.namespace).to_owned();
            let outcome = self.actor.act(&action, &namespace);
            if let Some(end) = self.protocol.after(outcome, &self.read(random).situation(wanted)) {
                return self.end(end);
            }
        }
    }

    /// Reports which generator ID is not leased, since the time of its last ID is unknown.
    fn report_unreadable_mark(&mut self) {
        let Some((id, value)) = self.protocol.unreadable_mark(settings::pool()) else { return };
        let key = format!("{}until/{id}", settings::namespace());
        let reason = format!("etcd key \"{key}\" has \"{value}\", which is not a time");
        transitions::record_error(self.actor.shared, &reason);
        self.actor.log.unreadable(&reason, id);
    }

    fn end(&mut self, end: TurnEnd) -> Duration {
        let shared = self.actor.shared;
        match end {
            TurnEnd::Rest(until) => {
                self.actor.log.forget_error();
                until.saturating_sub(since_boot())
            }
            TurnEnd::Backoff(until) => until.saturating_sub(since_boot()),
            TurnEnd::Again => {
                // A renewal does not end the reason why no more is claimed. The next turn finds
                // whether it applies.
                if shared.lease_snapshot().status != LeaseStatus::Held {
                    self.actor.log.forget_error();
                }
                Duration::ZERO
            }
            TurnEnd::Interrupted => Duration::ZERO,
            TurnEnd::Failed(refusal) => {
                let reason = reason(&refusal, &settings::namespace());
                transitions::record_error(shared, &reason);
                // The pool may have a free generator ID by now.
                transitions::set_waiting(shared, false);
                self.actor.log.cannot(&reason);
                RETRY_DELAY
            }
        }
    }
}
