package querycmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/question"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// exportName is the file that describes an export.
const exportName = "manifest.json"

// exportVersion is the version of its format.
const exportVersion = 1

// exported is its content.
type exported struct {
	ExportVersion int            `json:"export_version"`
	Warehouse     string         `json:"warehouse"`
	Snapshot      int64          `json:"snapshot"`
	RunID         string         `json:"run_id"`
	CommittedAt   time.Time      `json:"committed_at"`
	ExportedAt    time.Time      `json:"exported_at"`
	Program       string         `json:"program"`
	Format        string         `json:"format"`
	Zone          string         `json:"zone"`
	Since         *time.Time     `json:"since"`
	Until         *time.Time     `json:"until"`
	Agent         string         `json:"agent,omitempty"`
	By            string         `json:"by,omitempty"`
	Where         []string       `json:"where,omitempty"`
	Files         []exportedFile `json:"files"`
}

type exportedFile struct {
	Name    string           `json:"name"`
	Kind    string           `json:"kind"` // table or report
	Path    string           `json:"path"` // next to the manifest
	Rows    int64            `json:"rows"`
	Bytes   int64            `json:"bytes"`
	SHA256  string           `json:"sha256"`
	Columns []exportedColumn `json:"columns"`
	// Remarks describe the data that a report lacks.
	Remarks []string `json:"remarks,omitempty"`
}

type exportedColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // DuckDB's name of its type in the file
	Unit string `json:"unit,omitempty"`
}

func (a *app) exportCommand() *cobra.Command {
	var tables, reports []string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write tables and reports as a folder of Parquet, CSV or Excel files",
		Long: `Write tables and reports to the folder DIR, one file each: all tables, unless
--tables or --reports select others. All files come from one snapshot;
manifest.json names it and lists the rows, bytes and checksum of each file.

The folder is put in place by one rename and replaces an earlier export, so readers
see either the old files or the new ones. Rows are streamed: memory use does not
grow with the size of the export.

A new folder has mode 0700 and its files 0600. An export that replaces another one,
or an empty folder, keeps that folder's mode and derives the files' mode from it.`,
		Example: `  query export /srv/bi/calls --since 30d
  query export daily --reports sentiment,durations --by day --format csv`,
		Args: arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Output != "" {
				return cli.Usage("for example: query export calls-export", "export takes its folder as DIR, without --output")
			}
			a.Output = args[0]
			return a.export(cmd.Context(), tables, reports, cmd.Flags().Changed("tables") || cmd.Flags().Changed("reports"))
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&tables, "tables", nil, "`NAMES` of tables, comma-separated")
	fl.StringSliceVar(&reports, "reports", nil, "`NAMES` of reports, comma-separated")
	fl.StringVar(&a.Since, "since", "", "only calls that start at or after `TIME`: a date (2026-11-01), an RFC 3339 time, or an age (7d)")
	fl.StringVar(&a.Until, "until", "", "only calls that start before `TIME`; a date means 00:00 of that day")
	a.groupFlag(cmd)
	a.whereFlag(cmd)
	a.agentFlag(cmd)
	cli.Complete(cmd, "tables", answer.Names(sqlfiles.ViewsByName())...)
	cli.Complete(cmd, "reports", answer.Names(exportable())...)
	return cmd
}

// exportable returns the reports without arguments.
func exportable() []*sqlfiles.File {
	return slices.DeleteFunc(sqlfiles.Reports(), func(f *sqlfiles.File) bool { return f.Arguments != "" })
}

// named returns the named ones of all, each once.
func named[T comparable](what string, names []string, all []T, nameOf func(T) string) (out []T, err error) {
	for _, n := range names {
		i := slices.IndexFunc(all, func(x T) bool { return nameOf(x) == n })
		if i < 0 {
			var known []string
			for _, x := range all {
				known = append(known, nameOf(x))
			}
			return nil, cli.Usage(cli.Suggest(n, known, what+"s: "+strings.Join(known, ", ")), "unknown %s %q", what, n)
		}
		if !slices.Contains(out, all[i]) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// exportFormat returns the format of an export's files.
func (a *app) exportFormat() (format.Format, error) {
	a.Format = cmp.Or(a.Format, string(format.Parquet))
	f, err := a.OutputFormat()
	if err == nil && !f.Exact() {
		return f, cli.Usage("write parquet, csv or another format for programs", "export cannot write the format %q", f)
	}
	return f, err
}

func (a *app) export(ctx context.Context, tableNames, reportNames []string, chosen bool) (err error) {
	e := &exporter{app: a}
	nameOf := func(f *sqlfiles.File) string { return f.Name }
	if e.loc, e.now, e.params, err = a.parseReportFlags(); err != nil {
		return err
	}
	if e.format, err = a.exportFormat(); err != nil {
		return err
	}
	if !chosen {
		tableNames = answer.Names(sqlfiles.ViewsByName())
	}
	if e.tables, err = named("table", tableNames, sqlfiles.ViewsByName(), nameOf); err != nil {
		return err
	}
	if e.reports, err = named("report", reportNames, exportable(), nameOf); err != nil {
		return err
	}
	if err := exportTarget(a.Output); err != nil {
		return err
	}
	o := a.Options(e.loc)
	o.OldestFirst = true
	if e.w, err = analytics.Open(ctx, a.Warehouse, o); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, e.w.Close()) }()
	m, err := e.run(ctx)
	if err != nil {
		return err
	}
	var rows, bytes int64
	for _, f := range m.Files {
		rows, bytes = rows+f.Rows, bytes+f.Bytes
	}
	words.Fprintf(a.Stderr, "%s: %s, %s, %s of snapshot %d\n", a.Output, cli.Plural(int64(len(m.Files)), "file"), cli.Plural(rows, "row"),
		humanize.IBytes(uint64(bytes)), m.Snapshot)
	return nil
}

