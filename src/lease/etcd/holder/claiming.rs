//! How the worker comes to generator IDs: it lists what is taken, chooses among the rest, and claims them.

use super::base::{AGAIN, Halt, Holder, LATEST, SOON, TRIES};
use crate::clock::{boot, now};
use crate::guc::etcd as settings;
use crate::id_types::ServerIdType;
use crate::lease::etcd::client::Patience;
use crate::lease::etcd::note;
use crate::lease::etcd::process::{anywhere, began, may_go_on, may_wait, new_lease};
use crate::lease::etcd::registry::{Holding, Listing, MOST, Mark, Registry};
use crate::lease::transitions;
use crate::shmem::{Kept, Marked, State};
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::lease::{Claim, Sent, Term, choose};
use std::time::Duration;

impl Holder {
    /// Leases what is missing. Where the pool is empty it says so, and waits for a claim to end.
    pub(super) fn claim(&mut self, kept: &Kept, missing: usize) -> Result<(), Halt> {
        let holds = kept.state == State::Held;
        if !holds {
            let namespace = settings::namespace();
            if self.registry.namespace != namespace {
                self.marks.clear();
            }
            self.registry = Registry { namespace, ..Registry::default() };
            self.ttl = settings::lease_ttl();
            // One that was lost may live on in etcd for a while.
            if kept.lease != self.revoked {
                self.revoked = kept.lease;
                self.leftover.push(kept.lease);
            }
        }
        let mut lease = None;
        for _ in 0..TRIES {
            let mut listing = self.list()?;
            let cluster = self.registry.cluster_of(&listing).map_err(Halt::Because)?;
            if holds && cluster != kept.cluster {
                self.give_back(None, None);
                return Ok(());
            }
            // What somebody took away looks free here, and must not be claimed beside what is held.
            let is_ours = |held: &Marked| {
                listing.claims.iter().any(|&(lease, (id, _))| lease == kept.lease && id == held.id)
            };
            let lost: Vec<u16> = kept
                .held()
                .iter()
                .filter(|held| holds && !is_ours(held))
                .map(|held| held.id)
                .collect();
            if !lost.is_empty() {
                let forgotten = self.has_forgotten(kept.authority, kept.held())?;
                let why = match forgotten {
                    true => "etcd has forgotten the lease.",
                    false => "Claims were deleted in etcd.",
                };
                self.lose(kept, Some(&lost), why, forgotten);
                self.more_at = Duration::ZERO;
                return Ok(());
            }
            let chosen = match listing.grace.value {
                None => self.choose(&mut listing, missing.min(MOST)),
                Some(_) => match self.reclaimable(&mut listing, missing.min(MOST)) {
                    // What is held goes on without more.
                    Err(Halt::Because(_)) if holds => Ok(None),
                    reclaimable => reclaimable.map(Some),
                },
            };
            self.tell_unreadable();
            let chosen = match chosen {
                Err(halt) => {
                    self.give_back_unused(lease);
                    return Err(halt);
                }
                Ok(chosen) => chosen,
            };
            let Some(chosen) = chosen else {
                self.give_back_unused(lease);
                self.more_at = boot() + self.ttl / 3;
                return if holds { Ok(()) } else { self.wait(&listing) };
            };
            self.remember(&listing)?;
            // What is added to a lease goes by it.
            let (id, ttl, sent, claim) = match (holds, lease) {
                (true, _) => {
                    let sent = Sent { now: kept.renewed, boot: kept.sent };
                    (kept.lease, kept.ttl, sent, kept.claim)
                }
                (false, Some(granted)) => granted,
                (false, None) => *lease.insert(self.grant()?),
            };
            let document = self.document(if holds { kept.since } else { sent.now }, id);
            let registry = &self.registry;
            let authority = self.authority(&listing);
            let etcd = authority.etcd;
            let holding = Holding { etcd, cluster, lease: id, held: &chosen, document: &document };
            let claimed = self.etcd.call(async |client| {
                registry.claim(client, &holding, &listing, claim.ceiling).await
            });
            match claimed {
                Ok(Some(revisions)) => {
                    let chosen: Vec<_> =
                        chosen.into_iter().map(|marked| marked.as_of(&revisions)).collect();
                    let granted = transitions::Granted {
                        lease: id,
                        namespace: &self.registry.namespace,
                        ttl,
                        authority,
                        cluster,
                        epoch: Flake::scale().epoch(),
                        claim,
                        sent: sent.boot,
                        sent_at: sent.now,
                    };
                    if transitions::take(self.shared, granted, &chosen) {
                        transitions::endpoint(self.shared, self.etcd.endpoint());
                        if !holds {
                            began();
                        }
                        note::leased(&chosen);
                        self.told_waiting = false;
                        self.start = 0;
                    } else if !holds {
                        self.leftover.push(id);
                    }
                    return Ok(());
                }
                // Others were faster: begin elsewhere than they do.
                Ok(None) => self.start = anywhere(),
                Err(trouble) => {
                    match holds {
                        true => self.strays_until = boot() + LATEST,
                        false => self.leftover.push(id),
                    }
                    return Err(trouble.into());
                }
            }
        }
        self.give_back_unused(lease);
        self.more_at = boot() + SOON;
        Ok(())
    }

