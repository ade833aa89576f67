//! Generates many IDs at once, and finds the n-th ID of a tick.

use super::error::ValueError;
use crate::error::{OrRaise, Report};
use crate::generator::{Generator, Issuer, cell_keys};
use crate::guc;
use flakeid_core::session::Issued;

/// Returns `n` new IDs. It takes them from the cells in blocks, as the caller asks for the next
/// one.
pub fn batch<S: Issuer, T>(
    generator: &'static Generator<S>,
    n: i32,
    pack: impl Fn(Issued, u32) -> T,
) -> impl Iterator<Item = T> {
    let n = u32::try_from(n)
        .map_err(|_| ValueError::Negative { what: "number of IDs", value: n.into() })
        .or_raise();
    let mut left = n;
    let mut last: Option<(Issued, u32)> = None;
    std::iter::from_fn(move || {
        let (issued, used) = match last {
            Some((issued, used)) if used < issued.block.count => (issued, used),
            _ if left == 0 => return None,
            _ => (generator.take(left), 0),
        };
        left -= 1;
        last = Some((issued, used + 1));
        Some(pack(issued, used))
    })
}

/// A sequence number within a tick, and the generator ID or the server's one number (node, worker)
/// that it belongs to.
pub struct PlaceInTick {
    pub generator_id: u64,
    pub sequence: u32,
}

/// Returns the `number`-th of this server's slots in a tick, counted from 0 and starting again
/// after the last. The slots count in the order of their IDs: first that of sequence number and
/// generator ID which is lower in the ID.
///
/// # Errors
/// [`ValueError::Negative`]; settings that are not valid, and generator IDs that this ID type
/// cannot have.
pub fn place_in_tick<S: Issuer>(number: i64) -> Result<PlaceInTick, Report> {
    guc::ensure_usable(S::IS_NUMBERED)?;
    let generator_ids: Vec<u64> =
        cell_keys::<S>()?.iter().map(|place| place.generator_id).collect();
    place_in_tick_among::<S>(&generator_ids, number)
}

/// Returns the `number`-th place in a tick of a server that has these generator IDs.
///
/// # Errors
/// [`ValueError::Negative`].
pub fn place_in_tick_among<S: Issuer>(
    generator_ids: &[u64],
    number: i64,
) -> Result<PlaceInTick, Report> {
    let number = u64::try_from(number)
        .map_err(|_| ValueError::Negative { what: "number within the tick", value: number })?;
    let (sequence_min, sequence_max) = S::rules().sequence;
    let length = u64::from(sequence_max - sequence_min + 1);
    let count = generator_ids.len() as u64;
    let (offset, index) = match S::SEQUENCE_FIRST {
        true => (number / count % length, number % count),
        false => (number % length, number / length % count),
    };
    let (generator_id, sequence) = (generator_ids[index as usize], sequence_min + offset as u32);
    Ok(PlaceInTick { generator_id, sequence })
}
