// Package format writes rows: as a table for people, as CSV for programs and for
// spreadsheets, as Excel's own files, and as JSON, NDJSON, Markdown, Parquet and Arrow. It holds no more than
// a bounded number of rows, prints to
// nothing but the writer it is given, and knows neither DuckDB nor warehouses.
package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// Format names a way to write rows.
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
	Arrow    Format = "arrow"  // an IPC file
	Arrows   Format = "arrows" // an IPC stream
	XLSX     Format = "xlsx"
)

// All returns every format.
func All() []Format {
	return []Format{Table, CSV, CSVExcel, XLSX, JSON, NDJSON, Markdown, Parquet, Arrow, Arrows}
}

// Binary reports whether a terminal can make nothing of the format.
func (f Format) Binary() bool { return f == Parquet || f == Arrow || f == Arrows || f == XLSX }

// Exact reports whether the format is for programs, and holds what they need.
func (f Format) Exact() bool { return f != Table && f != Markdown }

// Ending is that of the names of the format's files, without a point.
func (f Format) Ending() string {
	if f == CSVExcel {
		return string(CSV)
	}
	return string(f)
}

// Parse returns the format called name.
func Parse(name string) (Format, bool) {
	for _, f := range All() {
		if string(f) == name {
			return f, true
		}
	}
	return "", false
}

// OfFile returns the format that a file's name asks for by its ending.
func OfFile(name string) (Format, bool) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv", ".json", ".ndjson", ".parquet", ".arrow", ".arrows", ".xlsx":
		return Format(ext[1:]), true
	case ".jsonl":
		return NDJSON, true
	case ".md":
		return Markdown, true
	}
	return "", false
}

// Source gives rows, one after the other. Next returns io.EOF after the last,
// and may reuse the slice that it returns. Skip drops some rows and returns how
// many, 0 after the last.
type Source interface {
	Columns() []value.Column
	Next(ctx context.Context) ([]any, error)
	Skip(ctx context.Context) (int, error)
}

// Options say how rows are written.
type Options struct {
	Location *time.Location // of instants; nil is UTC
	// Width is the width of the terminal that a table is for; 0: no terminal,
	// which makes it plain, whole and as wide as it needs to be.
	Width int
	// Heading stands above what people read; machines' formats have none.
	Heading string
	// Instead names, to who does not see all of a table, the format that has all
	// of it; empty: "--format csv".
	Instead string
}

// Result says what was written.
type Result struct {
	Rows int64
	// Notes are what a reader should know of an answer that does not show all.
	Notes []string
}

// instead is what o names, or its default.
func (o Options) instead() string {
	if o.Instead == "" {
		return "--format csv"
	}
	return o.Instead
}

// Write writes all rows of src.
func Write(ctx context.Context, w io.Writer, f Format, src Source, o Options) (Result, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	buf := bufio.NewWriterSize(w, 64<<10)
	var r Result
	var err error
	if o.Heading != "" && (f == Table || f == Markdown) {
		_, _ = buf.WriteString(words.Line(o.Heading) + "\n\n") // Flush tells the error
	}
	if c, ok := src.(comparison); ok && !f.Exact() {
		src = c.lines(o.Location)
	}
	switch f {
	case Table:
		if d, ok := src.(*drawn); ok && o.Width > 0 {
			r, err = writeHeat(ctx, buf, d, o)
			break
		}
		r, err = writeTable(ctx, buf, src, o)
	case CSV:
		r, err = writeCSV(ctx, buf, src, o, shown(exact{}, o))
	case CSVExcel:
		r, err = writeCSV(ctx, buf, src, o, shown(spreadsheet{}, o))
	case JSON:
		r, err = writeJSON(ctx, buf, src, o, "[\n", ",\n", "\n]\n", "[]\n")
	case NDJSON:
		r, err = writeJSON(ctx, buf, src, o, "", "\n", "\n", "")
	case Parquet:
		r, err = writeParquet(ctx, buf, src, o)
	case Arrow, Arrows:
		r, err = writeArrow(ctx, buf, src, o, f)
	case XLSX:
		r, err = writeXLSX(ctx, buf, src, o)
	case Markdown:
		r, err = writeMarkdown(ctx, buf, src, o)
	default:
		return r, fmt.Errorf("write rows: unknown format %q", f)
	}
	return r, errors.Join(err, buf.Flush())
}

// each calls do for every row.
func each(ctx context.Context, src Source, do func(row []any) error) (Result, error) {
	var r Result
	for {
		row, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		if err := do(row); err != nil {
			return r, err
		}
		r.Rows++
	}
}
