# Everything that a developer of callhouse does has a target here: make help.
SHELL := /bin/bash
GOLANGCI_LINT_VERSION := v2.15.0
LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
FUZZTIME ?= 1m

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build all commands into bin/
	mkdir -p bin
	go build -o bin/ ./cmd/...

.PHONY: test
test: ## Run the quick tests (what the README's second command runs)
	go test ./...

.PHONY: race
race: ## Run the quick tests under the race detector
	go test -race ./...

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: ## golangci-lint, with the rules on which package may import which
	$(LINT) run --allow-parallel-runners ./...

.PHONY: fmt
fmt: ## Format the code
	gofmt -w cmd internal sql

.PHONY: demo
demo: ## Sandbox, extract and three reports in one command
	go run ./cmd/demo

.PHONY: bench
bench: ## Go benchmarks of all packages
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: golden
golden: ## Rewrite the golden files from what the code does now; read the diff before you commit it
	go test ./... -args -update

.PHONY: clean
clean: ## Remove what the targets above built
	rm -rf bin dist
