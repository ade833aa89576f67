//! Who am I: the generator IDs of this node, from `flakeid.generator_ids` and the host's name; and its
//! numbers in the systems where a node has one of its own.

pub mod guid_node;
pub mod mac_address;

use crate::error::{Code, Report};
use flakeid_core::generator_ids::{MAX_ID, MAX_OWNED, Owned, Refused};
use once_cell::sync::OnceCell;

/// What a node is called where nobody says, chosen at random when its state begins and kept there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    pub guid_node: u32,
    /// flake128's, for a host without a real network interface.
    pub worker: u64,
}

impl Names {
    /// # Errors
    /// PostgreSQL has no random bytes.
    pub fn random() -> Result<Self, Report> {
        let mut bytes = [0u8; 10];
        if !random(&mut bytes) {
            return Err(no_randomness());
        }
        let [a, b, c, d, worker @ ..] = bytes;
        let worker = worker.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte));
        Ok(Self { guid_node: u32::from_be_bytes([a, b, c, d]), worker: mac_address::local(worker) })
    }
}

pub fn no_randomness() -> Report {
    Report::new(
        Code::ERRCODE_INTERNAL_ERROR,
        "could not generate random values for this server's state",
    )
}

/// Fills bytes at random; false where PostgreSQL has no random bytes.
pub fn random(bytes: &mut [u8]) -> bool {
    // SAFETY: fills as many bytes as are there; PostgreSQL has set its source up.
    unsafe { pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) }
}

// PostgreSQL's own source of randomness; it raises no error.
unsafe extern "C-unwind" {
    fn pg_strong_random(buffer: *mut std::ffi::c_void, len: usize) -> bool;
}

/// The host's name, read once a process. A failure to read it is not kept: the next reload asks again.
pub fn host_name() -> Option<&'static str> {
    static NAME: OnceCell<String> = OnceCell::new();
    NAME.get_or_try_init(|| hostname::get().map(|name| name.to_string_lossy().into_owned()))
        .ok()
        .map(String::as_str)
}

/// What a value of the setting stands for on this host, or why it is refused.
pub fn resolve(setting: &str) -> Result<Owned, String> {
    let owned = Owned::parse(setting, || host_name().unwrap_or_default()).map_err(reason)?;
    match owned {
        Owned::Leased(_) if cfg!(not(feature = "etcd")) => {
            Err("This flakeid was built without etcd.".into())
        }
        owned => Ok(owned),
    }
}

/// A refusal as a sentence.
pub fn reason(refused: Refused<'_>) -> String {
    match refused {
        Refused::Empty => "A number is missing.".into(),
        Refused::NotANumber(text) => format!("\"{text}\" is not a number."),
        Refused::NotARange(text) => format!("\"{text}\" is not a range such as 0-32767."),
        Refused::TooFew(least) => format!("The range must hold at least {least} numbers."),
        Refused::TooLarge(text) => {
            format!("\"{text}\" is greater than {MAX_ID}, the largest possible number.")
        }
        Refused::Reversed(text) => {
            format!("In \"{text}\" the first number is greater than the last.")
        }
        Refused::Doubled(id) => format!("{id} is listed twice."),
        Refused::TooMany => format!("A server can have at most {MAX_OWNED} generator IDs."),
        Refused::HostWithoutNumber => match host_name() {
            Some(name) => format!("The host name \"{name}\" does not end in a number."),
            None => "The host name could not be read.".into(),
        },
        Refused::HostNumberTooLarge => format!(
            "The number at the end of the host name \"{}\" gives generator IDs above {MAX_ID}, the largest.",
            host_name().unwrap_or_default()
        ),
        Refused::UnknownSource(source) => {
            format!("\"{source}\" is not a source of generator IDs; use \"hostname\" or \"etcd\".")
        }
    }
}
