//! The names of streams in shared memory. A name gets a place at its first use, and keeps it as
//! long as the memory lives: a transaction that has entered a stream knows it by its place, and so
//! does a reader.
//!
//! Names are only added, under the lock of the watermark's memory. Processes read them without a
//! lock.

use crate::guc::{LONGEST_STREAM, MAX_STREAMS};
use crate::id_types::ID_TYPES;
use crate::lock::ExclusiveLock;
use flakeid_core::watermark::Stream;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of the first named stream. Before it stand the stream of all IDs, and one for each
/// entry of [`ID_TYPES`].
const FIRST_NAMED: usize = 1 + ID_TYPES.len();

/// How many streams a slot has.
pub const STREAMS: usize = FIRST_NAMED + MAX_STREAMS;

const _: () = assert!(STREAMS == 32);

/// Returns the stream of the IDs of the type with this index in [`ID_TYPES`].
pub const fn stream_of_id_type(index: usize) -> Stream {
    assert!(index < ID_TYPES.len());
    Stream::at(1 + index)
}

#[derive(Clone, Copy)]
struct Name {
    length: u8,
    bytes: [u8; LONGEST_STREAM],
}

/// The names of the streams that have a place.
pub struct StreamNames {
    /// How many names there are.
    count: AtomicU64,
    names: UnsafeCell<[Name; MAX_STREAMS]>,
}

impl StreamNames {
    pub(super) const fn new() -> Self {
        const FREE: Name = Name { length: 0, bytes: [0; LONGEST_STREAM] };
        Self { count: AtomicU64::new(0), names: UnsafeCell::new([FREE; MAX_STREAMS]) }
    }

    /// Returns the names, by their places.
    fn names(&self) -> impl Iterator<Item = &[u8]> {
        // Acquire pairs with the Release in `add`.
        let count = self.count.load(Ordering::Acquire) as usize;
        // SAFETY: so many names have been written, and none of these changes any more.
        let names = unsafe { std::slice::from_raw_parts(self.names.get().cast::<Name>(), count) };
        names.iter().map(|name| &name.bytes[..usize::from(name.length)])
    }

    /// Returns the stream with a name, if it has a place.
    pub fn find(&self, name: &str) -> Option<Stream> {
        let place = self.names().position(|known| known == name.as_bytes())?;
        Some(Stream::at(FIRST_NAMED + place))
    }

    /// Returns the name of a stream; `None` for the streams before the named ones.
    pub fn name(&self, stream: Stream) -> Option<String> {
        let place = stream.place().checked_sub(FIRST_NAMED)?;
        self.names().nth(place).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// Gives a name a place; `None` if no place is left. The name has at most [`LONGEST_STREAM`]
    /// bytes. The caller holds the lock.
    pub fn add(&self, _lock: &ExclusiveLock, name: &str) -> Option<Stream> {
        if let Some(stream) = self.find(name) {
            return Some(stream);
        }
        let place = self.count.load(Ordering::Relaxed) as usize;
        if place >= MAX_STREAMS || name.len() > LONGEST_STREAM {
            return None;
        }
        let mut bytes = [0; LONGEST_STREAM];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: the place is within the array. No process reads it before the count is greater,
        // and the caller holds the lock.
        unsafe {
            let name = Name { length: name.len() as u8, bytes };
            self.names.get().cast::<Name>().add(place).write(name);
        }
        self.count.store(place as u64 + 1, Ordering::Release);
        Some(Stream::at(FIRST_NAMED + place))
    }
}
