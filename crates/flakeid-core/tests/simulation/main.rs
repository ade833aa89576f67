#![cfg(not(loom))]
//! A simulation of fleets of up to a thousand servers, with any events to their clocks, their
//! memory and their machines.
//!
//! The simulation runs the shipped step, cell, session, gate and horizon. [`node`] simulates the
//! extension around them, and [`checks`] checks every ID against the promises. The fleets of
//! [`leases`] have their generator IDs from a registry, and their own test with the same settings.
//!
//! ```sh
//! FLAKEID_SIMULATION_IDS=1000000000 cargo test -p flakeid-core --release --test simulation \
//!     -- --nocapture
//! ```
//!
//! Each fleet follows from a seed of its own, counted up from `FLAKEID_SIMULATION_SEED`. A failure
//! names the seed of its fleet. A run that begins with that seed fails at once.
//!
//! # The promises
//! * No ID repeats on one server. Its clock may be set to anything at any time. Its machine may
//!   stand still, and it may crash at any time, or stop and start again. No ID repeats on two
//!   servers whose generator IDs, or slices of the sequence, differ.
//! * The IDs of a session increase, with whichever generator IDs, and though its server's generator
//!   IDs change. Those of sno decrease only to a clock that is behind the session's last ID.
//! * An ID's time is not before the reading of the clock at which it was issued. It is not after
//!   all that the server's clocks have shown. While the clock has not stepped back, it is no more
//!   than a tick ahead of that reading.
//! * A session that has to wait is told for how long. That is for the next tick. After a crash it
//!   is for the lead at most. After a step back it is until the clock is where it was. For sno it
//!   is until the clock is where it was in the lower of its two timelines. So the first step back
//!   costs no wait.
//! * No step back is reported if there was no step.
//!
//! # The promises for a standby
//! A standby has a base backup's copy of the horizon, and replays the WAL. That has a message of
//! each move of the horizon before the IDs that the move admits, and the time of each transaction.
//! A promoted standby begins at the greatest of all of these in each track ([`Horizon::joined`],
//! [`Horizon::raised`]). So does a server that is recovered from a backup. Then no ID repeats that
//! its data can know: one that the backup has, or a replayed transaction. This holds for every
//! course of the primary's clock, also if it was ahead for a while, IDs were issued, and it was
//! corrected.
//!
//! There is no promise for IDs that were not replayed. They may repeat, but only if the standby's
//! clock is behind the clock that issued them. The reason is that no ID's time is before the
//! reading at which it was issued.
//!
//! # The promises for leased generator IDs
//! [`leases`] has fleets whose servers claim their generator IDs in a registry and lose them again.
//! They serve flake, sno and uniqueid, as these have such IDs. Each server's worker runs the
//! shipped protocol ([`registry`](flakeid_core::registry)), one action at a time. The simulation
//! does the actions: on a server, and on etcds that evaluate the shipped transactions. Requests and
//! answers are lost, or come seconds late. One server or all cannot reach etcd, or one endpoint. A
//! keep-alive is answered that has no effect. Endpoints lead to other etcds: to one without data,
//! to a copy, to another fleet's, or to the registry that the fleet has left. In some fleets etcd
//! loses its data, or is restored, with its cluster ID or another one, or the fleet moves to
//! another registry and back. Servers lose their memory of the registry, and people delete keys.
//! All this stays within the limits that the header of [`trust`](flakeid_core::registry::trust) and
//! docs/fleet.md state: in fleets whose etcd forgets, no clock is far from right. A process stands
//! still between its question to the gate and its swap, alone or with its server, for up to four
//! leases. Servers join and die, and the pool may be too small. Some servers change from leased
//! generator IDs to fixed ones and back, to the same or to others, while statements run that began
//! before. For that, administrators do what docs/fleet.md demands. Then:
//! * No ID repeats, whichever servers held its generator ID one after the other: no two runs of
//!   servers issue IDs of one tick with it.
//! * No two servers hold one generator ID at the same time, if etcd forgets nothing and people
//!   delete nothing.
//! * When a server issues an ID whose generator ID it has claimed, the high-water mark in the
//!   registry is ahead of the ID, if etcd forgets nothing. This holds also if the statement began
//!   with that number as a fixed one. If no server has fixed ones, the high-water mark is ahead of
//!   all IDs there ever were when a server claims.
//! * If nothing has set the clock and nothing has stood still, no gate admits an ID after the
//!   deadline of the claim. The exception is the difference of two clocks' rates. (Prefetched
//!   numbers were admitted before.)
//! * A session's IDs increase, through all changes of the list.
//! * Once nothing goes wrong any more, and administrators have done what docs/fleet.md demands, the
//!   pool is held as far as servers want it. Then every session of a server that holds generator
//!   IDs gets an ID.
//!
//! There is no promise that an ID is above those that another holder of the generator ID has issued
//! by then. A session may stand still between the question to the gate and the swap, and continue
//! when a successor has begun. It then issues an ID from below the high-water mark.
//!
//! # The promises of the watermark
//! [`watermark`] has a server with transactions, and readers that are told watermarks. A
//! transaction of any length generates IDs of all ID types. Then it commits, is rolled back, or is
//! prepared and ended later, also after a crash. A session may end, and another one gets its slot.
//! A crash undoes what is open, and the numbers of transactions may be assigned again. A reader has
//! a new snapshot, or one of several old ones. Between any two of its steps, and within each call
//! that reads the clock, other sessions and readers run, the clock is set, or the server crashes.
//! The servers begin with readers at once, or several starts later. Slots, history and list are
//! short, so that readers miss entries. Then:
//! * No row becomes visible after a snapshot with an ID of a tick that begins before the watermark
//!   that was told for that snapshot. This holds across all crashes and stops.
//! * No ID is issued of a tick that begins before any watermark that was told.
//! * A watermark is not less than one that was told, before the scan began, for the same snapshot
//!   or an earlier one. There are exceptions. A session may be lowering its bound. The watermark,
//!   or the earlier one, may come from the history. The list may have forgotten a prepared
//!   transaction since the snapshot was taken, or be younger than the snapshot. A prepared
//!   transaction may have no bound lock. It holds back all streams, also those without its IDs.
//! * All this holds for each stream, which has a part of the IDs: those of one ID type, or those
//!   whose call named the stream. The rows and IDs are then those of the stream.
//! * IDs are unique as before. Once nothing goes wrong any more, each session gets an ID of each ID
//!   type, and the watermark follows the clock.
//!
//! The server writes a log (WAL), and loses the end of it in a crash unless that was flushed. A
//! commit is in the log before its transaction ends, flushed or not. A worker writes watermarks
//! into the log. Standbys replay it with any lag. They restart and replay again, and one of them
//! may become the primary. A reader on a standby has a new snapshot or an old one, and the replay
//! continues between its steps. It is told the watermark of all IDs, also for a stream. Then:
//! * No row becomes visible on a standby after a snapshot with an ID of a tick that begins before
//!   the watermark that was told for that snapshot. This holds across restarts and promotions.
//! * No primary issues an ID of a tick that begins before a watermark that was told on a standby
//!   which follows it.
//! * Once no transaction with IDs is open and the log is replayed, the watermark of a new snapshot
//!   passes all rows. A transaction with a number and no ID does not hold it back.
//!
//! A standby knows the transactions as PostgreSQL's does: from the numbers in all records, and from
//! records of the running transactions. After a crash the numbers of transactions that left no
//! record are assigned again.
//!
//! Some transactions are prepared as by another library, without a bound lock. The list is that of
//! the core, but short. It is made when the first session or reader of a life needs it.
//!
//! [`Horizon::joined`]: flakeid_core::gate::Horizon::joined
//!
//! [`Horizon::raised`]: flakeid_core::gate::Horizon::raised

