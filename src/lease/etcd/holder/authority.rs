//! Which registry this server may lease from, where etcd has lost its data, is a copy, or is another one.
//!
//! That no two servers hold a generator ID rests on what etcd remembers. So a server must notice an etcd that does not
//! remember, and must then not lease before all leases are over that may have been forgotten.
//!
//! # How it is noticed
//! * *Nothing is there.* A registry has an address and an epoch ([`registry`](crate::lease::etcd::registry)). Who
//!   finds neither founds it. Nobody can tell a registry that was never there from one that etcd has lost, so a
//!   founded one begins with a grace period. Who knows that it is the first may write the address beforehand. A registry
//!   of 0.6.0 has an epoch alone, and goes on without; but not for a server that has leased by its address.
//! * *It is a copy.* The address names the etcd that the registry is in by its cluster ID. A registry whose address is
//!   that of another etcd is a copy, and nobody leases from it. Claims and renewals count only if the etcd answers
//!   that was listed, as a copy meets all conditions of a transaction.
//! * *It is another registry.* The server keeps the address of the one that it leased from last, on disk, as the
//!   servers beside it may go on leasing from that one though this server is restarted or its settings have changed.
//!   It leases from no other, unless that one's address says that it replaces the last: `<address>,<replaced>`. That
//!   is an administrator's word, who has seen to it that no server uses the replaced one any more. Their last
//!   leases may not be over yet, so a grace period begins.
//! * *It is older than it was.* etcd's revision is less than this server has seen or written; or a renewal fails, and a
//!   mark is not there, or is of an earlier revision than this server has written it in. Marks stay where a lease ends,
//!   is revoked, or a claim is deleted. A grace period begins.
//!
//! # What a grace period is
//! A key that is bound to a lease of its own, so etcd ends it, and nobody revokes it. While it is there no server claims a
//! generator ID, except one that itself held it until just now, in the first half of its lease. Nobody leases that one
//! by what is there now, unless a claim of it is there; and if etcd had ended its lease early, and another server had
//! leased it since, that one renews, and finds what is forgotten, before the first one's old ceiling.
//! So servers that are alive go on with the generator IDs that they have.
//! It lasts as long as this server's leases, and begins after the last renewal that was forgotten. So all servers that
//! lease from one registry must have one `flakeid.etcd_lease_ttl`: of a longer one that was forgotten nobody knows.
//!
//! # What is not noticed
//! * A registry that was set back by a few revisions, in an etcd with the same cluster ID, by a server that has no memory
//!   of it and comes before all others that have. A snapshot that is restored with a new token has another cluster ID.
//! * That an etcd is another one, where both were set up with the same peer URLs and token: then they have one cluster
//!   ID, which is a hash of these. A server that is led from one to the other takes it for a loss of data.
//! * What a mark said that is lost, where its server does not write it again, as it is gone, cut off, or stopped before it
//!   noticed: who claims the ID then begins after its own clock, which must not be behind the other's.
//! * Anything, by servers of 0.6.0.

use super::{Halt, Holder, LATEST};
use crate::clock::{boot, now};
use crate::error::excerpt;
use crate::horizon;
use crate::id_types::ServerIdType;
use crate::lease::etcd::registry::{Grace, Listing, Mark, written};
use crate::lease::etcd::{new_lease, note};
use crate::regular_file::{self, Links};
use crate::shmem::{Kept, Marked};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;
use std::io::ErrorKind;
use std::time::Duration;

/// The file below the data directory's `flakeid` that has the address of the registry of the last lease.
const FILE: &str = "etcd";

/// How long the file always is, in bytes: a backup that looks at the size of one and then copies the next would cut
/// it. An address is filled up with empty lines.
const LENGTH: usize = 256;

/// Generator IDs that this server held by what etcd has forgotten, with their exact marks.
#[derive(Debug)]
pub(super) struct Forgotten {
    held: Vec<Marked>,
    /// From then on, by the clock since boot, they may be claimed as any other.
    deadline: Duration,
}

