//! guid, with a node and without.

use super::{in_range, joined, moments_of, naive, start, stripped, texts, wild_field};
use flakeid_core::Error;
use flakeid_core::clock::{Tick, UnixMicros};
use flakeid_core::guid::{Clock, Drift, END, Format, Id, Parts, SCALE, UNIT};
use flakeid_core::guid_local::Local;
use proptest::prelude::*;

const DIGITS: &[u8; 64] = b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const LAST: u64 = (1 << 47) - 1;
const CLOCKS: [Clock; 2] = [Clock::Unix, Clock::Inverse];

fn drifts() -> impl Strategy<Value = Drift> {
    (0..8i64).prop_map(|code| Drift::from_code(code).unwrap())
}

fn clocks() -> impl Strategy<Value = Clock> {
    prop::sample::select(&CLOCKS[..])
}

/// Often two that differ in one field, and times where the coarse part changes.
fn parts() -> impl Strategy<Value = Parts> {
    let fine = (18..26u32, 0..3u64, -2..=2i64)
        .prop_map(|(bits, coarse, by)| (coarse << bits).saturating_add_signed(by));
    let time = prop_oneof![0..3u64, fine, LAST - 2..=LAST, 0..=LAST];
    let node = prop_oneof![0..2u64, Just(u32::MAX.into()), 0..1u64 << 32];
    let sequence = prop_oneof![0..2u64, Just((1u64 << 14) - 1), 0..1u64 << 14];
    (drifts(), time, node, sequence).prop_map(|(drift, time, node, sequence)| Parts {
        drift,
        time: Tick(time),
        node,
        sequence,
    })
}

/// Coarse part and fine part of a time.
fn cut(drift: Drift, time: u64) -> (u64, u64) {
    let fine = 1 << (18 + drift.code());
    (time / fine, time % fine)
}

/// What global IDs sort by, and local ones.
fn places(parts: Parts) -> ([u64; 5], [u64; 3]) {
    let Parts { drift, time, node, sequence } = parts;
    let (coarse, fine) = cut(drift, time.0);
    ([drift.code(), coarse, node, fine, sequence], [drift.code(), time.0, sequence])
}

/// When it was made by this clock, from its tick alone.
fn time_of(parts: Parts, clock: Clock) -> UnixMicros {
    match clock {
        Clock::Unix => start(parts.time.0, UNIT),
        Clock::Inverse => start(LAST - parts.time.0, UNIT),
    }
}

/// Parts, others of the same drift with a time that is not far from theirs, a clock, and moments
/// near their own by that clock.
fn with_moments() -> impl Strategy<Value = (Vec<Parts>, Clock, UnixMicros, UnixMicros)> {
    let others = prop::collection::vec((-3..=3i64, any::<bool>(), parts()), 5);
    (parts(), others, clocks()).prop_flat_map(|(parts, others, clock)| {
        let other = |(by, far, other): (i64, bool, Parts)| {
            let near = parts.time.0.saturating_add_signed(by).min(LAST);
            let time = Tick(if far { other.time.0 } else { near });
            Parts { time, drift: parts.drift, ..other }
        };
        let zero = Parts { time: Tick(0), node: 0, sequence: 0, ..parts };
        let ones =
            Parts { time: Tick(LAST), node: u32::MAX.into(), sequence: (1 << 14) - 1, ..parts };
        let all: Vec<Parts> = others.into_iter().map(other).chain([parts, zero, ones]).collect();
        let own = match clock {
            Clock::Unix => parts.time.0,
            Clock::Inverse => LAST - parts.time.0,
        };
        let time = moments_of(UNIT, own, LAST);
        (Just(all), Just(clock), time.clone(), time)
    })
}

/// A tick begins at one of these moments.
fn has_tick(from: UnixMicros, to: UnixMicros) -> bool {
    let near = (i128::from(from.0).max(0) * 1000 / i128::from(UNIT)) as u64;
    (near.saturating_sub(2)..near + 3)
        .filter(|&tick| tick <= LAST)
        .any(|tick| from <= start(tick, UNIT) && start(tick, UNIT) <= to)
}