mod checks;
mod clock;
mod fleet;
mod leases;
mod node;
mod promises;
mod random;
mod standby;
mod watermark;
mod world;

use checks::Fault;
use fleet::Fleet;
use std::time::Instant;
use world::{Event, Flaw};

fn setting(name: &str, default: u64) -> u64 {
    let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{name}={text:?}"));
    std::env::var(name).map_or(default, number)
}

#[test]
fn fleets_keep_every_promise_whatever_happens() {
    let first = setting("FLAKEID_SIMULATION_SEED", 1);
    let goal = setting("FLAKEID_SIMULATION_IDS", 50_000_000);
    println!("FLAKEID_SIMULATION_SEED={first} FLAKEID_SIMULATION_IDS={goal}");
    let (started, mut ids, mut shown) = (Instant::now(), 0, 0);
    let mut seen = Event::ALL.map(|event| (event, 0));
    for seed in first.. {
        match Fleet::new(seed, Flaw::None).run() {
            Ok((given, events)) => {
                ids += given;
                seen.iter_mut().zip(events).for_each(|((_, sum), times)| *sum += times);
            }
            Err(fault) => panic!("{fault:?}; FLAKEID_SIMULATION_SEED={seed} brings it back"),
        }
        if ids / 100_000_000 > shown {
            shown = ids / 100_000_000;
            println!("{ids} IDs in {:.0?}; the next seed is {}", started.elapsed(), seed + 1);
        }
        if ids >= goal {
            println!("{ids} IDs of {} fleets in {:.1?}", seed + 1 - first, started.elapsed());
            println!("{seen:?}");
            break;
        }
    }
    if goal >= 10_000_000 {
        assert!(seen.iter().all(|&(_, times)| times > 0), "not all has happened: {seen:?}");
    }
}

