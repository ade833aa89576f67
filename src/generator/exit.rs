//! The end of a process that issues IDs: it discards what it prefetched, and the last user of a
//! server that is not preloaded makes the horizon exact.

use crate::lock::ExclusiveLock;
use crate::shmem::Shared;
use crate::{horizon, lease, shmem, wait};
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};

/// A generator that has prefetched IDs.
pub trait Prefetching {
    /// Discards prefetched IDs: they do not count as issued.
    fn discard_prefetched(&self);
}

thread_local! {
    static HOOK_REGISTERED: Cell<bool> = const { Cell::new(false) };
    static PREFETCHING: RefCell<Vec<&'static dyn Prefetching>> = const { RefCell::new(Vec::new()) };
}

/// Registers a generator, so that this process discards its prefetched IDs when it ends.
pub fn discard_at_exit(prefetching: &'static dyn Prefetching) {
    PREFETCHING.with_borrow_mut(|all| all.push(prefetching));
}

/// Registers the hook for the end of this process, once, and counts the process as a user of the
/// memory.
pub fn register_exit_hook(shared: &'static Shared) {
    if HOOK_REGISTERED.get() {
        return;
    }
    wait::register();
    horizon::add_user(shared);
    HOOK_REGISTERED.set(true);
    // SAFETY: this is called once, in a process that has joined the server.
    unsafe { pg_sys::before_shmem_exit(Some(at_exit), pg_sys::Datum::null()) };
}

/// Discards prefetched IDs, and counts this process out.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn at_exit(_code: i32, _argument: pg_sys::Datum) {
    PREFETCHING.with_borrow(|all| all.iter().for_each(|one| one.discard_prefetched()));
    if let Ok(shared) = shmem::shared() {
        horizon::remove_user(shared, |lock: &ExclusiveLock| lease::cap(shared, lock));
    }
}
