//! How the worker parts with generator IDs: those that it lost, that it has no use for, or that it gives back.

use super::base::{Halt, Holder, LATEST, TRIES};
use crate::clock::boot;
use crate::lease::etcd::client::{Patience, Trouble};
use crate::lease::etcd::note;
use crate::lease::etcd::process::{ENDED, may_go_on};
use crate::lease::etcd::registry::{Holding, Mark, Registry};
use crate::lease::transitions;
use crate::shmem::{Authority, Kept, Marked};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Holder {
    /// What etcd says is not ours any more. Marks that are still as we wrote them become exact.
    pub(super) fn lose(&mut self, kept: &Kept, ids: Option<&[u16]>, why: &str, forgotten: bool) {
        let gone = transitions::give_up(self.shared, ids, true);
        if gone.is_empty() {
            return;
        }
        note::lost(&kept.only(&gone), why);
        if forgotten {
            return self.keep_forgotten(kept, &gone);
        }
        for marked in gone {
            let (registry, cluster) = (&self.registry, kept.cluster);
            let done =
                self.etcd.call(async |client| registry.settle(client, cluster, marked).await);
            if done.is_err() {
                break;
            }
        }
    }

    /// Claims of this lease that are not used: a call that made them, or did not take them away, had no
    /// answer. They would be kept as long as the lease is.
    pub(super) fn let_go_of_strays(&mut self, kept: &Kept) -> Result<(), Halt> {
        let mut listing = self.list()?;
        let is_held = |id: u16| kept.held().iter().any(|held| held.id == id);
        let strays: Vec<_> = listing
            .claims
            .iter()
            .copied()
            .filter(|&(lease, (id, _))| lease == kept.lease && !is_held(id))
            .collect();
        for (lease, (id, revision)) in strays {
            self.read_marks(&mut listing, &[id])?;
            let mark = self.marks.get(&id).filter(|_| listing.marked.contains_key(&id));
            let Some(&Mark { moment: Ok(mark), .. }) = mark else { continue };
            let (registry, document) = (&self.registry, self.document(kept.since, lease));
            let held = &[Marked { id, mark, revision }];
            let Kept { authority: Authority { etcd, .. }, cluster, .. } = *kept;
            let holding = Holding { etcd, cluster, lease, held, document: &document };
            self.etcd.call(async |client| registry.release(client, &holding).await)?;
        }
        Ok(())
    }

    /// Gives up these generator IDs, or all: sealed, with their exact marks, and free for others at once if
    /// etcd answers, until then where this process ends.
    pub fn give_back(&mut self, ids: Option<&[u16]>, until: Option<Duration>) {
        let kept = self.shared.look_at_lease();
        self.see(&kept);
        let gone = transitions::give_up(self.shared, ids, false);
        if gone.is_empty() {
            return;
        }
        let ending = ENDED.load(Ordering::Relaxed);
        if let Some(until) = until {
            self.etcd.patience = Patience::Until(until);
        }
        let all = gone.len() == kept.held().len();
        let done = self.release(&kept, &gone, all);
        self.etcd.patience = Patience::While(may_go_on);
        match done {
            Ok(()) => note::released(&gone),
            Err(_) if ending => note::not_released(&gone),
            Err(_) => {
                note::not_released(&gone);
                match all {
                    true => self.leftover.push(kept.lease),
                    false => self.strays_until = boot() + LATEST,
                }
            }
        }
    }

    fn release(&mut self, kept: &Kept, gone: &[Marked], all: bool) -> Result<(), Trouble> {
        let namespace = kept.namespace.get().into();
        let registry = Registry { namespace, ..Registry::default() };
        let document = self.document(kept.since, kept.lease);
        let Kept { authority: Authority { etcd, .. }, cluster, lease, .. } = *kept;
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
