//! The hot path: from a call to an ID.
//!
//! What a process keeps of an ID type ([`Generator`]) it looks up once and again after a reload: the addresses of the
//! server's cells, the rules, and where its session stands. An ID then costs a reading of the clock and a
//! compare-and-swap; no lock, no system call, no call into the server, no memory but what a value by reference needs.
//!
//! A list that was made for an earlier generation of the server's identity (the generator IDs, and whether they
//! are leased) gives nothing, not even what was taken in advance, and is made again: why a session notices that
//! at every point of its work is argued in [`flakeid_core::gate`].

mod cells;
mod exit;
mod node;
mod source;

pub use cells::{Identity, Issuer, partitions};
pub use node::{flake128_worker, guid_node, known_flake128_worker, known_guid_node};
pub use source::Run;

use crate::error::OrRaise;
use crate::{clock, guc};
use exit::Prefetching;
use flakeid_core::session::Session;
use source::{Source, process_number};
use std::cell::UnsafeCell;
use std::marker::PhantomData;

/// A process's generator of the IDs of one type.
pub struct Generator<S>(UnsafeCell<Option<Source>>, PhantomData<S>);

// SAFETY: a process of the server runs this library's code on its main thread alone.
unsafe impl<S> Sync for Generator<S> {}

impl<S: Issuer> Generator<S> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None), PhantomData)
    }

    /// Takes up to `want` IDs (at least one), all of one generator and tick; raises an error where there are
    /// none to be had.
    #[inline(always)]
    pub fn take(&'static self, want: u32) -> Run {
        self.ready().take::<S>(want)
    }

    /// Takes one ID of those that this session took in advance; `None` if it has none left, or if anything else is to
    /// be done than to read the clock. It raises no error and does not panic.
    #[inline(always)]
    pub fn take_prefetched(&'static self) -> Option<Run> {
        // SAFETY: one thread, and no reference to the source outlives the call that made it.
        let source = unsafe { (*self.0.get()).as_mut() }?;
        if source.version != guc::version() {
            return None;
        }
        let scale = source.scale;
        let mut clock = || S::tick(scale, clock::now());
        let issued = source.session.ahead::<S>(&source.cells, 1, &source.gates.near, &mut clock)?;
        let generator = *source.marks.get(issued.partition)?;
        Some(Run { generator, block: issued.block })
    }

    /// Returns the source, made again after a reload.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    fn ready(&'static self) -> &'static mut Source {
        // SAFETY: one thread; no reference to the source outlives the call that made it, and nothing
        // that runs in between (interrupts raise errors, they run no SQL) comes back here.
        let slot = unsafe { &mut *self.0.get() };
        let is_current = matches!(slot, Some(source) if source.version == guc::version());
        if !is_current {
            self.refresh(slot);
        }
        match slot {
            Some(source) => source,
            None => pgrx::error!("a source of IDs was made and is not there"),
        }
    }

    #[cold]
    fn refresh(&'static self, slot: &mut Option<Source>) {
        const {
            let is_numbered = matches!(S::IDENTITY, Identity::GeneratorIds { .. });
            assert!(is_numbered == S::IS_NUMBERED, "one of these two is wrong");
        }
        discard_prefetched(slot);
        let made = Source::make::<S>(slot.as_ref()).or_raise();
        if slot.is_none() {
            exit::discard_at_exit(self);
        }
        *slot = Some(made);
    }
}

impl<S: Issuer> Prefetching for Generator<S> {
    fn discard_prefetched(&self) {
        // SAFETY: one thread; where a session is ended while it waits, nothing goes on after this.
        discard_prefetched(unsafe { &mut *self.0.get() });
    }
}

/// Gives up what the session has taken in advance.
fn discard_prefetched(slot: &mut Option<Source>) {
    if let Some(source) = slot {
        source.session.drop_rest(&source.cells);
    }
}

/// The generator ID where this session begins its ticks when it is not in need of room; `None` where
/// the node's are not known.
pub fn home(ids: &[u16]) -> Option<u16> {
    if ids.is_empty() {
        return None;
    }
    ids.get(Session::new(process_number(), ids.len()).home()).copied()
}
