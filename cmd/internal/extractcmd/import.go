package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

const importAbout = `import reads calls from files and sends no requests to the service. Each line is a JSON object (NDJSON): a call's
record or a list item, of API v3 or v2. Data compressed with gzip or zstd is decompressed; - is stdin.

For a known call, the newer data wins. The age of the data is the file's modification time or --as-of. An older
record, one from before the call's end, and one with another start or a shorter transcript only add a missing
transcript. Importing a file twice changes no call.

Lines that are not calls are set aside, named and counted (exit code 3).`

func importCommand(s *settings, stderr io.Writer) *cobra.Command {
	i := &importer{settings: s, stderr: stderr, outcome: schema.OutcomeRunning}
	cmd := &cobra.Command{
		Use: "import FILE... | -", Short: "Import calls from files of JSON lines", Long: importAbout,
		Example: `  extract import calls.ndjson.gz --as-of 2026-11-01
  extract import --details details/2026-10.ndjson details/2026-11.ndjson
  jq -c '.items[]' pages/*.json | extract import -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("extract import FILE..., or - for stdin", "no files given")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return i.run(cmd.Context(), args, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&i.asOf, "as-of", "", "time of the data, if not the files' modification time: 2026-11-01 (its begin\nin the zone tz) or 30d")
	f.BoolVar(&i.details, "details", false, "lines are call records: an empty transcript means that the call has none")
	return cmd
}

// importAgain is the advice for texts that could not be checked.
const importAgain = "import the files again"

// importer is one import.
type importer struct {
	*settings
	asOf    string // flag
	details bool   // flag
	id      string
	started time.Time
	stderr  io.Writer
	w       *sink.Warehouse
	in      *sink.Import
	named   int64 // skipped lines reported one by one
	outcome string
	row     schema.Run
	drift   wire.DriftCounts
}

func (i *importer) run(ctx context.Context, paths []string, stdin io.Reader) error {
	i.started = i.Now()
	i.id = runID(i.started)
	sources, err := i.sources(paths)
	if err != nil {
		return err
	}
	defer func() {
		for _, src := range sources {
			if src.file != nil {
				_ = src.file.Close() // it was only read
			}
		}
	}()
	opts := i.options(i.id)
	opts.Records = true
	return i.openWith(opts, func(w *sink.Warehouse) error {
		i.w = w
		if err := i.startMask(w); err != nil {
			return err
		}
		return i.fill(ctx, sources, stdin)
	})
}

// sources opens all files, so that a wrong name is reported before the import starts.
func (i *importer) sources(paths []string) (list []source, err error) {
	given, err := i.timeOf("as-of", i.asOf, i.started)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		src := source{path: "/dev/stdin", asOf: i.started.UnixMilli()}
		if path != "-" {
			if err := src.open(path); err != nil {
				return list, err
			}
		}
		if !given.IsZero() {
			src.asOf = given.UnixMilli()
		}
		src.asOf = min(src.asOf, i.started.UnixMilli())
		list = append(list, src)
	}
	return list, nil
}

// fill imports the sources and reports the result.
func (i *importer) fill(ctx context.Context, sources []source, stdin io.Reader) error {
	if _, err := i.w.Recover(ctx); err != nil {
		return explain(err)
	}
	i.w.NormalizePhones(ctx)
	i.in = i.w.NewImport(i.runRow, i.nameAside)
	var total int64
	for _, src := range sources {
		total += max(src.size, 0)
	}
	screen := newScreen(i.stderr, i.Quiet)
	i.stderr = screen.out
	err := i.add(ctx, sources, stdin, &watched{screen: screen, log: screen.logger(screen.out), total: total, read: new(int64)})
	screen.close()
	i.outcome = schema.OutcomeDone
	code := cli.ExitOK
	switch {
	case err != nil && ctx.Err() != nil:
		i.outcome, code = schema.OutcomeInterrupted, cli.ExitInterrupted
		err = errors.New("interrupted")
	case err != nil:
		i.outcome, code = schema.OutcomeFailed, cli.Code(explain(err))
	}
	cause := err
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	if code == cli.ExitOK {
		grace = ctx
	}
	err = i.w.Commit(grace, func(did sink.Stats, commits int64) schema.Run {
		row := i.runRow(did, commits)
		if row.Outcome == schema.OutcomeDone && (row.CallsSetAside > 0 || status.Unchecked(did.Redacted, importAgain) != nil) {
			row.Outcome = schema.OutcomeIncomplete
		}
		row.EndedAt = schema.Some(max(i.Now().UnixMilli(), row.StartedAt))
		if cause != nil {
			row.Error = i.Secrets.Error(cause)
		}
		i.row = row
		return row
	})
	if err != nil {
		return explain(errors.Join(err, cause))
	}
	i.report()
	aside := i.in.SetAside
	committed := "nothing was committed"
	if n := i.in.Lines - aside; n > 0 {
		committed = "committed: " + cli.Plural(n, "whole line")
	} else if cause == nil {
		committed += ": each line must be the JSON object of one call; jq -c '.[]' FILE makes lines of an array"
	}
	if cause != nil {
		return cli.Fail(code, cause, committed+"; "+cmp.Or(cli.Hint(cause), "to continue, import the same files again"))
	}
	if aside > 0 {
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s set aside: not a call", cli.Plural(aside, "line")), committed)
	}
	return status.Unchecked(i.w.Redacted(), importAgain)
}

// add imports one source after another.
func (i *importer) add(ctx context.Context, sources []source, stdin io.Reader, watch *watched) error {
	kind := schema.KindItem
	if i.details {
		kind = schema.KindDetail
	}
	for _, src := range sources {
		in := stdin
		if src.file != nil {
			in = src.file
		}
		watch.in = in
		r, err := src.lines(watch)
		if err == nil {
			err = i.in.Add(ctx, &sink.Dump{Name: src.path, Lines: r, AsOf: src.asOf, Kind: kind})
			_ = r.Close() // it was only read
		}
		if errors.Is(err, sink.ErrRead) {
			err = cli.Fail(cli.ExitFailed, err, "the file is cut off or damaged: get it again, and import it")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runRow returns the import's row of the table runs.
func (i *importer) runRow(did sink.Stats, commits int64) schema.Run {
	row := schema.Run{
		ID: i.id, StartedAt: i.started.UnixMilli(), Outcome: i.outcome, Version: cli.Version(),
		CallsListed: i.in.Lines, CallsSetAside: i.in.SetAside, Commits: commits,
	}
	did.AddTo(&row)
	row.DriftFields = status.DriftFields(did.Drift, i.Secrets)
	i.drift = did.Drift
	return row
}

// nameAside reports the first lines that are not calls.
func (i *importer) nameAside(a sink.AsideError) {
	if i.named++; i.named <= status.Listed {
		words.Fprintf(i.stderr, "set aside: %s\n", a.Error())
	}
}

func (i *importer) report() {
	if i.Quiet {
		return
	}
	r, n := &i.row, humanize.Comma
	words.Fprintf(i.stderr, "import %s %s in %s\n", r.ID, r.Outcome, cli.Clock(time.Duration(r.EndedAt.V-r.StartedAt)*time.Millisecond))
	line := func(name, format string, args ...any) {
		words.Fprintf(i.stderr, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("lines", "%s read, %s set aside", n(r.CallsListed), n(r.CallsSetAside))
	if r.CallsListed == 0 && r.Outcome == schema.OutcomeDone {
		line("", "the input is empty")
	}
	line("calls", "%s new, %s changed, %s settled", n(r.CallsNew), n(r.CallsChanged), n(r.CallsSettled))
	line("transcripts", "%s read (%s turns), %s pending", n(r.Transcripts), n(r.Turns), n(r.CallsPending))
	status.DriftLine(line, r.Drift, i.drift)
	status.RedactedLines(line, status.RedactedCounts(r.Redacted), importAgain)
	if snapshot, err := layout.Current(i.Warehouse); err == nil {
		line("warehouse", "%s", snapshot.Dir)
	}
}
