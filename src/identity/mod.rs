//! The identity of this server: its generator IDs, from `flakeid.generator_ids` and the host's
//! name; and its numbers in ID types that have one number for each server.

pub mod guid_node;
pub mod mac_address;

use crate::error::{Code, Report};
use crate::random;
use flakeid_core::generator_ids::{GeneratorIdSource, MAX_ID, MAX_OWNED, ParseError};
use flakeid_formats::mac_address::locally_administered;
use flakeid_formats::state::Names;
use once_cell::sync::OnceCell;

/// Chooses the server's names at random.
///
/// # Errors
/// PostgreSQL has no random bytes.
pub fn random_names() -> Result<Names, Report> {
    let mut bytes = [0u8; 10];
    if !random::fill(&mut bytes) {
        return Err(no_randomness());
    }
    let [a, b, c, d, worker @ ..] = bytes;
    let worker = worker.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte));
    Ok(Names {
        guid_node: u32::from_be_bytes([a, b, c, d]),
        mac_address: locally_administered(worker),
    })
}

/// Constructs the error for a server without random bytes.
pub fn no_randomness() -> Report {
    Report::new(
        Code::ERRCODE_INTERNAL_ERROR,
        "could not generate random values for this server's state",
    )
}

/// Returns the host's name, which the process reads once. After a failure the next reload reads it
/// again.
pub fn host_name() -> Option<&'static str> {
    static NAME: OnceCell<String> = OnceCell::new();
    NAME.get_or_try_init(|| hostname::get().map(|name| name.to_string_lossy().into_owned()))
        .ok()
        .map(String::as_str)
}

/// Returns the generator IDs that a value of the setting means on this host, or why it is refused.
pub fn resolve(setting: &str) -> Result<GeneratorIdSource, String> {
    let owned =
        GeneratorIdSource::parse(setting, || host_name().unwrap_or_default()).map_err(reason)?;
    match owned {
        GeneratorIdSource::Leased(_) if cfg!(not(feature = "etcd")) => {
            Err("This flakeid was built without etcd.".into())
        }
        owned => Ok(owned),
    }
}

/// Returns a refusal as a sentence.
pub fn reason(refused: ParseError<'_>) -> String {
    match refused {
        ParseError::Empty => "A number is missing.".into(),
        ParseError::NotANumber(text) => format!("\"{text}\" is not a number."),
        ParseError::NotARange(text) => format!("\"{text}\" is not a range such as 0-32767."),
        ParseError::TooFew(least) => format!("The range must hold at least {least} numbers."),
        ParseError::TooLarge(text) => {
            format!("\"{text}\" is greater than {MAX_ID}, the largest possible number.")
        }
        ParseError::Reversed(text) => {
            format!("In \"{text}\" the first number is greater than the last.")
        }
        ParseError::Doubled(id) => format!("{id} is listed twice."),
        ParseError::TooMany => format!("A server can have at most {MAX_OWNED} generator IDs."),
        ParseError::HostWithoutNumber => match host_name() {
            Some(name) => format!("The host name \"{name}\" does not end in a number."),
            None => "The host name could not be read.".into(),
        },
        ParseError::HostNumberTooLarge => format!(
            "The number at the end of the host name \"{}\" gives generator IDs above {MAX_ID}, the \
             largest.",
            host_name().unwrap_or_default()
        ),
        ParseError::UnknownSource(source) => {
            format!("\"{source}\" is not a source of generator IDs; use \"hostname\" or \"etcd\".")
        }
    }
}
