//! The setting `flakeid.streams`: the names that a call may give to a stream.
//!
//! Shared memory has few places for streams, and keeps the name of each for as long as it lives. So
//! an administrator lists the names: a user cannot use up the places with names of their own.

use super::hooks::define_text;
use super::process::{PROCESS, TextSetting};
use flakeid_formats::streams::parse;
pub use flakeid_formats::streams::{LONGEST_STREAM, MAX_STREAMS};
use pgrx::GucSetting;
use std::ffi::{CStr, CString};

static STREAMS: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));

struct StreamsSetting;

impl TextSetting for StreamsSetting {
    const NAME: &'static CStr = c"flakeid.streams";
    type Value = Vec<String>;
    fn read(value: &str) -> Result<Vec<String>, String> {
        parse(value)
    }
    fn store(value: Vec<String>) {
        PROCESS.0.streams.replace(value);
    }
}

/// Returns whether the setting lists a stream.
pub fn lists_stream(name: &str) -> bool {
    PROCESS.0.streams.borrow().iter().any(|listed| listed == name)
}

pub(super) fn define() {
    define_text::<StreamsSetting>(
        c"Streams of IDs that have a watermark of their own.",
        c"Names separated by commas, for functions such as flake_next_in().",
        &STREAMS,
    );
}
