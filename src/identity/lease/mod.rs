//! Generator IDs on lease: what this server's processes know of them together.
//!
//! Why two servers never make the same ID is argued in [`flakeid_core::lease`]. Here is who does what.
//!
//! # Who writes what
//! * [`Kept`] changes under the node's lock alone. The worker ([`super::etcd`]) writes it. A backend that
//!   extends the gate reads the deadline there; nothing but the deadline tells it whether the worker still
//!   lives.
//! * A copy of it is made after each change, under a lock of its own that nobody holds while it waits for
//!   anything ([`look`]). Views read the copy, so that a disk that hangs does not hang them.
//! * `Shared::leased` are the gates by which systems with generator IDs go while these are leased: the
//!   node's own, capped by the claim. Whoever moves either does it under the same lock. So the hot path
//!   compares an ID's tick with one gate, as ever, and knows nothing of leases.
//! * A cell of a generator ID that is given up or lost is sealed, and revived when the ID comes back.
//! * `generation` rises whenever the set of IDs changes, or the right by which they are used: before any
//!   cell is sealed for it, and at all gates. A session that made its list for an earlier generation gets no ID
//!   from it, whether it meets the seal or a cell that has been revived since, and makes its list again: see
//!   [`flakeid_core::gate`].
//!
//! # From one way to the other
//! Where the setting changes to `etcd:N`, the worker first announces a new generation and seals all cells: a
//! statement that began under the old setting cannot go on with IDs which may now be another server's, or
//! this server's on lease. Where it changes to numbers,
//! the worker gives all up and says [`State::Off`]; sessions wait for that, and revive what was sealed.

// Without etcd nobody leases any.
#![cfg_attr(not(feature = "etcd"), allow(dead_code))]

pub mod hold;
mod kept;

use crate::clock::{Stopwatch, boot, now};
use crate::error::Failure;
use crate::horizon;
use crate::shmem::{ExclusiveLock, Shared};
use crate::systems::TABLE;
use crate::{guc, wait};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
#[cfg(feature = "etcd")]
pub use kept::Revision;
pub use kept::{Kept, Marked, State};
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// In shared memory.
#[derive(Debug)]
pub struct Lease {
    kept: UnsafeCell<Kept>,
    /// A copy of what is kept, as of the last change.
    shown: UnsafeCell<Kept>,
    /// Counts changes of the set of IDs, and of the right by which they are used.
    generation: AtomicU64,
    /// A fingerprint of the identity that the postmaster's settings name; 0 where it does not have the library.
    in_force: AtomicU64,
    /// Whether generator IDs are leased, so that there is something to look at under the lock.
    active: AtomicBool,
    /// The worker's, to wake it; null where there is none.
    latch: AtomicPtr<pg_sys::Latch>,
    /// Whether a session wants a renewal now.
    asked: AtomicBool,
    /// When a session last asked the server for a worker, in nanoseconds since boot.
    registered: AtomicU64,
    /// The postmaster ends.
    stopping: AtomicBool,
}

