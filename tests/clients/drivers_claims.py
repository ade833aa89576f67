"""What docs/orm.md says of psycopg and asyncpg, for tests/t/docs/orms.pl: a line for each claim."""
import asyncio

import asyncpg
import psycopg
from psycopg.types import TypeInfo

CREATE = "CREATE TABLE IF NOT EXISTS claims (id flake PRIMARY KEY DEFAULT flake_next(), item text)"


def result(call, *args, **kwargs):
    try:
        value = call(*args, **kwargs)
    except (psycopg.Error, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return type(error).__name__
    return type(value).__name__


def copy(conn, id, types=None):
    with conn.cursor().copy("COPY claims (id, item) FROM STDIN (FORMAT binary)") as rows:
        if types:
            rows.set_types(types)
        rows.write_row((id, "copied"))


with psycopg.connect(autocommit=True) as conn:
    conn.execute(CREATE)
    one = "SELECT id FROM claims LIMIT 1"
    made, = conn.execute("INSERT INTO claims (item) VALUES ('one') RETURNING id").fetchone()
    print("psycopg, text and binary:", type(made).__name__, type(conn.execute(one, binary=True).fetchone()[0]).__name__)
    print("psycopg, parameters:", *(
        conn.execute("SELECT count(*) FROM claims WHERE id = %s", [id]).fetchone()[0] for id in (made, int(made))), *(
        conn.execute("SELECT count(*) FROM claims WHERE id = ANY (%s)", [[id]]).fetchone()[0] for id in (made, int(made))))
    print("psycopg, COPY of a small ID:", result(copy, conn, 5), result(copy, conn, 5, ["int8", "text"]))
    TypeInfo.fetch(conn, "flake").register(conn)
    print("psycopg, COPY as flake:", result(copy, conn, 6, ["flake", "text"]))


async def value(call, *args, **kwargs):
    try:
        return await call(*args, **kwargs)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        return error


async def main():
    conn = await asyncpg.connect()
    insert, compare = "INSERT INTO claims VALUES ($1) RETURNING id", "SELECT id FROM claims WHERE id = $1"
    for codec in "without", "with":
        if codec == "with":
            await conn.set_builtin_type_codec("flake", schema="public", codec_name="int8")
        made = await conn.fetchval("INSERT INTO claims DEFAULT VALUES RETURNING id")
        print(f"asyncpg, {codec} a codec:", *(type(each).__name__ for each in (
            made,
            await value(conn.fetchval, compare, int(made)),
            await value(conn.fetchval, compare, str(made)),
            await value(conn.fetchval, insert, int(made) + 1000),
            await value(conn.copy_records_to_table, "claims", records=[(int(made) + 2000,)], columns=["id"]))))
    await conn.close()


asyncio.run(main())