/// Returns the first fault of a fleet whose servers have this flaw.
fn first_fault(flaw: Flaw) -> Option<Fault> {
    let found = |seed: u64| Some((seed, Fleet::new(seed, flaw).run().err()?));
    let (seed, fault) = (1..=100).find_map(found)?;
    println!("{flaw:?} was found with seed {seed}");
    Some(fault)
}

#[test]
fn a_horizon_that_was_not_durable_when_the_gate_opened_is_found() {
    assert_eq!(first_fault(Flaw::LostWrite), Some(Fault::WentBack));
}

#[test]
fn a_change_of_timeline_that_was_not_durable_is_found() {
    assert_eq!(first_fault(Flaw::TurnNotDurable), Some(Fault::WentBack));
}

#[test]
fn a_clock_read_before_the_word_is_found() {
    assert_eq!(first_fault(Flaw::ClockFirst), Some(Fault::FalseStepBack));
}

#[test]
fn a_restart_that_ignores_the_horizon_is_found() {
    assert_eq!(first_fault(Flaw::NoHorizon), Some(Fault::WentBack));
}

#[test]
fn a_restart_at_the_horizon_of_the_wrong_timeline_is_found() {
    assert_eq!(first_fault(Flaw::WrongTimeline), Some(Fault::WentBack));
}

#[test]
fn a_stop_that_writes_one_timeline_is_found() {
    assert_eq!(first_fault(Flaw::OneTimeline), Some(Fault::WentBack));
}

#[test]
fn a_stop_that_leaves_the_gate_closed_and_not_exact_is_found() {
    assert_eq!(first_fault(Flaw::ClosedAtStop), Some(Fault::WentBack));
}

#[test]
fn a_standby_that_does_not_look_at_what_it_replayed_is_found() {
    assert_eq!(first_fault(Flaw::NotRaised), Some(Fault::WentBack));
}

#[test]
fn a_recovery_that_looks_at_the_latest_time_alone_is_found() {
    assert_eq!(first_fault(Flaw::LatestTime), Some(Fault::WentBack));
}

#[test]
fn a_horizon_that_is_thought_younger_than_it_is_is_found() {
    assert_eq!(first_fault(Flaw::YoungHorizon), Some(Fault::WrongWait));
}

#[test]
fn readers_miss_nothing_before_their_watermark() {
    let first = setting("FLAKEID_SIMULATION_SEED", 1);
    let goal = setting("FLAKEID_SIMULATION_IDS", 4_000_000);
    println!("FLAKEID_SIMULATION_SEED={first} FLAKEID_SIMULATION_IDS={goal}");
    let (started, mut ids) = (Instant::now(), 0);
    let mut seen = watermark::Event::ALL.map(|event| (event, 0));
    for seed in first.. {
        match watermark::Server::new(seed, watermark::Flaw::None, None).run(STEPS) {
            Ok((given, events)) => {
                ids += given;
                seen.iter_mut().zip(events).for_each(|((_, sum), times)| *sum += times);
            }
            Err(fault) => panic!("{fault:?}; FLAKEID_SIMULATION_SEED={seed} brings it back"),
        }
        if ids >= goal {
            println!("{ids} IDs of {} servers in {:.1?}", seed + 1 - first, started.elapsed());
            println!("{seen:?}");
            break;
        }
    }
    if goal >= 4_000_000 {
        assert!(seen.iter().all(|&(_, times)| times > 0), "not all has happened: {seen:?}");
    }
}

/// How many things happen on a server with readers of the watermark.
const STEPS: u64 = 2_000;

/// Returns whether this fault is found in a server whose readers or sessions have this flaw.
fn is_found_by_readers(flaw: watermark::Flaw, fault: Fault) -> bool {
    is_found_by_readers_from(1, flaw, fault)
}