impl Lease {
    pub fn new() -> Self {
        Self {
            kept: UnsafeCell::new(Kept::NONE),
            shown: UnsafeCell::new(Kept::NONE),
            generation: AtomicU64::new(0),
            in_force: AtomicU64::new(0),
            active: AtomicBool::new(false),
            latch: AtomicPtr::new(std::ptr::null_mut()),
            asked: AtomicBool::new(false),
            registered: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// What is kept, for who holds the node's lock.
    pub fn kept(&self, _lock: &ExclusiveLock) -> &Kept {
        // SAFETY: it changes under the lock alone, and the borrow ends with the lock's.
        unsafe { &*self.kept.get() }
    }

    /// The same, to change it.
    #[allow(clippy::mut_from_ref)]
    fn change<'a>(&'a self, _lock: &'a mut ExclusiveLock) -> &'a mut Kept {
        // SAFETY: as above; there is one lock, and it is borrowed for as long.
        unsafe { &mut *self.kept.get() }
    }

    /// Copies what is kept, for those who only look.
    fn show(&self, shared: &Shared, lock: &ExclusiveLock) {
        let kept = *self.kept(lock);
        let _view = ExclusiveLock::take(shared.view_lock());
        // SAFETY: the copy is read and written under the lock for views alone.
        unsafe { *self.shown.get() = kept };
    }

    /// Whether generator IDs are leased. Who has read the generation before, and is told no, meets a seal
    /// of a later one.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The identity that the server's settings name from now on.
    pub fn put_in_force(&self, fingerprint: u64) {
        self.in_force.store(fingerprint, Ordering::Release);
    }

    /// Whether a session whose settings name this identity may make IDs by them. In the middle of a statement a
    /// session goes by the settings that the statement began with. While nothing was ever leased it may: the
    /// administrator waits for such statements before he gives their generator IDs to another server. But a lease may
    /// have given these IDs to another server since.
    pub fn admits(&self, fingerprint: u64) -> bool {
        // The worker begins a generation after the postmaster has told it of new settings, so this order of the two
        // sees the settings of the generation or later ones.
        self.generation() == 0 || [0, fingerprint].contains(&self.in_force.load(Ordering::Acquire))
    }

    /// From now on a sealed cell stays sealed.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Asks the worker to renew now.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether somebody has asked since.
    pub fn was_asked(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    fn wake(&self) {
        let latch = self.latch.load(Ordering::Acquire);
        if !latch.is_null() {
            // SAFETY: the latch of a process's entry in PostgreSQL's shared memory, which is there as long
            // as the server. Should another process have it by now, it wakes for nothing.
            unsafe { pg_sys::SetLatch(latch) };
        }
    }

    /// Whether to ask the server for a worker: there is none, and nobody has asked for a while.
    fn lacks_worker(&self) -> bool {
        const WHILE: u64 = 5_000_000_000;
        let (now, last) = (boot().as_nanos() as u64, self.registered.load(Ordering::Relaxed));
        let early = last != 0 && now.saturating_sub(last) < WHILE;
        self.latch.load(Ordering::Acquire).is_null()
            && !early
            && self
                .registered
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

/// What is kept now. It waits for no disk.
pub fn look(shared: &Shared) -> Kept {
    let _view = ExclusiveLock::take(shared.view_lock());
    // SAFETY: the copy is read and written under the lock for views alone.
    unsafe { *shared.lease.shown.get() }
}

/// Where things stand.
pub fn state(shared: &Shared, lock: &ExclusiveLock) -> State {
    shared.lease.kept(lock).state
}

/// What a session goes by: IDs that are held now.
///
/// # Errors
/// [`Failure::NotLeased`].
pub fn held<'a>(shared: &'a Shared, lock: &'a ExclusiveLock) -> Result<&'a Kept, Failure> {
    let kept = shared.lease.kept(lock);
    if kept.is_good(boot()) { Ok(kept) } else { Err(kept.failure()) }
}

/// Waits until `ready` gives something, for as long as a session waits for its clock, and sees to it that
/// there is a worker.
///
/// # Errors
/// The last that `ready` gave; [`Failure::NoWorker`].
pub fn wait<T>(
    shared: &'static Shared,
    mut ready: impl FnMut(ExclusiveLock) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (watch, longest) = (Stopwatch::start(), guc::max_clock_wait());
    loop {
        let failure = match ready(ExclusiveLock::take_interruptibly(shared.lock())) {
            Err(failure @ (Failure::NotLeased { .. } | Failure::StillLeased)) => failure,
            done => return done,
        };
        if shared.lease.lacks_worker() {
            register_now(shared)?;
        }
        if watch.elapsed() >= longest {
            return Err(failure);
        }
        wait::for_lease();
    }
}

#[cfg(feature = "etcd")]
fn register_now(shared: &Shared) -> Result<(), Failure> {
    super::etcd::register_now().inspect_err(|_| {
        shared.lease.registered.store(0, Ordering::Relaxed);
    })
}

#[cfg(not(feature = "etcd"))]
fn register_now(_: &Shared) -> Result<(), Failure> {
    Ok(())
}

/// Begins a new generation: from now on no session gets an ID by a list of cells that it made before. The caller
/// holds the lock, and seals and revives cells afterwards.
fn next_generation(shared: &Shared, _lock: &ExclusiveLock) {
    // A list that is made from here on is of the new one; it is refused by no gate, whichever was told.
    let generation = shared.lease.generation.fetch_add(1, Ordering::Release) + 1;
    shared.gates.announce(generation);
    shared.leased.announce(generation);
}

/// Puts the leased gates to where the node's stand and the claim lets them. Whoever has moved either
/// calls it, with the lock held.
pub fn cap(shared: &Shared, lock: &ExclusiveLock) {
    let kept = shared.lease.kept(lock);
    let (now, boot) = (now(), boot());
    match kept.is_good(boot) {
        true => shared.leased.cap(&shared.gates, |horizon| kept.claim.caps(horizon, now, boot)),
        false => {
            shared.leased.set(Horizon { toggle: shared.gates.horizon().toggle, ..Horizon::NONE })
        }
    }
}

/// Seals the cells of a generator ID in all systems, or of all of them. Gives the exact mark: what they
/// had last, and not less than what the ID was claimed with, as a system that was not asked has no cell
/// that would know.
fn seal(shared: &Shared, only: Option<Marked>) -> UnixNanos {
    let mut horizon = Horizon::NONE.raised(only.map_or(UnixNanos(0), |marked| marked.mark));
    for (system, entry) in TABLE.iter().enumerate().filter(|(_, entry)| entry.is_numbered()) {
        // A tick is by the epoch that it was made by: by the earliest, or by a later one since. A mark must not lie
        // below it by either, and the later one gives the later moment.
        let scale =
            entry.scale_from(horizon::earliest(shared, system).max((entry.scale)().epoch()));
        for (id, cell) in shared.cells(system) {
            if only.is_none_or(|only| only.id == id) {
                horizon = (entry.covering)(horizon, scale, (entry.seal)(cell));
            }
        }
    }
    horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}

/// The cluster that this process's uniqueids have by the registry; [`NO_CLUSTER`] where the setting says it.
static CLUSTER: AtomicU32 = AtomicU32::new(NO_CLUSTER);
const NO_CLUSTER: u32 = u32::MAX;

/// What a session goes by has changed.
pub fn set_cluster(cluster: Option<u16>) {
    CLUSTER.store(cluster.map_or(NO_CLUSTER, u32::from), Ordering::Relaxed);
}

/// The cluster of this process's uniqueids: the registry's, or the setting's.
#[inline]
pub fn cluster() -> u64 {
    match CLUSTER.load(Ordering::Relaxed) {
        NO_CLUSTER => guc::cluster_id(),
        cluster => cluster.into(),
    }
}
