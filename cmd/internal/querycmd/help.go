package querycmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/internal/analytics/question"
)

// rootHelp is the help of query without a command.
const rootHelp = `Answer questions about a warehouse of calls, which no command of query changes.

  query sentiment --by agent --since 7d
  query outcomes --since last-month --until this-month --format xlsx -o o.xlsx
  query sql 'SELECT status, count(*) FROM calls GROUP BY status'

Reports:
  Calls    outcomes  funnel  disconnections  volume  concurrency  durations
  Callers  sentiment  callers  early  transfers  worst  search  call  calls
  Agents   agents  versions  changes  flows  conversation  tools
  Results  costs  success  scorecards  extracted  campaigns
  Data     coverage  anomalies
Other commands (report: a page with charts):
  Look     report  shell  sql  list  describe  check
  Connect  serve  mcp  export  catalog  publish  alert

Flags of reports: --since --until --agent --where --by --compare --columns
  --sort --top. Of all: --warehouse --format --output --tz --config --profile.

  query NAME --help    what a report shows, or a command does, and its own flags
  query help flags     the other flags
  query list           reports and tables, each in a line
`

// sharedFlags are the flags of most reports, which query help flags explains.
var sharedFlags = []string{"since", "until", "agent", "where", "by", "compare", "columns", "verbose", "sort", "top", "explain"}

// reportUsage returns the part of a report's help below its text.
func reportUsage(cmd *cobra.Command) string {
	own, shared := pflag.NewFlagSet("", pflag.ContinueOnError), ""
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help":
		case slices.Contains(sharedFlags, f.Name):
			shared += " --" + f.Name
		default:
			own.AddFlag(f)
		}
	})
	text := "Usage:\n  " + cmd.UseLine() + "\n\nExamples:\n" + cmd.Example + "\n"
	if own.HasFlags() {
		text += "\nFlags:\n" + own.FlagUsagesWrapped(textWidth)
	}
	return text + "\nOther flags, in query help flags:\n  " +
		strings.ReplaceAll(wrapped(shared+" --format --output --tz --warehouse"), "\n", "\n  ") + "\n"
}

// flagsTopic returns the help topic on the flags that commands share.
func flagsTopic(root *cobra.Command) *cobra.Command {
	topic := &cobra.Command{Use: "flags", Short: "The flags that reports share"}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		of := pflag.NewFlagSet("", pflag.ContinueOnError)
		of.SortFlags = false
		most, _, _ := root.Find([]string{"outcomes"})
		for _, name := range sharedFlags {
			of.AddFlag(most.Flags().Lookup(name))
		}
		cmd.Printf("Flags of reports:\n%s\nGroups for --by, and names for --where:\n  %s\n\nFlags of all commands:\n%s",
			of.FlagUsagesWrapped(textWidth), strings.ReplaceAll(wrapped(strings.Join(question.Dimensions(), ", ")), "\n", "\n  "),
			root.PersistentFlags().FlagUsagesWrapped(textWidth))
	})
	return topic
}
