//! What can be wrong with an input. Errors are data here; who shows them words them.

use crate::clock::UnixMicros;

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A number that its field cannot hold: negative, or above `max`.
    FieldOutOfRange { field: &'static str, value: i64, max: u64 },
    /// A time outside the years a system can express. `first` and `last` are the ends it has.
    TimeOutOfRange { system: &'static str, time: UnixMicros, first: UnixMicros, last: UnixMicros },
    /// A text of a wrong length; both lengths in bytes.
    TextLength { expected: usize, found: usize },
    /// A text that is empty where digits are needed.
    TextEmpty,
    /// The byte at `position` (from 0) is not of the alphabet.
    TextCharacter { position: usize },
    /// Digits of a number above what the ID has room for.
    TextOverflow { bits: u32 },
    /// A base64 text whose last character carries bits that no encoder sets.
    TextTrailingBits,
}
