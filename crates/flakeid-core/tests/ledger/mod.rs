//! The checker of every run: a list of the IDs that were issued, and the faults in it.
#![allow(dead_code, reason = "each test that shares this uses a part of it")]

use flakeid_core::generator::{Block, IdLayout, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// The fields that every ID type has, from high to low, so this is the order of IDs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub tick: u64,
    pub toggle: bool,
    pub slot: u64,
    pub sequence: u32,
}

/// The fault of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The ID was issued before.
    Repeated(Id),
    /// A session got `id` after `last`.
    NotAbove { last: Id, id: Id },
    /// The ID is in another timeline than those before, although the clock has not stepped back.
    Turned(Id),
    /// The number before it counts as used, but no session got it.
    Lost { before: Id },
    /// The word of the ID's generator ID has not reached it.
    PastWord { word: Id, id: Id },
    /// The word of a generator ID is at this ID, but no session got it.
    NotIssued(Id),
}

/// Whether the clock of a run steps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Never,
    /// The clock steps back for other sessions of the server, so that its timeline changes, but not
    /// for those in this run.
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

    /// Records the IDs that a session got, in the order in which that session got them.
    pub fn enter<S: IdLayout>(
        &mut self,
        session: usize,
        slot: u64,
        block: Block,
    ) -> Result<(), Fault> {
        // A session's order may end only for an ID type with a second timeline.
        let rises = !S::TICK_TOCK || self.steps != Steps::Back;
        let stays = !S::TICK_TOCK || self.steps == Steps::Never;
        for sequence in block.sequence..block.sequence + block.count {
            let (tick, toggle) = (block.stamp.tick::<S>().0, block.stamp.toggle::<S>());
            let id = Id { tick, toggle, slot, sequence };
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

    /// Checks that in every tick a generator ID's numbers go from the first on without a gap: every
    /// used number was issued to a session.
    pub fn without_gaps(&self) -> Result<(), Fault> {
        for &before in &self.issued {
            let lower = Id { sequence: before.sequence.wrapping_sub(1), ..before };
            if before.sequence != self.first && !self.issued.contains(&lower) {
                return Err(Fault::Lost { before });
            }
        }
        Ok(())
    }

    /// Checks that a generator ID's word is past all IDs that were issued in its timeline.
    pub fn below_word<S: IdLayout>(&self, slot: u64, word: Word) -> Result<(), Fault> {
        let word = word_of::<S>(slot, word);
        let past = |id: &&Id| (id.slot, id.toggle) == (slot, word.toggle) && **id > word;
        self.issued.iter().find(past).map_or(Ok(()), |&id| Err(Fault::PastWord { word, id }))
    }

    /// Checks that a generator ID's word is the last ID that was issued in its tick and timeline,
    /// so that no swap has been lost.
    pub fn up_to_word<S: IdLayout>(&self, slot: u64, word: Word) -> Result<(), Fault> {
        self.below_word::<S>(slot, word)?;
        let word = word_of::<S>(slot, word);
        let unused = self.last_of_generator_id(slot).is_none();
        if unused || self.issued.contains(&word) { Ok(()) } else { Err(Fault::NotIssued(word)) }
    }

    pub fn last_of_generator_id(&self, slot: u64) -> Option<Id> {
        self.issued.iter().rev().copied().find(|id| id.slot == slot)
    }

    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.issued.iter().copied()
    }
}

/// Returns the ID of a generator ID's word.
fn word_of<S: IdLayout>(slot: u64, word: Word) -> Id {
    let stamp = word.stamp::<S>();
    let (tick, toggle) = (stamp.tick::<S>().0, stamp.toggle::<S>());
    Id { tick, toggle, slot, sequence: word.sequence::<S>() }
}
