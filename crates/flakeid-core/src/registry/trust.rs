//! Whether a server may lease from the registry that an endpoint shows: etcd may have lost its
//! data, be a copy, or be another one.
//!
//! No two servers hold one generator ID as long as etcd remembers what servers wrote. So a server
//! must notice an etcd that has forgotten. It must then lease nothing until all leases are over
//! that etcd may have forgotten. [`decide`] decides that by the server's memory and by what the
//! endpoints show, before each claim.
//!
//! # How a server notices
//! * *There is no registry.* A registry has an address and an epoch. A server that finds neither
//!   founds it. It can't tell a new registry from one that etcd has lost, so a founded one begins
//!   with a grace period. An administrator who knows that it is the first may write the address
//!   beforehand. A registry of 0.6.0 has an epoch alone, and continues without a grace period. This
//!   does not apply to a server that has leased by its address.
//! * *It is a copy.* The address names the etcd of the registry by its cluster ID. A registry with
//!   the address of another etcd is a copy, and no server leases from it. A copy meets all
//!   conditions of a transaction. So claims and renewals count only if the etcd answers that was
//!   listed.
//! * *It is another registry.* A registry gets a random ID when it is founded, or from the first
//!   server that uses it without an ID. A server keeps the address and the ID of the registry of
//!   its last lease on disk ([`memory`](super::memory)). Other servers may still lease from that
//!   one, though this server is restarted or its settings have changed. So it leases from another
//!   one only if that one's key `address` says that it replaces the last: `<address>,<replaced>`.
//!   An administrator writes that, and has made sure that no server uses the replaced one any more.
//!   The last leases there may not be over yet, so a grace period begins. Such an entry in a
//!   registry that servers have retired is old, and does not count: see
//!   [`retired`](super::retired), which also argues that an entry may be lost.
//! * *It is older than it was.* etcd's revision is less than this server has seen or written. Or a
//!   renewal fails, and a high-water mark does not exist, or is of an earlier revision than this
//!   server has written it in ([`check_marks`]). A high-water mark stays when a lease ends or is
//!   revoked, or a claim is deleted. Or its ID is one that the last registry followed: see below. A
//!   grace period begins.
//!
//! Each of these says something about one endpoint alone. So the server asks the others, too,
//! before it acts: [`survey`](super::survey) has the argument.
//!
//! # Lost, or another etcd
//! etcd's cluster ID is a hash of the peer URLs and the token that it was set up with. So an etcd
//! that has lost its data and another one that was set up alike look the same. Both have the
//! address of the last registry, and its ID does not exist or is another one. In the first case no
//! server can renew a lease of the last registry any more, and a grace period is enough. In the
//! second case others still lease from it, and no wait is long enough. The content of etcd does not
//! tell the two cases apart. These do:
//!
//! * *The endpoint.* The server keeps on disk at which endpoints of its settings the last registry
//!   has answered. If one of these does not show it any more, and no other endpoint does, it is
//!   lost. An endpoint that has never shown it proves nothing. All that a server writes because of
//!   a loss goes to the endpoint that showed the loss.
//! * *What another server wrote.* A server that remembers the lost registry and founds it again
//!   names the lost one beside the new ID: `<ID>,<followed>`. A server that remembers the followed
//!   one continues with the new one at any endpoint, also after the grace period. This began after
//!   the loss, so all lost leases are over by then. With the lost one the founder names all that
//!   this one followed, newest first. A server may come that remembers one of these: a standby, or
//!   one that was stopped during several losses.
//! * *The ones that the last registry followed.* The server keeps these IDs on disk, too. If etcd
//!   shows one of them, it has older data again, such as a volume that was not mounted for some
//!   time. It must show that at an endpoint where the last registry has answered, or say itself
//!   that it follows the last one. The server begins a grace period and continues there. It keeps
//!   the later ID: if etcd shows that one again, its data have changed once more. So `SetBack` is
//!   decided before `Follows`: the ID that says that it follows is older than the memory.
//! * *The grace period.* A server without a memory that founds the registry again cannot name the
//!   lost one. A server with a memory that finds it by the endpoint, and in its grace period, adds
//!   the name, for itself and for all others. After the grace period no server does so. If the
//!   endpoint is a name or a local address that leads elsewhere than it did, another etcd that
//!   others have used for long looks the same. In that case an administrator decides.
//!
//! # What a grace period is
//! It is a key that is bound to a lease of its own, so etcd ends it, and no server revokes it.
//! While it exists, a server may claim only a generator ID that it held itself until just now, in
//! the first half of its lease. No other server leases that one by the present content of etcd,
//! unless a claim of it exists. But etcd may have ended the lease early, and another server may
//! have leased it since. That server renews, and finds what etcd has forgotten, before the old
//! ceiling of the first one. So servers that are alive continue with the generator IDs that they
//! have.
//!
//! A grace period lasts as long as this server's leases, and begins after the last renewal that
//! etcd has forgotten. No server knows of a longer lease that was forgotten. So all servers that
//! lease from one registry must have one `flakeid.etcd_lease_ttl`.
//!
//! # What is not noticed
//! * A registry that was restored to a few revisions ago, in an etcd with the same cluster ID, by a
//!   server that has no memory of it and comes before all others that have. This also applies to
//!   one that was restored to an earlier ID. A snapshot that is restored with a new token has
//!   another cluster ID.
//! * A copy of a registry in an etcd with the same cluster ID: its ID is the same, too. A copy of
//!   the data directory, and a snapshot that is restored with the old token, are such copies. A
//!   server that is led there while others lease from the original leases there.
//! * All endpoints of the settings lead to another etcd than they did, with the same cluster ID and
//!   a registry that is empty or in a grace period. A server takes this for a loss of data. A
//!   server without a memory leases from a registry that it finds at such endpoints, and remembers
//!   that one.
//! * A registry that loses its data while one endpoint leads to an etcd without data and with the
//!   same cluster ID. Both are empty then, and two servers can found two registries.
//! * Another etcd, by a server without a memory, or with a memory of 0.6.1, which has an address
//!   alone.
//! * A high-water mark that is lost, if its server does not write it again, since it is gone, cut
//!   off, or stopped before it noticed. The next server that claims the generator ID begins after
//!   its own clock, which must not be behind the other one's.
//! * Anything, by servers of 0.6.0.

