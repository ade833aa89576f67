#![cfg(not(loom))]
//! The public form: texts and UUIDs are read as they were written, and show nothing of the order of
//! the IDs.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use flakeid_core::Error;
use flakeid_core::ff1::BlockCipher;
use flakeid_core::public_form::{PublicForm, Version, is_prefix, with_version, without_version};
use proptest::prelude::*;

/// The bits of the IDs of all ID types, and the digits of their texts.
const FORMS: [(u32, usize); 5] = [(64, 11), (80, 14), (96, 17), (122, 21), (128, 22)];

fn form() -> impl Strategy<Value = (u32, PublicForm)> {
    prop::sample::select(FORMS.map(|(bits, _)| (bits, PublicForm::of_bits(bits))).to_vec())
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(Version::all().collect::<Vec<_>>())
}

struct Cipher(Aes256);

impl BlockCipher for Cipher {
    fn encrypt(&self, block: &mut [u8; 16]) {
        self.0.encrypt_block(block.into());
    }
}

fn cipher() -> Cipher {
    Cipher(Aes256::new(&[0x42; 32].into()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_text_is_read_as_it_was_written((bits, form) in form(), version in version(), number: u128) {
        let number = number >> (128 - bits);
        let text = form.text(version, number);
        let digits = FORMS.iter().find(|form| form.0 == bits).unwrap().1;
        prop_assert_eq!(text.as_ref().len(), 1 + digits);
        prop_assert_eq!(text.as_str().chars().next(), Some(version.character()));
        prop_assert_eq!(form.read_text(text.as_ref()), Ok((version, number)));
    }

    #[test]
    fn a_text_that_is_read_is_the_one_of_its_number((_, form) in form(), text in "[0-9A-Za-z]{0,30}") {
        if let Ok((version, number)) = form.read_text(text.as_bytes()) {
            let written = form.text(version, number);
            prop_assert_eq!(written.as_str(), text);
        }
    }

    #[test]
    fn a_uuid_is_read_as_it_was_written((bits, form) in form(), version in version(), number: u128) {
        prop_assume!(form.in_uuid.is_some());
        let room = if form.has_version_in_uuid() { 116 } else { 122 };
        let number = number >> (128 - room);
        let uuid = form.uuid(version, number);
        let parsed = uuid::Uuid::from_bytes(uuid);
        prop_assert_eq!(parsed.get_version_num(), 8);
        prop_assert_eq!(parsed.get_variant(), uuid::Variant::RFC4122);
        let known = form.has_version_in_uuid().then_some(version);
        prop_assert_eq!(form.read_uuid(uuid), Some((known, number)));
        // What is decrypted is an ID if it is not larger than one.
        let is_id = bits == 122 || number >> bits == 0;
        prop_assert_eq!(form.id_in_uuid(number), is_id.then_some(number));
    }

    #[test]
    fn a_uuid_that_is_read_is_the_one_of_its_number((_, form) in form(), uuid: [u8; 16], set in 0..2u8) {
        prop_assume!(form.in_uuid.is_some());
        let mut uuid = uuid;
        if set == 1 {
            uuid[6] = 0x80 | uuid[6] & 0xf;
            uuid[8] = 0x80 | uuid[8] & 0x3f;
        }
        match form.read_uuid(uuid) {
            Some((version, number)) => {
                let version = version.unwrap_or(Version::all().next().unwrap());
                prop_assert_eq!(form.uuid(version, number), uuid);
            }
            None => prop_assert!(uuid[6] >> 4 != 8 || uuid[8] >> 6 != 2 || uuid[0] >> 2 >= 62),
        }
    }

    #[test]
    fn the_bits_beside_version_and_variant_come_back(word: u128) {
        const COMMON: u128 = 0xf << 76 | 3 << 62;
        let bits = without_version(word);
        prop_assert!(bits < 1 << 122);
        prop_assert_eq!(with_version(bits, word & COMMON), word);
    }
}

#[test]
fn each_number_fits_its_digits() {
    for (bits, digits) in FORMS {
        let form = PublicForm::of_bits(bits);
        let (version, largest) = (Version::all().last().unwrap(), u128::MAX >> (128 - bits));
        assert_eq!(form.text(version, largest).as_ref().len(), 1 + digits);
        assert_eq!(form.read_text(form.text(version, largest).as_ref()), Ok((version, largest)));
        let too_large = "z".repeat(1 + digits);
        assert_eq!(form.read_text(too_large.as_bytes()), Err(Error::TextOverflow { bits }));
    }
}

#[test]
fn prefixes() {
    for prefix in ["", "ord", "a-b_C9", "_", "x".repeat(63).as_str()] {
        assert!(is_prefix(prefix.as_bytes()), "{prefix}");
    }
    for prefix in [" ", "a.b", "a/b", "\0", "\u{e4}", "x".repeat(64).as_str()] {
        assert!(!is_prefix(prefix.as_bytes()), "{prefix}");
    }
}

/// A million consecutive IDs: each bit of the encrypted numbers is set for half of them, within
/// five standard deviations. If one bit of an ID changes, half of the bits of the encrypted number
/// do.
#[test]
fn consecutive_ids_look_random() {
    const IDS: u64 = 1_000_000;
    let (form, cipher) = (PublicForm::of_bits(64), cipher());
    let first = 2_237_357_943_253_106_688_u64;
    let encrypt = |id: u64| form.in_text.encrypt(&cipher, b"flake:ord", id.into());
    let (mut set, mut flipped) = ([0u64; 64], [0u64; 64]);
    let mut before = encrypt(first - 1);
    let mut changed = 0;
    for id in first..first + IDS {
        let encrypted = encrypt(id);
        let changes = encrypted ^ encrypt(id ^ 1 << (id % 64));
        for bit in 0..64 {
            set[bit] += (encrypted >> bit & 1) as u64;
            flipped[bit] += (changes >> bit & 1) as u64;
        }
        changed += u64::from((encrypted ^ before).count_ones());
        before = encrypted;
    }
    // The standard deviation of a million tosses of a coin is 500.
    for (what, counts) in [("set", set), ("flipped", flipped)] {
        for (bit, count) in counts.into_iter().enumerate() {
            assert!(count.abs_diff(IDS / 2) < 2_500, "bit {bit} is {what} in {count} of {IDS}");
        }
    }
    // Neighbors differ in 32 bits; the standard deviation of the sum is 4,000.
    assert!(changed.abs_diff(32 * IDS) < 20_000, "{changed} bits differ between neighbors");
}
