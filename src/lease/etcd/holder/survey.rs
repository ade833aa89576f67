//! How a server makes sure that the registry of its last lease is not what it was, before it acts on that.
//!
//! # Why it asks all endpoints
//! A server can find at one endpoint that its registry is lost, older than it was, followed by another one, or
//! replaced. That says something about this endpoint alone. Examples of endpoints that mislead:
//! * A member was removed from etcd's cluster, and starts again with an empty disk and its original flags. It forms a
//!   cluster of its own, with the old cluster ID, at an endpoint at which the registry has answered.
//! * A name or a local address leads to another etcd than it did, which was set up alike.
//! * A server was misled in one of these ways, and has founded a registry there that says that it follows the lost one.
//! * A member was restored from a snapshot by itself. It has a copy of the registry, and another cluster ID.
//!
//! In each of them the registry lives on at other endpoints, and other servers lease from it. No wait is long enough
//! then. So a server asks all endpoints of its settings first:
//!
//! * *One shows the registry as it was.* Then it is not lost. The server continues at that endpoint, and writes nothing
//!   to the one that misled it. "As it was" means: with its address and ID, in a revision that is not before the last
//!   one that this server has seen, and with the high-water marks that it has written, where these are in doubt.
//! * *One does not answer.* The registry may be there. The server leases nothing until that endpoint answers, or is not
//!   in the settings any more.
//! * *They show different registries.* The server can't know from which one others lease. It leases nothing.
//! * *All answer, and show one registry, which is not what it was.* The server believes it.
//!
//! A server without a memory asks all endpoints, too, as it has nothing to compare with. It leases nothing while they
//! show different registries. It founds a registry only if all answer and show nothing.
//!
//! # Asked one after the other
//! The endpoints of one etcd show one state, but they are asked at different times, and the state changes. An older
//! state could have reached the revision that a server remembers when the second endpoint answers. So the first
//! endpoint is asked again after another one has shown the registry as it was. Reads are linearizable: if both are of
//! one etcd, the first one shows it then, too, and proves nothing. Only if it does not are there two etcds.
//!
//! # Price
//! A member that never comes back must be taken out of the settings. Otherwise nothing is leased after a loss. While
//! the registry is as it was, a server does not ask further endpoints, so a member that is down costs nothing.
//!
//! # What remains
//! A server whose settings name only endpoints that mislead it. Nothing that it can ask knows better. The same holds for
//! a server without a memory while only such endpoints answer: it leases from a registry that it finds there, and
//! remembers that one.

use super::authority::EXCERPT;
use super::base::{Halt, Holder};
use super::memory::{self, Memory};
use super::standing::Standing;
use crate::error::excerpt;
use crate::lease::etcd::client::CallError;
use crate::lease::etcd::registry::Listing;

/// The result of asking all endpoints, after the first one did not show the registry as it was.
pub(super) enum Survey {
    /// Another endpoint shows the registry as it was, and is of another etcd.
    AsItWas(Listing),
    /// The first endpoint shows it now, too. This is its earlier listing.
    Changing(Listing),
    /// No endpoint that answered shows it.
    NotAsItWas(Shown),
}

/// The listings of all endpoints that answered, beginning with the first one, and the error of one that did not answer.
pub(super) struct Shown {
    listings: Vec<Listing>,
    silent: Option<String>,
}

impl Shown {
    fn first(mut self) -> Listing {
        self.listings.swap_remove(0)
    }
}

impl Holder {
    /// Asks all other endpoints until one shows the registry as it was.
    pub(super) fn survey(
        &mut self,
        first: Listing,
        is_as_it_was: impl Fn(&Self, &Listing) -> Result<bool, Halt>,
    ) -> Result<Survey, Halt> {
        let endpoint_of_first = first.endpoint.clone();
        let mut shown = Shown { listings: vec![first], silent: None };
        for endpoint in self.etcd.endpoints() {
            if endpoint == endpoint_of_first {
                continue;
            }
            match self.list_at(Some(&endpoint)) {
                Ok(listing) if is_as_it_was(self, &listing)? => {
                    let again = self.list_at(Some(&endpoint_of_first))?;
                    return Ok(match is_as_it_was(self, &again)? {
                        true => Survey::Changing(shown.listings.swap_remove(0)),
                        false => Survey::AsItWas(listing),
                    });
                }
                Ok(listing) => shown.listings.push(listing),
                Err(CallError::Interrupted) => return Err(Halt::Interrupted),
                Err(CallError::Etcd(said)) => shown.silent = shown.silent.or(Some(said)),
            }
        }
        Ok(Survey::NotAsItWas(shown))
    }

