package extractcmd

import (
	"io"
	"log/slog"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

// report writes the run's result: several lines of text, or one line in a JSON log.
func (n *night) report(stderr io.Writer) {
	if n.row == nil || n.Quiet {
		return
	}
	r := runreport.Report{Row: n.row, Crawl: n.rep, ListOnly: n.ListOnly, Failures: n.failures, Objects: n.objects, Erased: n.aged,
		ErasedBefore: n.kept}
	if now, err := layout.Current(n.Warehouse); err == nil {
		r.Snapshot = now.Dir
	}
	if n.LogFormat == "json" {
		r.Log(n.log)
	} else {
		r.Write(stderr)
	}
}

// logged writes the run's error to a JSON log, so that every line is an object; otherwise main prints
// it.
func (n *night) logged(err error) error {
	if n.LogFormat != "json" {
		return err
	}
	return logError(n.log, err)
}

// logError logs an error, unless it was already reported, and marks it as reported.
func logError(log *slog.Logger, err error) error {
	if err == nil || cli.WasReported(err) {
		return err
	}
	args := []any{"exit_code", cli.Code(err)}
	if hint := cli.Hint(err); hint != "" {
		args = append(args, "hint", hint)
	}
	log.Error(words.Error(err), args...)
	return cli.Reported(err)
}
