//! A standby of a server, or a server that is recovered from its backup. It has a copy of the disk,
//! and the write-ahead log (WAL) up to some point.

use crate::checks::Position;
use crate::node::State;
use crate::random::Random;
use crate::world::{Flaw, World};
use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::{HorizonMessage, LENGTH};
use std::collections::{BTreeMap, VecDeque};

/// The last tick of each generator ID and timeline.
pub type Tops = BTreeMap<usize, [u64; 2]>;

/// A record of the WAL.
enum Record {
    /// The horizon has moved, this far ahead of the clock.
    Horizon([u8; LENGTH], u64),
    /// A transaction with this ID has been committed, at this time in microseconds, as the primary
    /// wrote it.
    Commit(Position, u64),
}

pub struct Standby {
    /// The horizon in the base backup.
    copied: State,
    /// The greatest horizon that was replayed, by track, with the other fields of the last message.
    recovered: Option<(HorizonMessage, u64)>,
    /// The greatest reading of the clock among these messages.
    greatest: UnixNanos,
    /// The time of the last replayed transaction, and the greatest one that a worker has found,
    /// which polls it.
    latest: u64,
    sampled: u64,
    /// The last ticks in the backup and in the replayed records.
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

    /// Adds a move of the primary's horizon: it is durable there, and the gate has not moved yet.
    pub fn is_told(&mut self, message: HorizonMessage, lead: u64) {
        self.log.push_back(Record::Horizon(message.encode(), lead));
    }

    /// Adds the commit of a transaction with an ID, at this reading of the primary's clock.
    pub fn hears(&mut self, random: &Random, id: Position, now: u64) {
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

    /// Replays all records.
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
            Some(Record::Commit(Position { generator, toggle, tick }, micros)) => {
                let top = &mut self.tops.get_mut(&generator).unwrap()[usize::from(toggle)];
                *top = tick.max(*top);
                self.latest = micros;
            }
            None => {}
        }
    }

    /// Returns whether the primary's clock was ahead for a while by more than a little, and was
    /// corrected before the last replayed record.
    pub fn was_ahead(&self) -> bool {
        self.latest > 0 && self.greatest.0 / 1000 > self.latest + 50_000
    }

    /// Returns the state with which a promoted server begins, and the last tick that each generator
    /// ID is known to have issued. The time of a transaction is cut to the microsecond, so it was
    /// before the next one.
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
