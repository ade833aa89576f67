#![cfg(not(loom))]
//! The watermark in one thread: what a slot keeps, what a scan finds, and which watermarks a
//! history still has.

use flakeid_core::clock::UnixNanos;
use flakeid_core::watermark::{
    Floor, History, LONGEST_TICK, Position, Scan, Stream, Streams, TransactionSlot,
    settled_by_clock,
};
use flakeid_core::{flake, flake128, guid, sno, uniqueid};
use proptest::prelude::*;

const ALL: Streams = Streams::of(Stream::ALL);
const A: Stream = Stream::at(1);
const B: Stream = Stream::at(2);

const fn at(time: u64) -> UnixNanos {
    UnixNanos(time)
}

/// Scans slots for a snapshot that sees the transactions below a number.
fn scan<'a, const ENTRIES: usize>(
    floor: &'a Floor,
    now: u64,
    slots: &[TransactionSlot<ENTRIES>],
    xmin: u64,
) -> Scan<'a> {
    scan_of(Stream::ALL, floor, now, slots, xmin)
}

/// Scans the slots for the watermark of a stream.
fn scan_of<'a, const ENTRIES: usize, const STREAMS: usize>(
    stream: Stream,
    floor: &'a Floor,
    now: u64,
    slots: &[TransactionSlot<ENTRIES, STREAMS>],
    xmin: u64,
) -> Scan<'a> {
    let mut scan = Scan::begin(floor, stream, at(now));
    for slot in slots {
        scan.read(slot, |transaction| transaction < xmin);
    }
    scan
}

#[test]
fn no_id_type_has_a_longer_tick() {
    let longest = LONGEST_TICK.as_nanos() as u64;
    let units = [
        flake::Epoch::UNIX.scale().unit(),
        sno::SCALE.unit(),
        flake128::SCALE.unit(),
        guid::SCALE.unit(),
        uniqueid::SCALE.unit(),
    ];
    assert_eq!(units.into_iter().max(), Some(longest));
    for unit in units {
        for now in [unit, unit + 1, 10 * longest, 10 * longest + unit - 1] {
            assert!(settled_by_clock(at(now)).0 <= now / unit * unit);
        }
    }
    assert_eq!(settled_by_clock(at(0)), at(0));
    assert_eq!(settled_by_clock(at(longest - 1)), at(0));
}

#[test]
fn a_transaction_limits_the_watermark_until_a_snapshot_sees_it() {
    let (floor, slots) =
        (Floor::at(at(0)), [TransactionSlot::<4>::idle(), TransactionSlot::idle()]);
    assert_eq!(scan(&floor, 100, &slots, 5).watermark(), Some(at(100)));
    assert_eq!(slots[0].enter(ALL, &floor, || at(110)), at(110));
    assert_eq!(slots[0].entered(), Some(at(110)));
    let open = scan(&floor, 200, &slots, 5);
    assert_eq!((open.watermark(), open.settled()), (Some(at(110)), at(110)));
    slots[0].leave(Some(5));
    assert_eq!(slots[0].entered(), None);
    // A snapshot from before, and one from after.
    let old = scan(&floor, 300, &slots, 5);
    assert_eq!((old.watermark(), old.settled()), (Some(at(110)), at(300)));
    assert_eq!(scan(&floor, 300, &slots, 6).watermark(), Some(at(300)));
    // To leave again does nothing.
    slots[0].leave(Some(9));
    assert_eq!(scan(&floor, 400, &slots, 6).watermark(), Some(at(400)));
}

#[test]
fn a_transaction_that_wrote_nothing_leaves_no_entry() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<2>::idle()]);
    slots[0].enter(ALL, &floor, || at(10));
    slots[0].leave(None);
    assert_eq!(scan(&floor, 50, &slots, 0).watermark(), Some(at(50)));
}

#[test]
fn a_bound_is_never_below_the_floor_and_a_watermark_never_falls_with_the_clock() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<2>::idle()]);
    assert_eq!(scan(&floor, 1000, &slots, 9).watermark(), Some(at(1000)));
    // The clock has stepped back.
    assert_eq!(scan(&floor, 500, &slots, 9).watermark(), Some(at(1000)));
    assert_eq!(slots[0].enter(ALL, &floor, || at(500)), at(1000));
    assert_eq!(scan(&floor, 600, &slots, 9).watermark(), Some(at(1000)));
}

