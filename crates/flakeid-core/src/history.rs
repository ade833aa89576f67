//! Watermarks of earlier scans, for snapshots that are too old for the slots of
//! [`watermark`](crate::watermark).
//!
//! The settled time of a scan holds for every snapshot that sees all transactions which had left
//! before the scan. A [`Position`] says which snapshots these are. It is the number that the next
//! transaction gets, read after the scan. A transaction that had left before the scan has a smaller
//! number. A snapshot has two numbers: it sees all transactions below `xmin`, and none from `xmax`
//! on, which is one more than the greatest number of a transaction that had ended.
//! * *The position is at or below `xmin`.* Then the snapshot sees all smaller numbers.
//! * *The position is below `xmax`.* Then a transaction had ended, when the snapshot was taken,
//!   that had got its number after the scan. So the snapshot was taken after the scan, and sees all
//!   that had left before it.

use crate::clock::UnixNanos;

/// The number that the next transaction gets, read after a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// Watermarks of earlier scans, for old snapshots. The caller holds a lock.
///
/// It keeps `LENGTH` of them. The further back, the fewer: of three neighbors it forgets the middle
/// one where the gap that this leaves is smallest beside its age.
#[derive(Clone, Copy, Debug)]
pub struct History<const LENGTH: usize> {
    records: [(Position, UnixNanos); LENGTH],
    len: usize,
}

impl<const LENGTH: usize> History<LENGTH> {
    /// Creates an empty history.
    pub const fn new() -> Self {
        const { assert!(LENGTH >= 3, "the first and the last stay") };
        Self { records: [(Position(0), UnixNanos(0)); LENGTH], len: 0 }
    }

    /// Records what a scan found settled, and the position that was read after it. A record that is
    /// no greater than the last one adds nothing.
    pub fn record(&mut self, position: Position, settled: UnixNanos) {
        if let Some((last, watermark)) = self.len.checked_sub(1).map(|last| self.records[last]) {
            if settled <= watermark {
                return;
            }
            // A snapshot that covers the last position covers an earlier one, too. A position is
            // earlier if another scan was faster, or after a crash or a promotion, when numbers
            // without a record are assigned again.
            if position <= last {
                self.records[self.len - 1].1 = settled;
                return;
            }
        }
        if self.len == LENGTH {
            self.forget_one();
        }
        self.records[self.len] = (position, settled);
        self.len += 1;
    }

    /// Returns the greatest recorded watermark that holds for a snapshot; `None` if no record is
    /// that old.
    pub fn watermark(&self, xmin: u64, xmax: u64) -> Option<UnixNanos> {
        // Positions and watermarks rise together, so the last record that holds is the greatest.
        let holds =
            |&&(position, _): &&(Position, UnixNanos)| position.0 <= xmin || position.0 < xmax;
        self.records[..self.len].iter().rev().find(holds).map(|&(_, watermark)| watermark)
    }

    /// Returns the last record's watermark; `None` if there is no record.
    pub fn latest(&self) -> Option<UnixNanos> {
        self.len.checked_sub(1).map(|last| self.records[last].1)
    }

    /// Forgets the record whose absence matters least. The first and the last stay.
    fn forget_one(&mut self) {
        let newest = self.records[self.len - 1].0.0;
        let gap = |at: usize| {
            let (before, after) = (self.records[at - 1].0.0, self.records[at + 1].0.0);
            // In parts of the age, scaled; ages are at least 1.
            u128::from(after - before) * (1 << 32) / u128::from(newest - before)
        };
        let at = (1..self.len - 1).min_by_key(|&at| gap(at)).unwrap_or(1);
        self.records.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }
}

impl<const LENGTH: usize> Default for History<LENGTH> {
    fn default() -> Self {
        Self::new()
    }
}
