package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

var nightCalls = longtest.Int("night-calls", 1200, 20000, "calls known before the night of TestNightCostsTheMinimum")

// instant returns the instant, in milliseconds, of a statement.
func (c *company) instant(statement string) int64 {
	c.t.Helper()
	n, err := c.one(statement).(json.Number).Int64()
	test.OK(c.t, err)
	return n
}

// A night costs the pages of the last three days, and older ones with unsettled calls (failed calls
// never get an analysis, and are listed until they expire), and one detail for each call that ended
// since the night before and can have a transcript. Without new calls it costs only the pages.
func TestNightCostsTheMinimum(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	known := int64(*nightCalls)
	days := min(200, int(known/50)) // so that a night has one in two hundred calls, and some
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 7, Calls: known, Days: days}})
	c.mustExtract()
	before, evening := c.service.Server.Stats(), c.clock.Now()
	oldest := c.instant("SELECT epoch_ms(min(start_at)) FROM calls WHERE settlement IN ('open', 'ended')")

	c.clock.Advance(24 * time.Hour)
	now := c.clock.Now()
	from := min(oldest, now.Add(-72*time.Hour).UnixMilli())
	due, listed := int64(0), int64(0)
	for v := range c.service.Server.World().Visible(now) {
		if !v.Started || v.StartAt >= from {
			listed++
		} else {
			break // newest first
		}
		fresh := v.EndAt > evening.UnixMilli() || !v.Over
		talked := v.Status == "ended" || v.Status == "error" && v.EndAt > v.StartAt
		if v.Over && fresh && talked && !v.OptedOut {
			due++
		}
	}
	c.mustExtract()
	after := c.service.Server.Stats()
	minimum := (listed+99)/100 + due
	spent := after.Requests - before.Requests
	t.Logf("%d calls known; the night had %d requests (%d pages, %d details), the minimum is %d", known, spent,
		after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"], minimum)
	if spent > minimum+max(2, minimum/50) {
		t.Errorf("the night had %d requests, the minimum is %d", spent, minimum)
	}

	c.mustExtract()
	again := c.service.Server.Stats()
	if n := again.ByKind["detail"] - after.ByKind["detail"]; n != 0 {
		t.Errorf("a night with nothing new fetched %d details", n)
	}
	if n := again.ByKind["page"] - after.ByKind["page"]; n > (listed+99)/100+1 { // calls have expired since: no more pages than before
		t.Errorf("a night with nothing new listed %d pages, %d calls are in its window", n, listed)
	}
}

var (
	followDays  = flag.Int("follow-days", 0, "how many days of following TestDaysOfFollowing commits, a minute each")
	followCalls = flag.Int64("follow-calls", 4320, "calls of each of these days")
	followDir   = flag.String("follow-dir", "", "where its warehouse stays")
)

// TestDaysOfFollowing makes the commits of a process that follows the service for some days, one
// per minute, as fast as possible, and reports their cost. Each day ends with a run.
func TestDaysOfFollowing(t *testing.T) {
	if *followDays == 0 {
		t.Skip("-follow-days 0")
	}
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 9, Calls: 7 * *followCalls, Days: 7, Steady: true, Agents: 30}})
	if *followDir != "" {
		c.warehouse = *followDir
	}
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour))
	c.mustExtract("--resources", "none")
	for day := range *followDays {
		s := &following{company: c, seen: map[string]string{}, told: map[string]bool{}}
		s.day()
		t.Logf("day %d: %s", day+1, s.measure())
		c.mustExtract("--resources", "none", "--transcripts", "v3")
	}
}

// following is a day of commits.
type following struct {
	*company
	id      string
	w       *sink.Warehouse
	seen    map[string]string // the list item of a call
	told    map[string]bool   // its record is stored
	commits int
	written int64
	journal int64
	wall    time.Duration
	last    time.Duration // the last hundred commits
}

func (s *following) day() {
	t := s.t
	var err error
	s.id = layout.RunID(s.clock.Now(), 7)
	s.w, err = sink.Open(sink.Options{Root: s.warehouse, RunID: s.id, Now: s.clock.Now, Follow: &disk.Follow{}, Records: true})
	test.OK(t, err)
	for minute := range 1440 - 1 {
		s.clock.Advance(time.Minute)
		s.poll(minute == 0)
		begun := time.Now()
		test.OK(t, s.w.Commit(t.Context(), func(sink.Stats, int64) schema.Run {
			return schema.Run{ID: s.id, StartedAt: s.clock.Now().UnixMilli(), Outcome: schema.OutcomeFollowing}
		}))
		took := time.Since(begun)
		s.commits++
		s.wall += took
		if minute >= 1339 {
			s.last += took
		}
		for _, f := range s.w.Snapshot().Manifest.Files {
			path := filepath.Join(s.w.Snapshot().Dir, filepath.FromSlash(f.Path))
			if info, err := os.Lstat(path); err == nil && info.Sys().(*syscall.Stat_t).Nlink == 1 {
				s.written += info.Size()
			}
		}
	}
	test.OK(t, s.w.Close())
}

