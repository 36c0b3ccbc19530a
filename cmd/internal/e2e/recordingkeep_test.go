package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/publish/s3test"
	"callhouse/internal/recording"
	"callhouse/internal/sandbox"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// storedPaths returns the paths of stored recordings by call.
func (s *studio) storedPaths() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, row := range s.sql("SELECT call_id, path FROM recordings WHERE state = 'stored' ORDER BY call_id") {
		out[fmt.Sprint(row["call_id"])] = fmt.Sprint(row["path"])
	}
	return out
}

func (s *studio) has(path string) bool {
	s.t.Helper()
	a, err := recording.Open(recording.Config{To: s.archive})
	test.OK(s.t, err)
	defer a.Close()
	sizes, err := a.Sizes(s.t.Context(), filepath.Dir(path))
	test.OK(s.t, err)
	_, ok := sizes[path]
	return ok
}

// verify reports missing and changed recordings, repair fetches them again, and forget deletes them:
// in a folder, and in a bucket of a real server.
func TestRecordingsFollowTheWarehouse(t *testing.T) {
	for _, where := range []string{"folder", "s3"} {
		t.Run(where, func(t *testing.T) {
			s := record(t, sandbox.Options{World: sandbox.Config{Seed: 23, Calls: 60, Days: 2}}, nil, found)
			if where == "s3" {
				program := os.Getenv("CALLHOUSE_VERSITYGW")
				if program == "" {
					t.Skip("CALLHOUSE_VERSITYGW names no S3 server")
				}
				s3test.Start(t, program, "audio")
				s.archive = "s3://audio/calls"
			}
			s.mustNight()
			paths := s.storedPaths()
			if len(paths) < 10 {
				t.Fatalf("only %d recordings are stored", len(paths))
			}
			var ids []string
			for id := range paths {
				ids = append(ids, id)
			}
			s.readsParts(paths[ids[0]])
			card := s.query("call", ids[0])
			if want := strings.TrimSuffix(s.archive, "/") + "/" + paths[ids[0]]; !strings.Contains(card.stdout, "recording ") || !strings.Contains(card.stdout, want) {
				t.Errorf("query call does not say %s:\n%.700s", want, card.stdout)
			}
			if where == "folder" {
				s.mendsFiles(paths[ids[3]], paths[ids[4]], paths[ids[5]])
			}
			s.extract(t.Context(), "verify").prints(t, cli.ExitOK, fmt.Sprintf("compared by length: %d (", len(paths)))
			r := s.extract(t.Context(), "forget", "--yes", "--call-id", ids[0], "--call-id", ids[1])
			r.reports(t, cli.ExitOK, "deleted 2 recordings")
			var receipt sink.Receipt
			if err := json.Unmarshal([]byte(r.stdout), &receipt); err != nil || receipt.Recordings == nil || receipt.Recordings.Files != 2 || receipt.Recordings.Bytes == 0 {
				t.Errorf("the receipt is %s (%v)", r.stdout, err)
			}
			for i, id := range ids {
				if s.has(paths[id]) == (i < 2) {
					t.Errorf("call %d: a file is there: %v", i, i < 2)
				}
			}
			before := s.requested()
			s.mustNight("--full")
			if s.requested() != before {
				t.Errorf("%d requests for recordings after forget", s.requested()-before)
			}
			s.extract(t.Context(), "verify").exits(t, cli.ExitOK)
		})
	}
}

