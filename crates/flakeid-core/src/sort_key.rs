//! Sort keys: numbers of 64 bits that stand for longer IDs while a sort compares.
//!
//! Summary: a sort that compares numbers of one machine word is several times faster than one that
//! follows pointers. A key must never contradict the order: `key(a) < key(b)` only if `a < b`. If
//! two keys are equal, the sort compares the IDs themselves, so few keys should be equal. [`fold`]
//! takes the identity out of an ID, and [`near`] codes the distance from a reference ID in 64 bits.
//!
//! The first eight bytes of an ID are such a key, but not a good one. IDs that are sorted together
//! were generated within hours or weeks, out of the centuries of the ID type. So most of the
//! leading bits are the same in all. The bits that distinguish the IDs of one tick stand after the
//! first eight bytes. Hence there are two steps. Each of them is monotone, and neither drops bits
//! in which the IDs of one table differ:
//!
//! * [`fold`] takes out the identity that stands between time and sequence. Two bits remain of it:
//!   whether it is less than, equal to or greater than that of a reference ID. The bits below it
//!   remain if it is equal, and in most tables it always is.
//! * [`near`] counts from the reference: exactly near it, and with ever fewer digits further away,
//!   as a floating-point number does.
//!
//! The reference can be any ID, if each sort has only one. The first ID of the sort is good enough.

use crate::bits::Field;

/// The number of bits of the distance from the reference that remain below the first of them.
const DIGITS: u32 = 56;

const MIDDLE: u64 = 1 << 63;

/// Returns the place of `value` as seen from `reference`. It is exact up to 2^57 steps away, and
/// beyond that it has the distance's 57 leading binary digits. It never decreases as `value`
/// increases.
///
/// A distance of up to 2^57 is its own code. A distance that is cut by n bits has its top bit at
/// 56, so n times 2^56 is added to it. That puts it just above all distances that are cut by n - 1
/// bits. The largest, cut by 71 bits, is below 73 times 2^56 and so below 2^63, for which there is
/// room on either side.
#[inline]
pub const fn near(value: u128, reference: u128) -> u64 {
    let distance = value.abs_diff(reference);
    let cut = (u128::BITS - distance.leading_zeros()).saturating_sub(DIGITS + 1);
    let steps = ((cut as u64) << DIGITS) + (distance >> cut) as u64;
    if value >= reference { MIDDLE + steps } else { MIDDLE - steps }
}

/// Returns `word` with two bits instead of `identity`, which tell how the identity compares with
/// `reference`. If they differ, the bits below the identity are 0. The result never decreases as
/// `word` increases, for words that have the identity at the same bits.
#[inline]
pub const fn fold(word: u128, identity: Field, reference: u64) -> u128 {
    let below = identity.end() - identity.width();
    let own = identity.get(word);
    let above = word >> identity.end() << 2;
    if own == reference {
        (above | 1) << below | word & ((1 << below) - 1)
    } else {
        (above | (own > reference) as u128 * 2) << below
    }
}
