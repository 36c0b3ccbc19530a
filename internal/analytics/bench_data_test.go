package analytics_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sync/errgroup"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/schema"
	"callhouse/internal/schema/columnar"
	"callhouse/internal/test"
)

// Properties of the sink's files, which the benchmark's files share.
const (
	benchGroupRows   = 122_880
	benchGroupWeight = 32 << 20
	benchPageBytes   = 1 << 20
)

var benchOrigin = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func benchRoot() string {
	return filepath.Join(*benchDir, fmt.Sprintf("calls-%d-turns-%d", *benchCalls, *benchEvery))
}

// benchWarehouse returns a warehouse of the sandbox's calls in the form that the sink writes: one
// file per table for each past month, and for each day of the current one.
func benchWarehouse(b testing.TB) string {
	b.Helper()
	if *benchDir == "" {
		*benchDir = b.TempDir()
	}
	root := benchRoot()
	if _, err := os.Stat(filepath.Join(root, layout.CurrentName)); err == nil {
		return root
	}
	company, err := world.New(world.Config{Seed: 1, Calls: *benchCalls, Days: 364, Origin: benchOrigin})
	test.OK(b, err)
	dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(1))
	periods := benchPeriods(company)
	files := make([][]layout.File, len(periods))
	var g errgroup.Group
	g.SetLimit(2)
	for i, p := range periods {
		g.Go(func() (err error) {
			files[i], err = newBenchWriter(dir, i, p).write(company, p)
			return err
		})
	}
	test.OK(b, g.Wait())
	m := layout.Manifest{FormatVersion: layout.FormatVersion, Snapshot: 1, CommittedAt: benchOrigin,
		Coverage: []schema.Span{{From: 0, To: benchOrigin.UnixMilli(), ListedAt: benchOrigin.UnixMilli()}}}
	for _, f := range files {
		m.Files = append(m.Files, f...)
	}
	raw, err := m.Encode()
	test.OK(b, err)
	test.OK(b, os.WriteFile(filepath.Join(dir, layout.ManifestName), raw, 0o644))
	analyticstest.Swap(b, root, 1)
	return root
}

// benchPeriod is a month or a day, and the calls that started in it.
type benchPeriod struct {
	name     string
	from, to int64
}

func benchPeriods(company *world.World) (out []benchPeriod) {
	last := time.Date(benchOrigin.Year(), benchOrigin.Month(), 1, 0, 0, 0, 0, time.UTC)
	for at, from := last.AddDate(-1, 0, 0), int64(0); at.Before(benchOrigin); {
		name, next := at.Format("2006-01"), at.AddDate(0, 1, 0)
		if !at.Before(last) {
			name, next = at.Format(time.DateOnly), at.AddDate(0, 0, 1)
		}
		to := company.Started(next.Add(-time.Millisecond))
		if next.After(benchOrigin) {
			to = *benchCalls
		}
		if to > from {
			out = append(out, benchPeriod{name, from, to})
		}
		at, from = next, to
	}
	return out
}

// benchHeld is the number of calls decoded before their columns are written.
const benchHeld = 64

// benchWriter writes the files of a period.
type benchWriter struct {
	tables []*benchTable
	render render.Renderer
	held   [benchHeld]struct {
		dec  calls.Decoder
		call calls.Call
		body []byte
	}
	tools calls.ToolRows
	row   parquet.Row
}

func newBenchWriter(dir string, n int, p benchPeriod) *benchWriter {
	w := &benchWriter{}
	period := p.name
	table := func(t *schema.Table) *benchTable {
		f := layout.File{Table: t.Name, Period: period, Path: layout.DataFile(t.Name, period, fmt.Sprintf("%016x", n))}
		return &benchTable{table: t, info: f, path: filepath.Join(dir, filepath.FromSlash(f.Path))}
	}
	for _, t := range schema.CallTables {
		w.tables = append(w.tables, table(t))
	}
	return w
}

