//! Random bytes: from PostgreSQL's source, and many of them from a cryptographic generator of this
//! process.
//!
//! The generator is ChaCha with 12 rounds, as in the standard generator of the crate `rand`. Each
//! process seeds one of its own with 256 bits from PostgreSQL's source. So no two processes have
//! the same stream: not two sessions, nor a session before a crash and one after it, nor the
//! processes of a copied server.
//!
//! # Forks
//! A child has a copy of its parent's memory. A server process is a child of the postmaster, which
//! generates no IDs and never seeds a generator. In case other code makes a child that runs SQL,
//! the generator keeps the ID of its process, and another process seeds one of its own.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use pgrx::pg_sys;
use std::cell::UnsafeCell;

/// Fills bytes at random. Returns false if PostgreSQL has no random bytes.
pub fn fill(bytes: &mut [u8]) -> bool {
    // SAFETY: fills exactly these bytes; PostgreSQL has set up its source.
    unsafe { pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) }
}

// This is PostgreSQL's own source of randomness; it raises no error.
unsafe extern "C-unwind" {
    fn pg_strong_random(buffer: *mut std::ffi::c_void, len: usize) -> bool;
}

/// The generator of a process.
struct Seeded {
    /// The process that seeded it.
    pid: i32,
    generator: ChaCha12Rng,
}

/// The generator of this process, if it has one.
struct OfProcess(UnsafeCell<Option<Seeded>>);

// SAFETY: a process of the server runs this library's code on its main thread alone.
unsafe impl Sync for OfProcess {}

static OF_PROCESS: OfProcess = OfProcess(UnsafeCell::new(None));

/// Returns the next 64 random bits. Returns `None` if this process has not seeded its generator
/// yet.
#[inline]
pub fn next() -> Option<u64> {
    // SAFETY: there is one thread, and no reference to the generator outlives the call that made
    // it.
    let seeded = unsafe { (*OF_PROCESS.0.get()).as_mut() }?;
    // SAFETY: reads a plain variable, which PostgreSQL sets when a process begins.
    (seeded.pid == unsafe { pg_sys::MyProcPid }).then(|| seeded.generator.next_u64())
}

/// Returns the next 64 random bits, and seeds the generator of this process first if necessary.
/// Returns `None` if PostgreSQL has no random bytes.
#[inline]
pub fn next_or_seed() -> Option<u64> {
    next().or_else(|| seed().then(next).flatten())
}

#[cold]
fn seed() -> bool {
    let mut seed = <ChaCha12Rng as SeedableRng>::Seed::default();
    if !fill(seed.as_mut()) {
        return false;
    }
    // SAFETY: reads a plain variable. There is one thread, and no reference to the generator is
    // left.
    unsafe {
        let seeded = Seeded { pid: pg_sys::MyProcPid, generator: ChaCha12Rng::from_seed(seed) };
        *OF_PROCESS.0.get() = Some(seeded);
    }
    true
}
