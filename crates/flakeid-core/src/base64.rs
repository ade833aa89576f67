//! Eight bytes in the standard base64 of RFC 4648, twelve characters with their padding.

use crate::error::Error;

/// Length of a text in characters, the padding `=` included.
pub const TEXT_LEN: usize = 12;

const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of eight bytes.
pub const fn encode(bytes: [u8; 8]) -> [u8; TEXT_LEN] {
    // 64 bits are ten digits of six bits and one of four, filled up with zeros.
    let word = (u64::from_be_bytes(bytes) as u128) << 2;
    let mut text = [b'='; TEXT_LEN];
    let mut i = 0;
    while i < 11 {
        text[i] = ALPHABET[(word >> (60 - 6 * i)) as usize & 63];
        i += 1;
    }
    text
}

/// The eight bytes of a text.
///
/// # Errors
/// [`Error::TextLength`] unless it has twelve bytes, [`Error::TextCharacter`] at the first that is
/// not of the alphabet or a padding that is none, [`Error::TextTrailingBits`] where the last digit
/// is not what an encoder writes.
pub fn decode(text: &[u8]) -> Result<[u8; 8], Error> {
    if text.len() != TEXT_LEN {
        return Err(Error::TextLength { expected: TEXT_LEN, found: text.len() });
    }
    let mut word = 0u128;
    for (position, &byte) in text[..11].iter().enumerate() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(Error::TextCharacter { position }),
        };
        word = word << 6 | u128::from(digit);
    }
    if text[11] != b'=' {
        return Err(Error::TextCharacter { position: 11 });
    }
    if word & 3 != 0 {
        return Err(Error::TextTrailingBits);
    }
    Ok(((word >> 2) as u64).to_be_bytes())
}
