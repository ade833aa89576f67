//! Sort keys: 64 bits that stand for an ID of more while a sort compares.
//!
//! A sort that compares numbers of one machine word is several times faster than one that follows
//! pointers. A key must never contradict the order: `key(a) < key(b)` only where `a < b`. Where two keys
//! are equal the IDs themselves are compared, so the fewer of those, the better.
//!
//! An ID's first eight bytes are such a key, and a poor one. IDs that are sorted together were made within
//! hours or weeks of the format's centuries, so most of the leading bits are the same in all, while what
//! tells the IDs of one tick apart stands after the first eight bytes. Hence two steps, each of them
//! monotone, neither of which throws away what IDs of one table differ in:
//!
//! * [`fold`] takes out the identity that stands between time and sequence: of it remains whether it is
//!   less than, the same as or greater than that of a reference ID, and what stands below it remains
//!   where it is the same. In most tables it always is.
//! * [`near`] counts from the reference, to the unit near it and to ever fewer digits further away, as a
//!   floating-point number does.
//!
//! The reference can be any ID, as long as one sort has only one; the first that it is given will do.

use crate::bits::Field;

/// How many bits of the distance from the reference remain below the first of them.
const DIGITS: u32 = 56;

const MIDDLE: u64 = 1 << 63;

/// The place of `value` as seen from `reference`: exact up to 2^57 steps away from it, beyond that its 57
/// leading binary digits. Never falls as `value` rises.
///
/// A distance of up to 2^57 is its own code. One that is cut by n bits has its top bit at 56, so that
/// adding n times 2^56 puts it just above all those cut by n - 1. The largest, cut by 71 bits, is below
/// 73 times 2^56 and so below 2^63, for which there is room on either side.
#[inline]
pub const fn near(value: u128, reference: u128) -> u64 {
    let distance = value.abs_diff(reference);
    let cut = (u128::BITS - distance.leading_zeros()).saturating_sub(DIGITS + 1);
    let steps = ((cut as u64) << DIGITS) + (distance >> cut) as u64;
    if value >= reference { MIDDLE + steps } else { MIDDLE - steps }
}

/// `word` without `identity`, in whose place two bits tell how it compares to that of the reference;
/// where it is not the same, what stands below is nothing. Never falls as `word` rises, for words that
/// have the identity in the same place.
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
