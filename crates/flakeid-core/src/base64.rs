//! Eight bytes in the standard base64 of RFC 4648, twelve characters with their padding; and
//! [`sortable`], another alphabet.

use crate::error::Error;

/// Length of a text in characters, the padding `=` included.
pub const TEXT_LEN: usize = 12;

const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the text of eight bytes.
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

/// Reads the eight bytes of a text.
///
/// # Errors
/// [`Error::TextLength`] unless the text has twelve bytes. [`Error::TextCharacter`] at the first
/// byte that is not in the alphabet, or if the padding is not `=`. [`Error::TextTrailingBits`] if
/// the last digit is not one that an encoder writes.
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

/// Sixteen digits of up to six bits each, `.0-9A-Z_a-z` in the order of ASCII: texts sort as the
/// numbers do.
pub mod sortable {
    use crate::error::Error;

    /// The number of digits of a text.
    pub const TEXT_LEN: usize = 16;

    const ALPHABET: [u8; 64] = *b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

    /// Returns the digits of a number of 16 times `BITS` bits.
    pub const fn encode<const BITS: u32>(word: u128) -> [u8; TEXT_LEN] {
        let mut text = [0; TEXT_LEN];
        let mut i = 0;
        while i < TEXT_LEN {
            let low = BITS * (TEXT_LEN - 1 - i) as u32;
            text[i] = ALPHABET[(word >> low) as usize & ((1 << BITS) - 1)];
            i += 1;
        }
        text
    }

    /// Reads the number of a text.
    ///
    /// # Errors
    /// [`Error::TextLength`] unless the text has sixteen bytes. [`Error::TextCharacter`] at the
    /// first byte that is no digit of `BITS` bits.
    pub fn decode<const BITS: u32>(text: &[u8]) -> Result<u128, Error> {
        if text.len() != TEXT_LEN {
            return Err(Error::TextLength { expected: TEXT_LEN, found: text.len() });
        }
        let mut word = 0;
        for (position, &byte) in text.iter().enumerate() {
            let digit = match byte {
                b'.' => 0,
                b'0'..=b'9' => byte - b'0' + 1,
                b'A'..=b'Z' => byte - b'A' + 11,
                b'_' => 37,
                b'a'..=b'z' => byte - b'a' + 38,
                _ => u8::MAX,
            };
            if u32::from(digit) >> BITS != 0 {
                return Err(Error::TextCharacter { position });
            }
            word = word << BITS | u128::from(digit);
        }
        Ok(word)
    }
}
