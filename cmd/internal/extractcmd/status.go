package extractcmd

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/sink"
)

// nightly is the maximum age of the last success if a run should succeed every night.
const nightly = 26 * time.Hour

const statusAbout = `status shows the last successful run, the last run and its outcome, how recent the data is, and
what is pending. It sends no requests, takes no lock and reads no calls, and can be used during a
run. The first line begins with OK or the problem, and the second is the command that helps. --format
json prints the verdict, and as facts the metrics of --metrics-file.

Exit codes: 0 OK; 3 the last run did not succeed, a part of the list was never read, no run
succeeded within --max-age, or the rules of alerts were not evaluated; 1 there is no warehouse, or
the last run or extract verify found it damaged.`

func statusCommand(s *settings) *cobra.Command {
	var maxAge time.Duration
	var format string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the health of the warehouse: last runs, freshness, pending data", Long: statusAbout,
		Example: `  extract status
  extract status --max-age 2d --format json`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return printStatus(cmd, s, maxAge, format == "json") },
	}
	cmd.Flags().SortFlags = false
	cli.SpanVar(cmd.Flags(), &maxAge, "max-age", nightly, "maximum age of the last successful run; 0 for any age")
	cli.Choice(cmd, &format, "format", "", "text", "json")
	return cmd
}

// healthOf returns the state of the warehouse.
func healthOf(s *settings, maxAge time.Duration) (*status.State, error) {
	history, err := sink.ReadHistory(s.Warehouse)
	if problemOf(err) == cli.Damaged {
		h := status.Unreadable(err)
		h.Warehouse, h.Profile = s.Warehouse, s.Profile
		return h, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	if history.Snapshot == nil && len(history.Runs) == 0 && !history.Held {
		return nil, s.noWarehouse()
	}
	h := status.Examine(history, s.Now().In(s.zone()), maxAge)
	h.Warehouse, h.Profile = s.Warehouse, s.Profile
	h.AddAlerts(s.Alerts != "")
	return h, nil
}

// printStatus prints the status of the warehouse.
func printStatus(cmd *cobra.Command, s *settings, maxAge time.Duration, asJSON bool) error {
	h, err := healthOf(s, maxAge)
	if err != nil {
		return err
	}
	h.Help = s.Again(h.Help)
	switch {
	case asJSON:
		err = writeJSON(cmd.OutOrStdout(), h)
	default:
		err = h.Write(s.text(cmd.OutOrStdout()))
	}
	return cmp.Or(err, h.Err())
}
