"""Reads the folders of a snapshot, or the files of an export, with a stock reader, as its users do, and tells what it saw as JSON."""

import datetime
import decimal
import glob
import json
import os
import sys

reader, snapshot, export = sys.argv[1:]
folder, turns = snapshot + "/calls", snapshot + "/transcript_turns"


def micros(t):
    import pandas

    return pandas.Timestamp(t).value // 1000


def exact(costs):
    """The sum of numbers that are doubles in a file, by their digits."""
    return sum(decimal.Decimal(repr(float(cost))) for cost in costs)


def seen(rows, cost, first, last, months, spoken):
    print(json.dumps({"rows": int(rows), "cost": f"{cost:.18f}", "first": micros(first), "last": micros(last),
                      "months": sorted(str(m) for m in months), "spoken": int(spoken)}))


def late():
    """A time between the calls, and how many calls start then or later, by pyarrow."""
    import pyarrow.dataset as ds

    calls = ds.dataset(folder, partitioning="hive")
    starts = sorted(t for t in calls.to_table(columns=["start_at"])["start_at"].to_pylist() if t is not None)
    at = starts[len(starts) // 3].replace(microsecond=0)
    return at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S"), calls.count_rows(filter=ds.field("start_at") >= at)


def seen_by_sql(ask, micros_of, instant, calls, turns):
    """The same by an engine's SQL, and a condition on the time."""
    n, cost, first, last = ask(f"SELECT count(*), sum(total_cost), {micros_of('min(start_at)')}, {micros_of('max(start_at)')} FROM {calls}")[0]
    at, want = late()
    got = int(ask(f"SELECT count(*) FROM {calls} WHERE start_at >= {instant(at)}")[0][0])
    assert got == want > 0, f"{got} calls start at {at} or later, want {want}"
    seen(n, decimal.Decimal(cost), int(first) * 1000, int(last) * 1000, [m for (m,) in ask(f"SELECT DISTINCT month FROM {calls}")],
         ask(f"SELECT count(*) FROM {turns} WHERE role = 'user'")[0][0])


def spark(**settings):
    from pyspark.sql import SparkSession

    b = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "America/New_York")
    for name, value in settings.items():
        b = b.config(name.replace("_", "."), value)
    return b.getOrCreate()


def by_spark(session):
    seen_by_sql(lambda q: [tuple(r) for r in session.sql(q).collect()], lambda t: f"unix_micros({t})", lambda t: f"TIMESTAMP '{t} UTC'", "calls", "turns")


