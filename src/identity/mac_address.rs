//! MAC addresses. One is the worker of flake128s: that of `flakeid.interface`, or of the first real
//! interface.
//!
//! Linux shows its interfaces as directories. A real one has hardware behind it, its `device`: the
//! loopback, bridges, tunnels and the inner ends of containers have no such entry. Those of
//! containers often have addresses that containers on other hosts have, too, so a random address is
//! better.

use flakeid_formats::mac_address;
use std::fs;
use std::path::Path;

const INTERFACES: &str = "/sys/class/net";

/// Linux's type number of an interface that has a MAC address.
const ETHERNET: &str = "1";

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
    if let Some(address) = mac_address::parse(setting) {
        return match mac_address::is_of_interface(address) {
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

/// Returns the MAC address of the interface with this directory.
fn of_interface(directory: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    let ethernet = read("type")?.trim() == ETHERNET;
    mac_address::parse(read("address")?.trim()).filter(|&address| ethernet && address != 0)
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
