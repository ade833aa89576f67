//! What goes wrong where another build of the library is about.

use super::{Code, Words};
use crate::library::{Build, version};

const STATE: Code = Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;

pub(super) fn another(other: Build) -> Words {
    Words::new(STATE, "another flakeid library is loaded already")
        .detail(format!("It is {}, and was loaded from another file; this one is {}.", other.name(), Build::this().name()))
        .hint(
            "\"shared_preload_libraries\", \"session_preload_libraries\" and the extension's functions \
             must name the same file. Write flakeid without a path, and restart the server.",
        )
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub(super) fn other_segment(theirs: Build) -> Words {
    Words::new(STATE, "this server makes IDs by another build of the flakeid library")
        .detail(format!(
            "Its memory was set up by {}; this session has loaded {}.",
            theirs.name(),
            Build::this().name()
        ))
        .hint("Restart the server, so that all sessions load the library that is installed now.")
}

pub(super) fn older(needed: &str) -> Words {
    Words::new(
        STATE,
        format!("the flakeid library that is loaded has version {}, this SQL needs {needed}", version()),
    )
    .hint(
        "Install the library of that version, and restart the server, which goes on with the one that it \
         loaded at its start. Nothing has been changed.",
    )
}
