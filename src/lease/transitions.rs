//! What the worker does to what is kept. Each takes the node's lock for itself.

use super::gates::cap;
use crate::clock::{boot, now};
use crate::horizon;
use crate::id_types::ID_TYPES;
use crate::lock::ExclusiveLock;
use crate::shmem::{Authority, Kept, Marked, Revision, Shared, State};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::{Claim, Sent};
use pgrx::pg_sys;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The node's lock, held to change what is kept. When it goes, all can see the change.
struct Changing<'a> {
    shared: &'a Shared,
    lock: ExclusiveLock,
}

impl<'a> Changing<'a> {
    fn begin(shared: &'a Shared) -> Self {
        Self { shared, lock: ExclusiveLock::take(shared.lock()) }
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.shared.lease.show(&self.lock, self.shared.view_lock());
    }
}

impl Deref for Changing<'_> {
    type Target = ExclusiveLock;

    fn deref(&self) -> &ExclusiveLock {
        &self.lock
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut ExclusiveLock {
        &mut self.lock
    }
}

/// Changes what is kept.
fn with<T>(shared: &Shared, change: impl FnOnce(&mut Kept) -> T) -> T {
    let mut lock = Changing::begin(shared);
    change(shared.lease.change(&mut lock))
}

/// This process is the worker from now on; false where there is one.
pub fn enter(shared: &Shared) -> bool {
    let mut lock = Changing::begin(shared);
    let kept = shared.lease.change(&mut lock);
    if kept.worker != 0 {
        return false;
    }
    // SAFETY: variables of this process, set when it joined the server.
    let (pid, latch) = unsafe { (pg_sys::MyProcPid, pg_sys::MyLatch) };
    kept.worker = pid;
    shared.lease.latch.store(latch, Ordering::Release);
    true
}

pub fn leave(shared: &Shared) {
    let mut lock = Changing::begin(shared);
    shared.lease.latch.store(std::ptr::null_mut(), Ordering::Release);
    shared.lease.registered.store(0, Ordering::Relaxed);
    shared.lease.change(&mut lock).worker = 0;
}

/// Whether generator IDs are leased from now on, and how many are wanted.
pub fn begin(shared: &Shared, wanted: usize) {
    let mut lock = Changing::begin(shared);
    let kept = shared.lease.change(&mut lock);
    kept.wanted = wanted;
    if kept.state == State::Off {
        kept.state = State::Starting;
        // Before the generation, and that before the seal.
        shared.lease.active.store(true, Ordering::Release);
        next_generation(shared, &lock);
        seal(shared, None);
        cap(shared, &lock);
    }
}

/// Generator IDs are not leased any more.
pub fn end(shared: &Shared) {
    let mut lock = Changing::begin(shared);
    let kept = shared.lease.change(&mut lock);
    *kept = Kept { worker: kept.worker, losses: kept.losses, ..Kept::NONE };
    shared.lease.active.store(false, Ordering::Release);
    next_generation(shared, &lock);
    cap(shared, &lock);
}

/// The last trouble, for the view and for sessions.
pub fn trouble(shared: &Shared, trouble: &str) {
    with(shared, |kept| {
        (kept.trouble, kept.troubled) = (trouble.into(), now());
    });
}

/// There is no free one, or there may be again.
pub fn wait(shared: &Shared, none_free: bool) {
    with(shared, |kept| match (kept.state, none_free) {
        (State::Starting | State::Lost, true) => kept.state = State::Waiting,
        (State::Waiting, false) => kept.state = State::Starting,
        _ => {}
    });
}

pub fn endpoint(shared: &Shared, endpoint: &str) {
    with(shared, |kept| {
        if kept.endpoint.get() != endpoint {
            kept.endpoint = endpoint.into();
        }
    });
}

/// What the registry has granted beside the IDs.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'a> {
    pub lease: i64,
    pub namespace: &'a str,
    pub ttl: Duration,
    pub authority: Authority,
    pub cluster: u16,
    pub epoch: UnixNanos,
    pub claim: Claim,
    pub sent: Duration,
    pub sent_at: UnixNanos,
}