use super::identity::Identity;
use super::listing::{Authority, Listing, address};
use super::memory::{Memory, Seen};
use super::refusal::Refusal;
use super::relation::RegistryRelation;
use super::retired::RetiredRegistry;
use super::survey::{Survey, View, all_show_one, survey};
use super::transaction::{Key, LeasedId, NewKey, Value};
use crate::clock::UnixNanos;
use alloc::string::String;
use alloc::vec::Vec;

/// The knowledge of a server when it decides.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    pub memory: Option<&'a Memory>,
    pub namespace: &'a str,
    /// The epoch of this server.
    pub epoch: UnixNanos,
    /// The endpoints of the settings.
    pub endpoints: &'a [String],
    /// The registry that was listed last, and the latest revision of its etcd that this server
    /// knows.
    pub seen: Seen,
    /// The registry that a grace period was begun for, and the one that it replaces, by name.
    /// `None` if the server has remembered the former since.
    pub replacing: Option<&'a (String, String)>,
    /// A random number, for the ID of a new registry.
    pub random: u64,
}

/// The reason for a grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraceReason {
    Replaces,
    EarlierId,
    NoId,
    NoAddress,
    EarlierRevision,
    /// The registry is not the one that granted the lease.
    OtherRegistry,
    /// A high-water mark is not as this server wrote it.
    EarlierMark,
}

/// A change that makes a registry one from which this server may lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preparation {
    BeginGrace(GraceReason),
    Found(Identity),
    Identify(Identity),
    Retire(Vec<RetiredRegistry>),
    Create(NewKey),
    /// Remembers the listed registry instead of the last one. `names` are those of both, if a grace
    /// period must have begun before.
    SwitchTo {
        memory: Memory,
        names: Option<(String, String)>,
    },
    /// Remembers more of the same registry. This may fail.
    Note(Memory),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Decide again with a view of this endpoint, too.
    Ask(String),
    /// Lease by the view at this place. `note` is what the server remembers of it from now on, if
    /// that is more than before.
    Lease {
        view: usize,
        note: Option<Memory>,
    },
    /// Do these at the endpoint of the view at this place, in this order. Then decide again with
    /// new views.
    Prepare {
        view: usize,
        first: Vec<Preparation>,
    },
    Refuse(Refusal),
}

