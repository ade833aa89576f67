//! Registries, listings and memories in a few words, and what a server decides by them.

use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::listing::{Authority, Listing, Versioned};
use flakeid_core::registry::memory::{Memory, Seen};
use flakeid_core::registry::refusal::Refusal;
use flakeid_core::registry::retired::RetiredRegistry;
use flakeid_core::registry::survey::View;
use flakeid_core::registry::trust::{
    GraceReason, Knowledge, Preparation, Verdict, decide as decide_by,
};

pub const NAMESPACE: &str = "flakeid/";

/// The cluster IDs of two etcds, and the addresses of their registries.
pub const C: u64 = 0xc;
pub const D: u64 = 0xd;
pub const A: &str = "c/flakeid/";
pub const B: &str = "d/flakeid/";

/// IDs of registries. A new one gets `N`.
pub const X: u64 = 0xa1;
pub const Y: u64 = 0xa2;
pub const Z: u64 = 0xa3;
pub const W: u64 = 0xa4;
pub const N: u64 = 0xff;

pub const E1: &str = "e1";
pub const E2: &str = "e2";
pub const E3: &str = "e3";

pub const EPOCH: UnixNanos = UnixNanos(1_000);

/// Returns the name of a registry, as messages have it.
pub fn named(address: &str, id: u64) -> String {
    format!("{address}#{id:016x}")
}

fn versioned(value: &str, revision: i64) -> Versioned {
    Versioned { value: Some(value.into()), revision, lease: 0 }
}

/// Changes of a listing, for those that differ from a usual one.
pub trait Shown: Sized {
    fn change(self, change: impl FnOnce(&mut Listing)) -> Self;

    fn id(self, id: &str) -> Self {
        self.change(|listing| listing.id = versioned(id, 4))
    }

    fn address(self, value: &str, revision: i64) -> Self {
        self.change(|listing| listing.address = versioned(value, revision))
    }

    fn no_address(self) -> Self {
        self.change(|listing| listing.address = Versioned::default())
    }

    fn no_epoch(self) -> Self {
        self.change(|listing| (listing.epoch, listing.epoch_time) = (Versioned::default(), None))
    }

    fn no_cluster(self) -> Self {
        self.change(|listing| listing.cluster = Versioned::default())
    }

    fn cluster(self, value: &str) -> Self {
        self.change(|listing| listing.cluster = versioned(value, 2))
    }

    fn in_grace(self) -> Self {
        self.change(|listing| {
            listing.grace = Versioned { lease: 77, ..versioned("later", 6) };
        })
    }

    fn revision(self, revision: i64) -> Self {
        self.change(|listing| listing.revision = revision)
    }

    fn retired(self, value: &str) -> Self {
        self.change(|listing| listing.retired = versioned(value, 7))
    }

    fn claim(self, lease: i64, id: u16, revision: i64) -> Self {
        self.change(|listing| {
            listing.claims.push((lease, (id, revision)));
            listing.taken.insert(id);
        })
    }

    fn high_water_mark(self, id: u16, revision: i64) -> Self {
        self.change(|listing| listing.mark_revisions.extend([(id, revision)]))
    }
}

impl Shown for Listing {
    fn change(mut self, change: impl FnOnce(&mut Listing)) -> Self {
        change(&mut self);
        self
    }
}

/// An endpoint of an etcd that has no key at all.
pub fn empty(endpoint: &str, etcd: u64) -> Listing {
    Listing { endpoint: endpoint.into(), etcd, revision: 100, ..Listing::default() }
}

/// An endpoint that shows a registry without an ID, with all other keys.
pub fn nameless(endpoint: &str, etcd: u64) -> Listing {
    let listing = Listing {
        cluster: versioned("0", 2),
        epoch: versioned("the epoch", 3),
        epoch_time: Some(EPOCH),
        ..empty(endpoint, etcd)
    };
    listing.address(&format!("{etcd:x}/{NAMESPACE}"), 5)
}

/// An endpoint that shows a registry with all keys. `ids` are its own and those that it follows.
pub fn shows(endpoint: &str, etcd: u64, ids: &[u64]) -> Listing {
    nameless(endpoint, etcd).id(&identity(ids).to_string())
}

pub fn identity(ids: &[u64]) -> Identity {
    Identity { id: ids[0], followed: ids[1..].to_vec() }
}

pub fn retired(name: &str, revision: i64) -> RetiredRegistry {
    RetiredRegistry { name: name.into(), revision }
}

/// A memory of a registry with an ID, which has answered at these endpoints, with the address of
/// revision 5.
pub fn memory(etcd: u64, id: u64, endpoints: &[&str]) -> Memory {
    Memory {
        address: format!("{etcd:x}/{NAMESPACE}"),
        id: Some(id),
        followed: Vec::new(),
        endpoints: names(endpoints),
        address_revision: 5,
        retired: Vec::new(),
    }
}