    /// Decides on a listing that does not show the registry of the last lease as it was. Returns `None` if it has to be
    /// listed again.
    ///
    /// # Errors
    /// The endpoints don't prove what it shows.
    pub(super) fn believe(
        &mut self,
        listing: Listing,
        last: &Memory,
    ) -> Result<Option<(Listing, Standing)>, Halt> {
        let believed =
            match self.survey(listing, |holder, there| holder.is_as_it_was(there, last))? {
                Survey::AsItWas(listing) => (listing, Standing::Same),
                Survey::Changing(listing) => match self.standing(&listing, last)? {
                    Standing::Same => (listing, Standing::Same),
                    _ => return Ok(None),
                },
                Survey::NotAsItWas(shown) => {
                    let mut best = (0, Standing::Other);
                    for (place, listing) in shown.listings.iter().enumerate() {
                        if best.1 == Standing::Other {
                            best = (place, self.standing(listing, last)?);
                        }
                    }
                    let (place, standing) = best;
                    // Nothing is leased from another registry, so nothing has to be proved.
                    match standing {
                        Standing::Other => (shown.first(), standing),
                        _ => (self.one_of(shown, place)?, standing),
                    }
                }
            };
        self.take_up(&believed.0);
        Ok(Some(believed))
    }

    /// Decides on a listing if this server remembers no registry.
    ///
    /// # Errors
    /// The endpoints show different registries, or a copy; or no registry, and not all of them answer.
    pub(super) fn first_of_all(&mut self, listing: Listing) -> Result<Listing, Halt> {
        self.replaced(&listing)?;
        let survey = self.survey(listing, |holder, there| holder.replaced(there).map(|_| false))?;
        let listing = match survey {
            Survey::AsItWas(listing) | Survey::Changing(listing) => listing,
            Survey::NotAsItWas(mut shown) => {
                if !shown.listings[0].is_new() {
                    shown.silent = None;
                }
                self.one_of(shown, 0)?
            }
        };
        self.take_up(&listing);
        Ok(listing)
    }

    /// Returns the listing at this place, if all endpoints have answered and show one registry.
    ///
    /// # Errors
    /// One did not answer, or they show different registries.
    pub(super) fn one_of(&self, shown: Shown, place: usize) -> Result<Listing, Halt> {
        let Shown { mut listings, silent } = shown;
        if let Some(error) = silent {
            return Err(Halt::Because(format!(
                "an endpoint that does not answer may still have the registry: {error}"
            )));
        }
        let shows = |listing: &Listing| (self.authority(listing), listing.is_new());
        // In the order of the settings: the order of calls changes with each attempt, and so would the message, which is
        // logged when it changes.
        let endpoints = self.etcd.endpoints();
        let order = |listing: &&Listing| endpoints.iter().position(|at| *at == listing.endpoint);
        let mut in_order: Vec<_> = listings.iter().collect();
        in_order.sort_by_key(order);
        let first = in_order[0];
        if let Some(other) = in_order.iter().find(|listing| shows(listing) != shows(first)) {
            let name = |listing: &Listing| {
                let registry = self.authority(listing).registry;
                let id = (registry != 0).then_some(registry);
                let name = memory::name(&self.registry.address(listing.etcd), id);
                excerpt(name.as_bytes(), EXCERPT)
            };
            return Err(Halt::Because(format!(
                "the endpoints show different registries: {} at {}, and {} at {}",
                name(first),
                first.endpoint,
                name(other),
                other.endpoint
            )));
        }
        Ok(listings.swap_remove(place))
    }

    /// Continues at the endpoint of this listing.
    pub(super) fn take_up(&mut self, listing: &Listing) {
        self.etcd.prefer(&listing.endpoint);
        self.listed_at.clone_from(&listing.endpoint);
        self.registry.id = listing.id.value.clone().unwrap_or_default();
    }

    /// Returns whether a listing shows the registry of the last lease, and not an older state of it than this server
    /// has seen.
    pub(super) fn is_as_it_was(&self, listing: &Listing, last: &Memory) -> Result<bool, Halt> {
        let is_same = match self.standing(listing, last) {
            Ok(standing) => standing == Standing::Same,
            // A copy of a registry, or one whose ID cannot be read. Another endpoint may show the registry.
            Err(Halt::Because(_)) => false,
            Err(halt) => return Err(halt),
        };
        Ok(is_same && !listing.is_new() && !self.is_older(listing))
    }

    /// Returns whether a listing shows the registry that this server has seen, in an earlier revision.
    pub(super) fn is_older(&self, listing: &Listing) -> bool {
        let (seen, revision) = self.seen;
        seen == self.authority(listing) && listing.revision < revision
    }
}
