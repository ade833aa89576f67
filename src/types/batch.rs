//! Many IDs at once, and where the n-th ID of a tick stands.

use super::error::ValueError;
use crate::error::{OrRaise, Report};
use crate::generator::{Generator, Issuer, Run, partitions};
use crate::guc;

/// `n` IDs, taken from the cells in blocks as they are asked for.
pub fn batch<S: Issuer, T>(
    generator: &'static Generator<S>,
    n: i32,
    pack: impl Fn(Run, u32) -> T,
) -> impl Iterator<Item = T> {
    let n = u32::try_from(n)
        .map_err(|_| ValueError::Negative { what: "number of IDs", value: n.into() })
        .or_raise();
    let mut left = n;
    let mut run: Option<(Run, u32)> = None;
    std::iter::from_fn(move || {
        let (block, used) = match run {
            Some((block, used)) if used < block.block.count => (block, used),
            _ if left == 0 => return None,
            _ => (generator.take(left), 0),
        };
        left -= 1;
        run = Some((block, used + 1));
        Some(pack(block, used))
    })
}

/// Where an ID for a given time goes.
pub struct Place {
    pub generator: u64,
    pub sequence: u32,
}

/// The `number`-th of the node's places in a tick, counted from 0 and around, in the order of the IDs
/// there: the one of sequence and generator ID runs first that stands below.
pub fn place_at<S: Issuer>(number: i64) -> Result<Place, Report> {
    guc::ensure_usable()?;
    let marks: Vec<u64> = partitions::<S>()?.iter().map(|partition| partition.mark).collect();
    place_among::<S>(&marks, number)
}

/// The same among these generators.
pub fn place_among<S: Issuer>(generators: &[u64], number: i64) -> Result<Place, Report> {
    let number = u64::try_from(number)
        .map_err(|_| ValueError::Negative { what: "number within the tick", value: number })?;
    let (first, last) = S::rules().sequence;
    let (length, count) = (u64::from(last - first + 1), generators.len() as u64);
    let (sequence, generator) = match S::SEQUENCE_FIRST {
        true => (number / count % length, number % count),
        false => (number % length, number / length % count),
    };
    Ok(Place { generator: generators[generator as usize], sequence: first + sequence as u32 })
}