    /// Says which generator ID is left alone because nobody knows what was made with it.
    fn tell_unreadable(&mut self) {
        let pool = settings::pool();
        let unreadable =
            self.marks.range(pool).find_map(|(id, mark)| Some((id, mark.moment.as_ref().err()?)));
        let Some((id, value)) = unreadable else { return };
        let key = format!("{}until/{id}", self.registry.namespace);
        let reason = format!("etcd key \"{key}\" has \"{value}\", which is not a time");
        transitions::trouble(self.shared, &reason);
        if let Some(left_out) = self.told_unreadable.due(&reason) {
            note::left_alone(&reason, *id, left_out);
        }
    }

    /// Chooses generator IDs that nobody has, and reads the marks of those alone.
    fn choose(&mut self, listing: &mut Listing, want: usize) -> Result<Option<Vec<Marked>>, Halt> {
        self.marks.retain(|id, mark| {
            mark.moment.is_err() && listing.marked.get(id) == Some(&mark.revision)
        });
        loop {
            let (now, marks) = (now(), &self.marks);
            let is_readable = |id: u16| marks.get(&id).is_none_or(|mark| mark.moment.is_ok());
            let mark = |id: u16| match marks.get(&id) {
                Some(Mark { moment: Ok(mark), .. }) => *mark,
                _ => UnixNanos(0),
            };
            let is_free = |id: u16| !listing.taken.contains(&id) && is_readable(id);
            let is_past = |id: u16| mark(id) <= now;
            let best = |number| choose(settings::pool(), self.start, number, is_free, is_past);
            let Some(chosen) = best(want) else { return Ok(None) };
            let is_unread = |id: &u16| listing.marked.contains_key(id) && !marks.contains_key(id);
            let chosen = chosen.as_slice();
            if !chosen.iter().any(is_unread) {
                let marked = |&id: &u16| Marked { id, mark: mark(id), revision: 0 };
                return Ok(Some(chosen.iter().map(marked).collect()));
            }
            // More than are wanted, so that a long run of marks that are ahead is read in few calls.
            let candidates = best(MOST);
            let candidates = candidates.as_ref().map_or(chosen, |candidates| candidates.as_slice());
            let unread: Vec<u16> = candidates.iter().copied().filter(is_unread).collect();
            // Many marks that are none take long to read. What is held comes first; what was read is kept.
            let kept = self.shared.look_at_lease();
            let renewal = kept.sent + Term(kept.ttl).renewal();
            if kept.state == State::Held && (boot() >= renewal || self.shared.lease.is_asked()) {
                return Err(Halt::Interrupted);
            }
            self.read_marks(listing, &unread)?;
        }
    }

    fn grant(&mut self) -> Result<(i64, Duration, Sent, Claim), Halt> {
        let lease =
            new_lease().ok_or_else(|| Halt::Because("no random numbers are available".into()))?;
        let (registry, ttl) = (&self.registry, self.ttl);
        let sent = Sent { now: now(), boot: boot() };
        let granted = self.etcd.call(async |client| registry.grant(client, lease, ttl).await);
        match granted {
            Ok(Duration::ZERO) => {
                self.leftover.push(lease);
                Err(Halt::Because("etcd granted a lease of 0 s".into()))
            }
            Ok(ttl) => Ok((lease, ttl, sent, Claim::asked(sent, Term(ttl)))),
            Err(trouble) => {
                self.leftover.push(lease);
                Err(trouble.into())
            }
        }
    }

    fn give_back_unused(&mut self, granted: Option<(i64, Duration, Sent, Claim)>) {
        self.leftover.extend(granted.map(|(lease, ..)| lease));
    }

    /// Until a claim is taken away, or for a while.
    fn wait(&mut self, listing: &Listing) -> Result<(), Halt> {
        transitions::wait(self.shared, true);
        if !self.told_waiting {
            self.told_waiting = true;
            note::waits(&settings::pool());
        }
        let (registry, revision) = (&self.registry, listing.revision);
        let longest = (self.ttl / 3).max(AGAIN);
        self.etcd.patience = Patience::While(may_wait);
        let freed = self.etcd.call_for(longest + AGAIN, async |client| {
            registry.freed(client, revision, longest).await
        });
        self.etcd.patience = Patience::While(may_go_on);
        Ok(freed?)
    }
}
