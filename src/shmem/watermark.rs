//! The memory of the watermark: a slot for each process that can run SQL, the floor, the list of
//! prepared transactions, and the times for which sessions wait. [`flakeid_core::watermark`] argues
//! how slots and floor are used, and the module [`watermark`](crate::watermark) uses them.
//!
//! Its size depends on settings that need a restart, so it is a segment of its own beside
//! [`super::Shared`].
//!
//! # Which process writes what
//! * A slot belongs to the process with its number, and only that process enters and leaves it.
//!   Readers make a provisional bound final.
//! * The floor rises by readers, without a lock.
//! * The rest changes under the lock [`WatermarkSegment::lock`]; processes read the names of
//!   streams without it. A process may hold the server's lock when it takes this one.

use super::streams::{STREAMS, StreamNames};
use crate::lock::{ExclusiveLock, Lock};
use crate::process;
use flakeid_core::clock::UnixNanos;
use flakeid_core::prepared::{Entry, List, ListState, NO_IDS};
use flakeid_core::waiters::{Wait, Waiters};
use flakeid_core::watermark::{Floor, History, TransactionSlot};
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// How many entries of transactions that have left a slot keeps. So a slot has 3,328 bytes.
const ENTRIES: usize = 127;

/// How many watermarks the history keeps.
const HISTORY: usize = 64;

/// The greatest number of prepared transactions that have ended and that the list keeps for old
/// snapshots. There is room for twice as many, so that the list is seldom pruned.
pub const ENDED: usize = 512;

/// The state that a process shows to readers.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct ProcessEntry {
    pub slot: TransactionSlot<ENTRIES, STREAMS>,
    /// The time of the transaction's first ID, in nanoseconds since 1970. Only a view shows it.
    pub first_id_at: AtomicU64,
}

const _: () = assert!(size_of::<ProcessEntry>() == 3328);

/// The state that changes under the lock.
#[derive(Debug)]
pub struct Locked {
    pub history: History<HISTORY>,
    /// Whether the startup process has learned that the watermark is in use, and the file may not
    /// say so.
    pub unsaved: bool,
    /// The watermarks that the startup process has replayed.
    pub replayed: History<HISTORY>,
    /// The list of prepared transactions, without its entries.
    prepared: ListState,
}

/// The memory of the watermark. The slots, the waits and the list of prepared transactions follow
/// it.
#[repr(C, align(128))]
pub struct WatermarkSegment {
    pub floor: Floor,
    /// 0 until the list has the transactions that were prepared when shared memory was initialized.
    /// Then the number that the next transaction had when they were looked up.
    pub loaded_at: AtomicU64,
    /// Whether a watermark may have been reported, since shared memory was initialized or before.
    /// Then there is the file.
    pub used: AtomicBool,
    /// The sessions that wait for the watermark.
    pub waiters: Waiters,
    pub publisher: Publisher,
    /// The names of the streams.
    pub streams: StreamNames,
    /// The number of prepared transactions in the list, for readers that find it empty.
    listed: AtomicU64,
    lock: Lock,
    locked: UnsafeCell<Locked>,
    slots: usize,
    capacity: usize,
}

/// The place of the worker that tells readers of the watermark.
#[derive(Debug)]
pub struct Publisher {
    /// The worker's process ID; 0 if there is no worker.
    pid: AtomicI32,
    /// The time at which a session last started a worker, in nanoseconds since boot.
    requested_at: AtomicU64,
}

impl Publisher {
    const fn new() -> Self {
        Self { pid: AtomicI32::new(0), requested_at: AtomicU64::new(0) }
    }

