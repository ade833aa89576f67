//! Generator IDs on lease: what a node may do on claims that end by themselves.
//!
//! A registry that all nodes reach (etcd) keeps for each generator ID of a pool who holds it, a claim
//! that ends when its holder no longer renews it, and a **mark**: a moment which outlives the claim. Every
//! ID that was ever made under that generator ID has a tick that begins before its mark.
//!
//! # Why no two holders make the same ID
//! 1. *The mark is ahead of the IDs.* Before a node may issue up to a moment, its [`Claim::ceiling`],
//!    that moment is in the registry as the mark, written in one transaction with the proof that the
//!    claim is still the node's. Its gate never stands beyond the ceiling ([`Claim::caps`]), and an ID
//!    goes out only for a tick that begins before the gate.
//! 2. *A successor begins above the mark.* It reads the mark and takes the claim in such a way that the
//!    claim fails if the mark has changed meanwhile; and no one can change it afterwards without the
//!    claim. Its cells begin ([`Cell::revive`](crate::cell::Cell::revive)) above the mark, in both timelines.
//! 3. Therefore uniqueness hangs on no clock and no timer: not on the registry's, which may let a claim
//!    end early; not on this node's, which may be set; not on how long a process stood still between a
//!    look at the gate and its swap, as the tick it puts is before the ceiling whenever that happens.
//!
//! # What the deadline is for
//! That a node stops before another can begin, so that IDs stay k-ordered, and the other doesn't have to
//! wait for the mark. A claim that was last renewed by a request sent at `sent`, for `ttl`, ends there at
//! `sent + ttl` or later, so the node gives up a [margin](Term::margin) before that, by the clock since boot,
//! which nobody sets and which goes on while the machine sleeps; and by the wall clock, which the gate
//! is compared with: it never stands further ahead than what is left of the deadline. A deadline that has
//! passed is final, whatever answer comes later.
//!
//! # When the holder lets go
//! It seals the cells of these generator IDs first ([`Cell::seal`](crate::cell::Cell::seal)): then what they
//! had last is exact, and is what the mark becomes; and nothing can follow, whoever still has the cell in
//! its list. If the same node claims the ID again, the sealed cell is revived above all that it had itself,
//! above the mark, and above the horizon.

use crate::clock::UnixNanos;
use crate::gate::Horizon;
use crate::generator_ids::{GeneratorIds, MAX_OWNED};
use core::ops::RangeInclusive;
use core::time::Duration;

/// For how long a claim is asked for at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term(pub Duration);

impl Term {
    /// What is left unused at its end: for the clocks' rates and what is rounded on the way.
    pub fn margin(self) -> Duration {
        (self.0 / 10).max(Duration::from_secs(1)).min(self.0 / 2)
    }

    /// How long IDs are made on it without a renewal.
    pub fn usable(self) -> Duration {
        self.0 - self.margin()
    }

    /// When it is renewed, after it was last.
    pub fn renewal(self) -> Duration {
        self.0 / 3
    }
}

/// Both clocks, read before a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub now: UnixNanos,
    /// Since the machine was booted.
    pub boot: Duration,
}

/// What a node may do with the generator IDs that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// IDs may be made for ticks that begin before this. The registry has it, or more, as the mark of
    /// each of the generator IDs.
    pub ceiling: UnixNanos,
    /// From then on, by the clock since boot, the claim is lost.
    pub deadline: Duration,
}

impl Claim {
    /// What a request sent then comes to, once the registry has granted it.
    pub fn asked(sent: Sent, term: Term) -> Self {
        let usable = term.usable();
        let ahead = u64::try_from(usable.as_nanos()).unwrap_or(u64::MAX);
        Self {
            ceiling: UnixNanos(sent.now.0.saturating_add(ahead)),
            deadline: sent.boot.saturating_add(usable),
        }
    }

    /// The same for a claim that is held already. The ceiling never comes down: IDs may have been made up
    /// to it.
    #[must_use]
    pub fn renewed(self, sent: Sent, term: Term) -> Self {
        let next = Self::asked(sent, term);
        Self { ceiling: next.ceiling.max(self.ceiling), ..next }
    }

    /// Whether it has ended by now. Once it has it never begins again.
    pub fn is_over(self, boot: Duration) -> bool {
        boot >= self.deadline
    }

    /// Where a gate may stand that the horizon alone would let stand there.
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

/// Up to `want` generator IDs of the pool that nobody holds: those that the clock is past the mark of
/// before those that it is not. From `start` on, and then from the pool's beginning: who begins elsewhere
/// than others who want some at the same time seldom wants the same. One look at each.
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
    const TERM: Term = Term(Duration::from_secs(30));

    fn sent(now: u64, boot: u64) -> Sent {
        Sent { now: UnixNanos(now * SECOND), boot: Duration::from_secs(boot) }
    }

    #[test]
    fn a_term_leaves_a_tenth_unused_and_at_least_a_second() {
        assert_eq!(TERM.margin(), Duration::from_secs(3));
        assert_eq!(TERM.usable(), Duration::from_secs(27));
        assert_eq!(Term(Duration::from_secs(5)).margin(), Duration::from_secs(1));
        assert_eq!(Term(Duration::from_secs(1)).usable(), Duration::from_millis(500));
        assert_eq!(TERM.renewal(), Duration::from_secs(10));
    }

    #[test]
    fn a_claim_counts_from_before_the_request() {
        let claim = Claim::asked(sent(1000, 50), TERM);
        assert_eq!(claim.ceiling, UnixNanos(1027 * SECOND));
        assert!(!claim.is_over(Duration::from_secs(77) - Duration::from_nanos(1)));
        assert!(claim.is_over(Duration::from_secs(77)));
    }

    #[test]
    fn a_ceiling_never_comes_down_and_a_deadline_goes_by_the_last_request() {
        let claim = Claim::asked(sent(5000, 50), TERM).renewed(sent(1000, 60), TERM);
        assert_eq!(claim.ceiling, UnixNanos(5027 * SECOND));
        assert_eq!(claim.deadline, Duration::from_secs(87));
    }

    #[test]
    fn a_gate_is_capped_by_the_ceiling_by_what_is_left_and_by_the_end() {
        let claim = Claim::asked(sent(1000, 50), TERM);
        let far = Horizon { toggle: true, ..Horizon::NONE.raised(UnixNanos(9000 * SECOND)) };
        let cap = |now: u64, boot: u64| {
            let capped = claim.caps(far, UnixNanos(now * SECOND), Duration::from_secs(boot));
            assert!(capped.toggle);
            assert_eq!(capped.until, [capped.until[0]; 3]);
            capped.until[0].0 / SECOND
        };
        assert_eq!(cap(1000, 50), 1027);
        assert_eq!(cap(1010, 60), 1027);
        // The clock was set an hour ahead: not beyond what the registry has.
        assert_eq!(cap(4600, 60), 1027);
        // It was set back: not longer than the lease.
        assert_eq!(cap(500, 60), 517);
        assert_eq!(cap(1026, 76), 1027);
        assert_eq!(cap(1027, 77), 0);
        assert_eq!(cap(500, 77), 0);
        // It opens nothing that the horizon does not.
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
    fn who_begins_elsewhere_goes_round() {
        let all: Vec<u16> = (0..30).collect();
        assert_eq!(chosen(18, 4, &all, &all), [10, 11, 18, 19]);
        assert_eq!(chosen(u16::MAX, 2, &all, &all), [10, 19]);
    }
}
