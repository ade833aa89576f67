//! Generator IDs on lease: what this server's processes know of them together.
//!
//! Why two servers never make the same ID is argued in [`flakeid_core::lease`]. Here is who does what.
//!
//! # Who writes what
//! * [`Kept`] changes under the node's lock alone. The worker ([`super::etcd`]) writes it. A backend that
//!   extends the gate reads the deadline there; nothing but the deadline tells it whether the worker still
//!   lives.
//! * `Shared::leased` are the gates by which systems with generator IDs go while these are leased: the
//!   node's own, capped by the claim. Whoever moves either does it under the same lock. So the hot path
//!   compares an ID's tick with one gate, as ever, and knows nothing of leases.
//! * A cell of a generator ID that is given up or lost is sealed, and revived when the ID comes back. A
//!   session that still has it in its list meets the seal and makes its list anew.
//! * `generation` changes whenever the set of IDs does, so that a session can tell such a seal from the
//!   server's end.
//!
//! # From one way to the other
//! Where the setting changes to `etcd:N`, the worker first seals all cells: a statement that began under
//! the old setting cannot go on with IDs which may now be another server's. Where it changes to numbers,
//! the worker gives all up and says [`State::Off`]; sessions wait for that, and revive what was sealed.

// Without etcd nobody leases any.
#![cfg_attr(not(feature = "etcd"), allow(dead_code))]

use crate::clock::{Stopwatch, boot, now};
use crate::error::Failure;
use crate::horizon;
use crate::shmem::{ExclusiveLock, Shared};
use crate::systems::TABLE;
use crate::{guc, wait};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::Claim;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Where things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Generator IDs are not leased.
    Off,
    /// None has been leased yet.
    Starting,
    /// All of the pool are leased by others.
    Waiting,
    Held,
    /// They were held, and are not any more.
    Lost,
}

impl State {
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

/// A text of shared memory, cut to what there is room for.
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

/// A generator ID and the mark that it was claimed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    pub id: u16,
    /// Every ID that was made under it before has a tick that begins before this.
    pub mark: UnixNanos,
}

/// What is kept in shared memory. Clocks are in nanoseconds since 1970; 0 is never.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub state: State,
    pub wanted: usize,
    /// Those that are held, by rising ID.
    held: [Marked; MAX_OWNED],
    count: usize,
    pub cluster: u16,
    /// flake's epoch, which all servers of a namespace have in common.
    pub epoch: UnixNanos,
    /// The present lease, or the last one; 0 for none.
    pub lease: i64,
    /// Of which namespace they are.
    pub namespace: Text<128>,
    /// How long a lease is granted for.
    pub ttl: Duration,
    pub claim: Claim,
    /// When the request was sent, by the clock since boot, that renewed it last.
    pub sent: Duration,
    pub since: UnixNanos,
    pub renewed: UnixNanos,
    pub losses: u64,
    pub lost: UnixNanos,
    pub endpoint: Text<256>,
    /// The last trouble, and when that was.
    pub trouble: Text<512>,
    pub troubled: UnixNanos,
    pub worker: i32,
}

impl Kept {
    const NONE: Self = Self {
        state: State::Off,
        wanted: 0,
        held: [Marked { id: 0, mark: UnixNanos(0) }; MAX_OWNED],
        count: 0,
        cluster: 0,
        epoch: UnixNanos(0),
        lease: 0,
        namespace: Text::EMPTY,
        ttl: Duration::ZERO,
        claim: Claim { ceiling: UnixNanos(0), deadline: Duration::ZERO },
        sent: Duration::ZERO,
        since: UnixNanos(0),
        renewed: UnixNanos(0),
        losses: 0,
        lost: UnixNanos(0),
        endpoint: Text::EMPTY,
        trouble: Text::EMPTY,
        troubled: UnixNanos(0),
        worker: 0,
    };

    pub fn held(&self) -> &[Marked] {
        &self.held[..self.count]
    }

    /// Whether IDs may be made now.
    fn is_good(&self, boot: Duration) -> bool {
        self.state == State::Held && !self.claim.is_over(boot)
    }

    /// As `etcdctl` writes it.
    pub fn lease_text(&self) -> Option<String> {
        (self.lease != 0).then(|| format!("{:x}", self.lease))
    }

    /// Why there are no IDs.
    pub fn failure(&self) -> Failure {
        let last = self.trouble.get();
        Failure::NotLeased {
            state: if self.state == State::Held { State::Lost } else { self.state },
            lease: self.lease_text(),
            // A backend may see that it is over before the worker does.
            lost: match self.state {
                State::Held => boot().saturating_sub(self.claim.deadline),
                _ => Duration::from_nanos(now().0.saturating_sub(self.lost.0)),
            },
            trouble: (!last.is_empty()).then(|| last.into()),
        }
    }

    /// The same with these IDs alone, to speak of them.
    pub fn only(&self, ids: &[Marked]) -> Self {
        let mut kept = Self { count: 0, ..*self };
        ids.iter().for_each(|&marked| kept.insert(marked));
        kept
    }

    fn insert(&mut self, marked: Marked) {
        let place = self.held().partition_point(|held| held.id < marked.id);
        self.held.copy_within(place..self.count, place + 1);
        self.held[place] = marked;
        self.count += 1;
    }