/// Returns whether a listing shows the registry of the last lease, and not an older state of it
/// than this server has seen.
pub fn matches_memory(listing: &Listing, last: &Memory, namespace: &str, seen: Seen) -> bool {
    // A copy of a registry, or one whose ID cannot be read, does not match. Another endpoint may
    // show the registry.
    let relation = RegistryRelation::of(listing, namespace, last);
    relation == Ok(RegistryRelation::Same) && !listing.is_new() && !is_older(listing, seen)
}

/// Returns whether a listing shows the registry that this server has seen, in an earlier revision.
fn is_older(listing: &Listing, seen: Seen) -> bool {
    seen.authority == listing.authority() && listing.revision < seen.revision
}

/// Decides whether the server may lease by these views. `views` begin with that of the endpoint
/// that answered first, and are in the order in which the endpoints were asked.
pub fn decide(knowledge: Knowledge<'_>, views: &[View]) -> Verdict {
    judge(knowledge, views).unwrap_or_else(Verdict::Refuse)
}

fn judge(knowledge: Knowledge<'_>, views: &[View]) -> Result<Verdict, Refusal> {
    let unlisted = || Refusal::Failed("no endpoint was listed".into());
    let first = views.first().and_then(|view| view.shown.as_ref().ok()).ok_or_else(unlisted)?;
    let Knowledge { memory, namespace, seen, .. } = knowledge;
    let resolved = match memory {
        None => check_first_registry(knowledge, views, first)?,
        Some(last) if matches_memory(first, last, namespace, seen) => {
            Resolved::As(0, RegistryRelation::Same)
        }
        Some(last) => resolve_mismatch(knowledge, last, views, first)?,
    };
    let (view, relation) = match resolved {
        Resolved::Ask(next) => return Ok(Verdict::Ask(next)),
        Resolved::Again => return Ok(Verdict::Prepare { view: 0, first: Vec::new() }),
        Resolved::As(view, relation) => (view, relation),
    };
    let listing = views.get(view).and_then(|view| view.shown.as_ref().ok());
    let listing = listing.ok_or_else(unlisted)?;
    let first = prepare(knowledge, listing, relation)?;
    if first.is_empty() {
        return Ok(Verdict::Lease { view, note: note(knowledge, listing) });
    }
    Ok(Verdict::Prepare { view, first })
}

/// Decides if this server remembers no registry.
fn check_first_registry(
    knowledge: Knowledge<'_>,
    views: &[View],
    first: &Listing,
) -> Result<Resolved, Refusal> {
    let Knowledge { namespace, endpoints, .. } = knowledge;
    for listing in views.iter().filter_map(|view| view.shown.as_ref().ok()) {
        listing.replaced(namespace)?;
    }
    if let Survey::Ask(next) = survey(views, endpoints, |_| false) {
        return Ok(Resolved::Ask(next));
    }
    all_show_one(views, namespace, endpoints, first.is_new())?;
    Ok(Resolved::As(0, RegistryRelation::Same))
}

enum Resolved {
    Ask(String),
    /// The state is changing: begin with new views.
    Again,
    /// The view at this place counts, and its registry has this relation to the last one.
    As(usize, RegistryRelation),
}

