package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
)

// Calls with impossible times are stored. Items that are not calls are in the report, in the table
// runs and in the exit code, and the items after them are stored.
func TestListWithBadItems(t *testing.T) {
	now := time.Now().UnixMilli()
	call := func(id string, start any) string {
		return fmt.Sprintf(`{"id":%q,"status":"ended","start_at":%v,"end_at":%d,"call_analysis":{"summary":"s"},"call_cost":{"total_cost":"1.00"}}`,
			id, start, now)
	}
	items := []string{
		call("good-1", now-1000), call("minus", -1), call("zero", 0), call("huge", 1e18), call("null", "null"),
		`{"id":"deep","x":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`,
		`{"status":"ended"}`, `[]`, `17`, call("good-2", now-2000),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, ok := strings.CutPrefix(r.URL.Path, "/v3/calls/"); ok {
			for _, item := range append(items, call("behind", now-3000)) {
				if strings.HasPrefix(item, fmt.Sprintf(`{"id":%q`, id)) {
					fmt.Fprint(w, item[:len(item)-1], `,"transcript":[]}`)
				}
			}
			return
		}
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"items":[%s],"next_cursor":"2","total_count":11}`, strings.Join(items, ","))
			return
		}
		fmt.Fprintf(w, `{"items":[%s],"next_cursor":null,"total_count":11}`, call("behind", now-3000))
	}))
	defer s.Close()
	t.Setenv("CALLHOUSE_API_KEY", "k")
	c := &company{t: t, warehouse: filepath.Join(t.TempDir(), "w")}
	for range 2 {
		r := extract(t.Context(), "run", "--warehouse", c.warehouse, "--base-url", s.URL, "--requests-per-second", "100", "--requests-per-minute", "1000")
		if r.code != cli.ExitIncomplete || !strings.Contains(r.stderr, "set aside    4 calls") || !strings.Contains(r.stderr, "item 6 of page 1") ||
			strings.Contains(r.stderr, "base URL") {
			t.Errorf("exit code %d\n%s", r.code, r.stderr)
		}
	}
	if n := c.one("SELECT count(*) AS v FROM calls"); n != json.Number("7") {
		t.Errorf("%v calls are stored", n)
	}
	if n := c.one("SELECT count(*) AS v FROM calls WHERE call_id = 'minus' AND epoch_ms(start_at) = -1"); n != json.Number("1") {
		t.Error("a start of -1 is not as it was sent")
	}
	if n := c.one("SELECT min(calls_set_aside) AS v FROM runs"); n != json.Number("4") {
		t.Errorf("%v calls are set aside by the runs", n)
	}
	extract(t.Context(), "verify", "--all", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
}
