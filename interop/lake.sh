#!/usr/bin/env bash
# What query publish iceberg publishes: to a folder, read by the oldest Spark, Trino, DuckDB and
# pyiceberg that docs/reference/lakehouse.md names; through Iceberg's REST server, oldest and newest;
# to a folder and a real S3 server, read by the newest engines; and by 50 processes that are killed
# while they publish. Spark needs a JDK of 17 or 21, Trino one of 24 or later (TRINO_JAVA_HOME).
# Arguments choose parts: oldest catalogs newest crash.
. "$(dirname "$0")/common.sh"
versitygw
export CALLHOUSE_VERSITYGW=$root/build/tools/versitygw
export CALLHOUSE_TRINO_JAVA=${TRINO_JAVA_HOME:-}

# readers VENV JARS TRINO TESTS
readers() {
	CALLHOUSE_LAKE=1 CALLHOUSE_PYTHON=$root/build/$1/bin/python CALLHOUSE_ICEBERG_JARS=$(printf '%s\n' "$root/build/$2"/*.jar | paste -sd,) \
		CALLHOUSE_TRINO_HOME=$(trino "$3") go test ./cmd/internal/e2e -run "$4" -v -count=1 -timeout 60m
}

oldest() {
	venv lake-oldest "pyspark==$OLDEST_SPARK" "pyiceberg[s3fs,pyarrow]==$OLDEST_PYICEBERG" trino pytz \
		"duckdb==$OLDEST_DUCKDB" "duckdb-extension-iceberg==$OLDEST_DUCKDB" "duckdb-extension-avro==$OLDEST_DUCKDB" "duckdb-extension-httpfs==$OLDEST_DUCKDB"
	jars lake-oldest-java "$OLDEST_ICEBERG_JAR"
	# From a folder: this Spark has no client of S3.
	CALLHOUSE_VERSITYGW="" readers lake-oldest lake-oldest-java "$OLDEST_TRINO" 'TestLakeReaders/^(pyiceberg|duckdb|spark|trino)$'
}

catalogs() {
	venv lake-catalogs 'pyiceberg[s3fs,pyarrow]'
	# shellcheck disable=SC2086
	jars lake-catalogs-java $ICEBERG_SERVER_JARS
	CALLHOUSE_LAKE_JARS=$(printf '%s\n' "$root"/build/lake-catalogs-java/*.jar | paste -sd' ') \
		CALLHOUSE_LAKE_JAVA=${CATALOG_JAVA_HOME:-${TRINO_JAVA_HOME:-}} CALLHOUSE_PYTHON=$root/build/lake-catalogs/bin/python \
		go test ./cmd/internal/e2e -run TestLakeCatalogs -v -count=1 -timeout 60m
}

newest() {
	venv lake "pyspark==$SPARK" 'pyiceberg[s3fs,pyarrow]' polars chdb trino pytz \
		"duckdb==$DUCKDB" "duckdb-extension-iceberg==$DUCKDB" "duckdb-extension-avro==$DUCKDB" "duckdb-extension-httpfs==$DUCKDB"
	# shellcheck disable=SC2086
	jars lake-java "$ICEBERG_JAR" $SPARK_S3_JARS
	readers lake lake-java "$TRINO" TestLakeReaders
}

crash() {
	go test ./internal/publish -v -count=1 -timeout 120m -rapid.checks 200 -args -long -kills 50
}

for part in ${@:-oldest catalogs newest crash}; do "$part"; done