#[test]
fn a_bound_is_lowered_as_far_as_no_reader_was_told_more() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<2>::idle()]);
    slots[0].enter(ALL, &floor, || at(50));
    assert_eq!(slots[0].lower(&floor, || at(30)), at(30));
    assert_eq!(slots[0].lower(&floor, || at(90)), at(30));
    assert_eq!(scan(&floor, 20, &slots, 9).watermark(), Some(at(20)));
    assert_eq!(slots[0].lower(&floor, || at(10)), at(20));
    slots[0].leave(Some(9));
    assert_eq!(scan(&floor, 100, &slots, 9).watermark(), Some(at(20)));
    // Without a transaction there is nothing to lower.
    slots[0].lower(&floor, || at(1));
    assert_eq!(slots[0].entered(), None);
}

#[test]
fn bounds_and_floors_are_even() {
    let (floor, slots) = (Floor::at(at(7)), [TransactionSlot::<2>::idle()]);
    assert_eq!(floor.get(), at(8));
    assert_eq!(slots[0].enter(ALL, &floor, || at(11)), at(10));
    assert_eq!(slots[0].entered(), Some(at(10)));
    assert_eq!(floor.raise(at(13)), at(12));
    assert_eq!(scan(&floor, 15, &slots, 9).watermark(), Some(at(10)));
}

#[test]
fn a_bound_that_stands_in_no_slot_limits_what_is_settled_too() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<2>::idle()]);
    let mut scan = scan(&floor, 100, &slots, 9);
    scan.add(at(70));
    scan.add(at(80));
    assert_eq!((scan.watermark(), scan.settled()), (Some(at(70)), at(70)));
}

#[test]
fn entries_that_were_overwritten_are_missed_only_by_snapshots_that_need_them() {
    const ENTRIES: usize = 4;
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<ENTRIES>::idle()]);
    for transaction in 1..=10 {
        slots[0].enter(ALL, &floor, || at(10 * transaction));
        slots[0].leave(Some(transaction));
    }
    // A reader can use the entries of 8, 9 and 10, and must find one among them that the snapshot
    // sees.
    for xmin in 0..=12 {
        let expected = match xmin {
            ..=8 => None,
            9..=10 => Some(at(10 * xmin)),
            _ => Some(at(1000)),
        };
        assert_eq!(scan(&floor, 1000, &slots, xmin).watermark(), expected, "{xmin}");
    }
}

#[test]
fn a_set_of_streams_has_what_was_put_in() {
    let both = Streams::of(A).and(Streams::of(B));
    assert!(both.has(A) && both.has(B) && !both.has(Stream::ALL));
    assert_eq!(both.iter().map(Stream::place).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(both.without(Streams::of(A)), Streams::of(B));
    assert!(both.without(both).is_empty() && both.without(both) == Streams::NONE);
    assert!(Streams::of(Stream::at(63)).has(Stream::at(63)));
}

#[test]
fn a_transaction_limits_the_watermarks_of_its_own_streams_alone() {
    let (floor, slots) =
        (Floor::at(at(0)), [TransactionSlot::<4, 3>::idle(), TransactionSlot::idle()]);
    let read = |stream, now, xmin| scan_of(stream, &floor, now, &slots, xmin).watermark();
    let first = slots[0].enter(ALL.and(Streams::of(A)), &floor, || at(100));
    assert_eq!(first, at(100));
    assert_eq!(read(A, 200, 5), Some(at(100)));
    assert_eq!(read(B, 200, 5), Some(at(200)));
    assert_eq!(read(Stream::ALL, 200, 5), Some(at(100)));
    // The stream is entered at the floor, also if the clock has stepped back.
    assert_eq!(slots[0].enter(Streams::of(B), &floor, || at(150)), at(200));
    assert_eq!(slots[0].streams(), ALL.and(Streams::of(A)).and(Streams::of(B)));
    assert_eq!(read(B, 300, 5), Some(at(200)));
    assert_eq!(slots[0].entered(), Some(at(100)));
    slots[0].leave(Some(5));
    assert_eq!(slots[0].streams(), Streams::NONE);
    // The snapshot is from before.
    let old = [Stream::ALL, A, B].map(|stream| read(stream, 400, 5));
    assert_eq!(old, [Some(at(100)), Some(at(100)), Some(at(200))]);
    // The snapshot is from after.
    let new = [Stream::ALL, A, B].map(|stream| read(stream, 400, 6));
    assert_eq!(new, [Some(at(400)); 3]);
}

#[test]
fn a_scan_of_a_stream_finds_what_is_settled_for_all_ids() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<4, 3>::idle()]);
    slots[0].enter(ALL.and(Streams::of(A)), &floor, || at(100));
    let scan = scan_of(B, &floor, 200, &slots, 5);
    assert_eq!((scan.watermark(), scan.settled()), (Some(at(200)), at(100)));
}

