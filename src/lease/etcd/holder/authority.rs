//! The registry that this server may lease from, if etcd has lost its data, is a copy, or is another one.
//!
//! No two servers hold one generator ID as long as etcd remembers what it was told. So a server must notice an etcd
//! that has forgotten. It must then lease nothing until all leases are over that etcd may have forgotten.
//!
//! # How a server notices
//! * *There is no registry.* A registry has an address and an epoch ([`registry`](crate::lease::etcd::registry)). A
//!   server that finds neither founds it. It can't tell a new registry from one that etcd has lost, so a founded one
//!   begins with a grace period. An administrator who knows that it is the first may write the address beforehand. A
//!   registry of 0.6.0 has an epoch alone, and continues without a grace period. This does not apply to a server that
//!   has leased by its address.
//! * *It is a copy.* The address names the etcd of the registry by its cluster ID. A registry with the address of
//!   another etcd is a copy, and no server leases from it. A copy meets all conditions of a transaction. So claims
//!   and renewals count only if the etcd answers that was listed.
//! * *It is another registry.* A registry gets a random ID when it is founded, or from the first server that uses it
//!   without an ID. A server keeps the address and the ID of the registry of its last lease on disk ([`memory`]). Other
//!   servers may still lease from that one, though this server is restarted or its settings have changed. So it leases
//!   from another one only if that one's key `address` says that it replaces the last: `<address>,<replaced>`. This is
//!   the word of an administrator, who has made sure that no server uses the replaced one any more. The last leases
//!   there may not be over yet, so a grace period begins. A word in a registry that servers have left is old, and does
//!   not count: see [`left`](super::left), which also argues that a word may be lost.
//! * *It is older than it was.* etcd's revision is less than this server has seen or written. Or a renewal fails, and a
//!   high-water mark does not exist, or is of an earlier revision than this server has written it in. A high-water mark
//!   stays when a lease ends or is revoked, or a claim is deleted. Or its ID is one that the last registry followed:
//!   see below. A grace period begins.
//!
//! Before a server acts on any of these, except a copy, it asks all endpoints of its settings: see
//! [`survey`](super::survey).
//!
//! # Lost, or another etcd
//! etcd's cluster ID is a hash of the peer URLs and the token that it was set up with. So an etcd that has lost its
//! data and another one that was set up alike look the same. Both have the address of the last registry, and its ID
//! does not exist or is another one. In the first case no server can renew a lease of the last registry any more, and a
//! grace period is enough. In the second case others still lease from it, and no wait is long enough. The content of
//! etcd does not tell the two cases apart. These do:
//!
//! * *The endpoint.* The server keeps on disk at which endpoints of its settings the last registry has answered. If one
//!   of these does not show it any more, and no other endpoint does, it is lost. An endpoint that has never shown it
//!   proves nothing. All that a server writes because of a loss goes to the endpoint that showed the loss.
//! * *Another server's word.* A server that remembers the lost registry and founds it again names the lost one beside
//!   the new ID: `<ID>,<followed>`. A server that remembers the followed one continues with the new one at any
//!   endpoint, also after the grace period. This began after the loss, so all lost leases are over by then. With the
//!   lost one the founder names all that this one followed, newest first. A server may come that remembers one of
//!   these: a standby, or one that was stopped during several losses.
//! * *The ones that the last registry followed.* The server keeps these IDs on disk, too, by its registry's word. If
//!   etcd shows one of them, it has older data again, such as a volume that was not mounted for some time. It must show
//!   that at an endpoint where the last registry has answered, or say itself that it follows the last one. The server
//!   begins a grace period and continues there. It keeps the later ID: if etcd shows that one again, its data have
//!   changed once more. So `SetBack` is decided before `Follows`: the ID that says that it follows is older than the
//!   memory.
//! * *The grace period.* A server without a memory that founds the registry again cannot name the lost one. A server
//!   with a memory that finds it by the endpoint, and in its grace period, adds the name, for itself and for all
//!   others. After the grace period no server does so. If the endpoint is a name or a local address that leads
//!   elsewhere than it did, another etcd that others have used for long looks the same. In that case an administrator
//!   decides.
//!
//! Two etcds that are used alike have the same revisions, too. So each transaction has a random number in its
//! conditions: see [`registry`](crate::lease::etcd::registry).
//!
//! # What a grace period is
//! It is a key that is bound to a lease of its own, so etcd ends it, and no server revokes it. While it exists, a
//! server may claim only a generator ID that it held itself until just now, in the first half of its lease. No other
//! server leases that one by the present content of etcd, unless a claim of it exists. But etcd may have ended the
//! lease early, and another server may have leased it since. That server renews, and finds what etcd has forgotten,
//! before the old ceiling of the first one. So servers that are alive continue with the generator IDs that they have.
//!
//! A grace period lasts as long as this server's leases, and begins after the last renewal that etcd has forgotten. No
//! server knows of a longer lease that was forgotten. So all servers that lease from one registry must have one
//! `flakeid.etcd_lease_ttl`.
//!
//! # What is not noticed
//! * A registry that was restored to a few revisions ago, in an etcd with the same cluster ID, by a server that has no
//!   memory of it and comes before all others that have. This also applies to one that was restored to an earlier ID. A
//!   snapshot that is restored with a new token has another cluster ID.
//! * A copy of a registry in an etcd with the same cluster ID: its ID is the same, too. A copy of the data directory,
//!   and a snapshot that is restored with the old token, are such copies. A server that is led there while others lease
//!   from the original leases there.
//! * All endpoints of the settings lead to another etcd than they did, with the same cluster ID and a registry that is
//!   empty or in a grace period. A server takes this for a loss of data.
//! * Another etcd, by a server without a memory, or with a memory of an earlier build, which has an address alone.
//! * A high-water mark that is lost, if its server does not write it again, since it is gone, cut off, or stopped
//!   before it noticed. The next server that claims the generator ID begins after its own clock, which must not be
//!   behind the other one's.
//! * Anything, by servers of 0.6.0.

