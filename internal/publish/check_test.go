package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/schema"
)

// problems checks a published lake, and returns a line for each problem.
func (h *testWarehouse) problems(to string, change ...func(*Options)) (out []string) {
	h.t.Helper()
	o := h.options(to)
	for _, c := range change {
		c(&o)
	}
	found, err := Check(context.Background(), o)
	h.must(err)
	for _, p := range found.Problems {
		out = append(out, fmt.Sprintf("%s %s: %s (%s)", p.Table, p.URI, p.What, p.Fix))
	}
	return out
}

func deep(o *Options) { o.Deep = true }

// TestDamagedLake damages each kind of object of a published table in each way. The check reports
// it, unless it is harmless. The next publication repairs it, or reports that the table must be
// rebuilt; a rebuilt table is complete, at the same address, with the same UUID if that was still
// readable.
func TestDamagedLake(t *testing.T) {
	rnd := longtest.Rand(t)
	ways := map[string]func(path string) error{
		"removed": os.Remove,
		"truncated": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, info.Size()/2))
		},
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"flipped": func(path string) error {
			raw, err := os.ReadFile(path)
			raw[rnd.IntN(len(raw))] ^= 1 << rnd.IntN(8)
			return errors.Join(err, os.WriteFile(path, raw, 0o600))
		},
	}
	kinds := []string{"metadata/v2.metadata.json", "metadata/version-hint.text", "metadata/000002-????????????????-list.avro", "metadata/000002-*-m1.avro", "data/2026-09-29.*.parquet"}
	tried, n := longtest.Each(20), 0
	for _, whose := range []string{"", "acme"} {
		for _, kind := range kinds {
			for _, way := range slices.Sorted(maps.Keys(ways)) {
				if n++; !tried(n - 1) {
					continue
				}
				t.Run(strings.ReplaceAll(kind, "/", "-")+" "+way+" "+whose, func(t *testing.T) {
					h, to := newTestWarehouse(t), t.TempDir()
					for day := range 2 {
						h.night(call{fmt.Sprint(day), "x", day, 1, 1})
						_, err := h.publish(to, organization(whose))
						h.must(err)
					}
					l := newLake(h, to)
					l.check(whose)
					was := l.load("calls").UUID
					if bad := h.problems(to, deep, organization(whose)); bad != nil {
						t.Fatalf("before any damage: %v", bad)
					}
					at := kind
					if dir, base, _ := strings.Cut(kind, "/"); whose != "" && strings.ContainsAny(base, "*?") {
						at = dir + "/organization=acme/" + base
					}
					h.must(ways[way](only(t, filepath.Join(to, "calls", filepath.FromSlash(at)))))
					found := h.problems(to, deep, organization(whose))
					for _, p := range found {
						if !strings.HasPrefix(p, "calls ") {
							t.Errorf("a problem of another table: %s", p)
						}
					}
					isData := strings.HasPrefix(kind, "data/")
					if len(found) == 0 && (isData || way != "flipped") && !strings.HasSuffix(kind, catalog.HintName) {
						t.Error("the check finds nothing")
					}
					if isData && way != "flipped" {
						made, err := h.publish(to, organization(whose))
						h.must(err)
						if len(made.Repaired) != 1 {
							t.Errorf("repaired: %v", made.Repaired)
						}
					} else if _, err := h.publish(to, deep, organization(whose)); err != nil && !catalog.IsBroken(err) && !errors.As(err, new(*ForeignError)) && !errors.As(err, new(*catalog.UseError)) {
						t.Fatalf("published: %v", err)
					} else if err != nil {
						_, err = h.publish(to, organization(whose), func(o *Options) { o.Rebuild, o.Adopt = []string{"calls"}, true })
						h.must(err)
					}
					if bad := h.problems(to, deep, organization(whose)); bad != nil && (way != "flipped" || isData) {
						t.Errorf("after the repair: %v", bad)
					} else if bad != nil { // a manifest or metadata that is still readable
						_, err := h.publish(to, organization(whose), func(o *Options) { o.Rebuild = []string{"calls"} })
						h.must(err)
						if bad := h.problems(to, deep, organization(whose)); bad != nil {
							t.Errorf("after it was rebuilt: %v", bad)
						}
					}
					l.check(whose)
					if now := l.load("calls").UUID; now != was && way != "flipped" {
						t.Errorf("its UUID was %s, and is %s", was, now)
					}
				})
			}
		}
	}
}

