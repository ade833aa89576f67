//! The outcome of the action under way, by the answer of an etcd.

use super::super::etcd::Reply;
use super::super::events::Event;
use super::super::fleet::Fleet;
use super::super::node::{Life, Node};
use super::Worker;
use super::calls::{Call, no_answer};
use flakeid_core::registry::action::{Action, KeepAlive, Renewal};
use flakeid_core::registry::transaction::{Change, LeasedId};
use flakeid_core::registry::turn::{Failure, Outcome};

impl Node {
    /// Returns the outcome of the action under way by an answer of this etcd. Returns `None` if the
    /// next request of the action has to be sent.
    pub(super) fn outcome(
        &self,
        fleet: &Fleet,
        life: &Life,
        worker: &mut Worker,
        etcd: usize,
        mut reply: Reply,
    ) -> Option<Result<Outcome, Failure>> {
        self.forge(fleet, &mut reply);
        let Call { action, at, sent, kept, .. } = worker.call.as_mut()?;
        Some(match (&*action, reply) {
            (Action::List { .. }, Reply::Listing(mut listing)) => {
                if etcd != fleet.home.get() {
                    fleet.events.saw(Event::Misled);
                    worker.is_misled = true;
                }
                worker.listed = worker.listed.max(listing.revision);
                listing.endpoint.clone_from(&worker.settings.endpoints[*at]);
                worker.keep(&listing);
                Ok(Outcome::Listed(*listing))
            }
            (Action::ReadMarks { etcd, .. }, Reply::HighWaterMarks(answered, read)) => {
                if answered == *etcd { Ok(Outcome::HighWaterMarks(read)) } else { Err(no_answer()) }
            }
            (Action::Grant { .. }, Reply::Granted(ttl)) => Ok(Outcome::Granted(*sent, ttl)),
            (Action::Revoke(_), Reply::Revoked) => Ok(Outcome::Done),
            (Action::Renew { .. }, Reply::Gone) => Ok(Outcome::Renewed(Renewal::Gone)),
            (Action::Renew { holding, limits }, Reply::Alive { etcd, term, ttl }) => {
                let alive = KeepAlive::Alive { etcd, term, ttl, sent: *sent };
                match alive.limits(holding.etcd, *limits) {
                    Err(renewal) => Ok(Outcome::Renewed(renewal)),
                    Ok(limits) => {
                        *kept = Some((alive, limits));
                        return None;
                    }
                }
            }
            (Action::Renew { holding, .. }, Reply::Answer(answer)) => {
                let (kept, limits) = (*kept)?;
                Ok(Outcome::Renewed(Renewal::of(kept, limits, holding, &answer)))
            }
            (Action::Change { change, .. }, Reply::Answer(answer)) => match change.etcd() {
                Some(etcd) if etcd != answer.etcd => Err(no_answer()),
                _ => {
                    fleet.note_change(change, answer.is_done, life);
                    Ok(Outcome::Changed(answer))
                }
            },
            _ => Err(no_answer()),
        })
    }
}

impl Fleet {
    fn note_change(&self, change: &Change, is_done: bool, life: &Life) {
        match change {
            Change::Claim { .. } if !is_done => self.events.saw(Event::LostRace),
            Change::ConfirmClaim { .. } if is_done => self.events.saw(Event::AmbiguousGranted),
            Change::Release(holding) if is_done => {
                let is_orphan = |held: &LeasedId| life.is_orphan(holding.lease, held.id);
                if holding.held.iter().any(is_orphan) {
                    self.events.saw(Event::OrphanDeleted);
                }
            }
            _ => {}
        }
    }
}
