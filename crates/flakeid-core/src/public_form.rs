//! The public form of an ID: a text or a UUID that shows neither its time nor its order, and that
//! only the key turns back.
//!
//! The form is frozen: texts that exist must always be read. A version names a key and the
//! algorithm, and a key of another algorithm would have another version.
//!
//! # Text
//! `prefix_` if there is a prefix, then the character of the key's version, then the encrypted
//! number in base 62, with so many digits that each number of this length fits:
//!
//! | bits of an ID | 64 | 80 | 96 | 122 | 128 |
//! |---|---|---|---|---|---|
//! | digits | 11 | 14 | 17 | 21 | 22 |
//!
//! # UUID
//! A UUID of version 8 has 122 free bits. A uuidv7 has as many, and they are encrypted as they are.
//! A smaller ID leaves room: the highest 6 bits are the version of the key, as the position of its
//! character among the digits of base 62. The other 116 bits are the encrypted ID, with zeros above
//! it. A forged UUID does not have these zeros when it is decrypted. A flake128 has no such form.
//!
//! # Encryption
//! [FF1](crate::ff1) with AES-256 in radix 2, over as many bits as the ID has, or 116 in a UUID.
//! The tweak is the name of the ID type, a colon and the prefix: `flake:order`. So texts with
//! different prefixes, or of different ID types, are not related.

use crate::base62::{self, Case};
use crate::error::Error;
use crate::ff1::Domain;

/// The largest length of a prefix, in bytes.
pub const MAX_PREFIX_LEN: usize = 63;

/// The free bits of a UUID: all but its version and its variant.
pub const UUID_BITS: u32 = 122;

/// The bits of a UUID below the version of the key.
const UUID_NUMBER_BITS: u32 = UUID_BITS - VERSION_BITS;

/// The bits that hold the position of a version's character.
const VERSION_BITS: u32 = 6;

/// Returns whether a text can be a prefix: ASCII letters, digits, underscores and hyphens, or
/// nothing.
pub fn is_prefix(text: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    text.len() <= MAX_PREFIX_LEN && text.iter().all(is_allowed)
}

/// The version of a key: a digit of base 62.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u8);

impl Version {
    /// All versions, in the order of their characters.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..62).map(Self)
    }

    /// Returns the version that this character is; `None` if it is no digit of base 62.
    pub fn of_character(byte: u8) -> Option<Self> {
        base62::decode(&[byte], 62, Case::Sensitive, VERSION_BITS)
            .ok()
            .map(|digit| Self(digit as u8))
    }

    /// Returns the character.
    pub fn character(self) -> char {
        char::from(base62::encode(self.0.into(), 62).as_ref()[0])
    }
}

/// The public form of the IDs of one ID type.
#[derive(Clone, Copy, Debug)]
pub struct PublicForm {
    bits: u32,
    digits: usize,
    /// The numbers that are encrypted in a text.
    pub in_text: Domain,
    /// The numbers that are encrypted in a UUID; `None` if the ID is too large for one.
    pub in_uuid: Option<Domain>,
}

impl PublicForm {
    /// Returns the form of IDs of this many bits.
    pub const fn of_bits(bits: u32) -> Self {
        let mut digits = 0;
        let mut rest = u128::MAX >> (128 - bits);
        while rest > 0 {
            rest /= 62;
            digits += 1;
        }
        let in_uuid = match bits {
            UUID_BITS => Some(Domain::of_bits(UUID_BITS)),
            _ if bits <= UUID_NUMBER_BITS => Some(Domain::of_bits(UUID_NUMBER_BITS)),
            _ => None,
        };
        Self { bits, digits, in_text: Domain::of_bits(bits), in_uuid }
    }

    /// Returns whether a UUID holds the version of its key.
    pub const fn has_version_in_uuid(&self) -> bool {
        self.bits <= UUID_NUMBER_BITS
    }

    /// Returns the bits that are zeros in a UUID before it is encrypted.
    pub const fn zeros_in_uuid(&self) -> u32 {
        UUID_NUMBER_BITS.saturating_sub(self.bits)
    }

    /// Returns the last part of a text: the version and the digits of an encrypted number.
    pub fn text(&self, version: Version, encrypted: u128) -> base62::Text {
        base62::encode_with(version.character() as u8, encrypted, self.digits)
    }

    /// Reads the last part of a text.
    ///
    /// # Errors
    /// [`Error::TextLength`]; [`Error::TextCharacter`] for a version or a digit that is not of base
    /// 62; [`Error::TextOverflow`] for a number of too many bits.
    pub fn read_text(&self, text: &[u8]) -> Result<(Version, u128), Error> {
        let expected = 1 + self.digits;
        let [version, digits @ ..] = text else { return Err(Error::TextEmpty) };
        if text.len() != expected {
            return Err(Error::TextLength { expected, found: text.len() });
        }
        let version =
            Version::of_character(*version).ok_or(Error::TextCharacter { position: 0 })?;
        let number =
            base62::decode(digits, 62, Case::Sensitive, self.bits).map_err(
                |error| match error {
                    Error::TextCharacter { position } => {
                        Error::TextCharacter { position: position + 1 }
                    }
                    error => error,
                },
            )?;
        Ok((version, number))
    }

    /// Returns the UUID of an encrypted number.
    pub fn uuid(&self, version: Version, encrypted: u128) -> [u8; 16] {
        uuid_of(match self.has_version_in_uuid() {
            true => u128::from(version.0) << UUID_NUMBER_BITS | encrypted,
            false => encrypted,
        })
    }

    /// Reads a UUID: the version of its key, if it holds one, and the encrypted number. Returns
    /// `None` for a UUID of another version than 8, and for one whose version of the key is no
    /// digit of base 62.
    pub fn read_uuid(&self, uuid: [u8; 16]) -> Option<(Option<Version>, u128)> {
        let number = bits_of(uuid)?;
        if !self.has_version_in_uuid() {
            return Some((None, number));
        }
        let version = (number >> UUID_NUMBER_BITS) as u8;
        (version < 62).then_some((Some(Version(version)), number & (1 << UUID_NUMBER_BITS) - 1))
    }

    /// Returns the ID that a decrypted number is; `None` if a zero is missing.
    pub const fn id_in_uuid(&self, decrypted: u128) -> Option<u128> {
        match decrypted >> (self.bits - 1) >> 1 {
            0 => Some(decrypted),
            _ => None,
        }
    }
}

/// The bits of version 8 and of the variant of RFC 9562.
const COMMON: u128 = 8 << 76 | 2 << 62;
const COMMON_MASK: u128 = 0xf << 76 | 3 << 62;

/// Returns the UUID of version 8 with these 122 bits.
const fn uuid_of(bits: u128) -> [u8; 16] {
    with_version(bits, COMMON).to_be_bytes()
}

/// Puts the bits of a version and of a variant between 122 bits.
pub const fn with_version(bits: u128, version: u128) -> u128 {
    let low = bits & (1 << 62) - 1;
    let middle = bits >> 62 & 0xfff;
    bits >> 74 << 80 | middle << 64 | low | version
}

/// Returns the 122 bits of a UUID beside its version and its variant.
pub const fn without_version(word: u128) -> u128 {
    word >> 80 << 74 | (word >> 64 & 0xfff) << 62 | word & (1 << 62) - 1
}

/// Returns the 122 bits of a UUID of version 8.
const fn bits_of(uuid: [u8; 16]) -> Option<u128> {
    let word = u128::from_be_bytes(uuid);
    match word & COMMON_MASK {
        COMMON => Some(without_version(word)),
        _ => None,
    }
}