// readsParts reads a file from the middle, as a player does, and a missing one.
func (s *studio) readsParts(path string) {
	s.t.Helper()
	a, err := recording.Open(recording.Config{To: s.archive})
	test.OK(s.t, err)
	defer a.Close()
	f, err := a.Open(s.t.Context(), path)
	test.OK(s.t, err)
	defer f.Close()
	whole, err := io.ReadAll(f)
	size, serr := f.Seek(0, io.SeekEnd)
	_, aerr := f.Seek(size/2, io.SeekStart)
	half, herr := io.ReadAll(f)
	if err := errors.Join(err, serr, aerr, herr); err != nil || size != int64(len(whole)) || !bytes.Equal(half, whole[size/2:]) || size < 1000 {
		s.t.Errorf("%s: %d bytes, the second half has %d: %v", path, size, len(half), err)
	}
	none, err := a.Open(s.t.Context(), "2026/01/01/none.mp3")
	if err == nil {
		_, err = none.Seek(0, io.SeekEnd)
		_ = none.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("a missing file: %v", err)
	}
}

// mendsFiles damages three files, and checks that they are found and fetched again.
func (s *studio) mendsFiles(missing, cut, changed string) {
	s.t.Helper()
	at := func(path string) string { return filepath.Join(s.archive, path) }
	raw := test.Read(s.t, at(changed))
	raw[len(raw)/2] ^= 1
	for _, err := range []error{os.Remove(at(missing)), os.Truncate(at(cut), 100), os.WriteFile(at(changed), raw, 0o600)} {
		test.OK(s.t, err)
	}
	s.extract(s.t.Context(), "verify").prints(s.t, cli.ExitFailed, missing+": the recording of call", "has 100 bytes, not ", "2 missing or changed")
	s.extract(s.t.Context(), "verify", "--deep").prints(s.t, cli.ExitFailed, changed+": ", "3 missing or changed")
	s.night("repair", "--dry-run").prints(s.t, cli.ExitOK, "2 missing or changed")
	s.night("repair", "--deep").exits(s.t, cli.ExitOK)
	s.extract(s.t.Context(), "verify", "--deep").prints(s.t, cli.ExitOK, "compared by content")
}

// Retention deletes recordings with or without their calls, but not many at once without --yes. A
// run whose archive is missing reports that, and the next one tries again.
func TestKeepRecordings(t *testing.T) {
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 24, Calls: 60, Days: 12}}, nil, found)
	s.mustNight()
	all, calls := len(s.storedPaths()), number(t, s.one("SELECT count(*) FROM calls"))
	r := s.night("--keep-recordings", "7d")
	if r.code != cli.ExitIncomplete || !strings.Contains(r.stderr, "recordings at once; nothing was deleted") || len(s.files()) != all {
		t.Fatalf("without --yes: %d, %d files of %d\n%s", r.code, len(s.files()), all, r.stderr)
	}
	gone := s.archive + ".gone"
	test.OK(t, os.Rename(s.archive, gone))
	if r = s.night("--keep-recordings", "7d", "--yes"); r.code != cli.ExitIncomplete || !strings.Contains(r.stderr, "could not be deleted: the archive of recordings") {
		t.Errorf("without an archive: %d\n%s", r.code, r.stderr)
	}
	_ = os.RemoveAll(s.archive)
	test.OK(t, os.Rename(gone, s.archive))
	before := s.requested()
	s.mustNight("--keep-recordings", "7d", "--yes")
	paths := s.storedPaths()
	if len(paths) == 0 || len(paths) >= all || len(s.files()) != len(paths) || number(t, s.one("SELECT count(*) FROM calls")) != calls {
		t.Errorf("%d of %d recordings, %d files, and %v calls of %v", len(paths), all, len(s.files()), s.one("SELECT count(*) FROM calls"), calls)
	}
	limit := s.clock.Now().Add(-7 * 24 * time.Hour).Truncate(24 * time.Hour).Format(time.DateTime)
	if n := number(t, s.one("SELECT count(*) FROM recordings JOIN calls USING (call_id) WHERE (start_at < TIMESTAMP '"+limit+"') <> (state = 'withheld' AND path IS NULL AND reason = 'older than --keep-recordings 7d')")); n != 0 {
		t.Errorf("%d recordings are kept or deleted wrongly", n)
	}
	s.sameAsTable()
	if s.mustNight("--keep-recordings", "7d"); s.requested() != before {
		t.Errorf("%d requests for deleted recordings", s.requested()-before)
	}
	s.clock.Advance(24 * time.Hour)
	if r = s.night("recordings", "--keep-recordings", "7d", "--yes"); r.code != cli.ExitOK || len(s.storedPaths()) >= len(paths) || len(s.files()) != len(s.storedPaths()) {
		t.Errorf("extract recordings: %d, %d files and %d rows of %d\n%s", r.code, len(s.files()), len(s.storedPaths()), len(paths), r.stderr)
	}
	s.clock.Advance(24 * time.Hour)
	s.mustNight("--keep", "7d", "--yes")
	if n := number(t, s.one("SELECT count(*) FROM calls")); n >= calls || len(s.files()) != len(s.storedPaths()) {
		t.Errorf("--keep leaves %d calls of %d, %d files and %d rows", n, calls, len(s.files()), len(s.storedPaths()))
	}
	if _, err := os.Stat(filepath.Join(s.warehouse, layout.DeletionsName)); !os.IsNotExist(err) {
		t.Error(err)
	}
	s.sameAsTable()
}

