//! The state as this server has opened it: the horizon when shared memory was initialized, and what
//! has changed since.
//!
//! Shared memory is initialized when the postmaster starts, and again after a crash of a process.
//! If the library is not preloaded, the first session that needs it does so.

use super::atomic_epoch::AtomicEpoch;
use crate::clock::now;
use crate::id_types::ID_TYPES;
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::{Horizon, TRACKS};
use flakeid_core::generator::IdLayout;
use flakeid_formats::state::{Epochs, Names};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The opened state. Numbers are nanoseconds since 1970. Processes change them under the server's
/// lock.
#[derive(Debug)]
pub struct OpenedState {
    /// Whether the state file has been read, and all other fields and the gates are set.
    loaded: AtomicBool,
    /// The horizon when shared memory was initialized, by track, and its tick-tock bit. Cells begin
    /// above it.
    start_horizon: [AtomicU64; TRACKS],
    toggle: AtomicBool,
    /// The last times that cells had issued, since shared memory was initialized, before they were
    /// revived, by track. A cell forgets them when it is revived.
    issued: [AtomicU64; TRACKS],
    /// The last reading of the clock that was known when shared memory was initialized. A clock
    /// behind it has stepped back.
    start_clock_reading: AtomicU64,
    /// The last reading of the clock that is known now: that of the start, or of the last move of
    /// the gates.
    last_clock_reading: AtomicU64,
    /// The earliest epoch of each ID type that has issued IDs.
    epochs: [AtomicEpoch; ID_TYPES.len()],
    /// The random names of the server, for ID types for which no setting gives one. A MAC address
    /// of 0 means that they are not known.
    guid_node: AtomicU32,
    mac_address: AtomicU64,
}

/// The state with which shared memory was initialized.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub horizon: Horizon,
    /// The last reading of the clock that is known: see [`flakeid_core::gate::CellInit`].
    pub last_clock_reading: UnixNanos,
    pub epochs: Epochs,
}

impl Start {
    /// Returns how far the clock is behind the horizon, in the timelines of one ID type: the wait
    /// after a crash. Of two timelines the nearer one counts. The result is zero if it would be
    /// longer than the lead, or if the clock has stepped back.
    pub fn recovery_left<S: IdLayout>(&self, lead: Duration) -> Duration {
        let now = now();
        // The lead may have been another when that horizon was written.
        let was = self.horizon.in_use().0.saturating_sub(self.last_clock_reading.0);
        let longest = lead.max(Duration::from_nanos(was));
        let ahead =
            [false, true].map(|toggle| self.horizon.of::<S>(toggle).0.saturating_sub(now.0));
        match ahead.into_iter().filter(|&left| left > 0).min().map(Duration::from_nanos) {
            Some(left) if left <= longest && now >= self.last_clock_reading => left,
            _ => Duration::ZERO,
        }
    }
}

impl OpenedState {
    pub(super) fn new() -> Self {
        Self {
            loaded: AtomicBool::new(false),
            start_horizon: std::array::from_fn(|_| AtomicU64::new(0)),
            toggle: AtomicBool::new(false),
            issued: std::array::from_fn(|_| AtomicU64::new(0)),
            start_clock_reading: AtomicU64::new(0),
            last_clock_reading: AtomicU64::new(0),
            epochs: [const { AtomicEpoch::none() }; _],
            guid_node: AtomicU32::new(0),
            mac_address: AtomicU64::new(0),
        }
    }

    /// Sets the state with which shared memory begins. The caller has set the gates.
    pub fn install(&self, start: &Start, names: Option<Names>) {
        for (horizon, until) in self.start_horizon.iter().zip(start.horizon.until) {
            horizon.store(until.0, Ordering::Relaxed);
        }
        self.toggle.store(start.horizon.toggle, Ordering::Relaxed);
        self.start_clock_reading.store(start.last_clock_reading.0, Ordering::Relaxed);
        self.set_last_clock_reading(start.last_clock_reading);
        for (epoch, known) in self.epochs.iter().zip(start.epochs) {
            epoch.set(known);
        }
        if let Some(Names { guid_node, mac_address }) = names {
            self.guid_node.store(guid_node, Ordering::Relaxed);
            self.mac_address.store(mac_address, Ordering::Relaxed);
        }
        // Release pairs with the Acquire in `loaded`.
        self.loaded.store(true, Ordering::Release);
    }

    /// Returns whether the state has been opened since shared memory was initialized.
    pub fn loaded(&self) -> bool {
        // Acquire pairs with the Release in `install`.
        self.loaded.load(Ordering::Acquire)
    }

    /// Returns the horizon when shared memory was initialized.
    pub fn start_horizon(&self) -> Horizon {
        Horizon {
            until: std::array::from_fn(|track| {
                UnixNanos(self.start_horizon[track].load(Ordering::Relaxed))
            }),
            toggle: self.toggle.load(Ordering::Relaxed),
        }
    }

    /// Returns the state with which shared memory was initialized; and the earliest epochs of now.
    pub fn start(&self) -> Start {
        Start {
            horizon: self.start_horizon(),
            last_clock_reading: UnixNanos(self.start_clock_reading.load(Ordering::Relaxed)),
            epochs: self.epochs(),
        }
    }

    /// Returns the horizon when shared memory was initialized, raised by all that revived cells
    /// have issued since.
    pub fn issued_horizon(&self) -> Horizon {
        let mut horizon = self.start_horizon();
        for (until, issued) in horizon.until.iter_mut().zip(&self.issued) {
            *until = UnixNanos(issued.load(Ordering::Relaxed)).max(*until);
        }
        horizon
    }

    /// Adds what a cell has issued, before it is revived. The caller holds the lock.
    pub fn add_issued(&self, issued: Horizon) {
        for (greatest, until) in self.issued.iter().zip(issued.until) {
            greatest.fetch_max(until.0, Ordering::Relaxed);
        }
    }

    /// Returns the last reading of the clock that is known.
    pub fn last_clock_reading(&self) -> UnixNanos {
        UnixNanos(self.last_clock_reading.load(Ordering::Relaxed))
    }

    /// Sets the last reading of the clock. The caller holds the lock.
    pub fn set_last_clock_reading(&self, reading: UnixNanos) {
        self.last_clock_reading.store(reading.0, Ordering::Relaxed);
    }

    /// Returns the earliest epoch of the ID type with this index; `None` if it has issued no IDs.
    pub fn epoch(&self, id_type: usize) -> Option<UnixNanos> {
        self.epochs[id_type].get()
    }

    /// Sets the earliest epoch of the ID type with this index. The caller holds the lock.
    pub fn set_epoch(&self, id_type: usize, epoch: UnixNanos) {
        self.epochs[id_type].set(Some(epoch));
    }

    /// Returns the earliest epoch of each ID type.
    pub fn epochs(&self) -> Epochs {
        std::array::from_fn(|id_type| self.epoch(id_type))
    }

    /// Returns whether IDs of any ID type were ever issued.
    pub fn has_ids(&self) -> bool {
        self.epochs().iter().any(Option::is_some)
    }

    /// Returns the random names of the server; `None` until the state has been read.
    pub fn names(&self) -> Option<Names> {
        let guid_node = self.guid_node.load(Ordering::Relaxed);
        let mac_address = self.mac_address.load(Ordering::Relaxed);
        (self.loaded() && mac_address != 0).then_some(Names { guid_node, mac_address })
    }
}
