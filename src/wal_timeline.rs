//! WAL timelines: that on which this server writes, that on which it started, and where one began.
//! In this file a timeline is such a one, and not one of sno.
//!
//! A promotion, and a recovery from an archive, begin a new timeline. PostgreSQL keeps for each but
//! the first a file of its history in `pg_wal`, and removes none. So a data directory shows for
//! good that it was recovered, and from where.

use crate::regular_file::{self, Links, data_directory};
use flakeid_core::opening::WalPoint;
use flakeid_formats::wal_point::last_of_history;
use pgrx::pg_sys;

/// The greatest length of a history file that is read. A line has some 40 bytes.
const LONGEST: usize = 1 << 20;

/// Returns the timeline on which this server writes; `None` while it is in recovery.
pub fn current() -> Option<u32> {
    // SAFETY: calls without preconditions. The timeline is set before recovery ends.
    unsafe { (!pg_sys::RecoveryInProgress()).then(|| pg_sys::GetWALInsertionTimeLine()) }
}

/// Returns the timeline of the last checkpoint in the control file. Before recovery begins, that is
/// the timeline on which this server starts. `None` if the control file is damaged.
pub fn of_control_file() -> Option<u32> {
    let mut is_intact = false;
    // SAFETY: the call reads the control file of the data directory, whose name is set before this
    // library is loaded, into memory of its own. The result is read before it is freed.
    unsafe {
        let control = pg_sys::get_controlfile(pg_sys::DataDir, &raw mut is_intact);
        let timeline = (*control).checkPointCopy.ThisTimeLineID;
        pg_sys::pfree(control.cast());
        is_intact.then_some(timeline)
    }
}

/// Returns the point at which a timeline began: on which one, and where. `None` if it is the first
/// one, or if its history cannot be read.
pub fn beginning(timeline: u32) -> Option<WalPoint> {
    let path = data_directory().join(format!("pg_wal/{timeline:08X}.history"));
    let (content, _) = regular_file::read(&path, LONGEST, Links::Refused).ok()?;
    last_of_history(&String::from_utf8_lossy(&content)).map(Into::into)
}
