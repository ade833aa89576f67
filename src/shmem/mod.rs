//! The one shared struct: the cells of each ID type, found by generator ID, and the parts that
//! other modules work on. Each part is plain data in a file of its own. The code that works on a
//! part is on a higher floor. The memory of the watermark is a segment of its own.
//!
//! # Which process writes what
//! * [`Shared`] is set up once, before any other process can see it: by the postmaster at start and
//!   after a crash, or under the registry's lock if the library is not preloaded.
//! * The gates, the opened state, its writes and the lease change under the exclusive lock. What
//!   recovery has shown is the startup process's.
//! * An ID type's `keys[i]` is the generator ID whose cell is `cells[i]`. It is written once, by
//!   the first session that needs that generator ID in that ID type. The session holds the
//!   exclusive lock, and has set the cell to begin above the horizon. A key is never cleared. So a
//!   reload can take generator IDs away from this server and give them back: their cells are still
//!   there and continue where they were, even if another session has continued under the old
//!   setting for a long time.
//! * A cell changes by its own compare-and-swap, without a lock: see `flakeid_core::cell`.
//!
//! # What survives
//! Nothing here survives the postmaster or a crash. What must survive is in the state file. A
//! postmaster that stops cleanly writes that file a last time ([`stop`]).

mod atomic_epoch;
mod cells;
mod gates;
mod lease;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
mod named_memory;
mod opened_state;
mod recovered;
mod state_writes;
mod streams;
mod watermark;

pub use gates::Gates;
pub use lease::{Lease, LeaseState, LeaseStatus, LeasedId};
pub use opened_state::{OpenedState, Start};
pub use recovered::Recovered;
pub use state_writes::StateWrites;
pub use streams::stream_of_id_type;
pub use watermark::{ENDED, ProcessEntry, WatermarkSegment};

use crate::error::Report;
use crate::id_types::ID_TYPES;
use crate::library::Build;
use crate::lock::{ExclusiveLock, Lock};
use crate::server_log::RateLimits;
use crate::{clock, guc, wal_timeline};
use atomic_epoch::AtomicEpoch;
use cells::Cells;
use flakeid_core::cell::Cell;
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde::Serialize;
use std::ffi::CStr;
use std::mem::{align_of, size_of};
use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The names of the two segments.
const NAME: &CStr = c"flakeid";
const WATERMARK_NAME: &CStr = c"flakeid_watermark";

/// The size of the named segment; the struct needs a part of it. All versions use the same size:
/// for a segment of another size PostgreSQL raises an error of its own, which would not say what to
/// do.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
const ROOM: usize = {
    assert!(size_of::<Shared>() <= 1 << 20);
    1 << 20
};

/// The memory that all processes of a server share.
#[repr(C)]
pub struct Shared {
    /// The build that set the struct up. It is the first field, so that every version finds it.
    build: Build,
    /// The server's lock: a process holds it to add a cell, and to move the gates. The holder may
    /// wait for the disk.
    lock: Lock,
    /// A process holds it to copy what views show, and waits for nothing in that time. It may hold
    /// the other lock, too.
    view_lock: Lock,
    origin: ShmemOrigin,
    /// The time when counting began, in nanoseconds since 1970.
    pub counted_since: AtomicU64,
    pub opened: OpenedState,
    pub writes: StateWrites,
    pub recovered: Recovered,
    /// The epoch of flake by the postmaster's settings; none if the library is not preloaded.
    pub epoch_in_force: AtomicEpoch,
    /// The number of processes that issue IDs, on a server where the last of them makes the horizon
    /// exact.
    pub users: AtomicU32,
    pub rate_limits: RateLimits,
    pub gates: Gates,
    /// The gates of ID types whose generator IDs are leased.
    pub leased: Gates,
    pub lease: Lease,
    cells: [Cells; ID_TYPES.len()],
}

/// The origin of the shared struct on this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ShmemOrigin {
    /// The postmaster set it up, as `shared_preload_libraries` names the library.
    Preloaded,
    /// The first session that needed it set it up, as a named segment (PostgreSQL 17 and later).
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    NamedSegment,
}

/// This process's address of the struct; null until the process has attached to it.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

/// This process's address of the memory of the watermark; null until the process has attached to
/// it.
static WATERMARK: AtomicPtr<WatermarkSegment> = AtomicPtr::new(std::ptr::null_mut());

