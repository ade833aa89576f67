//! What a process that issues IDs does when it ends.

use crate::lock::ExclusiveLock;
use crate::shmem::Shared;
use crate::{horizon, lease, shmem, wait};
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};

/// Something that has taken IDs in advance.
pub trait Prefetching {
    /// Gives up what was taken in advance: it does not count as issued.
    fn discard_prefetched(&self);
}

thread_local! {
    static JOINED: Cell<bool> = const { Cell::new(false) };
    static PREFETCHING: RefCell<Vec<&'static dyn Prefetching>> = const { RefCell::new(Vec::new()) };
}

/// Sees to it that this process gives up what it has taken in advance when it ends.
pub fn discard_at_exit(prefetching: &'static dyn Prefetching) {
    PREFETCHING.with_borrow_mut(|all| all.push(prefetching));
}

/// Sees to it that this process's leaving is noticed, and counts it in.
pub fn join(shared: &'static Shared) {
    if JOINED.get() {
        return;
    }
    wait::register();
    horizon::join(shared);
    JOINED.set(true);
    // SAFETY: called once, in a process that has joined the server.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::null()) };
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn leave(_code: i32, _argument: pg_sys::Datum) {
    PREFETCHING.with_borrow(|all| all.iter().for_each(|one| one.discard_prefetched()));
    if let Ok(shared) = shmem::shared() {
        horizon::leave(shared, |lock: &ExclusiveLock| lease::cap(shared, lock));
    }
}