    fn remove(&mut self, id: u16) {
        if let Some(place) = self.held().iter().position(|held| held.id == id) {
            self.held.copy_within(place + 1..self.count, place);
            self.count -= 1;
        }
    }
}

/// In shared memory.
#[derive(Debug)]
pub struct Lease {
    kept: UnsafeCell<Kept>,
    /// Counts changes of the set of IDs.
    generation: AtomicU32,
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
            generation: AtomicU32::new(0),
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

    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
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

/// What is kept now. For those who look.
pub fn look(shared: &Shared) -> Kept {
    let lock = ExclusiveLock::take(shared.lock());
    *shared.lease.kept(&lock)
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
        let failure = match ready(ExclusiveLock::take(shared.lock())) {
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
        let scale = entry.scale_from(horizon::earliest(shared, system));
        for (id, cell) in shared.cells(system) {
            if only.is_none_or(|only| only.id == id) {
                horizon = (entry.covering)(horizon, scale, (entry.seal)(cell));
            }
        }
    }
    horizon.until.into_iter().max().unwrap_or(UnixNanos(0))
}

/// What the worker does to what is kept. Each takes the lock for itself.
pub mod hold {
    use super::*;

    /// Changes what is kept.
    fn with<T>(shared: &Shared, change: impl FnOnce(&mut Kept) -> T) -> T {
        let mut lock = ExclusiveLock::take(shared.lock());
        change(shared.lease.change(&mut lock))
    }

    /// This process is the worker from now on; false where there is one.
    pub fn enter(shared: &Shared) -> bool {
        let mut lock = ExclusiveLock::take(shared.lock());
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
        let mut lock = ExclusiveLock::take(shared.lock());
        shared.lease.latch.store(std::ptr::null_mut(), Ordering::Release);
        shared.lease.registered.store(0, Ordering::Relaxed);
        shared.lease.change(&mut lock).worker = 0;
    }

    /// Whether generator IDs are leased from now on, and how many are wanted.
    pub fn begin(shared: &Shared, wanted: usize) {
        let mut lock = ExclusiveLock::take(shared.lock());
        let kept = shared.lease.change(&mut lock);
        kept.wanted = wanted;
        if kept.state == State::Off {
            kept.state = State::Starting;
            shared.lease.generation.fetch_add(1, Ordering::Release);
            seal(shared, None);
            cap(shared, &lock);
        }
    }

    /// Generator IDs are not leased any more.
    pub fn end(shared: &Shared) {
        let mut lock = ExclusiveLock::take(shared.lock());
        let kept = shared.lease.change(&mut lock);
        *kept = Kept { worker: kept.worker, losses: kept.losses, ..Kept::NONE };
        shared.lease.generation.fetch_add(1, Ordering::Release);
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
        pub cluster: u16,
        pub epoch: UnixNanos,
        pub claim: Claim,
        pub sent: Duration,
        pub sent_at: UnixNanos,
    }

    /// These IDs are held from now on, beside others of the same lease. False where the deadline has passed
    /// meanwhile.
    pub fn take(shared: &'static Shared, granted: Granted<'_>, new: &[Marked]) -> bool {
        let mut lock = ExclusiveLock::take(shared.lock());
        if granted.claim.is_over(boot()) {
            return false;
        }
        // They may have been this node's before.
        for &marked in new {
            let _ = seal(shared, Some(marked));
            for (system, entry) in TABLE.iter().enumerate().filter(|(_, entry)| entry.is_numbered())
            {
                for (_, cell) in shared.cells(system).filter(|&(id, _)| id == marked.id) {
                    (entry.revive)(cell, shared, marked.mark);
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
        (kept.cluster, kept.epoch) = (granted.cluster, granted.epoch);
        // A lease is not renewed by another claim on it; and one gate is there for all.
        kept.claim.ceiling = kept.claim.ceiling.min(granted.claim.ceiling);
        kept.claim.deadline = kept.claim.deadline.min(granted.claim.deadline);
        shared.lease.generation.fetch_add(1, Ordering::Release);
        cap(shared, &lock);
        true
    }

    /// The lease was renewed by a request that was sent then. False where it was over before that was
    /// known: then it is lost.
    pub fn renew(
        shared: &Shared,
        lease: i64,
        claim: Claim,
        sent: Duration,
        sent_at: UnixNanos,
    ) -> bool {
        let mut lock = ExclusiveLock::take(shared.lock());
        let kept = shared.lease.change(&mut lock);
        let boot = boot();
        if kept.lease != lease || !kept.is_good(boot) || claim.is_over(boot) {
            return false;
        }
        (kept.claim, kept.sent, kept.renewed) = (claim, sent, sent_at);
        cap(shared, &lock);
        true
    }

    /// Seals these and gives them up, or all: each with its exact mark. The last to go ends the lease.
    pub fn give_up(shared: &Shared, ids: Option<&[u16]>, lost: bool) -> Vec<Marked> {
        let mut lock = ExclusiveLock::take(shared.lock());
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
        shared.lease.generation.fetch_add(1, Ordering::Release);
        cap(shared, &lock);
        for marked in &mut gone {
            marked.mark = seal(shared, Some(*marked));
        }
        gone
    }
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
