package publish

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"callhouse/internal/longtest"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/schema"
)

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