// exportTarget returns nil if the folder does not exist, is empty, or contains an earlier export.
func exportTarget(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return answer.Unwritable(dir, err)
	}
	var m exported
	known := map[string]bool{}
	if raw, err := os.ReadFile(filepath.Join(dir, exportName)); err == nil && json.Unmarshal(raw, &m) == nil && m.ExportVersion > 0 {
		known[exportName] = true
		for _, f := range m.Files {
			known[f.Path] = true
		}
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			return cli.Usage("give a folder that does not exist, is empty, or contains only an earlier export",
				"%s contains %s, which is not part of an export", dir, entry.Name())
		}
	}
	return nil
}

// exporter is an export in progress.
type exporter struct {
	*app
	w               *analytics.Warehouse
	loc             *time.Location
	now             time.Time
	params          question.Params
	format          format.Format
	tables, reports []*sqlfiles.File
	mode            os.FileMode // of its files
}

// run writes everything into a folder next to the target and swaps it in.
func (e *exporter) run(ctx context.Context) (m *exported, err error) {
	target, err := filepath.Abs(e.Output)
	if err != nil {
		return nil, answer.Unwritable(e.Output, err)
	}
	mode := e.FolderMode(target)
	e.mode = mode &^ 0o111
	tmp, err := scratch.Folder(target)
	if err != nil {
		return nil, answer.Unwritable(e.Output, err)
	}
	dir := tmp.Path
	defer func() { err = cmp.Or(err, tmp.Remove()) }() // after the swap it holds the old export
	if m, err = e.fill(ctx, dir); err != nil {
		return nil, answer.Unwritable(e.Output, err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		return nil, answer.Unwritable(e.Output, err)
	}
	if err := exportTarget(target); err != nil { // others may have put something into it meanwhile
		return nil, err
	}
	if err := errors.Join(syncDir(dir), swapFolder(dir, target), syncDir(filepath.Dir(target))); err != nil {
		return nil, answer.Unwritable(e.Output, err)
	}
	return m, nil
}

func (e *exporter) fill(ctx context.Context, dir string) (*exported, error) {
	snap := e.w.Snapshot()
	root, err := filepath.Abs(snap.Root())
	if err != nil {
		return nil, err
	}
	m := &exported{ExportVersion: exportVersion, Warehouse: root, Snapshot: snap.Manifest.Snapshot, RunID: snap.Manifest.RunID,
		CommittedAt: snap.Manifest.CommittedAt, ExportedAt: e.now.UTC().Truncate(time.Second), Program: "query " + cli.Version(),
		Format: string(e.format), Zone: e.loc.String(), Since: bound(e.params.Since), Until: bound(e.params.Until),
		Agent: e.params.Agent, By: e.params.By, Where: e.params.Where,
		Files: []exportedFile{}}
	for _, t := range e.tables {
		rows, err := e.w.Table(ctx, t.Name, e.params)
		if err != nil {
			return nil, err
		}
		f, err := e.file(ctx, dir, t.Name, rows, func(context.Context) ([][2]string, error) {
			return e.w.About(t.Name, t.Answers, e.params), nil
		})
		rows.Close()
		if err != nil {
			return nil, err
		}
		f.Kind = "table"
		m.Files = append(m.Files, *f)
	}
	for _, r := range e.reports {
		f, err := e.report(ctx, dir, r)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, *f)
	}
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, exportName)
	if err := os.WriteFile(path, append(raw, '\n'), 0o600); err != nil {
		return nil, err
	}
	return m, durable(path, e.mode)
}

func (e *exporter) report(ctx context.Context, dir string, r *sqlfiles.File) (*exportedFile, error) {
	p := e.params
	if !r.Grouped() {
		p.By = ""
	}
	answer, err := e.w.Ask(ctx, analytics.Question{Report: r.Name, Params: p, Now: e.now})
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	name := r.Name
	if slices.ContainsFunc(e.tables, func(t *sqlfiles.File) bool { return t.Name == name }) {
		name += "_report"
	}
	f, err := e.file(ctx, dir, name, answer.Rows, answer.About)
	if err != nil {
		return nil, err
	}
	remarks, err := answer.Remarks(ctx)
	if err != nil {
		return nil, err
	}
	f.Name, f.Kind, f.Remarks = r.Name, "report", remarks.Lines(e.loc)
	return f, nil
}

// file writes rows to a named file.
func (e *exporter) file(ctx context.Context, dir, name string, rows *analytics.Rows,
	about func(context.Context) ([][2]string, error)) (*exportedFile, error) {
	f := &exportedFile{Name: name, Path: name + "." + e.format.Ending()}
	for _, c := range rows.Columns() {
		f.Columns = append(f.Columns, exportedColumn{Name: c.Name, Type: e.format.Type(c), Unit: string(c.Unit)})
	}
	path := filepath.Join(dir, f.Path)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	r, err := format.Write(ctx, io.MultiWriter(out, sum), e.format, rows,
		format.Options{Location: e.loc, Comma: e.Decimal == ",", Title: name, About: about})
	if err == nil {
		err = errors.Join(out.Chmod(e.mode), out.Sync())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	for _, n := range r.Notes {
		words.Fprintln(e.Stderr, f.Path+": "+n)
	}
	f.Rows, f.Bytes, f.SHA256 = r.Rows, info.Size(), hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

func bound(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// swapFolder replaces target by the folder made, which is then the old one, if there was one. Where the
// system cannot exchange two names, target is briefly missing.
func swapFolder(made, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(made, target)
	}
	if err := exchange(made, target); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	old := made + ".old"
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(made, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.Rename(old, made)
}
