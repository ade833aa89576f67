//! The hot path: from a call to an ID.
//!
//! A process keeps one [`Generator`] for each ID type. It looks up the addresses of the server's
//! cells, the rules and the position of its session once, and again after a reload. After that an
//! ID costs a reading of the clock and a compare-and-swap. It costs no lock, no system call and no
//! call into the server, and no memory except for a value by reference.
//!
//! A list of cells belongs to one generation of the server's identity: the generator IDs, and
//! whether they are leased. In a later generation the session gets nothing from these cells, and
//! looks its cells up again. What it prefetched from them before is issued already.
//! [`flakeid_core::gate`] argues why a session notices that at every point of its work.
//!
//! # Parallel queries
//! Only a session's own process generates its IDs, never a parallel worker. In workers the IDs of a
//! statement would not have the order of its rows: a worker generates them before Gather Merge puts
//! the rows in order. So the generators are PARALLEL RESTRICTED. The planner then computes them
//! above Gather, in the leader, and scans, joins and sorts below it stay parallel.
//!
//! A function that is wrongly PARALLEL SAFE can call a generator in a worker. There it raises the
//! error of `nextval()`, SQLSTATE 25000, when the worker builds its first source. `nextval()` is
//! PARALLEL UNSAFE, and raises the error in the leader of a parallel query, too: it asks
//! `IsInParallelMode()`. A generator must not ask that, since the leader runs PARALLEL RESTRICTED
//! functions in parallel mode. Workers are the only other processes of a query, so the question is
//! whether this process is one. The leader shares with them nothing that a generator changes: it
//! assigns no transaction ID, and its slot of the watermark is its own.
//!
//! # Transactions and settings
//! Before its first ID in a transaction a process enters the [`watermark`], and then issues only
//! from the bound on that this gives. So it does before its first ID of each type, and of each
//! named stream. A source has the entry by which it issues, and compares it with the process's
//! before each ID. A change of settings ends the entry, too. So one comparison shows that the
//! source may issue without a further question.

mod cells;
mod exit;
mod node;
mod readiness;
mod source;

pub use cells::{Identity, Issuer, cell_keys};
pub use node::{flake128_worker, guid_node, known_flake128_worker, known_guid_node};
pub use readiness::{Readiness, readiness};

use crate::error::OrRaise;
use crate::{clock, guc, process, watermark};
use exit::Prefetching;
use flakeid_core::session::{Issued, Session};
use source::Source;
use std::cell::UnsafeCell;
use std::marker::PhantomData;

/// The generator of one process for the IDs of one type.
pub struct Generator<S>(UnsafeCell<Option<Source>>, PhantomData<S>);

// SAFETY: a process of the server runs this library's code on its main thread alone.
unsafe impl<S> Sync for Generator<S> {}

impl<S: Issuer> Generator<S> {
    /// Constructs a generator that has looked nothing up yet.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None), PhantomData)
    }

    /// Takes up to `want` IDs (at least one), all of one generator ID and tick. Raises an error if
    /// no ID is available.
    #[inline(always)]
    pub fn take(&'static self, want: u32) -> Issued {
        self.ready().take::<S>(want)
    }

    /// Takes one ID of the stream with a name. Raises an error if no ID is available, or if there
    /// is no such stream.
    pub fn take_in(&'static self, stream: &[u8]) -> Issued {
        let source = self.ready();
        source.take_in::<S>(watermark::named(stream).or_raise())
    }

    /// Takes one of the IDs that this session prefetched. Returns `None` if no prefetched ID is
    /// left, or if anything else than reading the clock is necessary. It raises no error and does
    /// not panic.
    #[inline(always)]
    pub fn take_prefetched(&'static self) -> Option<Issued> {
        // SAFETY: there is one thread, and no reference to the source outlives the call that made
        // it.
        let source = unsafe { (*self.0.get()).as_mut() }?;
        if source.entry != watermark::entry() {
            return None;
        }
        let mut clock = || {
            let now = clock::now();
            S::tick(source.scale, now)
        };
        source.session.take_prefetched::<S>(&source.cells, 1, &mut clock)
    }

    /// Returns the source, and builds it first if it is missing or the settings have changed.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    fn ready(&'static self) -> &'static mut Source {
        // SAFETY: there is one thread, and no reference to the source outlives the call that made
        // it. What runs in between cannot come back here: interrupts raise errors, and run no SQL.
        let source = unsafe { &mut *self.0.get() };
        let is_current = matches!(source, Some(source) if source.version == guc::version());
        if !is_current {
            self.refresh(source);
        }
        match source {
            Some(source) => source,
            None => pgrx::error!("a source of IDs was made and is not there"),
        }
    }

    /// Builds the source from the present settings.
    #[cold]
    fn refresh(&'static self, source: &mut Option<Source>) {
        const {
            let is_numbered = matches!(S::IDENTITY, Identity::GeneratorIds { .. });
            assert!(is_numbered == S::IS_NUMBERED, "one of these two is wrong");
        }
        discard_prefetched(source);
        let made = Source::make::<S>(source.as_ref()).or_raise();
        if source.is_none() {
            exit::discard_at_exit(self);
        }
        *source = Some(made);
    }
}

impl<S: Issuer> Prefetching for Generator<S> {
    fn discard_prefetched(&self) {
        // SAFETY: there is one thread. If a session ends while it waits, nothing uses the source
        // after this.
        discard_prefetched(unsafe { &mut *self.0.get() });
    }
}

/// Discards the prefetched IDs of a source.
fn discard_prefetched(source: &mut Option<Source>) {
    if let Some(source) = source {
        source.session.discard_prefetched(&source.cells);
    }
}

/// Returns the generator ID with which this session begins a tick as long as its home is not
/// exhausted; `None` if the server's generator IDs are unknown.
pub fn home(ids: &[u16]) -> Option<u16> {
    if ids.is_empty() {
        return None;
    }
    ids.get(Session::new(process::number(), ids.len()).home()).copied()
}