/// Decides if the first view does not match the memory.
fn resolve_mismatch(
    knowledge: Knowledge<'_>,
    last: &Memory,
    views: &[View],
    first: &Listing,
) -> Result<Resolved, Refusal> {
    let Knowledge { namespace, seen, .. } = knowledge;
    let matches = |listing: &Listing| matches_memory(listing, last, namespace, seen);
    let relation = |listing: &Listing| RegistryRelation::of(listing, namespace, last);
    match survey(views, knowledge.endpoints, matches) {
        Survey::Ask(next) => Ok(Resolved::Ask(next)),
        Survey::Failed(error) => Err(Refusal::Failed(error)),
        Survey::Elsewhere(view) => Ok(Resolved::As(view, RegistryRelation::Same)),
        Survey::Changing => match relation(first)? {
            RegistryRelation::Same => Ok(Resolved::As(0, RegistryRelation::Same)),
            _ => Ok(Resolved::Again),
        },
        Survey::Nowhere => {
            for (place, view) in views.iter().enumerate() {
                let Ok(listing) = &view.shown else { continue };
                let relation = relation(listing)?;
                if relation != RegistryRelation::Other {
                    all_show_one(views, namespace, knowledge.endpoints, true)?;
                    return Ok(Resolved::As(place, relation));
                }
            }
            // Nothing is leased from another registry, so nothing has to be proved. In the order of
            // the settings: see `all_show_one`.
            let is_listed = |place: &usize| views[*place].shown.is_ok();
            let place = |place: &usize| {
                let endpoint = &views[*place].endpoint;
                knowledge.endpoints.iter().position(|configured| configured == endpoint)
            };
            let first = (0..views.len()).filter(is_listed).min_by_key(place);
            Ok(Resolved::As(first.unwrap_or(0), RegistryRelation::Other))
        }
    }
}

/// Returns what must be done before a server may lease from the listed registry, in this order.
fn prepare(
    knowledge: Knowledge<'_>,
    listing: &Listing,
    relation: RegistryRelation,
) -> Result<Vec<Preparation>, Refusal> {
    let Knowledge { memory, namespace, .. } = knowledge;
    let mut first = Vec::new();
    if let Some(last) = memory {
        first = prepare_other(knowledge, listing, relation, last)?;
    }
    if !first.is_empty() {
        return Ok(first);
    }
    let new_identity = |followed: Vec<u64>| Identity::new(knowledge.random, followed);
    if listing.is_new() {
        let followed = chain_here(memory, listing, namespace);
        return Ok([Preparation::Found(new_identity(followed))].into());
    }
    if listing.identity()?.is_none() {
        let followed = match (relation, memory) {
            (RegistryRelation::Lost, Some(last)) => last.chain().collect(),
            _ => Vec::new(),
        };
        return Ok([Preparation::Identify(new_identity(followed))].into());
    }
    if is_older(listing, knowledge.seen) && listing.grace.value.is_none() {
        return Ok([Preparation::BeginGrace(GraceReason::EarlierRevision)].into());
    }
    if let Some(last) = memory
        && let Some(retired) = last.missing_retired(listing, namespace)?
    {
        first.extend(note(knowledge, listing).map(Preparation::Note));
        first.push(Preparation::Retire(retired));
        return Ok(first);
    }
    Ok(missing_keys(knowledge, listing))
}

/// Returns what must be done first because the listed registry is not the remembered one.
fn prepare_other(
    knowledge: Knowledge<'_>,
    listing: &Listing,
    relation: RegistryRelation,
    last: &Memory,
) -> Result<Vec<Preparation>, Refusal> {
    let Knowledge { namespace, endpoints, seen, .. } = knowledge;
    let identity = listing.identity()?;
    let switch = |names| {
        let memory = Memory::after(Some(last), listing, namespace, endpoints, seen)?;
        Ok(Preparation::SwitchTo { memory, names })
    };
    let grace = |why| {
        let is_missing = listing.grace.value.is_none();
        is_missing.then_some(Preparation::BeginGrace(why))
    };
    let mut first = Vec::new();
    match relation {
        RegistryRelation::Same => {}
        RegistryRelation::Other => {
            let listed = listing.name(namespace)?;
            return Err(Refusal::OtherRegistry { last: last.name(), listed });
        }
        RegistryRelation::Replaces | RegistryRelation::SetBack => {
            let names = (listing.name(namespace)?, last.name());
            let why = match relation {
                RegistryRelation::Replaces => GraceReason::Replaces,
                _ => GraceReason::EarlierId,
            };
            // Once, even if the server can't remember the listed one. Otherwise one full disk would
            // keep all servers in grace periods.
            if knowledge.replacing != Some(&names) {
                first.extend(grace(why));
            }
            if identity.is_some() {
                first.push(switch(Some(names))?);
            }
        }
        RegistryRelation::Follows => first.push(switch(None)?),
        RegistryRelation::Successor => {
            let (identity, lost) = identity.zip(last.id).ok_or(Refusal::WrittenKeyLost)?;
            first.push(Preparation::Identify(identity.follow(lost, &last.followed)));
        }
        RegistryRelation::Lost if listing.is_new() => {}
        RegistryRelation::Lost => first.extend(grace(GraceReason::NoId)),
    }
    Ok(first)
}

