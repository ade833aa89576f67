//! The one shared struct: every system's cells, found by generator ID.
//!
//! # Who writes what
//! * [`Shared`] is set up once, before anyone can see it: by the postmaster at start and after a
//!   crash, or under the registry's lock where there is no preload.
//! * The gates and their record change under the exclusive lock: see [`crate::horizon`].
//! * A system's `keys[i]` says whose cell stands at its place `i`. It is written once, by the backend
//!   that first needs that generator ID in that system, under the exclusive lock, after the cell has
//!   been set to begin above the horizon; it is never cleared. A reload can therefore take IDs
//!   away from this node and give them back: their cells are still there and go on where they were,
//!   however long another backend has gone on under the old setting.
//! * A cell changes by its own compare-and-swap, without any lock: see `flakeid_core::cell`.
//!
//! # What survives
//! Nothing here survives the postmaster or a crash. What must is in the state file, and a postmaster
//! that ends in good order writes it a last time ([`stop`]).

use crate::error::Failure;
use crate::identity::lease;
use crate::library::Build;
use crate::{clock, guc, horizon, note, systems};
use flakeid_core::cell::Cell;
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde::Serialize;
use std::cell::UnsafeCell;
use std::mem::{align_of, size_of};
use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How many generator IDs a server can have owned between two starts.
const PLACES: usize = 1024;

const NAME: &std::ffi::CStr = c"flakeid";

/// What a named segment has, of which the struct needs a part. It is the same for all versions: a segment
/// of another size is an error of PostgreSQL's, which would not say what to do.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
const ROOM: usize = {
    assert!(size_of::<Shared>() <= 1 << 20);
    1 << 20
};

/// A key that is no generator ID.
const FREE: u32 = u32::MAX;

#[repr(C)]
pub struct Shared {
    /// Who set it up.
    build: Build,
    /// Taken to bring in a generator ID, and to move the gates. Its holder may wait for the disk.
    lock: Lock,
    /// Taken to copy what views show. Its holder waits for nothing; it may hold the other lock, too.
    view_lock: Lock,
    kind: Kind,
    /// When counting began, in nanoseconds since 1970.
    pub counted_since: AtomicU64,
    pub record: horizon::Record,
    pub notes: note::Notes,
    pub gates: horizon::Gates,
    /// The same for systems whose generator IDs are leased.
    pub leased: horizon::Gates,
    pub lease: lease::Lease,
    cells: [Cells; systems::TABLE.len()],
}

/// One system's cells, each at the place of its generator ID's key.
#[repr(C)]
struct Cells {
    keys: [AtomicU32; PLACES],
    cells: [Cell; PLACES],
}

/// How a server came to have the shared struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// By `shared_preload_libraries`.
    Preloaded,
    /// By the first backend that asked, as a named segment (PostgreSQL 17 and later).
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    NamedSegment,
}

/// This process's address of the struct; null until it has one.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

static mut PREVIOUS_REQUEST: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP: pg_sys::shmem_startup_hook_type = None;

