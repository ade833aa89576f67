//! Whether the state covers the WAL from which this server's data comes.
//!
//! A state that lacks a horizon of that WAL lets IDs repeat: rows that were replayed have IDs above
//! it, if the clock of their server was ahead. If the library is preloaded, it sees each horizon
//! that is replayed ([`super::wal`]). Otherwise only PostgreSQL knows something, the time of the
//! last transaction that it replayed, and it forgets that at the next start. So a standby that did
//! not preload, and was promoted, would begin at its own clock after its first restart, which on
//! PostgreSQL 15 and 16 is the one that adds the library. This file finds that out. The server then
//! generates no IDs until a superuser accepts the clock.
//!
//! A timeline is one of PostgreSQL's in this file: a WAL timeline.
//!
//! PostgreSQL keeps no time of the old primary that could replace the horizon. The control file has
//! that of a checkpoint, and the first checkpoint of the new timeline overwrites it; the history of
//! a timeline has positions, and the WAL goes.
//!
//! # What is known
//! * PostgreSQL begins a new timeline with each promotion, and with each recovery from an archive.
//!   It keeps for good where each began ([`wal_timeline::beginning`]).
//! * A server that generates IDs writes its timeline beside the state ([`Location::wal_timeline`]),
//!   after the state. So the state covers what is on that timeline: what was there when it was
//!   opened, by this argument, and what the server itself generated, as its horizon is in the file
//!   before each ID.
//! * If the library is preloaded, the startup process writes how far it has replayed
//!   ([`Location::replayed`]), after a state that covers the WAL up to there. It does so when the
//!   timeline changes, and at the end of a recovery from an archive or a primary. The checkpoint
//!   that ends recovery comes later, so a server that crashes after it has the file.
//!
//! # The rule
//! [`flakeid_core::opening`] has it. By its second part a server may begin if the state covers the
//! timeline on which the server *started*: the control file has it, and the postmaster reads it
//! before recovery. If the library is preloaded, it has seen all that was replayed since. By the
//! third part a server may begin if it has in memory what was replayed: a horizon, or the times
//! that PostgreSQL knows. The documentation promises these for a standby that does not preload.
//!
//! A promotion that has nothing to replay leaves no file, as PostgreSQL calls no resource manager
//! then. By the second part the server may begin. It writes its timeline when it opens the state,
//! which the worker does at once ([`is_recorded`]), and otherwise when it stops ([`at_stop`]). If
//! it crashes before, the next start cannot tell it from a promotion that nobody saw.
//!
//! A server *without a state* covers the first timeline: it is new, was restored from a dump, or
//! came from `pg_upgrade`, which begins a first timeline. On a later one, either it never had an
//! ID, or the standby that it was did not see them. `CREATE EXTENSION` tells these apart, as it
//! creates the state on a later timeline ([`super::begin_with_extension`]). So flakeid can be added
//! to a server that was promoted before, and a server that has the extension and no state is one
//! that did not see the IDs. This is wrong in one case: such a server was restarted, nobody asked
//! it for an ID, and someone creates the extension in another database of it. It is too strict in
//! another one: the extension was created there with 0.7 or earlier, or before the promotions of a
//! server without the library, and no ID was ever generated.
//!
//! # What does not hold
//! * A state of 0.7 and earlier says nothing of timelines, and is trusted. So is one whose file
//!   `flakeid/location` is lost.
//! * A standby that begins to preload later knows only the latest times of what it replayed before.
//! * A backup that is restored without an archive begins no timeline. If the library is not
//!   preloaded, the state is the one in the backup, and lacks the horizons from the time of the
//!   backup.

use super::file;
use super::location;
use crate::error::Report;
use crate::shmem::Shared;
use crate::wal_timeline;
use flakeid_core::opening::{self, Evidence};
use flakeid_formats::location::Location;
use flakeid_formats::wal_point::{Point, Position};
use std::sync::atomic::Ordering;

fn covers(has_state: bool, location: Option<&Location>, timeline: u32) -> bool {
    let facts = location.map(Location::facts);
    opening::covers(has_state, facts.as_ref(), timeline, wal_timeline::beginning)
}

/// Returns the error for a server that was promoted, or recovered from an archive, while the
/// library did not see it.
pub(super) fn refusal(now: u32, evidence: &Evidence) -> Report {
    let location = evidence.location.filter(|_| evidence.state.is_some());
    let before = location
        .and_then(|location| location.timeline.or_else(|| Some(location.replayed?.timeline)));
    let facts = match before {
        Some(before) => format!(
            "The state is of WAL timeline {before}, and the server is on WAL timeline {now}. It \
             was promoted, or recovered from a backup, while flakeid was not preloaded."
        ),
        None => format!(
            "The server has no state, and is on WAL timeline {now}. It was promoted, or recovered \
             from a backup, while flakeid was not preloaded, or its directory \"flakeid\" was \
             removed."
        ),
    };
    Report::wrong_state("flakeid's state does not cover all IDs in this server's data")
        .detail(facts)
        .hint(file::ACCEPT)
}

/// Returns whether what is on disk covers the timeline on which this server is. If not, the next
/// start would know nothing of this one. A server in recovery needs nothing on disk.
pub(super) fn is_recorded(has_state: bool) -> bool {
    let is_covered = |timeline| covers(has_state, location::on_disk().as_ref(), timeline);
    wal_timeline::current().is_none_or(is_covered)
}

/// Returns what a server puts beside its state when it stops, if it has not opened the state since
/// it was promoted; `None` if what is there is enough, or if nothing is known. It does not name its
/// place, as no operator may have allowed that. The caller has checked that the state covers the
/// WAL.
pub(super) fn at_stop(has_state: bool) -> Option<Location> {
    let timeline = wal_timeline::current()?;
    if is_recorded(has_state) {
        return None;
    }
    let location = location::on_disk().unwrap_or(Location::UNKNOWN);
    Some(location.with_replayed(Point { timeline, position: Position(0) }))
}

/// Returns what recovery puts beside a state that it is the first to write.
pub(super) fn of_new_state(shared: &Shared) -> Location {
    let timeline = shared.recovered.started_on.load(Ordering::Relaxed);
    Location::UNKNOWN.with_replayed(Point { timeline, position: Position(0) })
}

/// Returns what recovery has to put beside the state when it has replayed the WAL up to a point;
/// `None` if what is there is enough.
pub(super) fn after_replay(has_state: bool, point: Point, is_end: bool) -> Option<Location> {
    let location = location::on_disk();
    if !is_end && covers(has_state, location.as_ref(), point.timeline) {
        return None;
    }
    Some(location.unwrap_or(Location::UNKNOWN).with_replayed(point))
}
