package extractcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

var now = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)

// dying is a file system whose process dies at some operation that changes the disk: that and all later ones fail.
type dying struct {
	disk.FS
	left int // remaining operations; negative: no limit
	dead bool
}

func (d *dying) op() error {
	if d.left == 0 {
		d.dead = true
		return errors.New("killed")
	}
	d.left--
	return nil
}

func (d *dying) Create(name string) (disk.File, error) {
	if err := d.op(); err != nil {
		return nil, err
	}
	f, err := d.FS.Create(name)
	return dyingFile{f, d}, err
}

func (d *dying) Mkdir(name string) error {
	return alive(d.op(), func() error { return d.FS.Mkdir(name) })
}
func (d *dying) Rename(from, to string) error {
	return alive(d.op(), func() error { return d.FS.Rename(from, to) })
}
func (d *dying) Link(from, to string) error {
	return alive(d.op(), func() error { return d.FS.Link(from, to) })
}
func (d *dying) Symlink(to, name string) error {
	return alive(d.op(), func() error { return d.FS.Symlink(to, name) })
}
func (d *dying) Remove(name string) error {
	return alive(d.op(), func() error { return d.FS.Remove(name) })
}

type dyingFile struct {
	disk.File
	of *dying
}

func (f dyingFile) Write(p []byte) (n int, err error) {
	return n, alive(f.of.op(), func() error { n, err = f.File.Write(p); return err })
}

// alive performs an operation unless there is an error already.
func alive(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// testArchive is a warehouse with an archive in a folder.
type testArchive struct {
	t     *testing.T
	root  string
	audio string
	fs    *dying
	w     *sink.Warehouse
	runs  uint32
}

func newTestArchive(t *testing.T) *testArchive {
	t.Helper()
	h := &testArchive{t: t, root: filepath.Join(t.TempDir(), "w"), audio: filepath.Join(t.TempDir(), "audio")}
	for _, dir := range []string{h.root, h.audio} {
		test.OK(t, os.Mkdir(dir, 0o700))
	}
	h.open()
	return h
}

func (h *testArchive) open() {
	h.t.Helper()
	files, err := disk.Open(h.root)
	test.OK(h.t, err)
	h.runs++
	h.fs = &dying{FS: files, left: -1}
	h.w, err = sink.Open(sink.Options{Root: h.root, RunID: layout.RunID(now, h.runs), FS: h.fs, Now: func() time.Time { return now }, Delete: deleteRecordings})
	test.OK(h.t, err)
	h.t.Cleanup(func() { _ = h.w.Close() })
	h.w.Archive("file://" + h.audio)
}

func (h *testArchive) commit(ctx context.Context) error {
	return h.w.Commit(ctx, func(sink.Stats, int64) schema.Run {
		return schema.Run{ID: h.w.RunID(), StartedAt: now.UnixMilli(), Outcome: schema.OutcomeDone}
	})
}

// put stores a call that began some days ago.
func (h *testArchive) put(id string, ago int, more map[string]any) {
	h.t.Helper()
	start := now.AddDate(0, 0, -ago)
	call := map[string]any{"id": id, "status": "ended", "start_at": start.UnixMilli(), "end_at": start.UnixMilli() + 60_000,
		"recording_url": "https://r.example/" + id, "transcript": []any{map[string]any{"role": "user", "content": "hello"}},
		"call_cost": map[string]any{"total_cost": "1.00"}, "opt_out_sensitive_data_storage": false}
	maps.Copy(call, more)
	body, err := json.Marshal(call)
	if err == nil {
		err = h.w.Put(h.t.Context(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: now.UnixMilli() + int64(len(more)), Body: body})
	}
	test.OK(h.t, err)
}

// store puts a file into the archive, as a run does. With row it also records that.
func (h *testArchive) store(id string, ago int, row bool) {
	h.t.Helper()
	start := now.AddDate(0, 0, -ago)
	path := recording.Stem(id, start) + ".mp3"
	at := filepath.Join(h.audio, path)
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = os.WriteFile(at, []byte("sound of "+id), 0o600)
	}
	if err == nil && row {
		r := calls.Recording{CallID: id, StartAt: schema.Some(start.UnixMilli())}
		var rec schema.Record
		rec, err = r.Record(schema.Recording{State: schema.RecordingStored, Path: path, Bytes: int64(9 + len(id)), SHA256: "ab", Format: "mp3",
			FetchedAt: now.UnixMilli(), Attempts: 1}, now.UnixMilli())
		if err == nil {
			err = h.w.Put(h.t.Context(), rec)
		}
	}
	test.OK(h.t, err)
}

