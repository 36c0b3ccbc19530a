"""Upgrades tables in a folder to version 3 of Iceberg's format with Spark, or tells as JSON what Spark reads there."""

import json
import os
import sys

from pyspark.sql import SparkSession

what, root, tables = sys.argv[1], sys.argv[2], sys.argv[3:]
b = SparkSession.builder.master("local[1]")
for name, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.jars": os.environ["CALLHOUSE_ICEBERG_JARS"],
                    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "hadoop",
                    "spark.sql.catalog.lake.warehouse": root}.items():
    b = b.config(name, value)
session = b.getOrCreate()
session.sparkContext.setLogLevel("ERROR")
one = lambda q: list(session.sql(q).collect()[0])  # noqa: E731
out = {}
for t in tables:
    t = "lake.callhouse." + t
    if what == "upgrade":
        session.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")
    out[t.split(".")[-1]] = {
        "version": int(session.sql(f"SHOW TBLPROPERTIES {t} ('format-version')").collect()[0][1]),
        "rows": one(f"SELECT count(*) FROM {t}")[0],
        "numbered": one(f"SELECT count(DISTINCT _row_id) FROM {t}")[0] if what == "read" else 0,
        "tags": {r[0]: one(f"SELECT count(*) FROM {t} VERSION AS OF '{r[0]}'")[0]
                 for r in session.sql(f"SELECT name FROM {t}.refs WHERE type = 'TAG'").collect()},
    }
print(json.dumps(out))