    /// Takes the place for the process with an ID. Returns whether it was free.
    pub fn begin(&self, pid: i32) -> bool {
        self.pid.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives the place back.
    pub fn end(&self) {
        self.requested_at.store(0, Ordering::Relaxed);
        self.pid.store(0, Ordering::Release);
    }

    /// Returns the worker's process ID; 0 if there is no worker.
    #[inline]
    pub fn pid(&self) -> i32 {
        self.pid.load(Ordering::Acquire)
    }

    /// Returns whether to start a worker: none runs, and no session has started one for a while.
    pub fn is_missing(&self, boot: Duration) -> bool {
        const REQUEST_INTERVAL: u64 = 5_000_000_000;
        let (now, last) = (boot.as_nanos() as u64, self.requested_at.load(Ordering::Relaxed));
        let is_early = last != 0 && now.saturating_sub(last) < REQUEST_INTERVAL;
        let claim = || {
            self.requested_at
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        self.pid() == 0 && !is_early && claim()
    }
}

// SAFETY: the cell is used under the lock alone. The names of streams are read as far as they are
// written.
unsafe impl Sync for WatermarkSegment {}

fn slots() -> usize {
    process::count()
}

/// Returns how many prepared transactions the list can have: those that exist, those that are being
/// prepared, those of sessions that ran when the list was made, and those that have ended.
fn capacity() -> usize {
    // SAFETY: reads a plain variable that the postmaster sets before it has children.
    let prepared = unsafe { pg_sys::max_prepared_xacts };
    prepared.max(0) as usize + 2 * process::count() + 2 * ENDED
}

/// Returns the size of the memory, which depends on settings that need a restart.
pub(super) fn size() -> usize {
    size_of::<WatermarkSegment>()
        + slots() * (size_of::<ProcessEntry>() + size_of::<Wait>())
        + capacity() * size_of::<Entry>()
}

/// Writes the initial memory.
///
/// # Safety
/// `memory` must be memory of [`size`] bytes that no other process can see yet.
pub(super) unsafe fn set_up(memory: *mut WatermarkSegment, tranche: i32) {
    assert!(
        memory.is_aligned(),
        "shared memory is not aligned to {}",
        align_of::<WatermarkSegment>()
    );
    // SAFETY: the caller owns the memory.
    unsafe {
        addr_of_mut!((*memory).floor).write(Floor::at(UnixNanos(0)));
        addr_of_mut!((*memory).loaded_at).write(AtomicU64::new(0));
        addr_of_mut!((*memory).used).write(AtomicBool::new(false));
        addr_of_mut!((*memory).waiters).write(Waiters::new());
        addr_of_mut!((*memory).publisher).write(Publisher::new());
        addr_of_mut!((*memory).listed).write(AtomicU64::new(0));
        addr_of_mut!((*memory).streams).write(StreamNames::new());
        Lock::set_up(addr_of_mut!((*memory).lock), tranche);
        addr_of_mut!((*memory).locked).write(UnsafeCell::new(Locked {
            history: History::new(),
            unsaved: false,
            replayed: History::new(),
            prepared: ListState::EMPTY,
        }));
        addr_of_mut!((*memory).slots).write(slots());
        addr_of_mut!((*memory).capacity).write(capacity());
        let first = memory.add(1).cast::<ProcessEntry>();
        for number in 0..slots() {
            first.add(number).write(ProcessEntry {
                slot: TransactionSlot::idle(),
                first_id_at: AtomicU64::new(0),
            });
        }
        let first = first.add(slots()).cast::<Wait>();
        for number in 0..slots() {
            first.add(number).write(Wait::idle());
        }
        let first = first.add(slots()).cast::<Entry>();
        for place in 0..capacity() {
            first.add(place).write(Entry::new(0, NO_IDS, UnixNanos(0)));
        }
    }
}

impl WatermarkSegment {
    /// Returns the lock for [`ExclusiveLock`].
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Returns the slots, by the numbers of the processes.
    #[inline]
    pub fn processes(&self) -> &[ProcessEntry] {
        // SAFETY: `set_up` has written this many slots after the struct.
        unsafe { std::slice::from_raw_parts(self.after_struct().cast(), self.slots) }
    }

    /// Returns the slot of the process with a number; `None` for a process that cannot run SQL.
    #[inline]
    pub fn process(&self, number: u32) -> Option<&ProcessEntry> {
        self.processes().get(number as usize)
    }

    /// Returns the times for which sessions wait, by the numbers of the processes.
    pub fn waits(&self) -> &[Wait] {
        // SAFETY: `set_up` has written this many waits after the slots.
        unsafe { std::slice::from_raw_parts(self.after_slots(), self.slots) }
    }

    fn after_slots(&self) -> *mut Wait {
        // SAFETY: `set_up` has written this many slots after the struct.
        unsafe { self.after_struct().cast::<ProcessEntry>().add(self.slots).cast() }
    }

    fn entries(&self) -> *mut Entry {
        // SAFETY: `set_up` has left room for the list after the waits.
        unsafe { self.after_slots().add(self.slots).cast() }
    }

    /// Returns the address after the struct. The memory is PostgreSQL's, so a pointer to all of it
    /// was exposed; one that is made of a reference to the struct may not leave the struct.
    fn after_struct(&self) -> *mut u8 {
        let this = std::ptr::from_ref(self);
        std::ptr::with_exposed_provenance_mut(this.addr() + size_of::<Self>())
    }

    /// Returns what changes under the lock. The caller holds the lock.
    #[allow(clippy::mut_from_ref)]
    pub fn locked<'a>(&'a self, _lock: &'a mut ExclusiveLock) -> &'a mut Locked {
        // SAFETY: the caller holds the lock, and borrows its guard.
        unsafe { &mut *self.locked.get() }
    }

    /// Returns whether the list of prepared transactions was empty a moment ago.
    #[inline]
    pub fn is_list_empty(&self) -> bool {
        // Acquire: a reader that finds a slot idle whose transaction was prepared finds it in the
        // list.
        self.listed.load(Ordering::Acquire) == 0
    }

    /// Returns the list of prepared transactions, to read it. The caller holds the lock.
    pub fn prepared<'a>(&'a self, lock: &'a mut ExclusiveLock) -> List<'a> {
        let state = &mut self.locked(lock).prepared;
        // SAFETY: `set_up` has written this many entries, and the caller holds the lock and borrows
        // its guard.
        let room = unsafe { std::slice::from_raw_parts_mut(self.entries(), self.capacity) };
        List { room, state }
    }

    /// Changes the list of prepared transactions. The caller holds the lock.
    pub fn change_prepared<T>(
        &self,
        lock: &mut ExclusiveLock,
        change: impl FnOnce(&mut List) -> T,
    ) -> T {
        let mut list = self.prepared(lock);
        let outcome = change(&mut list);
        // Release pairs with the Acquire in `is_list_empty`.
        self.listed.store(list.entries().len() as u64, Ordering::Release);
        outcome
    }
}
