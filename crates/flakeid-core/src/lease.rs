//! Leased generator IDs: the limits of a server whose claims on generator IDs end by themselves.
//!
//! Summary: a registry that all servers reach (etcd) keeps two things for each generator ID of a
//! pool. One is a claim, which ends when its holder no longer renews it. The other is a
//! **high-water mark**, a time that outlives the claim. Every ID that was ever issued with that
//! generator ID has a tick that begins before its high-water mark. A holder issues only up to a
//! time that the registry has as the high-water mark, and the next holder begins above it. So no
//! two holders issue the same ID, with any clocks.
//!
//! # Why no two holders issue the same ID
//! 1. *The high-water mark is ahead of the IDs.* Before a server may issue up to a time, its
//!    [`LeaseLimits::ceiling`], that time is in the registry as the high-water mark. It was written
//!    in one transaction with the proof that the server still has the claim. The server's gate is
//!    never past the ceiling ([`LeaseLimits::caps`]), and an ID is issued only for a tick that
//!    begins before the gate.
//! 2. *A successor begins above the high-water mark.* It reads the high-water mark, and takes the
//!    claim in such a way that the claim fails if the high-water mark has changed since. Without
//!    the claim no server can change the high-water mark afterwards. The successor's cells begin
//!    ([`Cell::revive`](crate::cell::Cell::revive)) above it, in both timelines.
//! 3. Therefore uniqueness depends on no clock and no timer. The registry's clock may end a claim
//!    early. The clock of this server may be set. A process may stop for any time between a look at
//!    the gate and its swap. In each case the tick that the swap writes is before the ceiling.
//!
//! # The deadline
//! By the deadline a server stops before another can begin. So IDs stay k-ordered, and the other
//! server does not have to wait for the high-water mark. Suppose that a request sent at `sent` last
//! renewed a claim, for `ttl`. Then the claim ends at `sent + ttl` or later. The server stops a
//! [margin](LeaseDuration::margin) before that, by the clock since boot, which is never set and
//! which continues while the machine sleeps. It also stops by the wall clock, with which the gate
//! is compared: the gate is never further ahead than the time until the deadline. A deadline that
//! has passed is final, for every later answer.
//!
//! # When the holder releases a generator ID
//! It first seals the cells of the generator ID ([`Cell::seal`](crate::cell::Cell::seal)). Then
//! their last tick is exact, and becomes the high-water mark. Nothing can follow, even if a session
//! still has the cell in its list. If the same server claims the generator ID again, it revives the
//! sealed cell: above all that the cell itself had, above the high-water mark, and above the
//! horizon.

use crate::clock::UnixNanos;
use crate::gate::Horizon;
use crate::generator_ids::{GeneratorIds, MAX_OWNED};
use core::ops::RangeInclusive;
use core::time::Duration;

/// The time for which a server requests a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDuration(pub Duration);

impl LeaseDuration {
    /// Returns the part at the end that is not used: it covers the differences in clock rates, and
    /// rounding.
    pub fn margin(self) -> Duration {
        (self.0 / 10).max(Duration::from_secs(1)).min(self.0 / 2)
    }

    /// Returns how long a server issues IDs with the claim if it is not renewed.
    pub fn usable(self) -> Duration {
        self.0 - self.margin()
    }

    /// Returns the time from one renewal to the next.
    pub fn renewal(self) -> Duration {
        self.0 / 3
    }
}

/// The readings of both clocks before a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTime {
    /// The wall clock.
    pub now: UnixNanos,
    /// The time since the machine was booted.
    pub boot: Duration,
}

/// The limits of a server that holds generator IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLimits {
    /// The time before which the tick of each ID must begin. The registry has it, or a later time,
    /// as the high-water mark of each of the generator IDs.
    pub ceiling: UnixNanos,
    /// The time since boot from which the claim is lost.
    pub deadline: Duration,
}

impl LeaseLimits {
    /// Creates the claim that results from a request sent at `sent`, once the registry has granted
    /// it.
    pub fn from_grant(sent: RequestTime, term: LeaseDuration) -> Self {
        let usable = term.usable();
        let ahead = u64::try_from(usable.as_nanos()).unwrap_or(u64::MAX);
        Self {
            ceiling: UnixNanos(sent.now.0.saturating_add(ahead)),
            deadline: sent.boot.saturating_add(usable),
        }
    }

    /// Returns the claim after a renewal that was sent at `sent`. The ceiling never decreases: IDs
    /// may have been issued up to it.
    #[must_use]
    pub fn renewed(self, sent: RequestTime, term: LeaseDuration) -> Self {
        let next = Self::from_grant(sent, term);
        Self { ceiling: next.ceiling.max(self.ceiling), ..next }
    }

    /// Returns whether the claim has ended. Once it has ended it never begins again.
    pub fn is_expired(self, boot: Duration) -> bool {
        boot >= self.deadline
    }

    /// Returns the horizon, cut to the ceiling and to the time until the deadline. A gate of leased
    /// generator IDs stands at most there.
    pub fn caps(self, horizon: Horizon, now: UnixNanos, boot: Duration) -> Horizon {
        let left = self.deadline.saturating_sub(boot);
        if left.is_zero() {
            return Horizon { toggle: horizon.toggle, ..Horizon::NONE };
        }
        let left = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        let most = self.ceiling.min(UnixNanos(now.0.saturating_add(left)));
        Horizon { until: horizon.until.map(|until| until.min(most)), ..horizon }
    }
}

