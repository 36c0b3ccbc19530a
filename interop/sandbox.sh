#!/usr/bin/env bash
# The sandbox and its OpenAPI documents: schemathesis requests all that they describe (EXAMPLES of
# each kind, 30), and validates the answers.
. "$(dirname "$0")/common.sh"

venv contract "schemathesis==$SCHEMATHESIS"
go test ./internal/sandbox -run TestSchemathesis -count=1 -v -timeout 60m \
	-args -schemathesis "$root/build/contract/bin/schemathesis" -examples "${EXAMPLES:-30}"
