//! Numbers of transactions: 64 bits, of which PostgreSQL compares 32.
//!
//! Shared memory keeps numbers for as long as the server runs, and PostgreSQL assigns the same 32
//! bits again.

use crate::watermark::Position;

/// The greatest distance of two numbers whose lower 32 bits still tell which one is the later.
const COMPARABLE: u64 = (u32::MAX / 2) as u64;

/// The knowledge of the database about its transactions, at the time of a call.
pub trait Transactions {
    /// Returns whether a transaction has ended.
    fn has_ended(&self, transaction: u64) -> bool;

    /// Returns the number that the next transaction gets.
    fn next(&self) -> Position;

    /// Returns a number below which all snapshots, present and later ones, see each transaction
    /// that has ended.
    fn oldest_unseen(&self) -> u64;

    /// Returns whether all new snapshots cover a position.
    fn new_snapshots_cover(&self, position: Position) -> bool;
}

/// Returns the 64 bits of a transaction's ID, which is at most 2^31 before the next one or equal to
/// it.
pub const fn full_transaction(id: u32, next: u64) -> u64 {
    let before = (next as u32).wrapping_sub(id);
    next.saturating_sub(before as u64)
}

/// Returns whether a transaction has ended, if its number and the next one tell that; `None` if the
/// database must be asked. So it is asked only about a number whose 32 bits it can compare.
pub const fn has_ended_by_number(transaction: u64, next: u64) -> Option<bool> {
    match next.checked_sub(transaction) {
        None | Some(0) => Some(false),
        Some(distance) if distance > COMPARABLE => Some(true),
        Some(_) => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const WRAP: u64 = 1 << 32;

    #[test]
    fn a_full_number_is_the_last_one_with_these_bits_up_to_the_next() {
        assert_eq!(full_transaction(3, 3), 3);
        assert_eq!(full_transaction(3, WRAP + 3), WRAP + 3);
        assert_eq!(full_transaction(4, WRAP + 5), WRAP + 4);
        assert_eq!(full_transaction(u32::MAX, WRAP + 5), WRAP - 1);
    }

    #[test]
    fn the_database_is_asked_only_about_a_number_that_32_bits_can_compare() {
        let next = WRAP + 100;
        assert_eq!(has_ended_by_number(next + 1, next), Some(false));
        assert_eq!(has_ended_by_number(next, next), Some(false));
        assert_eq!(has_ended_by_number(next - 1, next), None);
        assert_eq!(has_ended_by_number(next - COMPARABLE, next), None);
        assert_eq!(has_ended_by_number(next - COMPARABLE - 1, next), Some(true));
    }
}
