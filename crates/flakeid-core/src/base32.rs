//! sno's base32: ten bytes as sixteen characters of `23456789abcdefghijklmnopqrstuvwx`, highest
//! bits first. The alphabet is in ASCII order, so texts sort as the bytes do.

use crate::error::Error;

/// Length of a text in characters, each of which is one byte.
pub const TEXT_LEN: usize = 16;

const ALPHABET: [u8; 32] = *b"23456789abcdefghijklmnopqrstuvwx";
const NONE: u8 = 0xff;

/// The value of each byte as a digit.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < ALPHABET.len() {
        values[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// Returns the text of an 80-bit word. Bits above those are ignored.
#[inline]
pub const fn encode(word: u128) -> [u8; TEXT_LEN] {
    let mut text = [0; TEXT_LEN];
    let mut i = 0;
    while i < TEXT_LEN {
        text[i] = ALPHABET[(word >> (75 - 5 * i)) as usize & 31];
        i += 1;
    }
    text
}

/// Reads the 80-bit word of a text.
///
/// # Errors
/// [`Error::TextLength`] unless the text has sixteen bytes. [`Error::TextCharacter`] at the first
/// byte that is not in the alphabet, which has no upper case.
#[inline]
pub fn decode(text: &[u8]) -> Result<u128, Error> {
    if text.len() != TEXT_LEN {
        return Err(Error::TextLength { expected: TEXT_LEN, found: text.len() });
    }
    let mut word = 0;
    for (position, &byte) in text.iter().enumerate() {
        match VALUES[byte as usize] {
            NONE => return Err(Error::TextCharacter { position }),
            value => word = word << 5 | u128::from(value),
        }
    }
    Ok(word)
}
