//! Transactions of a leader that has not loaded this library, on a server that does not preload it.
//!
//! A parallel worker can be the first process of a transaction that calls this library, for example within a function
//! of another language. It enters its leader's slot. But the leader has no callback, so it does not leave when the
//! transaction ends. The worker therefore tags the slot with PostgreSQL's local number of the leader's transaction. No
//! other transaction of that process number has this number.
//!
//! # The end of such a transaction
//! A reader, or the next process that registers in the slot, finds that the tagged transaction does not run any more
//! ([`settle`]). The slot keeps the bound with the transaction's ID, if a worker or a reader has seen that while the
//! transaction ran ([`note_id`]). Otherwise the reader takes the position of now: the transaction has ended, and every
//! snapshot that covers the position sees it. The slot keeps the position in place of the ID then ([`ended_by`]). In both
//! cases it is free again.
//!
//! The transaction may also have been prepared, as nothing told the list so. So the reader first adds all prepared
//! transactions that are not in the list, with this bound.
//!
//! If the leader registers in the same transaction, the tag is removed: its callback will leave.
//!
//! All changes are made under the lock. A worker holds it to replace a tag of an earlier transaction, and enters after
//! that. So the slot of a transaction that runs has its tag, and is not freed.

use super::prepared::{add_unlisted, full_transaction, next_transaction};
use crate::lock::ExclusiveLock;
use crate::process;
use crate::shmem::{ProcessSlot, Watermark};
use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::Position;
use std::sync::atomic::{Ordering, fence};

/// The tag of a slot that its own process leaves.
const NONE: u32 = 0;

/// A slot's tag: the local number of a transaction, or [`NONE`]; and the transaction's ID, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    transaction: u32,
    id: u32,
}

impl Tag {
    fn of(slot: &ProcessSlot) -> Self {
        let word = slot.detached.load(Ordering::Acquire);
        Self { transaction: (word >> 32) as u32, id: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.transaction) << 32 | u64::from(self.id)
    }
}

/// The bit of a number in a slot that is a position and not a transaction's ID.
const POSITION: u64 = 1 << 63;

/// Returns the position in an entry of a slot, if it has one in place of a transaction's ID.
#[inline]
pub fn ended_by(entry: u64) -> Option<Position> {
    (entry & POSITION != 0).then_some(Position(entry & !POSITION))
}

/// Returns whether this process leaves its own slot by its callback.
pub fn is_registered(slot: &ProcessSlot) -> bool {
    slot.registered.load(Ordering::Relaxed) == process::own().pid.unsigned_abs()
}

/// Registers this process in its own slot, once: from now on it leaves by its callback.
pub fn register(memory: &Watermark, slot: &ProcessSlot) {
    let own = process::own();
    if is_registered(slot) {
        return;
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    replace_tag(memory, &mut lock, slot, own.local_transaction, NONE);
    slot.registered.store(own.pid.unsigned_abs(), Ordering::Release);
}

/// Tags a leader's slot before a worker enters it, unless the leader leaves by its callback.
pub fn tag(memory: &Watermark, slot: &ProcessSlot, number: u32) {
    let leader = process::get(number as usize);
    let is_registered = || slot.registered.load(Ordering::Acquire) == leader.pid.unsigned_abs();
    if !is_registered() && Tag::of(slot).transaction != leader.local_transaction {
        let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
        if !is_registered() {
            let present = leader.local_transaction;
            replace_tag(memory, &mut lock, slot, present, present);
        }
    }
    note_id(slot, number as usize);
}

/// Frees a slot whose tagged transaction has ended.
pub fn settle(memory: &Watermark, slot: &ProcessSlot, number: usize) {
    let present = || process::get(number).local_transaction;
    match Tag::of(slot).transaction {
        NONE => return,
        tag if tag == present() => return note_id(slot, number),
        _ => {}
    }
    let mut lock = ExclusiveLock::take_interruptibly(memory.lock());
    let present = present();
    if Tag::of(slot).transaction != present {
        replace_tag(memory, &mut lock, slot, present, NONE);
    }
}

/// Notes the ID of a slot's tagged transaction, if it runs and has one. If the tag changes at this moment, nothing
/// happens.
fn note_id(slot: &ProcessSlot, number: usize) {
    let tag = Tag::of(slot);
    let process = process::get(number);
    // The process may have begun another transaction while this read its fields.
    fence(Ordering::Acquire);
    let runs = [process, process::get(number)]
        .iter()
        .all(|process| process.local_transaction == tag.transaction);
    if runs && tag.transaction != NONE && tag.id == 0 && process.transaction_id != 0 {
        let noted = Tag { id: process.transaction_id, ..tag };
        let _ = slot.detached.compare_exchange(
            tag.word(),
            noted.word(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// Ends the transaction of a slot's tag, unless that is the present transaction, and replaces the tag. A slot with a tag
/// was entered by workers alone.
fn replace_tag(
    memory: &Watermark,
    lock: &mut ExclusiveLock,
    slot: &ProcessSlot,
    present: u32,
    tag: u32,
) {
    let ended = Tag::of(slot);
    if ended.transaction != NONE
        && ended.transaction != present
        && let Some(bound) = slot.slot.entered()
    {
        let first_id_at = UnixNanos(slot.first_id_at.load(Ordering::Relaxed));
        add_unlisted(memory, lock, bound, first_id_at);
        let next = next_transaction();
        slot.slot.leave(Some(match ended.id {
            0 => POSITION | next,
            id => full_transaction(id, next),
        }));
    }
    slot.detached.store(Tag { transaction: tag, id: 0 }.word(), Ordering::Release);
}
