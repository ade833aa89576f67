//! The transactions of this process: it enters before the first ID, and leaves by a callback.

use super::reader::settled;
use super::{detached, prepared};
use crate::clock::now;
use crate::error::{OrRaise, Report};
use crate::process;
use crate::shmem::{self, ProcessSlot, Shared, Watermark};
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::settled_by_clock;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The bound of the transaction that this process has entered; 0 if it has entered none.
static BOUND: AtomicU64 = AtomicU64::new(0);

/// Whether this process, or the postmaster before it, has registered the callback.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Registers the callback for the end of transactions, when a process loads the library.
pub fn register() {
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: PostgreSQL keeps the callback in this process, and in its children.
        unsafe { pg_sys::RegisterXactCallback(Some(at_event), std::ptr::null_mut()) };
    }
}

/// Returns the bound of the transaction that this process has entered, in nanoseconds since 1970; 0 if it has entered
/// none.
#[inline(always)]
pub fn bound() -> u64 {
    // Relaxed: the process has one thread.
    BOUND.load(Ordering::Relaxed)
}

/// Enters the present transaction, before this process's first ID in it. The state has been opened.
///
/// # Errors
/// The errors of [`prepared::ensure_loaded`].
#[cold]
pub fn enter(shared: &Shared) -> Result<(), Report> {
    let memory = shmem::watermark()?;
    prepared::ensure_loaded(shared, memory)?;
    let leader = process::leader_number();
    let slot = slot(memory, leader.unwrap_or_else(process::number));
    if shared.ends_with_its_users() {
        match leader {
            Some(leader) => detached::tag(memory, slot, leader),
            None => detached::register(memory, slot),
        }
    }
    // One reading of the clock is enough: an earlier one makes the bound lower, and never below the floor.
    let now = now();
    if slot.slot.entered().is_none() {
        slot.first_id_at.store(now.0, Ordering::Relaxed);
    }
    let bound = slot.slot.enter(&memory.floor, || settled_by_clock(now));
    // 0 is for no transaction.
    BOUND.store(bound.0.max(1), Ordering::Relaxed);
    Ok(())
}

/// Lowers the bound of the present transaction for this process, after the clock has stepped back. Returns whether it
/// is lower now.
pub fn lower() -> bool {
    let Some(memory) = shmem::attached_watermark() else { return false };
    let leader = process::leader_number();
    // SAFETY: a call without preconditions.
    let is_alone = leader.is_none() && unsafe { !pg_sys::IsInParallelMode() };
    let slot = &slot(memory, leader.unwrap_or_else(process::number)).slot;
    let before = bound();
    let bound = match is_alone {
        true => slot.lower(&memory.floor, settled),
        false => slot.lower_beside_others(&memory.floor, settled),
    };
    BOUND.store(bound.0.max(1).min(before), Ordering::Relaxed);
    bound.0 < before
}

fn slot(memory: &'static Watermark, number: u32) -> &'static ProcessSlot {
    match memory.slot(number) {
        Some(slot) => slot,
        None => pgrx::error!("this process has no number of a session"),
    }
}

/// Returns this process's own slot, if it is attached to the memory and has a transaction of its own.
#[inline]
fn own_slot() -> Option<&'static ProcessSlot> {
    shmem::attached_watermark()?.slot(process::number_if_joined()?)
}

/// PostgreSQL calls this at each step of the end of a transaction. Only the guarded functions that it calls can raise an
/// error.
unsafe extern "C-unwind" fn at_event(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    use pg_sys::XactEvent::*;
    match event {
        XACT_EVENT_COMMIT => leave(true),
        XACT_EVENT_ABORT | XACT_EVENT_PREPARE => leave(false),
        // The leader's transaction goes on.
        XACT_EVENT_PARALLEL_COMMIT | XACT_EVENT_PARALLEL_ABORT => {
            BOUND.store(0, Ordering::Relaxed);
        }
        // SAFETY: PostgreSQL calls this within the transaction.
        XACT_EVENT_PRE_PREPARE => unsafe { before_prepare() },
        _ => {}
    }
}

/// Ends the transaction in this process's slot. A transaction that was rolled back or prepared is not among those that
/// the slot keeps.
#[inline]
fn leave(has_committed: bool) {
    BOUND.store(0, Ordering::Relaxed);
    // A parallel worker may have entered, so the slot decides.
    let Some(own) = own_slot().filter(|own| own.slot.entered().is_some()) else { return };
    // A worker's tag decides if this process has not registered: the slot may have an earlier transaction.
    if !shmem::is_preloaded() && !detached::is_registered(own) {
        return;
    }
    // SAFETY: PostgreSQL forgets the transaction's ID after the callback.
    let id = unsafe { pg_sys::GetTopFullTransactionIdIfAny() }.value;
    own.slot.leave(Some(id).filter(|&id| has_committed && id != 0));
}

#[pg_guard]
unsafe extern "C-unwind" fn before_prepare() {
    // A worker may have entered for a process that has not attached to the memory. If that fails, it would have failed
    // for the worker, too.
    let (Ok(memory), Some(own)) = (shmem::watermark(), own_slot()) else { return };
    if !shmem::is_preloaded() {
        detached::register(memory, own);
    }
    if let Some(bound) = own.slot.entered() {
        let first_id_at = UnixNanos(own.first_id_at.load(Ordering::Relaxed));
        prepared::add_own(bound, first_id_at).or_raise();
    }
}
