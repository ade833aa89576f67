//! The cells of one ID type in shared memory, found by generator ID.

use crate::error::{Code, Report};
use flakeid_core::cell::Cell;
use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of different generator IDs that a server can have owned between two starts.
const MAX_CELLS: usize = 1024;

/// The key of a cell without a generator ID.
const FREE: u32 = u32::MAX;

/// The cells of one ID type. The cell of `keys[i]` is `cells[i]`.
#[repr(C)]
pub(super) struct Cells {
    keys: [AtomicU32; MAX_CELLS],
    cells: [Cell; MAX_CELLS],
}

impl Cells {
    /// Writes the initial keys. Cells are atomics, for which any bytes are valid: each is set
    /// before its key.
    ///
    /// # Safety
    /// `cells` must be memory for the struct that no other process can see yet.
    pub(super) unsafe fn set_up(cells: *mut Self) {
        for i in 0..MAX_CELLS {
            // SAFETY: the caller owns the memory.
            unsafe { addr_of_mut!((*cells).keys[i]).write(AtomicU32::new(FREE)) };
        }
    }

    /// Returns the cells with their generator IDs.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, &Cell)> {
        // Acquire pairs with the Release in `add_cell`.
        let key = |key: &AtomicU32| u16::try_from(key.load(Ordering::Acquire)).ok();
        let cells = self.keys.iter().zip(&self.cells);
        cells.map_while(move |(at, cell)| Some((key(at)?, cell)))
    }

    /// Checks that there is a cell for each of these generator IDs, or room for it.
    ///
    /// # Errors
    /// The server has owned too many different generator IDs since its start.
    pub(super) fn ensure_room(&'static self, ids: impl Iterator<Item = u16>) -> Result<(), Report> {
        let missing = ids.filter(|&id| self.find(id).is_none()).count();
        match self.all().count() + missing > MAX_CELLS {
            true => Err(too_many_cells()),
            false => Ok(()),
        }
    }

    /// Returns the cell of a generator ID. If it does not exist, it is added. The caller holds the
    /// lock.
    ///
    /// # Errors
    /// The server has owned too many different generator IDs since its start.
    pub(super) fn get_or_add(
        &'static self,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Report> {
        match self.find(id) {
            Some(cell) => Ok(cell),
            None => self.add_cell(id, begin),
        }
    }

    pub(super) fn find(&'static self, id: u16) -> Option<&'static Cell> {
        // Acquire pairs with the Release in `add_cell`: a process that sees a key also sees its
        // cell.
        let key_is_id = |key: &AtomicU32| key.load(Ordering::Acquire) == u32::from(id);
        self.keys.iter().position(key_is_id).map(|i| &self.cells[i])
    }

    /// Adds a cell. The caller holds the lock.
    fn add_cell(
        &'static self,
        id: u16,
        begin: impl FnOnce(&Cell),
    ) -> Result<&'static Cell, Report> {
        let is_free = |key: &AtomicU32| key.load(Ordering::Relaxed) == FREE;
        let i = self.keys.iter().position(is_free).ok_or_else(too_many_cells)?;
        begin(&self.cells[i]);
        self.keys[i].store(id.into(), Ordering::Release);
        Ok(&self.cells[i])
    }
}

fn too_many_cells() -> Report {
    Report::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "too many generator IDs since the server started",
    )
    .detail(format!("The limit is {MAX_CELLS} for each ID type."))
    .hint("Restart the server.")
}
