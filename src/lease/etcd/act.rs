//! One action of the protocol: a call to etcd, a change of shared memory, a write of the memory's
//! file, or a line in the log. What follows from its outcome is decided in
//! [`flakeid_core::registry::turn`].

use super::client::{CallError, Etcd, Patience};
use super::listing::HighWaterMarks;
use super::log::Log;
use super::registry::{Registry, grant, revoke};
use super::signals::{log_if_recovered, may_go_on, may_wait, reset_warning};
use super::{memory, signals};
use crate::clock::{now, since_boot};
use crate::guc::etcd as settings;
use crate::lease::transitions;
use crate::shmem::Shared;
use flakeid_core::lease::RequestTime;
use flakeid_core::registry::action::{Action, Lease, Report};
use flakeid_core::registry::turn::{Failure, Outcome, RETRY_DELAY};
use std::time::Duration;

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Interrupted => Self::Interrupted,
            CallError::Etcd(said) => Self::Failed(said),
        }
    }
}

/// The means of the worker.
pub struct Actor {
    pub shared: &'static Shared,
    pub etcd: Etcd,
    pub log: Log,
}

impl Actor {
    /// Does one action in this namespace.
    ///
    /// # Errors
    /// [`Failure`]: what was to be changed in etcd may be changed.
    pub fn act(&mut self, action: &Action, namespace: &str) -> Result<Outcome, Failure> {
        let registry =
            || Registry { namespace: namespace.into(), server: signals::claim_document() };
        match action {
            Action::List { at } => self.list(&registry(), at.as_deref()),
            Action::Prefer(endpoint) => {
                self.etcd.prefer(endpoint);
                Ok(Outcome::Done)
            }
            Action::ReadMarks { ids, etcd, registry: id } => {
                self.read_marks(&registry(), ids, (*etcd, id.as_deref()))
            }
            Action::AwaitRelease { revision, longest } => {
                let (registry, longest) = (registry(), *longest);
                self.etcd.patience = Patience::While(may_wait);
                let freed = self.etcd.call_for(longest + RETRY_DELAY, async |client| {
                    registry.await_release(client, *revision, longest).await
                });
                self.etcd.patience = Patience::While(may_go_on);
                freed.map(|()| Outcome::Done).map_err(Failure::from)
            }
            Action::Grant { lease, ttl, at } => {
                let sent = RequestTime { now: now(), boot: since_boot() };
                let request = async |client: &mut _| grant(client, *lease, *ttl).await;
                let granted = match at {
                    Some(endpoint) => self.etcd.call_at(endpoint, request)?,
                    None => self.etcd.call(request)?,
                };
                Ok(Outcome::Granted(sent, granted))
            }
            Action::Revoke(lease) => {
                self.etcd.call(async |client| revoke(client, *lease).await)?;
                Ok(Outcome::Done)
            }
            Action::Renew { holding, limits } => {
                let registry = registry();
                let renew = async |client: &mut _| registry.renew(client, holding, *limits).await;
                Ok(Outcome::Renewed(self.etcd.call(renew)?))
            }
            Action::Change { at, listed, change } => {
                let registry = registry();
                let call = async |client: &mut _| registry.change(client, change, listed).await;
                let answer = match at {
                    Some(endpoint) => self.etcd.call_at(endpoint, call)?,
                    None => self.etcd.call(call)?,
                };
                Ok(Outcome::Changed(answer))
            }
            Action::Remember { memory, .. } => {
                memory::write(memory).map(|()| Outcome::Done).map_err(Failure::Failed)
            }
            Action::GiveUp { ids, is_lost } => {
                Ok(Outcome::GaveUp(transitions::give_up(self.shared, Some(ids), *is_lost)))
            }
            Action::Publish { lease } => Ok(Outcome::Usable(self.publish(lease))),
            Action::Extend { lease, limits, sent, revisions } => {
                let is_usable = transitions::renew(self.shared, *lease, *limits, *sent, revisions);
                if is_usable {
                    transitions::set_endpoint(self.shared, self.etcd.endpoint());
                    log_if_recovered();
                }
                Ok(Outcome::Usable(is_usable))
            }
            Action::Report(report) => {
                if *report == Report::PoolEmpty {
                    transitions::set_waiting(self.shared, true);
                }
                self.log.report(report, settings::pool());
                Ok(Outcome::Done)
            }
        }
    }

    fn list(&mut self, registry: &Registry, at: Option<&str>) -> Result<Outcome, Failure> {
        let list = async |client: &mut _| registry.list(client).await;
        let mut listing = match at {
            Some(endpoint) => self.etcd.call_at(endpoint, list)?,
            None => self.etcd.call(list)?,
        };
        listing.endpoint = self.etcd.endpoint().into();
        Ok(Outcome::Listed(listing))
    }

    /// Reads high-water marks, fewer at a time if they are too large for one answer. If a later
    /// part fails, the earlier ones count.
    fn read_marks(
        &mut self,
        registry: &Registry,
        ids: &[u16],
        of: (u64, Option<&str>),
    ) -> Result<Outcome, Failure> {
        let (mut parts, mut all) = (vec![ids], Vec::new());
        while let Some(part) = parts.pop() {
            match self.etcd.call(async |client| registry.high_water_marks(client, part, of).await) {
                Ok(HighWaterMarks::TooLarge) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Ok(HighWaterMarks::Read(read)) => all.extend(read),
                Err(CallError::Etcd(_)) if !all.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Outcome::HighWaterMarks(all))
    }

    fn publish(&self, lease: &Lease) -> bool {
        let is_new = self.shared.lease_snapshot().lease != lease.lease;
        let is_usable = transitions::publish_claims(self.shared, lease);
        if is_usable {
            transitions::set_endpoint(self.shared, self.etcd.endpoint());
            if is_new {
                reset_warning();
            }
        }
        is_usable
    }

    /// Lets calls take until this time since boot, in any case; `None` for as long as the process
    /// need not end.
    pub fn wait_until(&mut self, latest: Option<Duration>) {
        self.etcd.patience = latest.map_or(Patience::While(may_go_on), Patience::Until);
    }
}
