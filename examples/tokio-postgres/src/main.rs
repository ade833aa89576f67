//! flakeid with tokio-postgres.
//!
//! Needs Rust 1.88; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a database that has the
//! extension. Run: cargo run --manifest-path examples/tokio-postgres/Cargo.toml

use std::env;
use std::error::Error;
use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, NoTls, Row};
use uuid::{Uuid, Variant};

/// The ten bytes of a sno, which sort as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sno([u8; 10]);

impl fmt::Display for Sno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.iter().fold(0_u128, |bits, &byte| bits << 8 | u128::from(byte));
        (0..16).rev().try_for_each(|digit| {
            let value = (bits >> (5 * digit) & 31) as usize;
            write!(f, "{}", char::from(b"23456789abcdefghijklmnopqrstuvwx"[value]))
        })
    }
}

impl<'a> FromSql<'a> for Sno {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Sno(raw.try_into()?))
    }

    // The OID of the type differs between databases.
    fn accepts(ty: &Type) -> bool {
        ty.name() == "sno"
    }
}

impl ToSql for Sno {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        <Sno as FromSql>::accepts(ty)
    }

    to_sql_checked!();
}

/// The only column of these rows, as text.
fn column<'a, T: FromSql<'a> + fmt::Display>(rows: &'a [Row]) -> String {
    rows.iter().map(|row| row.get::<_, T>(0).to_string()).collect::<Vec<_>>().join(" ")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, connection) = Config::new()
        .host(env::var("PGHOST")?)
        .port(env::var("PGPORT")?.parse()?)
        .user(env::var("PGUSER")?)
        .dbname(env::var("PGDATABASE")?)
        .connect(NoTls)
        .await?;
    tokio::spawn(connection);

    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS orders (
                id    bigint PRIMARY KEY DEFAULT flake_next(),
                event sno NOT NULL UNIQUE DEFAULT sno_next(7),
                item  text NOT NULL)",
        )
        .await?;

    let insert =
        client.prepare("INSERT INTO orders (item) VALUES ($1) RETURNING id, event").await?;
    for item in ["tea", "milk", "bread", "salt", "rice"] {
        let row = client.query_one(&insert, &[&item]).await?;
        println!("made {} {} {item}", row.get::<_, i64>("id"), row.get::<_, Sno>("event"));
    }

    // The server decides the type of a parameter. Beside a sno it is a sno, unless the statement
    // names another type. The argument of flake_min is a time.
    let since = SystemTime::now() - Duration::from_secs(5 * 60);
    let by_id = "SELECT id FROM orders WHERE id >= flake_min($1) ORDER BY id";
    println!("recent by id: {}", column::<i64>(&client.query(by_id, &[&since]).await?));
    let by_event = "SELECT event FROM orders WHERE event >= $1::timestamptz ORDER BY event";
    println!("recent by event: {}", column::<Sno>(&client.query(by_event, &[&since]).await?));

    let newest = client
        .prepare(
            "SELECT event FROM orders WHERE event < $1 AND event >= $2::timestamptz
            ORDER BY event DESC LIMIT 3",
        )
        .await?;
    let mut last = Sno([0xff; 10]);
    for page in 1.. {
        let rows = client.query(&newest, &[&last, &since]).await?;
        let Some(end) = rows.last() else { break };
        println!("page {page}: {}", column::<Sno>(&rows));
        last = end.get(0);
    }

    // A uuidv7 is a `Uuid`. Its first 48 bits are the milliseconds since 1970.
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS carts (
                id   uuid PRIMARY KEY DEFAULT uuidv7_next(),
                item text NOT NULL)",
        )
        .await?;
    let insert = "INSERT INTO carts (item) SELECT 'pear' FROM generate_series(1, 1000)
        RETURNING id, uuidv7_timestamp(id)";
    let carts = client.query(insert, &[]).await?;
    let is_accepted = |row: &&Row| {
        let (id, created_at): (Uuid, SystemTime) = (row.get(0), row.get(1));
        let created_at = created_at.duration_since(SystemTime::UNIX_EPOCH);
        let (seconds, nanos) = id.get_timestamp().map_or((0, 0), |time| time.to_unix());
        id.get_version_num() == 7
            && id.get_variant() == Variant::RFC4122
            && created_at.is_ok_and(|time| time == Duration::new(seconds, nanos))
    };
    println!("accepted uuids: {}", carts.iter().filter(is_accepted).count());
    let recent = "SELECT count(*) FROM carts WHERE uuidv7_since(id, $1)";
    println!("recent uuids: {}", client.query_one(recent, &[&since]).await?.get::<_, i64>(0));
    Ok(())
}
