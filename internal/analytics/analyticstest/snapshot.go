// Package analyticstest creates small warehouses for tests: Parquet files of the declared
// columns, a manifest, and the link current. Only tests import it.
package analyticstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// Row is a row by column name. Missing columns are null or, if required, have a default. Timestamps
// are int64 milliseconds, decimals strings.
type Row map[string]any

// Data is the content of a snapshot by table.
type Data struct {
	Calls, Turns, Items, Recordings, Runs []Row
	// Archive is the address of the archive of recordings.
	Archive string
	// Others are the rows of the resources.
	Others map[*schema.Table][]Row
	// Compacted reports whether a month, such as "2026-11", is compacted into one file per table; nil:
	// none.
	Compacted func(month string) bool
	// Coverage is the manifest's coverage; nil: everything is listed.
	Coverage []schema.Span
}

// One returns a row of each resource, and of recordings, with values in all columns.
func One() map[*schema.Table][]Row {
	out := map[*schema.Table][]Row{}
	for _, t := range resource.Tables {
		if slices.Contains(schema.Tables, t) && t != &schema.Recordings {
			continue
		}
		row := Row{}
		for _, c := range t.Columns {
			if row[c.Name] = usual(c); c.Type == schema.JSON {
				row[c.Name] = `{"a":1.50}`
			}
		}
		out[t] = []Row{row}
	}
	return out
}

// Write creates snapshot n of the warehouse at root and swaps current to it.
func Write(t testing.TB, root string, n int64, d Data) {
	t.Helper()
	w := &writer{t: t, compacted: d.Compacted, dir: filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n)), n: n}
	m := layout.Manifest{FormatVersion: layout.FormatVersion, Snapshot: n, CommittedAt: time.UnixMilli(0).UTC(), Coverage: d.Coverage,
		Archive: d.Archive}
	if d.Coverage == nil {
		m.Coverage = []schema.Span{{From: -1 << 60, To: 1 << 60}}
	}
	d = w.derive(d)
	m.Files = append(m.Files, w.table(&schema.Calls, d.Calls)...)
	m.Files = append(m.Files, w.table(&schema.Turns, d.Turns)...)
	m.Files = append(m.Files, w.table(&schema.Items, d.Items)...)
	m.Files = append(m.Files, w.table(&schema.Recordings, d.Recordings)...)
	m.Files = append(m.Files, w.table(&schema.ToolCalls, w.tools)...)
	m.Files = append(m.Files, w.table(&schema.Runs, d.Runs)...)
	for _, table := range resource.Tables {
		if rows := d.Others[table]; len(rows) > 0 {
			m.Files = append(m.Files, w.table(table, rows)...)
		}
	}
	raw, err := m.Encode()
	test.OK(t, err)
	test.OK(t, os.MkdirAll(w.dir, 0o755))
	test.OK(t, os.WriteFile(filepath.Join(w.dir, layout.ManifestName), raw, 0o644))
	Swap(t, root, n)
}

// Edit changes a manifest and updates its checksum.
func Edit(t testing.TB, path string, edit func(*layout.Manifest)) {
	t.Helper()
	m, err := layout.ParseManifest(test.Read(t, path))
	test.OK(t, err)
	edit(m)
	raw, err := m.Encode()
	test.OK(t, err)
	test.OK(t, os.WriteFile(path, raw, 0o644))
}

// Swap points current at snapshot n, like a commit.
func Swap(t testing.TB, root string, n int64) {
	t.Helper()
	tmp := filepath.Join(root, layout.TempName(layout.CurrentName, fmt.Sprintf("%016x", n)))
	test.OK(t, os.Symlink(filepath.Join(layout.SnapshotsName, layout.SnapshotName(n)), tmp))
	test.OK(t, os.Rename(tmp, filepath.Join(root, layout.CurrentName)))
}

type writer struct {
	t         testing.TB
	compacted func(month string) bool
	dir       string
	n         int64
	made      int
	tools     []Row // of the other periods
}

