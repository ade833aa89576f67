"""flakeid with asyncpg.

Needs Python 3.10 and `pip install asyncpg`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a database that has the
extension. Run: python3 examples/asyncpg_app.py
"""
import asyncio
from datetime import datetime, timedelta, timezone

import asyncpg


async def register_ids(conn):
    # Without this a flake is a str, except as a parameter that is compared: that must be an int. And COPY, which is always
    # binary here, refuses both types. The schema is that of the extension.
    await conn.set_builtin_type_codec("flake", schema="public", codec_name="int8")
    # The ten bytes of a sno, which sort as it does. To have its 16 characters, do without, or convert as psycopg3.py.
    await conn.set_type_codec("sno", schema="public", encoder=bytes, decoder=bytes, format="binary")


async def main():
    pool = await asyncpg.create_pool(min_size=1, init=register_ids)
    async with pool, pool.acquire() as conn:
        await conn.execute("""
            CREATE TABLE IF NOT EXISTS orders (
                id    flake PRIMARY KEY DEFAULT flake_next(),
                event sno NOT NULL UNIQUE DEFAULT sno_next(7),
                item  text NOT NULL)""")

        for item in ["tea", "milk", "bread", "salt", "rice"]:
            made = await conn.fetchrow("INSERT INTO orders (item) VALUES ($1) RETURNING id, event::text", item)
            print("made", *made, item)

        # asyncpg asks the server for the type of a parameter. Beside an ID that is the ID's, unless the statement names
        # another one.
        since = datetime.now(timezone.utc) - timedelta(minutes=5)
        rows = await conn.fetch("SELECT id FROM orders WHERE id >= $1::timestamptz ORDER BY id", since)
        print("recent by id:", *(row["id"] for row in rows))
        rows = await conn.fetch(
            "SELECT event::text FROM orders WHERE event >= $1::timestamptz ORDER BY orders.event", since)
        print("recent by event:", *(row["event"] for row in rows))

        page, last = 1, b"\xff" * 10
        while rows := await conn.fetch("""
                SELECT event, event::text AS shown FROM orders
                WHERE event < $1 AND event >= $2::timestamptz ORDER BY event DESC LIMIT 3""", last, since):
            print(f"page {page}:", *(row["shown"] for row in rows))
            page, last = page + 1, rows[-1]["event"]

        # COPY takes the IDs as int and bytes, with their codecs.
        await conn.execute("CREATE TABLE IF NOT EXISTS copied_orders (id flake, event sno, item text)")
        orders = await conn.fetch("SELECT id, event, item FROM orders WHERE id >= $1::timestamptz", since)
        await conn.copy_records_to_table("copied_orders", records=orders, columns=["id", "event", "item"])


asyncio.run(main())
