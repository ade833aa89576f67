//! How the worker gives up generator IDs: those that it lost, does not use, or gives back.

use super::base::{Halt, Holder, TRIES};
use crate::lease::etcd::client::{CallError, Patience};
use crate::lease::etcd::note;
use crate::lease::etcd::process::{ENDED, may_go_on};
use crate::lease::etcd::registry::{HighWaterMark, Holding, Registry};
use crate::lease::transitions;
use crate::shmem::{Authority, LeaseState, LeasedId};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Holder {
    /// Gives up these generator IDs, or all, which etcd does not have as ours any more. High-water marks that are still
    /// as this server wrote them become exact.
    pub(super) fn lose(
        &mut self,
        state: &LeaseState,
        ids: Option<&[u16]>,
        why: &str,
        forgotten: bool,
    ) {
        let gone = transitions::give_up(self.shared, ids, true);
        if gone.is_empty() {
            return;
        }
        note::lost(&state.only(&gone), why);
        if forgotten {
            return self.keep_forgotten(state, &gone);
        }
        for leased in gone {
            let (registry, cluster) = (&self.registry, state.cluster);
            let done = self
                .etcd
                .call(async |client| registry.finalize_mark(client, cluster, leased).await);
            if done.is_err() {
                break;
            }
        }
    }

    /// Deletes claims of this lease that are not used. The answer to a call that made them, or should have deleted
    /// them, was lost, or older data of etcd are back. They would exist as long as the lease does. Returns whether none
    /// are left.
    pub(super) fn let_go_of_strays(&mut self, state: &LeaseState) -> Result<bool, Halt> {
        let (mut listing, mut is_clean) = (self.list()?, true);
        let is_held = |id: u16| state.held().iter().any(|held| held.id == id);
        let strays: Vec<_> = listing
            .claims
            .iter()
            .copied()
            .filter(|&(lease, (id, _))| lease == state.lease && !is_held(id))
            .collect();
        for (lease, (id, revision)) in strays {
            self.read_marks(&mut listing, &[id])?;
            let high_water_mark =
                self.high_water_marks.get(&id).filter(|_| listing.mark_revisions.contains_key(&id));
            let Some(&HighWaterMark { moment: Ok(high_water_mark), .. }) = high_water_mark else {
                is_clean = false;
                continue;
            };
            let (registry, document) = (&self.registry, self.document(state.leased_at, lease));
            let held = &[LeasedId { id, high_water_mark, revision }];
            let LeaseState { authority: Authority { etcd, .. }, cluster, .. } = *state;
            let holding = Holding { etcd, cluster, lease, held, document: &document };
            let left = self.etcd.call(async |client| registry.release(client, &holding).await)?;
            is_clean &= left.is_empty();
        }
        Ok(is_clean)
    }

    /// Gives back these generator IDs, or all: seals their cells and writes their exact high-water marks. If etcd
    /// answers, they are free for other servers at once. If this process ends, it waits for etcd until the given time.
    pub fn give_back(&mut self, ids: Option<&[u16]>, until: Option<Duration>) {
        let state = self.shared.lease_snapshot();
        self.see(&state);
        let gone = transitions::give_up(self.shared, ids, false);
        if gone.is_empty() {
            return;
        }
        let ending = ENDED.load(Ordering::Relaxed);
        if let Some(until) = until {
            self.etcd.patience = Patience::Until(until);
        }
        let all = gone.len() == state.held().len();
        let done = self.release(&state, &gone, all);
        self.etcd.patience = Patience::While(may_go_on);
        match done {
            Ok(()) => note::released(&gone),
            Err(_) if ending => note::not_released(&gone),
            Err(_) => {
                note::not_released(&gone);
                match all {
                    true => self.leftover.push(state.lease),
                    false => self.expect_strays(),
                }
            }
        }
    }

    fn release(
        &mut self,
        state: &LeaseState,
        gone: &[LeasedId],
        all: bool,
    ) -> Result<(), CallError> {
        let namespace = state.namespace.get().into();
        let registry = Registry { namespace, ..Registry::default() };
        let document = self.document(state.leased_at, state.lease);
        let LeaseState { authority: Authority { etcd, .. }, cluster, lease, .. } = *state;
        let mut rest = gone.to_vec();
        for _ in 0..TRIES {
            let holding = Holding { etcd, cluster, lease, held: &rest, document: &document };
            let ours = self.etcd.call(async |client| registry.release(client, &holding).await)?;
            rest.retain(|gone| ours.iter().any(|(id, _)| *id == gone.id));
            rest = rest.into_iter().map(|gone| gone.as_of(&ours)).collect();
            if rest.is_empty() {
                break;
            }
        }
        if all {
            self.etcd.call(async |client| registry.revoke(client, lease).await)?;
        }
        Ok(())
    }
}