// table writes a table's rows, one file per UTC day of start or compacted month.
func (w *writer) table(t *schema.Table, rows []Row) []layout.File {
	w.t.Helper()
	byDay := map[string][]Row{}
	for _, r := range rows {
		period := w.period(t, r)
		byDay[period] = append(byDay[period], r)
	}
	var files []layout.File
	for _, d := range slices.Sorted(maps.Keys(byDay)) {
		files = append(files, w.file(t, d, byDay[d]))
	}
	return files
}

// period returns the period of a row's file.
func (w *writer) period(t *schema.Table, r Row) string {
	period := day(t, r)
	if period != "" && w.compacted != nil && w.compacted(period[:7]) {
		return period[:7]
	}
	return period
}

func day(t *schema.Table, r Row) string {
	if !slices.Contains(schema.CallTables, t) {
		return ""
	}
	if ms, ok := start(t, r); ok {
		return layout.Day(ms)
	}
	return "2026-11-20" // the day it was first seen
}

func start(t *schema.Table, r Row) (int64, bool) {
	name := "call_start_at"
	if t == &schema.Calls {
		name = "start_at"
	}
	ms, ok := r[name].(int64)
	return ms, ok
}

// file writes the file of a period.
func (w *writer) file(t *schema.Table, period string, rows []Row) layout.File {
	w.made++
	f := layout.File{Table: t.Name, Period: period, Path: layout.RunsFile, Rows: int64(len(rows))}
	if t != &schema.Runs {
		f.Path = layout.DataFile(t.Name, period, fmt.Sprintf("%08x%08x", w.n, w.made))
	}
	for _, r := range rows {
		ms, ok := start(t, r)
		switch {
		case ok && f.MinStart == nil:
			f.MinStart, f.MaxStart = new(ms), new(ms)
		case ok:
			*f.MinStart, *f.MaxStart = min(*f.MinStart, ms), max(*f.MaxStart, ms)
		case t == &schema.Calls:
			f.Undated++
		}
	}
	var out bytes.Buffer
	to := parquet.NewGenericWriter[any](&out, schema.ParquetSchema(t))
	for _, r := range rows {
		row := make(parquet.Row, len(t.Columns))
		for i, c := range t.Columns {
			v, level := r[c.Name], 0
			switch {
			case v == nil && c.Required:
				v = usual(c)
			case v != nil && !c.Required:
				level = 1
			}
			row[i] = valueOf(w.t, c, v).Level(0, level, i)
		}
		_, err := to.WriteRows([]parquet.Row{row})
		test.OK(w.t, err)
	}
	test.OK(w.t, to.Close())
	path, sum := filepath.Join(w.dir, filepath.FromSlash(f.Path)), sha256.Sum256(out.Bytes())
	test.OK(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	test.OK(w.t, os.WriteFile(path, out.Bytes(), 0o600))
	f.Bytes, f.SHA256 = int64(out.Len()), hex.EncodeToString(sum[:])
	return f
}

// valueOf returns a value of a row as that of a column.
func valueOf(t testing.TB, c schema.Column, v any) parquet.Value {
	if v == nil {
		return parquet.Value{}
	}
	text := fmt.Sprint(v)
	units := func(places int64) *big.Int { // fails for what is no number
		number, isNumber := new(big.Rat).SetString(text)
		if !isNumber {
			t.Fatalf("%s: %q is no number", c.Name, text)
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(places), nil)
		return new(big.Int).Quo(new(big.Int).Mul(number.Num(), scale), number.Denom())
	}
	switch c.Type {
	case schema.Int32:
		return parquet.Int32Value(int32(units(0).Int64()))
	case schema.Int64:
		return parquet.Int64Value(units(0).Int64())
	case schema.Timestamp:
		return schema.InstantValue(units(0).Int64())
	case schema.Percent:
		return parquet.Int64Value(units(4).Int64())
	case schema.Exact:
		return schema.ExactValue(units(schema.ExactPlaces))
	case schema.Bool:
		return parquet.BooleanValue(text == "true")
	}
	return schema.TextValue([]byte(text))
}

func usual(c schema.Column) any {
	switch c.Name {
	case "transcript_state":
		return "present"
	case "settlement":
		return "settled"
	case "source":
		return "v3"
	}
	if c.Type == schema.Text || c.Type == schema.Word {
		return c.Name
	}
	return int64(0)
}
