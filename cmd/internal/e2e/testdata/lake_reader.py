"""Reads the tables that query publish iceberg keeps with one engine, as its users do, and tells what it answers as JSON."""

import decimal
import glob
import importlib
import json
import os
import re
import sys

engine, spec = sys.argv[1], json.load(sys.stdin)
here = {}  # the place that is read now: what is asked there, of which tables and tags
month = re.search(r"WHERE (start_at .*)", spec["month"])[1]
AFTER, NEXT = re.findall(r"INSTANT\('(.*?)'\)", month)
endpoint, region = os.environ.get("AWS_ENDPOINT_URL", ""), os.environ.get("AWS_REGION", "")
key, secret = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")

# What engines call otherwise: MICROS, CHARS, INSTANT, MEMBER.
WORDS = {
    "duckdb": (r"epoch_us(\1)", r"length(\1)", r"timezone('UTC', TIMESTAMP \1)", r"(\1 ->> '\2')"),
    "spark": (r"unix_micros(\1)", r"length(\1)", r"timestamp(concat(\1, ' UTC'))", r"get_json_object(\1, '$.\2')"),
    "trino": (r"(date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00 UTC', \1) * 1000)", r"length(\1)",
              r"with_timezone(TIMESTAMP \1, 'UTC')", r"json_extract_scalar(\1, '$.\2')"),
    "chdb": (r"toUnixTimestamp64Micro(\1)", r"lengthUTF8(\1)", r"toDateTime64(\1, 6, 'UTC')", r"nullIf(JSONExtractString(\1, '\2'), '')"),
}


def spoken(question, dialect, table):
    """A question in an engine's words, about tables as it names them."""
    question = re.sub(r"TEXT\((\w+)\)", r"\1", question)
    for pattern, word in zip((r"MICROS\((\w+\(\w+\)|\w+)\)", r"CHARS\((\w+)\)", r"INSTANT\((.*?)\)", r"MEMBER\((\w+), (\w+)\)"), WORDS[dialect]):
        question = re.sub(pattern, word, question)
    return re.sub(r"\b(FROM|JOIN) (calls|transcript_turns)\b", lambda m: f"{m[1]} {table(m[2])}", question)


def read(dialect, ask, table, columns, pruned=None):
    """What a place holds. ask answers SQL with rows, table is a table's name at a tag, columns are those of the calls at a tag."""
    out = {"answers": {}, "late": {}, "reports": {}}
    for tag in here["tags"]:
        answers = out["answers"][tag] = {"rows of " + t: ask(f"SELECT count(*) FROM {table(t, tag)}") for t in here["tables"]}
        for name, question in here["questions"].items():
            answers[name] = ask(spoken(question, dialect, lambda t: table(t, tag)))
        out["late"][tag] = spec["late"] in columns(tag)
    out["reports"] = {name: ask(spoken(statement, dialect, lambda t: table(t, ""))) for name, statement in spec["reports"].items()}
    if pruned:
        out["pruned"] = dict(zip(("read", "of"), pruned(lambda q: spoken(q, dialect, lambda t: table(t, "")))))
    return out


def static(root, name):
    import pyiceberg
    from pyiceberg.io import load_file_io
    from pyiceberg.table import StaticTable

    at = f"{root}/callhouse/{name}"
    where = {"s3.endpoint": endpoint, "s3.region": region, "s3.access-key-id": key, "s3.secret-access-key": secret}
    if tuple(map(int, pyiceberg.__version__.split(".")[:2])) < (0, 9):  # it wants the file
        with load_file_io(where, at).new_input(at + "/metadata/version-hint.text").open() as hint:
            at += f"/metadata/v{int(hint.read())}.metadata.json"
    return StaticTable.from_metadata(at, where)


def refs(table):
    return table.refs() if hasattr(table, "refs") else table.metadata.refs


def id_of(root, name, tag):
    """Which of Iceberg's snapshots a tag names, for engines that know no tags."""
    return refs(static(root, name))[tag].snapshot_id


