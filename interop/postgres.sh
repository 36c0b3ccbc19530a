#!/usr/bin/env bash
# What psql, Python's, Java's, Node's, ODBC's and R's clients ask of query serve, and what pgcli, dlt,
# tap-postgres and DuckDB do, beside a real Postgres: PG_BIN is the folder of its programs. Writes
# internal/serve/testdata/like.md.
. "$(dirname "$0")/common.sh"

odbc=${PSQLODBC:-/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so}
for needed in "$odbc" "$(command -v Rscript || echo Rscript)"; do
	[ -e "$needed" ] || { echo "$needed is missing: install odbc-postgresql, r-base-core and r-cran-rpostgresql" >&2; exit 1; }
done
venv postgres 'psycopg[binary]' psycopg2-binary asyncpg sqlalchemy pyodbc connectorx polars pandas pyarrow adbc-driver-postgresql
jars postgres-java "org.postgresql:postgresql:$PGJDBC"
npm install --silent --prefix build/postgres/node pg pg-cursor sequelize
venv programs/pgcli "pgcli==$PGCLI" 'psycopg[binary]'
venv programs/python "dlt[sql-database,duckdb]==$DLT" psycopg2-binary
venv programs/tap-postgres "meltanolabs-tap-postgres==$TAP_POSTGRES"
venv programs/duckdb "duckdb==$DUCKDB" "duckdb-extensions==$DUCKDB" "duckdb-extension-postgres-scanner==$DUCKDB"

CALLHOUSE_PROGRAMS=$root/build/programs CALLHOUSE_PYTHON=$root/build/postgres/bin/python \
	CALLHOUSE_JDBC=$root/build/postgres-java/postgresql-$PGJDBC.jar CALLHOUSE_NODE_MODULES=$root/build/postgres/node \
	CALLHOUSE_ODBC=$odbc CALLHOUSE_R=Rscript \
	go test ./internal/serve -run 'TestLikePostgres|TestPrograms' -count=1 -v -timeout 60m \
	-args -postgres "${PG_BIN:-/usr/lib/postgresql/15/bin}" -update