/// Chooses up to `want` generator IDs of the pool that no server holds. First come those whose
/// high-water mark the clock is past. The search begins at `start`, and continues from the
/// beginning of the pool. Servers that begin at different places seldom choose the same IDs at the
/// same time. Each ID is looked at once.
pub fn choose(
    pool: RangeInclusive<u16>,
    start: u16,
    want: usize,
    is_free: impl Fn(u16) -> bool,
    is_past: impl Fn(u16) -> bool,
) -> Option<GeneratorIds> {
    let (first, last) = (*pool.start(), *pool.end());
    let start = start.clamp(first, last);
    let order = || (start..=last).chain(first..start);
    let mut chosen = [0; MAX_OWNED];
    let mut count = 0;
    let past = order().filter(|&id| is_free(id) && is_past(id));
    let ahead = order().filter(|&id| is_free(id) && !is_past(id));
    for (place, id) in chosen.iter_mut().zip(past.chain(ahead)).take(want) {
        *place = id;
        count += 1;
    }
    GeneratorIds::of(&chosen[..count])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;
    const TERM: LeaseDuration = LeaseDuration(Duration::from_secs(30));

    fn sent(now: u64, boot: u64) -> RequestTime {
        RequestTime { now: UnixNanos(now * SECOND), boot: Duration::from_secs(boot) }
    }

    #[test]
    fn a_term_leaves_a_tenth_unused_and_at_least_a_second() {
        assert_eq!(TERM.margin(), Duration::from_secs(3));
        assert_eq!(TERM.usable(), Duration::from_secs(27));
        assert_eq!(LeaseDuration(Duration::from_secs(5)).margin(), Duration::from_secs(1));
        assert_eq!(LeaseDuration(Duration::from_secs(1)).usable(), Duration::from_millis(500));
        assert_eq!(TERM.renewal(), Duration::from_secs(10));
    }

    #[test]
    fn a_claim_counts_from_before_the_request() {
        let claim = LeaseLimits::from_grant(sent(1000, 50), TERM);
        assert_eq!(claim.ceiling, UnixNanos(1027 * SECOND));
        assert!(!claim.is_expired(Duration::from_secs(77) - Duration::from_nanos(1)));
        assert!(claim.is_expired(Duration::from_secs(77)));
    }

    #[test]
    fn a_ceiling_never_comes_down_and_a_deadline_goes_by_the_last_request() {
        let claim = LeaseLimits::from_grant(sent(5000, 50), TERM).renewed(sent(1000, 60), TERM);
        assert_eq!(claim.ceiling, UnixNanos(5027 * SECOND));
        assert_eq!(claim.deadline, Duration::from_secs(87));
    }

    #[test]
    fn a_gate_is_capped_by_the_ceiling_by_what_is_left_and_by_the_end() {
        let claim = LeaseLimits::from_grant(sent(1000, 50), TERM);
        let far = Horizon { toggle: true, ..Horizon::NONE.raised(UnixNanos(9000 * SECOND)) };
        let cap = |now: u64, boot: u64| {
            let capped = claim.caps(far, UnixNanos(now * SECOND), Duration::from_secs(boot));
            assert!(capped.toggle);
            assert_eq!(capped.until, [capped.until[0]; 3]);
            capped.until[0].0 / SECOND
        };
        assert_eq!(cap(1000, 50), 1027);
        assert_eq!(cap(1010, 60), 1027);
        // After a step of the clock by an hour forward, the registry's time is the limit.
        assert_eq!(cap(4600, 60), 1027);
        // After a step back, the rest of the lease is the limit.
        assert_eq!(cap(500, 60), 517);
        assert_eq!(cap(1026, 76), 1027);
        assert_eq!(cap(1027, 77), 0);
        assert_eq!(cap(500, 77), 0);
        // A claim opens nothing that the horizon does not.
        let near = Horizon::NONE.raised(UnixNanos(1001 * SECOND));
        assert_eq!(claim.caps(near, UnixNanos(1000 * SECOND), Duration::from_secs(50)), near);
    }

    fn chosen(start: u16, want: usize, free: &[u16], past: &[u16]) -> Vec<u16> {
        choose(10..=19, start, want, |id| free.contains(&id), |id| past.contains(&id))
            .map_or(Vec::new(), |ids| ids.as_slice().to_vec())
    }

    #[test]
    fn the_lowest_free_ids_are_chosen_those_of_the_past_first() {
        let all: Vec<u16> = (0..30).collect();
        assert_eq!(chosen(0, 3, &all, &all), [10, 11, 12]);
        assert_eq!(chosen(0, 3, &[3, 11, 14, 15, 25], &all), [11, 14, 15]);
        assert_eq!(chosen(0, 3, &all, &[13, 19]), [10, 13, 19]);
        assert_eq!(chosen(0, 100, &all, &[]), (10..20).collect::<Vec<_>>());
        assert_eq!(chosen(0, 3, &[], &all), []);
    }

    #[test]
    fn a_search_that_begins_elsewhere_wraps_around() {
        let all: Vec<u16> = (0..30).collect();
        assert_eq!(chosen(18, 4, &all, &all), [10, 11, 18, 19]);
        assert_eq!(chosen(u16::MAX, 2, &all, &all), [10, 19]);
    }
}