/// These IDs are held from now on, beside others of the same lease. False where the deadline has passed
/// meanwhile.
pub fn take(shared: &'static Shared, granted: Granted<'_>, new: &[Marked]) -> bool {
    let mut lock = Changing::begin(shared);
    if granted.claim.is_over(boot()) {
        return false;
    }
    next_generation(shared, &lock);
    // They may have been this node's before.
    for &marked in new {
        let _ = seal(shared, Some(marked));
        for (place, _) in ID_TYPES.iter().enumerate().filter(|(_, entry)| entry.is_numbered) {
            for (_, cell) in shared.cells(place).filter(|&(id, _)| id == marked.id) {
                horizon::revive(shared, place, cell, marked.mark);
            }
        }
    }
    let kept = shared.lease.change(&mut lock);
    if kept.state != State::Held || kept.lease != granted.lease {
        kept.count = 0;
        kept.since = granted.sent_at;
        kept.claim = granted.claim;
        (kept.sent, kept.renewed) = (granted.sent, granted.sent_at);
    }
    for &marked in new.iter().take(MAX_OWNED - kept.count) {
        kept.insert(marked);
    }
    kept.state = State::Held;
    kept.lease = granted.lease;
    kept.namespace = granted.namespace.into();
    kept.ttl = granted.ttl;
    (kept.authority, kept.cluster) = (granted.authority, granted.cluster);
    kept.epoch = granted.epoch;
    // A lease is not renewed by another claim on it; and one gate is there for all.
    kept.claim.ceiling = kept.claim.ceiling.min(granted.claim.ceiling);
    kept.claim.deadline = kept.claim.deadline.min(granted.claim.deadline);
    cap(shared, &lock);
    true
}

/// The lease was renewed by a request that was sent then. False where it was over before that was
/// known: then it is lost.
pub fn renew(
    shared: &Shared,
    lease: i64,
    claim: Claim,
    sent: Sent,
    revisions: &[Revision],
) -> bool {
    let mut lock = Changing::begin(shared);
    let kept = shared.lease.change(&mut lock);
    let boot = boot();
    if kept.lease != lease || !kept.is_good(boot) || claim.is_over(boot) {
        return false;
    }
    (kept.claim, kept.sent, kept.renewed) = (claim, sent.boot, sent.now);
    kept.written(revisions);
    cap(shared, &lock);
    true
}

/// Seals these and gives them up, or all: each with its exact mark. The last to go ends the lease.
pub fn give_up(shared: &Shared, ids: Option<&[u16]>, lost: bool) -> Vec<Marked> {
    let mut lock = Changing::begin(shared);
    let kept = shared.lease.change(&mut lock);
    let mut gone = Vec::new();
    for marked in kept.held().to_vec() {
        if ids.is_none_or(|ids| ids.contains(&marked.id)) {
            kept.remove(marked.id);
            gone.push(marked);
        }
    }
    if gone.is_empty() {
        return gone;
    }
    if lost {
        kept.losses += 1;
    }
    if kept.count == 0 {
        kept.state = if lost { State::Lost } else { State::Starting };
        kept.lost = if lost { now() } else { kept.lost };
    }
    next_generation(shared, &lock);
    cap(shared, &lock);
    for marked in &mut gone {
        marked.mark = seal(shared, Some(*marked));
    }
    gone
}

/// Begins a new generation: from now on no session gets an ID by a list of cells that it made before. The caller
/// holds the lock, and seals and revives cells afterwards.
fn next_generation(shared: &Shared, _lock: &ExclusiveLock) {
    // A list that is made from here on is of the new one; it is refused by no gate, whichever was told.
    let generation = shared.lease.generation.fetch_add(1, Ordering::Release) + 1;
    shared.gates.announce(generation);
    shared.leased.announce(generation);
}

/// Seals the cells of a generator ID in all systems, or of all of them. Gives the exact mark: what they
/// had last, and not less than what the ID was claimed with, as a system that was not asked has no cell
/// that would know.
fn seal(shared: &Shared, only: Option<Marked>) -> UnixNanos {
    let mut horizon = Horizon::NONE.raised(only.map_or(UnixNanos(0), |marked| marked.mark));
    for (place, entry) in ID_TYPES.iter().enumerate().filter(|(_, entry)| entry.is_numbered) {
        // A tick is by the epoch that it was made by: by the earliest, or by a later one since. A mark must not lie
        // below it by either, and the later one gives the later moment.
        let scale = entry.scale_from(horizon::earliest(shared, place).max((entry.scale)().epoch()));
        for (id, cell) in shared.cells(place) {
            if only.is_none_or(|only| only.id == id) {
                horizon = (entry.covering)(horizon, scale, (entry.seal)(cell));
            }
        }
    }
    horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}
