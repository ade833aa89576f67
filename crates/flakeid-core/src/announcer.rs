//! When a server announces its watermark: by `NOTIFY`, and in its write-ahead log (WAL) for
//! standbys.
//!
//! Summary: an announcement is of use only if a reader finds rows that the last announced watermark
//! did not cover. So a server looks, every few milliseconds, whether transactions with IDs have
//! ended. When some have, it announces the watermark that covers them, and no more often than once
//! in an interval.
//!
//! # The argument
//! Take a row that became visible. Its ID has a time before the reading of the clock at which the
//! server first found that its transaction had ended ([`Announcer::look`]). So a watermark after
//! that reading covers the row.
//! 1. *Each row is covered by an announcement.* From that reading on something is pending. It stays
//!    so until a watermark after the reading has been announced ([`Announcer::announces`]). The
//!    watermark gets there, as soon as no transaction holds it back.
//! 2. *No announcement is without use*, but a few. While nothing is pending nothing is announced.
//!    The first announcement waits for a watermark after the first reading. If other transactions
//!    hold that back for longer than the interval, a watermark that has risen is announced: it may
//!    cover earlier IDs of long transactions. While no further transaction ends, each such
//!    announcement waits twice as long as the one before.
//! 3. *A clock that steps back* shows readings before the IDs of rows. So the greatest reading
//!    counts that a session may have had by then: at each look, that of the last look with the time
//!    since. A clock that is set ahead, and then steps back between two looks, can be ahead of
//!    that. Something is pending until the watermark is past that reading, which a clock that was a
//!    year ahead makes a year. By the doubled waits that is some thirty announcements.
//!
//! # What outlives what
//! An announcer lives as long as its process. A new one begins with something pending: the rows of
//! its predecessor may not be announced.

use crate::clock::UnixNanos;
use core::time::Duration;

/// The shortest interval that is doubled.
const SHORTEST: Duration = Duration::from_millis(1);

/// The state of one announcer.
#[derive(Clone, Debug)]
pub struct Announcer {
    interval: Duration,
    /// The first reading of the clock at which transactions had ended whose rows are not announced,
    /// and the greatest one that a session may have had when the last of them ended.
    pending: Option<(UnixNanos, UnixNanos)>,
    /// How many announcements since the last end of a transaction have left something pending.
    left_pending: u32,
    /// The time since boot at which something became pending.
    pending_since: Duration,
    /// The last watermark that was announced, and when, as time since boot.
    announced: Option<(UnixNanos, Duration)>,
    /// The last look: the reading of the clock, and the time since boot.
    looked: (UnixNanos, Duration),
    /// The greatest reading of the clock that a session may have had.
    greatest: UnixNanos,
}

impl Announcer {
    /// Creates an announcer that announces at most once in an interval. Something is pending.
    pub fn new(interval: Duration, now: UnixNanos, boot: Duration) -> Self {
        Self {
            interval,
            pending: Some((now, now)),
            left_pending: 0,
            pending_since: boot,
            announced: None,
            looked: (now, boot),
            greatest: now,
        }
    }

    /// Changes the interval.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// Notes a look at the transactions: whether some with IDs have ended since the last look. The
    /// clock was read after that.
    pub fn look(&mut self, has_ended: bool, now: UnixNanos, boot: Duration) {
        // The clock may have shown this before it stepped back.
        let (before, at) = self.looked;
        let passed = boot.saturating_sub(at).as_nanos() as u64;
        self.greatest = self.greatest.max(now).max(UnixNanos(before.0.saturating_add(passed)));
        self.looked = (now, boot);
        if !has_ended {
            return;
        }
        let first = match self.pending {
            Some((first, _)) if self.left_pending == 0 => first.min(now),
            _ => {
                self.pending_since = boot;
                now
            }
        };
        self.pending = Some((first, self.greatest));
        self.left_pending = 0;
    }

    /// Returns whether the watermark may have to be announced now. If not, it need not be computed.
    pub fn is_due(&self, boot: Duration) -> bool {
        let paused = self.announced.is_none_or(|(_, at)| boot.saturating_sub(at) >= self.interval);
        self.pending.is_some() && paused
    }

    /// Returns whether to announce this watermark now, and notes that it is announced.
    pub fn announces(&mut self, watermark: UnixNanos, boot: Duration) -> bool {
        let Some((first, last)) = self.pending.filter(|_| self.is_due(boot)) else { return false };
        let has_risen = self.announced.is_none_or(|(announced, _)| watermark > announced);
        let is_late = boot.saturating_sub(self.pending_since) >= self.longest_wait();
        if !has_risen || !(watermark > first || is_late) {
            return false;
        }
        self.announced = Some((watermark, boot));
        self.pending = (watermark <= last).then_some((last, last));
        self.left_pending += 1;
        self.pending_since = boot;
        true
    }

    /// Returns how long something may be pending before a watermark is announced that may not cover
    /// it.
    fn longest_wait(&self) -> Duration {
        match self.left_pending {
            0 => self.interval,
            doublings => self.interval.max(SHORTEST).saturating_mul(1 << doublings.min(31)),
        }
    }

    /// Returns whether the last announcement is older than a pause.
    pub fn may_repeat(&self, boot: Duration, pause: Duration) -> bool {
        self.announced.is_none_or(|(_, at)| boot.saturating_sub(at) >= pause)
    }

