#![cfg(not(loom))]
//! Announcements of the watermark on a server with random transactions, clocks and looks.
//!
//! Each row has an ID that is not after the clock at which it was generated, and becomes visible
//! some time later. The watermark follows the clock, but open transactions hold it back, and it
//! never falls. Then:
//! * Each row is below an announced watermark at last.
//! * Two announcements are at least an interval apart.
//! * When each row is covered and no transaction ends, nothing is announced any more.
//!
//! The clock is set forth and back, but not back before a look has seen it ahead. After a step
//! back, an ID may be the next one after an ID that is ahead of the clock.

use flakeid_core::announcer::Announcer;
use flakeid_core::clock::UnixNanos;
use proptest::prelude::*;
use std::time::Duration;

const MILLI: u64 = 1_000_000;

/// The distance of the watermark from the clock while nothing holds it back.
const LAG: u64 = 4 * MILLI;

/// The longest time between two looks, in milliseconds.
const LONGEST_LOOK: u64 = 40;

/// An event within one millisecond.
#[derive(Clone, Copy, Debug)]
enum Step {
    Nothing,
    /// A transaction generates an ID, and ends after so many milliseconds. If the clock is behind
    /// the last ID, the ID may be of the same tick.
    Transaction {
        length: u64,
        is_ahead: bool,
    },
    SetForth(u64),
    SetBack(u64),
    /// The next look comes after so many milliseconds.
    LateLook(u64),
    SetInterval(u64),
}

fn transaction(longest: u64) -> impl Strategy<Value = Step> {
    (0..longest, any::<bool>())
        .prop_map(|(length, is_ahead)| Step::Transaction { length, is_ahead })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        80 => Just(Step::Nothing),
        8 => transaction(5),
        2 => transaction(400),
        1 => (0..2_000u64).prop_map(Step::SetForth),
        1 => prop_oneof![1..LONGEST_LOOK, 1..3_000u64].prop_map(Step::SetBack),
        2 => (0..LONGEST_LOOK).prop_map(Step::LateLook),
        1 => (0..300u64).prop_map(Step::SetInterval),
    ]
}

/// A transaction with an ID, whose bound the watermark does not pass while it is open.
struct Transaction {
    id: u64,
    bound: u64,
    ends_at: u64,
}

/// A server. All times are in nanoseconds.
struct Server {
    boot: u64,
    /// The reading of the clock less the time since boot.
    offset: u64,
    /// Whether the clock was set forth since the last look.
    is_ahead_unseen: bool,
    /// The greatest watermark that was computed. No later ID is below it.
    floor: u64,
    open: Vec<Transaction>,
    greatest_id: u64,
    has_ended: bool,
    /// The IDs of rows that no announcement has covered.
    rows: Vec<u64>,
    announcer: Announcer,
    interval: u64,
    look_at: u64,
    announced_at: Option<u64>,
    announcements: u64,
}

impl Server {
    fn new() -> Self {
        let (offset, interval) = (100_000 * MILLI, 50 * MILLI);
        let boot = Duration::ZERO;
        Self {
            boot: 0,
            offset,
            is_ahead_unseen: false,
            floor: 0,
            open: Vec::new(),
            greatest_id: 0,
            has_ended: false,
            rows: Vec::new(),
            announcer: Announcer::new(Duration::from_nanos(interval), UnixNanos(offset), boot),
            interval,
            look_at: 0,
            announced_at: None,
            announcements: 0,
        }
    }

    fn now(&self) -> u64 {
        self.boot + self.offset
    }

    /// Lets a millisecond pass, with what happens in it.
    fn pass(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Transaction { length, is_ahead } => {
                let bound = self.floor.max(self.now() - LAG);
                let id = if is_ahead { self.now().max(self.greatest_id) } else { self.now() };
                // A session waits while the clock is behind its bound.
                if id >= bound {
                    self.greatest_id = self.greatest_id.max(id);
                    self.open.push(Transaction { id, bound, ends_at: self.boot + length * MILLI });
                }
            }
            Step::SetForth(millis) => {
                self.offset += millis * MILLI;
                self.is_ahead_unseen = true;
            }
            Step::SetBack(millis) if !self.is_ahead_unseen => {
                self.offset = self.offset.saturating_sub(millis * MILLI).max(LAG);
            }
            Step::SetBack(_) => {}
            Step::LateLook(millis) => self.look_at = self.look_at.max(self.boot + millis * MILLI),
            Step::SetInterval(millis) => {
                self.interval = millis * MILLI;
                self.announcer.set_interval(Duration::from_millis(millis));
            }
        }
        let boot = self.boot;
        for ended in self.open.extract_if(.., |open| open.ends_at <= boot) {
            self.rows.push(ended.id);
            self.has_ended = true;
        }
        if self.look_at <= boot {
            self.look();
        }
        self.boot += MILLI;
    }

    fn look(&mut self) {
        let (now, boot) = (UnixNanos(self.now()), Duration::from_nanos(self.boot));
        self.announcer.look(std::mem::take(&mut self.has_ended), now, boot);
        self.is_ahead_unseen = false;
        if !self.announcer.is_due(boot) {
            return;
        }
        self.floor = self.floor.max(self.now() - LAG);
        let watermark = self.open.iter().map(|open| open.bound).fold(self.floor, u64::min);
        if self.announcer.announces(UnixNanos(watermark), boot) {
            let pause = self.announced_at.map_or(u64::MAX, |at| self.boot - at);
            assert!(pause >= self.interval, "two announcements within {pause} ns");
            self.announced_at = Some(self.boot);
            self.announcements += 1;
            self.rows.retain(|&id| id >= watermark);
        }
    }

    /// Lets nothing happen until the clock shows a time.
    fn rest_until(&mut self, time: u64) {
        while self.now() < time {
            self.pass(Step::Nothing);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn each_row_is_announced_at_last_and_then_nothing_is(
        steps in prop::collection::vec(step(), 1..3_000),
    ) {
        let mut server = Server::new();
        let mut greatest = server.now();
        for step in steps {
            server.pass(step);
            greatest = greatest.max(server.now());
        }
        let second = 1_000 * MILLI;
        // The longest transaction has ended by then, and so has the longest interval.
        server.rest_until(greatest.max(server.now() + second) + 2 * second);
        prop_assert!(server.open.is_empty());
        prop_assert_eq!(&server.rows, &[]);
        let announcements = server.announcements;
        server.rest_until(server.now() + 5 * second);
        prop_assert_eq!(server.announcements, announcements, "nothing has ended");
    }
}
