//! The ID types that a server makes, as plain data: what each is called, how it counts time, and which of its
//! sequence this server may use. [`ID_TYPES`] has one line for each; its place there is the place of its cells in
//! shared memory.
//!
//! guid and guid_local are two ways of writing IDs of one type, so they are one line here.

use crate::guc;
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::flake::{self, Flake};
use flakeid_core::flake128::{self, Flake128};
use flakeid_core::gate::{Horizon, Start};
use flakeid_core::generator::{Rules, System};
use flakeid_core::guid::{self, Guid};
use flakeid_core::sno::{self, TickTock};
use flakeid_core::uniqueid::{self, UniqueId};

/// What a server has to know of an ID type beyond the core's [`System`].
pub trait ServerIdType: System + Sized + 'static {
    /// Its name, in views and messages, and in the state file.
    const NAME: &'static str;
    /// The function that makes an ID, for messages.
    const NEXT: &'static str;
    /// Whether its IDs have generator IDs, each with a cell of its own. In the others all IDs of a server have one
    /// number of the server's, and come from one cell.
    const IS_NUMBERED: bool;
    fn scale() -> Scale;
    /// Returns [`Scale::tick`] of that scale.
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick>;
    fn rules() -> Rules;
    /// Its place in [`ID_TYPES`]; an ID type that is not there is an error when this is compiled.
    const PLACE: usize = place(Self::NAME);
}

pub const ID_TYPES: [IdType; 5] = [
    IdType::of::<Flake>(),
    IdType::of::<TickTock>(),
    IdType::of::<Flake128>(),
    IdType::of::<Guid>(),
    IdType::of::<UniqueId>(),
];

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

/// An ID type for code that looks at all of them, one after the other.
pub struct IdType {
    pub name: &'static str,
    pub is_numbered: bool,
    /// As the settings have it now.
    pub scale: fn() -> Scale,
    pub rules: fn() -> Rules,
    /// What a cell says.
    pub look: fn(&Cell) -> Look,
    /// [`Cell::revive`].
    pub revive: fn(&Cell, Start),
    /// [`Cell::seal`].
    pub seal: LastTicks,
    /// [`Cell::issued`].
    pub issued: LastTicks,
    /// The gate of the timeline of this tick-tock bit: [`Horizon::of`].
    pub lane: fn(&Horizon, bool) -> UnixNanos,
    /// [`Horizon::floors`].
    pub floors: fn(Horizon, Scale) -> [Tick; 2],
    /// [`Horizon::covering`].
    pub covering: fn(Horizon, Scale, [Tick; 2]) -> Horizon,
}

/// Gives the last tick of each of a cell's timelines.
pub type LastTicks = fn(&Cell) -> [Tick; 2];

/// What a cell issued last, or began after.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub tick: Tick,
    pub toggle: bool,
    pub sequence: u32,
    /// The last tick of the timeline that it is not in.
    pub safe: Tick,
}

impl IdType {
    const fn of<S: ServerIdType>() -> Self {
        Self {
            name: S::NAME,
            is_numbered: S::IS_NUMBERED,
            scale: S::scale,
            rules: S::rules,
            look: look::<S>,
            revive: Cell::revive::<S>,
            seal: Cell::seal::<S>,
            issued: Cell::issued::<S>,
            lane: Horizon::of::<S>,
            floors: Horizon::floors::<S>,
            covering: Horizon::covering::<S>,
        }
    }

    /// Returns its scale by another epoch.
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

/// Returns the place of the ID type of this name.
const fn place(name: &str) -> usize {
    let mut i = 0;
    while i < ID_TYPES.len() {
        if same(ID_TYPES[i].name.as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("the ID type is not in the table of ID types")
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
