//! The table of systems: one line each. A system's place in it is the place of its cells in shared
//! memory.

use crate::generate::{self, Served};
use crate::horizon;
use crate::identity::Identity;
use crate::shmem::Shared;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::flake::Flake;
use flakeid_core::flake128::Flake128;
use flakeid_core::gate::Horizon;
use flakeid_core::generator::{Rules, System};
use flakeid_core::guid::Guid;
use flakeid_core::sno::TickTock;
use flakeid_core::uniqueid::UniqueId;

pub const TABLE: [Entry; 5] = [
    Entry::of::<Flake>(),
    Entry::of::<TickTock>(),
    Entry::of::<Flake128>(),
    Entry::of::<Guid>(),
    Entry::of::<UniqueId>(),
];

/// A system for those who look at all of them, one after the other.
pub struct Entry {
    pub name: &'static str,
    pub identity: Identity,
    /// As the settings have it now.
    pub scale: fn() -> Scale,
    pub rules: fn() -> Rules,
    /// What its cells say.
    pub look: fn(&Cell) -> Look,
    /// [`Cell::seal`].
    pub seal: Last,
    /// [`Cell::issued`].
    pub issued: Last,
    /// The gate of the timeline of this tick-tock bit.
    pub lane: fn(&Horizon, bool) -> UnixNanos,
    /// This process ends: what it has taken ahead does not count as issued.
    pub leave: fn(),
    /// [`Horizon::covering`] of it.
    pub covering: fn(Horizon, Scale, [Tick; 2]) -> Horizon,
    /// [`horizon::revive`].
    pub revive: fn(&Cell, &Shared, UnixNanos),
}

/// Gives the last tick of each of a cell's timelines.
pub type Last = fn(&Cell) -> [Tick; 2];

/// What a cell issued last, or began after.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub tick: Tick,
    pub toggle: bool,
    pub sequence: u32,
    /// The last tick of the timeline that it is not in.
    pub safe: Tick,
}

impl Entry {
    const fn of<S: Served>() -> Self {
        Self {
            name: S::NAME,
            identity: S::IDENTITY,
            scale: S::scale,
            rules: S::rules,
            look: look::<S>,
            seal: Cell::seal::<S>,
            issued: Cell::issued::<S>,
            lane: Horizon::of::<S>,
            leave: generate::leave::<S>,
            covering: Horizon::covering::<S>,
            revive: |cell, shared, mark| horizon::revive::<S>(shared, cell, mark),
        }
    }

    /// Whether its IDs have generator IDs, each with a cell of its own.
    pub fn is_numbered(&self) -> bool {
        matches!(self.identity, Identity::GeneratorIds { .. })
    }

    /// Its scale by another epoch.
    pub fn scale_from(&self, epoch: UnixNanos) -> Scale {
        (self.scale)().counted_from(epoch)
    }
}

fn look<S: System>(cell: &Cell) -> Look {
    let (word, last) = (cell.word(), cell.last::<S>());
    if cell.is_sealed() {
        let toggle = last[1] > last[0];
        let [tick, safe] = [last[usize::from(toggle)], last[usize::from(!toggle)]];
        return Look { tick, toggle, sequence: 0, safe };
    }
    let (stamp, sequence) = (word.stamp::<S>(), word.sequence::<S>());
    let toggle = stamp.toggle::<S>();
    Look { tick: stamp.tick::<S>(), toggle, sequence, safe: last[usize::from(!toggle)] }
}

/// The place of the system of this name. Asked when compiling: a system that is not in the table is
/// an error there.
pub const fn index(name: &str) -> usize {
    let mut i = 0;
    while i < TABLE.len() {
        if same(TABLE[i].name.as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("the system is not in the table of systems")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
