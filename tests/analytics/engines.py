# Runs the expressions of docs/analytics.md on IDs. The argument is a file in JSON: for each ID type pairs of an ID and the
# milliseconds of its time since 1970. Further arguments name the engines. A line of the output is an engine, an ID type, and
# the number of IDs that have the right time or the first one that has another.
import json
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime.fromtimestamp(0, UTC)


def expressions(page, engine):
    section = re.search(rf"^## {engine}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
    rows = re.findall(r"^\| (\w+) \| `(.*)` \|$", section, re.M)
    return {id_type: text.replace("\\|", "|") for id_type, text in rows}


def millis(time):
    """Milliseconds since 1970 of a time, which is UTC if it has no time zone."""
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - START) / timedelta(milliseconds=1)


def numbers(id_type, ids):
    return [int(id) for id in ids] if id_type == "flake" else ids


def duckdb(text, id_type, ids):
    import duckdb

    kind = "BIGINT" if id_type == "flake" else "VARCHAR"
    rows = duckdb.execute(f"SELECT {text} FROM (SELECT unnest(?::{kind}[]) AS id)", [numbers(id_type, ids)])
    return [millis(time) for (time,) in rows.fetchall()]


def clickhouse(text, id_type, ids):
    import chdb

    kind = "Int64" if id_type == "flake" else "String"
    values = ",".join(f"'{id}'" for id in ids)
    query = f"SELECT toString({text}) FROM (SELECT CAST(arrayJoin([{values}]) AS {kind}) AS id)"
    return [millis(datetime.fromisoformat(line)) for line in chdb.query(query, "TSV").data().splitlines()]


def pandas(text, id_type, ids):
    import pandas as pd

    df = pd.DataFrame({"id": numbers(id_type, ids)})
    return [millis(time) for time in eval(text, {"pd": pd, "df": df})]


def polars(text, id_type, ids):
    import polars as pl

    df = pl.DataFrame({"id": numbers(id_type, ids)})
    return [millis(time) for time in df.select(eval(text, {"pl": pl})).to_series()]


def python(text, id_type, ids):
    names = {"datetime": datetime, "timedelta": timedelta, "UTC": UTC}
    return [millis(eval(text, {**names, "id": id})) for id in numbers(id_type, ids)]


def javascript(text, id_type, ids):
    program = f"console.log(JSON.stringify({json.dumps(ids)}.map(id => ({text}).getTime())))"
    return json.loads(subprocess.run(["node", "-e", program], check=True, capture_output=True).stdout)


DIGITS = str.maketrans("23456789abcdefghijklmnopqrstuvwx", "0123456789abcdefghijklmnopqrstuv")


def go(text, id_type, ids):
    if id_type == "flake":
        values = "[]int64{%s}" % ",".join(ids)
    else:
        if id_type == "sno":
            ids = [f"{int(id.translate(DIGITS), 32):020x}" for id in ids]
        in_hex = ",".join('"%s"' % id.replace("-", "") for id in ids)
        values = "bytes(%s)" % in_hex
    binary = '"encoding/binary"\n' if "binary." in text else ""
    program = f"""package main
import ("encoding/hex"
"fmt"
{binary}"time")
func bytes(texts ...string) (all [][]byte) {{
    for _, text := range texts {{ one, _ := hex.DecodeString(text); all = append(all, one) }}
    return
}}
func main() {{ for _, id := range {values} {{ fmt.Println(({text}).UnixMilli()) }}; _ = bytes; _ = time.UTC }}
"""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "main.go")
        file.write_text(program)
        ran = subprocess.run(["go", "run", file], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return [int(line) for line in ran.stdout.split()]


ENGINES = {"DuckDB": duckdb, "ClickHouse": clickhouse, "pandas": pandas, "polars": polars, "Python": python,
           "JavaScript": javascript, "Go": go}

page = Path("docs/analytics.md").read_text()
of_type = json.loads(Path(sys.argv[1]).read_text())
for engine in sys.argv[2:]:
    for id_type, text in expressions(page, engine).items():
        ids, times = zip(*of_type[id_type])
        try:
            found = ENGINES[engine](text, id_type, list(ids))
            wrong = [one for one in zip(ids, times, found, strict=True) if one[1] != one[2]]
            result = f"wrong: {wrong[0]}" if wrong else f"{len(ids)} equal"
        except Exception as error:
            result = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"{engine} {id_type}: {result}")
