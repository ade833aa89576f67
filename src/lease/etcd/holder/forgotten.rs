//! Leases that etcd has forgotten: how a renewal shows it, and how this server claims the same generator IDs again in
//! the grace period. [`authority`](super::authority) argues why it may.

use super::base::{Forgotten, Halt, Holder};
use super::survey::Survey;
use crate::clock::since_boot;
use crate::lease::etcd::registry::{HighWaterMark, Listing};
use crate::shmem::{Authority, LeaseState, LeasedId};
use flakeid_core::clock::UnixNanos;

/// Returns whether a listing shows that etcd has forgotten: high-water marks of these generator IDs are older than this
/// server wrote them.
fn has_forgotten(listing: &Listing, held: &[LeasedId]) -> bool {
    let seen = |id: u16| listing.mark_revisions.get(&id).copied().unwrap_or(0);
    held.iter().any(|held| seen(held.id) < held.revision)
}

impl Holder {
    /// Returns whether a renewal failed because etcd has forgotten what this server wrote for a lease of this registry,
    /// and the listing that shows it. If so, begins a grace period.
    ///
    /// # Errors
    /// The registry did not grant the lease, and does not continue the one that did; or the endpoints don't prove that
    /// etcd has forgotten.
    pub(super) fn has_forgotten(
        &mut self,
        authority: Authority,
        held: &[LeasedId],
    ) -> Result<(bool, Listing), Halt> {
        let mut listing = self.list()?;
        let is_other = self.authority(&listing) != authority;
        let mut forgotten = is_other || has_forgotten(&listing, held);
        if forgotten && !is_other {
            let is_as_it_was = |holder: &Self, there: &Listing| {
                Ok(holder.authority(there) == authority && !has_forgotten(there, held))
            };
            listing = match self.survey(listing, is_as_it_was)? {
                Survey::AsItWas(listing) => {
                    forgotten = false;
                    listing
                }
                Survey::Changing(listing) => listing,
                Survey::NotAsItWas(shown) => self.one_of(shown, 0)?,
            };
            self.take_up(&listing);
        }
        if forgotten {
            // With older data, claims may be back that this server gave up.
            self.expect_strays();
        }
        if forgotten && listing.grace.value.is_none() {
            self.forgot(
                &listing,
                match is_other {
                    true => "It replaces the one of the last lease.",
                    false => "A high-water mark is not as this server wrote it.",
                },
            )?;
        }
        Ok((forgotten, listing))
    }

    /// Remembers these generator IDs, to claim them again in the grace period, and writes their exact high-water marks
    /// if etcd has forgotten them. Best effort: without an answer they are lost, as those of a server that is gone.
    pub(super) fn keep_forgotten(&mut self, state: &LeaseState, gone: &[LeasedId]) {
        let early = state.sent.saturating_add(state.ttl / 2);
        let deadline = state.claim.deadline.min(early);
        self.forgotten = Some(Forgotten { held: gone.to_vec(), deadline });
        let Ok(mut listing) = self.list() else { return };
        for &leased in gone {
            if self.read_marks(&mut listing, &[leased.id]).is_err() {
                return;
            }
            let there = match self.high_water_marks.get(&leased.id) {
                Some(HighWaterMark { moment: Ok(moment), .. }) => *moment,
                _ => UnixNanos(0),
            };
            if there >= leased.high_water_mark {
                continue;
            }
            let revision = listing.mark_revisions.get(&leased.id).copied().unwrap_or(0);
            let (registry, cluster) = (&self.registry, state.cluster);
            let leased = LeasedId { revision, ..leased };
            let done = self
                .etcd
                .call(async |client| registry.finalize_mark(client, cluster, leased).await);
            if done.is_err() {
                return;
            }
        }
    }

    /// Returns at most `want` generator IDs that this server may claim in a grace period: those that it held until just
    /// now, and that are not claimed in etcd. Each has the least high-water mark that it gets.
    ///
    /// # Errors
    /// Nothing may be claimed until the grace period is over.
    pub(super) fn reclaimable(
        &mut self,
        listing: &mut Listing,
        want: usize,
    ) -> Result<Vec<LeasedId>, Halt> {
        let until = listing.grace.value.clone().unwrap_or_default();
        let none = || {
            Halt::Because(format!(
                "etcd has forgotten leases, so none is granted before they are over, about {until}"
            ))
        };
        let forgotten =
            self.forgotten.as_ref().filter(|forgotten| since_boot() < forgotten.deadline);
        let free = forgotten.map_or(Vec::new(), |forgotten| {
            let is_free = |leased: &&LeasedId| !listing.taken.contains(&leased.id);
            forgotten.held.iter().filter(is_free).take(want).copied().collect()
        });
        if free.is_empty() {
            return Err(none());
        }
        let ids: Vec<u16> = free.iter().map(|leased| leased.id).collect();
        self.read_marks(listing, &ids)?;
        let high_water_marks = &self.high_water_marks;
        let raised = |leased: LeasedId| match high_water_marks.get(&leased.id) {
            None => Some(LeasedId { revision: 0, ..leased }),
            Some(HighWaterMark { moment: Ok(there), .. }) => Some(LeasedId {
                high_water_mark: leased.high_water_mark.max(*there),
                revision: 0,
                ..leased
            }),
            // The time of its last ID is unknown.
            Some(HighWaterMark { moment: Err(_), .. }) => None,
        };
        let free: Vec<LeasedId> = free.into_iter().filter_map(raised).collect();
        if free.is_empty() { Err(none()) } else { Ok(free) }
    }
}