use super::base::{Halt, Holder, TRIES};
use super::memory::{self, Memory};
use super::standing::{self, Standing, This};
use crate::clock::now;
use crate::error::excerpt;
use crate::id_types::ServerIdType;
use crate::lease::etcd::client::CallError;
use crate::lease::etcd::note::{self, GraceReason};
use crate::lease::etcd::process::new_lease;
use crate::lease::etcd::registry::{Grace, Identity, Listing, written};
use crate::shmem::{Authority, LeaseState};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;

/// The longest part of a key's value that a message repeats, in bytes: an address and one that it replaces.
pub(super) const EXCERPT: usize = 256;

impl Holder {
    /// Lists a registry that this server may lease from. All keys that it needs exist then.
    pub(super) fn list(&mut self) -> Result<Listing, Halt> {
        let registry = &self.registry;
        while let Some(&lease) = self.leftover.last() {
            self.etcd.call(async |client| registry.revoke(client, lease).await)?;
            self.leftover.pop();
        }
        let mut listing = self.list_once()?;
        let (address, epoch) = (self.registry.address(listing.etcd), epoch());
        if listing.is_new() {
            self.found(&listing, &address, &epoch)?;
            listing = self.list_once()?;
            if listing.is_new() {
                return Err(unkept());
            }
        }
        if listing.address.value.is_none()
            && memory::read()?.is_some_and(|last| last.address == address)
        {
            // A server of 0.6.0 may have written the epoch, or someone has deleted the address.
            self.forgot(&listing, "Its address is not there.")?;
        }
        let mut missing = Vec::new();
        // Each is written only if the key beside it still exists. Otherwise a registry that was lost since could come
        // back without a grace period.
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

    /// Founds the registry at the endpoint that shows none. It follows the one of the last lease, since `list_once` has
    /// found that this one is lost.
    fn found(&mut self, listing: &Listing, address: &str, epoch: &str) -> Result<(), Halt> {
        let last = memory::read()?.filter(|last| last.address == address);
        let id = new_identity(last.iter().flat_map(Memory::chain))?;
        let there = self.identity(listing)?.map_or(id.id, |there| there.id);
        let why = GraceReason::Founded(memory::name(address, Some(there)));
        let endpoint = &*listing.endpoint;
        self.begin_grace(endpoint, why, |holder, grace| {
            let registry = &holder.registry;
            let found =
                async |client: &mut _| registry.found(client, address, epoch, &id, grace).await;
            holder.etcd.call_at(endpoint, found)
        })
    }

    /// Lists a registry that this server may lease from. It has an ID unless it is new.
    pub(super) fn list_once(&mut self) -> Result<Listing, Halt> {
        for _ in 0..TRIES {
            if let Some(listing) = self.list_unless_changed()? {
                return Ok(listing);
            }
        }
        Err(unkept())
    }

    /// Lists the registry. Returns `None` if something had to be changed first, here or in etcd.
    fn list_unless_changed(&mut self) -> Result<Option<Listing>, Halt> {
        let mut listing = self.list_at(None)?;
        let last = memory::read()?;
        let mut standing = Standing::Same;
        self.see(&self.shared.lease_snapshot());
        match &last {
            None => listing = self.first_of_all(listing)?,
            Some(last) if self.is_as_it_was(&listing, last)? => {}
            Some(last) => match self.believe(listing, last)? {
                None => return Ok(None),
                Some(believed) => (listing, standing) = believed,
            },
        }
        let identity = self.identity(&listing)?;
        let mut follows = Vec::new();
        if let Some(last) = &last {
            match standing {
                Standing::Same => {}
                Standing::Other => {
                    let (last, this) = (last.name(), self.name(&listing)?);
                    return Err(Halt::Because(format!(
                        "the last lease was of the registry {last}, and this one is {this}"
                    )));
                }
                Standing::Replaces => {
                    self.forgot_once(&listing, last, "It replaces the one of the last lease.")?;
                    if identity.is_some() {
                        return self.move_to(&listing);
                    }
                }
                Standing::Follows => return self.move_to(&listing),
                Standing::SetBack => {
                    self.forgot_once(&listing, last, "Its ID is an earlier one.")?;
                    return self.move_to(&listing);
                }
                Standing::Successor => {
                    let known = identity.zip(last.id);
                    let id = known.map(|(identity, id)| identity.follow(id, &last.followed));
                    return self.identify(&listing, &id.ok_or_else(unkept)?);
                }
                Standing::Lost => {
                    follows = last.chain().collect();
                    if !listing.is_new() {
                        self.forgot(&listing, "Its ID is not there.")?;
                    }
                }
            }
        }
        if identity.is_none() {
            if listing.is_new() {
                return Ok(Some(listing));
            }
            return self.identify(&listing, &new_identity(follows)?);
        }
        // The generator IDs that are held keep their revisions until the renewal.
        let is_noticed = self.is_older(&listing) && listing.grace.value.is_none();
        if is_noticed {
            self.forgot(&listing, "Its revision is less than it was.")?;
        }
        self.seen = (self.authority(&listing), listing.revision);
        if is_noticed {
            return Ok(None);
        }
        if let Some(last) = &last {
            // Best effort: before a claim this must succeed.
            let _ = self.remember(&listing);
            if self.write_left(&listing, last)? {
                return Ok(None);
            }
        }
        Ok(Some(listing))
    }

    /// Begins a grace period for the registry that replaces the last one. Does so once, even if that can't be
    /// remembered: otherwise one full disk would keep all servers in grace periods.
    fn forgot_once(&mut self, listing: &Listing, last: &Memory, why: &str) -> Result<(), Halt> {
        let replacing = Some((self.name(listing)?, last.name()));
        if self.replacing != replacing {
            self.forgot(listing, why)?;
            self.replacing = replacing;
        }
        Ok(())
    }

    /// Lists the registry at this endpoint, or at the first that answers.
    pub(super) fn list_at(&mut self, endpoint: Option<&str>) -> Result<Listing, CallError> {
        let registry = &self.registry;
        let list = async |client: &mut _| registry.list(client).await;
        let mut listing = match endpoint {
            Some(endpoint) => self.etcd.call_at(endpoint, list)?,
            None => self.etcd.call(list)?,
        };
        listing.endpoint = self.etcd.endpoint().into();
        self.listed_at.clone_from(&listing.endpoint);
        self.registry.id = listing.id.value.clone().unwrap_or_default();
        let is_theirs = |requested: &mut (i64, GraceReason)| requested.0 == listing.grace.lease;
        if let Some((_, why)) = self.unanswered_grace.take_if(is_theirs) {
            note::grace_began(&why);
        }
        Ok(listing)
    }

    /// Returns the name of the registry that was listed.
    pub(super) fn name(&self, listing: &Listing) -> Result<String, Halt> {
        let identity = self.identity(listing)?;
        let address = self.registry.address(listing.etcd);
        Ok(memory::name(&address, identity.map(|identity| identity.id)))
    }

    pub(super) fn identity(&self, listing: &Listing) -> Result<Option<Identity>, Halt> {
        self.registry.identity(listing).map_err(Halt::Because)
    }

    /// Returns the etcd and the ID of the registry that was listed.
    pub(super) fn authority(&self, listing: &Listing) -> Authority {
        let identity = self.registry.identity(listing).ok().flatten();
        Authority { etcd: listing.etcd, registry: identity.map_or(0, |identity| identity.id) }
    }

    /// Returns the registries that the one that was listed replaces, by an administrator's word.
    ///
    /// # Errors
    /// It is a copy.
    pub(super) fn replaced<'a>(&self, listing: &'a Listing) -> Result<&'a str, Halt> {
        let address = self.registry.address(listing.etcd);
        let Some(stated) = listing.address.value.as_deref() else { return Ok("") };
        standing::replaced(stated, &address).ok_or_else(|| {
            let key = self.registry.key("address");
            let stated = excerpt(stated.as_bytes(), EXCERPT);
            Halt::Because(format!(
                "etcd's key \"{key}\" is \"{stated}\", where this registry is {address}"
            ))
        })
    }

    pub(super) fn standing(&self, listing: &Listing, last: &Memory) -> Result<Standing, Halt> {
        let identity = self.identity(listing)?;
        let this = This {
            address: &self.registry.address(listing.etcd),
            identity: identity.as_ref(),
            replaced: self.replaced(listing)?,
            word: listing.address.revision,
            endpoint: &listing.endpoint,
            is_in_grace: listing.grace.value.is_some(),
        };
        Ok(Standing::of(&this, last))
    }

    /// Gives the registry that was listed this ID.
    fn identify(&mut self, listing: &Listing, id: &Identity) -> Result<Option<Listing>, Halt> {
        let registry = &self.registry;
        let identify = async |client: &mut _| registry.identify(client, id, listing).await;
        self.etcd.call_at(&listing.endpoint, identify)?;
        Ok(None)
    }

    /// Notes the revisions in which the generator IDs that are held were written. etcd must not be behind them.
    pub(super) fn see(&mut self, state: &LeaseState) {
        let written = state.held().iter().map(|held| held.revision).max().unwrap_or(0);
        let (seen, revision) = self.seen;
        if written > 0 {
            let is_same = seen == state.authority;
            let revision = if is_same { revision.max(written) } else { written };
            self.seen = (state.authority, revision);
        }
    }

    /// Begins a grace period because etcd has forgotten, unless there is one.
    pub(super) fn forgot(&mut self, listing: &Listing, why: &str) -> Result<(), Halt> {
        let endpoint = &*listing.endpoint;
        self.begin_grace(endpoint, GraceReason::Forgotten(why.into()), |holder, grace| {
            let registry = &holder.registry;
            let begin = async |client: &mut _| registry.begin_grace(client, grace).await;
            holder.etcd.call_at(endpoint, begin)
        })
    }

    /// Requests a lease for a grace period at this endpoint, and begins the grace period by `begin`, which returns false
    /// if there is one already. Logs that this server has begun it. If etcd's answer is lost, the next listing shows
    /// whether it has.
    fn begin_grace(
        &mut self,
        endpoint: &str,
        why: GraceReason,
        begin: impl FnOnce(&mut Self, Grace<'_>) -> Result<bool, CallError>,
    ) -> Result<(), Halt> {
        let lease = new_lease().ok_or_else(unrandom)?;
        let ttl = self.ttl.max(self.shared.lease_snapshot().ttl);
        let registry = &self.registry;
        let grant = async |client: &mut _| registry.grant(client, lease, ttl).await;
        let granted = self.etcd.call_at(endpoint, grant)?;
        if granted < ttl {
            self.leftover.push(lease);
            return Err(Halt::Because(format!("etcd granted a lease of {} s", granted.as_secs())));
        }
        let until = UnixNanos(now().0.saturating_add(granted.as_nanos() as u64));
        // This lease is never revoked: if an answer was lost, a grace period may be bound to it.
        match begin(self, Grace { lease, until: &written(until) }) {
            Ok(true) => note::grace_began(&why),
            Ok(false) => {}
            Err(error) => {
                self.unanswered_grace = Some((lease, why));
                return Err(error.into());
            }
        }
        Ok(())
    }
}

fn new_identity(followed: impl IntoIterator<Item = u64>) -> Result<Identity, Halt> {
    Identity::random(followed).ok_or_else(unrandom)
}

fn unrandom() -> Halt {
    Halt::Because("no random numbers are available".into())
}

fn unkept() -> Halt {
    Halt::Because("etcd lost a key that was just written".into())
}

/// Returns flake's epoch as the registry has it.
fn epoch() -> String {
    crate::error::timestamp(Flake::scale().start(Tick(0))).to_string()
}