static mut ON_CLEAN_EXIT: Option<fn(&'static Shared)> = None;
static mut PREVIOUS_REQUEST: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP: pg_sys::shmem_startup_hook_type = None;

/// Requests memory at the server's start, while libraries are preloaded. The postmaster calls
/// `on_clean_exit` when it ends after all its children, but not after a crash.
pub fn request(on_clean_exit: fn(&'static Shared)) {
    // SAFETY: these are plain variables of a process that has one thread.
    unsafe {
        ON_CLEAN_EXIT = Some(on_clean_exit);
        PREVIOUS_REQUEST = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request_room);
        PREVIOUS_STARTUP = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn request_room() {
    // SAFETY: the postmaster calls this hook when libraries may request memory, before it has
    // children.
    unsafe {
        if let Some(previous) = PREVIOUS_REQUEST {
            previous();
        }
        pg_sys::RequestAddinShmemSpace(size_of::<Shared>());
        pg_sys::RequestAddinShmemSpace(watermark::size());
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn startup() {
    // SAFETY: the postmaster calls this hook when the segment exists, also after a crash. No other
    // process runs then, so the struct is set up before any process can see it.
    unsafe {
        if let Some(previous) = PREVIOUS_STARTUP {
            previous();
        }
        let mut found = false;
        let memory = pg_sys::ShmemInitStruct(NAME.as_ptr(), size_of::<Shared>(), &mut found);
        let shared = memory.cast::<Shared>();
        if !found {
            set_up(shared, ShmemOrigin::Preloaded);
            let timeline = wal_timeline::of_control_file().unwrap_or(0);
            (*shared).recovered.started_on.store(timeline, Ordering::Relaxed);
        }
        adopt(shared);
        let size = watermark::size();
        let memory = pg_sys::ShmemInitStruct(WATERMARK_NAME.as_ptr(), size, &mut found);
        let memory = memory.cast::<WatermarkSegment>();
        if !found {
            watermark::set_up(memory, (*shared).lock.tranche().into());
        }
        WATERMARK.store(memory, Ordering::Relaxed);
        publish_identity();
        if !pg_sys::IsUnderPostmaster {
            pg_sys::on_shmem_exit(Some(stop), pg_sys::Datum::null());
        }
    }
}

/// Publishes the generator IDs, the uniqueid cluster and the epoch that the postmaster has by its
/// settings. The postmaster reads a changed file before it tells any other process to. Does nothing
/// in other processes.
pub fn publish_identity() {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: reads a plain variable of PostgreSQL's.
    if shared.is_null() || unsafe { pg_sys::IsUnderPostmaster } {
        return;
    }
    // SAFETY: the struct was set up before its address was stored, and lasts as long as the
    // process.
    let shared = unsafe { &*shared };
    shared.lease.put_in_force(guc::identity_fingerprint());
    let epoch = guc::epoch().scale().epoch();
    shared.epoch_in_force.set(Some(epoch));
}

/// Makes the state exact when the postmaster ends after its children. `code` is not 0 if it
/// continues after a crash.
#[pg_guard]
unsafe extern "C-unwind" fn stop(code: i32, _argument: pg_sys::Datum) {
    if code != 0 {
        return;
    }
    // SAFETY: the variable was set before the hook that registered this function.
    if let (Some(on_clean_exit), Ok(shared)) = (unsafe { ON_CLEAN_EXIT }, shared()) {
        on_clean_exit(shared);
    }
}

/// Writes the initial struct.
///
/// # Safety
/// `shared` must be memory for the struct that no other process can see yet.
unsafe fn set_up(shared: *mut Shared, origin: ShmemOrigin) {
    assert!(shared.is_aligned(), "shared memory is not aligned to {}", align_of::<Shared>());
    // SAFETY: the caller owns the memory. The fields are written in place, as the struct is too
    // large for the stack. Cells are atomics, for which any bytes are valid: each is set before its
    // key.
    unsafe {
        // Memory that is used again can hold the build of an earlier struct.
        addr_of_mut!((*shared).build).write_bytes(0, 1);
        let tranche = new_tranche();
        for lock in [addr_of_mut!((*shared).lock), addr_of_mut!((*shared).view_lock)] {
            Lock::set_up(lock, tranche);
        }
        addr_of_mut!((*shared).origin).write(origin);
        addr_of_mut!((*shared).counted_since).write(AtomicU64::new(clock::now().0));
        addr_of_mut!((*shared).opened).write(OpenedState::new());
        addr_of_mut!((*shared).writes).write(StateWrites::new());
        addr_of_mut!((*shared).recovered).write(Recovered::new());
        addr_of_mut!((*shared).epoch_in_force).write(AtomicEpoch::none());
        addr_of_mut!((*shared).users).write(AtomicU32::new(0));
        addr_of_mut!((*shared).rate_limits).write(RateLimits::new());
        addr_of_mut!((*shared).gates).write(Gates::closed());
        addr_of_mut!((*shared).leased).write(Gates::closed());
        addr_of_mut!((*shared).lease).write(Lease::new());
        for id_type in 0..ID_TYPES.len() {
            Cells::set_up(addr_of_mut!((*shared).cells[id_type]));
        }
        // The build is last: a process that finds it here finds the other fields, too.
        addr_of_mut!((*shared).build).write(*Build::this());
    }
}

/// Reserves a tranche number for the lock. From PostgreSQL 19 on the server keeps the tranche's
/// name, too.
fn new_tranche() -> i32 {
    // SAFETY: PostgreSQL counts tranches in shared memory, which exists when the struct is set up.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let tranche = unsafe { pg_sys::LWLockNewTrancheId() };
    // SAFETY: PostgreSQL counts tranches in shared memory, and copies the name, a valid string.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    let tranche = unsafe { pg_sys::LWLockNewTrancheId(NAME.as_ptr()) };
    tranche
}

/// Attaches this process to the struct.
///
/// # Safety
/// `shared` must have been set up.
unsafe fn adopt(shared: *mut Shared) {
    // Up to PostgreSQL 18 each process has its own table of tranche names.
    // SAFETY: the tranche's number was chosen when the struct was set up; the name is never freed.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        let tranche = (*shared).lock.tranche();
        pg_sys::LWLockRegisterTranche(tranche.into(), NAME.as_ptr());
    }
    SHARED.store(shared, Ordering::Relaxed);
}

/// Returns the shared struct, and attaches this process to it first if necessary.
///
/// # Errors
/// The server has no struct and cannot create one now, or another build of the library set it up.
pub fn shared() -> Result<&'static Shared, Report> {
    let mut shared = SHARED.load(Ordering::Relaxed);
    if shared.is_null() {
        shared = named_segment()?;
    }
    // SAFETY: the struct was set up before its address was stored, and lasts as long as the
    // process.
    Ok(unsafe { &*shared })
}

/// Returns the shared struct if this process has shared memory now. A process that has left it, as
/// the logging collector does, still has the address.
#[inline]
pub fn attached() -> Option<&'static Shared> {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: PostgreSQL's variable is null once a process has left shared memory. Otherwise the
    // struct was set up before its address was stored, and lasts as long as the process.
    unsafe { if pg_sys::UsedShmemSegAddr.is_null() { None } else { shared.as_ref() } }
}

/// Returns how the server came to have the struct; `None` if this process is not attached to it
/// (yet).
pub fn origin() -> Option<ShmemOrigin> {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: the struct was set up before its address was stored, and lasts as long as the
    // process.
    (!shared.is_null()).then(|| unsafe { (*shared).origin })
}

/// Returns the memory of the watermark, and attaches this process to it first if necessary.
///
/// # Errors
/// The errors of [`shared`].
pub fn watermark() -> Result<&'static WatermarkSegment, Report> {
    // This checks the build first: another one may use another size, for which PostgreSQL has an
    // error of its own.
    let shared = shared()?;
    let mut memory = WATERMARK.load(Ordering::Relaxed);
    if memory.is_null() {
        memory = named_watermark(shared);
        WATERMARK.store(memory, Ordering::Relaxed);
    }
    // SAFETY: the memory was set up before its address was stored, and lasts as long as the
    // process.
    Ok(unsafe { &*memory })
}

/// Returns the memory of the watermark if this process is attached to it and has shared memory now.
#[inline]
pub fn attached_watermark() -> Option<&'static WatermarkSegment> {
    let memory = WATERMARK.load(Ordering::Relaxed);
    // SAFETY: PostgreSQL's variable is null once a process has left shared memory. Otherwise the
    // memory was set up before its address was stored, and lasts as long as the process.
    unsafe { if pg_sys::UsedShmemSegAddr.is_null() { None } else { memory.as_ref() } }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn named_segment() -> Result<*mut Shared, Report> {
    Err(not_preloaded())
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn named_watermark(_shared: &Shared) -> *mut WatermarkSegment {
    pgrx::error!("the library is preloaded without the memory of the watermark")
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn named_segment() -> Result<*mut Shared, Report> {
    /// # Safety
    /// The conditions of [`set_up`].
    unsafe fn set_up_named(shared: *mut Shared) {
        // SAFETY: the caller guarantees it.
        unsafe { set_up(shared, ShmemOrigin::NamedSegment) };
    }
    // SAFETY: the segment is large enough for the struct, and stays mapped until the process ends.
    // It begins with a build, in every version. What follows is read only if that is this build.
    unsafe {
        let shared = named_memory::named_memory(NAME, ROOM, set_up_named);
        let build = *shared.cast::<Build>();
        if build != *Build::this() {
            return Err(other_segment(build));
        }
        adopt(shared);
        Ok(shared)
    }
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn named_watermark(_shared: &Shared) -> *mut WatermarkSegment {
    /// # Safety
    /// The conditions of [`watermark::set_up`].
    unsafe fn set_up_named(memory: *mut WatermarkSegment) {
        let shared = SHARED.load(Ordering::Relaxed);
        // SAFETY: the caller guarantees the memory. This process is attached to the shared struct.
        unsafe { watermark::set_up(memory, (*shared).lock.tranche().into()) };
    }
    // SAFETY: the segment has the size that this build asks for, and stays mapped until the process
    // ends.
    unsafe { named_memory::named_memory(WATERMARK_NAME, watermark::size(), set_up_named) }
}

impl Shared {
    /// Returns the server's lock, for [`ExclusiveLock`].
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Returns the lock for [`ExclusiveLock`] under which a process copies what views show.
    pub fn view_lock(&self) -> &Lock {
        &self.view_lock
    }

    /// Returns the lease as it is now. This never waits for a disk.
    pub fn lease_snapshot(&self) -> LeaseState {
        self.lease.snapshot(&self.view_lock)
    }

    /// Returns whether the memory can end unseen by all processes but its users: the postmaster
    /// does not know it.
    pub fn ends_with_its_users(&self) -> bool {
        self.origin != ShmemOrigin::Preloaded
    }

    /// Returns the cells of the ID type with this index in [`ID_TYPES`], with their generator IDs.
    pub fn cells(&self, id_type: usize) -> impl Iterator<Item = (u16, &Cell)> {
        self.cells[id_type].all()
    }

    /// Returns the cell of a generator ID of the ID type with this index in [`ID_TYPES`], if it
    /// exists.
    pub fn find(&'static self, id_type: usize, id: u16) -> Option<&'static Cell> {
        self.cells[id_type].find(id)
    }

    /// Checks that there is a cell for each of these generator IDs of an ID type, or room for it.
    ///
    /// # Errors
    /// The server has owned too many different generator IDs since its start.
    pub fn ensure_room(
        &'static self,
        id_type: usize,
        ids: impl Iterator<Item = u16>,
    ) -> Result<(), Report> {
        self.cells[id_type].ensure_room(ids)
    }

    /// Returns the cell of a generator ID of the ID type with this index in [`ID_TYPES`]. If it
    /// does not exist, it is added: `begin` sets it up before another process can see it. The
    /// caller holds the lock.
    ///
    /// # Errors
    /// The server has owned too many different generator IDs since its start.
    pub fn cell(
        &'static self,
        _lock: &ExclusiveLock,
        id_type: usize,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Report> {
        self.cells[id_type].get_or_add(id, begin)
    }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn not_preloaded() -> Report {
    Report::wrong_state(
        "flakeid must be loaded via \"shared_preload_libraries\" to generate \
                         IDs",
    )
    .hint(
        "Add flakeid to \"shared_preload_libraries\" in postgresql.conf and restart the server. \
         Reading IDs works without it.",
    )
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn other_segment(theirs: Build) -> Report {
    Report::wrong_state("a different build of flakeid is active on this server")
        .detail(format!(
            "The active build is {}; this session has loaded {}.",
            theirs.name(),
            Build::this().name()
        ))
        .hint("Restart the server so that all sessions load the installed library.")
}
