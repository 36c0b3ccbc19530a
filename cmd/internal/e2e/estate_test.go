package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// estate is a warehouse with every kind of file, and copies of it to damage.
type estate struct {
	*company
	template string
	callID   string
	dump     string // a file for import
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	// Its last night is an hour ago, since query check requires recent data by this machine's
	// clock.
	begin := time.Now().Add(-4*26*time.Hour - time.Hour).Truncate(time.Millisecond)
	e := &estate{company: foundAt(t, begin, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 90, Days: 50}})}
	for range 3 {
		e.mustExtract("--mask=to_number")
		e.clock.Advance(26 * time.Hour)
	}
	ids := e.sql("SELECT call_id FROM calls WHERE turn_count > 2 ORDER BY start_at LIMIT 2")
	e.callID = ids[1]["call_id"].(string)
	e.run("forget", "--yes", "--call-id", ids[0]["call_id"].(string)).exits(t, cli.ExitOK)
	e.clock.Advance(26 * time.Hour)
	e.mustExtract()
	e.query("catalog", "--output", filepath.Join(t.TempDir(), "calls.duckdb")).exits(t, cli.ExitOK)
	e.leaveJournal()
	e.dump = filepath.Join(t.TempDir(), "dump.ndjson")
	test.OK(t, os.WriteFile(e.dump, []byte(`{"id":"imported","status":"ended","start_at":1790000000000}`+"\n"), 0o600))
	e.template = e.warehouse + ".template"
	copyTree(t, e.warehouse, e.template)
	return e
}

// leaveJournal leaves two uncommitted segments, like a killed run.
func (e *estate) leaveJournal() {
	e.t.Helper()
	now := e.clock.Now()
	w, err := sink.Open(sink.Options{Root: e.warehouse, RunID: layout.RunID(now, 7), Now: e.clock.Now})
	test.OK(e.t, err)
	for i := range 6 {
		id := fmt.Sprintf("left-%d", i)
		body := fmt.Sprintf(`{"id":%q,"status":"ended","start_at":%d,"end_at":%d}`, id, now.UnixMilli(), now.UnixMilli())
		test.OK(e.t, w.Put(context.Background(), schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(), Body: []byte(body)}))
	}
	test.OK(e.t, w.Close())
}

// copyTree copies a folder with its hard links.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	test.OK(t, os.RemoveAll(to))
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}

// run runs extract with the estate's clock against its service.
func (e *estate) run(args ...string) result {
	e.t.Helper()
	return e.extract(e.t.Context(), args...)
}