def iceberg(catalog, table):
    """A table of Iceberg over the files as they stand, with the field ids that they have."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.types import StringType

    files = sorted(glob.glob(f"{snapshot}/{table}/**/*.parquet", recursive=True))
    fields = [pa.field(f.name, pa.string() if isinstance(f.type, pa.BaseExtensionType) else f.type, f.nullable, f.metadata) for f in pq.read_schema(files[0])]
    id_of = lambda f: int(f.metadata[b"PARQUET:field_id"])  # noqa: E731
    whole = next((i for i, f in enumerate(fields) if id_of(f) != i + 1), len(fields))
    t = catalog.create_table(f"callhouse.{table}", pa.schema(fields[:whole]))
    for f in fields[whole:]:  # Iceberg gives ids in turn, so a column that is gone takes its own with it
        while t.metadata.last_column_id + 1 < id_of(f):
            with t.update_schema() as u:
                u.add_column("gone", StringType())
            with t.update_schema() as u:
                u.delete_column("gone")
        with t.update_schema() as u:
            u.union_by_name(pa.schema([f]))
    t.add_files(files)
    return t.metadata_location


if reader == "pandas":
    import pandas

    df = pandas.read_parquet(folder)
    seen(len(df), df.total_cost.dropna().sum(), df.start_at.min(), df.start_at.max(), df.month.unique(),
         len(pandas.read_parquet(turns, filters=[("role", "==", "user")])))
elif reader == "pyarrow":
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    t = ds.dataset(folder, partitioning="hive").to_table()
    seen(len(t), pc.sum(t["total_cost"]).as_py(), pc.min(t["start_at"]).as_py(), pc.max(t["start_at"]).as_py(),
         pc.unique(t["month"]).to_pylist(), ds.dataset(turns, partitioning="hive").count_rows(filter=ds.field("role") == "user"))
elif reader == "polars":
    import polars as pl

    df = pl.read_parquet(folder + "/**/*.parquet", hive_partitioning=True, try_parse_hive_dates=False)
    seen(len(df), df["total_cost"].sum(), df["start_at"].min(), df["start_at"].max(), df["month"].unique(),
         len(pl.scan_parquet(turns + "/**/*.parquet").filter(pl.col("role") == "user").collect()))
elif reader == "datafusion":
    import datafusion

    ctx = datafusion.SessionContext()
    ctx.register_parquet("calls", folder, table_partition_cols=[("month", "string")])
    row = ctx.sql("SELECT count(*) n, sum(total_cost) c, min(start_at) a, max(start_at) b FROM calls").to_pylist()[0]
    months = [r["month"] for r in ctx.sql("SELECT DISTINCT month FROM calls").to_pylist()]
    ctx.register_parquet("turns", turns, table_partition_cols=[("month", "string")])
    spoken = ctx.sql("SELECT count(*) n FROM turns WHERE role = 'user' AND content > ''").to_pylist()[0]["n"]
    seen(row["n"], row["c"], row["a"], row["b"], months, spoken)
elif reader == "chdb":
    import chdb

    def ask(what, table, rest=""):
        return json.loads(str(chdb.query(f"SELECT {what} FROM file('{snapshot}/{table}/month=*/*.parquet', Parquet) {rest}", "JSONCompact")))["data"]

    n, cost, first, last, months = ask("toString(count()), toString(sum(total_cost)), toString(toUnixTimestamp64Micro(min(start_at))), "
                                       "toString(toUnixTimestamp64Micro(max(start_at))), groupUniqArray(month)", "calls")[0]
    seen(n, decimal.Decimal(cost), int(first) * 1000, int(last) * 1000, months, ask("toString(count())", "transcript_turns", "WHERE role = 'user'")[0][0])
elif reader == "arrow file: pandas":
    import pandas

    df, turns = (pandas.read_feather(f"{export}/{name}.arrow") for name in ("calls", "transcript_turns"))
    seen(len(df), exact(df.total_cost.dropna()), df.start_at.min(), df.start_at.max(), df.month.unique(), (turns.role == "user").sum())
elif reader == "arrow file: polars":
    import polars as pl

    df, turns = (pl.read_ipc(f"{export}/{name}.arrow") for name in ("calls", "transcript_turns"))
    seen(len(df), exact(df["total_cost"].drop_nulls()), df["start_at"].min(), df["start_at"].max(), df["month"].unique(), (turns["role"] == "user").sum())
elif reader.startswith("arrow "):
    import pyarrow as pa
    import pyarrow.compute as pc

    t, turns = (pa.ipc.open_file(f"{export}/{name}.arrow").read_all() for name in ("calls", "transcript_turns"))
    seen(len(t), exact(t["total_cost"].drop_null().to_pylist()), pc.min(t["start_at"]).as_py(), pc.max(t["start_at"]).as_py(), pc.unique(t["month"]).to_pylist(),
         pc.sum(pc.equal(turns["role"], "user")).as_py())
elif reader == "folder: pyspark":
    session = spark()
    session.read.option("recursiveFileLookup", "false").parquet(folder).createOrReplaceTempView("calls")
    session.read.parquet(turns).createOrReplaceTempView("turns")
    by_spark(session)
elif reader == "iceberg: pyiceberg":
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{export}/iceberg.db", warehouse=f"file://{export}")
    catalog.create_namespace("callhouse")
    session = spark(spark_jars=os.environ["CALLHOUSE_ICEBERG_JAR"], spark_sql_extensions="org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                    spark_sql_catalog_ice="org.apache.iceberg.spark.SparkCatalog", spark_sql_catalog_ice_type="hadoop", spark_sql_catalog_ice_warehouse=export + "/ice")
    from pyspark.sql.functions import date_format

    for view, table in (("calls", "calls"), ("turns", "transcript_turns")):
        session.read.format("iceberg").load(iceberg(catalog, table)).createOrReplaceTempView(view)
    assert session.sql("SELECT count(user_turns) FROM calls").collect()[0][0] > 0, "a column after a gap in the ids"
    session.sql("SET spark.sql.session.timeZone=UTC")
    session.table("calls").withColumn("month", date_format("start_at", "yyyy-MM")).createOrReplaceTempView("calls")
    session.sql("SET spark.sql.session.timeZone=America/New_York")
    by_spark(session)
elif reader == "xlsx: openpyxl":
    import openpyxl
    import pandas

    df, turns = (pandas.read_excel(f"{export}/xlsx/{name}.xlsx", dtype=object) for name in ("calls", "transcript_turns"))
    assert all(isinstance(number, str) for number in df.from_number.dropna()), "phone numbers are texts"
    lasted = openpyxl.load_workbook(f"{export}/xlsx/calls.xlsx", read_only=True)["calls"]
    heads = [cell.value for cell in next(lasted.iter_rows(max_row=1))]
    talk = [row[heads.index("talk")].value for row in lasted.iter_rows(min_row=2)]
    assert any(talk) and all(isinstance(t, datetime.timedelta) for t in talk if t is not None), "durations are durations"
    start = df["start_at (UTC)"]
    seen(len(df), exact(df.total_cost.dropna()), start.min(), start.max(), df.month.unique(),
         (turns.role == "user").sum())
elif reader == "duckdb":
    import duckdb

    t = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    n, cost, first, last = duckdb.sql(
        f"SELECT count(*), sum(total_cost), epoch_us(min(start_at)), epoch_us(max(start_at)) FROM {t}").fetchall()[0]
    months = [m for (m,) in duckdb.sql(f"SELECT DISTINCT month FROM {t}").fetchall()]
    t = f"read_parquet('{turns}/**/*.parquet', hive_partitioning = true)"
    seen(n, cost, first * 1000, last * 1000, months, duckdb.sql(f"SELECT count(*) FROM {t} WHERE role = 'user'").fetchall()[0][0])
