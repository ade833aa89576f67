//! Partitions taken in turn, for a format whose sequence stands above the generator ID.
//!
//! There the IDs of one tick sort by sequence and then by partition: a session that used up one
//! partition before it went to the next would go down. So all who ask take the least number that is
//! left of any partition: the first of each, then the second of each, and so on. As the numbers of a
//! tick go out in their order, every session's rise, and no number is left behind: N partitions have
//! N times what one has. (A session whose processor's clock is a tick late for once may pass over
//! some: partitions that are not in that tick yet. They are left for the others.)
//!
//! # Why the least
//! All words are read, then the clock, then the number that each cell would issue is computed by
//! [`step`]; the swap of the least one's word succeeds only if that word is still
//! what was read. The others' words may have moved on meanwhile, but only upwards, so at the moment of
//! the swap no cell has less to offer to this reading of the clock. That the number is new is the
//! cell's business, whichever is chosen.
//!
//! A session that has just had a number finds the least without looking at all cells: it is the same
//! number of the next partition, or the next of the first, if that is what it offers. None between
//! them is left, or it would have been taken before the last.

use crate::cell::{Cell, Outcome};
use crate::clock::{Scale, Tick};
use crate::gate::Gate;
use crate::generator::{Block, Rules, Stamp, Step, System, Word, step, stepped_back};
use crate::generator_ids::MAX_OWNED;
use crate::sync::spin_loop;

/// A number's place in its system's order: what an ID sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub stamp: Stamp,
    pub sequence: u32,
    pub partition: usize,
}

/// What a partition has, by the word that was read.
struct Offer {
    place: Place,
    before: Word,
    after: Word,
    block: Block,
}

impl Offer {
    fn new(partition: usize, before: Word, after: Word, block: Block) -> Self {
        let place = Place { stamp: block.stamp, sequence: block.sequence, partition };
        Self { place, before, after, block }
    }
}

/// Takes the least number after the session's last of these cells, at most [`MAX_OWNED`]; or says why
/// it took no number, as [`Cell::issue`] does. `generation` is that of the session's list.
pub fn take<S: System>(
    cells: &[&Cell],
    last: Place,
    generation: u64,
    rules: &Rules,
    gate: &Gate,
    scale: Scale,
    clock: &mut impl FnMut() -> Option<Tick>,
) -> Result<(usize, Block), Outcome> {
    // A tick-tock's turn is not in here, as no such format has one.
    debug_assert!(S::SEQUENCE_FIRST && !S::TICK_TOCK);
    let next = following(last, cells.len());
    let mut try_next = next.partition < cells.len();
    loop {
        let chosen = match try_next {
            true => {
                let word = cells[next.partition].seen();
                if gate.outdates(generation) {
                    return Err(Outcome::Outdated);
                }
                let now = clock().ok_or(Outcome::BeforeEpoch)?;
                let offer = match step::<S>(word, now, last.stamp, rules, 1) {
                    Step::Issue(after, block) => {
                        Some(Offer::new(next.partition, word, after, block))
                    }
                    Step::Wait(_) | Step::Ended => None,
                };
                (now, offer.filter(|offer| offer.place == next))
            }
            false => least::<S>(cells, last, generation, rules, gate, clock)?,
        };
        try_next = false;
        let (now, Some(Offer { place, before, after, block })) = chosen else { continue };
        let cell = cells[place.partition];
        if let Some(outcome) = cell.behind::<S>(before, now) {
            return Err(outcome);
        }
        if !gate.admits::<S>(scale, block.stamp) {
            return Err(Outcome::Gated(block.stamp));
        }
        if cell.replace::<S>(before, after, block, rules) {
            return Ok((place.partition, block));
        }
        spin_loop();
    }
}

/// The place after one, of the same tick.
fn following(last: Place, partitions: usize) -> Place {
    match last.partition.saturating_add(1) {
        partition if partition < partitions => Place { partition, ..last },
        // Past the partitions there were when a session's last was another list's.
        _ if last.partition >= partitions => Place { partition: partitions, ..last },
        _ => Place { partition: 0, sequence: last.sequence.saturating_add(1), ..last },
    }
}

/// The least of all, with the reading of the clock that it is for.
fn least<S: System>(
    cells: &[&Cell],
    last: Place,
    generation: u64,
    rules: &Rules,
    gate: &Gate,
    clock: &mut impl FnMut() -> Option<Tick>,
) -> Result<(Tick, Option<Offer>), Outcome> {
    let mut words = [Word::SEALED; MAX_OWNED];
    let words = &mut words[..cells.len()];
    for (word, cell) in words.iter_mut().zip(cells) {
        *word = cell.seen();
    }
    // After the words and before a swap: see `gate`.
    if gate.outdates(generation) {
        return Err(Outcome::Outdated);
    }
    if words.contains(&Word::SEALED) {
        return Err(Outcome::Sealed);
    }
    let now = clock().ok_or(Outcome::BeforeEpoch)?;
    let mut best: Option<Offer> = None;
    let mut until = Tick(u64::MAX);
    for (partition, &word) in words.iter().enumerate() {
        match step::<S>(word, now, last.stamp, rules, 1) {
            // This cell's floor is past the end, or time is: then that is so for all.
            Step::Ended => {}
            Step::Wait(tick) => until = until.min(tick),
            Step::Issue(after, block) => {
                // What is left at or below the session's last is for others.
                until = until.min(Tick(block.stamp.tick::<S>().0 + 1));
                let offer = Offer::new(partition, word, after, block);
                let is_less = best.as_ref().is_none_or(|best| offer.place < best.place);
                if offer.place > last && is_less {
                    best = Some(offer);
                }
            }
        }
    }
    // A partition that is ahead of the clock, as the clock was, has only numbers of a time to come. Nobody
    // reaches into that while another partition has some with the next tick.
    if until.0 <= now.0 + 2 {
        best = best.filter(|best| !stepped_back::<S>(best.place.stamp, now));
    }
    if best.is_none() {
        if until == Tick(u64::MAX) {
            return Err(Outcome::Ended);
        }
        // Before anyone waits for a clock that has stepped back, that is said.
        let mut seen = words.iter().zip(cells);
        let said = seen.find_map(|(&word, cell)| cell.behind::<S>(word, now));
        return Err(said.unwrap_or(Outcome::Wait { until, now }));
    }
    Ok((now, best))
}
