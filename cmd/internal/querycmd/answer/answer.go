// Package answer is shared by query's commands: it selects the warehouse and time zone, and the
// format and destination of the answer.
package answer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/question"
	sqlfiles "callhouse/sql"
)

// Command is a command with its settings, input and outputs.
type Command struct {
	config.Config
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Output         string          // output file; empty: stdout
	Decimal        string          // sign of numbers in CSV for spreadsheets
	Usual          string          // default format
	Goals          []question.Goal // of the setting success
	Columns        int             // width of the terminal that gets stdout; 0: stdout itself tells
}

// Drawing returns the options for writing an answer; on stdout they depend on the terminal.
func (c *Command) Drawing(loc *time.Location) format.Options {
	o := format.Options{Location: loc, Comma: c.Decimal == ","}
	if c.Output == "" {
		o.Width = c.Width()
	}
	return o
}

// Location returns the zone of --tz. "Local" is refused, because the answer would depend on the
// machine.
func (c *Command) Location() (*time.Location, error) { return Zone(c.TZ) }

// Zone returns a named time zone.
func Zone(name string) (*time.Location, error) {
	loc, err := cli.Zone(name)
	if err != nil {
		return nil, zoneError(name)
	}
	return loc, nil
}

func zoneError(name string) error {
	near, _ := database.NearestZone(context.Background(), name) // a suggestion is dispensable
	return cli.UnknownZone(name, near)
}

// CheckDecimal checks that a format takes the sign of --decimal.
func (c *Command) CheckDecimal(f format.Format) error {
	switch {
	case c.Decimal == "" || c.Decimal == ".":
		return nil
	case c.Decimal != ",":
		return cli.Usage("use --decimal , or leave it out", "--decimal %q is neither a point nor a comma", c.Decimal)
	case f != format.CSVExcel:
		return cli.Usage("add --format csv-excel, or write xlsx, which every language reads", "--decimal is for csv-excel, not for %s", f)
	}
	return nil
}

// OutputFormat returns the format of --format or of the extension of --output.
func (c *Command) OutputFormat() (format.Format, error) {
	if c.Format == "" {
		if f, ok := format.OfFile(c.Output); ok {
			return f, c.CheckDecimal(f)
		}
		if c.Usual == "" {
			return format.Table, c.CheckDecimal(format.Table)
		}
	}
	wanted := cmp.Or(c.Format, c.Usual)
	if f, ok := format.Parse(wanted); ok {
		if f.Binary() && c.Output == "" && c.Width() > 0 {
			return "", cli.Usage("write it to a file, e.g. --output calls."+string(f),
				"--format %s is binary and cannot be printed to a terminal", f)
		}
		return f, c.CheckDecimal(f)
	}
	names := FormatNames()
	hint := cli.Suggest(wanted, names, "formats: "+strings.Join(names, ", "))
	return "", cli.Usage(hint, "unknown format %q", wanted)
}

// FormatNames returns the names of all formats.
func FormatNames() []string {
	var names []string
	for _, f := range format.All() {
		names = append(names, string(f))
	}
	return names
}

// reportMemory is the limit of DuckDB's memory for reports: over millions of calls, what does not fit
// goes to temporary files.
const reportMemory = "1GB"

// Options returns the settings for opening the warehouse in a zone.
func (c *Command) Options(loc *time.Location) analytics.Options {
	return analytics.Options{Currency: c.Currency, Goals: c.Goals, Options: database.Options{Location: loc, MemoryLimit: reportMemory}}
}

// Open opens the warehouse in the zone of --tz.
func (c *Command) Open(ctx context.Context) (*analytics.Warehouse, error) {
	loc, err := c.Location()
	if err != nil {
		return nil, err
	}
	return analytics.Open(ctx, c.Warehouse, c.Options(loc))
}

// WriteStatic writes rows of text without a warehouse.
func (c *Command) WriteStatic(ctx context.Context, heads []string, rows [][]any) error {
	r, err := c.Write(ctx, format.Texts(heads, rows), time.UTC)
	if err == nil {
		c.Notes(r)
	}
	return err
}

// ErrLongText reports a text too long for a statement.
var ErrLongText = errors.New("a statement cannot exceed 1 MiB")

// ReadText reads a statement up to the maximum size.
func ReadText(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, guard.MaxText+1))
	if err == nil && len(raw) > guard.MaxText {
		err = ErrLongText
	}
	return string(raw), err
}

// ReadFile is ReadText for a file.
func ReadFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := ReadText(f)
	if err != nil {
		return "", &os.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}

// Names returns the names of definitions.
func Names(files []*sqlfiles.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

// Wrap joins words to lines no longer than width.
func Wrap(words []string, width int) string {
	var lines []string
	for _, w := range words {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(w) <= width {
			lines[last] += " " + w
		} else {
			lines = append(lines, w)
		}
	}
	return strings.Join(lines, "\n")
}