/// Asks for room at server start. Does nothing in a library loaded later.
pub fn request_if_preloaded() {
    // SAFETY: plain variables of a process that has one thread.
    unsafe {
        if !pg_sys::process_shared_preload_libraries_in_progress {
            return;
        }
        horizon::register();
        #[cfg(feature = "etcd")]
        crate::identity::etcd::register();
        PREVIOUS_REQUEST = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request);
        PREVIOUS_STARTUP = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn request() {
    // SAFETY: called by the postmaster when sizes are added up.
    unsafe {
        if let Some(previous) = PREVIOUS_REQUEST {
            previous();
        }
        pg_sys::RequestAddinShmemSpace(size_of::<Shared>());
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn startup() {
    // SAFETY: called by the postmaster when the segment is there, also after a crash; nobody else
    // runs then, so the struct is set up before anyone sees it.
    unsafe {
        if let Some(previous) = PREVIOUS_STARTUP {
            previous();
        }
        let mut found = false;
        let memory = pg_sys::ShmemInitStruct(NAME.as_ptr(), size_of::<Shared>(), &mut found);
        let shared = memory.cast::<Shared>();
        if !found {
            set_up(shared, Kind::Preloaded);
        }
        adopt(shared);
        publish_identity();
        if !pg_sys::IsUnderPostmaster {
            pg_sys::on_shmem_exit(Some(stop), pg_sys::Datum::null());
        }
    }
}

/// Shows all processes the generator IDs and the cluster that the postmaster goes by. It reads a changed file before
/// any other process is told to. Does nothing in other processes.
pub fn publish_identity() {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: a plain variable of PostgreSQL's.
    if shared.is_null() || unsafe { pg_sys::IsUnderPostmaster } {
        return;
    }
    // SAFETY: it was set up before it was stored, and lasts as long as the process.
    unsafe { &*shared }.lease.put_in_force(guc::identity_fingerprint());
}

/// The postmaster ends, its children have; `code` is not 0 where it goes on after a crash.
#[pg_guard]
unsafe extern "C-unwind" fn stop(code: i32, _argument: pg_sys::Datum) {
    if code != 0 {
        return;
    }
    if let Err(failure) = shared().and_then(horizon::stop) {
        note::not_exact(failure);
    }
}

/// # Safety
/// `shared` must be room for the struct that nobody else can see yet.
unsafe fn set_up(shared: *mut Shared, kind: Kind) {
    assert!(shared.is_aligned(), "shared memory is not aligned to {}", align_of::<Shared>());
    // SAFETY: the fields are written in place, as the struct is too large for the stack; the room is
    // ours by the caller's word. Cells are atomics, for which any bytes will do: each is set when its
    // place is given a key.
    unsafe {
        // Memory that is used again can hold what an earlier struct left.
        addr_of_mut!((*shared).build).write_bytes(0, 1);
        let tranche = new_tranche();
        for lock in [addr_of_mut!((*shared).lock), addr_of_mut!((*shared).view_lock)] {
            pg_sys::LWLockInitialize(addr_of_mut!((*lock).lock).cast(), tranche);
            pg_sys::ConditionVariableInit(addr_of_mut!((*lock).released).cast());
        }
        addr_of_mut!((*shared).kind).write(kind);
        addr_of_mut!((*shared).counted_since).write(AtomicU64::new(clock::now().0));
        addr_of_mut!((*shared).record).write(horizon::Record::new());
        addr_of_mut!((*shared).notes).write(note::Notes::new());
        addr_of_mut!((*shared).gates).write(horizon::Gates::closed());
        addr_of_mut!((*shared).leased).write(horizon::Gates::closed());
        addr_of_mut!((*shared).lease).write(lease::Lease::new());
        for system in 0..systems::TABLE.len() {
            for place in 0..PLACES {
                addr_of_mut!((*shared).cells[system].keys[place]).write(AtomicU32::new(FREE));
            }
        }
        // Last: whoever finds this here finds the rest.
        addr_of_mut!((*shared).build).write(*Build::this());
    }
}

/// Reserves a tranche number for the lock. From PostgreSQL 19 on the server keeps the tranche's name, too.
fn new_tranche() -> i32 {
    // SAFETY: PostgreSQL counts tranches in shared memory, which exists when the struct is set up.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let tranche = unsafe { pg_sys::LWLockNewTrancheId() };
    // SAFETY: PostgreSQL counts tranches in shared memory, and copies the name, a valid string.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    let tranche = unsafe { pg_sys::LWLockNewTrancheId(NAME.as_ptr()) };
    tranche
}

/// # Safety
/// `shared` must have been set up.
unsafe fn adopt(shared: *mut Shared) {
    // Up to PostgreSQL 18 each process has its own table of tranche names.
    // SAFETY: the tranche's number was chosen when the struct was set up; the name is never freed.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        let tranche = (*(*shared).lock.lock.get()).tranche;
        pg_sys::LWLockRegisterTranche(tranche.into(), NAME.as_ptr());
    }
    SHARED.store(shared, Ordering::Relaxed);
}

/// The shared struct.
///
/// # Errors
/// `Failure::NotPreloaded` where there is none and this server cannot make one now.
pub fn shared() -> Result<&'static Shared, Failure> {
    let mut shared = SHARED.load(Ordering::Relaxed);
    if shared.is_null() {
        shared = named_segment()?;
    }
    // SAFETY: it was set up before it was stored, and lasts as long as the process.
    Ok(unsafe { &*shared })
}

/// How the server has the struct; `None` where this process has not got it (yet).
pub fn kind() -> Option<Kind> {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: as in `shared`.
    (!shared.is_null()).then(|| unsafe { (*shared).kind })
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn named_segment() -> Result<*mut Shared, Failure> {
    Err(Failure::NotPreloaded)
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn named_segment() -> Result<*mut Shared, Failure> {
    use std::ffi::c_void;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn init(memory: *mut c_void) {
        // SAFETY: the registry calls this once, under its lock, before it hands the segment out.
        unsafe { set_up(memory.cast(), Kind::NamedSegment) };
    }
    // From PostgreSQL 19 on the registry passes on an argument.
    #[cfg(not(any(feature = "pg17", feature = "pg18")))]
    #[pg_guard]
    unsafe extern "C-unwind" fn init(memory: *mut c_void, _argument: *mut c_void) {
        // SAFETY: the registry calls this once, under its lock, before it hands the segment out.
        unsafe { set_up(memory.cast(), Kind::NamedSegment) };
    }
    let mut found = false;
    // SAFETY: the segment has room for the struct and is kept mapped until the process ends. Whoever made
    // it, it begins with a build; what comes after that is only looked at where that is our own.
    unsafe {
        let memory = pg_sys::GetNamedDSMSegment(
            NAME.as_ptr(),
            ROOM,
            Some(init),
            &mut found,
            #[cfg(not(any(feature = "pg17", feature = "pg18")))]
            std::ptr::null_mut(),
        );
        let build = *memory.cast::<Build>();
        if build != *Build::this() {
            return Err(Failure::OtherSegment { theirs: build });
        }
        let shared = memory.cast::<Shared>();
        adopt(shared);
        Ok(shared)
    }
}

impl Shared {
    /// For [`ExclusiveLock`].
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// For [`ExclusiveLock`], to copy what views show.
    pub fn view_lock(&self) -> &Lock {
        &self.view_lock
    }

    /// Whether nobody sees it end but the processes that use it.
    pub fn ends_with_its_users(&self) -> bool {
        self.kind != Kind::Preloaded
    }

    /// The cells of the system at this place of the table, with their generator IDs.
    pub fn cells(&self, system: usize) -> impl Iterator<Item = (u16, &Cell)> {
        let Cells { keys, cells } = &self.cells[system];
        // Acquire pairs with the Release in `bring_in`.
        let key = |key: &AtomicU32| u16::try_from(key.load(Ordering::Acquire)).ok();
        keys.iter().zip(cells).map_while(move |(at, cell)| Some((key(at)?, cell)))
    }

    /// The cell of a generator ID in the system at this place of the table, if it is there.
    pub fn find(&'static self, system: usize, id: u16) -> Option<&'static Cell> {
        self.cells[system].find(id)
    }

    /// The cell of a generator ID in the system at this place of the table. A cell that is not there
    /// is set up by `begin`, before anyone sees it. The lock is held.
    ///
    /// # Errors
    /// [`Failure::NoPlaceLeft`] when too many different IDs have been owned since the start.
    pub fn cell(
        &'static self,
        _lock: &ExclusiveLock,
        system: usize,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Failure> {
        let cells = &self.cells[system];
        match cells.find(id) {
            Some(cell) => Ok(cell),
            None => cells.bring_in(id, begin),
        }
    }
}

impl Cells {
    fn find(&'static self, id: u16) -> Option<&'static Cell> {
        // Acquire pairs with the Release in `bring_in`: who sees a key sees its cell.
        let key_is_id = |key: &AtomicU32| key.load(Ordering::Acquire) == u32::from(id);
        self.keys.iter().position(key_is_id).map(|place| &self.cells[place])
    }

    /// The lock is held.
    fn bring_in(
        &'static self,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Failure> {
        let is_free = |key: &AtomicU32| key.load(Ordering::Relaxed) == FREE;
        let place =
            self.keys.iter().position(is_free).ok_or(Failure::NoPlaceLeft { places: PLACES })?;
        begin(&self.cells[place]);
        self.keys[place].store(id.into(), Ordering::Release);
        Ok(&self.cells[place])
    }
}

/// A lightweight lock that a session can wait for without losing its interrupts. PostgreSQL's own wait ends
/// with the lock alone: a session that waits so for a holder whose disk hangs can't be canceled or terminated.
#[repr(C)]
pub struct Lock {
    lock: UnsafeCell<pg_sys::LWLock>,
    /// Sessions that wait for the lock sleep here. Each release wakes them all.
    released: UnsafeCell<pg_sys::ConditionVariable>,
}

impl Lock {
    /// How a wait for it shows in `pg_stat_activity`: as PostgreSQL's own wait for a lightweight lock does.
    fn wait_event(&self) -> u32 {
        // SAFETY: the tranche is set before anyone sees the lock, and never changes.
        pg_sys::PG_WAIT_LWLOCK | u32::from(unsafe { (*self.lock.get()).tranche })
    }
}

/// Holds a [`Lock`]; it is let go on every way out. After an error PostgreSQL has let it go
/// already, and only then.
pub struct ExclusiveLock(*const Lock);

impl ExclusiveLock {
    /// Waits for the lock, and ignores interrupts. For workers and for processes that end.
    pub fn take(lock: &Lock) -> Self {
        // SAFETY: a lock in shared memory, changed by PostgreSQL's own atomics alone.
        unsafe { pg_sys::LWLockAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE) };
        Self(lock)
    }

    /// Waits for the lock; cancellation, `statement_timeout` and termination end the wait as PostgreSQL's own
    /// errors. For sessions.
    pub fn take_interruptibly(lock: &Lock) -> Self {
        loop {
            if let Some(taken) = Self::take_unless(lock, || false) {
                return taken;
            }
        }
    }

    /// Waits for the lock until it is not needed any more; `None` then. Interrupts end it, as in
    /// [`Self::take_interruptibly`].
    pub fn take_unless(lock: &Lock, needless: impl Fn() -> bool) -> Option<Self> {
        /// A holder that dies with a server process is not followed by a wake-up.
        const LONGEST_SLEEP: Duration = Duration::from_secs(1);
        if let Some(taken) = Self::try_take(lock) {
            return Some(taken);
        }
        if needless() {
            return None;
        }
        let (released, millis) = (lock.released.get(), LONGEST_SLEEP.as_millis() as _);
        // SAFETY: a condition variable in shared memory. From here on this process is in its list, so no
        // release goes unnoticed that comes after the next attempt; an error in the sleep ends in an abort
        // of the transaction, which takes the process out of the list.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(released) };
        let taken = loop {
            match Self::try_take(lock) {
                None if needless() => break None,
                // SAFETY: as this process has prepared to.
                None => unsafe {
                    pg_sys::ConditionVariableTimedSleep(released, millis, lock.wait_event());
                },
                taken => break taken,
            }
        };
        // SAFETY: a call without conditions.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
        taken
    }

    /// Returns `None` where another process has it.
    fn try_take(lock: &Lock) -> Option<Self> {
        // SAFETY: a lock in shared memory, changed by PostgreSQL's own atomics alone.
        unsafe {
            pg_sys::LWLockConditionalAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE)
        }
        .then(|| Self(lock))
    }
}

impl Drop for ExclusiveLock {
    fn drop(&mut self) {
        // SAFETY: the lock is in shared memory, which lasts as long as the process. This process took it and
        // still holds it: an error raised since then is still unwinding here, before PostgreSQL releases all
        // locks. Where PostgreSQL raised that error, it has set its count of reasons to hold interrupts off
        // to 0. Releasing a lock takes one from that count, so one is added first, as LWLockReleaseAll does;
        // below 0 the session could not be canceled again.
        unsafe {
            if pg_sys::InterruptHoldoffCount == 0 {
                pg_sys::InterruptHoldoffCount = 1;
            }
            pg_sys::LWLockRelease((*self.0).lock.get());
            // All of them: after a write of the horizon most need no lock.
            pg_sys::ConditionVariableBroadcast((*self.0).released.get());
        }
    }
}
