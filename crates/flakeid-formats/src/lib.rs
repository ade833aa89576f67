//! The contents of a server's files, its values in etcd and its settings: bytes and texts to
//! values, and back.
//!
//! All functions are pure: files, etcd and settings are the caller's. So tests and fuzz targets
//! call the code that the server runs. This crate is apart from flakeid-core, which has no
//! dependencies: JSON, calendars and checksums need some.
#![forbid(unsafe_code)]

pub mod document;
pub mod endpoint;
pub mod epoch;
pub mod etcd;
pub mod keys;
pub mod location;
pub mod mac_address;
pub mod registry_memory;
pub mod secret_file;
pub mod state;
pub mod streams;
pub mod wal_point;
pub mod wal_record;
pub mod watermark;
