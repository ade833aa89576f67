//! Writes the inputs with which fuzzing begins, made of real encodings, to the folder that the
//! argument names: `cargo run -p flakeid-formats --example fuzz_seeds fuzz/corpus`.

use flakeid_core::clock::UnixNanos;
use flakeid_core::gate::Horizon;
use flakeid_core::horizon_message::HorizonMessage;
use flakeid_core::registry::identity::Identity;
use flakeid_core::registry::memory::Memory;
use flakeid_core::registry::retired::{self, RetiredRegistry};
use flakeid_core::watermark::Position;
use flakeid_core::watermark_message::WatermarkMessage;
use flakeid_core::{flake, flake128, guid, guid_local, sno, uniqueid};
use flakeid_formats::document;
use flakeid_formats::etcd::time_text;
use flakeid_formats::mac_address::locally_administered;
use flakeid_formats::state::{Names, PersistedState};
use flakeid_formats::{registry_memory, watermark};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const NOW: UnixNanos = UnixNanos(1_795_000_000_123_456_789);

struct Seeds(PathBuf);

impl Seeds {
    fn write(&self, target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let folder = self.0.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("seed-{name}")), parts.concat())
    }
}

/// Nine bytes before a file: it is sealed by the target, and damaged at its 12th byte.
const SEALED: [u8; 9] = [1, 12, 0, 0, 0, 0, 0, 0, 0];

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let seeds = Seeds(Path::new(&folder).into());
    state_files(&seeds)?;
    registry_memories(&seeds)?;
    let cluster = 7_300_000_000_000_000_001u64.to_le_bytes();
    seeds.write("watermark_file", "clusters", &[&cluster, &[1; 16], b"a document\n"])?;
    let file = watermark::bytes(u64::from_le_bytes(cluster))?;
    seeds.write("watermark_file", "file", &[&cluster, &cluster, &[1; 8], &file])?;
    messages(&seeds)?;
    etcd_values(&seeds)?;
    settings(&seeds)?;
    ids(&seeds)
}

/// Removes the lines that fill a document up.
fn without_filling(file: &[u8]) -> &[u8] {
    document::unseal(file).unwrap_or_default().trim_ascii_end()
}

fn state_files(seeds: &Seeds) -> io::Result<()> {
    let state = PersistedState {
        system_identifier: 7_300_000_000_000_000_001,
        horizon: Horizon { until: [NOW, UnixNanos(1), NOW], toggle: true },
        names: Some(Names { guid_node: 77, mac_address: locally_administered(0x1234_5678) }),
        epochs: [Some(UnixNanos(1_262_304_000_000_000_000)), Some(NOW), None, None, None, None],
        last_clock_reading: NOW,
        written_at: NOW,
        stopped: false,
    };
    let bytes = state.bytes()?;
    let document = without_filling(&bytes);
    seeds.write("state_file", "document", &[&SEALED, document])?;
    seeds.write("state_file", "numbers", &[&[2], &[0x5a; 100]])?;
    let text = String::from_utf8_lossy(document);
    let nameless = text.lines().map(|line| match line.trim() {
        line if line.starts_with("\"flakeid_state\"") => "\"flakeid_state\": 1,",
        line if line.starts_with("\"guid_node\"") => "\"guid_node\": null,",
        line if line.starts_with("\"worker\"") => "\"worker\": null,",
        line => line,
    });
    let nameless = nameless.collect::<String>();
    seeds.write("state_file", "version-1", &[&SEALED, nameless.as_bytes()])?;
    let later = text.replacen(": 2", ": 3", 1);
    seeds.write("state_file", "later-version", &[&SEALED, later.as_bytes()])?;
    let sealed = document::seal(document.to_vec());
    seeds.write("state_file", "file", &[&[0; 9], &sealed])
}

fn registry_memories(seeds: &Seeds) -> io::Result<()> {
    let memory = Memory {
        address: "cdf818194e3a8c32/flakeid/".into(),
        id: Some(0x0123_4567_89ab_cdef),
        followed: vec![1, 2],
        endpoints: vec!["http://10.0.0.1:2379".into(), "http://10.0.0.2:2379".into()],
        address_revision: 7,
        retired: retired::parse("cdf818194e3a8c31/flakeid/#00000000000000ff@12"),
    };
    let bytes = registry_memory::contents(&memory).ok_or(io::ErrorKind::Other)?;
    let document = without_filling(&bytes);
    seeds.write("registry_memory", "document", &[&SEALED, document])?;
    let text = String::from_utf8_lossy(document).replacen(": 4", ": 5", 1);
    seeds.write("registry_memory", "later-version", &[&SEALED, text.as_bytes()])?;
    let earlier = "{\"flakeid_etcd\": 3, \"address\": \"c/f/\", \"registry_id\": \"00ff\", \
                   \"followed\": [\"1\"], \"endpoints\": [\"http://a:1\"]}";
    seeds.write("registry_memory", "version-3", &[&SEALED, earlier.as_bytes()])?;
    let address = [memory.address.as_bytes(), &[b'\n'; 40]].concat();
    seeds.write("registry_memory", "address", &[&[0; 9], &address])
}

fn messages(seeds: &Seeds) -> io::Result<()> {
    let horizon = Horizon { until: [NOW, UnixNanos(1), NOW], toggle: true };
    for (name, flake_epoch) in [("horizon", Some(UnixNanos(0))), ("horizon-no-flakes", None)] {
        let message = HorizonMessage { horizon, read_at: NOW, flake_epoch };
        seeds.write("wal_messages", name, &[&[0], &message.encode()])?;
    }
    let message = WatermarkMessage { watermark: NOW, position: Position(1 << 33) };
    seeds.write("wal_messages", "watermark", &[&[1], &message.encode()])?;
    let sizes = [8usize, 4].map(usize::to_ne_bytes).concat();
    seeds.write("wal_messages", "record", &[&[2], &[0; 8], &sizes, b"flakeid\0body"])
}