    /// Returns whether to announce a watermark although nothing is pending: the last announcement
    /// is older than a pause, and the watermark has risen since. Notes that it is announced.
    pub fn repeats(&mut self, watermark: UnixNanos, boot: Duration, pause: Duration) -> bool {
        let has_risen = self.announced.is_none_or(|(announced, _)| watermark > announced);
        let repeats = has_risen && self.may_repeat(boot, pause);
        if repeats {
            self.announced = Some((watermark, boot));
        }
        repeats
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(50);
    const MILLI: u64 = 1_000_000;
    /// The distance of the watermark from the clock while nothing holds it back.
    const LAG: u64 = 4 * MILLI;

    fn boot(now: u64) -> Duration {
        Duration::from_nanos(now)
    }

    /// Looks every millisecond from one time to another, and returns the times of the
    /// announcements.
    fn run(
        announcer: &mut Announcer,
        times: core::ops::Range<u64>,
        ends_at: impl Fn(u64) -> bool,
        watermark: impl Fn(u64) -> u64,
    ) -> std::vec::Vec<u64> {
        let step = |milli: u64| {
            let now = milli * MILLI;
            announcer.look(ends_at(milli), UnixNanos(now), boot(now));
            let watermark = UnixNanos(watermark(now));
            let due = announcer.is_due(boot(now));
            let announces = announcer.announces(watermark, boot(now));
            assert!(due || !announces, "{milli} ms: an announcement that is not due");
            announces.then_some(milli)
        };
        times.filter_map(step).collect()
    }

    fn quiet(at: u64) -> Announcer {
        let mut announcer = Announcer::new(INTERVAL, UnixNanos(0), boot(0));
        assert_eq!(run(&mut announcer, 1..at, |_| false, |now| now.saturating_sub(LAG)), [5]);
        announcer
    }

    #[test]
    fn a_transaction_is_announced_as_soon_as_the_watermark_covers_it() {
        let announced = run(&mut quiet(100), 100..1000, |milli| milli == 200, |now| now - LAG);
        assert_eq!(announced, [205]);
    }

    #[test]
    fn nothing_is_announced_while_no_transaction_ends() {
        assert_eq!(run(&mut quiet(100), 100..5000, |_| false, |now| now - LAG), []);
    }

    #[test]
    fn many_transactions_are_announced_once_in_an_interval_and_the_last_one_is_covered() {
        let ends = |milli| (200..400).contains(&milli);
        let announced = run(&mut quiet(100), 100..1000, ends, |now| now - LAG);
        assert_eq!(announced, [205, 255, 305, 355, 405]);
    }

    #[test]
    fn nothing_is_announced_while_the_watermark_stands_still() {
        let held = |now: u64| if now < 900 * MILLI { 150 * MILLI } else { now - LAG };
        let mut announcer = quiet(160);
        // It has risen since the last announcement, so one tells readers so.
        let announced = run(&mut announcer, 160..2000, |milli| milli == 200 || milli == 300, held);
        assert_eq!(announced, [250, 900]);
    }

    #[test]
    fn a_row_is_covered_whose_time_is_before_a_step_of_the_clock() {
        let mut announcer = quiet(5000);
        // The clock shows 4 s again; a row has an ID of 4.999 s. The watermark does not fall.
        let now = |milli: u64| UnixNanos((milli - 1000) * MILLI);
        let mut covered = 0;
        for milli in 5000..9000 {
            announcer.look(milli == 5000, now(milli), boot(milli * MILLI));
            let watermark = now(milli).0.saturating_sub(LAG).max(4990 * MILLI);
            if announcer.announces(UnixNanos(watermark), boot(milli * MILLI)) {
                covered = watermark;
            }
        }
        assert!(covered > 4999 * MILLI, "{covered}");
    }

    #[test]
    fn a_clock_that_was_far_ahead_costs_few_announcements() {
        let mut announcer = quiet(5000);
        let year = 365 * 86_400_000 * MILLI;
        announcer.look(false, UnixNanos(5000 * MILLI + year), boot(5000 * MILLI));
        // A transaction ends every 20 s, and between them nothing does.
        let ends = |milli: u64| milli.is_multiple_of(20_000);
        let announced = run(&mut announcer, 5001..100_000, ends, |now| now - LAG);
        for end in (1..5).map(|nr| nr * 20_000) {
            assert!(announced.contains(&(end + 5)), "{end}: {announced:?}");
        }
        assert!(announced.len() <= 4 * 10, "{announced:?}");
    }

    #[test]
    fn a_watermark_is_repeated_after_a_pause_if_it_has_risen() {
        let mut announcer = quiet(100);
        let pause = Duration::from_secs(1);
        let at = |milli: u64| (UnixNanos(milli * MILLI), boot(milli * MILLI), pause);
        let mut repeats = |milli| {
            let (watermark, boot, pause) = at(milli);
            announcer.repeats(watermark, boot, pause)
        };
        assert!(!repeats(500));
        assert!(repeats(1005));
        assert!(!repeats(1500));
        assert!(!announcer.repeats(UnixNanos(1005 * MILLI), boot(9000 * MILLI), pause));
    }

    #[test]
    fn an_interval_that_is_changed_counts_from_the_last_announcement() {
        let mut announcer = quiet(100);
        announcer.set_interval(Duration::from_millis(500));
        let announced = run(&mut announcer, 100..1000, |milli| milli == 200, |now| now - LAG);
        assert_eq!(announced, [505]);
    }
}
