//! Positions in the WAL, and the histories of timelines.

use flakeid_formats::wal_point::{Point, Position, last_of_history};

#[test]
fn a_position_is_two_hexadecimal_numbers() {
    for (text, position) in [
        ("0/3000028", Some(0x300_0028)),
        ("16/B374D848", Some(0x16_B374_D848)),
        ("FFFFFFFF/FFFFFFFF", Some(u64::MAX)),
        ("0/100000000", None),
        ("0/+3000028", None),
        ("0/", None),
        ("3000028", None),
        ("0/3/3", None),
    ] {
        let read = Position::try_from(text.to_owned()).ok();
        assert_eq!(read, position.map(Position), "{text}");
    }
}

#[test]
fn the_last_entry_of_a_history_counts() {
    let history = "1\t0/3000028\tno recovery target specified\n\n# a comment\n\
                   2\t16/B374D848\tbefore 2026-07-01 00:00:00+00\n\n";
    let point = Point { timeline: 2, position: Position(0x16_B374_D848) };
    assert_eq!(last_of_history(history), Some(point));
    for damaged in ["", "\n# only a comment\n", "1", "1\tno position", "-1\t0/3000028"] {
        assert_eq!(last_of_history(damaged), None, "{damaged:?}");
    }
}
