package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/http"
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
	"callhouse/internal/test"
)

// studio is a company whose recordings are on other hosts, and an archive.
type studio struct {
	*company
	host    *recordings.Host
	archive string

	mu       sync.Mutex
	requests map[string]int // by the path of a recording
	busy     int            // current and maximum number of connections
	most     int
	headers  []http.Header
	heard    func() // is called for each request; nil: nothing is
}

// record starts a company with a host of recordings. It records all headers: no host except the
// service may receive the key.
func record(t *testing.T, opts sandbox.Options, foundIt func(*testing.T, sandbox.Options) *company) *studio {
	t.Helper()
	s := &studio{archive: filepath.Join(t.TempDir(), "recordings"), requests: map[string]int{}}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	opts.Recordings = "http://" + l.Addr().String()
	s.company = foundIt(t, opts)
	clock := func() time.Time { return s.service.Server.Now() }
	s.host = &recordings.Host{World: s.service.Server.World(), Now: clock}
	server := &http.Server{Handler: s.watch(s.host), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		for _, h := range s.headers {
			for name, values := range h {
				if strings.Contains(strings.Join(values, " "), testKey) || name == "Authorization" || name == "Referer" || name == "Cookie" {
					t.Errorf("the host of recordings received %s: %s", name, values)
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
		if s.heard != nil {
			s.heard()
		}
		next.ServeHTTP(w, r)
	})
}

// requested returns the number of requests for recordings.
func (s *studio) requested() (n int) {
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
	r.exits(s.t, cli.ExitOK)
	return r
}

// expected returns the calls whose recordings must be archived, by id.
func (s *studio) expected() map[string]*world.View {
	out := map[string]*world.View{}
	for v := range s.service.Server.World().Visible(s.clock.Now()) {
		if v.Recording && v.EndAt > 0 && v.EndAt <= s.clock.Now().UnixMilli() {
			out[v.ID.String()] = new(*v) // v's memory is reused
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
	s.extract(s.t.Context(), "verify").exits(s.t, cli.ExitOK)
}

// The first night stores all recordings, along with the transcripts. The second fetches only those
// of new calls, and a night without new calls none.
func TestRecordings(t *testing.T) {
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 60, Days: 1}}, found)
	r := s.mustNight()
	want := s.expected()
	got := s.counts("SELECT call_id AS key, 1 AS n FROM recordings WHERE state = 'stored'")
	for id := range want {
		if got[id] != 1 {
			t.Errorf("the recording of %s is not stored", id)
		}
	}
	if len(got) != len(want) || len(want) < 20 || s.requested() != len(want) || s.most > 4 {
		t.Errorf("%d recordings of %d are stored after %d requests, at most %d at once\n%s", len(got), len(want), s.requested(), s.most, r.stderr)
	}
	if line := fmt.Sprintf("recordings   %d stored (", len(want)); !strings.Contains(r.stderr, line) || strings.Contains(r.stderr, "new links") {
		t.Errorf("the report lacks %q:\n%s", line, r.stderr)
	}
	s.sameAsTable()
	off := s.one("SELECT count(*) FROM recordings r JOIN calls c USING (call_id) WHERE r.format <> 'mp3'" +
		" OR r.reason IS NOT NULL OR r.path <> strftime(c.start_at, '%Y/%m/%d/') || r.call_id || '.mp3'")
	if n := number(t, off); n != 0 {
		t.Errorf("%d rows do not describe their recordings", n)
	}
	sameAsTruth(t, s.company)
	before := s.requested()
	s.mustNight()
	if s.requested() != before {
		t.Errorf("the second night sent %d requests for recordings", s.requested()-before)
	}
	s.clock.Advance(24 * time.Hour)
	s.mustNight()
	if n := len(s.expected()); s.requested() != n || len(s.files()) != n {
		t.Errorf("after a day there are %d files after %d requests, want %d", len(s.files()), s.requested(), n)
	}
	s.sameAsTable()
	if due := s.one("SELECT recordings_due FROM runs ORDER BY run_id DESC LIMIT 1"); number(t, due) != 0 {
		t.Errorf("%v are due", due)
	}
}
