//! Values as they pass between PostgreSQL and Rust, and a file for each type's functions.

mod datum;
mod flake;
mod sno;
mod time;

pub use time::{timestamptz, unix_micros};

use crate::error::{Failure, OrRaise};
use crate::generate::{Run, Served, take};
use crate::guc;

/// `n` IDs, taken from the cells in blocks as they are asked for.
fn batch<S: Served, T>(n: i32, pack: impl Fn(Run, u32) -> T) -> impl Iterator<Item = T> {
    let n = u32::try_from(n)
        .map_err(|_| Failure::Negative { what: "number of IDs", value: n.into() })
        .or_raise();
    let mut left = n;
    let mut run: Option<(Run, u32)> = None;
    std::iter::from_fn(move || {
        let (block, used) = match run {
            Some((block, used)) if used < block.block.count => (block, used),
            _ if left == 0 => return None,
            _ => (take::<S>(left), 0),
        };
        left -= 1;
        run = Some((block, used + 1));
        Some(pack(block, used))
    })
}

/// Where an ID for a given time goes.
struct Place {
    generator: u64,
    sequence: u32,
}

/// The `number`-th of the node's places in a tick, counted from 0 and around: the sequence runs
/// first, then the generator IDs.
fn place_at(number: i64, (first, last): (u32, u32)) -> Result<Place, Failure> {
    let number = u64::try_from(number)
        .map_err(|_| Failure::Negative { what: "number within the tick", value: number })?;
    if let Some(refusal) = guc::refusal() {
        return Err(Failure::Refused(refusal));
    }
    let ids = guc::generator_ids().ok_or(Failure::NoGeneratorIds)?;
    let ids = ids.as_slice();
    let length = u64::from(last - first + 1);
    let generator = ids[(number / length % ids.len() as u64) as usize];
    Ok(Place { generator: generator.into(), sequence: first + (number % length) as u32 })
}
