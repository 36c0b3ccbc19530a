package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// sound makes a warehouse with a compacted month, two days, older snapshots, and data in its journal.
func sound(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 0)
	put := func(recs ...schema.Record) {
		t.Helper()
		test.OK(t, w.Put(context.Background(), recs...))
	}
	attempt := storyRecord("z", 2)
	attempt.Body = bytes.Replace(attempt.Body, []byte(`"call_type":"phone"`), []byte(`"call_type":"outbound"`), 1)
	attempt.Body = bytes.Replace(attempt.Body, []byte(`user_hangup`), []byte(`call_transfer`), 1)
	put(storyRecord("a", 2), storyRecord("b", 3), storyRecord("y", 1), attempt)
	start := testDay.UnixMilli()
	for _, id := range []string{"a0", "a1", "a2"} {
		put(schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: start, Body: body(id, &start, &start, "ended", "positive", 2)})
	}
	put(schema.Record{Kind: schema.KindItem, CallID: "due", FetchedAt: start, Body: body("due", &start, &start, "ended", "", -1)})
	put(schema.Record{Kind: schema.KindItem, CallID: "unstarted", FetchedAt: start, Body: body("unstarted", nil, nil, "queued", "", -1)})
	put(schema.Record{Kind: schema.KindCovered, FetchedAt: start, Body: []byte(`{"from":0,"to":100,"listed_at":5}`)})
	put(schema.Record{Kind: schema.KindCovered, FetchedAt: start, Body: []byte(`{"from":200,"to":300,"listed_at":5}`)})
	put(schema.Record{Kind: schema.KindCovered, FetchedAt: start, Body: fmt.Appendf(nil, `{"from":1000,"to":%d,"listed_at":%d}`, start+24*3600_000, start+24*3600_000)})
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Finish(context.Background(), doneRow(w)))
	put(storyRecord("b", 4))
	test.OK(t, w.Close())
	return root
}

func TestVerifyFindsEveryDamage(t *testing.T) {
	whole := sound(t)
	tried, i := longtest.Each(3), 0
	for name, c := range longtest.Sorted(damages) {
		i++
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "w")
			test.OK(t, os.CopyFS(root, os.DirFS(whole)))
			c.do(damageTo(t, root)) // all of them: one without a file to damage must not wait for its turn
			if !tried(i) {
				return
			}
			r, err := Verify(context.Background(), VerifyOptions{Root: root})
			test.OK(t, err)
			if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == c.kind }) {
				t.Errorf("found %v, want a problem of the kind %q", r.Problems, c.kind)
			}
			if r.Whole() || r.Count < int64(len(r.Problems)) {
				t.Errorf("%d problems counted, %d named", r.Count, len(r.Problems))
			}
			for _, p := range r.Problems {
				if strings.Contains(p.Path, root) || p.What == "" {
					t.Errorf("badly told: %+v", p)
				}
			}
		})
	}
}

func TestVerifyOfAWholeWarehouse(t *testing.T) {
	root := sound(t)
	before := listing(t, root)
	r, err := Verify(context.Background(), VerifyOptions{Root: root})
	test.OK(t, err)
	if !r.Whole() || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	if r.Calls != 9 || r.Turns != 14 || r.Items != 7 || r.Runs != 1 || r.Journal != 1 || r.Snapshot != 2 {
		t.Errorf("counted %+v", r)
	}
	test.Same(t, before, listing(t, root), "verify changed the warehouse")
}

// Leftovers of a crash are not damage.
func TestVerifyDistinguishesLeftoversFromDamage(t *testing.T) {
	root := sound(t)
	for _, dir := range []string{
		filepath.Join(layout.SnapshotsName, layout.TempName("000003", disk.NewID())), filepath.Join(layout.SnapshotsName, "000003"),
	} {
		test.OK(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	test.OK(t, os.Symlink("snapshots/000003", filepath.Join(root, layout.TempName("current", disk.NewID()))))
	r, err := Verify(context.Background(), VerifyOptions{Root: root})
	if err != nil || !r.Whole() || len(r.Notes) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	w := night(t, nil, root, 5)
	r, err = Verify(context.Background(), VerifyOptions{Root: root})
	if err != nil || len(r.Notes) != 1 || r.Journal != 0 {
		t.Errorf("while a run holds it: %+v, %v", r, err)
	}
	test.OK(t, w.Close())
	if _, err := Verify(context.Background(), VerifyOptions{Root: t.TempDir()}); !errors.Is(err, layout.ErrNoWarehouse) {
		t.Errorf("of an empty folder: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, VerifyOptions{Root: root}); !errors.Is(err, context.Canceled) {
		t.Errorf("when cancelled: %v", err)
	}
}

// listing returns the names, sizes and times of all files.
func listing(t *testing.T, root string) (out []string) {
	t.Helper()
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out = append(out, path+" "+info.ModTime().Format(time.RFC3339Nano))
		}
		return err
	})
	test.OK(t, err)
	return out
}

// A newer callhouse's warehouse is not damaged: verify reports the version and checks nothing.
func TestVerifyOfANewerFormat(t *testing.T) {
	root := sound(t)
	damageTo(t, root).manifest(func(m *layout.Manifest) { m.FormatVersion = 99 })
	r, err := Verify(context.Background(), VerifyOptions{Root: root})
	if version, ok := errors.AsType[*layout.VersionError](err); !ok || version.Got != 99 || r != nil {
		t.Errorf("got %+v and %v, want the error that tells of version 99", r, err)
	}
}

// An interrupted check before a rollback fails.
func TestInterrupted(t *testing.T) {
	s, err := layout.Current(sound(t))
	test.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Manifest.Files = nil
	if err := new(Warehouse).intact(ctx, s); err == nil {
		t.Error("it is intact")
	}
}