def duckdb():
    """Python's DuckDB, with what it installs from extensions.duckdb.org; here the same files are from PyPI."""
    import duckdb

    db = duckdb.connect(config={"extension_directory": os.path.join(os.getcwd(), "extensions")})
    db.execute("SET timezone = 'America/New_York'")
    if engine == "duckdb":
        for name in ("avro", "httpfs", "iceberg"):
            folder = os.path.dirname(importlib.import_module("duckdb_extension_" + name).__file__)
            db.execute(f"INSTALL '{glob.glob(folder + '/extensions/v' + duckdb.__version__ + '/*.duckdb_extension')[0]}'")
            db.execute(f"LOAD {name}")
        db.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{key}', SECRET '{secret}', REGION '{region}', ENDPOINT '{endpoint.removeprefix('http://')}', "
                   "URL_STYLE 'path', USE_SSL false)")
    return db


def arrow(scan, columns, pruned=None):
    """By a library without SQL: it reads the tables, and DuckDB asks what it read."""
    db, there = duckdb(), {}

    def table(name, tag):
        if (name, tag) not in there:
            there[name, tag] = "t" + str(len(there))
            db.register(there[name, tag], scan(name, tag))
        return there[name, tag]

    return read("duckdb", lambda q: db.execute(q).fetchall(), table, columns, pruned)


def by_pyiceberg(root):
    def at(name, tag, **scan):
        t = static(root, name)
        return t.scan(snapshot_id=refs(t)[tag].snapshot_id if tag else None, **scan)

    def pruned(_):
        iso = lambda t: t.replace(" ", "T") + "+00:00"  # noqa: E731
        some = at("calls", "", row_filter=f"start_at >= '{iso(AFTER)}' AND start_at < '{iso(NEXT)}'", selected_fields=("call_id", "start_at"))
        assert not hasattr(some, "count") or some.to_arrow().num_rows == some.count(), "its own filter"
        return len(list(some.plan_files())), len(list(at("calls", "").plan_files()))

    out = arrow(lambda name, tag: at(name, tag).to_arrow(), lambda tag: at("calls", tag).projection().column_names, pruned)
    return out


def by_polars(root):
    import datetime

    import polars as pl

    def at(name, tag):
        t = static(root, name)
        return pl.scan_iceberg(t, snapshot_id=refs(t)[tag].snapshot_id if tag else None)

    out = arrow(lambda name, tag: at(name, tag).collect().to_arrow(), lambda tag: at("calls", tag).collect_schema().names())
    after, before = (datetime.datetime.fromisoformat(t + "+00:00") for t in (AFTER, NEXT))
    rows = at("calls", "").filter((pl.col("start_at") >= after) & (pl.col("start_at") < before)).select(pl.len()).collect().item()
    assert rows == out["answers"][""]["month"][0][0], f"its own filter finds {rows} calls of a month"
    return out


def by_duckdb(root):
    db = duckdb()
    ask = lambda q: db.execute(q).fetchall()  # noqa: E731

    def table(name, tag):
        at = f", snapshot_from_id => {id_of(root, name, tag)}::UBIGINT" if tag else ""
        return f"iceberg_scan('{root}/callhouse/{name}'{at})"

    def pruned(say):
        def files(q):
            return int(re.search(r"(?:Total Files Read|Scanning Files): (\d+)", ask("EXPLAIN ANALYZE " + say(q))[0][1])[1])

        return files("SELECT min(duration_ms) FROM calls WHERE " + month), files("SELECT min(duration_ms) FROM calls")

    return read("duckdb", ask, table, lambda tag: [c[0] for c in db.execute(f"FROM {table('calls', tag)} LIMIT 0").description], pruned)


def by_chdb(root):
    import chdb

    os.chdir("/")  # it reads only what lies below
    def ask(q):
        text = str(chdb.query(q + " SETTINGS output_format_json_quote_decimals = 1, output_format_json_quote_64bit_integers = 0, session_timezone = 'America/New_York'", "JSONCompact"))
        return json.loads(text)["data"]

    def source(name):
        if root.startswith("s3://"):
            return f"icebergS3('{endpoint}/{root.removeprefix('s3://')}/callhouse/{name}/', '{key}', '{secret}')"
        return f"icebergLocal('{root.removeprefix('file://')}/callhouse/{name}/')"

    def table(name, tag):
        return f"(SELECT * FROM {source(name)} SETTINGS iceberg_snapshot_id = {id_of(root, name, tag)})" if tag else source(name)

    def pruned(say):
        def skipped():
            return sum(int(n) for (n,) in ask("SELECT value FROM system.events WHERE event IN ('IcebergPartitionPrunedFiles', 'IcebergMinMaxIndexPrunedFiles')"))

        before = skipped()
        of = len(ask("SELECT DISTINCT _path FROM " + table("calls", "")))
        ask(say("SELECT min(duration_ms) FROM calls WHERE " + month))
        return of - (skipped() - before), of

    return read("chdb", ask, table, lambda tag: [r[0] for r in ask(f"DESCRIBE (SELECT * FROM {table('calls', tag)})")], pruned)


