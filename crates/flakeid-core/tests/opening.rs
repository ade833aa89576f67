//! Where a server begins, and when it refuses to: the rows of `tests/STATE.md` on the horizon and
//! on the place of the state.

use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_core::opening::{
    Evidence, Extent, Location, Move, Place, Refusal, Rules, WalPoint, covers, decide,
};
use std::time::Duration;

const STATE: UnixNanos = UnixNanos(1_000);
const REPLAYED: UnixNanos = UnixNanos(2_000);
const NOW: UnixNanos = UnixNanos(9_000);

const HERE: Place = Place { host: Some("here"), data_directory: "/data" };
const THERE: Place = Place { host: Some("there"), data_directory: "/data" };

const LOG: Rules = Rules { refuses_moved: false, allowable_downtime: None };
const ERROR: Rules = Rules { refuses_moved: true, allowable_downtime: None };
const BRIEF: Rules =
    Rules { refuses_moved: false, allowable_downtime: Some(Duration::from_nanos(100)) };

/// A healthy server on the first timeline: its own state, and nothing that was replayed.
fn healthy() -> Evidence<'static> {
    Evidence {
        state: Some(Extent::starting_at(STATE)),
        location: Some(written(HERE, 1)),
        here: written(HERE, 1),
        started_on: 1,
        recovered: None,
        primary_time: UnixNanos(0),
        now: NOW,
        started: UnixNanos(1_050),
    }
}

/// The location of a server that wrote its state on a timeline.
fn written(place: Place<'static>, timeline: u32) -> Location<'static> {
    Location { place: Some(place), timeline: Some(timeline), replayed: None }
}

/// The location of a state that only recovery wrote, up to a point.
fn replayed(timeline: u32, position: u64) -> Location<'static> {
    Location { replayed: Some(WalPoint { timeline, position }), ..Location::default() }
}

fn message(until: UnixNanos) -> HorizonMessage {
    HorizonMessage { horizon: Horizon::NONE.raised(until), read_at: until, flake_epoch: None }
}

/// Timelines begin on the one before: the second at position 500, the third at 700.
fn beginning(timeline: u32) -> Option<WalPoint> {
    let position = [500, 700].get(timeline.checked_sub(2)? as usize)?;
    Some(WalPoint { timeline: timeline - 1, position: *position })
}

/// An event, what a server knows after it, the settings, and where IDs begin.
type Row<'a> = (&'a str, Evidence<'a>, Rules, Result<UnixNanos, Refusal>);