/// Why sixteen bytes are no digits below `limit`, or other than sixteen.
fn fault(text: &[u8], limit: usize) -> Option<Error> {
    if text.len() != 16 {
        return Some(Error::TextLength { expected: 16, found: text.len() });
    }
    let position = text.iter().position(|byte| !DIGITS[..limit].contains(byte))?;
    Some(Error::TextCharacter { position })
}

fn digits(word: u128, bits: u32) -> [u8; 16] {
    std::array::from_fn(|i| DIGITS[(word >> (15 - i as u32) * bits) as usize % (1 << bits)])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_guid_is_its_fields_in_a_row_with_the_node_between_those_of_the_time(parts in parts()) {
        let Parts { drift, time, node, sequence } = parts;
        let d = 18 + drift.code() as usize;
        let (coarse, fine) = cut(drift, time.0);
        let word = joined(&[
            (drift.code(), 3), (coarse, 47 - d), (node, 32), (fine, d), (sequence, 14),
        ]);
        let id = Id::pack(parts);
        prop_assert_eq!((id.word(), &id.0[..]), (word, &word.to_be_bytes()[4..]));
        prop_assert_eq!(id.parts(), parts);
        let word = joined(&[(drift.code(), 3), (time.0, 47), (sequence, 14)]);
        let local = Local::pack(parts);
        prop_assert_eq!(u128::from(local.0), word);
        prop_assert_eq!(local.parts(), Parts { node: 0, ..parts });
        for clock in CLOCKS {
            let time = time_of(parts, clock);
            prop_assert_eq!((id.time(clock), local.time(clock)), (time, time));
        }
    }

    /// Whatever bytes there are, they are an ID.
    #[test]
    fn a_guid_of_any_bytes_is_that_of_its_parts(bytes in any::<[u8; 12]>(), word in any::<u64>()) {
        prop_assert_eq!(Id::pack(Id(bytes).parts()), Id(bytes));
        prop_assert_eq!(Local::pack(Local(word).parts()), Local(word));
    }

    #[test]
    fn a_guid_is_encoded_whenever_all_of_it_fits(
        time in moments_of(UNIT, 1 << 43, LAST), node in wild_field(32),
        sequence in wild_field(14), drift in drifts(), clock in clocks(),
    ) {
        let fields = [(node, 32), (sequence, 14)];
        // The last that begins in this microsecond or before it.
        let begins = |nanos: i128| (i128::from(time.0) * 1000 + nanos).div_euclid(1 << 17);
        let tick = begins(999).min(begins(0).max(LAST.into()));
        let (id, local) = (
            Id::encode(time, node, sequence, drift, clock),
            Local::encode(time, sequence, drift, clock),
        );
        if !(0..=i128::from(LAST)).contains(&tick) {
            let (first, last) = (UnixMicros(0), start(LAST, UNIT));
            let error = |system| Error::TimeOutOfRange { system, time, first, last };
            prop_assert_eq!((id, local), (Err(error("guid")), Err(error("guid_local"))));
            return Ok(());
        }
        if fields.iter().all(|&(value, width)| in_range(value, width)) {
            let stored = if clock == Clock::Unix { tick as u64 } else { LAST - tick as u64 };
            let (node, sequence) = (node as u64, sequence as u64);
            let parts = Parts { drift, time: Tick(stored), node, sequence };
            prop_assert_eq!(id, Ok(Id::pack(parts)));
            let since = time.0 - id.unwrap().time(clock).0;
            prop_assert!((0..=131).contains(&since));
            // What an ID says is what it is made of.
            let again = Id::encode(id.unwrap().time(clock), parts.node as i64, parts.sequence as i64, drift, clock);
            prop_assert_eq!(again, id);
        } else {
            let Err(Error::FieldOutOfRange { value, max, .. }) = id else { panic!("{id:?}") };
            prop_assert!(value < 0 || value as u64 > max);
            prop_assert!(fields.contains(&(value, 64 - max.leading_zeros())));
        }
        if in_range(sequence, 14) {
            prop_assert_eq!(local.unwrap().global(0), Id::encode(time, 0, sequence, drift, clock));
        } else {
            let error = Error::FieldOutOfRange { field: "sequence", value: sequence, max: 0x3fff };
            prop_assert_eq!(local, Err(error));
        }
    }

    #[test]
    fn bytes_and_texts_of_guids_sort_as_their_fields(a in parts(), b in parts()) {
        let (x, y, order) = (Id::pack(a), Id::pack(b), places(a).0.cmp(&places(b).0));
        prop_assert_eq!((x.cmp(&y), x.text().cmp(&y.text())), (order, order));
        let (x, y, order) = (Local::pack(a), Local::pack(b), places(a).1.cmp(&places(b).1));
        prop_assert_eq!((x.cmp(&y), x.text().cmp(&y.text())), (order, order));
        let (x, y) = (x.0.to_be_bytes(), y.0.to_be_bytes());
        prop_assert_eq!(x.cmp(&y), order);
    }

    /// Nodes whose clocks are apart by less than the fine part can count: the node comes first.
    #[test]
    fn guids_of_one_node_sort_by_time_and_of_two_no_further_than_the_drift(
        a in parts(), b in parts()
    ) {
        let b = Parts { drift: a.drift, ..b };
        let (x, y) = (Id::pack(a), Id::pack(b));
        if a.node == b.node {
            prop_assert_eq!(x.cmp(&y), (a.time, a.sequence).cmp(&(b.time, b.sequence)));
        } else if x < y && a.time > b.time {
            let nanos = u128::from(a.time.0 - b.time.0) << 17;
            prop_assert!(nanos < u128::from(a.drift.seconds() + 1) * 1_000_000_000);
        }
    }

    #[test]
    fn a_guid_text_is_its_bits_six_by_six_or_four_by_four_and_reads_back(
        bytes in any::<[u8; 12]>(), word in prop_oneof![any::<u64>(), 0..300u64, Just(u64::MAX)],
    ) {
        let (id, local) = (Id(bytes), Local(word));
        prop_assert_eq!(id.text(), digits(id.word(), 6));
        prop_assert_eq!(local.text(), digits(word.into(), 4));
        prop_assert_eq!(Id::from_text(&id.text()), Ok(id));
        prop_assert_eq!(Local::from_text(&local.text()), Ok(local));
        let text = naive::in_base(id.word(), 62);
        prop_assert_eq!(id.base62().as_str().to_owned(), &*text);
        prop_assert_eq!(Id::from_base62(text.as_bytes()), Ok(id));
        let text = naive::in_base(word.into(), 62);
        prop_assert_eq!(local.base62().as_str().to_owned(), &*text);
        prop_assert_eq!(Local::from_base62(text.as_bytes()), Ok(local));
    }

    #[test]
    fn a_guid_is_read_from_sixteen_of_the_alphabet_alone(
        text in prop_oneof![texts(DIGITS, 16), texts(b".0123456789ABCDE", 16)]
    ) {
        match Id::from_text(&text) {
            Ok(id) => prop_assert_eq!((&id.text()[..], None), (&text[..], fault(&text, 64))),
            Err(error) => prop_assert_eq!(Some(error), fault(&text, 64)),
        }
        match Local::from_text(&text) {
            Ok(id) => prop_assert_eq!((&id.text()[..], None), (&text[..], fault(&text, 16))),
            Err(error) => prop_assert_eq!(Some(error), fault(&text, 16)),
        }
    }

    #[test]
    fn a_base62_text_that_is_read_as_a_guid_is_the_one_it_is_written_as(
        text in prop_oneof![
            texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 17),
            texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11),
        ]
    ) {
        let bits = naive::bits(&text, 62).filter(|_| !text.is_empty()).map(|bits| bits.len());
        let digits = String::from_utf8_lossy(&text);
        let (id, local) = (Id::from_base62(&text), Local::from_base62(&text));
        prop_assert_eq!(id.is_ok(), bits.is_some_and(|bits| bits <= 96));
        prop_assert_eq!(local.is_ok(), bits.is_some_and(|bits| bits <= 64));
        if let Ok(id) = id {
            let text = id.base62();
            prop_assert_eq!(text.as_str(), stripped(&digits));
        }
        if let Ok(local) = local {
            let text = local.base62();
            prop_assert_eq!(text.as_str(), stripped(&digits));
        }
    }

    /// By their time the IDs of one drift are not in a row: between the bounds are those of other
    /// nodes with another time. But nothing that is of the time lies outside, and the bound itself
    /// is of it; that makes it the smallest or the largest.
    #[test]
    fn no_guid_of_a_time_is_outside_its_bounds_and_the_bounds_are_of_that_time(
        (all, _, time, _) in with_moments(),
    ) {
        let clock = Clock::Unix;
        let [.., zero, ones] = all[..] else { unreachable!() };
        let (min, max) = (Id::min(time, zero.drift), Id::max(time, zero.drift));
        prop_assert!(min.time(clock) >= time || min == Id::pack(ones));
        prop_assert!(max.time(clock) <= time || max == Id::pack(zero));
        prop_assert_eq!((min.parts().drift, max.parts().drift), (zero.drift, zero.drift));
        let (local_min, local_max) = (Local::min(time, zero.drift), Local::max(time, zero.drift));
        for parts in all {
            let id = Id::pack(parts);
            prop_assert!(time_of(parts, clock) < time || id >= min, "{:?}", parts);
            prop_assert!(time_of(parts, clock) > time || id <= max, "{:?}", parts);
            // Without a node they are in a row.
            let id = Local::pack(parts);
            let after = time_of(parts, clock) >= time || id == Local::pack(ones);
            let before = time_of(parts, clock) <= time || id == Local::pack(zero);
            prop_assert_eq!((id >= local_min, id <= local_max), (after, before), "{:?}", parts);
        }
        prop_assert_eq!((min.local(), max.local()), (local_min, local_max));
    }

    #[test]
    fn no_guid_of_a_time_is_outside_its_range_and_its_ends_are_of_that_time(
        (all, clock, from, to) in with_moments(),
    ) {
        let drift = all[0].drift;
        let (first, last) = Id::range(from, to, drift, clock);
        let (local_first, local_last) = Local::range(from, to, drift, clock);
        prop_assert_eq!(first <= last, has_tick(from, to));
        if first <= last {
            for end in [first, last] {
                prop_assert_eq!(end.parts().drift, drift);
                prop_assert!(from <= end.time(clock) && end.time(clock) <= to);
            }
        }
        for parts in all {
            let inside = from <= time_of(parts, clock) && time_of(parts, clock) <= to;
            let id = Id::pack(parts);
            prop_assert!(!inside || first <= id && id <= last, "{:?}", parts);
            let id = Local::pack(parts);
            prop_assert_eq!(local_first <= id && id <= local_last, inside, "{:?}", parts);
        }
        prop_assert_eq!((first.local(), last.local()), (local_first, local_last));
    }

    #[test]
    fn a_guid_loses_its_node_and_gets_one(
        parts in parts(), node in wild_field(32)
    ) {
        let (id, local) = (Id::pack(parts), Local::pack(parts));
        prop_assert_eq!(id.local(), local);
        prop_assert_eq!(local.global(parts.node as i64), Ok(id));
        match in_range(node, 32) {
            true => {
                let global = local.global(node).unwrap();
                prop_assert_eq!(global, Id::pack(Parts { node: node as u64, ..parts }));
                prop_assert_eq!(global.local(), local);
            }
            false => {
                let error = Error::FieldOutOfRange {
                    field: "node", value: node, max: u32::MAX.into()
                };
                prop_assert_eq!(local.global(node), Err(error));
            }
        }
    }

    #[test]
    fn what_is_between_two_guids_leads_from_one_to_the_other(a in parts(), b in parts()) {
        let moment = |parts: Parts| {
            u128::from(parts.time.0) * (1 << 14) + u128::from(parts.sequence)
        };
        let apart = Id::pack(a).diff(Id::pack(b)).parts();
        prop_assert_eq!((moment(apart) + moment(b)) % (1 << 61), moment(a));
        prop_assert_eq!((apart.drift, apart.node), (a.drift, a.node));
        let local = Local::pack(a).diff(Local::pack(b)).parts();
        prop_assert_eq!(local, Parts { node: 0, ..apart });
    }

    /// As long as the time's highest bit tells them apart.
    #[test]
    fn the_inverse_clock_turns_the_order_and_never_makes_an_id_of_the_other(
        a in parts(), b in parts()
    ) {
        let turned = |parts: Parts| {
            let (time, sequence) = Clock::Inverse.turn(parts.time, parts.sequence);
            Parts { time, sequence, ..parts }
        };
        prop_assert_eq!(turned(turned(a)), a);
        prop_assert_eq!(Clock::Unix.turn(a.time, a.sequence), (a.time, a.sequence));
        let b = Parts { drift: a.drift, node: a.node, ..b };
        let (x, y) = (Id::pack(turned(a)), Id::pack(turned(b)));
        prop_assert_eq!(x.cmp(&y), Id::pack(b).cmp(&Id::pack(a)));
        let (x, y) = (Local::pack(turned(a)), Local::pack(turned(b)));
        prop_assert_eq!(x.cmp(&y), Local::pack(b).cmp(&Local::pack(a)));
        // What both can issue: to the end.
        prop_assert_eq!(turned(a).time(Clock::Inverse), a.time(Clock::Unix));
        if a.time <= END && b.time <= END {
            prop_assert_ne!(Id::pack(a), Id::pack(turned(b)));
            prop_assert!(Local::pack(a) < Local::pack(turned(b)));
        }
    }

    #[test]
    fn a_drift_covers_so_many_seconds_and_no_lower_code_does(
        nanos in prop_oneof![
            any::<i128>(), -10..5_000_000_000_000i128,
            (prop::sample::select(&[68, 137, 274, 549, 1099, 2199, 4398][..]), -1..=1i128)
                .prop_map(|(seconds, by)| i128::from(seconds) * 1_000_000_000 + by),
        ],
        code in prop_oneof![-2..10i64, any::<i64>()],
    ) {
        let seconds = [34u64, 68, 137, 274, 549, 1099, 2199, 4398];
        let drifts = (0..8).map(|code| Drift::from_code(code).unwrap());
        prop_assert!(drifts.map(Drift::seconds).eq(seconds));
        let covers = |code: &u64| i128::from(seconds[*code as usize]) * 1_000_000_000 >= nanos;
        prop_assert_eq!(Drift::covering(nanos).code(), (1..7).find(covers).unwrap_or(7));
        match in_range(code, 3) {
            true => {
                let drift = Drift::from_code(code).unwrap();
                prop_assert_eq!(drift.code(), code as u64);
            }
            false => {
                let error = Error::FieldOutOfRange { field: "drift", value: code, max: 7 };
                prop_assert_eq!(Drift::from_code(code), Err(error));
            }
        }
    }
}

