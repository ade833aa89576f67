//! The names of streams in the setting `flakeid.streams`.

use flakeid_core::ID_TYPE_NAMES;

/// How many named streams there are at most.
pub const MAX_STREAMS: usize = 25;

/// The maximum length of a name, in bytes.
pub const LONGEST_STREAM: usize = 63;

/// Parses the names of the setting, separated by commas. An empty setting has no names.
///
/// # Errors
/// A sentence, for a name that cannot be one, for one that is repeated, and for too many.
pub fn parse(value: &str) -> Result<Vec<String>, String> {
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
