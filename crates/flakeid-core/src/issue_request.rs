//! The request of a session to a cell.

use crate::clock::Tick;
use crate::generator::Stamp;

/// The arguments of [`Cell::issue`](crate::cell::Cell::issue) that describe what a session needs.
#[derive(Clone, Copy, Debug)]
pub struct IssueRequest {
    /// The stamp of the session's last ID. The next one sorts at or above it, except after a change
    /// of timeline.
    pub floor: Stamp,
    /// Whether the next ID must be of a later tick than `floor`.
    pub later: bool,
    /// The tick in which the caller wants to stay: nothing is issued once the clock is past it.
    pub within: Tick,
    /// The number of IDs that the caller wants, at least one.
    pub want: u32,
    /// The number of IDs that the caller uses at once, so that the swap counts them. The caller
    /// counts the others later, when it uses them.
    pub at_once: u32,
    /// The number of IDs of this cell that the caller has used and nothing has counted yet.
    pub uncounted: u32,
    /// Whether the caller can use other cells. Then this cell issues nothing of a tick that the
    /// clock has not reached.
    pub current: bool,
    /// The generation of the server's identity for which the caller looked up this cell.
    pub generation: u64,
    /// The first tick that the caller may have. Unlike `floor` it holds across a change of
    /// timeline.
    pub least: Tick,
}

impl IssueRequest {
    /// Requests `want` IDs, all of which are used at once, without a condition on those before.
    pub const fn any(want: u32) -> Self {
        Self {
            floor: Stamp::FIRST,
            later: false,
            within: Tick(u64::MAX),
            want,
            at_once: want,
            uncounted: 0,
            current: false,
            generation: 0,
            least: Tick(0),
        }
    }
}
