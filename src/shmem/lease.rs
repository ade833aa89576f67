//! The part of shared memory that holds the lease of generator IDs: its state under the server's
//! lock, a copy for views, and flags that sessions and the worker read without a lock.

use crate::clock::since_boot;
use crate::lock::{ExclusiveLock, Lock};
use flakeid_core::clock::UnixNanos;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::LeaseLimits;
use flakeid_core::registry::listing::{Authority, ClaimRevision};
pub use flakeid_core::registry::transaction::LeasedId;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

/// The status of the lease, as the view shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStatus {
    /// Generator IDs are not leased.
    Off,
    /// No generator ID has been leased yet.
    Starting,
    /// Other servers lease all generator IDs of the pool.
    Waiting,
    /// The server holds generator IDs.
    Held,
    /// The server held generator IDs, and has lost them.
    Lost,
}

impl LeaseStatus {
    /// Returns the name that the view shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Starting => "starting",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Lost => "lost",
        }
    }
}

/// A text in shared memory, cut to the space that it has.
#[derive(Clone, Copy, Debug)]
pub struct Text<const N: usize> {
    len: usize,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    const EMPTY: Self = Self { len: 0, bytes: [0; N] };

    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        let len = text.floor_char_boundary(N);
        let mut bytes = [0; N];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self { len, bytes }
    }
}

/// The lease as all processes of the server know it. Times by the clock are in nanoseconds since
/// 1970, and 0 is never.
#[derive(Clone, Copy, Debug)]
pub struct LeaseState {
    pub status: LeaseStatus,
    /// The number of generator IDs that the settings ask for.
    pub wanted: usize,
    /// The generator IDs that the server holds, in ascending order: the first `count` ones.
    pub held: [LeasedId; MAX_OWNED],
    pub count: usize,
    /// The etcd and the registry that granted the lease.
    pub authority: Authority,
    /// The cluster ID of the namespace.
    pub cluster: u16,
    /// The epoch of flake that all servers of the namespace have in common.
    pub epoch: UnixNanos,
    /// The present lease, or the last one; 0 before the first.
    pub lease: i64,
    /// The namespace of the lease.
    pub namespace: Text<128>,
    /// The duration for which etcd grants the lease.
    pub ttl: Duration,
    /// The limits up to which the generator IDs may be used.
    pub limits: LeaseLimits,
    /// The time since boot at which the request was sent that renewed the lease last.
    pub sent: Duration,
    pub leased_at: UnixNanos,
    pub renewed: UnixNanos,
    pub losses: u64,
    pub lost: UnixNanos,
    pub endpoint: Text<256>,
    /// The last error, and its time.
    pub last_error: Text<512>,
    pub last_error_at: UnixNanos,
    /// The process ID of the worker; 0 if no worker runs.
    pub worker_pid: i32,
}

impl LeaseState {
    /// The state of a server that leases nothing.
    pub const NONE: Self = Self {
        status: LeaseStatus::Off,
        wanted: 0,
        held: [LeasedId { id: 0, high_water_mark: UnixNanos(0), revision: 0 }; MAX_OWNED],
        count: 0,
        authority: Authority { etcd: 0, registry: 0 },
        cluster: 0,
        epoch: UnixNanos(0),
        lease: 0,
        namespace: Text::EMPTY,
        ttl: Duration::ZERO,
        limits: LeaseLimits { ceiling: UnixNanos(0), deadline: Duration::ZERO },
        sent: Duration::ZERO,
        leased_at: UnixNanos(0),
        renewed: UnixNanos(0),
        losses: 0,
        lost: UnixNanos(0),
        endpoint: Text::EMPTY,
        last_error: Text::EMPTY,
        last_error_at: UnixNanos(0),
        worker_pid: 0,
    };

    /// Returns the generator IDs that the server holds.
    pub fn held(&self) -> &[LeasedId] {
        &self.held[..self.count]
    }

    /// Returns whether IDs may be generated now.
    pub fn is_usable(&self, since_boot: Duration) -> bool {
        self.status == LeaseStatus::Held && !self.limits.is_expired(since_boot)
    }

    /// Returns the status now. A deadline that has passed counts before the worker has noticed it,
    /// or if it cannot.
    pub fn status_at(&self, since_boot: Duration) -> LeaseStatus {
        match self.status {
            LeaseStatus::Held if self.limits.is_expired(since_boot) => LeaseStatus::Lost,
            state => state,
        }
    }

    /// Returns the ID of the lease as `etcdctl` writes it.
    pub fn lease_text(&self) -> Option<String> {
        (self.lease != 0).then(|| format!("{:x}", self.lease))
    }

    /// Sets the revisions in which claims were written.
    pub fn set_revisions(&mut self, revisions: &[ClaimRevision]) {
        for held in &mut self.held[..self.count] {
            *held = held.as_of(revisions);
        }
    }

    /// Adds a generator ID, or replaces the entry of the same one: no generator ID is in the list
    /// more than once.
    pub fn insert(&mut self, leased: LeasedId) {
        let i = self.held().partition_point(|held| held.id < leased.id);
        if let Some(held) = self.held[..self.count][i..].first_mut()
            && held.id == leased.id
        {
            *held = leased;
            return;
        }
        self.held.copy_within(i..self.count, i + 1);
        self.held[i] = leased;
        self.count += 1;
    }

    /// Removes a generator ID.
    pub fn remove(&mut self, id: u16) {
        if let Some(i) = self.held().iter().position(|held| held.id == id) {
            self.held.copy_within(i + 1..self.count, i);
            self.count -= 1;
        }
    }
}