#[test]
fn every_drift_is_named_by_the_seconds_it_covers_and_code_0_by_nothing_else() {
    for code in 0..8 {
        let drift = Drift::from_code(code).unwrap();
        let nanos = i128::from(drift.seconds()) * 1_000_000_000;
        assert_eq!(Drift::named(nanos), drift);
        for nearly in [nanos - 1, nanos + 1, -nanos, 0] {
            assert_eq!(Drift::named(nearly), Drift::covering(nearly));
            assert_ne!(Drift::named(nearly).code(), 0);
        }
    }
}

#[test]
fn the_default_drift_is_the_one_of_274_seconds() {
    assert_eq!((Drift::DEFAULT.code(), Drift::DEFAULT.seconds()), (3, 274));
}

#[test]
fn the_last_tick_of_a_guid_is_half_way() {
    assert_eq!(END, Tick(LAST / 2));
    // On 2262-04-11, where nanoseconds in 63 bits end too.
    assert_eq!(SCALE.nanos(END).0, (1 << 63) - UNIT);
}

#[test]
fn the_formats_of_a_guid_have_names() {
    for (format, name) in Format::ALL.into_iter().zip(["base64", "base62"]) {
        assert_eq!((format.name(), Format::from_name(name)), (name, Some(format)));
    }
    for name in ["", "hex", "BASE64", "base6"] {
        assert_eq!(Format::from_name(name), None);
    }
}
