package extractcmd

import (
	"io"
	"log/slog"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

// report tells what the run came to: a person in some lines, a log of JSON in
// one.
func (n *night) report(stderr io.Writer) {
	if n.row == nil || n.Quiet {
		return
	}
	r := runreport.Report{Row: n.row, Crawl: n.rep, Failures: n.failures, Erased: n.aged, ErasedBefore: n.kept}
	if now, err := layout.Current(n.Warehouse); err == nil {
		r.Snapshot = now.Dir
	}
	if n.LogFormat == "json" {
		r.Log(n.log)
	} else {
		r.Write(stderr)
	}
}

// told says how the run ended where the log is JSON, so that every line of it is
// an object; otherwise main does.
func (n *night) told(err error) error {
	if n.LogFormat != "json" {
		return err
	}
	return told(n.log, err)
}

// told logs an error, unless it was said before, and returns it as one that was.
func told(log *slog.Logger, err error) error {
	if err == nil || cli.WasTold(err) {
		return err
	}
	args := []any{"exit_code", cli.Code(err)}
	if hint := cli.Hint(err); hint != "" {
		args = append(args, "hint", hint)
	}
	log.Error(words.Error(err), args...)
	return cli.Told(err)
}
