# Runs what docs/analytics.md says on IDs. The argument is a file in JSON: for each ID type pairs of an ID and the microseconds
# of its time since 1970, in ID order. Further arguments name the engines. A line of the output is an engine, an ID type, and
# what was found: whether the expression returns the times, or whether a sort returns the IDs in ID order.
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

START = datetime.fromtimestamp(0, UTC)
# What the IDs of an ID type are outside PostgreSQL.
FORMS = {
    "integer": ["flake"],
    "text": ["flake128", "guid", "guid_local", "sno", "uniqueid", "uuidv7"],
    "UUID": ["flake128", "uuidv7"],
}
NO_TYPE = "it has no such type"


def section(page, heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]


def expressions(page, engine):
    """The expression of each ID type."""
    rows = re.findall(r"^\| (\w+) \| `(.*)` \|$", section(page, engine), re.M)
    return {id_type: text.replace("\\|", "|") for id_type, text in rows}


def sorts(page, engine):
    """For each form the ways to sort, and those that the page warns of."""
    cells = re.search(rf"^\| {engine} \|(.*)\|$", section(page, "Sort in ID order"), re.M)[1].split(" | ")
    return {form: [cell.strip(), re.findall("(not )?`(.*?)`", cell)] for form, cell in zip(FORMS, cells, strict=True)}


def micros(time):
    """Microseconds since 1970 of a time, which is UTC if it has no time zone."""
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - START) // timedelta(microseconds=1)


def values(form, ids):
    """The values of Python for these IDs."""
    return [{"integer": int, "text": str, "UUID": uuid.UUID}[form](id) for id in ids]


# For each engine a function that returns what an expression makes of each ID, and one that sorts IDs.

def of_duckdb(what, form, ids, order=""):
    import duckdb

    kind = {"integer": "BIGINT", "text": "VARCHAR", "UUID": "UUID"}[form]
    rows = duckdb.execute(f"SELECT {what} FROM (SELECT unnest(?::{kind}[]) AS id) {order}", [values(form, ids)])
    return [row[0] for row in rows.fetchall()]


def duckdb_times(text, form, ids):
    return map(micros, of_duckdb(text, form, ids))


def duckdb_sorted(order, form, ids):
    return of_duckdb("id::VARCHAR", form, ids, order)


def of_clickhouse(what, form, ids, order=""):
    import chdb

    kind = {"integer": "Int64", "text": "String", "UUID": "UUID"}[form]
    ids = ",".join(f"'{id}'" for id in ids)
    query = f"SELECT toString({what}) FROM (SELECT CAST(arrayJoin([{ids}]) AS {kind}) AS id) {order}"
    return chdb.query(query, "TSV").data().splitlines()


def clickhouse_times(text, form, ids):
    return [micros(datetime.fromisoformat(line)) for line in of_clickhouse(text, form, ids)]


def clickhouse_sorted(order, form, ids):
    return of_clickhouse("id", form, ids, order)


@cache
def spark():
    """The session of Spark in the folder FLAKEID_SPARK. What Java and Spark print goes nowhere."""
    folder = Path(os.environ["FLAKEID_SPARK"])
    sys.path += [str(folder), *map(str, folder.glob("lib/py4j-*.zip"))]
    os.environ |= {"SPARK_HOME": str(folder / "deps"), "SPARK_LOCAL_IP": "127.0.0.1"}
    errors = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        from pyspark.sql import SparkSession

        return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    finally:
        os.dup2(errors, 2)


def of_spark(what, form, ids, order=""):
    kind = {"integer": "BIGINT", "text": "STRING"}[form]
    ids = ",".join(f"(CAST('{id}' AS {kind}))" for id in ids)
    return [row[0] for row in spark().sql(f"SELECT {what} FROM VALUES {ids} AS ids(id) {order}").collect()]


def spark_times(text, form, ids):
    return of_spark(f"unix_micros({text})", form, ids)


def spark_sorted(order, form, ids):
    return of_spark("CAST(id AS STRING) AS text", form, ids, order)


def pandas_times(text, form, ids):
    import pandas as pd

    df = pd.DataFrame({"id": values(form, ids)})
    return [micros(time.to_pydatetime()) for time in eval(text, {"pd": pd, "df": df})]


def pandas_sorted(text, form, ids):
    import pandas as pd

    return map(str, eval(text, {"df": pd.DataFrame({"id": values(form, ids)})}).id)


def polars_times(text, form, ids):
    import polars as pl

    return [micros(time) for time in pl.DataFrame({"id": values(form, ids)}).select(eval(text, {"pl": pl})).to_series()]


def polars_sorted(text, form, ids):
    import polars as pl

    return map(str, eval(text, {"df": pl.DataFrame({"id": values(form, ids)})})["id"])


def python_times(text, form, ids):
    names = {"datetime": datetime, "timedelta": timedelta, "UTC": UTC}
    return [micros(eval(text, {**names, "id": id})) for id in values(form, ids)]


def python_sorted(text, form, ids):
    return map(str, eval(text, {"ids": values(form, ids)}))


def of_javascript(program):
    return json.loads(subprocess.run(["node", "-e", program], check=True, capture_output=True).stdout)


def javascript_times(text, form, ids):
    times = of_javascript(f"console.log(JSON.stringify({json.dumps(ids)}.map(id => ({text}).getTime())))")
    return [1000 * time for time in times]


def javascript_sorted(text, form, ids):
    kind = {"integer": "BigInt", "text": "String"}[form]
    return of_javascript(f"const ids = {json.dumps(ids)}.map({kind}); console.log(JSON.stringify({text}.map(String)))")


