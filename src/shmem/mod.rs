//! The one shared struct: the cells of each ID type, found by generator ID, and the parts that other rooms work on.
//! Each part is plain data with a file of its own; the code that works on it is above this room.
//!
//! # Who writes what
//! * [`Shared`] is set up once, before anyone can see it: by the postmaster at start and after a
//!   crash, or under the registry's lock where there is no preload.
//! * The gates and their record change under the exclusive lock, and so does the lease.
//! * An ID type's `keys[i]` says whose cell stands at its place `i`. It is written once, by the backend
//!   that first needs that generator ID in that ID type, under the exclusive lock, after the cell has
//!   been set to begin above the horizon; it is never cleared. A reload can therefore take IDs
//!   away from this node and give them back: their cells are still there and go on where they were,
//!   however long another backend has gone on under the old setting.
//! * A cell changes by its own compare-and-swap, without any lock: see `flakeid_core::cell`.
//!
//! # What survives
//! Nothing here survives the postmaster or a crash. What must is in the state file, and a postmaster
//! that ends in good order writes it a last time ([`stop`]).

mod gates;
mod horizon_record;
mod lease;

pub use gates::Gates;
pub use horizon_record::{HorizonRecord, NO_EPOCH, Recovered};
pub use lease::{Authority, Kept, Lease, Marked, Revision, State};

use crate::error::{Code, Report};
use crate::id_types::ID_TYPES;
use crate::library::Build;
use crate::lock::{ExclusiveLock, Lock};
use crate::server_log::RateLimits;
use crate::{clock, guc};
use flakeid_core::cell::Cell;
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde::Serialize;
use std::mem::{align_of, size_of};
use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

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
    pub record: HorizonRecord,
    pub rate_limits: RateLimits,
    pub gates: Gates,
    /// The gates of ID types whose generator IDs are leased.
    pub leased: Gates,
    pub lease: Lease,
    cells: [Cells; ID_TYPES.len()],
}

/// One ID type's cells, each at the place of its generator ID's key.
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

static mut ON_CLEAN_EXIT: Option<fn(&'static Shared)> = None;
static mut PREVIOUS_REQUEST: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP: pg_sys::shmem_startup_hook_type = None;

/// Asks for room at the server's start, while libraries are preloaded. The postmaster calls `on_clean_exit` when it ends
/// after all its children, and not after a crash.
pub fn request(on_clean_exit: fn(&'static Shared)) {
    // SAFETY: plain variables of a process that has one thread.
    unsafe {
        ON_CLEAN_EXIT = Some(on_clean_exit);
        PREVIOUS_REQUEST = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request_room);
        PREVIOUS_STARTUP = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
    guc::call_after_change(publish_identity);
}

#[pg_guard]
unsafe extern "C-unwind" fn request_room() {
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
    // SAFETY: set before the hook was that registered this function.
    if let (Some(on_clean_exit), Ok(shared)) = (unsafe { ON_CLEAN_EXIT }, shared()) {
        on_clean_exit(shared);
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
            Lock::set_up(lock, tranche);
        }
        addr_of_mut!((*shared).kind).write(kind);
        addr_of_mut!((*shared).counted_since).write(AtomicU64::new(clock::now().0));
        addr_of_mut!((*shared).record).write(HorizonRecord::new());
        addr_of_mut!((*shared).rate_limits).write(RateLimits::new());
        addr_of_mut!((*shared).gates).write(Gates::closed());
        addr_of_mut!((*shared).leased).write(Gates::closed());
        addr_of_mut!((*shared).lease).write(Lease::new());
        for id_type in 0..ID_TYPES.len() {
            for place in 0..PLACES {
                addr_of_mut!((*shared).cells[id_type].keys[place]).write(AtomicU32::new(FREE));
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
        let tranche = (*shared).lock.tranche();
        pg_sys::LWLockRegisterTranche(tranche.into(), NAME.as_ptr());
    }
    SHARED.store(shared, Ordering::Relaxed);
}

/// The shared struct.
///
/// # Errors
/// The server has none and cannot make one now, or another build of the library set it up.
pub fn shared() -> Result<&'static Shared, Report> {
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
fn named_segment() -> Result<*mut Shared, Report> {
    Err(not_preloaded())
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn named_segment() -> Result<*mut Shared, Report> {
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
            return Err(other_segment(build));
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

    /// Returns what is kept of the lease now. It waits for no disk.
    pub fn look_at_lease(&self) -> Kept {
        self.lease.look(&self.view_lock)
    }

    /// Whether nobody sees it end but the processes that use it.
    pub fn ends_with_its_users(&self) -> bool {
        self.kind != Kind::Preloaded
    }

    /// The cells of the ID type at this place of [`ID_TYPES`], with their generator IDs.
    pub fn cells(&self, id_type: usize) -> impl Iterator<Item = (u16, &Cell)> {
        let Cells { keys, cells } = &self.cells[id_type];
        // Acquire pairs with the Release in `bring_in`.
        let key = |key: &AtomicU32| u16::try_from(key.load(Ordering::Acquire)).ok();
        keys.iter().zip(cells).map_while(move |(at, cell)| Some((key(at)?, cell)))
    }

    /// The cell of a generator ID of the ID type at this place of [`ID_TYPES`], if it is there.
    pub fn find(&'static self, id_type: usize, id: u16) -> Option<&'static Cell> {
        self.cells[id_type].find(id)
    }

    /// The cell of a generator ID of the ID type at this place of [`ID_TYPES`]. A cell that is not there
    /// is set up by `begin`, before anyone sees it. The lock is held.
    ///
    /// # Errors
    /// Too many different generator IDs have been owned since the server's start.
    pub fn cell(
        &'static self,
        _lock: &ExclusiveLock,
        id_type: usize,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Report> {
        let cells = &self.cells[id_type];
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
    ) -> Result<&'static Cell, Report> {
        let is_free = |key: &AtomicU32| key.load(Ordering::Relaxed) == FREE;
        let place = self.keys.iter().position(is_free).ok_or_else(no_place_left)?;
        begin(&self.cells[place]);
        self.keys[place].store(id.into(), Ordering::Release);
        Ok(&self.cells[place])
    }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn not_preloaded() -> Report {
    Report::wrong_state("flakeid must be loaded via \"shared_preload_libraries\" to generate IDs").hint(
        "Add flakeid to \"shared_preload_libraries\" in postgresql.conf and restart the server. Reading IDs \
         works without it.",
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

fn no_place_left() -> Report {
    Report::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "too many generator IDs since the server started",
    )
    .detail(format!("The limit is {PLACES} for each ID type."))
    .hint("Restart the server.")
}
