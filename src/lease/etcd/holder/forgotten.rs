//! Leases that etcd has forgotten: how a renewal shows it, and how this server comes by the same generator IDs again in
//! the grace period. Why it may is argued in [`authority`](super::authority).

use super::base::{Forgotten, Halt, Holder, LATEST};
use crate::clock::boot;
use crate::lease::etcd::registry::{Listing, Mark};
use crate::shmem::{Authority, Kept, Marked};
use flakeid_core::clock::UnixNanos;

/// Whether a renewal that failed shows an etcd that has forgotten: marks of what is held are not as they were written.
fn has_forgotten(listing: &Listing, held: &[Marked]) -> bool {
    let seen = |id: u16| listing.marked.get(&id).copied().unwrap_or(0);
    held.iter().any(|held| seen(held.id) < held.revision)
}

impl Holder {
    /// Whether a renewal failed as etcd has forgotten what this server wrote for a lease of this registry. A grace period
    /// has begun then.
    ///
    /// # Errors
    /// This is not the registry that the lease was granted by, and does not go on in its place.
    pub(super) fn has_forgotten(
        &mut self,
        authority: Authority,
        held: &[Marked],
    ) -> Result<bool, Halt> {
        let listing = self.list()?;
        let is_other = self.authority(&listing) != authority;
        let forgotten = is_other || has_forgotten(&listing, held);
        if forgotten {
            // With older data, claims may have come back that this server gave up.
            self.strays_until = boot() + LATEST;
        }
        if forgotten && listing.grace.value.is_none() {
            self.forgot(
                &listing,
                match is_other {
                    true => "It replaces the one of the last lease.",
                    false => "A mark is not as this server wrote it.",
                },
            )?;
        }
        Ok(forgotten)
    }

    /// Keeps what this server held, to claim it again in the grace period, and writes its exact marks where etcd has
    /// forgotten them. Best effort: without an answer the marks are lost, as those of a server that is gone.
    pub(super) fn keep_forgotten(&mut self, kept: &Kept, gone: &[Marked]) {
        let early = kept.sent.saturating_add(kept.ttl / 2);
        let deadline = kept.claim.deadline.min(early);
        self.forgotten = Some(Forgotten { held: gone.to_vec(), deadline });
        let Ok(mut listing) = self.list() else { return };
        for &marked in gone {
            if self.read_marks(&mut listing, &[marked.id]).is_err() {
                return;
            }
            let there = match self.marks.get(&marked.id) {
                Some(Mark { moment: Ok(moment), .. }) => *moment,
                _ => UnixNanos(0),
            };
            if there >= marked.mark {
                continue;
            }
            let revision = listing.marked.get(&marked.id).copied().unwrap_or(0);
            let (registry, cluster) = (&self.registry, kept.cluster);
            let marked = Marked { revision, ..marked };
            let done =
                self.etcd.call(async |client| registry.settle(client, cluster, marked).await);
            if done.is_err() {
                return;
            }
        }
    }

    /// In a grace period: what this server held until just now, is not claimed in etcd, and it may claim again, at most
    /// so many, with the marks that they get at least.
    ///
    /// # Errors
    /// Nothing may be claimed until the grace period is over.
    pub(super) fn reclaimable(
        &mut self,
        listing: &mut Listing,
        want: usize,
    ) -> Result<Vec<Marked>, Halt> {
        let until = listing.grace.value.clone().unwrap_or_default();
        let none = || {
            Halt::Because(format!(
                "etcd has forgotten leases, so none is granted before they are over, about {until}"
            ))
        };
        let forgotten = self.forgotten.as_ref().filter(|forgotten| boot() < forgotten.deadline);
        let free = forgotten.map_or(Vec::new(), |forgotten| {
            let is_free = |marked: &&Marked| !listing.taken.contains(&marked.id);
            forgotten.held.iter().filter(is_free).take(want).copied().collect()
        });
        if free.is_empty() {
            return Err(none());
        }
        let ids: Vec<u16> = free.iter().map(|marked| marked.id).collect();
        self.read_marks(listing, &ids)?;
        let marks = &self.marks;
        let raised = |marked: Marked| match marks.get(&marked.id) {
            None => Some(Marked { revision: 0, ..marked }),
            Some(Mark { moment: Ok(there), .. }) => {
                Some(Marked { mark: marked.mark.max(*there), revision: 0, ..marked })
            }
            // Nobody knows what was made with it.
            Some(Mark { moment: Err(_), .. }) => None,
        };
        let free: Vec<Marked> = free.into_iter().filter_map(raised).collect();
        if free.is_empty() { Err(none()) } else { Ok(free) }
    }
}
