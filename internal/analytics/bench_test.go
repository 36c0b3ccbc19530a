package analytics_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

var (
	benchCalls = flag.Int64("bench-calls", 100_000, "calls that the benchmarks are over")
	benchEvery = flag.Int64("bench-every", 3, "take the transcript of every so many-th call, 10 turns a call in all; 0: of none")
	benchDir   = flag.String("bench-dir", "", "keep the benchmarks' warehouses here, and use them again")
)

// benchJSONCalls is the maximum number of calls for which JSON is compared.
const benchJSONCalls = 1_000_000

// BenchmarkReports runs the reports over a year of a company's calls, warm, with two threads, over
// the warehouse's files. It runs reports over calls alone also over a DuckDB table, and over the
// rows as JSON lines. make bench-query runs it.
//
//	median-ms  median of the runs, by the clock
//	cpu-ms     processor time of a run, half of it: what two idle cores take
//	peak-MB    most memory that the process had in any run
//	coverage-ms  median of the line on coverage, which comes with every report
func BenchmarkReports(b *testing.B) {
	root := benchWarehouse(b)
	for _, over := range []string{"parquet", "native", "json"} {
		b.Run(over, func(b *testing.B) {
			o := opened.Options{Location: zone(b, "Asia/Seoul"), Threads: 2}
			w, err := analytics.Open(b.Context(), root, analytics.Options{Options: o})
			test.OK(b, err)
			defer w.Close()
			bys := []string{"", "agent", "day", "metadata.campaign"}
			if over != "parquet" {
				bys = bys[:1]
				if !benchInstead(b, w, over) {
					b.Skip("compared up to", benchJSONCalls, "calls")
				}
			}
			for _, f := range sqlfiles.Reports() {
				if f.Name == "call" || over != "parquet" && !onlyCalls(f) {
					continue
				}
				for _, by := range bys {
					if by == "" || f.Grouped() {
						p := question.Params{By: by, Words: []string{"sorry"}}
						b.Run(f.Name+"/by="+by, func(b *testing.B) { benchReport(b, w, f.Name, p) })
					}
				}
			}
		})
	}
}

func onlyCalls(f *sqlfiles.File) bool {
	return !slices.ContainsFunc(f.Reads, func(r string) bool {
		return slices.Contains([]string{"selected_turns", "selected_tool_calls", "selected_items"}, r)
	})
}

// benchInstead replaces the stored calls with a DuckDB table or JSON lines. They are created once,
// next to the warehouse.
func benchInstead(b *testing.B, w *analytics.Warehouse, over string) bool {
	path := filepath.Join(benchRoot(), over)
	var text string
	switch {
	case over == "native":
		text = fmt.Sprintf("ATTACH '%s' AS native;\nCREATE TABLE IF NOT EXISTS native.calls AS SELECT * FROM stored.calls;\n"+
			"CREATE OR REPLACE VIEW stored.calls AS SELECT * FROM native.calls", path)
	case *benchCalls > benchJSONCalls:
		return false
	default:
		if _, err := os.Stat(path); err != nil {
			text = fmt.Sprintf("COPY (SELECT * FROM stored.calls) TO '%s' (FORMAT json);\n", path)
		}
		var columns []string
		for _, c := range schema.Calls.Columns {
			columns = append(columns, fmt.Sprintf("%s: '%s'", c.Name, c.Type.DuckDB()))
		}
		text += fmt.Sprintf("CREATE OR REPLACE VIEW stored.calls AS SELECT * FROM read_json('%s', format = 'newline_delimited', columns = {%s})",
			path, strings.Join(columns, ", "))
	}
	test.OK(b, exec(b.Context(), w, text))
	return true
}

func benchReport(b *testing.B, w *analytics.Warehouse, name string, p question.Params) {
	run := func() time.Duration {
		start := time.Now()
		rows, err := w.Report(b.Context(), name, p)
		test.OK(b, err)
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
	// Reset the peak memory; not every system supports this.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	var took []time.Duration
	b.ResetTimer()
	before := processorTime()
	for range b.N {
		took = append(took, run())
	}
	cpu := processorTime() - before
	slices.Sort(took)
	var covered []time.Duration
	for range b.N {
		start := time.Now()
		if _, err := w.Coverage(b.Context(), name, p, benchOrigin); err != nil {
			b.Fatal(err)
		}
		covered = append(covered, time.Since(start))
	}
	slices.Sort(covered)
	b.ReportMetric(milliseconds(covered[(len(covered)-1)/2]), "coverage-ms")
	b.ReportMetric(0, "ns/op") // the mean, which is less useful
	b.ReportMetric(milliseconds(took[(len(took)-1)/2]), "median-ms")
	b.ReportMetric(milliseconds(cpu)/2/float64(b.N), "cpu-ms")
	b.ReportMetric(peakMB(), "peak-MB")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMB returns the peak memory of the process; 0 if unknown.
func peakMB() float64 {
	raw, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	return 0
}

// exec runs statements that replace stored relations.
func exec(ctx context.Context, w *analytics.Warehouse, text string) error {
	conn, err := w.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := w.DefineAll(ctx, conn); err != nil {
		return err
	}
	return conn.Exec(ctx, text)
}