fn etcd_values(seeds: &Seeds) -> io::Result<()> {
    let etcd = 0xcdf8_1819_4e3a_8c32u64.to_le_bytes();
    let numbers = [etcd, NOW.0.to_le_bytes()].concat();
    let identity = Identity::new(0xff, [1, 2]).to_string();
    let retired = [RetiredRegistry { name: "cdf8/flakeid/#ff".into(), revision: 12 }];
    let (retired, time) = (retired::value(&retired), time_text(NOW));
    let address = "cdf818194e3a8c32/flakeid/,cdf818194e3a8c31/flakeid/#00000000000000fe";
    for (name, lines) in [
        ("listing", ["0", "2010-01-01T00:00:00Z", address, &identity, &retired, "flakeid/"]),
        ("keys", ["pool/0:17", "until/17", "registry/0:17", &time, "until/017", "pool/17"]),
        ("retired", [&retired, "a@1,b@2,cdf8/flakeid/#ff@13", "c/x@7", &time, "1,2", ""]),
    ] {
        seeds.write("etcd_values", name, &[&numbers, lines.join("\n").as_bytes()])?;
    }
    Ok(())
}

fn settings(seeds: &Seeds) -> io::Result<()> {
    for (name, kind, value) in [
        ("ids", 0, "16-31,40, 7"),
        ("ids-all", 1, "0-63"),
        ("host", 8, "flake-12.db.local\nhostname:8"),
        ("leased", 0, "etcd:8"),
        ("range", 2, "0-1023"),
        ("slice", 2, "100 - 65535"),
        ("epoch-unix", 3, "unix"),
        ("epoch-date", 3, "2010-01-01"),
        ("epoch-time", 3, "2010-01-01T00:00:00+02:00"),
        ("epoch-milliseconds", 3, "1262304000000"),
        ("endpoint", 4, "https://etcd-0.etcd:2379/"),
        ("endpoint-ipv6", 4, "http://[2001:db8::1%eth0]:2379"),
        ("endpoint-host", 4, "localhost"),
        ("mac-address", 5, "08:00:2b:01:02:03"),
        ("streams", 6, "orders, audit_log,a.b-c"),
    ] {
        seeds.write("settings", name, &[&[kind], value.as_bytes()])?;
    }
    let key = "0123456789abcdef".repeat(4);
    let file = format!("# keys\n\n1 {key}\n2 retired\n A\t{}\n", key.replace('0', "F"));
    seeds.write("key_file", "three", &[file.as_bytes()])?;
    seeds.write("key_file", "one", &[b"1 ", key.as_bytes()])
}

fn ids(seeds: &Seeds) -> io::Result<()> {
    let time = 1_795_000_000_123_456u64.to_le_bytes();
    let epoch = 1_262_304_000_000u64.to_le_bytes();
    let flake = flake::Id(17_592_186_049_548);
    for format in flake::Format::ALL {
        let text = format.write(flake, str::to_owned);
        let head: [&[u8]; 3] = [&flake.0.to_le_bytes(), &time, &epoch];
        seeds.write("flake", format.name(), &[&head.concat(), text.as_bytes()])?;
    }
    let bytes: [u8; 16] = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128.to_be_bytes();
    let sno_id = sno::Id([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let three = [sno_id.0; 3].concat();
    seeds.write("sno", "id", &[&three, &time, &sno_id.text()])?;
    let flake128 = flake128::Id(bytes);
    for base in [10u32, 16, 36, 62] {
        let head = [&[bytes; 3].concat()[..], &[base as u8 - 2]].concat();
        let name = format!("base-{base}");
        seeds.write("flake128", &name, &[&head, flake128.text(base).as_ref()])?;
    }
    let guid = guid::Id([0x61, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let local = guid_local::Local(guid.local().0);
    let head = [&[guid.0; 3].concat()[..], &local.0.to_le_bytes(), &[7; 8], &[9; 8]].concat();
    seeds.write("guid", "base64", &[&head, &guid.text()])?;
    seeds.write("guid", "base62", &[&head, guid.base62().as_ref()])?;
    seeds.write("guid", "local-base64", &[&head, &local.text()])?;
    seeds.write("guid", "local-base62", &[&head, local.base62().as_ref()])?;
    let uniqueid = uniqueid::Id(0x0123_4567_89ab_cdef);
    let two = [uniqueid.0.to_le_bytes(); 2].concat();
    seeds.write("uniqueid", "id", &[&two, &time, &uniqueid.text()])?;
    let uuid = [1, 0x9a, 3, 4, 5, 6, 0x72, 8, 0x91, 1, 2, 3, 4, 5, 6, 7];
    seeds.write("uuidv7", "id", &[&uuid, &time, &[3; 16]])?;
    for (bits, digits) in [(0u8, 11), (1, 14), (2, 17), (3, 21), (4, 22)] {
        let head = [&[bits][..], &[5; 32], &[0x11, 0x22, 3, 4, 5, 6, 0x87, 8, 0x99], &[1; 7]];
        let text = format!("1{}7", "0".repeat(digits - 1));
        let name = format!("digits-{digits}");
        seeds.write("public_form", &name, &[&head.concat(), text.as_bytes()])?;
    }
    Ok(())
}
