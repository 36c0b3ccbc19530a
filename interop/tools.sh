#!/usr/bin/env bash
# dbt, Superset, pgAdmin, DataHub, Soda, Great Expectations, and Trino (TRINO_JAVA_HOME names its JDK)
# read from query serve. They take 1.8 GB.
. "$(dirname "$0")/common.sh"

venv bi/dbt "dbt-core==$DBT" "dbt-postgres==$DBT_POSTGRES"
venv bi/superset "apache-superset==$SUPERSET" flask-caching==2.3.1 rich cachetools psycopg2-binary
venv bi/pgadmin "pgadmin4==$PGADMIN"
venv bi/datahub "acryl-datahub[postgres]==$DATAHUB"
venv bi/soda "soda-core-postgres==$SODA" 'setuptools<81'
venv bi/great_expectations "great_expectations[postgresql]==$GREAT_EXPECTATIONS"
venv bi/trino-python "trino==$TRINO_CLIENT"
server=$(trino "$TRINO")
rm -f build/bi/trino
[ -z "$server" ] || ln -s "$server" build/bi/trino

CALLHOUSE_HEAVY=$root/build/bi CALLHOUSE_TRINO_JAVA=${TRINO_JAVA_HOME:-} CALLHOUSE_SUPERSET=$root/build/bi/superset/bin/superset \
	go test ./internal/serve -run 'TestSuperset|TestHeavyPrograms' -count=1 -v -timeout 30m
