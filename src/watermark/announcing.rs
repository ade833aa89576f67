//! The common parts of both workers that tell readers of the watermark: the
//! [`publisher`](super::publisher) and the [`notifier`](super::notifier).
//!
//! # How a worker finds that transactions have ended
//! It adds up how many transactions have left each slot, which is a number that sessions write
//! anyway. Transactions that were prepared stand in the list ([`prepared`]), so it compares the
//! list as well ([`Ended`]). Sessions do nothing for it.

use super::transactions::next_transaction;
use super::{prepared, reader};
use crate::error::Report;
use crate::process;
use crate::shmem::{Shared, WatermarkSegment};
use flakeid_core::watermark::Position;
use flakeid_core::watermark_message::WatermarkMessage;
use pgrx::bgworkers::BackgroundWorker;
use std::time::Duration;

/// The interval at which workers look whether transactions have ended.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The transactions that have ended, as far as a worker has seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ended {
    left: u64,
    prepared: u64,
}

impl Ended {
    /// Looks at all slots and at the list of prepared transactions.
    pub fn look(memory: &WatermarkSegment) -> Self {
        let left = memory.processes().iter().map(|process| process.slot.left());
        Self { left: left.fold(0, u64::wrapping_add), prepared: prepared::fingerprint(memory) }
    }

    /// Looks again, and returns whether transactions have ended since the last look.
    pub fn have_changed(&mut self, memory: &WatermarkSegment) -> bool {
        let seen = std::mem::replace(self, Self::look(memory));
        seen != *self
    }
}

/// Returns the watermark of all snapshots that are taken from now on, and a position that was read
/// after it was computed.
///
/// # Errors
/// The errors of the horizon, without which there are no IDs; the file cannot be written.
pub fn present(
    shared: &'static Shared,
    memory: &'static WatermarkSegment,
) -> Result<WatermarkMessage, Report> {
    let watermark = reader::present(shared, memory)?;
    Ok(WatermarkMessage { watermark, position: Position(next_transaction()) })
}

/// Reads the settings again after a reload.
pub fn take_settings() {
    if BackgroundWorker::sighup_received() {
        process::read_configuration_files();
    }
}
