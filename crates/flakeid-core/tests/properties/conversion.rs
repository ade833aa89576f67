//! Properties of the conversions of a flake.

use flakeid_core::clock::Tick;
use flakeid_core::conversion::{
    flake_from_flake128, flake_from_uuidv7, flake_to_flake128, flake_to_uuidv7,
};
use flakeid_core::flake::{Epoch, Id};
use flakeid_core::{Error, flake128, uuidv7};
use proptest::prelude::*;

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![Just(0), Just(1_262_304_000_000), Just((1i64 << 42) - 1), 0..1i64 << 42]
        .prop_map(|millis| Epoch::from_millis(millis).unwrap())
}

/// Generates a flake of the half that is positive in SQL, in a few values of each field or
/// anywhere.
fn flake() -> impl Strategy<Value = Id> {
    let ends = [0, 1, (1 << 12) - 1, 1 << 12, (1 << 22) - 1, 1 << 22, (1 << 63) - 1];
    prop_oneof![prop::sample::select(ends.to_vec()), 0..1u64 << 63].prop_map(Id)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_flake_comes_back(id in flake(), epoch in epoch()) {
        prop_assert_eq!(flake_from_flake128(flake_to_flake128(id, epoch), epoch), Ok(id));
        prop_assert_eq!(flake_from_uuidv7(flake_to_uuidv7(id, epoch), epoch), Some(Ok(id)));
    }

    #[test]
    fn a_conversion_keeps_the_time_and_the_order(a in flake(), b in flake(), epoch in epoch()) {
        let (a128, b128) = (flake_to_flake128(a, epoch), flake_to_flake128(b, epoch));
        let (a7, b7) = (flake_to_uuidv7(a, epoch), flake_to_uuidv7(b, epoch));
        prop_assert_eq!(a.cmp(&b), a128.cmp(&b128));
        prop_assert_eq!(a.cmp(&b), a7.cmp(&b7));
        prop_assert_eq!(a128.time(), a.time(epoch.origin()));
        prop_assert_eq!(a7.time(), Some(a.time(epoch.origin())));
    }

    #[test]
    fn an_id_that_is_converted_back_is_that_of_the_flake(word in any::<u128>(), epoch in epoch(), near in flake()) {
        // Most IDs are those of no flake. So all bits but the lowest are those of one, too.
        let words = [word, u128::from_be_bytes(flake_to_flake128(near, epoch).0) ^ word & 0xffff_ffff];
        for id in words.map(flake128::Id::from_word) {
            if let Ok(flake) = flake_from_flake128(id, epoch) {
                prop_assert_eq!(flake_to_flake128(flake, epoch), id);
            }
        }
        let near = u128::from_be_bytes(flake_to_uuidv7(near, epoch).0);
        for word in [word, near ^ word & 0xff_ffff, near ^ 1 << (word & 127)] {
            let id = uuidv7::Id(word.to_be_bytes());
            if let Some(Ok(flake)) = flake_from_uuidv7(id, epoch) {
                prop_assert_eq!(flake_to_uuidv7(flake, epoch), id);
            }
        }
    }
}

#[test]
fn what_has_no_room_in_a_flake_is_refused() {
    let epoch = Epoch::UNIX;
    let flake128 = |time, worker, sequence| {
        flake_from_flake128(flake128::Id::pack(Tick(time), worker, sequence), epoch)
    };
    assert!(matches!(
        flake128(0, 1024, 0),
        Err(Error::FieldOutOfRange { value: 1024, max: 1023, .. })
    ));
    assert!(matches!(
        flake128(0, 1023, 4096),
        Err(Error::FieldOutOfRange { value: 4096, max: 4095, .. })
    ));
    assert!(matches!(flake128(1 << 41, 0, 0), Err(Error::TimeOutOfRange { .. })));
    assert!(matches!(flake128(u64::MAX, 0, 0), Err(Error::TimeOutOfRange { .. })));
    let uuidv7 = |fraction, lane, sequence, random| {
        flake_from_uuidv7(uuidv7::Id::pack(Tick(7), fraction, lane, sequence, random), epoch)
    };
    assert!(matches!(uuidv7(0, 0, 0, (1 << 22) - 1), Some(Ok(_))));
    for (fraction, lane, sequence, random) in
        [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1 << 22)]
    {
        assert_eq!(uuidv7(fraction, lane, sequence, random), None);
    }
    assert_eq!(flake_from_uuidv7(uuidv7::Id([0; 16]), epoch), None);
}
