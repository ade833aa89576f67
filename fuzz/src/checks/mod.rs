//! The check of each fuzz target, for any bytes. A check panics if a property does not hold.
//!
//! libFuzzer calls these functions with bytes that it makes, and
//! `crates/flakeid-formats/tests/corpora.rs` calls them with the files of `fuzz/corpus` and
//! `fuzz/found`. So ordinary tests need neither libFuzzer nor a nightly compiler.

mod etcd;
mod files;
mod ids;
mod public;
mod settings;
mod wal;

pub use etcd::etcd_values;
pub use files::{location_file, registry_memory, state_file, watermark_file};
pub use ids::{flake, flake128, guid, sno, uniqueid, uuidv7};
pub use public::public_form;
pub use settings::{key_file, settings};
pub use wal::wal_messages;

/// A check of any bytes.
pub type Check = fn(&[u8]);

/// All targets.
#[allow(dead_code)]
pub const TARGETS: [(&str, Check); 15] = [
    ("state_file", state_file),
    ("registry_memory", registry_memory),
    ("watermark_file", watermark_file),
    ("location_file", location_file),
    ("wal_messages", wal_messages),
    ("etcd_values", etcd_values),
    ("settings", settings),
    ("key_file", key_file),
    ("public_form", public_form),
    ("flake", flake),
    ("sno", sno),
    ("flake128", flake128),
    ("guid", guid),
    ("uniqueid", uniqueid),
    ("uuidv7", uuidv7),
];

/// The rest of an input. Reading past the end gives zeros.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_at(self.0.len().min(N));
        self.0 = rest;
        let mut bytes = [0; N];
        bytes[..head.len()].copy_from_slice(head);
        bytes
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.bytes())
    }

    /// Returns the first line of the rest, and goes on behind it.
    fn line(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == b'\n');
        let (line, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        line
    }
}
