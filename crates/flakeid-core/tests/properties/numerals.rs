//! Properties of numbers as text, in every base.

use super::{naive, texts};
use flakeid_core::Error;
use flakeid_core::base62::{self, Case};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_number_is_written_in_every_base_as_by_hand_and_reads_back(
        number in prop_oneof![any::<u128>(), any::<u64>().prop_map(u128::from), Just(u128::MAX)],
        base in 2..=62u32,
    ) {
        let text = base62::encode(number, base);
        prop_assert_eq!(text.as_str(), naive::in_base(number, base as usize));
        let read = |text: &[u8], case| base62::decode(text, base, case, 128);
        prop_assert_eq!(read(text.as_str().as_bytes(), Case::Sensitive), Ok(number));
        if base <= 36 {
            let mut lower = text;
            lower.make_ascii_lowercase();
            prop_assert_eq!(lower.as_str(), text.as_str().to_lowercase());
            prop_assert_eq!(read(lower.as_str().as_bytes(), Case::Either), Ok(number));
        }
    }

    #[test]
    fn digits_of_every_base_are_read_as_by_hand_or_refused_for_what_is_wrong(
        text in prop_oneof![texts(b"01aZ", 9), texts(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 20)],
        zeros in 0..150usize, base in 2..=62u32, bits in 1..=128u32, either in any::<bool>(),
    ) {
        let text = ["0".repeat(zeros).into_bytes(), text].concat();
        let case = if either && base <= 36 { Case::Either } else { Case::Sensitive };
        let upper = |byte: u8| if case == Case::Either { byte.to_ascii_uppercase() } else { byte };
        let text_in_case: Vec<u8> = text.iter().copied().map(upper).collect();
        let spoilt = (0..text.len()).find(|&i| naive::bits(&text_in_case[..=i], base).is_none());
        let good = &text_in_case[..spoilt.unwrap_or(text.len())];
        let fits = naive::bits(good, base).unwrap().len() <= bits as usize;
        match base62::decode(&text, base, case, bits) {
            Ok(number) => {
                prop_assert!(spoilt.is_none() && fits && !text.is_empty());
                let read: Vec<bool> = (0..128).map(|i| number >> i & 1 == 1).collect();
                let expected = naive::bits(good, base).unwrap();
                let (low, high) = read.split_at(expected.len());
                prop_assert!(low == expected && !high.contains(&true));
            }
            Err(Error::TextEmpty) => prop_assert!(text.is_empty()),
            Err(Error::TextCharacter { position }) => {
                prop_assert!(fits && spoilt == Some(position));
            }
            Err(error) => {
                prop_assert_eq!(error, Error::TextOverflow { bits });
                prop_assert!(!fits);
            }
        }
    }
}