#[test]
fn lowering_lowers_the_bounds_of_all_streams_down_to_the_floor() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<4, 3>::idle()]);
    slots[0].enter(ALL.and(Streams::of(A)), &floor, || at(100));
    assert_eq!(slots[0].enter(Streams::of(B), &floor, || at(300)), at(300));
    floor.raise(at(150));
    assert_eq!(slots[0].lower(&floor, || at(120)), at(150));
    let read = |stream| scan_of(stream, &floor, 150, &slots, 5).watermark();
    assert_eq!(
        [read(Stream::ALL), read(A), read(B)],
        [Some(at(100)), Some(at(100)), Some(at(150))]
    );
}

#[test]
fn entries_of_other_streams_are_forgotten_as_those_of_the_stream() {
    let (floor, slots) = (Floor::at(at(0)), [TransactionSlot::<2, 3>::idle()]);
    for transaction in 1..=3 {
        slots[0].enter(ALL.and(Streams::of(A)), &floor, || at(10 * transaction));
        slots[0].leave(Some(transaction));
    }
    assert_eq!(scan_of(B, &floor, 100, &slots, 3).watermark(), None);
    assert_eq!(scan_of(B, &floor, 100, &slots, 4).watermark(), Some(at(100)));
}

#[test]
fn a_history_gives_the_last_watermark_that_holds() {
    let mut history = History::<8>::new();
    assert_eq!(history.watermark(100, 100), None);
    for (position, settled) in
        [(10, 1000), (20, 2000), (20, 2500), (20, 2400), (30, 2500), (15, 9000)]
    {
        history.record(Position(position), at(settled));
    }
    assert_eq!(history.watermark(9, 10), None);
    assert_eq!(history.watermark(10, 10), Some(at(1000)));
    assert_eq!(history.watermark(5, 11), Some(at(1000)));
    assert_eq!(history.watermark(5, 20), Some(at(1000)));
    // The last one has an earlier position, and counts for the snapshots that cover the last
    // position.
    assert_eq!(history.watermark(15, 20), Some(at(1000)));
    assert_eq!(history.watermark(20, 20), Some(at(9000)));
    assert_eq!(history.watermark(1, 1000), Some(at(9000)));
}

#[test]
fn a_full_history_keeps_its_ends_and_more_of_what_is_new() {
    const LENGTH: usize = 16;
    let mut history = History::<LENGTH>::new();
    for position in 1..=100_000 {
        history.record(Position(position), at(position));
    }
    assert_eq!(history.watermark(1, 1), Some(at(1)));
    assert_eq!(history.watermark(100_000, 100_000), Some(at(100_000)));
    // What is lost is a part of the age, at every age.
    for age in [10, 100, 1_000, 10_000, 90_000] {
        let position = 100_000 - age;
        let at_most = history.watermark(position, position).unwrap().0;
        assert!(at_most <= position);
        assert!(position - at_most <= 4 * age, "age {age}: {at_most}");
    }
}

