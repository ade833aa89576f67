//! What a standby has of its primary, or a server that recovers from its backup: a copy of its disk, and what its
//! write-ahead log (WAL) tells up to some moment.

use crate::checks::Place;
use crate::node::State;
use crate::random::Random;
use crate::world::{Flaw, World};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::{HorizonMessage, LENGTH};
use std::collections::{BTreeMap, VecDeque};

/// The last tick of each generator and timeline.
pub type Tops = BTreeMap<usize, [u64; 2]>;

/// A record of the WAL.
enum Record {
    /// The horizon has moved, so far ahead of the clock.
    Horizon([u8; LENGTH], u64),
    /// A transaction with this ID has been committed, at this time in microseconds, as the primary wrote it.
    Commit(Place, u64),
}

pub struct Standby {
    /// The horizon as the base backup has it.
    copied: State,
    /// The greatest horizon that was replayed, by lane, with the rest as the last message has it.
    recovered: Option<(HorizonMessage, u64)>,
    /// The greatest reading of the clock among these messages.
    greatest: UnixNanos,
    /// The time of the last transaction that was replayed, and the greatest that a worker has seen, which looks at
    /// it now and then.
    latest: u64,
    sampled: u64,
    /// Of what the backup has and what was replayed.
    tops: Tops,
    log: VecDeque<Record>,
    lag: usize,
}

impl Standby {
    pub fn new(copied: State, tops: Tops) -> Self {
        let (greatest, latest, sampled) = (UnixNanos(0), 0, 0);
        let log = VecDeque::new();
        Self { copied, recovered: None, greatest, latest, sampled, tops, log, lag: 0 }
    }

    /// The primary's horizon moves: it is durable there, and the gate has not moved yet.
    pub fn is_told(&mut self, message: HorizonMessage, lead: u64) {
        self.log.push_back(Record::Horizon(message.encode(), lead));
    }

    /// A transaction with an ID commits, at this reading of the primary's clock.
    pub fn hears(&mut self, random: &Random, id: Place, now: u64) {
        self.log.push_back(Record::Commit(id, now / 1000));
        if random.one_in(100) {
            self.lag = random.skewed(1000) as usize;
        }
        while self.log.len() > self.lag {
            self.replay();
        }
        if random.one_in(200) {
            self.sampled = self.sampled.max(self.latest);
        }
    }

    /// Replays all that there is.
    pub fn catch_up(&mut self) {
        while !self.log.is_empty() {
            self.replay();
        }
    }

    fn replay(&mut self) {
        match self.log.pop_front() {
            Some(Record::Horizon(bytes, lead)) => {
                let message = HorizonMessage::decode(&bytes).expect("a message of this version");
                let before = self.recovered.map_or(Horizon::NONE, |(before, _)| before.horizon);
                let horizon = message.horizon.joined(before);
                self.greatest = self.greatest.max(message.read_at);
                self.recovered = Some((HorizonMessage { horizon, ..message }, lead));
            }
            Some(Record::Commit(Place { generator, toggle, tick }, micros)) => {
                let top = &mut self.tops.get_mut(&generator).unwrap()[usize::from(toggle)];
                *top = tick.max(*top);
                self.latest = micros;
            }
            None => {}
        }
    }

    /// Whether the primary's clock was ahead for a while, more than a little, and was set right before the last of
    /// what was replayed.
    pub fn was_ahead(&self) -> bool {
        self.latest > 0 && self.greatest.0 / 1000 > self.latest + 50_000
    }

    /// What a promoted server begins with, and what each generator is known to have given by then.
    /// The time of a transaction is cut to the microsecond: it was before the next one.
    pub fn promote(self, world: &World) -> (State, Tops) {
        let (mut state, tops) = (self.copied, self.tops);
        if let Some((message, lead)) = self.recovered
            && !matches!(world.flaw, Flaw::NotRaised | Flaw::LatestTime)
        {
            let joined = state.horizon.joined(message.horizon);
            if joined != state.horizon {
                let horizon = Horizon { toggle: message.horizon.toggle, ..joined };
                state = State { horizon, written: state.written.max(message.read_at), lead };
            }
        }
        let seen = self.latest.max(self.sampled);
        if seen > 0 && world.flaw != Flaw::NotRaised {
            let moment = UnixNanos((seen + 1) * 1000);
            state.horizon = state.horizon.raised(moment);
            state.written = state.written.max(moment);
        }
        (state, tops)
    }
}
