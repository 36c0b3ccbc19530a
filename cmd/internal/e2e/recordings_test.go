package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/recordings"
	"callhouse/internal/sandbox/world"
)

// studio is a company whose recordings are on other hosts, and an archive.
type studio struct {
	*company
	host    *recordings.Host
	archive string

	mu       sync.Mutex
	requests map[string]int // by the path of a recording
	again    map[string]int // of these, whole downloads after the first
	busy     int            // connections now, and at the most
	most     int
	headers  []http.Header
}

// record starts a company with hosts of recordings. They record all headers: no host but the service
// may see the key.
func record(t *testing.T, opts sandbox.Options, faults recordings.Faults, foundIt func(*testing.T, sandbox.Options) *company) *studio {
	t.Helper()
	s := &studio{archive: filepath.Join(t.TempDir(), "recordings"), requests: map[string]int{}, again: map[string]int{}}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts.Recordings = "http://" + l.Addr().String()
	s.company = foundIt(t, opts)
	clock := func() time.Time { return s.service.Server.Now() }
	s.host = &recordings.Host{World: s.service.Server.World(), Now: clock, Faults: faults}
	third := httptest.NewServer(s.watch(&recordings.Host{World: s.service.Server.World(), Now: clock}))
	s.host.Third = third.URL
	server := &http.Server{Handler: s.watch(s.host), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		third.Close()
		for _, h := range s.headers {
			for name, values := range h {
				if strings.Contains(strings.Join(values, " "), testKey) || name == "Authorization" || name == "Referer" || name == "Cookie" {
					t.Errorf("a host of recordings received %s: %s", name, values)
				}
			}
		}
	})
	return s
}

func (s *studio) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.requests[r.URL.Path]++
		s.busy++
		s.most = max(s.most, s.busy)
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.busy--
			s.mu.Unlock()
		}()
		next.ServeHTTP(w, r)
	})
}

// asked returns the number of requests for recordings.
func (s *studio) asked() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.requests {
		n += of
	}
	return n
}

// night runs extract with the archive.
func (s *studio) night(args ...string) result {
	s.t.Helper()
	return s.extract(s.t.Context(), append(withRun(args), "--recordings", s.archive, "--recordings-private")...)
}

func (s *studio) mustNight(args ...string) result {
	s.t.Helper()
	r := s.night(args...)
	if r.code != cli.ExitOK {
		s.t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	return r
}

// expected are the calls whose recordings are to be archived, by their id.
func (s *studio) expected() map[string]*world.View {
	out := map[string]*world.View{}
	for v := range s.service.Server.World().Visible(s.clock.Now()) {
		if v.Recording && v.EndAt > 0 && v.EndAt <= s.clock.Now().UnixMilli() {
			out[v.ID.String()] = v
		}
	}
	return out
}

// files returns the checksums of the archive's files, by their paths.
func (s *studio) files() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(s.archive), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(s.archive, path))
		sum := sha256.Sum256(raw)
		out[path] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return out
}

// sameAsTable compares the files with the table recordings.
func (s *studio) sameAsTable() {
	s.t.Helper()
	files := s.files()
	rows := s.sql("SELECT path, sha256 FROM recordings WHERE state = 'stored'")
	for _, row := range rows {
		if path, _ := row["path"].(string); files[path] != row["sha256"] {
			s.t.Errorf("%s: the table has %v, the file %q", path, row["sha256"], files[path])
		}
	}
	if len(files) != len(rows) {
		s.t.Errorf("%d files, but %d rows", len(files), len(rows))
	}
	if r := s.extract(s.t.Context(), "verify"); r.code != cli.ExitOK {
		s.t.Errorf("verify: %s%s", r.stdout, r.stderr)
	}
}

// All recordings are stored in the first night, beside the transcripts; the second fetches those of
// new calls only, and a night without new calls none.
func TestRecordings(t *testing.T) {
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 120, Days: 3}}, nil, found)
	r := s.mustNight()
	want := s.expected()
	got := s.counts("SELECT call_id AS key, 1 AS n FROM recordings WHERE state = 'stored'")
	for id := range want {
		if got[id] != 1 {
			t.Errorf("the recording of %s is not stored", id)
		}
	}
	if len(got) != len(want) || len(want) < 20 || s.asked() != len(want) || s.most > 4 {
		t.Errorf("%d recordings of %d are stored after %d requests, at most %d at once\n%s", len(got), len(want), s.asked(), s.most, r.stderr)
	}
	if line := fmt.Sprintf("recordings   %d stored (", len(want)); !strings.Contains(r.stderr, line) || strings.Contains(r.stderr, "new links") {
		t.Errorf("the report lacks %q:\n%s", line, r.stderr)
	}
	s.sameAsTable()
	off := s.one("SELECT count(*) FROM recordings r JOIN calls c USING (call_id) WHERE r.channels IS NULL OR r.format <> 'mp3'" +
		" OR abs(r.duration_ms - c.duration_ms) > 100 OR r.path <> strftime(c.start_at, '%Y/%m/%d/') || r.call_id || '.mp3'")
	if n := number(t, off); n != 0 {
		t.Errorf("%d rows do not describe their recordings", n)
	}
	sameAsTruth(t, s.company)
	before := s.asked()
	s.mustNight()
	if s.asked() != before {
		t.Errorf("the second night sent %d requests for recordings", s.asked()-before)
	}
	s.clock.Advance(24 * time.Hour)
	s.mustNight()
	if n := len(s.expected()); s.asked() != n || len(s.files()) != n {
		t.Errorf("after a day there are %d files after %d requests, want %d", len(s.files()), s.asked(), n)
	}
	s.sameAsTable()
	if due := s.one("SELECT recordings_due FROM runs ORDER BY run_id DESC LIMIT 1"); number(t, due) != 0 {
		t.Errorf("%v are due", due)
	}
}

// A link that has expired costs one record request, which plan counts. Calls that are listed again,
// and those whose record was just fetched, come with new links.
func TestExpiredLinks(t *testing.T) {
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 22, Calls: 90, Days: 10}}, nil, found)
	s.mustExtract()
	s.clock.Advance(5 * time.Hour) // links work for two hours at the most
	s.mustExtract("--window", "1d")
	want := s.expected()
	plan := s.night("plan", "--format", "json")
	before := s.service.Server.Stats().Requests
	r := s.mustNight("recordings")
	spent := s.service.Server.Stats().Requests - before
	if len(s.files()) != len(want) || spent == 0 || spent > int64(len(want)) {
		t.Errorf("%d of %d recordings are stored after %d requests to the service\n%s", len(s.files()), len(want), spent, r.stderr)
	}
	if !strings.Contains(r.stderr, fmt.Sprintf("%d new links requested", spent)) {
		t.Errorf("%d requests, but: %s", spent, r.stderr)
	}
	t.Log(plan.stdout)
	s.sameAsTable()
	sameAsTruth(t, s.company)
}

var _ = context.Background