/// Returns the IDs that a registry follows which is founded where the last one was.
fn chain_here(memory: Option<&Memory>, listing: &Listing, namespace: &str) -> Vec<u64> {
    let address = address(listing.etcd, namespace);
    let last = memory.filter(|last| last.address == address);
    last.map_or(Vec::new(), |last| last.chain().collect())
}

/// Returns what creates the keys that a registry must have. A grace period comes first if an
/// address is missing that this server has leased by: a server of 0.6.0 may have written the epoch,
/// or someone has deleted the address.
fn missing_keys(knowledge: Knowledge<'_>, listing: &Listing) -> Vec<Preparation> {
    let Knowledge { memory, namespace, epoch, .. } = knowledge;
    let address = address(listing.etcd, namespace);
    let mut first = Vec::new();
    let has_no_address = listing.address.value.is_none();
    if has_no_address
        && listing.grace.value.is_none()
        && memory.is_some_and(|last| last.address == address)
    {
        first.push(Preparation::BeginGrace(GraceReason::NoAddress));
    }
    let new = |key, value, beside| Preparation::Create(NewKey { key, value, beside });
    if has_no_address {
        first.push(new(Key::Address, Value::Text(address), Key::Epoch));
    }
    if listing.cluster.value.is_none() {
        first.push(new(Key::ClusterId, Value::Text("0".into()), Key::Epoch));
    }
    if listing.epoch.value.is_none() {
        first.push(new(Key::Epoch, Value::Epoch(epoch), Key::Address));
    }
    first
}

/// Returns what the server remembers of the listed registry from now on, if that differs from its
/// memory. A server without a memory remembers nothing before its first claim.
fn note(knowledge: Knowledge<'_>, listing: &Listing) -> Option<Memory> {
    let Knowledge { memory, namespace, endpoints, seen, .. } = knowledge;
    let memory = Memory::after(Some(memory?), listing, namespace, endpoints, seen).ok()?;
    (knowledge.memory != Some(&memory)).then_some(memory)
}

/// The verdict on etcd after a renewal has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarksVerdict {
    /// Decide again with a view of this endpoint, too.
    Ask(String),
    /// The high-water marks are as this server wrote them, by the view at this place.
    Kept(usize),
    /// etcd has forgotten what this server wrote.
    Forgotten(GraceReason),
    Refuse(Refusal),
}

/// Decides whether etcd has forgotten the high-water marks of generator IDs that this server holds
/// by a lease of this registry. `views` begin with one by which [`decide`] lets the server lease.
pub fn check_marks(
    knowledge: Knowledge<'_>,
    views: &[View],
    authority: Authority,
    held: &[LeasedId],
) -> MarksVerdict {
    let matches =
        |listing: &Listing| listing.authority() == authority && !has_earlier_mark(listing, held);
    match views.first().map(|view| &view.shown) {
        Some(Ok(first)) if matches(first) => return MarksVerdict::Kept(0),
        Some(Ok(first)) if first.authority() != authority => {
            return MarksVerdict::Forgotten(GraceReason::OtherRegistry);
        }
        _ => {}
    }
    match survey(views, knowledge.endpoints, matches) {
        Survey::Ask(next) => MarksVerdict::Ask(next),
        Survey::Failed(error) => MarksVerdict::Refuse(Refusal::Failed(error)),
        Survey::Elsewhere(view) => MarksVerdict::Kept(view),
        Survey::Changing => MarksVerdict::Forgotten(GraceReason::EarlierMark),
        Survey::Nowhere => {
            match all_show_one(views, knowledge.namespace, knowledge.endpoints, true) {
                Ok(()) => MarksVerdict::Forgotten(GraceReason::EarlierMark),
                Err(refusal) => MarksVerdict::Refuse(refusal),
            }
        }
    }
}

/// Returns whether high-water marks of these generator IDs are older than this server wrote them.
fn has_earlier_mark(listing: &Listing, held: &[LeasedId]) -> bool {
    let revision = |id: u16| listing.mark_revisions.get(&id).copied().unwrap_or(0);
    held.iter().any(|held| revision(held.id) < held.revision)
}
