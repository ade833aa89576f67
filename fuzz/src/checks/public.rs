//! The public form of IDs.

use super::Input;
use flakeid_core::ff1::BlockCipher;
use flakeid_core::public_form::{PublicForm, UUID_BITS, Version, is_prefix};

/// A function of a key and a block. FF1 is a permutation with any function.
struct Mixer(u128);

impl BlockCipher for Mixer {
    fn encrypt(&self, block: &mut [u8; 16]) {
        let mixed = (u128::from_be_bytes(*block) ^ self.0)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
            .rotate_left(61);
        *block = (mixed ^ mixed >> 64).to_be_bytes();
    }
}

pub fn public_form(data: &[u8]) {
    let mut input = Input(data);
    let bits = [64, 80, 96, UUID_BITS, 128][usize::from(input.u8() % 5)];
    let (key, number, uuid) = (input.u128(), input.u128(), input.u128().to_be_bytes());
    let (form, rest) = (PublicForm::of_bits(bits), input.0);
    // A prefix is ASCII, and ends before the text.
    if is_prefix(rest) {
        assert!(rest.is_ascii() && rest.len() <= 63);
    }
    if let Ok((version, number)) = form.read_text(rest) {
        assert!(number <= u128::MAX >> (128 - bits));
        assert_eq!(form.text(version, number).as_ref(), rest, "another text of the same ID");
    }
    let version = Version::all().nth((key % 62) as usize).expect("62 versions");
    let (number, tweak) = (number >> (128 - bits), &rest[..rest.len().min(80)]);
    let encrypted = form.in_text.encrypt(&Mixer(key), tweak, number);
    assert_eq!(form.in_text.decrypt(&Mixer(key), tweak, encrypted), number);
    let text = form.text(version, encrypted);
    assert_eq!(form.read_text(text.as_ref()), Ok((version, encrypted)));

    let Some(domain) = form.in_uuid else { return };
    let encrypted = domain.encrypt(&Mixer(key), tweak, number);
    let decrypted = domain.decrypt(&Mixer(key), tweak, encrypted);
    assert_eq!(form.id_in_uuid(decrypted), Some(number));
    let written = form.uuid(version, encrypted);
    let expected = form.has_version_in_uuid().then_some(version);
    assert_eq!(form.read_uuid(written), Some((expected, encrypted)));
    if let Some((found, encrypted)) = form.read_uuid(uuid) {
        assert_eq!(form.uuid(found.unwrap_or(version), encrypted), uuid);
        let decrypted = domain.decrypt(&Mixer(key), tweak, encrypted);
        if let Some(id) = form.id_in_uuid(decrypted) {
            assert!(id <= u128::MAX >> (128 - bits));
            assert_eq!(domain.encrypt(&Mixer(key), tweak, id), encrypted);
        }
    }
}
