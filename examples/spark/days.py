"""Writes calls and cost by day and status as Parquet.

days.py WAREHOUSE OUTPUT
"""
import os
import sys

from pyspark.sql import SparkSession

warehouse, output = sys.argv[1:3]
snapshot = os.path.realpath(os.path.join(warehouse, "current"))  # once, so that all tables are of one commit
spark = SparkSession.builder.appName("calls by day").config("spark.sql.session.timeZone", "UTC").getOrCreate()
spark.read.parquet(snapshot + "/calls").createOrReplaceTempView("calls")
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "days.sql")) as f:
    days = spark.sql(f.read())
days.show()
days.write.mode("overwrite").parquet(output)