def spark_session():
    from pyspark.sql import SparkSession

    conf = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "America/New_York", "spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false",
            "spark.jars": os.environ["CALLHOUSE_ICEBERG_JARS"], "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"}
    for place, root in ((name, p["root"]) for name, p in spec["places"].items()):
        conf |= {f"spark.sql.catalog.{place}": "org.apache.iceberg.spark.SparkCatalog", f"spark.sql.catalog.{place}.type": "hadoop", f"spark.sql.catalog.{place}.warehouse": root}
        if root.startswith("s3://"):  # whose metadata Hadoop's S3A reads, and whose files Iceberg's own S3FileIO
            conf |= {f"spark.sql.catalog.{place}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO", f"spark.sql.catalog.{place}.s3.endpoint": endpoint,
                     f"spark.sql.catalog.{place}.s3.path-style-access": "true", f"spark.sql.catalog.{place}.client.region": region,
                     "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem", "spark.hadoop.fs.s3a.endpoint": endpoint,
                     "spark.hadoop.fs.s3a.path.style.access": "true", "spark.hadoop.fs.s3a.endpoint.region": region}
    b = SparkSession.builder.master("local[1]")
    for name, value in conf.items():
        b = b.config(name, value)
    session = b.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def by_spark(root):
    global session
    session = globals().get("session") or spark_session()
    place = here["name"]
    ask = lambda q: [tuple(r) for r in session.sql(q).collect()]  # noqa: E731

    def table(name, tag):
        return f"(SELECT * FROM {place}.callhouse.{name} VERSION AS OF '{tag}')" if tag else f"{place}.callhouse.{name}"

    def pruned(say):
        def files(q):
            df = session.sql(say(q))
            df.collect()
            plan = df._jdf.queryExecution().executedPlan()
            while plan.children().size():
                plan = plan.children().head()
            return plan.metrics().apply("resultDataFiles").value()

        return files("SELECT duration_ms FROM calls WHERE " + month), files("SELECT duration_ms FROM calls")

    return read("spark", ask, table, lambda tag: session.sql("SELECT * FROM " + table("calls", tag)).columns, pruned)


def by_trino(root):
    import trino

    host, port = os.environ["CALLHOUSE_TRINO"].split(":")
    cursor = trino.dbapi.connect(host=host, port=int(port), user="callhouse", timezone="Asia/Seoul").cursor()
    place = here["name"]

    def ask(q):
        cursor.execute(q)
        return cursor.fetchall()

    ask(f"CREATE SCHEMA lake.{place}")
    for name in here["tables"]:
        last = os.path.basename(static(root, name).metadata_location)
        for file in {"v1.metadata.json": 0, last: 0}:  # as after a first publication, and after the last one
            if file != "v1.metadata.json":
                ask(f"CALL lake.system.unregister_table('{place}', '{name}')")
            ask(f"CALL lake.system.register_table('{place}', '{name}', '{root}/callhouse/{name}', '{file}')")

    def table(name, tag):
        return f"(SELECT * FROM lake.{place}.{name} FOR VERSION AS OF '{tag}')" if tag else f"lake.{place}.{name}"

    def columns(tag):
        ask("SELECT * FROM " + table("calls", tag) + " LIMIT 1")
        return [c[0] for c in cursor.description]

    def pruned(say):
        def rows(q):
            return int(re.search(r"Input: ([\d,]+) rows", ask("EXPLAIN ANALYZE " + say(q))[0][0])[1].replace(",", ""))

        return rows("SELECT duration_ms FROM calls WHERE " + month), rows("SELECT duration_ms FROM calls")

    return read("trino", ask, table, columns, pruned)


def plain(v):
    return format(v, "f") if isinstance(v, decimal.Decimal) else str(v)


out = {}
for name, here in spec["places"].items():
    here["name"] = name
    out[name] = globals()["by_" + engine](here["root"])
print(json.dumps(out, default=plain))
