//! The checker of every run: a list of the IDs that went out, and what is wrong with it.

use flakeid_core::generator::{Block, System, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// What every format puts from high to low, so this is the order of IDs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub tick: u64,
    pub toggle: bool,
    pub partition: u64,
    pub sequence: u32,
}

/// Why a run is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It went out before.
    Repeated(Id),
    /// A session got `id` after `last`.
    NotAbove { last: Id, id: Id },
    /// In the other timeline than those before, although the clock has not stepped back.
    Turned(Id),
    /// Sequence was used up that nobody got.
    Lost { before: Id },
    /// The partition's word is not that of the last ID of its stamp.
    WrongWord { partition: u64 },
}

/// Whether the clock of a run steps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Never,
    Back,
}

#[derive(Debug)]
pub struct Ledger {
    steps: Steps,
    /// The first number of the sequence in use.
    first: u32,
    issued: BTreeSet<Id>,
    last_of_session: BTreeMap<usize, Id>,
}

impl Ledger {
    pub fn new(steps: Steps, first: u32) -> Self {
        let (issued, last_of_session) = Default::default();
        Self { steps, first, issued, last_of_session }
    }

    /// Enters what a session got, in the order in which that session got it.
    pub fn enter<S: System>(
        &mut self,
        session: usize,
        partition: u64,
        block: Block,
    ) -> Result<(), Fault> {
        // Only a system with a timeline to turn to gives up a session's order.
        let steady = !S::TICK_TOCK || self.steps == Steps::Never;
        for sequence in block.sequence..block.sequence + block.count {
            let (tick, toggle) = (block.stamp.tick::<S>().0, block.stamp.toggle::<S>());
            let id = Id { tick, toggle, partition, sequence };
            let first = self.issued.first().copied();
            if !self.issued.insert(id) {
                return Err(Fault::Repeated(id));
            }
            let last = self.last_of_session.insert(session, id);
            if let Some(last) = last.filter(|&last| steady && last >= id) {
                return Err(Fault::NotAbove { last, id });
            }
            if steady && first.is_some_and(|first| first.toggle != toggle) {
                return Err(Fault::Turned(id));
            }
        }
        Ok(())
    }

    /// The IDs of one partition in one tick and timeline.
    fn of_stamp(&self, of: Id) -> impl DoubleEndedIterator<Item = Id> {
        let with = move |sequence| Id { sequence, ..of };
        self.issued.range(with(0)..=with(u32::MAX)).copied()
    }

    /// Holds the list against what is left in a partition: in every tick the numbers go from the
    /// first on without a gap, and in the last they go to the one that its word says. So no swap
    /// has been lost, and none has used up what nobody got.
    pub fn close<S: System>(&self, partition: u64, word: Word) -> Result<(), Fault> {
        for &before in self.issued.iter().filter(|id| id.partition == partition) {
            let lower = Id { sequence: before.sequence.wrapping_sub(1), ..before };
            if before.sequence != self.first && !self.issued.contains(&lower) {
                return Err(Fault::Lost { before });
            }
        }
        let (tick, toggle) = (word.stamp::<S>().tick::<S>().0, word.stamp::<S>().toggle::<S>());
        let id = Id { tick, toggle, partition, sequence: word.sequence::<S>() };
        match self.of_stamp(id).next_back() {
            Some(last) if last == id => Ok(()),
            None if self.issued.iter().all(|id| id.partition != partition) => Ok(()),
            _ => Err(Fault::WrongWord { partition }),
        }
    }

    pub fn last_of_partition(&self, partition: u64) -> Option<Id> {
        self.issued.iter().rev().copied().find(|id| id.partition == partition)
    }

    pub fn len(&self) -> usize {
        self.issued.len()
    }
}
