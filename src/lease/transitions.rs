//! Changes of the lease in shared memory, which the worker makes. Each function takes the server's
//! lock itself.

use super::gates::cap;
use crate::clock::{now, since_boot};
use crate::horizon;
use crate::id_types::ID_TYPES;
use crate::lock::ExclusiveLock;
use crate::shmem::{LeaseState, LeaseStatus, LeasedId, Shared};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::{LeaseLimits, RequestTime};
use flakeid_core::registry::action::Lease;
use flakeid_core::registry::listing::ClaimRevision;
use pgrx::pg_sys;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

/// The server's lock, held to change the lease. When it is dropped, views see the change.
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
        self.shared.lease.publish_snapshot(&self.lock, self.shared.view_lock());
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

/// Changes the lease under the server's lock.
fn with<T>(shared: &Shared, change: impl FnOnce(&mut LeaseState) -> T) -> T {
    let mut lock = Changing::begin(shared);
    change(shared.lease.change(&mut lock))
}

/// Registers this process as the worker. Returns false if there is one already.
pub fn register_worker(shared: &Shared) -> bool {
    let mut lock = Changing::begin(shared);
    let state = shared.lease.change(&mut lock);
    if state.worker_pid != 0 {
        return false;
    }
    // SAFETY: both are variables of this process, which PostgreSQL set before it called the
    // worker's main function.
    let (pid, latch) = unsafe { (pg_sys::MyProcPid, pg_sys::MyLatch) };
    state.worker_pid = pid;
    shared.lease.latch.store(latch, Ordering::Release);
    true
}

/// Ends what [`register_worker`] began. A session may then ask for another worker.
pub fn unregister_worker(shared: &Shared) {
    let mut lock = Changing::begin(shared);
    shared.lease.latch.store(std::ptr::null_mut(), Ordering::Release);
    shared.lease.worker_requested_at.store(0, Ordering::Relaxed);
    shared.lease.change(&mut lock).worker_pid = 0;
}

/// Sets how many generator IDs are wanted. If none were leased until now, seals all cells at a new
/// generation.
pub fn enable(shared: &Shared, wanted: usize) {
    let mut lock = Changing::begin(shared);
    let state = shared.lease.change(&mut lock);
    state.wanted = wanted;
    if state.status == LeaseStatus::Off {
        state.status = LeaseStatus::Starting;
        // This order matters: a session that meets the seal finds the generation, and with it that
        // leasing is active.
        shared.lease.active.store(true, Ordering::Release);
        next_generation(shared, &lock);
        seal(shared, None);
        cap(shared, &lock);
    }
}

/// Ends leasing: the settings name fixed generator IDs. The worker has given all up before.
pub fn disable(shared: &Shared) {
    let mut lock = Changing::begin(shared);
    let state = shared.lease.change(&mut lock);
    *state = LeaseState { worker_pid: state.worker_pid, losses: state.losses, ..LeaseState::NONE };
    shared.lease.active.store(false, Ordering::Release);
    next_generation(shared, &lock);
    cap(shared, &lock);
}

/// Records the last error, for the view and for sessions.
pub fn record_error(shared: &Shared, error: &str) {
    with(shared, |state| {
        (state.last_error, state.last_error_at) = (error.into(), now());
    });
}

/// Records that the pool has no free generator ID, or that it may have one again.
pub fn set_waiting(shared: &Shared, none_free: bool) {
    with(shared, |state| match (state.status, none_free) {
        (LeaseStatus::Starting | LeaseStatus::Lost, true) => state.status = LeaseStatus::Waiting,
        (LeaseStatus::Waiting, false) => state.status = LeaseStatus::Starting,
        _ => {}
    });
}

/// Records the endpoint that answered last, for the view.
pub fn set_endpoint(shared: &Shared, endpoint: &str) {
    with(shared, |state| {
        if state.endpoint.get() != endpoint {
            state.endpoint = endpoint.into();
        }
    });
}

