"""flakeid with psycopg 3.

Needs Python 3.10 and `pip install "psycopg[binary]"`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a database
that has the extension. Run: python3 examples/psycopg3.py
"""
import base64
import uuid
from datetime import datetime, timedelta, timezone

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8BinaryLoader, IntLoader

# Without these classes a flake is a str in text results and bytes in binary results. As a parameter it is an int or a
# str.


def register_flake(conn):
    TypeInfo.fetch(conn, "flake").register(conn)
    conn.adapters.register_loader("flake", IntLoader)
    conn.adapters.register_loader("flake", Int8BinaryLoader)


# Without these classes a sno is a str in text results, bytes in binary results, and a str as a parameter.
BASE32 = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"23456789abcdefghijklmnopqrstuvwx")


class Sno(bytes):
    """The ten bytes of a sno, which sort as it does."""

    def __str__(self):
        return base64.b32encode(self).translate(BASE32).decode()


class SnoLoader(Loader):
    format = Format.BINARY

    def load(self, data):
        return Sno(data)


class SnoDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj):
        return bytes(obj)


def register_sno(conn):
    info = TypeInfo.fetch(conn, "sno")
    info.register(conn)
    conn.adapters.register_loader("sno", SnoLoader)
    # The dumper is for this connection, as the OID of the type differs between databases.
    conn.adapters.register_dumper(Sno, type("SnoDumper", (SnoDumper,), {"oid": info.oid}))


with psycopg.connect(autocommit=True) as conn:
    register_flake(conn)
    register_sno(conn)
    conn.execute("""
        CREATE TABLE IF NOT EXISTS orders (
            id    flake PRIMARY KEY DEFAULT flake_next(),
            event sno NOT NULL UNIQUE DEFAULT sno_next(7),
            item  text NOT NULL)""")

    for item in ["tea", "milk", "bread", "salt", "rice"]:
        made = conn.execute("INSERT INTO orders (item) VALUES (%s) RETURNING id, event", [item]).fetchone()
        print("made", *made, item)

    # psycopg sends a datetime with a time zone as timestamptz, so PostgreSQL uses the operator of an ID and a time.
    since = datetime.now(timezone.utc) - timedelta(minutes=5)
    rows = conn.execute("SELECT id FROM orders WHERE id >= %s ORDER BY id", [since])
    print("recent by id:", *(flake for flake, in rows))
    rows = conn.execute("SELECT event FROM orders WHERE event >= %s ORDER BY event", [since])
    print("recent by event:", *(event for event, in rows))

    # Binary results, and the last one of a page as a binary parameter.
    page, last = 1, Sno(b"\xff" * 10)
    while rows := conn.execute(
            "SELECT event FROM orders WHERE event < %b AND event >= %b ORDER BY event DESC LIMIT 3",
            [last, since], binary=True).fetchall():
        print(f"page {page}:", *(event for event, in rows))
        page, last = page + 1, rows[-1][0]

    # A binary COPY has to name the types. That of a flake is int8, which has its bytes.
    conn.execute("CREATE TABLE IF NOT EXISTS copied_orders (id flake, event sno, item text)")
    orders = conn.execute("SELECT id, event, item FROM orders WHERE id >= %b", [since], binary=True).fetchall()
    with conn.cursor().copy("COPY copied_orders (id, event, item) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int8", "sno", "text"])
        for order in orders:
            copy.write_row(order)

    # A uuidv7 arrives as Python's own UUID. Its first 48 bits are the milliseconds since 1970.
    conn.execute("""
        CREATE TABLE IF NOT EXISTS carts (
            id   uuid PRIMARY KEY DEFAULT uuidv7_next(),
            item text NOT NULL)""")
    carts = conn.execute("""
        INSERT INTO carts (item) SELECT 'pear' FROM generate_series(1, 1000)
        RETURNING id, uuidv7_timestamp(id)""").fetchall()
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    accepted = [cart for cart, created_at in carts
                if uuid.UUID(str(cart)) == cart and cart.version == 7 and cart.variant == uuid.RFC_4122
                and epoch + timedelta(milliseconds=cart.int >> 80) == created_at]
    print("accepted uuids:", len(accepted))
    recent, = conn.execute("SELECT count(*) FROM carts WHERE uuidv7_since(id, %s)", [since]).fetchone()
    print("recent uuids:", recent)