proptest! {
    /// A history gives a watermark that was recorded, at a position that covers the snapshot.
    #[test]
    fn a_history_invents_nothing(
        records in prop::collection::vec((0u64..200, 0u64..200), 0..60),
        xmin in 0u64..220,
        running in 0u64..20,
    ) {
        let mut history = History::<5>::new();
        for &(position, settled) in &records {
            history.record(Position(position), at(settled));
        }
        let xmax = xmin + running;
        let holds = |position: u64| position <= xmin || position < xmax;
        if let Some(watermark) = history.watermark(xmin, xmax) {
            prop_assert!(records.iter().any(|&(position, settled)| holds(position) && settled == watermark.0));
        }
    }

    /// A scan finds the least bound of what is open and of what the snapshot does not see, or says
    /// that it can't.
    #[test]
    fn a_scan_agrees_with_a_list(
        steps in prop::collection::vec((0usize..3, any::<bool>(), 1u64..50), 0..60),
        xmin in 0u64..70,
    ) {
        let (floor, slots) = (Floor::at(at(0)), [(); 3].map(|()| TransactionSlot::<4>::idle()));
        let mut open = [None; 3];
        let mut left = Vec::new();
        let (mut now, mut next) = (0, 1);
        for (slot, writes, later) in steps {
            // Bounds are even.
            now += 2 * later;
            match open[slot].take() {
                None => open[slot] = Some(slots[slot].enter(ALL, &floor, || at(now)).0),
                Some(bound) => {
                    slots[slot].leave(writes.then_some(next));
                    if writes {
                        left.push((next, bound));
                        next += 1;
                    }
                }
            }
        }
        now += 2;
        let unseen = left.iter().filter(|&&(transaction, _)| transaction >= xmin).map(|&(_, bound)| bound);
        let expected = unseen.chain(open.into_iter().flatten()).chain([now]).min();
        let found = scan(&floor, now, &slots, xmin);
        prop_assert_eq!(found.settled().0, open.into_iter().flatten().chain([now]).min().unwrap());
        match found.watermark() {
            Some(watermark) => prop_assert_eq!(Some(watermark.0), expected),
            None => prop_assert!(left.iter().filter(|&&(transaction, _)| transaction >= xmin).count() >= 3),
        }
    }

    /// A scan of a stream finds the least bound, in the stream, of what is open and of what the
    /// snapshot does not see.
    #[test]
    fn a_scan_of_a_stream_agrees_with_a_list(
        steps in prop::collection::vec((0usize..3, 0usize..6, 1u64..50), 0..60),
        xmin in 0u64..70,
    ) {
        const STREAMS: usize = 4;
        let (floor, slots) = (Floor::at(at(0)), [(); 3].map(|()| TransactionSlot::<64, STREAMS>::idle()));
        let mut open = [[None; STREAMS]; 3];
        let mut left: Vec<(u64, [Option<u64>; STREAMS])> = Vec::new();
        let (mut now, mut next) = (0, 1);
        for (slot, what, later) in steps {
            now += 2 * later;
            let bounds = &mut open[slot];
            match what {
                // An ID of a stream.
                0..STREAMS => {
                    let wanted = ALL.and(Streams::of(Stream::at(what)));
                    let missing = wanted.without(slots[slot].streams());
                    if !missing.is_empty() {
                        let bound = slots[slot].enter(missing, &floor, || at(now));
                        missing.iter().for_each(|stream| bounds[stream.place()] = Some(bound.0));
                    }
                }
                _ => {
                    let writes = what == STREAMS;
                    let entered = std::mem::take(bounds);
                    slots[slot].leave(writes.then_some(next));
                    if writes && entered[0].is_some() {
                        left.push((next, entered));
                        next += 1;
                    }
                }
            }
        }
        now += 2;
        for place in 0..STREAMS {
            let unseen = left.iter().filter(|&&(transaction, _)| transaction >= xmin);
            let bounds = unseen.filter_map(|(_, bounds)| bounds[place]);
            let opened = open.iter().filter_map(|bounds| bounds[place]);
            let expected = bounds.chain(opened).chain([now]).min();
            let found = scan_of(Stream::at(place), &floor, now, &slots, xmin);
            prop_assert_eq!(found.watermark().map(|time| time.0), expected, "{}", place);
        }
    }
}