func (w *benchWriter) write(company *world.World, p benchPeriod) (files []layout.File, err error) {
	n := 0
	for i := p.from; i < p.to; i++ {
		v, ok := company.View(i, benchOrigin)
		if !ok {
			continue
		}
		h := &w.held[n]
		kind := schema.KindItem
		if *benchEvery > 0 && i%*benchEvery == 0 {
			kind, h.body = schema.KindDetail, w.render.Detail(h.body[:0], v)
		} else {
			h.body = w.render.Item(h.body[:0], v)
		}
		if err := h.dec.Decode(h.body, kind, &h.call); err != nil {
			return nil, err
		}
		if err := w.add(&h.call); err != nil {
			return nil, err
		}
		if n++; n == benchHeld {
			n = 0
			if err := w.flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	for _, t := range w.tables {
		if err := t.close(); err != nil {
			return nil, err
		}
		if t.info.Rows > 0 {
			files = append(files, t.info)
		}
	}
	return files, nil
}

func (w *benchWriter) add(c *calls.Call) error {
	c.Fetched(benchOrigin.UnixMilli(), benchOrigin.UnixMilli(), []byte("20261130T120000Z-00000001"))
	c.Settle(benchOrigin.UnixMilli())
	c.Complete(w.tools.Of(c))
	add := func(table *schema.Table, row schema.Row) {
		w.row = table.AppendRow(w.row[:0], row)
		w.tables[slices.Index(schema.CallTables, table)].add(w.row, c.StartAt())
	}
	for table, row := range c.Rows() {
		add(table, row)
	}
	return w.tools.Each(c, func(row schema.Row) error {
		add(&schema.ToolCalls, row)
		return nil
	})
}

func (w *benchWriter) flush() (err error) {
	for _, t := range w.tables {
		err = errors.Join(err, t.flush())
	}
	return err
}

// benchTable writes a file.
type benchTable struct {
	table  *schema.Table
	info   layout.File
	path   string
	file   *os.File
	w      *parquet.GenericWriter[any]
	group  *parquet.ConcurrentRowGroupWriter
	cols   [][]parquet.Value
	rows   int
	weight int
}

func (t *benchTable) add(row parquet.Row, start schema.Opt[int64]) {
	if t.cols == nil {
		t.cols = make([][]parquet.Value, len(t.table.Columns))
	}
	t.weight += 16 * len(row)
	for i, v := range row {
		t.cols[i] = append(t.cols[i], v)
		if v.Kind() == parquet.ByteArray {
			t.weight += len(v.ByteArray())
		}
	}
	t.rows++
	t.info.Rows++
	if at := start.V; start.OK {
		if t.info.MinStart == nil {
			t.info.MinStart = &at
		}
		t.info.MaxStart = &at
	}
}

func (t *benchTable) flush() error {
	if t.cols == nil || len(t.cols[0]) == 0 {
		return nil
	}
	if t.w == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	if t.group == nil {
		t.group = t.w.BeginRowGroup()
	}
	for i, w := range t.group.ColumnWriters() {
		if _, err := w.WriteRowValues(t.cols[i]); err != nil {
			return err
		}
		t.cols[i] = t.cols[i][:0]
	}
	if t.rows >= benchGroupRows || t.weight >= benchGroupWeight {
		return t.closeGroup()
	}
	return nil
}

func (t *benchTable) open() (err error) {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
		return err
	}
	if t.file, err = os.Create(t.path); err != nil {
		return err
	}
	t.w = parquet.NewGenericWriter[any](t.file, columnar.ParquetSchema(t.table), parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(benchPageBytes),
		parquet.KeyValueMetadata(layout.FormatKey, strconv.Itoa(layout.FormatVersion)))
	return nil
}

func (t *benchTable) closeGroup() error {
	_, err := t.group.Commit()
	t.group, t.rows, t.weight = nil, 0, 0
	return err
}

func (t *benchTable) close() error {
	if t.w == nil {
		return nil
	}
	var err error
	if t.group != nil {
		err = t.closeGroup()
	}
	if err := errors.Join(err, t.w.Close()); err != nil {
		return errors.Join(err, t.file.Close())
	}
	sum := sha256.New()
	_, err = t.file.Seek(0, io.SeekStart)
	if err == nil {
		t.info.Bytes, err = io.Copy(sum, t.file)
	}
	t.info.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return errors.Join(err, t.file.Close())
}
