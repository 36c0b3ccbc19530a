// Package answer is what query's commands have in common: which warehouse they ask,
// in which zone, and how and where the answer is written.
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
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/proven"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// Command is a command that answers: its settings, and where it reads and writes.
type Command struct {
	config.Config
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Output         string          // the file to write to; empty: stdout
	Usual          string          // the format where no flag and no ending says one
	Goals          []question.Goal // what the setting success says
	SkipDamaged    bool            // answer without what is damaged
	skipped        bool            // something was
	Shell          *Shell          // that runs the command; nil elsewhere
}

// Shell is what a shell lends to the commands that it runs.
type Shell struct {
	Root  string
	House *analytics.Warehouse // open, at one snapshot
	Width int                  // of the terminal that the answer ends on
	// Instead names the format that has all of an answer; see format.Options.
	Instead string
	Wrote   *format.Result
}

// kept returns the shell's warehouse, if it is the one that is asked for.
func (c *Command) kept(loc *time.Location) *analytics.Warehouse {
	if s := c.Shell; s != nil && s.Root == c.Warehouse && s.House.Location().String() == loc.String() {
		return s.House
	}
	return nil
}

// Release closes a warehouse, unless it belongs to a shell.
func (c *Command) Release(w *analytics.Warehouse) error {
	if c.Shell != nil && c.Shell.House == w {
		return nil
	}
	return w.Close()
}

// Drawing says how an answer is written; on stdout that depends on the terminal.
func (c *Command) Drawing(loc *time.Location) format.Options {
	if c.Output != "" {
		return format.Options{Location: loc}
	}
	o := format.Options{Location: loc, Width: c.Width()}
	if c.Shell != nil {
		o.Instead = c.Shell.Instead
	}
	return o
}

// wrote lets a shell know what was written.
func (c *Command) wrote(r format.Result) {
	if c.Shell != nil {
		c.Shell.Wrote = &r
	}
}

// Location returns the zone that --tz names. "Local" would make the answer
// depend on the machine, and is refused.
func (c *Command) Location() (*time.Location, error) { return Zone(c.TZ) }

// Zone returns the time zone with a name.
func Zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return nil, zoneError(name)
	}
	return loc, nil
}

func zoneError(name string) error {
	hint := "zones are spelled as in Asia/Seoul, Europe/Berlin, UTC"
	if near, err := opened.NearestZone(context.Background(), name); err == nil {
		hint = cli.DidYouMean(near, hint)
	}
	return cli.Usage(hint, "there is no time zone %q", name)
}

// OutputFormat returns the format that --format or the ending of --output names.
func (c *Command) OutputFormat() (format.Format, error) {
	if c.Format == "" {
		if f, ok := format.OfFile(c.Output); ok {
			return f, nil
		}
		if c.Usual == "" {
			return format.Table, nil
		}
	}
	wanted := cmp.Or(c.Format, c.Usual)
	if f, ok := format.Parse(wanted); ok {
		if f.Binary() && c.Output == "" && c.Width() > 0 {
			return "", cli.Usage("give it a file, as in --output calls."+string(f), "--format %s is not for a terminal", f)
		}
		return f, nil
	}
	names := FormatNames()
	hint := cli.Suggest(wanted, names, "formats: "+strings.Join(names, ", "))
	return "", cli.Usage(hint, "there is no format %q", wanted)
}

// FormatNames are the names of the formats.
func FormatNames() []string {
	var names []string
	for _, f := range format.All() {
		names = append(names, string(f))
	}
	return names
}

// Options are what the settings say of how the warehouse is opened in a zone.
func (c *Command) Options(loc *time.Location) analytics.Options {
	return analytics.Options{Currency: c.Currency, Country: c.Country, Goals: c.Goals,
		Options: opened.Options{Location: loc, Prover: proven.Open(c.Warehouse, time.Now)}}
}

// Open opens the warehouse in a zone. Give what it returns to Release.
func (c *Command) Open(ctx context.Context, loc *time.Location) (*analytics.Warehouse, error) {
	if w := c.kept(loc); w != nil {
		return w, nil
	}
	o := c.Options(loc)
	o.SkipDamaged = c.SkipDamaged
	w, err := analytics.Open(ctx, c.Warehouse, o)
	if err == nil {
		c.LeftOut(w.Skipped())
	}
	return w, err
}

// LeftOut says on stderr what an answer leaves out, and lets the command end with exit code 3.
func (c *Command) LeftOut(skipped []opened.Skipped) {
	for _, s := range skipped {
		c.skipped = true
		words.Fprintf(c.Stderr, "damaged, and left out: %s\n", s)
	}
}

// Incomplete returns the error of a command that answered without what is damaged; nil if it
// left nothing out.
func (c *Command) Incomplete() error {
	if !c.skipped {
		return nil
	}
	return cli.Reported(cli.Fail(cli.ExitIncomplete, errors.New("the answer leaves out what is damaged"), ""))
}

// WriteStatic writes rows of text that need no warehouse.
func (c *Command) WriteStatic(ctx context.Context, heads []string, rows [][]any) error {
	columns := make([]value.Column, len(heads))
	for i, h := range heads {
		columns[i] = value.Column{Name: h, Type: "VARCHAR", Kind: value.Text, Wrap: i == len(heads)-1}
	}
	r, err := c.Write(ctx, format.NewStatic(columns, rows), time.UTC)
	if err == nil {
		c.Notes(r)
	}
	return err
}

// ErrLongText says that a text is too long for a statement.
var ErrLongText = errors.New("it has more than 1 MiB, and a statement may not")

// ReadText reads a statement, but no more than a statement may have.
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

// Names are the names of definitions.
func Names(files []*sqlfiles.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

// Wrap joins words to lines that are no longer than width.
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