/// Does so from a seed on, for flaws that earlier seeds do not show.
fn is_found_by_readers_from(first: u64, flaw: watermark::Flaw, fault: Fault) -> bool {
    let server = |seed| watermark::Server::new(seed, flaw, Some(fault));
    let found = (first..first + 1000).find(|&seed| server(seed).run(STEPS) == Err(fault));
    println!("{flaw:?} was found with seed {found:?}");
    found.is_some()
}

#[test]
fn a_floor_that_is_lost_in_a_crash_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::FloorLost, Fault::Undercut));
}

#[test]
fn an_exact_horizon_that_does_not_cover_the_floor_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ExactWithoutFloor, Fault::Undercut));
}

#[test]
fn a_watermark_that_no_durable_horizon_covers_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::NotDurable, Fault::Undercut));
}

#[test]
fn a_floor_that_is_raised_after_the_scan_is_found() {
    assert!(is_found_by_readers_from(250, watermark::Flaw::FloorLate, Fault::Undercut));
}

#[test]
fn a_session_that_keeps_prefetched_ids_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::KeepsPrefetched, Fault::Undercut));
}

#[test]
fn a_first_tick_that_counts_in_one_timeline_alone_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::OneTimeline, Fault::Undercut));
}

#[test]
fn a_session_that_enters_after_its_first_id_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::EntersLate, Fault::Undercut));
}

#[test]
fn a_session_that_leaves_before_its_rows_are_visible_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LeavesEarly, Fault::Missed));
}

#[test]
fn a_session_that_keeps_nothing_for_old_snapshots_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::KeepsNoEntry, Fault::Missed));
}

#[test]
fn a_bound_that_is_lowered_below_the_floor_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LowersBelowFloor, Fault::Undercut));
}

#[test]
fn a_prepared_transaction_that_is_not_in_the_list_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::NotListed, Fault::Missed));
}

#[test]
fn a_bound_lock_that_does_not_outlive_the_server_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LockNotKept, Fault::Missed));
}

#[test]
fn a_list_that_is_read_before_the_slots_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ListFirst, Fault::Missed));
}

#[test]
fn a_list_that_forgets_bounds_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ListForgets, Fault::Missed));
}

#[test]
fn a_list_that_forgets_what_new_snapshots_may_not_see_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ForgetsForNew, Fault::Fell));
}

#[test]
fn a_transaction_without_a_lock_that_counts_as_one_without_ids_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::NoUnknown, Fault::Missed));
}

#[test]
fn an_old_snapshot_that_is_taken_for_a_new_one_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::OldAsNew, Fault::Missed));
}

#[test]
fn a_position_that_is_read_before_the_scan_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::PositionFirst, Fault::Missed));
}

#[test]
fn a_prepared_transaction_that_ended_before_the_list_was_made_is_found() {
    assert!(is_found_by_readers_from(160, watermark::Flaw::NoEarly, Fault::Missed));
}

#[test]
fn a_stream_that_is_entered_after_its_first_id_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::EntersStreamLate, Fault::Missed));
}

#[test]
fn a_bound_that_stays_when_a_stream_is_entered_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::KeepsEarlierBound, Fault::Undercut));
}

#[test]
fn a_source_that_takes_a_new_transaction_for_the_last_one_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ComparesBounds, Fault::Missed));
}

#[test]
fn a_session_that_leaves_before_its_commit_is_in_the_log_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LogsLate, Fault::MissedOnStandby));
}

#[test]
fn a_prepared_transaction_that_ends_before_its_commit_is_in_the_log_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LogsPreparedLate, Fault::MissedOnStandby));
}

#[test]
fn a_message_that_is_in_the_log_before_its_scan_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::MessageFirst, Fault::MissedOnStandby));
}

#[test]
fn a_message_whose_position_was_read_before_the_scan_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::MessagePositionFirst, Fault::MissedOnStandby));
}

#[test]
fn a_message_whose_position_is_one_less_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::MessagePositionBefore, Fault::MissedOnStandby));
}

#[test]
fn a_message_that_does_not_count_prepared_transactions_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::MessageWithoutList, Fault::MissedOnStandby));
}

#[test]
fn a_standby_that_tells_each_snapshot_the_last_message_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::LatestToAll, Fault::MissedOnStandby));
}

#[test]
fn a_standby_that_compares_only_the_ends_of_snapshots_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::ComparesEnds, Fault::MissedOnStandby));
}

#[test]
fn a_log_without_the_horizon_of_a_crashed_primary_is_found() {
    assert!(is_found_by_readers(watermark::Flaw::HorizonNotInLog, Fault::Undercut));
}
