package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// A flipped bit in a killed run's journal: the next run reports it, lists and fetches the lost data again, and
// ends complete. It does not trust the journal's coverage: the lost calls were on those pages.
func TestBrokenJournalIsFetchedAgain(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 40, Days: 2}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.service.URL+"/v3/calls?limit=100", nil)
	test.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+testKey)
	res, err := http.DefaultClient.Do(req)
	test.OK(t, err)
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := errors.Join(json.NewDecoder(res.Body).Decode(&page), res.Body.Close()); err != nil || len(page.Items) == 0 {
		t.Fatal(err, len(page.Items))
	}
	now := c.clock.Now()
	w, err := sink.Open(sink.Options{Root: c.warehouse, RunID: layout.RunID(now.Add(-time.Hour), 1), Now: c.clock.Now})
	test.OK(t, err)
	put := func(r schema.Record) {
		t.Helper()
		if r.FetchedAt = now.UnixMilli(); err == nil {
			err = w.Put(t.Context(), r)
		}
	}
	for _, item := range page.Items {
		var id struct {
			ID string `json:"id"`
		}
		err = errors.Join(err, json.Unmarshal(item, &id))
		put(schema.Record{Kind: schema.KindItem, CallID: id.ID, Body: item})
	}
	put(schema.Record{Kind: schema.KindCovered, Body: fmt.Appendf(nil, `{"from":0,"to":%d,"listed_at":%d}`, now.UnixMilli(), now.UnixMilli())})
	test.OK(t, errors.Join(err, w.Close()))
	segments, err := filepath.Glob(filepath.Join(c.warehouse, "journal/*/*.zst"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	raw := test.Read(t, segments[0])
	raw[len(raw)/2] ^= 0x10
	test.OK(t, os.WriteFile(segments[0], raw, 0o600))
	r := c.mustExtract("--quiet")
	if !strings.Contains(r.stderr, "is damaged from byte") || !strings.Contains(r.stderr, "fetched again") {
		t.Errorf("the run did not say what was damaged:\n%s", r.stderr)
	}
	sameAsTruth(t, c)
	if r := c.mustExtract("--quiet"); r.stderr != "" {
		t.Errorf("the next run says:\n%s", r.stderr)
	}
}

// estate is a warehouse with every kind of file, and copies of it to damage.
type estate struct {
	*company
	template string
	callID   string
	dump     string // a file for import
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	// Its last night is an hour ago, since query check requires recent data by this machine's clock.
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

// After each kind of failure, status begins with the problem, and its second line is the hint.
func TestStatusNamesTheProblem(t *testing.T) {
	longtest.Only(t) // it waits until services that do not answer are given up
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 3}})
	c.mustExtract()
	wrongKey := filepath.Join(t.TempDir(), "key")
	test.OK(t, os.WriteFile(wrongKey, []byte("another-key\n"), 0o600))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", c.clock.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte("<html>hello</html>"))
	}))
	defer elsewhere.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	for _, f := range []struct{ problem, help, flag, value string }{
		{"API key rejected", "correct the API key", "--api-key-file", wrongKey},
		{"wrong address", "set --base-url", "--base-url", elsewhere.URL},
		{"certificate not trusted", "check the service's certificate", "--base-url", stranger.URL},
		{"unreachable", "check --base-url (CALLHOUSE_BASE_URL) and the network", "--base-url", gone.URL},
		{"incomplete", "extract run --", "--max-duration", "1ns"},
	} {
		c.clock.Advance(time.Hour)
		failed := c.extract(t.Context(), "run", f.flag, f.value)
		r := c.extract(t.Context(), "status")
		lines := strings.Split(r.stdout, "\n")
		if failed.code == cli.ExitOK || r.code != cli.ExitIncomplete || !strings.HasPrefix(lines[0], f.problem+": ") ||
			!strings.HasPrefix(lines[1], "  help          "+f.help) {
			t.Errorf("%s: the run ended with %d, and status with %d:\n%s\n%s", f.problem, failed.code, r.code, r.stdout, failed.stderr)
		}
		if got := c.one("SELECT problem FROM runs ORDER BY started_at DESC LIMIT 1"); got != f.problem {
			t.Errorf("the row of the run says %v, want %s", got, f.problem)
		}
	}
	c.mustExtract()
	if r := c.extract(t.Context(), "status"); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "OK: ") {
		t.Errorf("after a good run: %+v", r)
	}
}