// files returns the names of the archive's files, without extension.
func (h *testArchive) files() string {
	h.t.Helper()
	var out []string
	err := filepath.WalkDir(h.audio, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, strings.TrimSuffix(filepath.Base(path), ".mp3"))
		}
		return err
	})
	test.OK(h.t, err)
	return strings.Join(out, " ")
}

// rows returns the rows of recordings, and whether the file of every stored one exists.
func (h *testArchive) rows() (rows string, whole bool) {
	h.t.Helper()
	whole = true
	var out []string
	for c, err := range sink.Calls(h.t.Context(), h.w.Snapshot()) {
		test.OK(h.t, err)
		r, ok := c.Recording()
		if !ok {
			continue
		}
		out = append(out, strings.TrimSpace(fmt.Sprint(string(c.ID()), " ", r.State, " ", r.Path)))
		if r.State == schema.RecordingStored {
			_, err := os.Stat(filepath.Join(h.audio, r.Path))
			whole = whole && err == nil
		}
	}
	return strings.Join(out, ", "), whole
}

func (h *testArchive) prune(keep int) (prunedRecordings, error) {
	return pruneRecordings(h.t.Context(), h.w, now.AddDate(0, 0, -keep), "30d", func() time.Time { return now }, h.commit)
}

// A process dies at every operation of a retention. Afterwards no row marks a recording as stored whose file is
// gone, and the next run deletes all files past retention, including those that a killed run stored without a row.
func TestPruneKilled(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	kills := 0
	for k := 0; ; k++ {
		h := newTestArchive(t)
		for i, id := range []string{"new", "old", "older", "opted", "refuser"} {
			h.put(id, 10+i*30, nil)
			h.store(id, 10+i*30, id != "older" && id != "refuser")
		}
		test.OK(t, h.commit(t.Context()))
		for i, id := range []string{"opted", "refuser"} {
			h.put(id, 100+i*30, map[string]any{"opt_out_sensitive_data_storage": true, "recording_url": nil, "transcript": nil})
		}
		test.OK(t, h.commit(t.Context()))
		h.fs.left = k
		_, err := h.prune(30)
		if err == nil {
			err = h.commit(t.Context())
		}
		dead := h.fs.dead
		if !dead && err != nil {
			t.Fatal(err)
		}
		_ = h.w.Close()
		h.open()
		if rows, whole := h.rows(); !whole {
			t.Fatalf("killed at operation %d: a stored recording has no file: %s", k, rows)
		}
		if _, err = h.w.Recover(t.Context()); err == nil {
			_, err = h.prune(30)
		}
		if err == nil {
			err = h.commit(t.Context())
		}
		test.OK(t, err)
		rows, whole := h.rows()
		if want := "refuser withheld, opted withheld, older withheld, old withheld, new stored " + recording.Stem("new", now.AddDate(0, 0, -10)) + ".mp3"; rows != want || !whole {
			t.Fatalf("killed at operation %d: the rows are %s, want %s", k, rows, want)
		}
		if got := h.files(); got != "new" {
			t.Fatalf("killed at operation %d: there are %s", k, got)
		}
		if !dead {
			break
		}
		kills++
	}
	if kills < 30 {
		t.Errorf("killed %d times", kills)
	}
	t.Logf("killed %d times", kills)
}
