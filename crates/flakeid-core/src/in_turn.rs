//! Generator IDs taken in turn, for an ID type whose sequence stands above the generator ID
//! (uniqueid).
//!
//! Summary: in such an ID type the IDs of one tick sort by sequence and then by generator ID. So
//! all sessions take the least number that any generator ID still has: the first of each, then the
//! second of each, and so on. The numbers of a tick are issued in their order, so those of each
//! session increase. No number is skipped, so N generator IDs have N times the numbers of one.
//!
//! If a session exhausted one generator ID before it took the next, its IDs would decrease. There
//! is one exception to the order. A session whose processor's clock is a tick late for once may
//! pass over generator IDs that are not in that tick yet. Their numbers are left for other
//! sessions.
//!
//! # Why the least
//! First all words are read, and then the clock. Then [`step`] computes the number that each cell
//! would issue. The swap of the least one's word succeeds only if that word has not changed. The
//! words of the others may have moved since they were read, but only upwards. So at the time of the
//! swap no cell has a lower number for this reading of the clock. The cell itself guarantees that
//! the number is new, for every choice.
//!
//! A session that has just had a number can find the least without a look at all cells. It is the
//! same number of the next generator ID, or the next number of the first, if that cell offers it.
//! There is no free number between the two, or it would have been taken before the session's last.

use crate::cell::Stall;
use crate::clock::Tick;
use crate::gate::Limits;
use crate::generator::{Block, IdLayout, Stamp, Step, Word, step, stepped_back};
use crate::generator_ids::MAX_OWNED;
use crate::issuing_cell::IssuingCell;
use crate::sync::spin_loop;

/// The place of a number in the order of its ID type: what an ID sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortPosition {
    /// The time.
    pub stamp: Stamp,
    /// The sequence number.
    pub sequence: u32,
    /// The index of the generator ID in the server's list.
    pub slot: usize,
}

/// The number that a cell offers, by the word that was read.
struct Offer {
    position: SortPosition,
    before: Word,
    after: Word,
    block: Block,
}

impl Offer {
    fn new(slot: usize, before: Word, after: Word, block: Block) -> Self {
        let position = SortPosition { stamp: block.stamp, sequence: block.sequence, slot };
        Self { position, before, after, block }
    }
}

/// Takes the least number after `last` from these cells, of which there are at most [`MAX_OWNED`].
/// Returns the slot and the block. `generation` is that of the session's list.
///
/// # Errors
/// The [`Stall`] for which there is no ID.
pub fn take<S: IdLayout>(
    cells: &[IssuingCell<'_>],
    last: SortPosition,
    generation: u64,
    limits: Limits<'_>,
    clock: &mut impl FnMut() -> Option<Tick>,
) -> Result<(usize, Block), Stall> {
    // There is no change of timeline in here, as no such ID type has one.
    debug_assert!(S::SEQUENCE_FIRST && !S::TICK_TOCK);
    let Limits { rules, gate, scale } = limits;
    let next = following(last, cells.len());
    let mut try_next = next.slot < cells.len();
    loop {
        let chosen = match try_next {
            true => {
                let word = cells[next.slot].cell.load_word();
                if gate.outdates(generation) {
                    return Err(Stall::Outdated);
                }
                let now = clock().ok_or(Stall::BeforeEpoch)?;
                let offer = match step::<S>(word, now, last.stamp, rules, 1) {
                    Step::Issue(after, block) => Some(Offer::new(next.slot, word, after, block)),
                    Step::Wait(_) | Step::Ended => None,
                };
                (now, offer.filter(|offer| offer.position == next))
            }
            false => least::<S>(cells, last, generation, limits, clock)?,
        };
        try_next = false;
        let (now, Some(Offer { position, before, after, block })) = chosen else { continue };
        let cell = cells[position.slot].cell;
        if let Some(stall) = cell.check_step_back::<S>(before, now) {
            return Err(stall);
        }
        if !gate.admits::<S>(scale, block.stamp) {
            return Err(Stall::Gated(block.stamp));
        }
        if cell.compare_exchange::<S>(before, after, block, rules) {
            return Ok((position.slot, block));
        }
        spin_loop();
    }
}

/// Returns the place after `last` in the same tick.
fn following(last: SortPosition, slots: usize) -> SortPosition {
    match last.slot.saturating_add(1) {
        slot if slot < slots => SortPosition { slot, ..last },
        // The last slot can be past all slots, if it is one of an earlier list.
        _ if last.slot >= slots => SortPosition { slot: slots, ..last },
        _ => SortPosition { slot: 0, sequence: last.sequence.saturating_add(1), ..last },
    }
}

/// Returns the least number of all cells, with the reading of the clock for which it is the least.
fn least<S: IdLayout>(
    cells: &[IssuingCell<'_>],
    last: SortPosition,
    generation: u64,
    Limits { rules, gate, .. }: Limits<'_>,
    clock: &mut impl FnMut() -> Option<Tick>,
) -> Result<(Tick, Option<Offer>), Stall> {
    let mut words = [Word::SEALED; MAX_OWNED];
    let words = &mut words[..cells.len()];
    for (word, from) in words.iter_mut().zip(cells) {
        *word = from.cell.load_word();
    }
    // The question comes after the words were loaded and before a swap: see `gate`.
    if gate.outdates(generation) {
        return Err(Stall::Outdated);
    }
    if words.contains(&Word::SEALED) {
        return Err(Stall::Sealed);
    }
    let now = clock().ok_or(Stall::BeforeEpoch)?;
    let mut best: Option<Offer> = None;
    let mut until = Tick(u64::MAX);
    for (slot, &word) in words.iter().enumerate() {
        match step::<S>(word, now, last.stamp, rules, 1) {
            // The floor of this cell or the clock is past the end, which then is so for all cells.
            Step::Ended => {}
            Step::Wait(tick) => until = until.min(tick),
            Step::Issue(after, block) => {
                // Numbers at or below the session's last are left for other sessions.
                until = until.min(Tick(block.stamp.tick::<S>().0 + 1));
                let offer = Offer::new(slot, word, after, block);
                let is_less = best.as_ref().is_none_or(|best| offer.position < best.position);
                if offer.position > last && is_less {
                    best = Some(offer);
                }
            }
        }
    }
    // After a step back, a cell that is ahead of the clock has only numbers of later ticks. A
    // session does not use them while another cell has numbers in the next tick.
    if until.0 <= now.0 + 2 {
        best = best.filter(|best| !stepped_back::<S>(best.position.stamp, now));
    }
    if best.is_none() {
        if until == Tick(u64::MAX) {
            return Err(Stall::Ended);
        }
        // A step back of the clock is reported before a session waits for the clock.
        let mut loaded = words.iter().zip(cells);
        let step_back = loaded.find_map(|(&word, from)| from.cell.check_step_back::<S>(word, now));
        return Err(step_back.unwrap_or(Stall::Wait { until, now }));
    }
    Ok((now, best))
}
