//! MAC addresses. One is the worker of flake128s: that of `flakeid.interface`, or of the first real
//! interface.
//!
//! Linux shows its interfaces as directories. A real one has hardware behind it, its `device`: the
//! loopback, bridges, tunnels and the inner ends of containers have no such entry. Those of
//! containers often have addresses that containers on other hosts have, too, so a random address is
//! better.

use std::fs;
use std::path::Path;

const INTERFACES: &str = "/sys/class/net";

/// Linux's type number of an interface that has a MAC address.
const ETHERNET: &str = "1";

/// The bits of an address's first byte: whether its user made it up, and whether it is a group's.
const LOCAL: u64 = 0x02 << 40;
const GROUP: u64 = 0x01 << 40;

/// Turns 48 bits into a locally administered address, which no manufacturer assigns.
pub fn locally_administered(bits: u64) -> u64 {
    bits & ((1 << 48) - 1) & !GROUP | LOCAL
}

/// Parses the setting: the name of an interface, or a MAC address. An empty setting gives `None`:
/// the first real interface.
///
/// # Errors
/// A sentence, if there is no such interface or it has no address.
pub fn parse(setting: &str) -> Result<Option<u64>, String> {
    let setting = setting.trim();
    if setting.is_empty() {
        return Ok(None);
    }
    if let Some(address) = address(setting) {
        return match address & GROUP == 0 && address != 0 {
            true => Ok(Some(address)),
            false => Err(format!("\"{setting}\" is not the MAC address of a single interface.")),
        };
    }
    let directory = Path::new(INTERFACES).join(setting);
    if setting.contains('/') || setting.starts_with('.') || !directory.exists() {
        return Err(format!("There is no network interface \"{setting}\"."));
    }
    let none = || format!("The network interface \"{setting}\" has no MAC address.");
    of_interface(&directory).map(Some).ok_or_else(none)
}

/// Parses six bytes in hexadecimal, as in `08:00:2b:01:02:03`.
fn address(text: &str) -> Option<u64> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| match byte.len() {
            2 => u8::from_str_radix(byte, 16).ok().filter(|_| !byte.starts_with('+')),
            _ => None,
        })
        .collect::<Option<_>>()?;
    (bytes.len() == 6).then(|| bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)))
}

/// Returns the MAC address of the interface with this directory.
fn of_interface(directory: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    let ethernet = read("type")?.trim() == ETHERNET;
    address(read("address")?.trim()).filter(|&address| ethernet && address != 0)
}

/// Returns the address of the first interface with hardware behind it, in the order in which the
/// host found them.
pub fn of_first_real_interface() -> Option<u64> {
    let number = |directory: &Path| -> Option<u32> {
        fs::read_to_string(directory.join("ifindex")).ok()?.trim().parse().ok()
    };
    let real = fs::read_dir(INTERFACES).ok()?.flatten().filter_map(|entry| {
        let directory = entry.path();
        let address = directory.join("device").exists().then(|| of_interface(&directory));
        Some((number(&directory)?, address??))
    });
    real.min().map(|(_, address)| address)
}
