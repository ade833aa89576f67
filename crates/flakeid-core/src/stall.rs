//! The reason why a cell or a session has no ID.

use crate::clock::Tick;
use crate::generator::Stamp;

/// The reason why there is no ID now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// There is no ID before the clock reads the tick `until`; it read `now`.
    Wait { until: Tick, now: Tick },
    /// The gate does not admit this stamp, or the server has not changed to its timeline. The gate
    /// must be moved first.
    Gated(Stamp),
    /// The clock read `now`, more than a tick behind the last ID's tick `from`. Only the first
    /// caller that notices the step gets this stall, logs it, and asks again. Then the cell does
    /// what its ID type does after a step back.
    SteppedBack { from: Tick, now: Tick },
    /// Time has passed the last tick that may be issued.
    Ended,
    /// The clock is before the epoch of the ID type.
    BeforeEpoch,
    /// The cell has been sealed: the server has stopped issuing IDs from it.
    Sealed,
    /// The gate serves a later generation than the caller's. The caller makes its list of cells
    /// again.
    Outdated,
}
