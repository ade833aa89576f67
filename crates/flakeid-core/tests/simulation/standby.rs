//! What a standby has of its primary: a copy of its disk, and the transactions up to some moment.

use crate::checks::Place;
use crate::node::State;
use crate::random::Random;
use flakeid_core::clock::UnixNanos;
use std::collections::{BTreeMap, VecDeque};

pub struct Standby {
    /// The horizon as the base backup has it.
    copied: State,
    /// How often the primary's clock had been set back by then.
    pub steps_back: u64,
    /// The time of the last transaction that was replayed, as the primary wrote it: microseconds.
    replayed: Option<u64>,
    /// The last tick of each generator and timeline among what the backup has and what was replayed.
    tops: BTreeMap<usize, [u64; 2]>,
    /// What the primary committed after that: where an ID is, and the time.
    log: VecDeque<(Place, u64)>,
    lag: usize,
}

impl Standby {
    pub fn new(copied: State, steps_back: u64, tops: BTreeMap<usize, [u64; 2]>) -> Self {
        Self { copied, steps_back, replayed: None, tops, log: VecDeque::new(), lag: 0 }
    }

    /// A transaction with an ID commits, at this reading of the primary's clock.
    pub fn hears(&mut self, random: &Random, id: Place, now: u64) {
        self.log.push_back((id, now / 1000));
        if random.one_in(100) {
            self.lag = random.skewed(1000) as usize;
        }
        while self.log.len() > self.lag {
            self.replay();
        }
    }

    fn replay(&mut self) {
        let Some((Place { generator, toggle, tick }, micros)) = self.log.pop_front() else {
            return;
        };
        let top = &mut self.tops.get_mut(&generator).unwrap()[usize::from(toggle)];
        *top = tick.max(*top);
        self.replayed = self.replayed.max(Some(micros));
    }

    /// What a promoted server begins with, and what each generator is known to have given by then.
    /// The time of a transaction is cut to the microsecond: it was before the next one.
    pub fn promote(self, looks: bool) -> (State, BTreeMap<usize, [u64; 2]>) {
        let Self { mut copied, replayed, tops, .. } = self;
        if let Some(micros) = replayed.filter(|_| looks) {
            let moment = UnixNanos((micros + 1) * 1000);
            copied.horizon = copied.horizon.raised(moment);
            copied.written = copied.written.max(moment);
        }
        (copied, tops)
    }
}
