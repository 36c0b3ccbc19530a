package publish

import (
	"bytes"
	"context"
	"encoding/json"
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

// alter commits another version of a table, as another program would.
func (l *lake) alter(name string, change func(m *catalog.Metadata)) {
	l.source.t.Helper()
	now := l.load(name)
	m, err := now.Apply(nil, now.File, l.source.now)
	l.source.must(err)
	change(m)
	raw, err := json.Marshal(m)
	l.source.must(err)
	l.source.must(l.store.Create(context.Background(), l.catalog.(*catalog.Files).File(name, now.Version+1), raw))
}

// TestAltered publishes to tables whose columns other programs have changed: publishing restores
// them, with the same ids. A change that cannot be undone is refused with a remedy, which the test
// tries.
func TestAltered(t *testing.T) {
	columns := func(change func([]iceberg.NestedField) []iceberg.NestedField) func(*catalog.Metadata) {
		return func(m *catalog.Metadata) {
			s := iceberg.NewSchema(m.CurrentSchema+1, change(m.Columns().Fields())...)
			m.Schemas, m.CurrentSchema, m.LastColumn = append(m.Schemas, s), s.ID, max(m.LastColumn, s.HighestFieldID())
		}
	}
	at := func(fields []iceberg.NestedField, name string) int {
		return slices.IndexFunc(fields, func(f iceberg.NestedField) bool { return f.Name == name })
	}
	tried, n := longtest.Each(10), 0
	next := schema.Calls.Columns[len(schema.Calls.Columns)-1].ID + 1
	for name, c := range longtest.Sorted(map[string]struct {
		change    func(*catalog.Metadata)
		broken    string
		remaining string // a column that must stay
	}{
		"a dropped column": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			return slices.Delete(f, at(f, "summary"), at(f, "summary")+1)
		})},
		"the last column dropped": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField { return f[:len(f)-1] })},
		"a renamed column": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			f[at(f, "summary")].Name = "abstract"
			return f
		})},
		"another type": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			f[at(f, "turn_count")].Type = iceberg.PrimitiveTypes.Int64
			return f
		})},
		"a column that may be null": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			f[at(f, "settlement")].Required = false
			return f
		})},
		"another order": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField { slices.Reverse(f); return f })},
		"a dropped column, and another one of its name": {change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			i := at(f, "summary")
			f[i].ID = next
			return f
		})},
		"an added column": {remaining: "mood", change: columns(func(f []iceberg.NestedField) []iceberg.NestedField {
			return append(f, iceberg.NestedField{ID: next, Name: "mood", Type: iceberg.PrimitiveTypes.String})
		})},
		"another property": {change: func(m *catalog.Metadata) { m.Properties["gc.enabled"] = "true" }},
		"no property":      {change: func(m *catalog.Metadata) { delete(m.Properties, "read.parquet.vectorization.enabled") }},
		"no snapshot":      {change: func(m *catalog.Metadata) { m.CurrentSnapshot = nil; delete(m.Refs, catalog.MainBranch) }},
		"another current snapshot": {change: func(m *catalog.Metadata) {
			m.CurrentSnapshot = &m.Snapshots[0].ID
			m.Refs[catalog.MainBranch] = catalog.Ref{Snapshot: m.Snapshots[0].ID, Type: "branch"}
		}},
		"no tags": {change: func(m *catalog.Metadata) {
			maps.DeleteFunc(m.Refs, func(name string, _ catalog.Ref) bool { return name != catalog.MainBranch })
		}},
		"version 3":          {remaining: "v3", change: func(m *catalog.Metadata) { m.FormatVersion, m.NextRow = 3, new(int64) }},
		"version 4":          {broken: "version 4", change: func(m *catalog.Metadata) { m.FormatVersion = 4 }},
		"an encrypted table": {broken: "encrypted", change: func(m *catalog.Metadata) { m.Rest["encryption-keys"] = json.RawMessage(`[{"key-id": "k"}]`) }},
	}) {
		if n++; !tried(n - 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h, to := newTestWarehouse(t), t.TempDir()
			for day := range 2 {
				h.night(call{"a", "x", day, day, 1})
				_, err := h.publish(to)
				h.must(err)
			}
			l := newLake(h, to)
			was := l.load("calls")
			l.alter("calls", c.change)
			if bad := h.problems(to); len(bad) == 0 && c.remaining == "" && name != "another order" {
				t.Error("the check finds nothing")
			}
			h.night(call{"b", "y", 3, 1, 1})
			_, err := h.publish(to)
			if c.broken != "" {
				if !catalog.IsBroken(err) || !strings.Contains(err.Error(), c.broken) {
					t.Fatalf("published: %v", err)
				}
				_, err = h.publish(to, func(o *Options) { o.Rebuild = []string{"calls"} })
			}
			h.must(err)
			l.check("")
			h.night(call{"c", "z", 4, 1, 1})
			_, err = h.publish(to)
			h.must(err)
			l.check("")
			if bad := h.problems(to, deep); bad != nil {
				t.Errorf("after it is published: %v", bad)
			}
			now := l.load("calls")
			ours := formOf(&schema.Calls, false).schema
			for _, f := range now.Columns().Fields() {
				if own, ok := ours.FindFieldByID(f.ID); f.Name != c.remaining && (!ok || own.Name != f.Name || !own.Type.Equals(f.Type) || own.Required != f.Required) {
					t.Errorf("the column %v", f)
				}
			}
			if now.FormatVersion == 3 {
				h.numbered(l, now)
			}
			if want := ours.NumFields() + len(c.remaining)/4; now.Columns().NumFields() != want || now.UUID != was.UUID || now.Properties["gc.enabled"] != "false" || now.Properties["read.parquet.vectorization.enabled"] != "false" {
				t.Errorf("%d columns, not %d; the UUID was %s, and is %s", now.Columns().NumFields(), want, was.UUID, now.UUID)
			}
		})
	}
}

// numbered checks the row numbers of a table of version 3: no two files share any, and those of a
// file are the same in every tag.
func (h *testWarehouse) numbered(l *lake, now catalog.Current) {
	h.t.Helper()
	first := map[string]int64{}
	w := &work{publication: &publication{Options: Options{store: l.store}}}
	for _, s := range now.Snapshots {
		if s.FirstRow == nil {
			continue // from before the upgrade
		}
		manifests, err := w.manifests(context.Background(), s)
		h.must(err)
		for _, m := range manifests {
			raw, err := w.fetch(context.Background(), m.FilePath())
			h.must(err)
			found, err := entries(m, raw)
			h.must(err)
			for _, e := range found {
				f := e.DataFile()
				id := f.FirstRowID()
				if id == nil || *id < 0 || *id+f.Count() > *now.NextRow {
					h.t.Fatalf("the rows of %s begin with %v, and the table's next one is %d", f.FilePath(), id, *now.NextRow)
				}
				if was, seen := first[f.FilePath()]; seen && was != *id {
					h.t.Fatalf("the rows of %s began with %d, and do with %d", f.FilePath(), was, *id)
				}
				for other, at := range first {
					if other != f.FilePath() && at == *id && f.Count() > 0 {
						h.t.Fatalf("%s and %s have the same rows, from %d on", f.FilePath(), other, at)
					}
				}
				first[f.FilePath()] = *id
			}
		}
	}
	if len(first) == 0 {
		h.t.Fatalf("no snapshot has numbers")
	}
}
