//! Functions and views for operators: the server's identity, its statistics, and the acceptance of
//! its clock.

mod horizon;
mod identity;
mod lease;
mod readiness;
mod watermark;

use crate::clock::now;
use crate::error::OrRaise;
use crate::id_types::{CellSnapshot, ID_TYPES, IdTypeEntry, ServerIdType};
use crate::timestamp::timestamptz;
use crate::{guc, server_log, shmem};
use flakeid_core::clock::{UnixMicros, UnixNanos};
use flakeid_core::sno;
use pgrx::prelude::*;
use std::sync::atomic::Ordering;

const NANOS_PER_SECOND: f64 = 1e9;

fn micros(moment: UnixNanos) -> UnixMicros {
    UnixMicros((moment.0 / 1000) as i64)
}

/// Returns a count as a column of type bigint.
fn count(number: u64) -> i64 {
    (number as i64).max(0)
}

/// Returns the rows of `pg_stat_flakeid`. Times are numbers of seconds here; the view converts them
/// to intervals.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn pg_stat_get_flakeid() -> TableIterator<
    'static,
    (
        name!(id_type, &'static str),
        name!(generator_id, Option<i32>),
        name!(ids, i64),
        name!(ticks_exhausted, i64),
        name!(spills, i64),
        name!(waits, i64),
        name!(wait_seconds, f64),
        name!(clock_steps_back, i64),
        name!(largest_step_back_seconds, f64),
        name!(tick_tocks, i64),
        name!(last_tick, i64),
        name!(last_tick_at, Option<TimestampWithTimeZone>),
        name!(last_sequence, i32),
        name!(sequence_min, i32),
        name!(sequence_max, i32),
        name!(gate, Option<TimestampWithTimeZone>),
        name!(gate_lead_seconds, Option<f64>),
        name!(horizon_written_at, Option<TimestampWithTimeZone>),
        name!(horizon_write_seconds, Option<f64>),
        name!(stats_reset, Option<TimestampWithTimeZone>),
    ),
> {
    // There are no rows before a session has asked for an ID, or if no session can.
    let Ok(shared) = shmem::shared() else { return TableIterator::new(std::iter::empty()) };
    let (written, now) = (shared.writes.last(), now());
    let reset = UnixNanos(shared.counted_since.load(Ordering::Relaxed));
    let rows = ID_TYPES.iter().enumerate().flat_map(move |(index, entry)| {
        let (scale, rules) = ((entry.scale)(), (entry.rules)());
        let numbered = entry.is_numbered;
        let is_leased = numbered && guc::leased().is_some();
        let gate = if is_leased { &shared.leased } else { &shared.gates }.horizon();
        let mut rows: Vec<_> = shared
            .cells(index)
            .map(|(id, cell)| {
                let (counts, last) = (cell.counters.get(), (entry.snapshot)(cell));
                // A gate of a lease that was lost is 0: there is no gate then.
                let gate = Some((entry.track)(&gate, last.toggle)).filter(|gate| gate.0 > 0);
                (
                    entry.name,
                    numbered.then_some(i32::from(id)),
                    count(counts.issued),
                    count(counts.exhausted),
                    count(counts.spills),
                    count(counts.waits),
                    counts.waited as f64 / NANOS_PER_SECOND,
                    count(counts.steps_back),
                    (counts.largest_step * scale.unit()) as f64 / NANOS_PER_SECOND,
                    count(counts.tick_tocks),
                    last.tick.0 as i64,
                    timestamptz(scale.start(last.tick)),
                    last.sequence as i32,
                    rules.sequence.0 as i32,
                    rules.sequence.1 as i32,
                    gate.and_then(|gate| timestamptz(micros(gate))),
                    gate.map(|gate| (gate.0 as f64 - now.0 as f64) / NANOS_PER_SECOND),
                    written.and_then(|written| timestamptz(micros(written.at))),
                    written.map(|written| written.took.as_secs_f64()),
                    timestamptz(micros(reset)),
                )
            })
            .collect();
        rows.sort_by_key(|row| row.1);
        rows
    });
    TableIterator::new(rows)
}

/// Returns what the snapshot of the sno library contains, with times in its units of 4 ms
/// since 2010.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn flakeid_snapshot() -> TableIterator<
    'static,
    (
        name!(partition, i32),
        name!(sequence_min, i32),
        name!(sequence_max, i32),
        name!(sequence, i32),
        name!(now, i64),
        name!(wall_hi, i64),
        name!(wall_safe, i64),
        name!(drifts, i64),
        name!(tick_tock, i16),
    ),
> {
    const INDEX: usize = sno::TickTock::INDEX;
    let Ok(shared) = shmem::shared() else { return TableIterator::new(std::iter::empty()) };
    let IdTypeEntry { rules, snapshot, .. } = ID_TYPES[INDEX];
    let (sequence_min, sequence_max) = rules().sequence;
    let now = sno::SCALE.tick(now()).map_or(0, |tick| tick.0 as i64);
    let mut rows: Vec<_> = shared
        .cells(INDEX)
        .map(|(id, cell)| {
            let CellSnapshot { tick, toggle, sequence, safe } = snapshot(cell);
            let drifts = count(cell.counters.get().tick_tocks);
            let (min, max) = (sequence_min as i32, sequence_max as i32);
            let (hi, safe) = (tick.0 as i64, safe.0 as i64);
            (i32::from(id), min, max, sequence as i32, now, hi, safe, drifts, i16::from(toggle))
        })
        .collect();
    rows.sort_by_key(|row| row.0);
    TableIterator::new(rows)
}

#[pg_extern(sql = false)]
fn pg_stat_reset_flakeid() {
    let Ok(shared) = shmem::shared() else { return };
    for (_, cell) in (0..ID_TYPES.len()).flat_map(|index| shared.cells(index)) {
        cell.counters.reset();
    }
    shared.writes.reset_counts();
    shared.counted_since.store(now().0, Ordering::Relaxed);
}

#[pg_extern(sql = false)]
fn flakeid_accept_clock() {
    let accepted = crate::horizon::ensure_not_in_recovery("flakeid_accept_clock")
        .and_then(|()| shmem::shared())
        .and_then(crate::horizon::accept);
    match accepted.or_raise() {
        true => server_log::accepted(),
        false => notice!("there is nothing to accept: the server can generate IDs"),
    }
}