// only returns the single file that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// TestOlderTags repairs files used only by the tag of an older snapshot.
func TestOlderTags(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	for n := range 2 {
		h.night(call{"a", fmt.Sprint(n), 1, n, 1})
		_, err := h.publish(to)
		h.must(err)
	}
	newest, _ := h.snapshots()
	files, err := filepath.Glob(filepath.Join(to, "calls", "data", "*.parquet"))
	h.must(err)
	current := filepath.Base((&publication{}).object("", newest.Manifest.FilesOf("calls")[0]))
	for _, path := range files {
		if filepath.Base(path) != current {
			h.must(os.Remove(path))
		}
	}
	if bad := h.problems(to); len(bad) != 1 {
		t.Errorf("the check finds %v", bad)
	}
	made, err := h.publish(to)
	h.must(err)
	if len(made.Repaired) != 1 {
		t.Errorf("repaired: %v", made.Repaired)
	}
	newLake(h, to).check("")
}

// TestRebuildOfMany rebuilds one organisation's part of shared tables: the other organisations keep
// theirs.
func TestRebuildOfMany(t *testing.T) {
	one, other, to := newTestWarehouse(t), newTestWarehouse(t), t.TempDir()
	for whose, h := range map[string]*testWarehouse{"one": one, "other": other} {
		h.night(call{"a", whose, 1, 1, 1})
		_, err := h.publish(to, organization(whose))
		h.must(err)
	}
	metadata := filepath.Join(to, "calls", "metadata", "organization=one")
	entries, err := os.ReadDir(metadata)
	one.must(err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-m1.avro") {
			one.must(os.Remove(filepath.Join(metadata, e.Name())))
		}
	}
	_, err = one.publish(to, organization("one"))
	if !catalog.IsBroken(err) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("published: %v", err)
	}
	_, err = one.publish(to, organization("one"), func(o *Options) { o.Rebuild = []string{"calls"} })
	one.must(err)
	newLake(one, to).check("one")
	newLake(other, to).check("other")
}

// TestDamagedManifests flips bits of manifests and lists. The result is read or refused, but never
// crashes.
func TestDamagedManifests(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	h.night(call{"a", "x", 1, 1, 1})
	_, err := h.publish(to)
	h.must(err)
	l := newLake(h, to)
	now := l.load("calls")
	w := (&publication{Options: Options{store: l.store}}).workOf(&schema.Calls)
	manifests, err := w.manifests(t.Context(), now.Head())
	h.must(err)
	raw, err := l.store.Get(t.Context(), manifests[0].FilePath())
	h.must(err)
	list, err := l.store.Get(t.Context(), now.Head().ManifestList)
	h.must(err)
	metadata, err := l.store.Get(t.Context(), now.File)
	h.must(err)
	flips := 100
	if longtest.On() {
		flips = 3_000
	}
	refused, rnd := 0, longtest.Rand(t)
	for range flips {
		for _, damaged := range [][]byte{raw, list, metadata} {
			bit, at := byte(1)<<rnd.IntN(8), rnd.IntN(len(damaged))
			damaged[at] ^= bit
			_, err := entries(manifests[0], raw)
			found, err2 := decoded("list", func() ([]iceberg.ManifestFile, error) { return iceberg.ReadManifestList(bytes.NewReader(list)) })
			for _, m := range found {
				_, _ = w.mayBeOurs(m), m.Length()
			}
			_, err3 := catalog.Parse(metadata)
			if errors.Join(err, err2, err3) != nil {
				refused++
			}
			damaged[at] ^= bit
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// TestDamagedOlderSnapshot publishes next to an older snapshot whose manifest is damaged: it leaves
// the lake, as if it had been removed.
func TestDamagedOlderSnapshot(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	for n := range 3 {
		h.night(call{"a", fmt.Sprint(n), 1, n, 1})
		_, err := h.publish(to)
		h.must(err)
	}
	older := filepath.Join(h.root, layout.SnapshotsName, layout.SnapshotName(1))
	h.must(os.WriteFile(filepath.Join(older, layout.ManifestName), []byte("{"), 0o600))
	_, err := h.publish(to)
	h.must(err)
	h.must(os.RemoveAll(older))
	newLake(h, to).check("")
}