/// Changes of a memory.
pub trait Remembered {
    fn followed(self, ids: &[u64]) -> Self;
    fn address_revision(self, revision: i64) -> Self;
    fn retired(self, name: &str, revision: i64) -> Self;
}

impl Remembered for Memory {
    fn followed(self, ids: &[u64]) -> Self {
        Self { followed: ids.to_vec(), ..self }
    }

    fn address_revision(self, address_revision: i64) -> Self {
        Self { address_revision, ..self }
    }

    fn retired(mut self, name: &str, revision: i64) -> Self {
        self.retired.push(retired(name, revision));
        self
    }
}

pub fn names(endpoints: &[&str]) -> Vec<String> {
    endpoints.iter().map(|&endpoint| endpoint.into()).collect()
}

pub fn seen(etcd: u64, registry: u64, revision: i64) -> Seen {
    Seen { authority: Authority { etcd, registry }, revision }
}

/// A server that decides.
#[derive(Debug)]
pub struct Server {
    pub memory: Option<Memory>,
    pub endpoints: Vec<String>,
    pub namespace: &'static str,
    pub seen: Seen,
    pub replacing: Option<(String, String)>,
}

/// A server without a memory, with one endpoint in its settings.
pub fn new_server() -> Server {
    Server {
        memory: None,
        endpoints: names(&[E1]),
        namespace: NAMESPACE,
        seen: Seen::default(),
        replacing: None,
    }
}

pub fn server(memory: Memory) -> Server {
    Server { memory: Some(memory), ..new_server() }
}

/// An endpoint that does not answer.
pub fn silent(endpoint: &str) -> View {
    View { endpoint: endpoint.into(), shown: Err(format!("{endpoint} is silent")) }
}

impl From<Shows> for View {
    fn from(Shows(listing): Shows) -> Self {
        Self { endpoint: listing.endpoint.clone(), shown: Ok(listing) }
    }
}

/// The listing of an endpoint, as a view.
pub struct Shows(pub Listing);

pub fn view(listing: Listing) -> View {
    Shows(listing).into()
}

impl Server {
    pub fn endpoints(self, endpoints: &[&str]) -> Self {
        Self { endpoints: names(endpoints), ..self }
    }

    pub fn seen(self, etcd: u64, registry: u64, revision: i64) -> Self {
        Self { seen: seen(etcd, registry, revision), ..self }
    }

    pub fn knowledge(&self) -> Knowledge<'_> {
        Knowledge {
            memory: self.memory.as_ref(),
            namespace: self.namespace,
            epoch: EPOCH,
            endpoints: &self.endpoints,
            seen: self.seen,
            replacing: self.replacing.as_ref(),
            random: N,
        }
    }

    /// Decides by what the endpoints show, in the order in which the server must ask them.
    pub fn decide(&self, views: &[View]) -> Verdict {
        for asked in 1..views.len() {
            let next = Verdict::Ask(views[asked].endpoint.clone());
            assert_eq!(decide_by(self.knowledge(), &views[..asked]), next);
        }
        decide_by(self.knowledge(), views)
    }

    /// Decides by one endpoint, which shows this.
    pub fn finds(&self, listing: Listing) -> Verdict {
        self.decide(&[view(listing)])
    }
}

/// The server may lease by this view, and knows all that it shows.
pub fn lease(view: usize) -> Verdict {
    Verdict::Lease { view, note: None }
}

/// The server may lease by this view, and remembers this.
pub fn lease_and_note(view: usize, memory: Memory) -> Verdict {
    Verdict::Lease { view, note: Some(memory) }
}

/// The server must do these first, at the endpoint of the first view.
pub fn first<const COUNT: usize>(first: [Preparation; COUNT]) -> Verdict {
    Verdict::Prepare { view: 0, first: first.into() }
}

pub fn grace(reason: GraceReason) -> Preparation {
    Preparation::BeginGrace(reason)
}

/// The server remembers this instead of the last registry, after a grace period has begun.
pub fn switch(memory: Memory, last: &Memory) -> Preparation {
    Preparation::SwitchTo { names: Some((memory.name(), last.name())), memory }
}

/// The server remembers this instead of the last registry, which it follows.
pub fn follow(memory: Memory) -> Preparation {
    Preparation::SwitchTo { memory, names: None }
}

pub fn other_registry(last: &str, listed: &str) -> Verdict {
    Verdict::Refuse(Refusal::OtherRegistry { last: last.into(), listed: listed.into() })
}

pub fn may_be_at(endpoint: &str) -> Verdict {
    Verdict::Refuse(Refusal::EndpointSilent(format!("{endpoint} is silent")))
}
