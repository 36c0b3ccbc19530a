#!/usr/bin/env bash
# pandas, polars, pyarrow, DataFusion, DuckDB, chDB, Spark, and Spark over Iceberg read a snapshot's
# folders, and exports in Arrow and Excel. LibreOffice, if it is installed, opens workbooks and CSV in
# three languages.
# Spark needs a JDK of 17 or 21 (JAVA_HOME, or the java in PATH).
. "$(dirname "$0")/common.sh"

venv readers pandas polars pyarrow datafusion duckdb chdb openpyxl "pyspark==$SPARK" 'pyiceberg[sql-sqlite]'
jars engines-java "$ICEBERG_JAR"
jar=${ICEBERG_JAR#*:}
export CALLHOUSE_PYTHON=$root/build/readers/bin/python
CALLHOUSE_ICEBERG_JAR=$root/build/engines-java/${jar//:/-}.jar \
	go test ./cmd/internal/e2e -run TestFolderReaders -count=1 -v -timeout 30m

if command -v soffice; then
	go build -o build/readers/ ./cmd/query
	rm -rf build/readers/warehouse
	go run ./cmd/demo --warehouse build/readers/warehouse
	interop/sheets.py --query build/readers/query --warehouse build/readers/warehouse
fi