// A bucket has the recordings, each sent once. If it refuses requests, or is down, the files of
// forgotten calls and those past retention remain. They stay recorded, status reports them, and a
// later command deletes them.
func TestRecordingsInS3(t *testing.T) {
	backend := s3mem.New()
	test.OK(t, backend.CreateBucket("audio"))
	fake := gofakes3.New(backend).Server()
	var failing, puts atomic.Int64 // a status, or -1 for no answer; and requests
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			puts.Add(1)
		}
		switch status := int(failing.Load()); status {
		case 0:
			fake.ServeHTTP(w, r)
		case -1:
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(status)
		}
	}))
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "2"} {
		t.Setenv(name, value)
	}
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 60, Days: 9}}, nil, found)
	s.archive = "s3://audio/calls"
	s.mustNight()
	paths := s.storedPaths()
	objects := func() int {
		t.Helper()
		list, err := backend.ListBucket("audio", nil, gofakes3.ListBucketPage{})
		test.OK(t, err)
		return len(list.Contents)
	}
	if objects() != len(paths) || len(paths) < 10 || len(paths) != len(s.expected()) || puts.Load() != int64(len(paths)) {
		t.Fatalf("%d objects, sent %d times, %d rows", objects(), puts.Load(), len(paths))
	}
	for _, row := range s.sql("SELECT path, bytes, sha256 FROM recordings") {
		o, err := backend.GetObject("audio", "calls/"+row["path"].(string), nil)
		test.OK(t, err)
		raw, err := io.ReadAll(o.Contents)
		if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != row["sha256"] || number(t, row["bytes"]) != int64(len(raw)) {
			t.Errorf("%v: %v", row, err)
		}
	}
	var id string
	for id = range paths {
		break
	}
	failing.Store(http.StatusForbidden)
	s.extract(t.Context(), "forget", "--yes", "--call-id", id).reports(t, cli.ExitIncomplete, "1 recording could not be deleted: ")
	s.extract(t.Context(), "status").prints(t, cli.ExitIncomplete, "1 recording of forgotten calls still to be deleted", ", 1 still to be deleted")
	failing.Store(-1)
	s.night("recordings", "--keep-recordings", "7d", "--yes").reports(t, cli.ExitIncomplete, "recordings could not be deleted: ")
	left := number(t, s.one("SELECT count(*) FROM recordings WHERE state = 'withheld' AND path IS NOT NULL"))
	if left == 0 || objects() != len(paths) || number(t, s.one("SELECT count(*) FROM recordings WHERE state = 'stored'"))+left+1 != int64(len(paths)) {
		t.Errorf("%d are left of %d, and %d objects", left, len(paths), objects())
	}
	failing.Store(http.StatusForbidden)
	metrics := filepath.Join(t.TempDir(), "callhouse.prom")
	s.night("--keep-recordings", "7d", "--metrics-file", metrics).exits(t, cli.ExitIncomplete)
	if raw, err := os.ReadFile(metrics); err != nil || !strings.Contains(string(raw), fmt.Sprintf("callhouse_recordings_undeleted %d\n", left+1)) {
		t.Errorf("%v\n%s", err, raw)
	}
	failing.Store(0)
	// extract follow retries without a run: none is due before the next night.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- s.extract(ctx, "follow", "--follow-every", "1s..1s", "--recordings", s.archive, "--recordings-private", "--keep-recordings", "7d", "--quiet")
	}()
	runs := number(t, s.one("SELECT count(*) FROM runs WHERE outcome IN ('done', 'incomplete')"))
	for n := 0; objects() != len(s.storedPaths()) && n < 200; n++ {
		s.clock.Advance(2 * time.Minute)
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	(<-ended).exits(t, cli.ExitOK)
	if n := number(t, s.one("SELECT count(*) FROM runs WHERE outcome IN ('done', 'incomplete')")); n != runs {
		t.Errorf("%d runs under follow", n-runs)
	}
	if objects() != len(s.storedPaths()) || objects() >= len(paths) {
		t.Errorf("%d objects, %d rows", objects(), len(s.storedPaths()))
	}
	s.mustNight("--keep-recordings", "7d")
	if r := s.extract(t.Context(), "status"); r.code != cli.ExitOK || strings.Contains(r.stdout, "to be deleted") {
		t.Errorf("status: %d %s", r.code, r.stdout)
	}
}

