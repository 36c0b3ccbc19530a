# Everything that a developer of callhouse does has a target here: make help.
SHELL := /bin/bash
LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0
SYFT := github.com/anchore/syft/cmd/syft@v1.38.0
FUZZTIME ?= 1m
# The packages whose tests do more with -long.
LONG_PACKAGES = $(shell grep -rl --include='*_test.go' '"callhouse/internal/longtest"' cmd internal | xargs -n1 dirname | sort -u | sed 's|^|./|')
SNAPSHOT = $(if $(shell git describe --exact-match --tags 2>/dev/null),,--snapshot)

.DEFAULT_GOAL := help
.PHONY: help build test long soak race vet lint size fmt demo bench fuzz alerts golden notices interop dist dist-macos clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build extract and query into bin/
	mkdir -p bin
	go build -o bin/ ./cmd/extract ./cmd/query

test: ## Run the quick tests (what the README's second command runs)
	go test ./...

long: ## Try everything the quick tests only sample, and what they leave out (about 25 minutes)
	go test -tags arrow $(LONG_PACKAGES) -timeout 30m -args -long

soak: ## What takes hours, before a release: WHAT='crash damage chance load size'
	.ci/soak $(WHAT)

# Three packages at a time keep both cores busy, because tests of whole runs mostly wait. The slowest begin
# first, so that none is left alone at the end. GORACE removes the pause of a second at the end of each program.
race: ## Run the quick tests under the race detector
	GORACE=atexit_sleep_ms=0 go test -race -p 3 -timeout 30m ./cmd/internal/e2e ./internal/crawler ./internal/sink ./internal/sandbox ./...

vet: ## go vet
	go vet ./...
	go vet -tags arrow ./cmd/internal/e2e

lint: size ## golangci-lint, with the rules on which package may import which; the limits of size
	$(LINT) run --allow-parallel-runners ./...

size: ## Lines of product, sandbox and tests, words of docs, and packages, next to their limits in .size
	@.ci/size

fmt: ## Format the code
	gofmt -w cmd internal sql

demo: ## Sandbox, extract and three reports in one command
	go run ./cmd/demo

bench: ## Measure the built programs: WHAT='build night reports start follow budget pandas'
	bench/bench $(WHAT)

fuzz: ## Fuzz the decoder, the journal, what is made visible and a hostile service, FUZZTIME each (1m)
	go test ./internal/calls -run '^$$' -fuzz '^FuzzDecode$$' -fuzztime $(FUZZTIME)
	go test ./internal/sink -run '^$$' -fuzz '^FuzzSegment$$' -fuzztime $(FUZZTIME)
	go test ./internal/words -run '^$$' -fuzz '^FuzzWords$$' -fuzztime $(FUZZTIME)
	go test ./internal/crawler -run '^$$' -fuzz '^FuzzHostileService$$' -fuzztime $(FUZZTIME)

alerts: ## Try docs/alerts.yml on months of thirty good and bad nights, with Prometheus' promtool
	go test ./cmd/internal/status -run TestAlertsOfThirtyNights -count=1 -timeout 30m -args -promtool "$$(.ci/promtool)"

golden: ## Rewrite the golden files from what the code does now; read the diff before you commit it
	go test ./sql ./internal/calls ./internal/sink ./internal/analytics ./internal/analytics/format ./internal/analytics/page ./cmd/internal/querycmd -args -update

notices: ## Write THIRD_PARTY_NOTICES.txt: the licences of all that is linked in; .ci/run compares it
	.ci/notices > THIRD_PARTY_NOTICES.txt.new
	mv THIRD_PARTY_NOTICES.txt.new THIRD_PARTY_NOTICES.txt

interop: ## Tests with other people's programs (interop/README.md): WHAT='readers postgres tools lake presidio sandbox browser'
	for family in $(WHAT); do interop/$$family.sh || exit 1; done

dist: ## Archives for Linux and macOS, deb, rpm, a Homebrew cask, checksums, SBOMs; an image if there is docker (needs aarch64-linux-gnu-gcc and -g++)
	GOBIN=$(CURDIR)/build/tools go install $(GORELEASER)
	GOBIN=$(CURDIR)/build/tools go install $(SYFT)
	PATH="$(CURDIR)/build/tools:$$PATH" goreleaser release --clean $(SNAPSHOT) --skip=publish$(shell docker buildx version >/dev/null 2>&1 || echo ,docker)

dist-macos: ## Archives of query for macOS, on a Mac with Xcode's command line tools
	GOBIN=$(CURDIR)/build/tools go install $(GORELEASER)
	build/tools/goreleaser release --clean -f .goreleaser.macos.yaml $(SNAPSHOT) --skip=publish

clean: ## Remove what the targets above built
	rm -rf bin build dist dist-macos
