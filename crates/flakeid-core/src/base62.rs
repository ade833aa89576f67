//! Numbers in bases 2 to 62 with the digits `0-9A-Za-z`, without padding. The digits are in ASCII
//! order, so texts of one length sort as the numbers do.

use crate::error::Error;

/// The longest text: 128 bits in base 2.
pub const MAX_LEN: usize = 128;

const DIGITS: [u8; 62] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The text of a number.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; MAX_LEN],
    start: usize,
}

impl Text {
    /// Returns the text as a string of ASCII characters.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[self.start..]).unwrap_or_default()
    }

    /// Converts the letters of the text to lower case.
    pub fn make_ascii_lowercase(&mut self) {
        self.bytes[self.start..].make_ascii_lowercase();
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// The way in which digits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Upper and lower case are different digits.
    Sensitive,
    /// Either case, for bases up to 36.
    Either,
}

/// Writes `number` in `base`, which is from 2 to 62.
pub fn encode(mut number: u128, base: u32) -> Text {
    debug_assert!((2..=62).contains(&base));
    let mut text = Text { bytes: [b'0'; MAX_LEN], start: MAX_LEN };
    loop {
        text.start -= 1;
        text.bytes[text.start] = DIGITS[(number % u128::from(base)) as usize];
        number /= u128::from(base);
        if number == 0 {
            return text;
        }
    }
}

/// Writes `number` in base 62 with `digits` digits, zeros before it, and `first` before those. The
/// number must fit.
pub fn encode_with(first: u8, number: u128, digits: usize) -> Text {
    let mut text = encode(number, 62);
    debug_assert!(text.start + digits >= MAX_LEN && digits < MAX_LEN);
    // The bytes before the number are zeros already.
    text.start = MAX_LEN - digits - 1;
    text.bytes[text.start] = first;
    text
}

/// Reads the number of at most `bits` bits (1 to 128) that `text` has in `base`, which is from 2
/// to 62.
///
/// # Errors
/// [`Error::TextEmpty`] for an empty text, [`Error::TextCharacter`] at the first byte that is no
/// digit of the base, [`Error::TextOverflow`] for a number of more bits.
pub fn decode(text: &[u8], base: u32, case: Case, bits: u32) -> Result<u128, Error> {
    debug_assert!((2..=62).contains(&base) && (case == Case::Sensitive || base <= 36));
    if text.is_empty() {
        return Err(Error::TextEmpty);
    }
    let overflow = Error::TextOverflow { bits };
    let mut number = 0u128;
    for (position, &byte) in text.iter().enumerate() {
        let digit = match (byte, case) {
            (b'0'..=b'9', _) => byte - b'0',
            (b'A'..=b'Z', _) => byte - b'A' + 10,
            (b'a'..=b'z', Case::Sensitive) => byte - b'a' + 36,
            (b'a'..=b'z', Case::Either) => byte - b'a' + 10,
            _ => u8::MAX,
        };
        if u32::from(digit) >= base {
            return Err(Error::TextCharacter { position });
        }
        number = number
            .checked_mul(u128::from(base))
            .and_then(|n| n.checked_add(u128::from(digit)))
            .ok_or(overflow)?;
        if number > u128::MAX >> (128 - bits) {
            return Err(overflow);
        }
    }
    Ok(number)
}
