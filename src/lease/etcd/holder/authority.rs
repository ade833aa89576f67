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
//! * *It is another registry.* A registry gets a random ID when it is founded, or from the first server that uses it
//!   where it has none. The server keeps address and ID of the one that it leased from last on disk
//!   ([`memory`]), as the servers beside it may go on leasing from that one though this server is
//!   restarted or its settings have changed. It leases from no other, unless that one's key `address` says that it
//!   replaces the last: `<address>,<replaced>`. That is an administrator's word, who has seen to it that no server uses
//!   the replaced one any more. Their last leases may not be over yet, so a grace period begins.
//! * *It is older than it was.* etcd's revision is less than this server has seen or written; or a renewal fails, and a
//!   mark is not there, or is of an earlier revision than this server has written it in. Marks stay where a lease ends,
//!   is revoked, or a claim is deleted. Or its ID is one that the last registry followed: see below. A grace period
//!   begins.
//!
//! # Lost, or another etcd
//! etcd's cluster ID is a hash of the peer URLs and the token that it was set up with. So an etcd that has lost its data,
//! and another one that was set up alike, look the same: the address is that of the last registry, and its ID is not
//! there, or is another one. In the first case nobody can renew a lease of the last registry any more, and a grace
//! period is all that is needed. In the second case others go on leasing from it, and no wait is long enough. What is in
//! etcd cannot tell the two apart; where it is can:
//!
//! * *The endpoint.* The server keeps on disk at which endpoints the last registry has answered, of those that are
//!   set. If one of these does not show it any more, it is lost. An endpoint that has never shown it proves nothing, also
//!   where it stands in one list with one that has: the server asks one that has, and if that does not answer, it leases
//!   nothing and changes nothing. All that it writes because of a loss goes to the endpoint that showed the loss.
//! * *Another server's word.* A server that remembers the lost registry and founds it again names the lost one beside
//!   the new ID: `<ID>,<followed>`. A server that remembers the followed one goes on with the new one at any endpoint,
//!   also after the grace period: this began after the loss, so all lost leases are over by then.
//!   With the lost one it names all that this one followed, newest first, as a server may come that remembers one of
//!   these: a standby, or one that was stopped during several losses.
//! * *What the last registry followed.* The server keeps these IDs on disk, too, by its registry's word. If the etcd shows
//!   one of them, it has older data again, such as a volume that was not mounted for some time. It must show that at an
//!   endpoint where the last registry has answered, or say itself that it follows the last one. The server begins a grace
//!   period and goes on there. It keeps the ID that etcd was set back from: if etcd shows that one again, this is a
//!   set-back, too. So that is looked at before `Follows`: the ID that says that it follows is older than the memory.
//! * *The grace period.* A server without a memory that founds the registry again cannot name the lost one. A
//!   server with a memory that finds it by the endpoint, and in its grace period, adds the name, for itself and
//!   for all others. After the grace period no server does so: another etcd that others have used for long looks the
//!   same, where the endpoint is a name or a local address that leads elsewhere than it did. There an administrator
//!   says it.
//!
//! Two etcds that are used alike have the same revisions, too. So each transaction has a random number in its
//! conditions: see [`registry`](crate::lease::etcd::registry).
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
//!   of it and comes before all others that have. This also holds for one that was set back to an earlier ID. A snapshot
//!   that is restored with a new token has another cluster ID.
//! * A copy of a registry in an etcd with the same cluster ID: its ID is the same, too. A copy of the data directory, and a
//!   snapshot that is restored with the old token, are such copies. A server that is led there while others lease from the
//!   original leases there.
//! * That an endpoint leads to another etcd than it did, with the same cluster ID and a registry that is empty or in a
//!   grace period: a server takes it for a loss of data.
//! * Another etcd, by a server without a memory, or with one of an earlier build, which has an address alone.
//! * What a mark said that is lost, where its server does not write it again, as it is gone, cut off, or stopped before it
//!   noticed: who claims the ID then begins after its own clock, which must not be behind the other's.
//! * Anything, by servers of 0.6.0.

use super::base::{Halt, Holder, TRIES};
use super::memory::{self, Memory};
use super::standing::{self, Standing, This};
use crate::clock::now;
use crate::error::excerpt;
use crate::id_types::ServerIdType;
use crate::lease::etcd::client::Trouble;
use crate::lease::etcd::note;
use crate::lease::etcd::process::new_lease;
use crate::lease::etcd::registry::{Grace, Identity, Listing, followed_by, written};
use crate::shmem::{Authority, Kept};
use flakeid_core::clock::{Tick, UnixNanos};
use flakeid_core::flake::Flake;

