//! Errors in inputs. Here they are data; the caller that shows an error finds its words.

use crate::clock::UnixMicros;

/// The reason why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The number `value` does not fit its field: it is negative, or above `max`.
    FieldOutOfRange { field: &'static str, value: i64, max: u64 },
    /// The time is outside the years of the ID type, which go from `first` to `last`.
    TimeOutOfRange { id_type: &'static str, time: UnixMicros, first: UnixMicros, last: UnixMicros },
    /// The text has a wrong length. Both lengths are in bytes.
    TextLength { expected: usize, found: usize },
    /// The text is empty where digits must be.
    TextEmpty,
    /// The byte at `position` (from 0) is not in the alphabet.
    TextCharacter { position: usize },
    /// The number in the text has more than `bits` bits, for which the ID has no room.
    TextOverflow { bits: u32 },
    /// The last character of a base64 text has bits that no encoder sets.
    TextTrailingBits,
}
