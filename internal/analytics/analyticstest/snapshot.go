// Package analyticstest creates small warehouses for tests: Parquet files written by DuckDB from
// the declared columns, a manifest, and the link current. Only tests import it.
package analyticstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/internal/analytics/duck"
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

// database writes the files of all warehouses of a test program: opening one for each would take
// longer than writing most of them. It is never closed, so its unused temporary folder is removed
// at once.
var database = sync.OnceValues(func() (*duck.DB, error) {
	db, err := duck.Open(duck.Config{Threads: 1})
	if err != nil {
		return nil, err
	}
	conn, err := db.Connect()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	folder, err := conn.Column(context.Background(), "SELECT current_setting('temp_directory')")
	if err != nil {
		return nil, err
	}
	return db, os.RemoveAll(folder[0])
})

// Write creates snapshot n of the warehouse at root and swaps current to it.
func Write(t testing.TB, root string, n int64, d Data) {
	t.Helper()
	db, err := database()
	test.OK(t, err)
	conn, err := db.Connect()
	test.OK(t, err)
	defer conn.Close()
	w := &writer{t: t, conn: conn, compacted: d.Compacted, dir: filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n)), n: n}
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
	conn      *duck.Conn
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
	if len(byDay) == 0 {
		return nil
	}
	var files []layout.File
	for _, d := range slices.Sorted(maps.Keys(byDay)) {
		files = append(files, w.file(t, d, byDay[d]))
	}
	w.write(t, files, byDay)
	return files
}

// sum records the size and checksum of a file.
func (w *writer) sum(path string, f *layout.File) {
	w.t.Helper()
	raw := test.Read(w.t, path)
	sum := sha256.Sum256(raw)
	f.Bytes, f.SHA256 = int64(len(raw)), hex.EncodeToString(sum[:])
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

// file describes the file of a period, without size and checksum.
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
	return f
}

// write writes a table's files in one statement.
func (w *writer) write(t *schema.Table, files []layout.File, byDay map[string][]Row) {
	w.t.Helper()
	const part = "number of the file"
	names, texts, ids := []string{fmt.Sprintf("%q", part)}, []string{fmt.Sprintf("'%s': 'INTEGER'", part)}, []string{}
	for _, c := range t.Columns {
		names = append(names, fmt.Sprintf("%s AS \"%s\"", fromText(c), c.Name))
		texts = append(texts, fmt.Sprintf("'%s': 'VARCHAR'", c.Name))
		ids = append(ids, fmt.Sprintf(`"%s": %d`, c.Name, c.ID))
	}
	dir := w.t.TempDir()
	lines, err := os.Create(filepath.Join(dir, "rows.ndjson"))
	test.OK(w.t, err)
	to := json.NewEncoder(lines)
	for i, f := range files {
		for _, r := range byDay[f.Period] {
			line := texted(t, r)
			line[part] = i
			test.OK(w.t, to.Encode(line))
		}
	}
	test.OK(w.t, lines.Close())
	text := fmt.Sprintf("SET partitioned_write_max_open_files = %d; COPY (SELECT %s FROM read_json('%s', format = "+
		"'newline_delimited', columns = {%s})) TO '%s' (FORMAT parquet, PARTITION_BY (%q), FIELD_IDS {%s})",
		len(files)+1, strings.Join(names, ", "), lines.Name(), strings.Join(texts, ", "), filepath.Join(dir, "files"), part,
		strings.Join(ids, ", "))
	if err := w.conn.Exec(context.Background(), text); err != nil {
		w.t.Fatalf("write %s: %v", t.Name, err)
	}
	for i := range files {
		path := filepath.Join(w.dir, filepath.FromSlash(files[i].Path))
		test.OK(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
		made, err := filepath.Glob(filepath.Join(dir, "files", fmt.Sprintf("*=%d", i), "*"))
		if err != nil || len(made) != 1 {
			w.t.Fatalf("%s: the files are %v: %v", files[i].Path, made, err)
		}
		test.OK(w.t, os.Rename(made[0], path))
		w.sum(path, &files[i])
	}
}

// texted returns the values of a row as strings, with defaults for missing ones.
func texted(t *schema.Table, r Row) map[string]any {
	line := map[string]any{}
	for _, c := range t.Columns {
		v := r[c.Name]
		if v == nil && c.Required {
			v = usual(c)
		}
		if v != nil {
			line[c.Name] = fmt.Sprint(v)
		}
	}
	return line
}

// fromText returns SQL for a column's value from its text.
func fromText(c schema.Column) string {
	if c.Type == schema.Timestamp {
		return fmt.Sprintf("make_timestamptz(CAST(\"%s\" AS BIGINT) * 1000)", c.Name)
	}
	return fmt.Sprintf("CAST(\"%s\" AS %s)", c.Name, c.Type.DuckDB())
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
