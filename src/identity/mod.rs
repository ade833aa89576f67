//! Who am I: the generator IDs of this node, from `flakeid.generator_ids` and the host's name.

use crate::{error, generate, guc, shmem};
use flakeid_core::flake;
use flakeid_core::generator_ids::{GeneratorIds, MAX_ID, MAX_OWNED, Refused};
use once_cell::sync::OnceCell;
use pgrx::prelude::*;
use serde::Serialize;

/// The host's name, read once a process. A failure to read it is not kept: the next reload asks again.
fn host_name() -> Option<&'static str> {
    static NAME: OnceCell<String> = OnceCell::new();
    NAME.get_or_try_init(|| hostname::get().map(|name| name.to_string_lossy().into_owned()))
        .ok()
        .map(String::as_str)
}

/// The generator IDs that a value of the setting stands for on this host, or why it is refused.
pub fn resolve(setting: &str) -> Result<GeneratorIds, String> {
    GeneratorIds::parse(setting, || host_name().unwrap_or_default()).map_err(reason)
}

/// A refusal as a sentence.
pub fn reason(refused: Refused<'_>) -> String {
    match refused {
        Refused::Empty => "A number is missing.".into(),
        Refused::NotANumber(text) => format!("\"{text}\" is not a number."),
        Refused::NotARange(text) => format!("\"{text}\" is not a range such as 0-32767."),
        Refused::TooFew(least) => format!("The range must hold at least {least} numbers."),
        Refused::TooLarge(text) => format!("\"{text}\" is above {MAX_ID}, the largest."),
        Refused::Reversed(text) => format!("In \"{text}\" the first is above the last."),
        Refused::Doubled(id) => format!("{id} is named twice."),
        Refused::TooMany => format!("A server may own at most {MAX_OWNED} generator IDs."),
        Refused::HostWithoutNumber => match host_name() {
            Some(name) => format!("The host's name, \"{name}\", does not end in a number."),
            None => "The host's name could not be read.".into(),
        },
        Refused::HostNumberTooLarge => format!(
            "The number at the end of the host's name, \"{}\", leads beyond {MAX_ID}, the largest.",
            host_name().unwrap_or_default()
        ),
        Refused::UnknownSource(source) => {
            format!("\"{source}\" is not a source of generator IDs; \"hostname\" is.")
        }
    }
}

/// What `flakeid_identity()` shows.
#[derive(Serialize)]
struct Identity {
    version: &'static str,
    setting: String,
    generator_ids: Vec<u16>,
    /// The generator ID at which this session begins its ticks, per system that it has used.
    home: Home,
    shared_memory: Option<shmem::Kind>,
    flake: FlakeIdentity,
    sno: SnoIdentity,
}

#[derive(Serialize)]
struct Home {
    flake: Option<u16>,
    sno: Option<u16>,
}

#[derive(Serialize)]
struct FlakeIdentity {
    epoch: jiff::Timestamp,
    /// The last moment for which `flake_next()` has IDs.
    until: jiff::Timestamp,
}

#[derive(Serialize)]
struct SnoIdentity {
    first_sequence: u32,
    last_sequence: u32,
}

#[pg_extern(sql = false)]
fn flakeid_identity() -> pgrx::JsonB {
    let epoch = guc::epoch();
    let (first_sequence, last_sequence) = guc::sno_sequence();
    let identity = Identity {
        version: env!("CARGO_PKG_VERSION"),
        setting: guc::generator_ids_setting(),
        generator_ids: guc::generator_ids().map(|ids| ids.as_slice().to_vec()).unwrap_or_default(),
        home: Home { flake: generate::flake_home(), sno: generate::sno_home() },
        shared_memory: shmem::kind(),
        flake: FlakeIdentity {
            epoch: error::timestamp(epoch.micros()),
            until: error::timestamp(epoch.scale().start(flake::LAST_SIGNED)),
        },
        sno: SnoIdentity { first_sequence, last_sequence },
    };
    match serde_json::to_value(&identity) {
        Ok(value) => pgrx::JsonB(value),
        Err(error) => pgrx::error!("could not write the identity as JSON: {error}"),
    }
}