/// The longest part of a key's value that a message repeats, in bytes: an address and one that it replaces.
const EXCERPT: usize = 256;

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

    /// Founds the registry at the endpoint where nothing was. It follows the one of the last lease, as `list_once` has
    /// found that this one is lost.
    fn found(&mut self, listing: &Listing, address: &str, epoch: &str) -> Result<(), Halt> {
        let last = memory::read()?.filter(|last| last.address == address);
        let id = new_identity(last.iter().flat_map(Memory::chain))?;
        let endpoint = &*listing.endpoint;
        let is_ours = self.begin_grace(endpoint, |holder, grace| {
            let registry = &holder.registry;
            let found =
                async |client: &mut _| registry.found(client, address, epoch, &id, grace).await;
            Ok(holder.etcd.call_at(endpoint, found)?)
        })?;
        if is_ours {
            let id = self.identity(listing)?.map_or(id.id, |there| there.id);
            note::founded(&memory::name(address, Some(id)));
        }
        Ok(())
    }

    /// A listing, where this server may lease from the registry that it is of. The registry has an ID, if it is not new.
    pub(super) fn list_once(&mut self) -> Result<Listing, Halt> {
        for _ in 0..TRIES {
            if let Some(listing) = self.list_unless_changed()? {
                return Ok(listing);
            }
        }
        Err(unkept())
    }

    /// The same; `None` where something had to be changed first, here or in etcd.
    fn list_unless_changed(&mut self) -> Result<Option<Listing>, Halt> {
        let mut listing = self.list_at(None)?;
        let last = memory::read()?;
        let mut standing = Standing::Same;
        if let Some(last) = &last {
            standing = self.standing(&listing, last)?;
            // Another endpoint may know better.
            for endpoint in &last.endpoints {
                if standing != Standing::Other || *endpoint == listing.endpoint {
                    break;
                }
                if !self.etcd.has(endpoint) {
                    continue;
                }
                match self.list_at(Some(endpoint)) {
                    Ok(known) => listing = known,
                    Err(Trouble::Interrupted) => return Err(Halt::Interrupted),
                    Err(Trouble::Etcd(_)) => continue,
                }
                standing = self.standing(&listing, last)?;
            }
        } else {
            self.replaced(&listing)?;
        }
        let address = self.registry.address(listing.etcd);
        let identity = self.identity(&listing)?;
        let mut follows = Vec::new();
        if let Some(last) = &last {
            match standing {
                Standing::Same => {}
                Standing::Other => {
                    let this = memory::name(&address, identity.map(|identity| identity.id));
                    let last = last.name();
                    return Err(Halt::Because(format!(
                        "the last lease was of the registry {last}, and this one is {this}"
                    )));
                }
                Standing::Replaces => {
                    // Once, though it can't be remembered: else one full disk would keep all servers in grace
                    // periods.
                    let replacing = Some((address.clone(), last.name()));
                    if self.replacing != replacing {
                        self.forgot(&listing, "It replaces the one of the last lease.")?;
                        self.replacing = replacing;
                    }
                    if identity.is_some() {
                        return self.move_to(&listing);
                    }
                }
                Standing::Follows => return self.move_to(&listing),
                Standing::SetBack => {
                    // Once, for the same reason.
                    let this = memory::name(&address, identity.map(|identity| identity.id));
                    let replacing = Some((this, last.name()));
                    if self.replacing != replacing {
                        self.forgot(&listing, "Its ID is an earlier one.")?;
                        self.replacing = replacing;
                    }
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
        self.see(&self.shared.look_at_lease());
        let (authority, (seen, revision)) = (self.authority(&listing), self.seen);
        // What is held keeps its revisions until it is renewed.
        let is_older = seen == authority && listing.revision < revision;
        let is_noticed = is_older && listing.grace.value.is_none();
        if is_noticed {
            self.forgot(&listing, "Its revision is less than it was.")?;
        }
        self.seen = (authority, listing.revision);
        if is_noticed {
            return Ok(None);
        }
        if last.is_some() {
            // Best effort: before a claim it must be done.
            let _ = self.remember(&listing);
        }
        Ok(Some(listing))
    }

    /// What is listed at this endpoint, or at the first that answers.
    fn list_at(&mut self, endpoint: Option<&str>) -> Result<Listing, Trouble> {
        let registry = &self.registry;
        let list = async |client: &mut _| registry.list(client).await;
        let mut listing = match endpoint {
            Some(endpoint) => self.etcd.call_at(endpoint, list)?,
            None => self.etcd.call(list)?,
        };
        listing.endpoint = self.etcd.endpoint().into();
        self.listed_at.clone_from(&listing.endpoint);
        self.registry.id = listing.id.value.clone().unwrap_or_default();
        Ok(listing)
    }

    fn identity(&self, listing: &Listing) -> Result<Option<Identity>, Halt> {
        self.registry.identity(listing).map_err(Halt::Because)
    }

    /// The registry that was listed.
    pub(super) fn authority(&self, listing: &Listing) -> Authority {
        let identity = self.registry.identity(listing).ok().flatten();
        Authority { etcd: listing.etcd, registry: identity.map_or(0, |identity| identity.id) }
    }

    /// Which registries the one that was listed replaces, by an administrator's word.
    ///
    /// # Errors
    /// It is a copy.
    fn replaced<'a>(&self, listing: &'a Listing) -> Result<&'a str, Halt> {
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

    fn standing(&self, listing: &Listing, last: &Memory) -> Result<Standing, Halt> {
        let identity = self.identity(listing)?;
        let this = This {
            address: &self.registry.address(listing.etcd),
            identity: identity.as_ref(),
            replaced: self.replaced(listing)?,
            endpoint: &listing.endpoint,
            is_in_grace: listing.grace.value.is_some(),
        };
        Ok(Standing::of(&this, last))
    }

    /// Leases from the registry that was listed, in place of the one of the last lease, from now on.
    fn move_to(&mut self, listing: &Listing) -> Result<Option<Listing>, Halt> {
        self.remember(listing)?;
        (self.seen, self.replacing) = ((Authority::default(), 0), None);
        Ok(None)
    }

    /// Gives the registry that was listed this ID.
    fn identify(&mut self, listing: &Listing, id: &Identity) -> Result<Option<Listing>, Halt> {
        let registry = &self.registry;
        let identify = async |client: &mut _| registry.identify(client, id, listing).await;
        self.etcd.call_at(&listing.endpoint, identify)?;
        Ok(None)
    }

    /// What is held was written in revisions that etcd must not be behind.
    pub(super) fn see(&mut self, kept: &Kept) {
        let written = kept.held().iter().map(|held| held.revision).max().unwrap_or(0);
        let (seen, revision) = self.seen;
        if written > 0 {
            let is_same = seen == kept.authority;
            let revision = if is_same { revision.max(written) } else { written };
            self.seen = (kept.authority, revision);
        }
    }

    /// Begins a grace period because etcd has forgotten, unless there is one.
    pub(super) fn forgot(&mut self, listing: &Listing, why: &str) -> Result<(), Halt> {
        let endpoint = &*listing.endpoint;
        let is_new = self.begin_grace(endpoint, |holder, grace| {
            let registry = &holder.registry;
            let begin = async |client: &mut _| registry.begin_grace(client, grace).await;
            Ok(holder.etcd.call_at(endpoint, begin)?)
        })?;
        if is_new {
            note::forgotten(why);
        }
        Ok(())
    }

    /// Begins a grace period as this says, with a lease for it, by this endpoint alone. False where there was one.
    fn begin_grace(
        &mut self,
        endpoint: &str,
        begin: impl FnOnce(&mut Self, Grace<'_>) -> Result<bool, Halt>,
    ) -> Result<bool, Halt> {
        let lease = new_lease().ok_or_else(unrandom)?;
        let ttl = self.ttl.max(self.shared.look_at_lease().ttl);
        let registry = &self.registry;
        let grant = async |client: &mut _| registry.grant(client, lease, ttl).await;
        let granted = self.etcd.call_at(endpoint, grant)?;
        if granted < ttl {
            self.leftover.push(lease);
            return Err(Halt::Because(format!("etcd granted a lease of {} s", granted.as_secs())));
        }
        let until = UnixNanos(now().0.saturating_add(granted.as_nanos() as u64));
        // It is never revoked: where an answer was not seen there may be a grace period that hangs on this lease.
        begin(self, Grace { lease, until: &written(until) })
    }

    /// Remembers the registry that was listed, and that it has answered here, so that it is durable.
    pub(super) fn remember(&self, listing: &Listing) -> Result<(), Halt> {
        let address = self.registry.address(listing.etcd);
        let identity = self.identity(listing)?;
        let id = identity.as_ref().map(|identity| identity.id);
        let last = memory::read()?;
        let same = last.as_ref().filter(|last| last.address == address && last.id == id);
        let followed = identity.map_or(Vec::new(), |this| followed(&this, &address, last.as_ref()));
        let mut endpoints = same.map_or(Vec::new(), |last| last.endpoints.clone());
        endpoints.retain(|endpoint| self.etcd.has(endpoint));
        if !endpoints.contains(&listing.endpoint) {
            endpoints.insert(0, listing.endpoint.clone());
        }
        let memory = Memory { address, id, followed, endpoints };
        if last.as_ref() == Some(&memory) { Ok(()) } else { memory::write(&memory) }
    }
}

/// What the registry at this address followed, by its own word and by what is remembered, newest first.
fn followed(this: &Identity, address: &str, last: Option<&Memory>) -> Vec<u64> {
    let named = this.followed.iter().copied();
    let Some(last) = last.filter(|last| last.address == address) else {
        return followed_by(this.id, named);
    };
    let is_back = last.followed.contains(&this.id);
    if is_back {
        // What it was set back from was there before it came back.
        followed_by(this.id, last.chain().chain(named))
    } else if last.id.is_some_and(|id| id == this.id || this.followed.contains(&id)) {
        followed_by(this.id, named.chain(last.chain()))
    } else {
        followed_by(this.id, named)
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

/// What flake counts from, as the registry has it.
fn epoch() -> String {
    crate::error::timestamp(Flake::scale().start(Tick(0))).to_string()
}
