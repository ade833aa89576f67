//! Streams: the parts of all IDs that have watermarks of their own. [`watermark`](crate::watermark)
//! argues about them.

/// A stream of IDs, by its place in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(u8);

impl Stream {
    /// The stream of all IDs.
    pub const ALL: Self = Self(0);

    /// Returns the stream with a place. It is below the number of streams of the slots, and at
    /// most 63.
    pub const fn at(place: usize) -> Self {
        assert!(place < u64::BITS as usize, "a set of streams has a bit for each");
        Self(place as u8)
    }

    /// Returns the stream's place.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// A set of streams, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams(u64);

impl Streams {
    pub const NONE: Self = Self(0);

    /// Returns the set with these bits, by the places of its streams.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits of the set.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the set of this one stream.
    #[inline]
    pub const fn of(stream: Stream) -> Self {
        Self(1 << stream.0)
    }

    /// Returns the set with the streams of another.
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without the streams of another.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub const fn has(self, stream: Stream) -> bool {
        self.0 & 1 << stream.0 != 0
    }

    /// Returns the streams by their places.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Stream> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let stream = (left != 0).then(|| Stream(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(stream)
        })
    }
}
