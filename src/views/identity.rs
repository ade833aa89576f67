//! The function `flakeid_identity()`: all that tells this server's IDs from those of others. And
//! the settings that are not in effect: with an invalid one the server generates no IDs, so the
//! value that it would have is not its own.

use crate::{error, generator, guc, horizon, library, public_keys, shmem};
use flakeid_core::flake;
use flakeid_core::generator_ids::GeneratorIdSource;
use pgrx::prelude::*;
use serde::Serialize;

/// The JSON object that `flakeid_identity()` returns.
#[derive(Serialize)]
struct Identity {
    version: &'static str,
    /// `None` if the session does not know the setting.
    generator_ids_setting: Option<String>,
    generator_ids: Vec<u16>,
    /// The generator ID with which this session begins each tick.
    home_generator_id: Option<u16>,
    shared_memory: Option<shmem::ShmemOrigin>,
    flake: FlakeIdentity,
    sno: SnoIdentity,
    flake128: Flake128Identity,
    guid: GuidIdentity,
    uniqueid: UniqueIdIdentity,
}

#[derive(Serialize)]
struct FlakeIdentity {
    /// `None` if the setting is not in effect.
    epoch: Option<jiff::Timestamp>,
    /// The last time for which `flake_next()` has IDs.
    last_time: Option<jiff::Timestamp>,
}

#[derive(Serialize)]
struct SnoIdentity {
    sequence_min: Option<u32>,
    sequence_max: Option<u32>,
}

#[derive(Serialize)]
struct Flake128Identity {
    /// The text of a macaddr. `None` if no setting and no interface has one, and the state file has
    /// not been read.
    worker: Option<String>,
}

#[derive(Serialize)]
struct GuidIdentity {
    /// The node. `None` if the setting is empty and the state file has not been read.
    node: Option<u64>,
}

#[derive(Serialize)]
struct UniqueIdIdentity {
    cluster_id: Option<u64>,
}

/// Returns a MAC address as text, with colons.
fn colons(address: u64) -> String {
    let [_, _, bytes @ ..] = address.to_be_bytes();
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn leased() -> Option<shmem::LeaseState> {
    shmem::shared().ok().map(shmem::Shared::lease_snapshot)
}

/// Returns the generator IDs that this server has now, fixed or leased.
fn generator_ids() -> Vec<u16> {
    match guc::owned().filter(|_| guc::is_in_effect(c"flakeid.generator_ids")) {
        Some(GeneratorIdSource::Fixed(ids)) => ids.as_slice().to_vec(),
        Some(GeneratorIdSource::Leased(_)) => leased()
            .map_or_else(Vec::new, |lease| lease.held().iter().map(|held| held.id).collect()),
        Some(GeneratorIdSource::Unassigned) | None => Vec::new(),
    }
}

fn cluster_id() -> Option<u64> {
    match guc::leased() {
        Some(_) => Some(leased().map_or(0, |lease| lease.cluster.into())),
        None => guc::is_in_effect(c"flakeid.cluster_id").then(guc::cluster_id),
    }
}

#[pg_extern(sql = false)]
fn flakeid_identity() -> pgrx::JsonB {
    let epoch = guc::is_in_effect(c"flakeid.epoch").then(guc::epoch);
    let sequence = guc::is_in_effect(c"flakeid.sno_sequence").then(guc::sno_sequence);
    let generator_ids = generator_ids();
    let identity = Identity {
        version: library::version(),
        generator_ids_setting: guc::generator_ids_setting(),
        home_generator_id: generator::home(&generator_ids),
        generator_ids,
        shared_memory: shmem::origin(),
        flake: FlakeIdentity {
            epoch: epoch.map(|epoch| error::timestamp(epoch.micros())),
            last_time: epoch.map(|epoch| error::timestamp(epoch.scale().start(flake::LAST_SIGNED))),
        },
        sno: SnoIdentity {
            sequence_min: sequence.map(|(min, _)| min),
            sequence_max: sequence.map(|(_, max)| max),
        },
        flake128: Flake128Identity {
            worker: generator::known_flake128_worker()
                .filter(|_| guc::is_in_effect(c"flakeid.interface"))
                .map(colons),
        },
        guid: GuidIdentity {
            node: generator::known_guid_node().filter(|_| guc::is_in_effect(c"flakeid.guid_node")),
        },
        uniqueid: UniqueIdIdentity { cluster_id: cluster_id() },
    };
    match serde_json::to_value(&identity) {
        Ok(value) => pgrx::JsonB(value),
        Err(error) => pgrx::error!("could not write the identity as JSON: {error}"),
    }
}

/// Returns the settings whose value is invalid in this process, an epoch that is missing or not yet
/// final, and a file of keys that was refused. PostgreSQL's own list of errors does not have them.
#[pg_extern(sql = false)]
fn flakeid_get_refused_settings() -> TableIterator<
    'static,
    (name!(name, String), name!(setting, Option<String>), name!(error, String)),
> {
    let invalid = guc::refusals()
        .into_iter()
        .map(|invalid| (invalid.setting.into(), Some(invalid.value), invalid.reason));
    let epoch = horizon::wrong_line().map(|error| {
        (
            "flakeid.epoch".into(),
            guc::is_epoch_set().then(|| guc::epoch_value(guc::epoch().scale().epoch())),
            error,
        )
    });
    let public_keys = public_keys::refusal().map(|error| {
        ("flakeid.public_keys_file".into(), Some(guc::public_keys_file()), format!("{error}."))
    });
    TableIterator::new(invalid.chain(epoch).chain(public_keys).collect::<Vec<_>>())
}