// A run uses no archive other than the one with the recordings until their files have been moved.
// status shows verify's findings.
func TestRecordingsMove(t *testing.T) {
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 32, Calls: 60, Days: 9}}, nil, found)
	s.mustNight()
	was, n := s.archive, len(s.files())
	s.archive = was + "-new"
	where := fmt.Sprintf("recordings names %s, but the files of %d recordings are in %s", s.archive, n, was)
	s.night().reports(t, cli.ExitUsage, where, "move the files there")
	test.OK(t, os.Rename(was, s.archive))
	// Files that forget could not delete at the old address, and those past retention, are deleted
	// at the new one.
	for id := range s.storedPaths() {
		s.extract(t.Context(), "forget", "--yes", "--call-id", id).exits(t, cli.ExitIncomplete)
		break
	}
	if r := s.extract(t.Context(), "status"); !strings.Contains(r.stdout, "1 recording of forgotten calls still to be deleted") ||
		!strings.Contains(r.stdout, ", 1 still to be deleted") {
		t.Errorf("status: %d %s", r.code, r.stdout)
	}
	s.mustNight("--keep-recordings", "7d", "--yes")
	if got := len(s.files()); got >= n-1 || got == 0 {
		t.Errorf("%d files of %d are left", got, n)
	}
	n = len(s.files())
	s.sameAsTable()
	r := s.extract(t.Context(), "verify")
	r.prints(t, cli.ExitOK, fmt.Sprintf("recordings in %s, compared by length: %d ", s.archive, n))
	s.extract(t.Context(), "status").prints(t, cli.ExitOK, "; verified by length 0s ago: 0 missing or changed")
	for path := range s.files() {
		test.OK(t, os.Remove(filepath.Join(s.archive, path)))
		break
	}
	if r = s.extract(t.Context(), "verify"); r.code != cli.ExitFailed {
		t.Errorf("verify: %d %s", r.code, r.stdout)
	}
	s.extract(t.Context(), "status").prints(t, cli.ExitFailed, "damaged: extract verify found 1 recording missing or changed")
	s.night("repair").exits(t, cli.ExitOK)
	s.extract(t.Context(), "status").exits(t, cli.ExitOK)
	s.sameAsTable()
}
