#!/usr/bin/env bash
# A headless browser opens the morning page: no request, no text over another; then it clicks through
# the live page, with axe. BROWSER names it (chromium), PICTURES a folder for screenshots, WAREHOUSE
# a warehouse to show.
. "$(dirname "$0")/common.sh"

browser=$(command -v "${BROWSER:-chromium}") || { echo "no ${BROWSER:-chromium}: name a browser with BROWSER" >&2; exit 1; }
go test ./internal/analytics/page -run TestInABrowser -count=1 -v -timeout 20m -args -browser "$browser"
npm install --silent --prefix build/look puppeteer-core axe-core
CALLHOUSE_NODE_MODULES=$root/build/look go test ./cmd/internal/querycmd -run TestClickThrough -count=1 -v -timeout 10m \
	-args -browser "$browser" ${PICTURES:+-pictures "$PICTURES"} ${WAREHOUSE:+-web-root "$WAREHOUSE"}
