package analytics_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"golang.org/x/sync/errgroup"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
)

var (
	benchCalls   = flag.Int64("bench-calls", 100_000, "calls that the benchmarks are over")
	benchDetails = flag.Bool("bench-details", false, "with their transcripts: 30 times the data")
	benchDir     = flag.String("bench-dir", "", "keep the benchmarks' warehouses here, and use them again")
)

const benchGroup = 122_880 // rows of a row group, as the sink writes them

// BenchmarkReports runs every report over a year of a company's calls, warm;
// median-ms is the median of the runs:
//
//	go test ./internal/analytics -run '^$' -bench Reports -bench-calls 10000000 -bench-dir /tmp/bench -benchtime 7x
func BenchmarkReports(b *testing.B) {
	w := open(b, benchWarehouse(b), zone(b, "Asia/Seoul"))
	for _, f := range analytics.Reports() {
		if f.Name == "call" {
			continue
		}
		for _, by := range []string{"", "agent", "day", "metadata.campaign"} {
			if by != "" && !f.Grouped() {
				continue
			}
			p := analytics.Params{By: by, Words: []string{"sorry"}}
			b.Run(f.Name+"/by="+by, func(b *testing.B) { benchReport(b, w, f.Name, p) })
		}
	}
}

func benchReport(b *testing.B, w *analytics.Warehouse, name string, p analytics.Params) {
	run := func() time.Duration {
		start := time.Now()
		rows, err := w.Report(b.Context(), name, p)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		for {
			if n, err := rows.Skip(b.Context()); err != nil || n == 0 {
				if err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				return time.Since(start)
			}
		}
	}
	run() // the first reads the files from the disk
	var took []time.Duration
	b.ResetTimer()
	for range b.N {
		took = append(took, run())
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	b.ReportMetric(float64(took[(len(took)-1)/2].Microseconds())/1000, "median-ms")
}

// benchWarehouse returns a warehouse of the sandbox's calls, written directly: a
// file a month and table, as the sink leaves months that are over.
func benchWarehouse(b *testing.B) string {
	b.Helper()
	root := *benchDir
	if root == "" {
		root = b.TempDir()
	}
	root = filepath.Join(root, fmt.Sprintf("calls-%d-details-%t", *benchCalls, *benchDetails))
	if _, err := os.Stat(filepath.Join(root, layout.CurrentName)); err == nil {
		return root
	}
	origin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	world, err := sandbox.NewWorld(sandbox.Config{Seed: 1, Calls: *benchCalls, Days: 364, Origin: origin})
	if err != nil {
		b.Fatal(err)
	}
	m := layout.Manifest{FormatVersion: layout.FormatVersion, Snapshot: 1, CommittedAt: origin,
		Coverage: []schema.Span{{From: 0, To: origin.UnixMilli(), ListedAt: origin.UnixMilli()}}}
	dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(1))
	const parts = 12
	files := make([][]layout.File, parts)
	var g errgroup.Group
	g.SetLimit(2)
	for i := range int64(parts) {
		g.Go(func() (err error) {
			files[i], err = benchPart(dir, world, origin, i, *benchCalls*i/parts, *benchCalls*(i+1)/parts)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		m.Files = append(m.Files, f...)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, layout.ManifestName), raw, 0o644); err != nil {
		b.Fatal(err)
	}
	analyticstest.Swap(b, root, 1)
	return root
}

// benchPart writes the files of some calls in a row, which are about a month's.
func benchPart(dir string, world *sandbox.World, now time.Time, n, from, to int64) (files []layout.File, err error) {
	period := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).AddDate(0, int(n), 0).Format("2006-01")
	month := []byte(period)
	tables := []*schema.Table{&schema.Calls, &schema.Turns, &schema.Items}
	writers := make([]*parquet.GenericWriter[any], len(tables))
	var closers []io.Closer
	for i, t := range tables {
		f := layout.File{Table: t.Name, Period: period, Path: layout.DataFile(t.Name, period, fmt.Sprintf("%016x", n))}
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		out, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		writers[i] = parquet.NewGenericWriter[any](out, schema.ParquetSchema(t), parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(benchGroup))
		closers = append(closers, writers[i], out)
		files = append(files, f)
	}
	add := func(table int, row parquet.Row) error {
		files[table].Rows++
		_, err := writers[table].WriteRows([]parquet.Row{row})
		return err
	}
	var render sandbox.Renderer
	var d schema.Decoder
	var c schema.Call
	var body []byte
	var row parquet.Row
	for i := from; i < to; i++ {
		v, ok := world.View(i, now)
		if !ok {
			continue
		}
		kind := schema.KindItem
		if body = body[:0]; *benchDetails {
			kind, body = schema.KindDetail, render.Detail(body, v)
		} else {
			body = render.Item(body, v)
		}
		if err := d.Decode(body, kind, &c); err != nil {
			return nil, err
		}
		c.FirstSeenAt, c.FetchedAt, c.RunID = now.UnixMilli(), now.UnixMilli(), []byte("20261130T120000Z-00000001")
		c.Settle(now.UnixMilli())
		if c.StartAt.OK {
			at := c.StartAt.V
			for i := range files {
				if files[i].MinStart == nil {
					files[i].MinStart = &at
				}
				files[i].MaxStart = &at
			}
		}
		row = schema.AppendCallRow(row[:0], &c, month)
		err := add(0, row)
		for i := range c.Turns {
			row = schema.AppendTurnRow(row[:0], &c, i, month)
			err = errors.Join(err, add(1, row))
		}
		for i := range c.Items {
			row = schema.AppendItemRow(row[:0], &c, i, month)
			err = errors.Join(err, add(2, row))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, c := range closers {
		err = errors.Join(err, c.Close())
	}
	return files, err
}