/// The address of the registry of the last lease; `None` where there was none.
fn remembered() -> Result<Option<String>, Halt> {
    match regular_file::read(&horizon::directory().join(FILE), LENGTH, Links::Refused) {
        Ok((content, _)) => {
            match str::from_utf8(&content).map(|text| text.trim_end_matches('\n')) {
                Ok(address) if !address.is_empty() => Ok(Some(address.into())),
                _ => Err(Halt::Because("file \"flakeid/etcd\" is damaged".into())),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Halt::Because(format!("could not read file \"flakeid/etcd\": {error}"))),
    }
}

/// Remembers the address of the registry that generator IDs are leased from, so that it is durable.
fn remember(address: &str) -> Result<(), Halt> {
    if remembered()?.as_deref() == Some(address) {
        return Ok(());
    }
    // The directory comes into being with the state.
    horizon::make_durable().map_err(|failure| Halt::Because(failure.line().0))?;
    let content = format!("{address:\n<LENGTH$}");
    regular_file::replace(&horizon::directory(), FILE, content.as_bytes()).map_err(|(_, error)| {
        Halt::Because(format!("could not write file \"flakeid/etcd\": {error}"))
    })
}

/// Whether a renewal that failed shows an etcd that has forgotten: marks of what is held are not as they were written.
fn has_forgotten(listing: &Listing, held: &[Marked]) -> bool {
    let seen = |id: u16| listing.marked.get(&id).copied().unwrap_or(0);
    held.iter().any(|held| seen(held.id) < held.revision)
}

impl Holder {
    /// A listing of a registry that this server may lease from, with all that must be there.
    pub(super) fn list(&mut self) -> Result<Listing, Halt> {
        let registry = &self.registry;
        while let Some(&lease) = self.leftover.last() {
            self.etcd.call(async |client| registry.revoke(client, lease).await)?;
            self.leftover.pop();
        }
        let mut listing = self.list_once()?;
        let (address, epoch) = (self.registry.address(listing.etcd), epoch());
        if listing.is_new() {
            let is_ours = self.begin_grace(|holder, grace| {
                let registry = &holder.registry;
                let found =
                    async |client: &mut _| registry.found(client, &address, &epoch, grace).await;
                Ok(holder.etcd.call(found)?)
            })?;
            if is_ours {
                note::founded(&address);
            }
            listing = self.list_once()?;
            if listing.is_new() {
                return Err(Halt::Because("etcd does not keep what is written".into()));
            }
        }
        if listing.address.value.is_none() && remembered()?.as_deref() == Some(&*address) {
            // A server of 0.6.0 may have written the epoch, or someone has deleted the address.
            self.forgot("Its address is not there.")?;
        }
        let mut missing = Vec::new();
        // Where the address was there, or the epoch, but not if it is lost since: else there would be a registry
        // without a grace period.
        let (address_key, epoch_key) = (&listing.address, &listing.epoch);
        for (there, name, first, beside) in [
            (address_key, "address", &*address, ("epoch", epoch_key.revision)),
            (&listing.cluster, "cluster-id", "0", ("epoch", epoch_key.revision)),
            (epoch_key, "epoch", &*epoch, ("address", address_key.revision)),
        ] {
            if there.value.is_none() {
                missing.push((name, first, beside));
            }
        }
        if missing.is_empty() {
            return Ok(listing);
        }
        for (name, value, beside) in missing {
            let registry = &self.registry;
            self.etcd.call(async |client| registry.create(client, name, value, beside).await)?;
        }
        self.list_once()
    }

    /// A listing, where this server may lease from the registry that it is of.
    fn list_once(&mut self) -> Result<Listing, Halt> {
        let registry = &self.registry;
        let listing = self.etcd.call(async |client| registry.list(client).await)?;
        let address = self.registry.address(listing.etcd);
        let stated = listing.address.value.as_deref().map(|text| text.trim_end_matches('\n'));
        let replaced = match stated {
            None => "",
            Some(stated) => match stated.strip_prefix(&*address) {
                Some(rest) if rest.is_empty() || rest.starts_with(',') => rest,
                _ => {
                    let key = self.registry.key("address");
                    let stated = excerpt(stated.as_bytes(), LENGTH);
                    return Err(Halt::Because(format!(
                        "etcd's key \"{key}\" is \"{stated}\", where this registry is {address}"
                    )));
                }
            },
        };
        let last = remembered()?;
        if let Some(last) = last.filter(|last| *last != address) {
            if !replaced.split(',').any(|replaced| replaced == last || replaced.trim() == last) {
                return Err(Halt::Because(format!(
                    "the last lease was of the registry {last}, and this one is {address}"
                )));
            }
            // Once, though it can't be remembered: else one full disk would keep all servers in grace periods.
            if self.replacing.as_ref() != Some(&address) {
                self.forgot("It replaces the one of the last lease.")?;
                self.replacing = Some(address.clone());
            }
            remember(&address)?;
            (self.seen, self.replacing) = ((0, 0), None);
            return self.list_once();
        }
        self.see(&self.shared.look_at_lease());
        let seen = std::mem::replace(&mut self.seen, (listing.etcd, listing.revision));
        let is_older = seen.0 == listing.etcd && listing.revision < seen.1;
        // What is held keeps its revisions until it is renewed.
        if is_older && listing.grace.value.is_none() {
            self.forgot("Its revision is less than it was.")?;
            return self.list_once();
        }
        Ok(listing)
    }

    /// What is held was written in revisions that etcd must not be behind.
    pub(super) fn see(&mut self, kept: &Kept) {
        let written = kept.held().iter().map(|held| held.revision).max().unwrap_or(0);
        let (etcd, revision) = self.seen;
        if written > 0 {
            let revision = if etcd == kept.etcd { revision.max(written) } else { written };
            self.seen = (kept.etcd, revision);
        }
    }

    /// Whether a renewal failed as etcd has forgotten what this server wrote. A grace period has begun then.
    ///
    /// # Errors
    /// This is not the registry that the lease was granted by.
    pub(super) fn has_forgotten(&mut self, held: &[Marked]) -> Result<bool, Halt> {
        let listing = self.list()?;
        let forgotten = has_forgotten(&listing, held);
        if forgotten {
            // With older data, claims may have come back that this server gave up.
            self.strays_until = boot() + LATEST;
        }
        if forgotten && listing.grace.value.is_none() {
            self.forgot("A mark is not as this server wrote it.")?;
        }
        Ok(forgotten)
    }

    /// Begins a grace period because etcd has forgotten, unless there is one.
    fn forgot(&mut self, why: &str) -> Result<(), Halt> {
        let is_new = self.begin_grace(|holder, grace| {
            let registry = &holder.registry;
            let begin = async |client: &mut _| registry.begin_grace(client, grace).await;
            Ok(holder.etcd.call(begin)?)
        })?;
        if is_new {
            note::forgotten(why);
        }
        Ok(())
    }

    /// Begins a grace period as this says, with a lease for it. False where there was one.
    fn begin_grace(
        &mut self,
        begin: impl FnOnce(&mut Self, Grace<'_>) -> Result<bool, Halt>,
    ) -> Result<bool, Halt> {
        let lease =
            new_lease().ok_or_else(|| Halt::Because("no random numbers are to be had".into()))?;
        let ttl = self.ttl.max(self.shared.look_at_lease().ttl);
        let registry = &self.registry;
        let granted = self.etcd.call(async |client| registry.grant(client, lease, ttl).await)?;
        if granted < ttl {
            self.leftover.push(lease);
            return Err(Halt::Because(format!("etcd granted a lease of {} s", granted.as_secs())));
        }
        let until = UnixNanos(now().0.saturating_add(granted.as_nanos() as u64));
        // It is never revoked: where an answer was not seen the call was made again, and says that there was a grace
        // period, which is the one that hangs on this lease.
        begin(self, Grace { lease, until: &written(until) })
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

    /// Before a claim: the address of its registry is durable.
    pub(super) fn remember(&self, listing: &Listing) -> Result<(), Halt> {
        remember(&self.registry.address(listing.etcd))
    }
}

/// What flake counts from, as the registry has it.
fn epoch() -> String {
    crate::error::timestamp(Flake::scale().start(Tick(0))).to_string()
}
