//! The contents of the file that `flakeid.public_keys_file` names: the keys of the public form.
//!
//! Each line has the character of a version, and 64 hexadecimal digits or the word `retired`. Empty
//! lines and lines that begin with `#` do not count.

use flakeid_core::public_form::Version;
use zeroize::Zeroizing;

/// The bytes of a key.
pub const KEY_LEN: usize = 32;

/// A key. It is overwritten when it is dropped.
pub type Key = Zeroizing<[u8; KEY_LEN]>;

/// A line that counts.
pub struct Line {
    /// The number of the line in the file, from 1.
    pub number: usize,
    pub version: Version,
    /// The key of the version; `None` if it is retired.
    pub key: Option<Key>,
}

/// Parses the file. It has at least one key; no version and no key is in it twice.
///
/// # Errors
/// The rest of a sentence about the file, without anything of its content.
pub fn parse(content: &[u8]) -> Result<Vec<Line>, String> {
    // With room for all, keys are never moved, and no copy of one is left in freed memory.
    let lines = content.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let mut found: Vec<Line> = Vec::with_capacity(lines);
    for (number, line) in (1..).zip(content.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some((version, key)) = parse_line(line) else {
            return Err(format!(
                "has a line, number {number}, that is not a version, a space and 64 hexadecimal \
                 digits"
            ));
        };
        for Line { number: other, version: its_version, key: its_key } in &found {
            if *its_version == version {
                return Err(format!("has the version of line {other} again in line {number}"));
            }
            if key.is_some() && *its_key == key {
                return Err(format!("has the key of line {other} again in line {number}"));
            }
        }
        found.push(Line { number, version, key });
    }
    match found.iter().any(|line| line.key.is_some()) {
        true => Ok(found),
        false => Err("has no key".into()),
    }
}

fn parse_line(line: &[u8]) -> Option<(Version, Option<Key>)> {
    let [version, b' ' | b'\t', digits @ ..] = line else { return None };
    let (version, digits) = (Version::of_character(*version)?, digits.trim_ascii_start());
    if digits == b"retired" {
        return Some((version, None));
    }
    if digits.len() != 2 * KEY_LEN {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some((version, Some(key)))
}
