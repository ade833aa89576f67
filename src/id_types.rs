//! The ID types that a server generates, as plain data: their names, how they count time, and which
//! sequence numbers this server may use.
//!
//! [`ID_TYPES`] has an entry for each. The index of an entry is also that of the type's cells in
//! shared memory. guid and guid_local write the same IDs in two ways, so they have one entry.

use crate::guc;
use flakeid_core::ID_TYPE_NAMES;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::flake::{self, Flake};
use flakeid_core::flake128::{self, Flake128};
use flakeid_core::gate::{CellInit, Horizon};
use flakeid_core::generator::{IdLayout, Rules};
use flakeid_core::guid::{self, Guid};
use flakeid_core::sno::{self, TickTock};
use flakeid_core::uniqueid::{self, UniqueId};
use flakeid_core::uuidv7::{self, Uuidv7};

/// An ID type that a server can generate: the facts that it needs beside the core's [`IdLayout`].
pub trait ServerIdType: IdLayout + Sized + 'static {
    /// The name of the ID type in views, in messages and in the state file.
    const NAME: &'static str;
    /// The SQL function that generates an ID, for messages.
    const NEXT: &'static str;
    /// Whether its IDs have generator IDs, each with a cell of its own. Otherwise the server has
    /// one worker or node for this ID type, and one cell; or lanes.
    const IS_NUMBERED: bool;
    /// Returns how the ID type counts time, by the settings of now.
    fn scale() -> Scale;
    /// Returns [`Scale::tick`] of that scale, with the unit as a constant. Below it stands the
    /// fraction of the tick, of [`IdLayout::FRACTION_BITS`].
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick>;
    /// Returns which sequence numbers this server may use, and the last tick, by the settings of
    /// now.
    fn rules() -> Rules;
    /// The index of the ID type in [`ID_TYPES`]. If the table lacks the ID type, this does not
    /// compile.
    const INDEX: usize = index_of(Self::NAME);
}

/// All ID types. New ones go to the end, as the index decides where cells are in shared memory.
pub const ID_TYPES: [IdTypeEntry; 6] = [
    IdTypeEntry::of::<Flake>(),
    IdTypeEntry::of::<TickTock>(),
    IdTypeEntry::of::<Flake128>(),
    IdTypeEntry::of::<Guid>(),
    IdTypeEntry::of::<UniqueId>(),
    IdTypeEntry::of::<Uuidv7>(),
];

// The state file has the epochs in the same order.
const _: () = {
    let mut i = 0;
    while i < ID_TYPES.len() {
        assert!(is_same(ID_TYPES[i].name, flakeid_formats::state::ID_TYPES[i]));
        i += 1;
    }
};

// Each ID type is in the table. guid_local has the entry of guid.
const _: () = {
    let mut i = 0;
    while i < ID_TYPE_NAMES.len() {
        let _ = index_of(entry_name(ID_TYPE_NAMES[i]));
        i += 1;
    }
};

impl ServerIdType for Flake {
    const NAME: &'static str = flake::NAME;
    const NEXT: &'static str = "flake_next";
    const IS_NUMBERED: bool = true;
    fn scale() -> Scale {
        guc::epoch().scale()
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ flake::UNIT }>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: (0, flake::COUNTER.max() as u32), end: flake::LAST_SIGNED }
    }
}

impl ServerIdType for TickTock {
    const NAME: &'static str = sno::NAME;
    const NEXT: &'static str = "sno_next";
    const IS_NUMBERED: bool = true;
    fn scale() -> Scale {
        sno::SCALE
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ sno::UNIT }>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: guc::sno_sequence(), end: sno::SCALE.last() }
    }
}

impl ServerIdType for Flake128 {
    const NAME: &'static str = flake128::NAME;
    const NEXT: &'static str = "flake128_next";
    const IS_NUMBERED: bool = false;
    fn scale() -> Scale {
        flake128::SCALE
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ flake128::UNIT }>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: (0, flake128::SEQUENCE.max() as u32), end: flake128::END }
    }
}

impl ServerIdType for Guid {
    const NAME: &'static str = guid::NAME;
    const NEXT: &'static str = "guid_next";
    const IS_NUMBERED: bool = false;
    fn scale() -> Scale {
        guid::SCALE
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ guid::UNIT }>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: (0, guid::SEQUENCE.max() as u32), end: guid::END }
    }
}

