//! The transactions of this process: it enters before the first ID, and leaves by a callback.

use super::prepared;
use super::reader::settled;
use crate::clock::now;
use crate::error::{OrRaise, Report};
use crate::shmem::{self, ProcessEntry, Shared, WatermarkSegment};
use crate::{guc, process};
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::{Stream, Streams, settled_by_clock};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The bound of the transaction that this process has entered; 0 if it has entered none.
static BOUND: AtomicU64 = AtomicU64::new(0);

/// The present entry: see [`entry`].
static ENTRY: AtomicU64 = AtomicU64::new(0);

/// How many entries this process has had.
static ENTRIES: AtomicU64 = AtomicU64::new(0);

/// Whether this process, or the postmaster before it, has registered the callback.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Registers the callbacks for the end of transactions and for changes of settings, when a process
/// loads the library. Returns false if that was done before.
pub fn register() -> bool {
    let is_first = !REGISTERED.swap(true, Ordering::Relaxed);
    if is_first {
        guc::call_after_change(end_entry);
        // SAFETY: PostgreSQL keeps the callback in this process, and in its children.
        unsafe { pg_sys::RegisterXactCallback(Some(at_event), std::ptr::null_mut()) };
    }
    is_first
}

/// Returns the bound of the transaction that this process has entered, in nanoseconds since 1970; 0
/// if it has entered none.
#[inline(always)]
pub fn bound() -> u64 {
    // Relaxed: the process has one thread.
    BOUND.load(Ordering::Relaxed)
}

/// Returns a number that each change of the bound replaces. It is 0 if this process has entered no
/// transaction, and after a setting has changed. A source that knows the number has entered the
/// stream of its ID type in this transaction, and was built from the present settings.
#[inline(always)]
pub fn entry() -> u64 {
    ENTRY.load(Ordering::Relaxed)
}

/// Begins an entry: takes a number that this process has not had.
fn begin_entry() {
    let entry = ENTRIES.load(Ordering::Relaxed) + 1;
    ENTRIES.store(entry, Ordering::Relaxed);
    ENTRY.store(entry, Ordering::Relaxed);
}

/// Ends the present entry. The transaction keeps its bound.
fn end_entry() {
    ENTRY.store(0, Ordering::Relaxed);
}

/// Sets the bound of the transaction, and begins an entry if that is a new one.
fn set_bound(bound: UnixNanos) {
    // 0 is for no transaction.
    let bound = bound.0.max(1);
    if BOUND.swap(bound, Ordering::Relaxed) != bound {
        begin_entry();
    }
}

/// Enters the present transaction, before this process's first ID in it, and the stream of an ID
/// type, before the first ID of that type. The state has been opened.
///
/// # Errors
/// The errors of [`prepared::ensure_loaded`].
#[cold]
pub fn enter(shared: &Shared, id_type: Stream) -> Result<(), Report> {
    let memory = shmem::watermark()?;
    if bound() == 0 {
        prepared::ensure_loaded(shared, memory)?;
    }
    enter_missing(memory, Streams::of(Stream::ALL).and(Streams::of(id_type)));
    // A change of settings has ended the entry, and not changed the bound.
    if entry() == 0 {
        begin_entry();
    }
    Ok(())
}

/// Enters a stream, before the transaction's first ID in it. The transaction has been entered. Does
/// nothing if it has entered the stream.
pub fn enter_stream(stream: Stream) {
    match shmem::attached_watermark() {
        Some(memory) => enter_missing(memory, Streams::of(stream)),
        None => pgrx::error!("a transaction was entered without the memory of the watermark"),
    }
}

fn enter_missing(memory: &'static WatermarkSegment, streams: Streams) {
    let own = own_process(memory);
    let missing = streams.without(own.slot.streams());
    if missing.is_empty() {
        return;
    }
    // One reading of the clock is enough: an earlier one makes the bound lower, and never below the
    // floor.
    let now = now();
    if bound() == 0 {
        own.first_id_at.store(now.0, Ordering::Relaxed);
    }
    // All IDs to come are at or after the present bound.
    let least = settled_by_clock(now).max(UnixNanos(bound()));
    set_bound(own.slot.enter(missing, &memory.floor, || least));
}

/// Lowers the bound of the present transaction, after the clock has stepped back. Returns whether
/// it is lower now.
pub fn lower() -> bool {
    let Some(memory) = shmem::attached_watermark() else { return false };
    let before = bound();
    let lowered = own_process(memory).slot.lower(&memory.floor, settled);
    set_bound(lowered.min(UnixNanos(before)));
    bound() < before
}

/// Returns this process's entry. The process can run SQL.
fn own_process(memory: &'static WatermarkSegment) -> &'static ProcessEntry {
    match memory.process(process::number()) {
        Some(own) => own,
        None => pgrx::error!("this process has no number of a session"),
    }
}

/// Returns this process's entry if it has entered the present transaction.
#[inline]
fn entered_process() -> Option<&'static ProcessEntry> {
    if bound() == 0 {
        return None;
    }
    shmem::attached_watermark()?.process(process::number())
}

/// PostgreSQL calls this at each step of the end of a transaction. Only the guarded functions that
/// it calls can raise an error.
unsafe extern "C-unwind" fn at_event(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    use pg_sys::XactEvent::*;
    match event {
        XACT_EVENT_COMMIT => leave(true),
        XACT_EVENT_ABORT | XACT_EVENT_PREPARE => leave(false),
        // SAFETY: PostgreSQL calls this within the transaction.
        XACT_EVENT_PRE_PREPARE => unsafe { before_prepare() },
        _ => {}
    }
}

/// Ends the transaction in this process's entry. A transaction that was rolled back or prepared is
/// not among those that the slot keeps.
#[inline]
fn leave(has_committed: bool) {
    let Some(own) = entered_process() else { return };
    BOUND.store(0, Ordering::Relaxed);
    end_entry();
    // SAFETY: PostgreSQL forgets the transaction's ID after the callback.
    let id = unsafe { pg_sys::GetTopFullTransactionIdIfAny() }.value;
    own.slot.leave(Some(id).filter(|&id| has_committed && id != 0));
}

#[pg_guard]
unsafe extern "C-unwind" fn before_prepare() {
    let entered = entered_process().and_then(|own| {
        let first_id_at = UnixNanos(own.first_id_at.load(Ordering::Relaxed));
        Some((own.slot.entered()?, first_id_at))
    });
    prepared::before_prepare(entered).or_raise();
}