/// Publishes claims: sessions may use these generator IDs from now on, beside others of the same
/// lease. Returns false if the deadline passed before the claims were known.
pub fn publish_claims(shared: &'static Shared, granted: &Lease) -> bool {
    let mut lock = Changing::begin(shared);
    if granted.limits.is_expired(since_boot()) {
        return false;
    }
    next_generation(shared, &lock);
    // They may have been this server's before.
    for &leased in &granted.held {
        let _ = seal(shared, Some(leased));
        for (slot, _) in ID_TYPES.iter().enumerate().filter(|(_, entry)| entry.is_numbered) {
            for (_, cell) in shared.cells(slot).filter(|&(id, _)| id == leased.id) {
                horizon::revive(shared, slot, cell, leased.high_water_mark);
            }
        }
    }
    let state = shared.lease.change(&mut lock);
    if state.status != LeaseStatus::Held || state.lease != granted.lease {
        state.count = 0;
        state.leased_at = granted.since;
        state.limits = granted.limits;
        (state.sent, state.renewed) = (granted.sent.boot, granted.sent.now);
    }
    for &leased in granted.held.iter().take(MAX_OWNED - state.count) {
        state.insert(leased);
    }
    state.status = LeaseStatus::Held;
    state.lease = granted.lease;
    state.namespace = (&*granted.namespace).into();
    state.ttl = granted.ttl;
    (state.authority, state.cluster) = (granted.authority, granted.cluster);
    state.epoch = granted.epoch;
    // Another claim does not renew the lease, and all its generator IDs have one gate.
    state.limits.ceiling = state.limits.ceiling.min(granted.limits.ceiling);
    state.limits.deadline = state.limits.deadline.min(granted.limits.deadline);
    cap(shared, &lock);
    true
}

/// Records a renewal by a request that was sent at that time. Returns false if the lease had ended
/// before its answer was known: then it is lost.
pub fn renew(
    shared: &Shared,
    lease: i64,
    limits: LeaseLimits,
    sent: RequestTime,
    revisions: &[ClaimRevision],
) -> bool {
    let mut lock = Changing::begin(shared);
    let state = shared.lease.change(&mut lock);
    let boot = since_boot();
    if state.lease != lease || !state.is_usable(boot) || limits.is_expired(boot) {
        return false;
    }
    (state.limits, state.sent, state.renewed) = (limits, sent.boot, sent.now);
    state.set_revisions(revisions);
    cap(shared, &lock);
    true
}

/// Gives up these generator IDs, or all: seals their cells, and returns each with its exact
/// high-water mark. When the last one goes, the lease ends.
pub fn give_up(shared: &Shared, ids: Option<&[u16]>, lost: bool) -> Vec<LeasedId> {
    let mut lock = Changing::begin(shared);
    let state = shared.lease.change(&mut lock);
    let mut gone = Vec::new();
    for leased in state.held().to_vec() {
        if ids.is_none_or(|ids| ids.contains(&leased.id)) {
            state.remove(leased.id);
            gone.push(leased);
        }
    }
    if gone.is_empty() {
        return gone;
    }
    if lost {
        state.losses += 1;
    }
    if state.count == 0 {
        state.status = if lost { LeaseStatus::Lost } else { LeaseStatus::Starting };
        state.lost = if lost { now() } else { state.lost };
    }
    next_generation(shared, &lock);
    cap(shared, &lock);
    for leased in &mut gone {
        leased.high_water_mark = seal(shared, Some(*leased));
    }
    gone
}

/// Begins a new generation: from now on no session gets an ID from an earlier list of cells. The
/// caller holds the lock, and seals and revives cells afterwards.
fn next_generation(shared: &Shared, _lock: &ExclusiveLock) {
    // A list from here on has the new generation. No gate refuses it, whether it was told already
    // or not.
    let generation = shared.lease.generation.fetch_add(1, Ordering::Release) + 1;
    shared.gates.announce(generation);
    shared.leased.announce(generation);
}

/// Seals the cells of one generator ID in all ID types, or all cells. Returns the exact
/// high-water mark: the last time that they issued. It is not before the one with which the ID was
/// claimed, since an ID type that was not used has no cell.
fn seal(shared: &Shared, only: Option<LeasedId>) -> UnixNanos {
    let mut horizon =
        Horizon::NONE.raised(only.map_or(UnixNanos(0), |leased| leased.high_water_mark));
    for (slot, entry) in ID_TYPES.iter().enumerate().filter(|(_, entry)| entry.is_numbered) {
        // A tick counts from the epoch with which it was issued: the earliest one, or a later one
        // since. The high-water mark must not be before it with either, and the later epoch gives
        // the later time.
        let scale = entry.scale_from(horizon::earliest(shared, slot).max((entry.scale)().epoch()));
        for (id, cell) in shared.cells(slot) {
            if only.is_none_or(|only| only.id == id) {
                horizon = (entry.covering)(horizon, scale, (entry.seal)(cell));
            }
        }
    }
    horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}