# The digits of texts whose bytes are not those of hexadecimal digits, and how many bytes they stand for.
DIGITS = {
    "sno": ("23456789abcdefghijklmnopqrstuvwx", 10),
    "guid": (".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz", 12),
    "guid_local": (".0123456789ABCDE", 8),
}


def in_hex(id_type, id):
    if id_type not in DIGITS:
        return id.replace("-", "")
    digits, length = DIGITS[id_type]
    number = 0
    for digit in id:
        number = number * len(digits) + digits.index(digit)
    return number.to_bytes(length).hex()


def of_go(imports, program):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "main.go")
        imports = "\n".join(f'"{name}"' for name in imports if name.split("/")[-1] + "." in program)
        file.write_text(f"package main\nimport (\n{imports}\n)\nfunc main() {{\n{program}\n}}\n")
        ran = subprocess.run(["go", "run", file], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout.split()


GO_IMPORTS = ["bytes", "encoding/binary", "encoding/hex", "fmt", "sort", "time"]
GO_BYTES = "var ids [][]byte; for _, text := range []string{%s} { id, _ := hex.DecodeString(text); ids = append(ids, id) }"


def go_ids(form, ids):
    if form == "integer":
        return "ids := []int64{%s}" % ",".join(ids)
    texts = ",".join(f'"{id}"' for id in ids)
    return (GO_BYTES if form == "bytes" else "ids := []string{%s}") % texts


def go_times(text, form, ids, id_type):
    ids = go_ids("integer", ids) if form == "integer" else go_ids("bytes", [in_hex(id_type, id) for id in ids])
    times = of_go(GO_IMPORTS, f"{ids}\nfor _, id := range ids {{ fmt.Println(({text}).UnixMicro()) }}")
    return map(int, times)


def go_sorted(text, form, ids):
    if form == "UUID":
        program = go_ids("bytes", [in_hex("", id) for id in ids])
        lines = of_go(GO_IMPORTS, f"{program}\n{text}\nfor _, id := range ids {{ fmt.Println(hex.EncodeToString(id)) }}")
        return [str(uuid.UUID(line)) for line in lines]
    return of_go(GO_IMPORTS, f"{go_ids(form, ids)}\n{text}\nfor _, id := range ids {{ fmt.Println(id) }}")


def dbt_times(blocks, form, ids):
    """The times of flakes in a model of dbt, which a macro computes in DuckDB. The IDs are a seed."""
    macro, model = blocks
    files = {
        "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n"
        "seeds: {shop: {orders: {+column_types: {id: bigint, total: bigint}}}}\n",
        "profiles.yml": "shop: {target: here, outputs: {here: {type: duckdb, path: shop.duckdb}}}\n",
        "seeds/orders.csv": "\n".join(["id,total", *(f"{id},{line}" for line, id in enumerate(ids))]),
        "macros/flake_timestamp.sql": macro,
        "models/order_times.sql": model,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text)
        # Not the program dbt: it has the path of an interpreter that scripts/test-analytics moved.
        dbt = [sys.executable, "-m", "dbt.cli.main", "--quiet", "build", "--profiles-dir", "."]
        ran = subprocess.run(dbt, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(ran.stdout + ran.stderr)
        import duckdb

        with duckdb.connect(Path(folder, "shop.duckdb")) as shop:
            rows = shop.execute("SELECT created_at FROM order_times ORDER BY total").fetchall()
        return [micros(time) for (time,) in rows]


ENGINES = {
    "DuckDB": (duckdb_times, duckdb_sorted),
    "ClickHouse": (clickhouse_times, clickhouse_sorted),
    "Spark": (spark_times, spark_sorted),
    "pandas": (pandas_times, pandas_sorted),
    "polars": (polars_times, polars_sorted),
    "Python": (python_times, python_sorted),
    "JavaScript": (javascript_times, javascript_sorted),
    "Go": (go_times, go_sorted),
}
# Its times are whole milliseconds.
ROUNDED = {"JavaScript": 1000}
WITHOUT_UUID = ["Spark", "polars", "JavaScript"]


def found_times(engine, id_type, times_of, text):
    ids, times = zip(*of_type[id_type])
    unit = ROUNDED.get(engine, 1)
    form = "integer" if id_type == "flake" else "text"
    arguments = [id_type] if engine == "Go" else []
    found = times_of(text, form, list(ids), *arguments)
    wrong = [one for one in zip(ids, times, found, strict=True) if one[1] // unit * unit != one[2]]
    return f"wrong: {wrong[0]}" if wrong else f"{len(ids)} equal"


def found_order(engine, form, id_type, sorted_by, cell, ways):
    if form == "UUID" and engine in WITHOUT_UUID:
        return "in ID order" if cell == NO_TYPE else f"wrong: {cell}"
    ids = [id for id, _ in of_type[id_type]]
    if not [way for warned, way in ways if not warned]:
        return f"wrong: no way to sort in {cell}"
    for warned, way in ways:
        if (list(sorted_by(way, form, ids[::-1])) == ids) == bool(warned):
            return f"wrong: {way}"
    return "in ID order"


def report(name, function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        result = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"{name}: {result}", flush=True)


page = Path("docs/analytics.md").read_text()
of_type = json.loads(Path(sys.argv[1]).read_text())
for engine in sys.argv[2:]:
    if engine == "dbt":
        blocks = re.findall(r"```jinja\n(.*?)```", section(page, engine), re.S)
        report("dbt flake", found_times, engine, "flake", dbt_times, blocks)
        continue
    times_of, sorted_by = ENGINES[engine]
    for id_type, text in expressions(page, engine).items():
        report(f"{engine} {id_type}", found_times, engine, id_type, times_of, text)
    for form, (cell, ways) in sorts(page, engine).items():
        for id_type in FORMS[form]:
            report(f"{engine} {id_type} {form}", found_order, engine, form, id_type, sorted_by, cell, ways)
