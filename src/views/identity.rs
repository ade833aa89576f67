//! Who this server is.

use crate::{error, generator, guc, library, shmem};
use flakeid_core::flake;
use flakeid_core::generator_ids::Owned;
use pgrx::prelude::*;
use serde::Serialize;

/// What `flakeid_identity()` shows.
#[derive(Serialize)]
struct Identity {
    version: &'static str,
    generator_ids_setting: String,
    generator_ids: Vec<u16>,
    /// The generator ID at which this session begins its ticks when it is not in need of room.
    home_generator_id: Option<u16>,
    shared_memory: Option<shmem::Kind>,
    flake: FlakeIdentity,
    sno: SnoIdentity,
    flake128: Flake128Identity,
    guid: GuidIdentity,
    uniqueid: UniqueIdIdentity,
}

#[derive(Serialize)]
struct FlakeIdentity {
    epoch: jiff::Timestamp,
    /// The last time for which `flake_next()` has IDs.
    last_time: jiff::Timestamp,
}

#[derive(Serialize)]
struct SnoIdentity {
    sequence_min: u32,
    sequence_max: u32,
}

#[derive(Serialize)]
struct Flake128Identity {
    /// As PostgreSQL writes a macaddr; `None` where nobody says and the state has not been read.
    worker: Option<String>,
}

#[derive(Serialize)]
struct GuidIdentity {
    /// `None` as for a worker.
    node: Option<u64>,
}

#[derive(Serialize)]
struct UniqueIdIdentity {
    cluster_id: u64,
}

/// A hardware address with its colons.
fn colons(address: u64) -> String {
    let [_, _, bytes @ ..] = address.to_be_bytes();
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn leased() -> Option<shmem::Kept> {
    shmem::shared().ok().map(shmem::Shared::look_at_lease)
}

/// Those that this server has now, by its setting or on lease.
fn generator_ids() -> Vec<u16> {
    match guc::owned() {
        Some(Owned::Fixed(ids)) => ids.as_slice().to_vec(),
        Some(Owned::Leased(_)) => {
            leased().map_or_else(Vec::new, |kept| kept.held().iter().map(|held| held.id).collect())
        }
        None => Vec::new(),
    }
}

fn cluster_id() -> u64 {
    match guc::leased() {
        Some(_) => leased().map_or(0, |kept| kept.cluster.into()),
        None => guc::cluster_id(),
    }
}

#[pg_extern(sql = false)]
fn flakeid_identity() -> pgrx::JsonB {
    let epoch = guc::epoch();
    let (sequence_min, sequence_max) = guc::sno_sequence();
    let generator_ids = generator_ids();
    let identity = Identity {
        version: library::version(),
        generator_ids_setting: guc::generator_ids_setting(),
        home_generator_id: generator::home(&generator_ids),
        generator_ids,
        shared_memory: shmem::kind(),
        flake: FlakeIdentity {
            epoch: error::timestamp(epoch.micros()),
            last_time: error::timestamp(epoch.scale().start(flake::LAST_SIGNED)),
        },
        sno: SnoIdentity { sequence_min, sequence_max },
        flake128: Flake128Identity { worker: generator::known_flake128_worker().map(colons) },
        guid: GuidIdentity { node: generator::known_guid_node() },
        uniqueid: UniqueIdIdentity { cluster_id: cluster_id() },
    };
    match serde_json::to_value(&identity) {
        Ok(value) => pgrx::JsonB(value),
        Err(error) => pgrx::error!("could not write the identity as JSON: {error}"),
    }
}
