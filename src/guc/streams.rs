//! The setting `flakeid.streams`: the names that a call may give to a stream.
//!
//! Shared memory has few places for streams, and keeps the name of each for as long as it lives. So
//! an administrator lists the names: a user cannot use up the places with names of their own.

use super::hooks::define_text;
use super::process::{PROCESS, TextSetting};
use flakeid_core::ID_TYPE_NAMES;
use pgrx::GucSetting;
use std::ffi::{CStr, CString};

static STREAMS: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));

/// How many named streams there are at most.
pub const MAX_STREAMS: usize = 25;

/// The maximum length of a name, in bytes.
pub const LONGEST_STREAM: usize = 63;

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

fn parse(value: &str) -> Result<Vec<String>, String> {
    if value.trim().is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = value.split(',').map(str::trim).collect();
    for (place, &name) in names.iter().enumerate() {
        check(name)?;
        if names[..place].contains(&name) {
            return Err(format!("\"{name}\" is listed twice."));
        }
    }
    match names.len() {
        0..=MAX_STREAMS => Ok(names.into_iter().map(String::from).collect()),
        listed => Err(format!("It lists {listed} streams. The limit is {MAX_STREAMS}.")),
    }
}

fn check(name: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > LONGEST_STREAM || !name.chars().all(is_allowed) {
        return Err(format!(
            "\"{name}\" is not a name of 1 to {LONGEST_STREAM} letters, digits, and characters of \
             \"_-.\"."
        ));
    }
    // Each ID type has a stream without this setting.
    match ID_TYPE_NAMES.contains(&name) {
        true => Err(format!("\"{name}\" is the stream of an ID type.")),
        false => Ok(()),
    }
}

pub(super) fn define() {
    define_text::<StreamsSetting>(
        c"Streams of IDs that have a watermark of their own.",
        c"Names separated by commas, for functions such as flake_next_in().",
        &STREAMS,
    );
}
