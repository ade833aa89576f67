//! How a server asks all endpoints before it acts on what one of them shows.
//!
//! # Why
//! A server can find at one endpoint that its registry is lost, older than it was, followed by
//! another one, or replaced. That says something about this endpoint alone. Examples of endpoints
//! that mislead:
//! * A member was removed from etcd's cluster, and starts again with an empty disk and its original
//!   flags. It forms a cluster of its own, with the old cluster ID, at an endpoint at which the
//!   registry has answered.
//! * A name or a local address leads to another etcd than it did, which was set up alike.
//! * A server was misled in one of these ways, and has founded a registry there that says that it
//!   follows the lost one.
//! * A member was restored from a snapshot by itself. It has a copy of the registry, and another
//!   cluster ID.
//!
//! In each of them the registry lives on at other endpoints, and other servers lease from it. No
//! wait is long enough then. So a server asks all endpoints of its settings first:
//!
//! * *One shows the registry that the memory names.* Then it is not lost. The server continues at
//!   that endpoint, and writes nothing to the one that misled it. This needs the registry's address
//!   and ID, in a revision that is not before the last one that this server has seen, and with the
//!   high-water marks that it has written, where these are in doubt
//!   ([`trust::matches_memory`](super::trust::matches_memory)).
//! * *One does not answer.* The registry may be there. The server leases nothing until that
//!   endpoint answers, or is not in the settings any more.
//! * *They show different registries.* The server can't know from which one others lease. It leases
//!   nothing.
//! * *All answer, and show one registry, which does not match the memory.* That is true of etcd,
//!   and the server acts.
//!
//! A server without a memory asks all endpoints, too, as it has nothing to compare with. It leases
//! nothing while they show different registries. It founds a registry only if all answer and show
//! nothing.
//!
//! # One after the other
//! The endpoints of one etcd show one state, but they are asked at different times, and the state
//! changes. An older state could have reached the revision that a server remembers when the second
//! endpoint answers. So the first endpoint is asked again after another one has shown a registry
//! that matches. Reads are linearizable: if both are of one etcd, the first one shows it then, too,
//! and proves nothing. Only if it does not are there two etcds.
//!
//! # The price
//! A member that never comes back must be taken out of the settings. Otherwise nothing is leased
//! after a loss. While the registry matches, a server does not ask further endpoints, so a member
//! that is down costs nothing.

use super::listing::{Authority, Listing, address, name};
use super::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;

/// The listing of an endpoint, or its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub endpoint: String,
    pub shown: Result<Listing, String>,
}

/// The result of asking all endpoints, after the first one did not show what was expected.
pub(super) enum Survey {
    Ask(String),
    /// The view at this place shows it, and is of another etcd than the first one.
    Elsewhere(usize),
    /// The first endpoint shows it now, too. Its first view still says what its etcd was.
    Changing,
    /// No endpoint that answered shows it.
    Nowhere,
    Failed(String),
}

/// Returns the endpoint that has to be asked next, or the result. `views` begin with the first
/// view, and are in the order in which they were asked.
pub(super) fn survey(
    views: &[View],
    endpoints: &[String],
    matches: impl Fn(&Listing) -> bool,
) -> Survey {
    let Some((first, others)) = views.split_first() else { return Survey::Nowhere };
    let shows = |view: &View| view.shown.as_ref().is_ok_and(&matches);
    let found = others.iter().position(|view| view.endpoint != first.endpoint && shows(view));
    if let Some(found) = found {
        let again = others[found + 1..].iter().find(|view| view.endpoint == first.endpoint);
        return match again.map(|again| &again.shown) {
            None => Survey::Ask(first.endpoint.clone()),
            Some(Ok(listing)) if matches(listing) => Survey::Changing,
            Some(Ok(_)) => Survey::Elsewhere(found + 1),
            Some(Err(error)) => Survey::Failed(error.clone()),
        };
    }
    let is_unasked = |endpoint: &&String| views.iter().all(|view| view.endpoint != **endpoint);
    endpoints.iter().find(is_unasked).map_or(Survey::Nowhere, |next| Survey::Ask(next.clone()))
}

/// Refuses unless all endpoints show one registry. An endpoint that does not answer may have
/// another one, unless that does not matter.
pub(super) fn all_show_one(
    views: &[View],
    namespace: &str,
    endpoints: &[String],
    must_all_answer: bool,
) -> Result<(), Refusal> {
    if let Some(error) = views.iter().find_map(|view| view.shown.as_ref().err())
        && must_all_answer
    {
        return Err(Refusal::EndpointSilent(error.clone()));
    }
    let shown = |listing: &Listing| (listing.authority(), listing.is_new());
    // In the order of the settings: the order of calls changes with each attempt, and so would the
    // message, which is logged when it changes.
    let place =
        |listing: &&Listing| endpoints.iter().position(|endpoint| *endpoint == listing.endpoint);
    let mut listings: Vec<_> = views.iter().filter_map(|view| view.shown.as_ref().ok()).collect();
    listings.sort_by_key(place);
    let Some((first, others)) = listings.split_first() else { return Ok(()) };
    let Some(other) = others.iter().find(|listing| shown(listing) != shown(first)) else {
        return Ok(());
    };
    let described = |listing: &Listing| {
        let Authority { etcd, registry } = listing.authority();
        let id = (registry != 0).then_some(registry);
        (name(&address(etcd, namespace), id), listing.endpoint.clone())
    };
    Err(Refusal::DifferentRegistries { first: described(first), other: described(other) })
}
