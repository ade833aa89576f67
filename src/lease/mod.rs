//! Leased generator IDs: what the processes of this server share about them.
//!
//! [`flakeid_core::lease`] argues why two servers never generate one ID. This comment says which
//! process writes what.
//!
//! # Which process writes what
//! * [`crate::shmem::LeaseState`] changes under the server's lock alone. The worker ([`mod@etcd`])
//!   writes it. A session that extends the gate reads the deadline there. Nothing but the deadline
//!   tells it whether the worker is still alive.
//! * After each change the worker copies the state, under a lock of its own that no process holds
//!   while it waits ([`Shared::lease_snapshot`]). Views read the copy, so a disk that hangs does
//!   not hang them.
//! * [`Shared::leased`](crate::shmem::Shared) holds the gates of ID types with generator IDs while
//!   these are leased: the server's own gates, capped by the claim. A process moves both under one
//!   lock. So the hot path compares the tick of an ID with one gate, as always, and knows nothing
//!   of leases.
//! * If a generator ID is given up or lost, its cell is sealed. When the generator ID comes back,
//!   the cell is revived.
//! * `generation` rises when the set of generator IDs changes, or the right by which they are used.
//!   It rises before any cell is sealed for the change, and at all gates. A session that made its
//!   list for an earlier generation gets no ID from that list: not from a sealed cell, nor from one
//!   that was revived since. It makes its list again: see [`flakeid_core::gate`].
//!
//! # From fixed generator IDs to leased ones, and back
//! If the setting changes to `etcd:N`, the worker first announces a new generation and seals all
//! cells. A statement that began under the old setting cannot continue with IDs that may be another
//! server's now, or this server's on lease. If the setting changes to numbers, the worker gives all
//! up and sets [`LeaseStatus::Off`]. Sessions wait for that, and revive the cells.

// Without etcd this server leases nothing.
#![cfg_attr(not(feature = "etcd"), allow(dead_code))]

mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod gates;
mod transitions;

use crate::clock::Stopwatch;
use crate::lock::ExclusiveLock;
use crate::shmem::{LeaseStatus, Shared};
use crate::{guc, wait};
pub use error::{LeaseError, not_leased, other_epoch};
pub use gates::{cap, extend, held};
use std::sync::atomic::{AtomicU32, Ordering};

/// Registers the worker while libraries are preloaded, if the settings want it.
pub fn register() {
    #[cfg(feature = "etcd")]
    etcd::register();
}

/// Returns whether generator IDs are leased, are being leased, or are being given up.
pub fn is_on(shared: &Shared, lock: &ExclusiveLock) -> bool {
    shared.lease.state(lock).status != LeaseStatus::Off
}

/// Waits until `ready` returns something, for as long as a session waits for its clock. Starts a
/// worker if there is no worker.
///
/// # Errors
/// The last error of `ready`; [`LeaseError::Other`] if no worker could be started.
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
        .inspect_err(|_| shared.lease.worker_requested_at.store(0, Ordering::Relaxed))
        .map_err(LeaseError::Other)
}

#[cfg(not(feature = "etcd"))]
fn register_now(_: &Shared) -> Result<(), LeaseError> {
    Ok(())
}

/// The uniqueid cluster that this process's uniqueids have by the registry; [`NO_CLUSTER`] if the
/// setting counts.
static CLUSTER: AtomicU32 = AtomicU32::new(NO_CLUSTER);
const NO_CLUSTER: u32 = u32::MAX;

/// Sets the uniqueid cluster that this process's uniqueids have by the registry; `None` if the
/// setting counts.
pub fn set_cluster(cluster: Option<u16>) {
    CLUSTER.store(cluster.map_or(NO_CLUSTER, u32::from), Ordering::Relaxed);
}

/// Returns the uniqueid cluster of this process's IDs: the registry's, or the setting's.
#[inline]
pub fn cluster() -> u64 {
    match CLUSTER.load(Ordering::Relaxed) {
        NO_CLUSTER => guc::cluster_id(),
        cluster => cluster.into(),
    }
}