impl ServerIdType for UniqueId {
    const NAME: &'static str = uniqueid::NAME;
    const NEXT: &'static str = "uniqueid_next";
    const IS_NUMBERED: bool = true;
    fn scale() -> Scale {
        uniqueid::SCALE
    }
    #[inline]
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick> {
        scale.tick_in::<{ uniqueid::UNIT }>(now)
    }
    fn rules() -> Rules {
        Rules { sequence: (0, uniqueid::SEQUENCE.max() as u32), end: uniqueid::SCALE.last() }
    }
}

impl ServerIdType for Uuidv7 {
    const NAME: &'static str = uuidv7::NAME;
    const NEXT: &'static str = "uuidv7_next";
    const IS_NUMBERED: bool = false;
    fn scale() -> Scale {
        uuidv7::SCALE
    }
    #[inline]
    fn tick(_scale: Scale, now: UnixNanos) -> Option<Tick> {
        Some(uuidv7::tick_with_fraction(now))
    }
    fn rules() -> Rules {
        Rules { sequence: (0, uuidv7::SEQUENCE.max() as u32), end: uuidv7::END }
    }
}

/// The facts about one ID type, for code that treats all of them, one after the other.
pub struct IdTypeEntry {
    pub name: &'static str,
    pub is_numbered: bool,
    /// [`ServerIdType::scale`].
    pub scale: fn() -> Scale,
    /// [`ServerIdType::rules`].
    pub rules: fn() -> Rules,
    /// Reads the state of a cell.
    pub snapshot: fn(&Cell) -> CellSnapshot,
    /// [`Cell::revive`].
    pub revive: fn(&Cell, CellInit),
    /// [`Cell::seal`].
    pub seal: LastTicks,
    /// [`Cell::issued`].
    pub issued: LastTicks,
    /// The gate of the timeline of this tick-tock bit: [`Horizon::of`].
    pub track: fn(&Horizon, bool) -> UnixNanos,
    /// [`Horizon::floors`].
    pub floors: fn(Horizon, Scale) -> [Tick; 2],
    /// [`Horizon::covering`].
    pub covering: fn(Horizon, Scale, [Tick; 2]) -> Horizon,
}

/// Returns the last tick of each timeline of a cell.
pub type LastTicks = fn(&Cell) -> [Tick; 2];

/// The last ID that a cell issued, or the one after which it began.
#[derive(Clone, Copy, Debug)]
pub struct CellSnapshot {
    pub tick: Tick,
    pub toggle: bool,
    pub sequence: u32,
    /// The last tick of the other timeline.
    pub safe: Tick,
}

impl IdTypeEntry {
    const fn of<S: ServerIdType>() -> Self {
        Self {
            name: S::NAME,
            is_numbered: S::IS_NUMBERED,
            scale: S::scale,
            rules: S::rules,
            snapshot: snapshot::<S>,
            revive: Cell::revive::<S>,
            seal: Cell::seal::<S>,
            issued: Cell::issued::<S>,
            track: Horizon::of::<S>,
            floors: Horizon::floors::<S>,
            covering: Horizon::covering::<S>,
        }
    }

    /// Returns the scale of the ID type with another epoch.
    pub fn scale_from(&self, epoch: UnixNanos) -> Scale {
        (self.scale)().counted_from(epoch)
    }
}

fn snapshot<S: IdLayout>(cell: &Cell) -> CellSnapshot {
    let (word, last) = (cell.word(), cell.last::<S>());
    if cell.is_sealed() {
        let toggle = last[1] > last[0];
        let [tick, safe] = [last[usize::from(toggle)], last[usize::from(!toggle)]];
        return CellSnapshot { tick, toggle, sequence: 0, safe };
    }
    let (stamp, sequence) = (word.stamp::<S>(), word.sequence::<S>());
    let toggle = stamp.toggle::<S>();
    CellSnapshot { tick: stamp.tick::<S>(), toggle, sequence, safe: last[usize::from(!toggle)] }
}

/// Returns the index of the ID type that SQL knows by a name; `None` for another name.
pub fn index_of_sql_name(name: &str) -> Option<usize> {
    let name = entry_name(name);
    ID_TYPES.iter().position(|id_type| id_type.name == name)
}

/// Returns the name of the entry for an ID type. guid_local writes the IDs of guid in another way.
const fn entry_name(name: &str) -> &str {
    if is_same(name, guid::LOCAL_NAME) { guid::NAME } else { name }
}

/// Returns the index of the ID type of this name.
const fn index_of(name: &str) -> usize {
    let mut i = 0;
    while i < ID_TYPES.len() {
        if is_same(ID_TYPES[i].name, name) {
            return i;
        }
        i += 1;
    }
    panic!("the ID type is not in the table of ID types")
}

/// Returns whether two names are the same, at compile time.
pub const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}
