package extractcmd

import (
	"io"
	"log/slog"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

// report tells what the run came to: a person in some lines, a log of JSON in
// one.
func (n *night) report(stderr io.Writer) {
	if n.row == nil || n.quiet {
		return
	}
	snapshot := ""
	if now, err := layout.Current(n.warehouse); err == nil {
		snapshot = now.Dir
	}
	if n.logFormat != "json" {
		writeReport(stderr, n.row, n.rep, n.failures, snapshot)
		if n.aged > 0 {
			words.Fprintf(stderr, "  %-12s %s that started before %s\n", "erased", cli.Plural(n.aged, "call"), n.kept.Format(time.DateOnly))
		}
		return
	}
	r := n.row
	args := []any{"run", r.ID, "outcome", r.Outcome, "seconds", float64(r.EndedAt.V-r.StartedAt) / 1000,
		"requests", r.Requests, "page_requests", r.PageRequests, "detail_requests", r.DetailRequests, "retries", r.Retries,
		"rate_limited", r.RateLimited, "server_errors", r.ServerErrors, "network_errors", r.NetworkErrors,
		"budget_used_percent", float64(r.BudgetUsedPercent.V) / 10_000, "calls_listed", r.CallsListed, "calls_new", r.CallsNew,
		"calls_changed", r.CallsChanged, "calls_settled", r.CallsSettled, "calls_pending", r.CallsPending,
		"calls_missing", r.CallsMissing, "calls_set_aside", r.CallsSetAside, "transcripts", r.Transcripts, "turns", r.Turns,
		"drift", r.Drift, "commits", r.Commits, "snapshot", snapshot}
	if n.rep != nil {
		for _, p := range n.rep.Problems {
			args = append(args, "problem", p)
		}
	}
	for _, f := range n.failures {
		args = append(args, "data_test_failed", f)
	}
	n.log.Info("run ended", args...)
}

// told says how the run ended where the log is JSON, so that every line of it is
// an object; otherwise main does.
func (n *night) told(err error) error {
	if n.logFormat != "json" {
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
