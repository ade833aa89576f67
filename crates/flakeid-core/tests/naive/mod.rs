//! Numbers as text, written in the simplest way. Nothing here uses the crate.
#![allow(dead_code, reason = "each test that shares this uses a part of it")]

fn digits() -> Vec<char> {
    ('0'..='9').chain('A'..='Z').chain('a'..='z').collect()
}

/// Writes `number` in `base`, most significant digit first, as one does by hand.
pub fn in_base(number: u128, base: usize) -> String {
    let (rest, digit) = (number / base as u128, digits()[(number % base as u128) as usize]);
    if rest == 0 { digit.to_string() } else { in_base(rest, base) + &digit.to_string() }
}

/// Returns the bits of the number that `text` has, from the lowest to the highest that is set, for
/// any length. Returns `None` if a byte is no digit of `base`.
pub fn bits(text: &[u8], base: u32) -> Option<Vec<bool>> {
    let digits = &digits()[..base as usize];
    let mut bits = Vec::new();
    for &byte in text {
        let mut carry = digits.iter().position(|&digit| digit == char::from(byte))?;
        for bit in &mut bits {
            carry += usize::from(*bit) * base as usize;
            *bit = carry % 2 == 1;
            carry /= 2;
        }
        while carry > 0 {
            bits.push(carry % 2 == 1);
            carry /= 2;
        }
    }
    Some(bits)
}

/// Writes base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    bits += &"0".repeat((6 - bits.len() % 6) % 6);
    let digits = (0..bits.len()).step_by(6);
    let mut text: String =
        digits.map(|i| alphabet[usize::from_str_radix(&bits[i..i + 6], 2).unwrap()]).collect();
    text += &"=".repeat((4 - text.len() % 4) % 4);
    text
}
