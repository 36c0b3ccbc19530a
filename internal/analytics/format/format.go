// Package format writes rows as tables for people, and in the formats of programs and spreadsheets. It holds a bounded
// number of rows, writes only to the given writer, and does not depend on DuckDB or warehouses.
package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// Format is the name of an output format.
type Format string

// The formats.
const (
	Table    Format = "table"
	CSV      Format = "csv"
	CSVExcel Format = "csv-excel" // CSV for spreadsheets
	JSON     Format = "json"
	NDJSON   Format = "ndjson"
	Markdown Format = "markdown"
	Parquet  Format = "parquet"
	Arrow    Format = "arrow" // Arrow IPC file
	XLSX     Format = "xlsx"
)

// All returns every format.
func All() []Format {
	return []Format{Table, CSV, CSVExcel, XLSX, JSON, NDJSON, Markdown, Parquet, Arrow}
}

// Binary reports whether the format is unreadable on a terminal.
func (f Format) Binary() bool { return f == Parquet || f == Arrow || f == XLSX }

// Exact reports whether the format keeps exact values, for programs.
func (f Format) Exact() bool { return f != Table && f != Markdown }

// Ending returns the extension of the format's files, without the dot.
func (f Format) Ending() string {
	if f == CSVExcel {
		return string(CSV)
	}
	return string(f)
}

// Parse returns the format with a name.
func Parse(name string) (Format, bool) { return Format(name), slices.Contains(All(), Format(name)) }

// OfFile returns the format of a file name's extension.
func OfFile(name string) (Format, bool) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv", ".json", ".ndjson", ".parquet", ".arrow", ".xlsx":
		return Format(ext[1:]), true
	case ".jsonl":
		return NDJSON, true
	case ".md":
		return Markdown, true
	}
	return "", false
}

// Source returns rows one by one. Values returns io.EOF after the last row; a row is valid until the
// next call.
type Source interface {
	Columns() []value.Column
	Values(ctx context.Context) ([]value.Value, error)
}

// Options control how rows are written.
type Options struct {
	Location *time.Location // of instants; nil is UTC
	// Width is the width of the terminal; 0: no terminal, so tables are plain, complete and as wide as necessary.
	Width int
	// Heading is written above the rows in formats for people.
	Heading string
	// Title names the sheet of a workbook. About describes the answer on a second one, and is called
	// after the last row; nil: no such sheet.
	Title string
	About func(context.Context) ([][2]string, error)
	// Comma makes the decimal sign of CSVExcel a comma, and its separator a semicolon.
	Comma bool
}

// Result describes the output.
type Result struct {
	Rows int64
	// Notes tell the reader what the output omits.
	Notes []string
}

// Write writes all rows of src.
func Write(ctx context.Context, w io.Writer, f Format, src Source, o Options) (Result, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	buf := bufio.NewWriterSize(w, 64<<10)
	var r Result
	var err error
	heading := words.Line(o.Heading)
	if f == Markdown {
		heading = blockRE.ReplaceAllString(escapeMarkdown(strings.TrimSpace(heading)), `$1\$2$3`)
	}
	if heading != "" && !f.Exact() {
		_, _ = buf.WriteString(heading + "\n\n") // Flush returns the error
	}
	switch f {
	case Table:
		r, err = writeTable(ctx, buf, src, o)
	case CSV:
		r, err = writeCSV(ctx, buf, src, o, shown(exact, o))
	case CSVExcel:
		r, err = writeCSV(ctx, buf, src, o, shown(spreadsheet(o.Comma), o))
	case JSON:
		r, err = writeJSON(ctx, buf, src, o, "[\n", ",\n", "\n]\n", "[]\n")
	case NDJSON:
		r, err = writeJSON(ctx, buf, src, o, "", "\n", "\n", "")
	case Parquet:
		r, err = writeParquet(ctx, buf, src, o)
	case Arrow:
		r, err = writeArrow(ctx, buf, src, o)
	case XLSX:
		r, err = writeXLSX(ctx, buf, src, o)
	case Markdown:
		r, err = writeMarkdown(ctx, buf, src, o)
	default:
		return r, fmt.Errorf("write rows: unknown format %q", f)
	}
	if flushed := buf.Flush(); err == nil {
		err = flushed // after a failed write, the same error again
	}
	return r, err
}

// each calls do for every row.
func each(ctx context.Context, src Source, do func(row []value.Value) error) (Result, error) {
	n, _, err := some(ctx, src, math.MaxInt64, do)
	return Result{Rows: n}, err
}

// some calls do for up to most rows, and returns their number and whether they were the last.
func some(ctx context.Context, src Source, most int64, do func(row []value.Value) error) (n int64, eof bool, err error) {
	for ; n < most; n++ {
		row, err := src.Values(ctx)
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err == nil {
			err = do(row)
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}