/// The lease in shared memory.
#[derive(Debug)]
pub struct Lease {
    state: UnsafeCell<LeaseState>,
    /// A copy of the state as of the last change.
    snapshot: UnsafeCell<LeaseState>,
    /// The generation of the server's identity. It rises with each change of the set of generator
    /// IDs, and of the right by which they are used.
    pub generation: AtomicU64,
    /// A fingerprint of the identity in the postmaster's settings; 0 if the postmaster has not
    /// loaded the library.
    in_force: AtomicU64,
    /// Whether generator IDs are leased. If not, there is nothing to read under the lock.
    pub active: AtomicBool,
    /// The worker's latch, to wake it; null while no worker runs.
    pub latch: AtomicPtr<pg_sys::Latch>,
    /// Whether a session wants a renewal now.
    renewal_requested: AtomicBool,
    /// The time at which a session last asked the server for a worker, in nanoseconds since boot.
    pub worker_requested_at: AtomicU64,
    /// Whether the postmaster is ending.
    stopping: AtomicBool,
}

impl Lease {
    /// Constructs the state of a server that leases nothing.
    pub fn new() -> Self {
        Self {
            state: UnsafeCell::new(LeaseState::NONE),
            snapshot: UnsafeCell::new(LeaseState::NONE),
            generation: AtomicU64::new(0),
            in_force: AtomicU64::new(0),
            active: AtomicBool::new(false),
            latch: AtomicPtr::new(std::ptr::null_mut()),
            renewal_requested: AtomicBool::new(false),
            worker_requested_at: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// Returns the state. The caller holds the server's lock.
    pub fn state(&self, _lock: &ExclusiveLock) -> &LeaseState {
        // SAFETY: the state changes under the lock alone, and the borrow ends with the lock's.
        unsafe { &*self.state.get() }
    }

    /// Returns the state, to change it.
    #[allow(clippy::mut_from_ref)]
    pub fn change<'a>(&'a self, _lock: &'a mut ExclusiveLock) -> &'a mut LeaseState {
        // SAFETY: the state changes under the lock alone. There is one lock, and it is borrowed
        // mutably for as long.
        unsafe { &mut *self.state.get() }
    }

    /// Copies the state for processes that only read it.
    pub fn publish_snapshot(&self, lock: &ExclusiveLock, view_lock: &Lock) {
        let state = *self.state(lock);
        let _view = ExclusiveLock::take(view_lock);
        // SAFETY: the copy is read and written only under the lock for views, which is held here.
        unsafe { *self.snapshot.get() = state };
    }

    /// Returns the state as of the last change. This never waits for a disk.
    pub fn snapshot(&self, view_lock: &Lock) -> LeaseState {
        let _view = ExclusiveLock::take(view_lock);
        // SAFETY: the copy is read and written only under the lock for views, which is held here.
        unsafe { *self.snapshot.get() }
    }

    /// Returns whether generator IDs are leased. A session that has read the generation first, and
    /// gets "no" here, meets the seal of a later generation.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Returns the generation of the server's identity.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Sets the identity that the server's settings name from now on.
    pub fn put_in_force(&self, fingerprint: u64) {
        self.in_force.store(fingerprint, Ordering::Release);
    }

    /// Returns whether a session whose settings name this identity may generate IDs by them. Within
    /// a statement a session keeps the settings with which the statement began. As long as nothing
    /// was ever leased it may: the administrator waits for such statements before another server
    /// gets their generator IDs. But a lease may have given these generator IDs to another server
    /// since.
    pub fn admits(&self, fingerprint: u64) -> bool {
        // The worker begins a generation after the postmaster has told it of new settings. So this
        // order of the two loads finds the settings of the generation, or later ones.
        self.generation() == 0 || [0, fingerprint].contains(&self.in_force.load(Ordering::Acquire))
    }

    /// Returns whether sessions may use fixed generator IDs: no lease is on, and the settings with
    /// this fingerprint are in force.
    pub fn admits_fixed(&self, fingerprint: u64) -> bool {
        !self.is_active() && self.admits(fingerprint)
    }

    /// Lets sealed cells stay sealed from now on.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Returns whether the postmaster is ending.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Requests a renewal now, and wakes the worker.
    pub fn request_renewal(&self) {
        self.renewal_requested.store(true, Ordering::Release);
        self.wake();
    }

    /// Returns whether a session has requested a renewal since the last call.
    #[cfg(feature = "etcd")]
    pub fn take_renewal_request(&self) -> bool {
        self.renewal_requested.swap(false, Ordering::AcqRel)
    }

    /// Returns whether a session has requested a renewal, and leaves the request as it is.
    #[cfg(feature = "etcd")]
    pub fn is_renewal_requested(&self) -> bool {
        self.renewal_requested.load(Ordering::Acquire)
    }

    /// Wakes the worker, if it runs.
    fn wake(&self) {
        let latch = self.latch.load(Ordering::Acquire);
        if !latch.is_null() {
            // SAFETY: the latch belongs to a process's entry in PostgreSQL's shared memory, which
            // exists as long as the server. If another process has the entry by now, it wakes up
            // once more than it needs to.
            unsafe { pg_sys::SetLatch(latch) };
        }
    }

    /// Returns whether a worker runs.
    pub fn has_worker(&self) -> bool {
        !self.latch.load(Ordering::Acquire).is_null()
    }

    /// Returns whether to ask the server for a worker: no worker runs, and no session has asked for
    /// a while.
    pub fn lacks_worker(&self) -> bool {
        const REQUEST_INTERVAL: u64 = 5_000_000_000;
        let (now, last) =
            (since_boot().as_nanos() as u64, self.worker_requested_at.load(Ordering::Relaxed));
        let early = last != 0 && now.saturating_sub(last) < REQUEST_INTERVAL;
        !self.has_worker()
            && !early
            && self
                .worker_requested_at
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
