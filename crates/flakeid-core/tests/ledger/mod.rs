//! The checker of every run: a list of the IDs that went out, and what is wrong with it.
#![allow(dead_code, reason = "each test that shares this uses a part of it")]

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
    /// The number before it was used up, but nobody got it.
    Lost { before: Id },
    /// An ID that its partition's word has not come to.
    PastWord { word: Id, id: Id },
    /// What a partition's word says, but nobody got.
    NotIssued(Id),
}

/// Whether the clock of a run steps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Never,
    /// Not for those in this run, but for others of the node, so that its timeline turns.
    Elsewhere,
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
        let rises = !S::TICK_TOCK || self.steps != Steps::Back;
        let stays = !S::TICK_TOCK || self.steps == Steps::Never;
        for sequence in block.sequence..block.sequence + block.count {
            let (tick, toggle) = (block.stamp.tick::<S>().0, block.stamp.toggle::<S>());
            let id = Id { tick, toggle, partition, sequence };
            let first = self.issued.first().copied();
            if !self.issued.insert(id) {
                return Err(Fault::Repeated(id));
            }
            let last = self.last_of_session.insert(session, id);
            if let Some(last) = last.filter(|&last| rises && last >= id) {
                return Err(Fault::NotAbove { last, id });
            }
            if stays && first.is_some_and(|first| first.toggle != toggle) {
                return Err(Fault::Turned(id));
            }
        }
        Ok(())
    }

    /// In every tick a partition's numbers go from the first on without a gap: none was used up that
    /// nobody got.
    pub fn without_gaps(&self) -> Result<(), Fault> {
        for &before in &self.issued {
            let lower = Id { sequence: before.sequence.wrapping_sub(1), ..before };
            if before.sequence != self.first && !self.issued.contains(&lower) {
                return Err(Fault::Lost { before });
            }
        }
        Ok(())
    }

    /// A partition's word is past everything that went out in its timeline.
    pub fn below_word<S: System>(&self, partition: u64, word: Word) -> Result<(), Fault> {
        let word = word_of::<S>(partition, word);
        let past = |id: &&Id| (id.partition, id.toggle) == (partition, word.toggle) && **id > word;
        self.issued.iter().find(past).map_or(Ok(()), |&id| Err(Fault::PastWord { word, id }))
    }

    /// A partition's word is the last that went out in its tick and timeline, so that no swap has
    /// been lost.
    pub fn up_to_word<S: System>(&self, partition: u64, word: Word) -> Result<(), Fault> {
        self.below_word::<S>(partition, word)?;
        let word = word_of::<S>(partition, word);
        let unused = self.last_of_partition(partition).is_none();
        if unused || self.issued.contains(&word) { Ok(()) } else { Err(Fault::NotIssued(word)) }
    }

    pub fn last_of_partition(&self, partition: u64) -> Option<Id> {
        self.issued.iter().rev().copied().find(|id| id.partition == partition)
    }

    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.issued.iter().copied()
    }
}

/// The ID that a partition's word stands for.
fn word_of<S: System>(partition: u64, word: Word) -> Id {
    let stamp = word.stamp::<S>();
    let (tick, toggle) = (stamp.tick::<S>().0, stamp.toggle::<S>());
    Id { tick, toggle, partition, sequence: word.sequence::<S>() }
}