func (s *following) get(path string) []byte {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+testKey)
	w := httptest.NewRecorder()
	s.service.Server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func (s *following) poll(first bool) {
	var page struct{ Items []json.RawMessage }
	test.OK(s.t, json.Unmarshal(s.get("/v3/calls?limit=100"), &page))
	var recs []schema.Record
	now := s.clock.Now().UnixMilli()
	for _, raw := range page.Items {
		var item struct {
			ID     string
			EndAt  int64 `json:"end_at"`
			OptOut bool  `json:"opt_out_sensitive_data_storage"`
			Status string
		}
		test.OK(s.t, json.Unmarshal(raw, &item))
		if s.seen[item.ID] == string(raw) {
			continue
		}
		s.seen[item.ID] = string(raw)
		recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: item.ID, FetchedAt: now, Body: raw})
		if s.told[item.ID] = s.told[item.ID] || first; item.EndAt > 0 && item.Status == "ended" && !item.OptOut && !s.told[item.ID] {
			s.told[item.ID] = true
			recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: item.ID, FetchedAt: now, Body: s.get("/v3/calls/" + item.ID)})
		}
	}
	for _, r := range recs {
		s.journal += int64(len(r.Body))
	}
	if len(recs) > 0 {
		test.OK(s.t, s.w.Put(s.t.Context(), recs...))
	}
}

func (s *following) measure() string {
	var names, bytes int64
	seen := map[uint64]bool{}
	manifests := int64(0)
	_ = filepath.WalkDir(filepath.Join(s.warehouse, "snapshots"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		names++
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		if !seen[st.Ino] {
			seen[st.Ino] = true
			bytes += st.Blocks * 512
			if filepath.Base(path) == "manifest.json" {
				manifests += st.Blocks * 512
			}
		}
		return nil
	})
	kept, _ := os.ReadDir(filepath.Join(s.warehouse, "snapshots"))
	m := s.w.Snapshot().Manifest
	size := int64(0)
	for _, f := range m.Files {
		size += f.Bytes
	}
	return fmt.Sprintf("%d commits, %.0f ms each (the last hundred %.0f ms); %.1f MB written; %d snapshots kept, %d names, %.1f MB on the disk (%.1f MB manifests); the snapshot: %d files, %.1f MB",
		s.commits, 1000*s.wall.Seconds()/float64(s.commits), 10*s.last.Seconds(), float64(s.written)/1e6, len(kept), names, float64(bytes)/1e6, float64(manifests)/1e6,
		len(m.Files), float64(size)/1e6)
}

// shippedMemory is the memory limit of deploy/ and docs/reference/operations.md.
const shippedMemory = 512 << 20

// Calls of the maximum size, and a larger one, fit into the memory of a run and do not prevent
// other calls.
func TestGiantCallsFitIntoMemory(t *testing.T) {
	if *every > 1 {
		t.Skip("it builds the real program, and asks for its memory: make long")
	}
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "extract")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "callhouse/cmd/extract").CombinedOutput(); err != nil {
		t.Fatalf("build extract: %v\n%s", err, out)
	}
	many := func(part string, n int) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }
	giants := []string{
		`"transcript":[` + many(`{"role":"user","content":"hello there, this is a turn"}`, 99_000) + `]`,
		`"transcript":[{"role":"user","content":"` + strings.Repeat("x", 7<<20) + `"}]`,
		`"unknown":[` + many(`{"name":"a","value":1}`, 300_000) + `]`,
		`"transcript":[` + many(`{}`, 1_000_000) + `]`,                                                      // more parts than a call may have
		`"transcript":[` + many(`{"role":"user","content":"hello there, this is a turn"}`, 1_000_000) + `]`, // too large
		`"transcript":[{"role":"user","content":"hello"}]`,
	}
	now := time.Now().Add(-time.Hour).UnixMilli()
	call := func(i int) string {
		return fmt.Sprintf(`{"id":"call-%d","status":"ended","start_at":%d,"end_at":%d,"call_analysis":{"summary":"s"},"call_cost":{"total_cost":"1.00"}`,
			i, now-int64(i), now-int64(i)+1)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := 0; strings.HasPrefix(r.URL.Path, "/v3/calls/") {
			_, _ = fmt.Sscanf(r.URL.Path, "/v3/calls/call-%d", &i)
			fmt.Fprintf(w, "%s,%s}", call(i), giants[i%len(giants)])
			return
		}
		var items []string
		for i := range giants {
			items = append(items, call(i)+"}")
		}
		fmt.Fprintf(w, `{"items":[%s],"next_cursor":null,"total_count":%d}`, strings.Join(items, ","), len(items))
	}))
	defer s.Close()
	c := &company{t: t, warehouse: filepath.Join(t.TempDir(), "w")}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// The limit is on writable mappings. The peak resident set cannot be measured, because it
	// starts with that of the parent.
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -d %d; exec "$@"`, shippedMemory>>10), "sh", bin,
		"run", "--warehouse", c.warehouse, "--base-url", s.URL, "--requests-per-second", "100", "--requests-per-minute", "1000")
	cmd.Env = append(os.Environ(), "CALLHOUSE_API_KEY=k", "CALLHOUSE_CONFIG="+os.DevNull) // it would read this machine's configuration
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitIncomplete {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, why := range []string{"more than 100000 turns", "body over 8 MiB", "set aside    2 calls"} {
		if !strings.Contains(string(out), why) {
			t.Errorf("the run does not say %q:\n%s", why, out)
		}
	}
	if n := c.one("SELECT sum(turn_count) AS v FROM calls WHERE transcript_state = 'present'"); n != json.Number("99002") {
		t.Errorf("%v turns are stored", n)
	}
}
