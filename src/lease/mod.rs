//! Generator IDs on lease: what this server's processes know of them together.
//!
//! Why two servers never make the same ID is argued in [`flakeid_core::lease`]. Here is who does what.
//!
//! # Who writes what
//! * [`crate::shmem::Kept`] changes under the node's lock alone. The worker ([`mod@etcd`]) writes it. A backend that
//!   extends the gate reads the deadline there; nothing but the deadline tells it whether the worker still
//!   lives.
//! * A copy of it is made after each change, under a lock of its own that nobody holds while it waits for
//!   anything ([`Shared::look_at_lease`]). Views read the copy, so that a disk that hangs does not hang them.
//! * [`Shared::leased`](crate::shmem::Shared) are the gates by which systems with generator IDs go while these are leased: the
//!   node's own, capped by the claim. A process moves both under the same lock. So the hot path
//!   compares an ID's tick with one gate, as ever, and knows nothing of leases.
//! * A cell of a generator ID that is given up or lost is sealed, and revived when the ID comes back.
//! * `generation` rises whenever the set of IDs changes, or the right by which they are used: before any
//!   cell is sealed for it, and at all gates. A session that made its list for an earlier generation gets no ID
//!   from it, whether it meets the seal or a cell that has been revived since, and makes its list again: see
//!   [`flakeid_core::gate`].
//!
//! # From one way to the other
//! Where the setting changes to `etcd:N`, the worker first announces a new generation and seals all cells: a
//! statement that began under the old setting cannot go on with IDs which may now be another server's, or
//! this server's on lease. Where it changes to numbers,
//! the worker gives all up and says [`State::Off`]; sessions wait for that, and revive what was sealed.

// Without etcd nobody leases any.
#![cfg_attr(not(feature = "etcd"), allow(dead_code))]

mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod gates;
mod transitions;

use crate::clock::Stopwatch;
use crate::lock::ExclusiveLock;
use crate::shmem::{Shared, State};
use crate::{guc, wait};
pub use error::{LeaseError, not_leased, other_epoch};
pub use gates::{cap, extend, held};
use std::sync::atomic::{AtomicU32, Ordering};

/// Registers the worker while libraries are preloaded, if the settings want it.
pub fn register() {
    #[cfg(feature = "etcd")]
    etcd::register();
}

/// Whether generator IDs are leased, are being leased, or are being given up.
pub fn is_on(shared: &Shared, lock: &ExclusiveLock) -> bool {
    shared.lease.kept(lock).state != State::Off
}

/// Waits until `ready` gives something, for as long as a session waits for its clock, and sees to it that
/// there is a worker.
///
/// # Errors
/// The last that `ready` gave; [`LeaseError::Other`] where no worker could be started.
pub fn wait<T>(
    shared: &'static Shared,
    mut ready: impl FnMut(ExclusiveLock) -> Result<T, LeaseError>,
) -> Result<T, LeaseError> {
    let (watch, longest) = (Stopwatch::start(), guc::max_clock_wait());
    loop {
        let error = match ready(ExclusiveLock::take_interruptibly(shared.lock())) {
            Err(error @ (LeaseError::NotLeased(_) | LeaseError::StillLeased)) => error,
            done => return done,
        };
        if shared.lease.lacks_worker() {
            register_now(shared)?;
        }
        if watch.elapsed() >= longest {
            return Err(error);
        }
        wait::for_lease();
    }
}

#[cfg(feature = "etcd")]
fn register_now(shared: &Shared) -> Result<(), LeaseError> {
    etcd::register_now()
        .inspect_err(|_| shared.lease.registered.store(0, Ordering::Relaxed))
        .map_err(LeaseError::Other)
}

#[cfg(not(feature = "etcd"))]
fn register_now(_: &Shared) -> Result<(), LeaseError> {
    Ok(())
}

/// The cluster that this process's uniqueids have by the registry; [`NO_CLUSTER`] where the setting says it.
static CLUSTER: AtomicU32 = AtomicU32::new(NO_CLUSTER);
const NO_CLUSTER: u32 = u32::MAX;

/// What a session goes by has changed.
pub fn set_cluster(cluster: Option<u16>) {
    CLUSTER.store(cluster.map_or(NO_CLUSTER, u32::from), Ordering::Relaxed);
}

/// The cluster of this process's uniqueids: the registry's, or the setting's.
#[inline]
pub fn cluster() -> u64 {
    match CLUSTER.load(Ordering::Relaxed) {
        NO_CLUSTER => guc::cluster_id(),
        cluster => cluster.into(),
    }
}
