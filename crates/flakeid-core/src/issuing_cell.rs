//! A cell as a session knows it: with the generator ID that its IDs have.

use crate::cell::Cell;

/// A cell of the list from which a session issues.
#[derive(Clone, Copy, Debug)]
pub struct IssuingCell<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The generator ID in the IDs of the cell; or their node or worker, or a lane.
    pub generator_id: u64,
}

impl<'a> IssuingCell<'a> {
    /// Returns cells that have the generator IDs from 0 on.
    pub fn numbered(cells: impl IntoIterator<Item = &'a Cell>) -> impl Iterator<Item = Self> {
        (0..).zip(cells).map(|(generator_id, cell)| Self { cell, generator_id })
    }
}
