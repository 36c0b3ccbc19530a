#!/usr/bin/env bash
# The sandbox and its OpenAPI documents: every answer in the tests of whole runs is validated against
# them, schemathesis requests all that they describe (EXAMPLES of each kind, 30), and oapi-codegen
# and openapi-python-client make clients that two programs use.
. "$(dirname "$0")/common.sh"

go test -tags judged ./internal/sandbox ./cmd/internal/e2e -count=1 -timeout 30m
venv contract "schemathesis==$SCHEMATHESIS"
go test ./internal/sandbox -run TestSchemathesis -count=1 -v -timeout 60m \
	-args -schemathesis "$root/build/contract/bin/schemathesis" -examples "${EXAMPLES:-30}"

venv clients "openapi-python-client==$PYTHON_CLIENT" ruff
CGO_ENABLED=0 go build -o build/clients/sandbox ./cmd/sandbox
GOBIN=$root/build/clients go install "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$OAPI_CODEGEN"
go test ./internal/sandbox -run TestGeneratedClients -count=1 -v -timeout 30m -args -clients "$root/build/clients"
