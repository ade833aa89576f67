//! guid's node: from `flakeid.guid_node`, or random and kept.

use super::Names;
use crate::error::Failure;
use crate::{guc, horizon};
use sha2::{Digest, Sha256};

/// The node of a value of the setting: a number, or a name whose SHA-256 begins with it, as the
/// library's `WithNodeFromEnv` has it. `None` for the one that is kept.
///
/// # Errors
/// A sentence, for a number of more than 32 bits.
pub fn parse(setting: &str) -> Result<Option<u32>, String> {
    let setting = setting.trim();
    if setting.is_empty() {
        return Ok(None);
    }
    let digits = setting.strip_prefix(['-', '+']).unwrap_or(setting);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number =
            setting.parse().map_err(|_| format!("A number must be from 0 to {}.", u32::MAX));
        return number.map(Some);
    }
    let hash = Sha256::digest(setting);
    Ok(Some(hash[..4].iter().fold(0, |all, &byte| all << 8 | u32::from(byte))))
}

/// # Errors
/// As [`horizon::names`], which `guid_at()` can be the first to ask.
pub fn of_this_node() -> Result<u64, Failure> {
    match guc::guid_node() {
        Some(node) => Ok(node.into()),
        None => horizon::names("guid_at").map(|Names { guid_node, .. }| guid_node.into()),
    }
}

/// The same, as far as it is known without reading the state.
pub fn known() -> Option<u64> {
    let kept = || horizon::known_names().map(|names| names.guid_node);
    guc::guid_node().or_else(kept).map(u64::from)
}