fn rows() -> Vec<Row<'static>> {
    let healthy = healthy();
    let second = Evidence { here: written(HERE, 2), started_on: 2, ..healthy };
    let moved = |moved| Err(Refusal::Moved(moved));
    let not_covered = |timeline| Err(Refusal::NotCovered { timeline });
    vec![
        // The horizon.
        ("restart, crash", healthy, ERROR, Ok(STATE)),
        (
            "new server, pg_upgrade",
            Evidence { state: None, location: None, ..healthy },
            ERROR,
            Ok(NOW),
        ),
        (
            "promotion or recovery with the library",
            Evidence { recovered: Some(message(REPLAYED)), ..second },
            LOG,
            Ok(REPLAYED),
        ),
        (
            "the state is past what was replayed",
            Evidence { recovered: Some(message(UnixNanos(1))), ..second },
            LOG,
            Ok(STATE),
        ),
        (
            "promotion of a standby without a state",
            Evidence { state: None, location: None, recovered: Some(message(NOW)), ..second },
            ERROR,
            Ok(NOW),
        ),
        (
            "promotion or recovery while the library is not preloaded, after a restart",
            second,
            LOG,
            not_covered(2),
        ),
        (
            "the same on a server without a state",
            Evidence { state: None, location: None, ..second },
            LOG,
            not_covered(2),
        ),
        (
            "a standby that does not preload, before it is restarted",
            Evidence { primary_time: REPLAYED, started_on: 0, ..second },
            LOG,
            Ok(REPLAYED),
        ),
        (
            "the WAL of a primary with an earlier flakeid",
            Evidence { primary_time: REPLAYED, recovered: Some(message(STATE)), ..second },
            LOG,
            Ok(REPLAYED),
        ),
        (
            "pg_rewind: the file is the source's",
            Evidence { location: Some(written(THERE, 2)), ..second },
            LOG,
            Ok(STATE),
        ),
        (
            "a server that was down for too long",
            Evidence { started: UnixNanos(1_101), ..healthy },
            BRIEF,
            Err(Refusal::Down {
                down: Duration::from_nanos(101),
                allowed: Duration::from_nanos(100),
            }),
        ),
        (
            "a server that was down for as long as allowed",
            Evidence { started: UnixNanos(1_100), ..healthy },
            BRIEF,
            Ok(STATE),
        ),
        (
            "what was replayed is later than the state, and the server was not down for long",
            Evidence { started: UnixNanos(2_050), recovered: Some(message(REPLAYED)), ..second },
            BRIEF,
            Ok(REPLAYED),
        ),
        // The place of the state.
        (
            "a copy, a standby, a move",
            Evidence { location: Some(written(THERE, 1)), ..healthy },
            ERROR,
            moved(Move::Elsewhere),
        ),
        (
            "a standby or a backup from before the first ID",
            Evidence { location: Some(replayed(1, 600)), ..second },
            ERROR,
            moved(Move::Unknown),
        ),
        (
            "promotion or recovery in place",
            Evidence { recovered: Some(message(REPLAYED)), ..second },
            ERROR,
            moved(Move::Timeline { then: 1, now: 2 }),
        ),
        (
            "a copy that has lost the state",
            Evidence { state: None, location: Some(written(THERE, 1)), ..healthy },
            ERROR,
            moved(Move::Elsewhere),
        ),
        (
            "the location is missing or damaged",
            Evidence { location: None, ..second },
            ERROR,
            moved(Move::Unknown),
        ),
        (
            "the location is missing or damaged, and a move is only logged",
            Evidence { location: None, ..second },
            LOG,
            Ok(STATE),
        ),
        (
            "downgrade to 0.7, and back",
            Evidence { location: Some(Location { timeline: None, ..written(HERE, 0) }), ..second },
            ERROR,
            Ok(STATE),
        ),
        // The WAL that it covers.
        (
            "promotion with the library, and a restart",
            Evidence { location: Some(replayed(1, 500)), ..second },
            LOG,
            Ok(STATE),
        ),
        (
            "a recovery that ended before the timeline began",
            Evidence { location: Some(replayed(1, 499)), ..second },
            LOG,
            not_covered(2),
        ),
        (
            "a promotion with nothing to replay, before a crash",
            Evidence { here: written(HERE, 2), ..healthy },
            LOG,
            Ok(STATE),
        ),
        (
            "a promotion with nothing to replay, and a crash before the server opens its state",
            second,
            LOG,
            not_covered(2),
        ),
        (
            "two promotions, of which the library saw the first",
            Evidence {
                location: Some(replayed(1, 500)),
                here: written(HERE, 3),
                started_on: 3,
                ..healthy
            },
            LOG,
            not_covered(3),
        ),
        (
            "a server in recovery",
            Evidence { here: Location { timeline: None, ..written(HERE, 0) }, ..healthy },
            ERROR,
            Ok(STATE),
        ),
    ]
}

#[test]
fn a_server_begins_above_all_that_it_can_know_or_not_at_all() {
    for (event, evidence, rules, expected) in rows() {
        let begins = decide(&evidence, rules, beginning).map(|extent| extent.horizon.until);
        assert_eq!(begins, expected.map(|until| [until; 3]), "{event}");
    }
}

#[test]
fn a_timeline_whose_history_is_lost_is_not_covered() {
    assert!(covers(true, Some(&replayed(1, 500)), 2, beginning));
    assert!(!covers(true, Some(&replayed(1, 500)), 2, |_| None));
}

#[test]
fn the_timeline_in_use_is_that_of_the_later_horizon() {
    let mut told = message(REPLAYED);
    told.horizon.toggle = true;
    let state = Extent::starting_at(STATE);
    assert!(state.with_recovered(Some(told)).horizon.toggle);
    let later = Extent::starting_at(NOW);
    assert_eq!(later.with_recovered(Some(told)), later);
}

#[test]
fn the_earliest_epoch_counts_wherever_it_is_known() {
    let epoch = |epoch: u64| Some(UnixNanos(epoch));
    for (state, told, expected) in [
        (None, None, None),
        (None, epoch(7), epoch(7)),
        (epoch(7), None, epoch(7)),
        (epoch(7), epoch(8), epoch(7)),
        (epoch(8), epoch(7), epoch(7)),
    ] {
        let state = Extent { flake_epoch: state, ..Extent::starting_at(NOW) };
        let told = HorizonMessage { flake_epoch: told, ..message(STATE) };
        assert_eq!(state.with_recovered(Some(told)).flake_epoch, expected);
    }
}
