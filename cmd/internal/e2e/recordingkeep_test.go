package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
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

// An archive from the first recording on: the command stores what is due; verify reports missing and
// changed files, and repair fetches them again; forget deletes; retention deletes with or without the
// calls, but not many at once without --yes, nor while the archive is away; nothing deleted is
// requested again; and another archive is used only once the files have been moved there.
func TestArchive(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 24, Calls: 40, Days: 9}}, found)
	s.night("recordings").reports(t, cli.ExitFailed, "no warehouse")
	s.mustExtract()
	s.extract(t.Context(), "recordings").reports(t, cli.ExitUsage, "--recordings")
	s.extract(t.Context(), "run", "--recordings", s.archive, "--mask", "recording_url").reports(t, cli.ExitUsage, "recording_url is masked")
	s.extract(t.Context(), "recordings", "--recordings", s.archive).reports(t, cli.ExitIncomplete,
		"the link to 127.0.0.1 does not use TLS; recordings_private would allow it")
	if s.requested() > 0 {
		t.Errorf("%d requests to private addresses", s.requested())
	}
	s.clock.Advance(24 * time.Hour)
	s.mustExtract()
	paths := s.storedPaths()
	if r := s.mustNight("recordings"); len(paths) > 0 || !strings.Contains(r.stderr, fmt.Sprintf("recordings: %d stored", len(s.files()))) {
		t.Errorf("%d files\n%s", len(s.files()), r.stderr)
	}
	paths = s.storedPaths()
	ids := slices.Sorted(maps.Keys(paths))
	if len(ids) < 20 || len(ids) != len(s.expected()) {
		t.Fatalf("%d recordings are stored of %d", len(ids), len(s.expected()))
	}

	s.readsParts(paths[ids[0]])
	s.query("call", ids[0]).prints(t, cli.ExitOK, "recording ", s.archive+"/"+paths[ids[0]])
	s.mendsFiles(paths[ids[3]], paths[ids[4]], paths[ids[5]])
	r := s.extract(t.Context(), "forget", "--yes", "--call-id", ids[0], "--call-id", ids[1])
	r.reports(t, cli.ExitOK, "deleted 2 recordings")
	var receipt sink.Receipt
	if err := json.Unmarshal([]byte(r.stdout), &receipt); err != nil || receipt.Recordings == nil || receipt.Recordings.Files != 2 || receipt.Recordings.Bytes == 0 {
		t.Errorf("the receipt is %s (%v)", r.stdout, err)
	}
	if _, err := os.Stat(filepath.Join(s.archive, paths[ids[1]])); err == nil || len(s.files()) != len(ids)-2 {
		t.Errorf("%d files after forget", len(s.files()))
	}

	before, all, calls := s.requested(), len(s.files()), number(t, s.one("SELECT count(*) FROM calls"))
	s.night("--keep-recordings", "7d").reports(t, cli.ExitIncomplete, "recordings at once, those that started before")
	was := s.archive
	s.archive += "-new"
	s.night().reports(t, cli.ExitUsage, fmt.Sprintf("recordings names %s, but the files of %d recordings are in %s", s.archive, all, was), "move the files there")
	test.OK(t, os.Rename(was, s.archive))
	s.extract(t.Context(), "forget", "--yes", "--call-id", ids[2]).exits(t, cli.ExitIncomplete) // its file is no longer at the old place
	if r := s.extract(t.Context(), "status"); !strings.Contains(r.stdout, "1 recording of forgotten calls still to be deleted") {
		t.Errorf("status: %d %s", r.code, r.stdout)
	}
	s.mustNight("--keep-recordings", "7d", "--yes", "--adopt")
	kept := s.storedPaths()
	if len(kept) == 0 || len(kept) >= all-1 || len(s.files()) != len(kept) || number(t, s.one("SELECT count(*) FROM calls")) != calls-1 || s.requested() != before {
		t.Errorf("%d of %d recordings, %d files, %d requests, and %v calls of %d", len(kept), all, len(s.files()), s.requested()-before, s.one("SELECT count(*) FROM calls"), calls)
	}
	limit := s.clock.Now().Add(-7 * 24 * time.Hour).Truncate(24 * time.Hour).Format(time.DateTime)
	if n := number(t, s.one("SELECT count(*) FROM recordings JOIN calls USING (call_id) WHERE (start_at < TIMESTAMP '"+limit+"') <> (state = 'withheld' AND path IS NULL AND reason = 'older than --keep-recordings 7d')")); n != 0 {
		t.Errorf("%d recordings are kept or deleted wrongly", n)
	}
	s.sameAsTable()
	s.extract(t.Context(), "status").exits(t, cli.ExitOK)
	s.clock.Advance(24 * time.Hour)
	s.mustNight("recordings", "--keep-recordings", "7d", "--yes")
	if n := len(s.storedPaths()); n >= len(kept) || len(s.files()) != n {
		t.Errorf("extract recordings: %d files and %d rows of %d", len(s.files()), n, len(kept))
	}
	s.clock.Advance(48 * time.Hour)
	s.night("--keep", "7d").reports(t, cli.ExitIncomplete, "would erase ")
	s.mustNight("--keep", "7d", "--yes")
	if n := number(t, s.one("SELECT count(*) FROM calls")); n >= calls || len(s.files()) != len(s.storedPaths()) {
		t.Errorf("--keep leaves %d calls of %d, %d files and %d rows", n, calls, len(s.files()), len(s.storedPaths()))
	}
	if _, err := os.Stat(filepath.Join(s.warehouse, layout.DeletionsName)); !os.IsNotExist(err) {
		t.Error(err)
	}
	s.sameAsTable()
	test.OK(t, errors.Join(os.Rename(s.archive, s.archive+".away"), os.WriteFile(s.archive, nil, 0o600)))
	s.clock.Advance(24 * time.Hour)
	s.night().reports(t, cli.ExitIncomplete, "recordings could not be stored")
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

// A bucket has the recordings, each sent once. If it refuses requests, or is down, the files of forgotten calls
// and those past retention remain. They stay recorded, status reports them, and a later command deletes them.
func TestRecordingsInS3(t *testing.T) {
	longtest.Only(t) // TestForgetRecordings in the sink shows what an archive that is not there leaves
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
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 60, Days: 9}}, found)
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
	failing.Store(0)
	s.mustNight("--keep-recordings", "7d")
	if objects() != len(s.storedPaths()) || objects() >= len(paths) {
		t.Errorf("%d objects, %d rows", objects(), len(s.storedPaths()))
	}
	if r := s.extract(t.Context(), "status"); r.code != cli.ExitOK || strings.Contains(r.stdout, "to be deleted") {
		t.Errorf("status: %d %s", r.code, r.stdout)
	}
}
