"""Reads the folders of a snapshot, or the files of an export, with a stock reader, as its users do, and tells what it saw as JSON."""

import decimal
import json
import sys

reader, snapshot, export = sys.argv[1:]
folder, turns = snapshot + "/calls", snapshot + "/transcript_turns"


def micros(t):
    import pandas

    return pandas.Timestamp(t).value // 1000


def seen(rows, cost, first, last, months, spoken):
    print(json.dumps({"rows": int(rows), "cost": f"{cost:.18f}", "first": micros(first), "last": micros(last),
                      "months": sorted(str(m) for m in months), "spoken": int(spoken)}))


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
    seen(len(df), df.total_cost.dropna().sum(), df.start_at.min(), df.start_at.max(), df.month.unique(), (turns.role == "user").sum())
elif reader == "arrow file: polars":
    import polars as pl

    df, turns = (pl.read_ipc(f"{export}/{name}.arrow") for name in ("calls", "transcript_turns"))
    seen(len(df), df["total_cost"].sum(), df["start_at"].min(), df["start_at"].max(), df["month"].unique(), (turns["role"] == "user").sum())
elif reader.startswith("arrow "):
    import pyarrow as pa
    import pyarrow.compute as pc

    if reader == "arrow file: pyarrow":
        t, turns = (pa.ipc.open_file(f"{export}/{name}.arrow").read_all() for name in ("calls", "transcript_turns"))
    else:
        t, turns = (pa.ipc.open_stream(f"{export}/{name}.arrows").read_all() for name in ("calls", "transcript_turns"))
    seen(len(t), pc.sum(t["total_cost"]).as_py(), pc.min(t["start_at"]).as_py(), pc.max(t["start_at"]).as_py(), pc.unique(t["month"]).to_pylist(),
         pc.sum(pc.equal(turns["role"], "user")).as_py())
elif reader == "xlsx: openpyxl":
    import pandas

    df, turns = (pandas.read_excel(f"{export}/{name}.xlsx", dtype=object) for name in ("calls", "transcript_turns"))
    assert all(isinstance(number, str) for number in df.from_number.dropna()), "phone numbers are texts"
    seen(len(df), sum(decimal.Decimal(repr(cost)) for cost in df.total_cost.dropna()), df.start_at.min(), df.start_at.max(), df.month.unique(),
         (turns.role == "user").sum())
elif reader == "duckdb":
    import duckdb

    t = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true, union_by_name = true)"
    n, cost, first, last = duckdb.sql(
        f"SELECT count(*), sum(total_cost), epoch_us(min(start_at)), epoch_us(max(start_at)) FROM {t}").fetchall()[0]
    months = [m for (m,) in duckdb.sql(f"SELECT DISTINCT month FROM {t}").fetchall()]
    t = f"read_parquet('{turns}/**/*.parquet', hive_partitioning = true, union_by_name = true)"
    seen(n, cost, first * 1000, last * 1000, months, duckdb.sql(f"SELECT count(*) FROM {t} WHERE role = 'user'").fetchall()[0][0])
