//! What is kept of a lease in shared memory.

use crate::clock::boot;
use crate::lock::{ExclusiveLock, Lock};
use flakeid_core::clock::UnixNanos;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::Claim;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
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
    /// The revision of etcd in which the claim was last written, and the mark with it.
    pub revision: i64,
}

/// Who granted a lease. An etcd's cluster ID may be that of another etcd, and a registry may be copied into another
/// etcd, so both count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    /// The cluster ID of the etcd.
    pub etcd: u64,
    /// The ID of the registry; 0 for none.
    pub registry: u64,
}

/// A generator ID, and the revision in which its claim was last written.
pub type Revision = (u16, i64);

impl Marked {
    /// The same as of another revision, if there is one for it.
    #[must_use]
    pub fn as_of(self, revisions: &[Revision]) -> Self {
        let new = revisions.iter().find(|(id, _)| *id == self.id);
        Self { revision: new.map_or(self.revision, |&(_, revision)| revision), ..self }
    }
}

/// What is kept in shared memory. Clocks are in nanoseconds since 1970; 0 is never.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub state: State,
    pub wanted: usize,
    /// Those that are held, by rising ID.
    pub held: [Marked; MAX_OWNED],
    pub count: usize,
    /// Who granted the lease.
    pub authority: Authority,
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
    pub const NONE: Self = Self {
        state: State::Off,
        wanted: 0,
        held: [Marked { id: 0, mark: UnixNanos(0), revision: 0 }; MAX_OWNED],
        count: 0,
        authority: Authority { etcd: 0, registry: 0 },
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
    pub fn is_good(&self, boot: Duration) -> bool {
        self.state == State::Held && !self.claim.is_over(boot)
    }

    /// Where things stand now: a deadline that has passed is seen before the worker has seen to it, or
    /// where it can't.
    pub fn state_at(&self, boot: Duration) -> State {
        match self.state {
            State::Held if self.claim.is_over(boot) => State::Lost,
            state => state,
        }
    }

    /// As `etcdctl` writes it.
    pub fn lease_text(&self) -> Option<String> {
        (self.lease != 0).then(|| format!("{:x}", self.lease))
    }

    /// The same with these IDs alone, to speak of them.
    #[cfg(feature = "etcd")]
    pub fn only(&self, ids: &[Marked]) -> Self {
        let mut kept = Self { count: 0, ..*self };
        ids.iter().for_each(|&marked| kept.insert(marked));
        kept
    }

    /// Claims were written in these revisions.
    pub fn written(&mut self, revisions: &[Revision]) {
        for held in &mut self.held[..self.count] {
            *held = held.as_of(revisions);
        }
    }

    /// Adds an ID, or puts it in place of what is there of the same ID: none is in the list twice.
    pub fn insert(&mut self, marked: Marked) {
        let place = self.held().partition_point(|held| held.id < marked.id);
        if let Some(held) = self.held[..self.count][place..].first_mut()
            && held.id == marked.id
        {
            *held = marked;
            return;
        }
        self.held.copy_within(place..self.count, place + 1);
        self.held[place] = marked;
        self.count += 1;
    }

    pub fn remove(&mut self, id: u16) {
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
    /// A copy of what is kept, as of the last change.
    shown: UnsafeCell<Kept>,
    /// Counts changes of the set of IDs, and of the right by which they are used.
    pub generation: AtomicU64,
    /// A fingerprint of the identity that the postmaster's settings name; 0 where it does not have the library.
    in_force: AtomicU64,
    /// Whether generator IDs are leased, so that there is something to look at under the lock.
    pub active: AtomicBool,
    /// The worker's, to wake it; null while no worker runs.
    pub latch: AtomicPtr<pg_sys::Latch>,
    /// Whether a session wants a renewal now.
    asked: AtomicBool,
    /// When a session last asked the server for a worker, in nanoseconds since boot.
    pub registered: AtomicU64,
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

    /// What is kept, to change it.
    #[allow(clippy::mut_from_ref)]
    pub fn change<'a>(&'a self, _lock: &'a mut ExclusiveLock) -> &'a mut Kept {
        // SAFETY: it changes under the lock alone; there is one lock, and it is borrowed for as long.
        unsafe { &mut *self.kept.get() }
    }

    /// Copies what is kept, for those who only look.
    pub fn show(&self, lock: &ExclusiveLock, view_lock: &Lock) {
        let kept = *self.kept(lock);
        let _view = ExclusiveLock::take(view_lock);
        // SAFETY: the copy is read and written under the lock for views alone.
        unsafe { *self.shown.get() = kept };
    }

    /// Returns what was kept after the last change. It waits for no disk.
    pub fn look(&self, view_lock: &Lock) -> Kept {
        let _view = ExclusiveLock::take(view_lock);
        // SAFETY: the copy is read and written under the lock for views alone.
        unsafe { *self.shown.get() }
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
    #[cfg(feature = "etcd")]
    pub fn was_asked(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    #[cfg(feature = "etcd")]
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

    /// Whether to ask the server for a worker: no worker runs, and no session has asked for a while.
    pub fn lacks_worker(&self) -> bool {
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
