//! The gate: a moment on the wall clock before which IDs may be issued without asking anyone.
//!
//! It is one comparison on the hot path. Who moves it must first have made sure of what it
//! promises (that the moment is durable, that a lease lasts until then); the gate only says yes or
//! no. A gate that nobody guards stands open.

use crate::clock::{Scale, Tick, UnixNanos};
use crate::sync::{AtomicU64, Ordering};

/// The moment in nanoseconds since 1970-01-01 UTC. It only ever grows while IDs may be issued.
#[derive(Debug)]
pub struct Gate {
    until: AtomicU64,
}

impl Gate {
    /// A gate that admits every tick.
    pub fn open() -> Self {
        Self { until: AtomicU64::new(u64::MAX) }
    }

    /// A gate that admits the ticks that begin before this moment.
    pub fn until(moment: UnixNanos) -> Self {
        Self { until: AtomicU64::new(moment.0) }
    }

    /// Whether IDs of `tick` may be issued: it begins before the gate.
    ///
    /// Acquire pairs with the Release of whoever moves the gate: an ID let through comes after all
    /// that was done before the gate was moved.
    #[inline]
    pub fn admits(&self, scale: Scale, tick: Tick) -> bool {
        scale.nanos(tick).0 < self.until.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::cell::{Ask, Cell, Outcome};
    use crate::generator::{Rules, Stamp, Word};
    use crate::sno::{SCALE, TickTock};

    #[test]
    fn nothing_is_issued_from_the_gate_on() {
        let gate = Gate::until(SCALE.nanos(Tick(10)));
        let cell = Cell::after::<TickTock>(Tick(5));
        let rules = Rules { sequence: (0, 7), end: Tick(1000) };
        let issue = |now| {
            let ask =
                Ask { floor: Stamp::default(), later: false, within: Tick(u64::MAX), want: 1 };
            cell.issue::<TickTock>(ask, &rules, &gate, SCALE, &mut || Some(Tick(now)))
        };
        assert!(matches!(issue(9), Outcome::Issued(_)));
        let word = cell.word();
        assert_eq!(issue(10), Outcome::Gated(Tick(10)));
        assert_eq!(issue(11), Outcome::Gated(Tick(11)));
        assert_eq!(cell.word(), word);
        // A tick that begins within the gate stays good, and so does a turn into one.
        assert!(matches!(issue(9), Outcome::Issued(_)));
        assert!(matches!(issue(7), Outcome::Issued(_)));
        assert_ne!(cell.word().stamp::<TickTock>(), Word::stamp::<TickTock>(word));
    }

    #[test]
    fn an_open_gate_admits_all() {
        assert!(Gate::open().admits(SCALE, SCALE.last()));
    }
}
