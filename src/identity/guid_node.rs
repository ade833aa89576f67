//! The node of guids in `flakeid.guid_node`.

use sha2::{Digest, Sha256};

/// Parses the setting: a number, or a name whose SHA-256 begins with the node, as in the library's
/// `WithNodeFromEnv`. An empty setting gives `None`: the node from the state.
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
