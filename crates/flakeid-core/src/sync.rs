//! The atomics: those of core, or those of loom for its models, so that loom runs the shipped code.

#[cfg(not(loom))]
pub(crate) use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
};

/// Keeps accesses before and after it in the one order of all SeqCst accesses.
///
/// Accesses that are SeqCst themselves need no more. loom treats them as AcqRel, and knows only the
/// order of fences.
#[inline(always)]
pub(crate) fn keep_seq_cst_order() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}
