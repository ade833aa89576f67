//! The numbers in all guids and flake128s of a server: from the settings, from the host, or from
//! the state file.

use crate::error::Report;
use crate::identity::mac_address;
use crate::{guc, horizon};
use std::cell::Cell;

/// Returns the node of this server's guids.
///
/// # Errors
/// The errors of [`horizon::names`], which `guid_at()` can be the first to call.
pub fn guid_node() -> Result<u64, Report> {
    match guc::guid_node() {
        Some(node) => Ok(node.into()),
        None => horizon::names("guid_at").map(|names| names.guid_node.into()),
    }
}

/// Returns the node of this server's guids, if it is known without reading the state.
pub fn known_guid_node() -> Option<u64> {
    let kept = || horizon::known_names().map(|names| names.guid_node);
    guc::guid_node().or_else(kept).map(u64::from)
}

/// Returns the worker of this server's flake128s. The process looks it up once, and again after a
/// reload.
///
/// # Errors
/// The errors of [`horizon::names`], which `flake128_at()` can be the first to call.
pub fn flake128_worker() -> Result<u64, Report> {
    thread_local! {
        static FOUND: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
    }
    let version = guc::version();
    if let (known, worker) = FOUND.get()
        && known == version
    {
        return Ok(worker);
    }
    let worker = match guc::mac_address().or_else(mac_address::of_first_real_interface) {
        Some(worker) => worker,
        None => horizon::names("flake128_at")?.mac_address,
    };
    FOUND.set((version, worker));
    Ok(worker)
}

/// Returns the worker of this server's flake128s, if it is known without reading the state.
pub fn known_flake128_worker() -> Option<u64> {
    let kept = || horizon::known_names().map(|names| names.mac_address);
    guc::mac_address().or_else(mac_address::of_first_real_interface).or_else(kept)
}
