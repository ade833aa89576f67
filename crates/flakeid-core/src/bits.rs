//! Named fields of bits. The position of each is written once, as a [`Field`]. Masks, limits and
//! the wording of errors come from it.

use crate::error::Error;

/// A field of `width` bits in a word of up to 128 bits. Its lowest bit is `low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the field in errors.
    pub name: &'static str,
    low: u32,
    width: u32,
}

impl Field {
    /// Creates a field of at most 64 bits.
    pub const fn new(name: &'static str, low: u32, width: u32) -> Self {
        assert!(width > 0 && width <= 64 && low + width <= 128);
        Self { name, low, width }
    }

    /// Creates a field that begins at the bit above `below`.
    pub const fn above(name: &'static str, below: Field, width: u32) -> Self {
        Self::new(name, below.low + below.width, width)
    }

    /// Returns the number of bits.
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Returns the number of the bit above the highest.
    pub const fn end(self) -> u32 {
        self.low + self.width
    }

    /// Returns the largest value that the field holds.
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Returns the field's value in `word`.
    pub const fn get(self, word: u128) -> u64 {
        (word >> self.low) as u64 & self.max()
    }

    /// Returns a word with `value` in the field and zeros elsewhere. The value must fit: see
    /// [`Self::check`].
    pub const fn put(self, value: u64) -> u128 {
        debug_assert!(value <= self.max());
        (value as u128) << self.low
    }

    /// Returns `value` if the field can hold it.
    ///
    /// # Errors
    /// [`Error::FieldOutOfRange`] for a negative value or one above [`Self::max`].
    pub const fn check(self, value: i64) -> Result<u64, Error> {
        if value < 0 || value as u64 > self.max() {
            return Err(Error::FieldOutOfRange { field: self.name, value, max: self.max() });
        }
        Ok(value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: Field = Field::new("low", 0, 3);
    const HIGH: Field = Field::above("high", LOW, 64);

    #[test]
    fn a_field_reads_back_what_was_put_and_nothing_else() {
        let word = LOW.put(5) | HIGH.put(u64::MAX);
        assert_eq!((LOW.get(word), HIGH.get(word)), (5, u64::MAX));
        assert_eq!((LOW.max(), HIGH.max(), HIGH.end()), (7, u64::MAX, 67));
        assert_eq!(word >> 67, 0);
    }

    #[test]
    fn a_value_outside_the_field_is_an_error_that_names_it() {
        assert_eq!(LOW.check(7), Ok(7));
        for value in [-1, 8, i64::MIN, i64::MAX] {
            assert_eq!(
                LOW.check(value),
                Err(Error::FieldOutOfRange { field: "low", value, max: 7 })
            );
        }
    }
}
